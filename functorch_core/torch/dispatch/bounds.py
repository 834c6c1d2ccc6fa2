"""Checks that index tensors are within bounds, with PyTorch's errors: see engine.bounds."""

from __future__ import annotations

from ...engine import Value, check_bounds
from ..levels.levels import refresh
from ..tensors.base import Tensor
from ..tensors.explain import MISTAKES, explain

OUTSIDE = "index {index} is out of bounds for dimension {dim} with size {size}"
IN_SELF = "index out of range in self"


def is_inside(index: Tensor, size: int, negative: bool = False, ignore: int | None = None) -> bool:
    """Whether indices were looked at before, and are within bounds (see `check`)."""
    try:
        seen, low, high = index._value.extent
    except AttributeError:
        return False
    fine = seen == ignore and high < size and low >= (-size if negative else 0) and index._level is None
    return fine and (index._view is None or index._view.seen == index._view.cell.version)


def check(
    index: Tensor,
    size: int,
    dim: int,
    what: str,
    *,
    negative: bool = False,
    message: str = OUTSIDE,
    error=IndexError,
    ignore: int | None = None,
    watched: Tensor | None = None,
    result: Tensor | None = None,
    offset: int = 0,
):
    """Raise `error`, now or when something is read, unless 0 <= index < size (-size <= ... if `negative`)
    for every index but `ignore`. To be called before the index is used, or with the result; `watched` is
    what the index was computed from, if not that but this is used; the message tells index - offset."""
    if is_inside(index, size, negative, ignore):
        return

    def failure(found: int) -> Exception:
        return error(message.format(index=found - offset, dim=dim, size=size))

    try:
        check_bounds(
            at_bottom(index),
            size,
            failure,
            what,
            negative=negative,
            ignore=ignore,
            watched=None if watched is None else at_bottom(watched),
            results=() if result is None else (at_bottom(result),),
        )
    except MISTAKES as found:
        explain(found)
        raise


def at_bottom(index: Tensor) -> Value:
    """The indices of all examples, where the index is one of a batch."""
    while index._level is not None:
        refresh(index)
        index = index._level.below
    return index._read()
