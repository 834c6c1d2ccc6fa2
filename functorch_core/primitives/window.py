"""A window that slides over all dimensions of an array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from ..core.types import Ints

T = TypeVar("T")


class Window(NamedTuple):
    """A window over all dimensions of an array."""

    size: Ints
    strides: Ints
    padding: tuple[tuple[int, int], ...]
    base_dilation: Ints
    window_dilation: Ints

    @property
    def reach(self) -> Ints:
        """How many elements a window spans, holes included."""
        return tuple((n - 1) * d + 1 for n, d in zip(self.size, self.window_dilation))

    @property
    def count(self) -> int:  # type: ignore[override]  # a tuple's count() is not asked of windows
        """How many elements are in a window."""
        return math.prod(self.size)

    def padded(self, shape: Ints) -> Ints:
        """The shape after dilating and padding."""
        return tuple(
            max(n - 1, 0) * d + min(n, 1) + low + high
            for n, d, (low, high) in zip(shape, self.base_dilation, self.padding)
        )

    def places(self, shape: Ints) -> Ints:
        """How many places the window takes in each dimension of an array of `shape`."""
        return tuple(max(0, (n - r) // s + 1) for n, r, s in zip(self.padded(shape), self.reach, self.strides))

    def offsets(self) -> Iterator[Ints]:
        """For each element of a window, row by row: where it is in a window at the origin."""
        for at in itertools.product(*map(range, self.size)):
            yield tuple(i * d for i, d in zip(at, self.window_dilation))

    def split(self) -> tuple[Window, Window]:
        """Two windows to be taken one after the other: of the first dimension of several elements, of the others."""
        first = next(d for d, n in enumerate(self.size) if n > 1)

        def only(chosen: Callable[[int], bool]) -> Window:
            def part(values: tuple[T, ...], otherwise: T) -> tuple[T, ...]:
                return tuple(v if chosen(d) else otherwise for d, v in enumerate(values))

            return Window(
                part(self.size, 1),
                part(self.strides, 1),
                part(self.padding, (0, 0)),
                part(self.base_dilation, 1),
                part(self.window_dilation, 1),
            )

        return only(lambda d: d == first), only(lambda d: d != first)

    def with_batch(self, dim: int) -> Window:
        """The window of size 1 along a further dimension at `dim`."""

        def insert(values: tuple[T, ...], new: T) -> tuple[T, ...]:
            return (*values[:dim], new, *values[dim:])

        return Window(
            insert(self.size, 1),
            insert(self.strides, 1),
            insert(self.padding, (0, 0)),
            insert(self.base_dilation, 1),
            insert(self.window_dilation, 1),
        )

    def unpadded(self) -> Window:
        """The same window over an array that is dilated and padded already."""
        n = len(self.size)
        return self._replace(padding=((0, 0),) * n, base_dilation=(1,) * n)
