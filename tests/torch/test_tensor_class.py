"""Tensor is put together in one place: what stands in class bodies, and who else writes to it."""

import ast
from pathlib import Path

import pytest

import functorch_core
from functorch_core import torch
from functorch_core.torch.tensors.base import add_members, put_together

# The one who puts the class together, and the one who exchanges members while something overrides.
WRITERS = {"torch/tensors/base.py", "torch/dispatch/overrides.py"}
ROOT = Path(functorch_core.__file__).parent


def is_tensor_class(node) -> bool:
    return ast.unparse(node) in ("Tensor", "_Tensor", "torch.Tensor", "base.Tensor", "_base.Tensor")


def writes(tree: ast.Module):
    """The lines that set or delete attributes of Tensor."""
    for node in ast.walk(tree):
        changed = isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
        if changed and is_tensor_class(node.value):
            yield node.lineno
        called = isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr", "type.__setattr__")
        if called and is_tensor_class(node.args[0]):
            yield node.lineno


def test_what_counts_as_writing():
    text = "Tensor.x = 1\nTensor.a, y = 1, 2\nsetattr(Tensor, 'b', 1)\ndel Tensor.c\nx = Tensor.d\nself.Tensor = 3\n"
    assert sorted(writes(ast.parse(text))) == [1, 2, 3, 4]


def test_nobody_else_writes_to_tensor():
    here = list(ROOT.rglob("*.py"))
    rest = [p for name in ("nn", "optim", "data") for p in (ROOT.parent / name).rglob("*.py")]
    found = {p for p in here + rest if any(writes(ast.parse(p.read_text(encoding="utf-8"))))}
    assert {str(p.relative_to(ROOT)) for p in found} == WRITERS


def test_a_member_is_defined_once():
    class Subject:
        def numel(self):
            pass

    with pytest.raises(TypeError, match="Tensor.numel is defined twice"):
        put_together(Subject)
    with pytest.raises(TypeError, match="Tensor.add is defined twice"):
        add_members({"add": None})


def test_members_are_named_after_tensor():
    assert torch.Tensor.retain_grad.__qualname__ == "Tensor.retain_grad"
    assert torch.Tensor.to_sparse.__qualname__ == "Tensor.to_sparse"
    assert torch.Tensor.__len__.__qualname__ == "Tensor.__len__"
