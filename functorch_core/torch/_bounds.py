"""Checks that index tensors are within bounds, with PyTorch's errors: see engine.bounds."""

from __future__ import annotations

from ..engine import Value, check_bounds
from ._tensor_base import Tensor

OUTSIDE = "index {index} is out of bounds for dimension {dim} with size {size}"
IN_SELF = "index out of range in self"


def check(
    index: Tensor,
    size: int,
    dim: int,
    what: str,
    *,
    negative: bool = True,
    message: str = OUTSIDE,
    error=IndexError,
    ignore: int | None = None,
):
    """Raise `error`, now or when something is read, unless -size <= index < size (0 <= ...) for
    every index but `ignore`."""

    def failure(found: int) -> Exception:
        return error(message.format(index=found, dim=dim, size=size))

    check_bounds(at_bottom(index), size, failure, what, negative=negative, ignore=ignore)


def at_bottom(index: Tensor) -> Value:
    """The indices of all examples, where the index is one of a batch."""
    while index._level is not None:
        from ._levels import refresh

        refresh(index)
        index = index._level.below
    return index._read()
