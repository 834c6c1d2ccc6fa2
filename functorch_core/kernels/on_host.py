"""What is computed of host arrays other than by NumPy's way of each primitive.

Norms of large arrays by oneDNN (xla/onednn_forward.py); lengths of rows as inner products: of 1,024 x 1,024 numbers
53 us, 16,384 x 64 121, 1,000 x 100 10, where squares and their sums take 219, 403 and 34.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.many import in_pieces
from ..core.primitive import Way
from ..core.reference import contiguous
from ..core.types import Function, Ints
from ..primitives.host_few import has_all
from ..primitives.host_library import elementwise
from ..xla import onednn_forward
from ..xla.onednn import is_available
from ..xla.onednn_forward import ADD, CLIP, LINEAR, MAXIMUM, MULTIPLY

LONG = 4096  # numbers: an inner product of a million is off by 1e-6
LEAST = 1 << 18  # elements: of 1 << 16 it takes half the time, too, but a process pays 25 ms and 11 MiB for the library
MOST = 1 << 19  # elements of one mean: oneDNN adds them up one by one, and is off by 1e-6 at 1 << 20, 8e-6 at 1 << 22
HANDING_OVER = 15.0  # microseconds
# Elements: of fewer NumPy's plain functions take as long; in several steps more are better left to a program, which
# reads and writes them once.
MANY, MOST_IN_STEPS = 1 << 10, 1 << 19
BY_LIBRARY = 0.05  # nanoseconds a number, some steps element by element in one pass


def _way(
    what: onednn_forward.Described, operands: Sequence[Aval], results: Sequence[Aval], means: Aval, each: float
) -> Way | None:
    """`each`: nanoseconds an element of the first operand."""
    x = operands[0]
    if (
        x.size < LEAST
        or x.size > MOST * means.size
        or any(a.dtype != dt.float32 for a in operands)
        or not is_available()
    ):
        return None
    return _by_job(what, results, HANDING_OVER + each * 1e-3 * x.size)


def _by_job(what: onednn_forward.Described, results: Sequence[Aval], time: float) -> Way | None:
    job = onednn_forward.job_of(what)
    if job is None:
        return None

    def run(*arrays: np.ndarray) -> list[np.ndarray] | None:
        if not is_available():  # a forked process
            return None
        inputs = [contiguous(np.asarray(a)) for a in arrays]
        outs = [np.empty(a.shape, a.dtype) for a in results]
        job.on(*inputs, *outs)
        return outs

    return Way(run, time)


@functools.cache
def rows(weighted: bool, biased: bool, epsilon: float) -> Callable[..., Way | None]:
    """For rows of a matrix normalised: 2,048 x 256 0.09 ms, both cores busy."""

    def on_host(x: Aval, *vectors: Aval) -> Way | None:
        statistics = x.with_shape(x.shape[:1])
        what = onednn_forward.Rows(x.shape[0], x.shape[1], weighted, biased, epsilon)
        return _way(what, [x, *vectors], [x, statistics, statistics], statistics, 0.1)

    return on_host


@functools.cache
def gradients_of_rows(weighted: bool, biased: bool, epsilon: float) -> Callable[..., Way | None] | None:
    """For the cotangents of x, the weight and the bias of such rows: 2,048 x 256 0.08 ms, by NumPy's steps 0.3."""
    if biased and not weighted:
        return None

    def on_host(ct: Aval, x: Aval, means: Aval, variances: Aval, *weight: Aval) -> Way | None:
        what = onednn_forward.RowsBack(x.shape[0], x.shape[1], weighted, biased, epsilon)
        vectors = [x.with_shape(x.shape[1:])] * (weighted + biased)
        return _way(what, [ct, x, means, variances, *weight], [x, *vectors], means, 0.15)

    return on_host


@functools.cache
def groups(number: int, weighted: bool, biased: bool, epsilon: float) -> Callable[..., Way | None]:
    """For groups of channels normalised: 16 x 64 x 32 x 32 0.16 ms, both cores busy."""

    def on_host(x: Aval, *vectors: Aval) -> Way | None:
        n, c = x.shape[:2]
        statistics = x.with_shape((n, number))
        places = x.size // (n * c) if x.size else 0
        what = onednn_forward.Groups(n, number, c, places, weighted, biased, epsilon)
        return _way(what, [x, *vectors], [x, statistics, statistics], statistics, 0.14)

    return on_host


@functools.cache
def by_channel(*steps: int) -> Callable[..., Way | None]:
    """For steps by a number of each channel (dimension 1): 8 x 32 x 64 x 64 in two steps 60 us for 320."""

    def on_host(x: Aval, *vectors: Aval) -> Way | None:
        n, c = x.shape[:2]
        if x.size < LEAST or any(a.dtype != dt.float32 for a in (x, *vectors)) or not is_available():
            return None
        what = onednn_forward.Channelwise(n, c, x.size // (n * c), steps)
        return _by_job(what, [x], HANDING_OVER + 1e-4 * x.size)

    return on_host


def _are_many_floats(x: Aval) -> bool:
    return x.dtype in (dt.float32, dt.float64) and x.size >= MANY


def _elementwise(x: Aval, otherwise: Function, each: float, most: float, *steps: Any) -> Way | None:
    """`steps` by oneDNN of many numbers (`host_library.elementwise`); of fewer `otherwise`, which takes `each`
    nanoseconds a number, and of more than `most` is better left to a program."""
    if not _are_many_floats(x):
        return None
    compute = elementwise(x, *steps, otherwise=otherwise)
    if compute is not otherwise:
        each = BY_LIBRARY
    elif x.size >= most:
        return None
    return Way(lambda array: [compute(array)], 2.0 + each * 1e-3 * x.size)


def positive(x: Aval) -> Way | None:
    """For the greater of x and 0: 262,144 numbers in 19 us for 44 by np.clip, 110 by a choice."""

    def clip(array: np.ndarray) -> np.ndarray:
        return in_pieces(lambda part: part.clip(0, math.inf), 1, x, array)

    return _elementwise(x, clip, 0.1, math.inf, MAXIMUM, 0.0, MAXIMUM)


def clipped(low: float, high: float) -> Callable[[Aval], Way | None]:
    """For x between bounds by np.clip: 262,144 numbers in 21 us for 200 by choices. A million take a program 0.09 ms,
    this 0.11."""

    def clip(x: np.ndarray) -> np.ndarray:
        return x.clip(low, high)

    def on_host(x: Aval) -> Way | None:
        if not _are_many_floats(x):
            return None
        return Way(lambda array: [in_pieces(clip, 1, x, array)], 1.0 + 1e-4 * x.size)

    return on_host


def greater_of_scaled(factor: float) -> Callable[[Aval], Way | None]:
    """For max(x, factor * x): 262,144 numbers in 19 us for 45 by NumPy, 135 by a choice."""

    def compute(x: np.ndarray) -> np.ndarray:
        out = x * x.dtype.type(factor)
        return np.maximum(x, out, out=out)

    return lambda x: _elementwise(x, compute, 0.2, MOST_IN_STEPS, MULTIPLY, factor, MAXIMUM)


def hard_sigmoid(times_itself: bool) -> Callable[[Aval], Way | None]:
    """For min(max(x + 3, 0), 6) / 6, or that times x: 262,144 numbers in 65 us for 283 by choices, the latter in 20."""

    def compute(x: np.ndarray) -> np.ndarray:
        out = x + x.dtype.type(3)
        np.clip(out, 0, 6, out)
        if times_itself:
            out *= x
        out /= 6
        return out

    def on_host(x: Aval) -> Way | None:
        if times_itself:  # what the bounds make of NaN is NaN again
            steps = ADD, 3.0, (CLIP, 0.0, 6.0), (LINEAR, 1 / 6, 0.0), MULTIPLY
            return _elementwise(x, compute, 0.3, MOST_IN_STEPS, *steps)
        usable = _are_many_floats(x) and x.size < MOST_IN_STEPS
        return Way(lambda array: [compute(array)], 4.0 + 3e-4 * x.size) if usable else None

    return on_host


_PARTS = {dt.complex64: dt.float32, dt.complex128: dt.float64}
_OF_PARTS = {part: whole for whole, part in _PARTS.items()}


def parts(x: Aval) -> Way | None:
    """For complex numbers as pairs, which they are in memory: 262,144 in 0 us for 150 by putting parts together."""
    return _seen_as(_PARTS, x, (*x.shape, 2))


def of_parts(x: Aval) -> Way | None:
    """For pairs as complex numbers."""
    return _seen_as(_OF_PARTS, x, x.shape[:-1])


def _seen_as(dtypes: Mapping[np.dtype, np.dtype], x: Aval, shape: Ints) -> Way | None:
    dtype = dtypes.get(x.dtype)
    if dtype is None:
        return None
    return Way(lambda array: [contiguous(array).reshape(-1).view(dtype).reshape(shape)], 1.0)


def seen(view: Callable[[np.ndarray], np.ndarray], in_short_rows: int = 0) -> Callable[[Aval], Way]:
    """For what `view` shows of an array in its own memory. Of rows of a few elements who reads them takes a nanosecond
    an element longer, which is counted here."""
    return lambda x: Way(lambda array: [view(array)], 1.0 + 1e-3 * in_short_rows)


def strided(array: np.ndarray, shape: Ints, strides: Ints) -> np.ndarray:
    """Elements of an array at strides (in bytes), which may show one several times: they are seen where they are. All
    99,001 windows of 1,000 of 100,000 numbers: 1 us, and 400 MB less than by taking them."""
    if array.dtype.isbuiltin == 1 and array.flags.c_contiguous:  # what can be a buffer: 0.5 us for 6
        return np.ndarray(shape, array.dtype, array.data, 0, strides)
    bits = array.view(np.dtype((np.void, array.dtype.itemsize)))  # NumPy knows no such arrays of other dtypes
    return np.lib.stride_tricks.as_strided(bits, shape, strides).view(array.dtype)


@functools.cache
def lengths(axes: Ints) -> Callable[[Aval], Way | None]:
    """For the roots of the sums of squares over the last axes."""

    def on_host(x: Aval) -> Way | None:
        lead = x.shape[: x.ndim - len(axes)]
        if axes != tuple(range(len(lead), x.ndim)) or x.dtype not in (dt.float32, dt.float64) or not x.size:
            return None
        rows = math.prod(lead)
        piece = _piece(x.size // rows)
        if piece is None:
            return None
        return Way(functools.partial(_lengths, lead, (rows, -1, piece)), 5e-3 * rows + 5e-5 * x.size)

    return on_host


@functools.cache
def _piece(n: int) -> int | None:
    """The largest divisor of n that is at most LONG; None of a large number that has only small ones."""
    piece = next(d for d in range(min(n, LONG), 0, -1) if n % d == 0)
    return piece if n <= LONG or piece >= 64 else None


def _lengths(lead: Ints, pieces: Ints, x: np.ndarray) -> list[np.ndarray]:
    part = contiguous(x).reshape(pieces)
    out = np.vecdot(part, part)
    out = out[:, 0] if out.shape[1] == 1 else np.add.reduce(out, axis=1, dtype=np.float64)
    return [np.sqrt(out).astype(x.dtype, copy=False).reshape(lead)]


PLACED = 4096  # values among which a program looks as quickly


@functools.cache
def insertion_places(right: bool) -> Callable[[Aval, Aval], Way | None]:
    """For places in a sorted sequence, by NumPy's search: 8 in 8 numbers 1.3 us for 25 by halving. What is not sorted,
    or has a NaN, is left to that, which gives what PyTorch's steps do."""
    side: Any = "right" if right else "left"

    def run(sequence: np.ndarray, values: np.ndarray) -> list[np.ndarray] | None:
        if not has_all(sequence[1:] >= sequence[:-1]) or sequence[-1] != sequence[-1]:
            return None
        return [sequence.searchsorted(values, side)]

    def on_host(sequence: Aval, values: Aval) -> Way | None:
        plain = sequence.ndim == 1 and sequence.size and sequence.dtype.kind in "iuf"
        return Way(run, 2.0 + 0.03 * values.size) if plain and values.size <= PLACED else None

    return on_host


AT_ONCE = 256  # rows of which the products with all others are there at once
FEW_PAIRS = 8  # rows; the pairs of fewer are subtracted as quickly
CLOSE = 1e-6  # of the greatest square: of pairs that are closer the product leaves too few digits


def pair_distances(x: Aval) -> Way | None:
    """For the distances of all pairs of rows, by one product in float64: 200 x 64 0.1 ms for 0.4 by differences, which
    need room for each pair's."""
    if x.dtype != dt.float32 or x.shape[0] < FEW_PAIRS:
        return None
    n, length = x.shape
    return Way(_pair_distances, 10.0 + 1e-3 * n * n + 2e-5 * n * n * length)


def _pair_distances(x: np.ndarray) -> list[np.ndarray] | None:
    wide = x.astype(np.float64)
    wide -= wide[0].copy()
    lengths = np.vecdot(wide, wide)
    if not np.isfinite(lengths).all():
        return None
    squares = _squares_of_pairs(wide, lengths)
    close = np.flatnonzero(squares < CLOSE * lengths.max())
    if close.size:
        first, second = (index[close] for index in np.triu_indices(len(x), 1))
        for i in range(0, close.size, LEAST):
            part = slice(i, i + LEAST)
            apart = wide[first[part]] - wide[second[part]]
            squares[close[part]] = np.vecdot(apart, apart)
    return [np.sqrt(squares, squares)]


def _squares_of_pairs(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """|a|^2 - 2 ab + |b|^2, rounded to float32."""
    n, done = len(x), 0
    out = np.empty(n * (n - 1) // 2, np.float32)
    for start in range(0, n - 1, AT_ONCE):
        found = x[start : start + AT_ONCE] @ x[start:].T
        found *= -2
        found += lengths[start:]
        found += lengths[start : start + AT_ONCE, None]
        if n <= AT_ONCE:
            out[...] = found.reshape(-1).take(_places_of_pairs(n))
            break
        for i, row in enumerate(found[: n - 1 - start]):
            rest = row[i + 1 :]
            out[done : done + rest.size] = rest
            done += rest.size
    return out


@functools.lru_cache(16)
def _places_of_pairs(n: int) -> np.ndarray:
    first, second = np.triu_indices(n, 1)
    return first * n + second
