"""Host arrays of many numbers, element by element, on several threads: NumPy has one.

Sums, differences, products and quotients of float32 are oneDNN's, the same to the bit. Two cores, us, by NumPy, like
this, and like this if oneDNN's threads sleep: 524,288 numbers and as many 61, 40, 67, a million 117, 76, 113, four
million 750 (400 by two threads of Python), 292, 366; a million and one number 84, 51, 91; 512 x 1,024 and a row of
1,024 75, 26, 48, and a column of 512 99, 25, 50; 16 x 64 x 1,024 and 64 channels 170, 50, 70.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..xla import onednn, onednn_forward
from . import dtypes as dt
from . import workers
from .aval import Aval
from .types import Function, Ints

DIVIDED, PIECE = 1 << 21, 1 << 19  # elements: what several threads compute, and how many at once
COMBINED, SPREAD = 1 << 19, 1 << 18  # elements: what oneDNN combines with as many or one, with rows or columns
SAVED = 6e-5  # microseconds an element
BY_LIBRARY: dict[Any, int] = {
    np.add: onednn_forward.ADD,
    np.subtract: onednn_forward.SUBTRACT,
    np.multiply: onednn_forward.MULTIPLY,
    np.divide: onednn_forward.DIVIDE,
}
COMMUTING = (np.add, np.multiply)


def divided(function: Function, n: int, aval: Aval) -> Function:
    """A function of n arrays, element by element, that several threads compute where that pays; it takes one more
    array, for the result, if the function is a ufunc."""
    if function in BY_LIBRARY and aval.dtype == dt.float32 and aval.size >= SPREAD:
        return functools.partial(combined, function, aval)
    return functools.partial(in_pieces, function, n, aval) if aval.size >= DIVIDED else function


def combined(function: Function, aval: Aval, *arrays: np.ndarray) -> np.ndarray:
    """A ufunc of two arrays by oneDNN, otherwise where that cannot be; a third is the result's memory."""
    x, y = np.asarray(arrays[0]), np.asarray(arrays[1])
    if x.shape != aval.shape and function in COMMUTING:
        x, y = y, x
    job = None
    if x.shape == aval.shape and x.dtype == y.dtype == dt.float32 and x.flags.c_contiguous and y.flags.c_contiguous:
        job = _job(BY_LIBRARY[function], x.shape, y.shape)
    if job is None:
        return in_pieces(function, 2, aval, *arrays) if aval.size >= DIVIDED else function(*arrays)
    out = arrays[2] if len(arrays) > 2 else np.empty(aval.shape, aval.dtype)
    job.on(x, y, out)
    return out


def _job(kind: int, shape: Ints, other: Ints) -> onednn_forward.Job | None:
    forms = _forms(shape, other)
    if forms is None or not onednn.is_worth_loading(saved=SAVED * math.prod(shape)):
        return None
    return onednn_forward.job_of(onednn_forward.Combined(kind, *forms))


@functools.lru_cache(512)
def _forms(shape: Ints, other: Ints) -> tuple[Ints, Ints] | None:
    """Shapes of an array and of what is combined with it, in as few dimensions as can be; None where NumPy is better.

    >>> from functorch_core.core.many import _forms
    >>> _forms((8, 128, 512), (512,)), _forms((16, 64, 32, 32), (64, 1, 1)), _forms((512, 1024), ())
    (((1024, 512), (1, 512)), ((16, 64, 1024), (1, 64, 1)), ((524288,), (1,)))
    """
    whole: list[int] = []
    part: list[int] = []
    for n, m in zip(shape, (*[1] * (len(shape) - len(other)), *other)):
        if n == 1:
            continue
        if whole and (part[-1] == whole[-1]) == (m == n):
            whole[-1], part[-1] = whole[-1] * n, part[-1] * m
        else:
            whole.append(n)
            part.append(m)
    is_spread = len(whole) > 1
    if math.prod(shape) < (SPREAD if is_spread else COMBINED) or len(whole) > 3 or len(whole) == 3 and part[1] == 1:
        return None
    return tuple(whole), tuple(part)


def in_pieces(function: Function, n: int, aval: Aval, *arrays: np.ndarray) -> np.ndarray:
    """function of n arrays, element by element, of many by several threads; a further array is the result's memory. Two
    cores, ms: exp of 4 million numbers 1.41 by one thread, 0.80 like this, a sum 0.78 and 0.45."""
    whole = [x.ndim > 0 for x in arrays[:n]]
    if aval.size < DIVIDED or any(
        [w and (x.shape != aval.shape or not x.flags.c_contiguous) for w, x in zip(whole, arrays)]
    ):
        return function(*arrays[:n])
    out = arrays[n] if len(arrays) > n else np.empty(aval.shape, aval.dtype)
    flat, parts = out.reshape(-1), [x.reshape(-1) if w else x for w, x in zip(whole, arrays)]
    writes = function.__class__ is np.ufunc

    def piece(i: int) -> None:
        of = slice(i * PIECE, (i + 1) * PIECE)
        taken = [x[of] if w else x for w, x in zip(whole, parts)]
        if writes:
            function(*taken, out=flat[of])
        else:
            flat[of] = function(*taken)

    workers.compute(piece, -(-aval.size // PIECE))
    return out
