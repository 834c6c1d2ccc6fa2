"""Sums by NumPy as products with ones: its own add the rows of a reduction one by one.

float32, one thread, us, by np.add.reduce and like this: the last axis of 2,000 x 64 42 and 5, of 10,000 x 3 110 and 6;
the middle one of 256 x 16 x 64 68 and 17, of 16 x 1,024 x 8 187 and 10; the first of 200 x 64 3.6 and 1.3. NaN,
infinities and signs of zeros come out alike. A product adds up no more than LONG numbers one after the other; the
sums of such pieces are added by NumPy. Those of a million and more are a library's (`host_library`).
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.types import Function, Ints
from ..xla.blas import matmul_for
from .host_library import largest_divisor, sums_of_rows

LONG = 256  # a float32 sum of rows one after the other is off by 1e-6 from about 4,000 on
FEW = 64  # elements: so many take NumPy no time
SHORT = 64  # numbers in a row: a copy of what lies in order and a product are quicker than NumPy's add
NARROW = 4  # columns; a product for each of many stacks of fewer would take longer than adding


def _in_order(array: np.ndarray) -> bool:
    """Whether the elements lie in the order of the indices, with gaps or repeated."""
    steps = [abs(step) for step in array.strides if step]
    return steps == sorted(steps, reverse=True)


def runs(ndim: int, axes: Ints) -> list[tuple[bool, list[int]]]:
    """Neighbouring dimensions that are treated alike: (whether they are summed over, the dimensions)."""
    return [(key, list(group)) for key, group in itertools.groupby(range(ndim), lambda d: d in axes)]


def sum_by_ones(x: Aval, axes: Ints, otherwise: Function) -> Function | None:
    """The sum over axes of such arrays, where products are quicker; `otherwise` of what does not lie in rows."""
    if x.dtype not in (dt.float32, dt.float64) or x.size < FEW:
        return None
    summed = [dims for reduced, dims in runs(x.ndim, axes) if reduced]
    if len(summed) == 1:
        return _of_neighbours(x, summed[0], otherwise)
    if summed and summed[-1][-1] == x.ndim - 1:  # the last first, which leaves little
        inner = _of_neighbours(x, summed[-1], otherwise)
        rest = tuple(d for dims in summed[:-1] for d in dims)
        return inner and functools.partial(_in_two, inner, rest, otherwise)
    return None


def _in_two(inner: Function, rest: Ints, otherwise: Function, array: np.ndarray) -> np.ndarray:
    if not array.flags.c_contiguous:
        return otherwise(array)
    return np.add.reduce(inner(array), axis=rest, dtype=np.float64).astype(array.dtype)


def _of_neighbours(x: Aval, dims: list[int], otherwise: Function) -> Function | None:
    outer, length, inner = _sizes(x.shape, dims)
    if x.shape[dims[0]] == length == 2:
        return _of_pairs(dims)
    if length == 1 or (inner < NARROW and inner != 1 and outer != 1):
        return None
    piece = largest_divisor(length, LONG)
    if length > LONG > 8 * piece:  # a prime number of rows
        return None
    kept = tuple(n for d, n in enumerate(x.shape) if d not in dims)
    run = _by_pieces(x.dtype, kept, (outer, length // piece, piece, inner), otherwise)
    return sums_of_rows(outer, length, kept, run) if inner == 1 and x.dtype == dt.float32 else run


def _of_pairs(dims: list[int]) -> Function:
    """The sum along an axis of two, and those of one behind it: 8 x 32 x 64 x 2 x 128 1.0 ms for 1.7 by ones,
    4,096 x 2 x 16 37 us for 89."""
    before, behind = (slice(None),) * dims[0], (0,) * (len(dims) - 1)
    first, second = (*before, 0, *behind), (*before, 1, *behind)
    return lambda array: np.add(array[first], array[second])


def _sizes(shape: Ints, dims: list[int]) -> tuple[int, int, int]:
    """The elements before, in, and behind neighbouring dimensions."""
    first, last = dims[0], dims[-1] + 1
    return math.prod(shape[:first]), math.prod(shape[first:last]), math.prod(shape[last:])


def _by_pieces(dtype: np.dtype, kept: Ints, sizes: tuple[int, int, int, int], otherwise: Function) -> Function:
    outer, pieces, piece, inner = sizes
    stacks = outer * pieces
    along = inner == 1
    few = along and 1 < pieces <= LONG  # to add them up: 2 us for 1,024 x 4 by a product, 13 by NumPy's add
    return _Pieces(  # type: ignore[return-value]  # a tuple that can be called
        kept,
        (stacks, piece) if along else (piece, inner) if stacks == 1 else (stacks, piece, inner),
        (outer, pieces) if along else (outer, pieces, inner),
        along,
        matmul_for(stacks, 1, piece) if along else matmul_for(1, inner, piece),
        np.ones(piece if stacks == 1 or along else (1, piece), dtype),
        matmul_for(outer, 1, pieces) if few else None,
        np.ones(pieces if few else 0, dtype),
        dtype,
        dtype if along else dt.float64,  # NumPy adds pairwise along the last axis only
        (piece if along else inner) <= SHORT,
        otherwise,
    )


class _Pieces(NamedTuple):
    """Sums as products with ones, a piece of each at a time; called with an array."""

    kept: Ints
    rows: Ints
    sums: Ints
    along: bool
    matmul: Function
    ones: np.ndarray
    add_up: Function | None
    more: np.ndarray
    dtype: np.dtype
    wide: np.dtype
    short: bool
    otherwise: Function

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """The sums."""
        kept, rows, sums, along, matmul, ones, add_up, more, dtype, wide, short, otherwise = self
        if not array.flags.c_contiguous:
            if not short or not _in_order(array):
                return otherwise(array)
            array = np.ascontiguousarray(array)
        part = array.reshape(rows)
        out = matmul(part, ones) if along else matmul(ones, part)
        if add_up is not None:
            out = add_up(out.reshape(sums), more)
        elif sums[1] > 1:
            out = np.add.reduce(out.reshape(sums), axis=1, dtype=wide).astype(dtype, copy=False)
        return out.reshape(kept)
