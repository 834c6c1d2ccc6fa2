"""Writing to what a function under torch.func.grad, vjp or jvp has captured is an error.

A tensor belongs to a transform if it was made since that was entered: its node says so, or, if it
is on no tape, the mark that new tensors get while a transform computes (`_tensor_base.births`).
"""

from __future__ import annotations

import sys

from . import _apply, _tensor_base
from ._tensor_base import Tensor
from .autograd.node import sequence

CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
    "call in-place operation (aten::{op}) that would mutate a captured Tensor. This is not "
    "supported; please rewrite the function being transformed to explicitly accept the "
    "mutated Tensor(s) as inputs."
)
OVERLOADS = {"add_": ".Tensor", "div_": ".Tensor", "fill_": ".Scalar", "mul_": ".Tensor", "sub_": ".Tensor"}

_active: list[int] = []  # the depths of the transforms being computed, in all threads


def begin(depth: int) -> int:
    """A transform of this depth begins; the number of its first node. Depths only grow, so that a
    mark is never lower than the depth of the transform it was made in."""
    _active.append(depth)
    _tensor_base.births = depth
    _apply.marks_births = True
    return next(sequence)


def end(depth: int):
    """The transform is over."""
    _active.remove(depth)
    if not _active:
        _tensor_base.births = 0
        _apply.marks_births = False


def check(tensor: Tensor):
    """RuntimeError if the innermost transform has not made the tensor that is written to."""
    from ._levels import Batched, stack

    frame = next((f for f in reversed(stack.frames) if f.first_node is not None), None)
    if frame is None:
        return
    while isinstance(tensor._level, Batched) and tensor._level.depth > frame.depth:
        tensor = tensor._level.inner
    if tensor._level is not None and tensor._level.depth >= frame.depth:
        return
    alias = tensor._view
    born = tensor._born if alias is None else alias.cell.born
    if born < frame.depth and not (alias is None and _is_new(tensor, frame)):
        raise RuntimeError(CAPTURED.format(op=_name_of_op()))


def birth(tensor: Tensor) -> int:
    """The mark of a tensor, for the cell that it is about to share."""
    from ._levels import stack

    frame = next((f for f in reversed(stack.frames) if f.first_node is not None), None)
    is_new = frame is not None and _is_new(tensor, frame)
    return frame.depth if is_new and tensor._born < frame.depth else tensor._born


def _is_new(tensor: Tensor, frame) -> bool:
    return tensor._ge is not None and tensor._ge[0].sequence >= frame.first_node


def _name_of_op() -> str:
    """The in-place op that is being computed, as PyTorch's dispatcher names it."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_name
        if name == "inplace" and "op" in frame.f_locals:
            name = f"{frame.f_locals['op'].name}_"
        elif name == "become":  # t_, squeeze_: written as one function
            name = f"{frame.f_locals['name']}"
        if name.endswith("_") and not name.startswith("_"):
            return name + OVERLOADS.get(name, "")
        frame = frame.f_back
    return "copy_"
