"""Large host arrays by oneDNN, on all cores, where NumPy has one thread.

float32, two cores, us, by NumPy's way and like this (its threads awake, asleep): a sum of a million 47 (29, 63), of two
million 91 (57, 92), of four 312 (124, 160); products of 512 rows of 512 70 (11, 40), of one row of a million 129 (55,
65); two matrices of 512 x 512 side by side 44 (31, 63), of 1,024 x 1,024 161 (84, 126); of 262,144 numbers the greater
of x and 0 44 (19, 40). Threads fall asleep 40 us after their work.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.types import Function, Ints
from ..xla import onednn, onednn_forward
from ..xla.native_call import Job

# Elements from which on it gains more while the threads are awake than it loses while they sleep.
SUMMED, JOINED, ELEMENTWISE, MULTIPLIED = 1 << 20, 1 << 19, 1 << 18, 1 << 17
# Numbers of a row that is added up, by 16 lanes, one after the other: a million in pieces of 512 is off by 2.3e-8 of
# the sum in the mean, of 1,024 by 3.3e-8 (NumPy 2.5e-8 to 3.9e-8, PyTorch 3.8e-8). The sums of smaller pieces are added
# in a further step, of 8 us beside these. Rows of fewer than 64 take longer.
PIECE, FEWEST = 1024, 64
MOST_PARTS, NARROWEST = 8, 16  # what is joined; columns, of two of one 262,144 rows take 1.1 ms for NumPy's 0.13


class _ByLibrary:
    """A function of host arrays, by the library once that pays: `shapes` as it is to have them, `otherwise` for others
    and until then."""

    def __init__(self, what: onednn_forward.Described, shape: Ints, otherwise: Function) -> None:
        self.what, self.shape, self.otherwise = what, shape, otherwise
        self.job: Job | None = None

    def __call__(self, *arrays: np.ndarray) -> Any:
        if not all([x.flags.c_contiguous for x in arrays]) or not self._is_ready():
            return self.otherwise(*arrays)
        out = np.empty(self.shape, np.float32)
        self.job.on(*arrays, out)  # type: ignore[union-attr]  # it is there
        return out

    def _is_ready(self) -> bool:
        if self.job is None and onednn.is_worth_loading():
            self.job = onednn_forward.job_of(self.what)
        return self.job is not None and onednn.is_possible()  # not in a forked process


def sums_of_rows(rows: int, length: int, kept: Ints, otherwise: Function) -> Function:
    """The sums of rows of so many numbers, in the shape `kept`; `otherwise` where the library does not pay."""
    piece = largest_divisor(length, PIECE)
    if rows * length < SUMMED or piece < FEWEST:
        return otherwise
    what = onednn_forward.Reduced(onednn_forward.SUM, rows * length // piece, piece)
    pieces = _ByLibrary(what, (rows, length // piece), lambda array: None)

    def run(array: np.ndarray) -> np.ndarray:
        out = pieces(array)
        if out is None:
            return otherwise(array)
        return (out if length == piece else np.add.reduce(out, axis=1)).reshape(kept)

    return run


def products_of_rows(rows: int, length: int, otherwise: Function) -> Function:
    """The products of rows of so many numbers; `otherwise` where the library does not pay."""
    if rows * length < MULTIPLIED or length < FEWEST:
        return otherwise
    return _ByLibrary(onednn_forward.Reduced(onednn_forward.PRODUCT, rows, length), (rows,), otherwise)


@functools.cache
def largest_divisor(n: int, most: int) -> int:
    """The largest divisor of n that is at most `most`."""
    return next(d for d in range(min(n, most), 0, -1) if n % d == 0)


def joined(arrays: Sequence[Aval], dimension: int, otherwise: Function) -> Function | None:
    """Arrays one after the other along a dimension; None where the library has no way, or does not pay."""
    lead = arrays[0].shape[:dimension]
    columns = tuple([math.prod(a.shape[dimension:]) for a in arrays])
    rows, size = math.prod(lead), sum(a.size for a in arrays)
    if size < JOINED or rows < 2 or not 1 < len(arrays) <= MOST_PARTS or any(a.dtype != dt.float32 for a in arrays):
        return None
    if min(columns) < NARROWEST:
        return None
    along = sum(a.shape[dimension] for a in arrays)
    shape = (*lead, along, *arrays[0].shape[dimension + 1 :])
    return _ByLibrary(onednn_forward.Joined(rows, columns), shape, otherwise)


def elementwise(
    x: Aval, first: int, number: float, *then: int | tuple[int, float, float], otherwise: Function
) -> Function:
    """A few steps element by element (`onednn_forward.Elementwise`); `otherwise` where the library does not pay."""
    if x.size < ELEMENTWISE or x.dtype != dt.float32 or not onednn.is_installed():
        return otherwise
    return _ByLibrary(onednn_forward.Elementwise(x.size, first, number, then), x.shape, otherwise)
