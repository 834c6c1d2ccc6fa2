"""Strides, in elements: of rows one after the other, and of a reshape without copying."""

from __future__ import annotations

import functools


def contiguous_strides(shape) -> tuple[int, ...]:
    """Row-major strides, as PyTorch has them (sizes of 0 count as 1)."""
    return _row_major(tuple(shape))


@functools.lru_cache(4096)
def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, n = [], 1
    for size in reversed(shape):
        strides.append(n)
        n *= max(size, 1)
    return tuple(reversed(strides))


def is_dense(shape, strides, wanted) -> bool:
    """Whether the strides are those wanted, but for dimensions of one element."""
    return 0 in shape or all([n == 1 or a == b for n, a, b in zip(shape, strides, wanted)])


def view_strides(shape, strides, new_shape) -> tuple[int, ...] | None:
    """The strides of a reshape without copying, or None if it needs a copy.

    Runs of dimensions that lie contiguously are filled with new dimensions, from the last on.
    """
    if 0 in shape:
        return tuple(strides) if shape == new_shape else contiguous_strides(new_shape)
    if not shape:
        return (1,) * len(new_shape)
    out, view = [0] * len(new_shape), len(new_shape) - 1
    inner, size = strides[-1], 1
    for d in reversed(range(len(shape))):
        size *= shape[d]
        if d and (shape[d - 1] == 1 or strides[d - 1] == size * inner):
            continue
        filled = 1
        while view >= 0 and (filled < size or new_shape[view] == 1):
            out[view] = filled * inner
            filled *= new_shape[view]
            view -= 1
        if filled != size:
            return None
        inner, size = strides[d - 1], 1
    return tuple(out) if view == -1 else None
