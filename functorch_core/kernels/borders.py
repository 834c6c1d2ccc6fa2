"""Borders made of an array's own elements, of host arrays: each element is written once, where joining parts along one
dimension after the other writes them as often. us for 8 x 32 x 64 x 64 with two on each side: 222 for 330."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from ..core.aval import Aval
from ..core.primitive import Way
from ..core.types import Ints

Sides: TypeAlias = tuple[tuple[int, int], ...]  # how wide, before and behind, for each dimension
Index: TypeAlias = tuple[int | slice, ...]
FEW = 8  # columns; so many are written one after the other: a row's few elements take NumPy longer than a column's many
EACH = 2e-4  # microseconds an element


@functools.lru_cache(256)
def on_host(sides: Sides, mode: str) -> Callable[[Aval], Way]:
    """For arrays that have borders so wide: mode 'reflect', 'replicate' or 'circular'."""

    def way(x: Aval) -> Way:
        shape = tuple([low + n + high for n, (low, high) in zip(x.shape, sides)])
        inner = tuple([slice(low, low + n) for n, (low, _) in zip(x.shape, sides)])
        copies = list(_copies(x.shape, sides, inner, mode))

        def run(array: np.ndarray) -> list[np.ndarray]:
            out = np.empty(shape, x.dtype)
            out[inner] = array
            for target, source in copies:
                out[target] = out[source]
            return [out]

        return Way(run, len(copies) + EACH * np.prod(shape, dtype=float))

    return way


def _copies(shape: Ints, sides: Sides, inner: tuple[slice, ...], mode: str) -> Iterator[tuple[Index, Index]]:
    """What is written, and what it is a copy of: the last dimension's borders first, then whole rows."""
    for d in reversed(range(len(shape))):
        low, high = sides[d]
        source = _SOURCES[mode](shape[d], low, high)
        lead: Index = inner[:d]
        for target, of in zip((slice(0, low), slice(low + shape[d], low + shape[d] + high)), source):
            if target.start == target.stop:
                continue
            if d < len(shape) - 1 or low + high > FEW:
                yield (*lead, target), (*lead, of)
                continue
            found = range(*of.indices(low + shape[d] + high))
            for i in range(target.stop - target.start):
                yield (*lead, target.start + i), (*lead, found[i % len(found)])


def _reflected(n: int, low: int, high: int) -> tuple[slice, slice]:
    end = low + n - 2 - high
    return slice(2 * low, low, -1), slice(low + n - 2, end if end >= 0 else None, -1)


_SOURCES: dict[str, Callable[[int, int, int], tuple[slice, slice]]] = {
    "reflect": _reflected,
    "replicate": lambda n, low, high: (slice(low, low + 1), slice(low + n - 1, low + n)),
    "circular": lambda n, low, high: (slice(n, n + low), slice(low, low + high)),
}
