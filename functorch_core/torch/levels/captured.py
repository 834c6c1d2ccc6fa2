"""Writing to what a function under torch.func.grad, vjp or jvp has captured is an error.

A tensor belongs to a transform if it was made since that was entered: its node says so, or, if it
is on no tape, the mark that new tensors get while a transform computes (`active.births`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.trace import state as trace_state
from ...engine import Value
from ..tensors.active import declared
from ..tensors.base import Tensor
from .levels import Batched, stack

CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
    "call in-place operation (aten::{op}) that would mutate a captured Tensor. This is not "
    "supported; please rewrite the function being transformed to explicitly accept the "
    "mutated Tensor(s) as inputs."
)


def check_captured(tensor: Tensor, op: str):
    """RuntimeError if the innermost transform has not made the tensor to which the in-place form of an
    op (its name) writes."""
    frame = next((f for f in reversed(stack.frames) if f.first_node is not None), None)
    if frame is None:
        return
    while isinstance(tensor._level, Batched) and tensor._level.depth > frame.depth:
        tensor = tensor._level.inner
    if tensor._level is not None and tensor._level.depth >= frame.depth:
        return
    alias = tensor._view
    born = tensor._born if alias is None else alias.cell.born
    if born < frame.depth and not (alias is None and _is_new(tensor, frame) or _is_given(tensor, born)):
        raise RuntimeError(CAPTURED.format(op=op in declared and declared[op].in_place or f"{op.lstrip('_')}_"))


def _is_given(tensor: Tensor, born: int) -> bool:
    """Whether a tensor, or what it is a view of, is an argument of all transforms that it was there before."""
    root = tensor if tensor._view is None or tensor._view.base is None else tensor._view.base
    return tensor._level is None and all(
        id(root) in f.given for f in stack.frames if f.first_node is not None and born < f.depth
    )


def note_captured(operands: Sequence):
    """Let the traces that want to know hear of tensors among the operands that were there before them: their numbers
    go into the graph, and are others when somebody has written to them."""
    builder = trace_state.builder
    while builder is not None:
        if builder.noted is not None:
            for x in operands:
                if isinstance(x, Tensor) and x._level is None:
                    value = x._read()
                    born = x._born if x._view is None else x._view.cell.born
                    if value.__class__ is Value and born < builder.depth:
                        builder.noted[id(x)] = x, value
        builder = builder.parent


def birth(tensor: Tensor) -> int:
    """The mark of a tensor, for the cell that it is about to share."""
    frame = next((f for f in reversed(stack.frames) if f.first_node is not None), None)
    is_new = frame is not None and _is_new(tensor, frame)
    return frame.depth if is_new and tensor._born < frame.depth else tensor._born


def _is_new(tensor: Tensor, frame) -> bool:
    return tensor._ge is not None and tensor._ge[0].created >= frame.first_node
