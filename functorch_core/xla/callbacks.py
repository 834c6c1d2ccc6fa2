"""Python functions called by a running program: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .binding import Aval, aval_of
from .errors import ticket_for


class Callback:
    """A host function with the avals of its results.

    XLA copies as many bytes as the module declares from whatever a callback returns; number, shape
    and dtype of the results are therefore checked here. An exception in `fn` reaches the caller of
    the program as itself.

    fn: takes arrays, returns a tuple of arrays (a bare array will do for one result).
    borrow: hand `fn` views that are valid during the call only, instead of copies.
    """

    __slots__ = ("fn", "outputs", "borrow", "__weakref__")

    def __init__(self, fn: Callable[..., Any], outputs: Sequence[Any], *, borrow: bool = False) -> None:
        self.fn = fn
        self.outputs: tuple[Aval, ...] = tuple(aval_of(tuple(aval.shape), aval.dtype) for aval in outputs)
        self.borrow = borrow

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        try:
            arguments = arrays if self.borrow else [array.copy() for array in arrays]
            return self._checked(self.fn(*arguments))
        except BaseException as error:
            raise ticket_for(error) from None

    def _checked(self, results: np.ndarray | tuple[np.ndarray, ...] | None) -> tuple[np.ndarray, ...]:
        if results is None:
            results = ()
        elif not isinstance(results, (tuple, list)):
            results = (results,)
        if len(results) != len(self.outputs):
            raise ValueError(f"{self} returned {len(results)} arrays, its declaration has {len(self.outputs)}")
        return tuple(
            self._checked_one(index, result, aval) for index, (result, aval) in enumerate(zip(results, self.outputs))
        )

    def _checked_one(self, index: int, result: np.ndarray, aval: Aval) -> np.ndarray:
        # Not np.ascontiguousarray, which makes a vector of a 0-d array.
        array = np.asarray(result, order="C")
        if array.shape != aval.shape:
            raise ValueError(f"{self}, result {index}: expected shape {aval.shape}, got {array.shape}")
        if array.dtype != aval.element:
            raise TypeError(f"{self}, result {index}: expected dtype {aval.element}, got {array.dtype}")
        return array.view(aval.dtype)

    def __repr__(self) -> str:
        return f"callback {getattr(self.fn, '__qualname__', self.fn)!s}"
