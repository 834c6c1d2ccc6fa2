"""NumPy of few numbers, of which a call takes longer than they do.

Its functions ask each operand for __array_function__ first: np.where of eight numbers takes 0.7 us, the function behind
it 0.45. Reductions by ufuncs take 0.7 us, the place of the least or the greatest number 0.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.types import Function, Ints

FEW = 1 << 9  # numbers of which looking for a place is no longer than a reduction


def undispatched(function: Any) -> Function:
    """A function of NumPy's for NumPy's own arrays."""
    return getattr(function, "_implementation", function)


where, joined_arrays = undispatched(np.where), undispatched(np.concatenate)


def are_within(x: np.ndarray, low: float, high: float) -> bool:
    """Whether all numbers of an array that has some are from `low` to `high`, and none is NaN: such are found first."""
    return low <= x.item(x.argmin()) and x.item(x.argmax()) <= high


def has_any(x: np.ndarray) -> bool:
    """Whether any of some truths holds, or any of some numbers from 0 on is more than 0: 0.15 us for 0.7 by x.any()."""
    return x.size > 0 and bool(x.item(x.argmax()))


def has_all(x: np.ndarray) -> bool:
    """Whether all of some truths hold."""
    return not x.size or bool(x.item(x.argmin()))


def extreme_of_few(find: str, x: Aval, axes: Ints) -> Function | None:
    """The greatest or the least of all numbers, by its place (`find`: "argmax", "argmin"), of NaN the first. None of
    arrays in which that is no quicker than a reduction."""
    if not 0 < x.size <= FEW or len(axes) != x.ndim or x.dtype.isbuiltin != 1 or x.dtype.kind == "c":
        return None

    flat = x.ndim == 1
    if find == "argmax":
        return lambda array: (row := array if flat else array.reshape(-1))[row.argmax(), ...].copy()
    return lambda array: (row := array if flat else array.reshape(-1))[row.argmin(), ...].copy()
