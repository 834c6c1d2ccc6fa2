"""Which operator of PyTorch's a function is that a program calls: what profiles and counts of operations name."""

from __future__ import annotations

from collections.abc import Callable

from ...dispatch.op import Composite, TorchOp
from ...dispatch.overrides import MEMBERS, USERS_MEMBERS
from ...operators.index.indexing import getitem, setitem
from ...tensors.base import Tensor
from .aten import OF_NN, table
from .custom_ops import Operator

NAMES = {torch_name: aten for aten, torch_name in OF_NN.items() if aten != "nll_loss2d"}  # of torch.nn.functional
# Where functions of these namespaces live, here and by PyTorch's names.
LINALG = ("functorch_core.torch.operators.linalg.", "torch.linalg", "torch._C._linalg")
NN = ("functorch_core.torch.operators.nn.", "torch.nn.functional", "torch._C._nn")
# Functions and methods that call an operator of another name, or none.
CALLS: dict[str, str | None] = dict.fromkeys(
    "bfloat16 bool byte char cpu cuda double float half int long short".split(), "to"
)
CALLS |= {"tensor": "lift_fresh", "contiguous": None}
# What functions call that are no operator, or several.
SEVERAL = {
    "from_numpy": "lift_fresh",
    "new_tensor": "empty to lift_fresh detach_",
    "numpy": "detach to resolve_conj resolve_neg",
    "tensor": "empty to lift_fresh detach_",
    "tolist": "resolve_conj resolve_neg",
}
BROADCASTING = frozenset("mse_loss l1_loss smooth_l1_loss huber_loss".split())  # by a call of broadcast_tensors before
# What methods of tensors do outside of operators.
UNLISTED = frozenset({*MEMBERS, *USERS_MEMBERS}) - {"item", "detach", "detach_"}


def operator_of(function: Callable, kwargs: dict) -> str | None:
    """PyTorch's operator behind a function or a method of tensors, as "aten::add"; None if it is none."""
    if isinstance(function, Operator):
        return function.name
    name = getattr(function, "__name__", "")
    if function is getitem or function is setitem:
        return f"aten::{name}"
    if name in CALLS:
        return CALLS[name] and f"aten::{CALLS[name]}"
    if not isinstance(function, (TorchOp, Composite)):
        home = getattr(function, "__module__", None) or ""
        if home.startswith(LINALG):
            name = f"linalg_{name.removeprefix('linalg_')}"
        elif home.startswith(NN):
            name = NAMES.get(name, name) + ("_" if kwargs.get("inplace") else "")
        elif name in UNLISTED or not getattr(function, "__qualname__", "").startswith("Tensor."):
            return None
    return f"aten::{name}" if name in table() else None


def indexing_operators(index, value=None) -> list[str]:
    """The operators that PyTorch calls for x[index], or for x[index] = value."""
    return [f"aten::{name}" for name in _indexing(index, value)]


def _indexing(index, value) -> list[str]:
    names, advanced = [], False
    for part in index if isinstance(index, tuple) else (index,):
        if part is None:
            names.append("unsqueeze")
        elif isinstance(part, slice):
            names += ["slice"] if part != slice(None) else []
        elif isinstance(part, int) and not isinstance(part, bool):
            names.append("select")
        elif part is not Ellipsis:
            advanced = True
    if value is None:
        return [*names, "index"] if advanced else names or ["alias"]
    if advanced:
        return [*names, "index_put_"]
    return [*names, "copy_" if isinstance(value, Tensor) and value.dim() else "fill_"]


def listed_operators(function: Callable, args, kwargs: dict) -> tuple[list[str], list[str]]:
    """The operators that PyTorch calls before a function's own, and those: what its profile lists."""
    name = getattr(function, "__name__", "")
    if name in SEVERAL:
        return [], [f"aten::{operator}" for operator in SEVERAL[name].split()]
    before = []
    if function is setitem and not isinstance(args[2], Tensor):
        before = ["aten::lift_fresh"]
    elif name in BROADCASTING:
        before = ["aten::broadcast_tensors"]
    return before, called_operators(function, args, kwargs)


def called_operators(function: Callable, args, kwargs: dict) -> list[str]:
    """The operators that PyTorch calls for a call of a function; none if it is no operator."""
    if function is getitem:
        return indexing_operators(args[1])
    if function is setitem:
        return indexing_operators(args[1], args[2])
    name = operator_of(function, kwargs)
    return [] if name is None else [name]
