"""What annotations of layers and of tensors say, against PyTorch's."""

import typing

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
NAMES = [name for name, x in vars(reference.nn).items() if isinstance(x, type) and issubclass(x, reference.nn.Module)]
BUILTIN = (int, float, bool, str, int | None, float | None, bool | None)


@pytest.mark.parametrize("name", sorted(name for name in NAMES if hasattr(torch.nn, name)))
def test_hints_of_layers(name):
    """They can be evaluated without the names of our files, and are PyTorch's where those are numbers and strings."""
    ours, theirs = (vars(getattr(t.nn, name)).get("__annotations__", {}) for t in (torch, reference))
    found = typing.get_type_hints(getattr(torch.nn, name), {}, {})
    assert found["training"] is bool and set(ours) <= set(theirs)
    wanted = {name: hint for name, hint in theirs.items() if hint in BUILTIN}
    assert wanted.items() <= found.items()


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "NLLLoss", "ReLU", "Softmax", "TripletMarginLoss"])
def test_hints_of_instances(name):
    ours, theirs = (typing.get_type_hints(getattr(t.nn, name)(), {}, {}) for t in (torch, reference))
    assert ours == theirs != {}


@pytest.mark.parametrize("name", ["Tensor", "nn.Parameter", "nn.Buffer"])
def test_hints_of_tensors(name):
    cls = torch.Tensor if name == "Tensor" else getattr(torch.nn, name.removeprefix("nn."))
    assert isinstance(typing.get_type_hints(cls, {}, {}), dict)
    assert isinstance(typing.get_type_hints(cls(torch.ones(1)), {}, {}), dict)
