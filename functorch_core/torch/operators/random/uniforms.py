"""Uniform samples over an interval, a range of integers, a permutation."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .arithmetic import BFLOAT16, COMPLEX_TYPES, DIGITS, FLOAT_TYPES, affine, cast, numel, opmath, require_dtype
from .generator import FEW, Mt19937Generator, float32_of
from .swaps import apply_swaps

_SIGNED = tuple(np.dtype(f"i{size}") for size in (1, 2, 4, 8))
_UNSIGNED = tuple(np.dtype(f"u{size}") for size in (1, 2, 4, 8))
_BOOL, _FLOAT32, _INT64 = np.dtype(bool), np.dtype(np.float32), np.dtype(np.int64)
# The types random_() without bounds knows, and randint's.
_RANDOM_TYPES = (_BOOL, _UNSIGNED[0], *_SIGNED, *FLOAT_TYPES)
_RANDINT_TYPES = (_BOOL, *_UNSIGNED, *_SIGNED, *FLOAT_TYPES)
_UNIFORM_TYPES = FLOAT_TYPES + COMPLEX_TYPES
_FULL_RANGE_TYPES = (np.dtype(np.int64), BFLOAT16, *FLOAT_TYPES[2:])

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
# From this range on PyTorch takes 64 bits a sample, so that the modulus is skewed by 5 % at most.
_WIDE_RANGE = 1 << 28
# From this length on PyTorch shuffles by another algorithm.
_HUGE_PERMUTATION = (1 << 32) // 20


# ---- intervals -------------------------------------------------------------------------------


def uniform(gen: Mt19937Generator, size, dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Samples of [low, high), as rand and uniform_ draw them; floating and complex dtypes.

    Raises RuntimeError where low > high, or where a bound or high - low overflows the dtype.
    """
    if dtype is _FLOAT32 and low == 0.0 and high == 1.0:  # 0.4 us less
        return gen.uniform_float32(numel(size)).reshape(size)
    dtype = require_dtype("uniform", dtype, _UNIFORM_TYPES)
    n = numel(size)
    if dtype in COMPLEX_TYPES:
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return _real_uniform(gen, 2 * n, part, low, high).view(dtype).reshape(size)
    return _real_uniform(gen, n, dtype, low, high).reshape(size)


def uniform_at(n: int, dtype: np.dtype) -> Callable | None:
    """A function of a generator that does so for standard uniforms, (n,), without looking at what they are to be."""
    return (lambda gen: gen.uniform_float32(n)) if dtype is _FLOAT32 else None


def _real_uniform(gen, n: int, dtype: np.dtype, low: float, high: float) -> np.ndarray:
    if (low, high) != (0.0, 1.0):
        _check_interval(dtype, low, high)
        if n <= FEW and opmath(dtype) is _FLOAT32:
            return gen.few(n, ("uniform", low, high, dtype), _uniforms_of, patience=4)
    compute = opmath(dtype).type
    values = gen.uniform_float32(n) if compute is np.float32 else gen.uniform_float64(n)
    if (low, high) == (0.0, 1.0) and dtype.type is compute:
        return values
    return _within(values, dtype, low, high)


def _uniforms_of(words: np.ndarray, kind: tuple) -> np.ndarray:
    """Uniforms of an interval, computed in float32, that outputs of 32 bits stand for."""
    _, low, high, dtype = kind
    return _within(float32_of(words), dtype, low, high)


def _within(values: np.ndarray, dtype: np.dtype, low: float, high: float) -> np.ndarray:
    compute = values.dtype.type
    low, high = compute(low), compute(high)
    values = cast(affine(values, high - low, low), dtype)
    # Rounding may reach the excluded upper bound.
    values[values == dtype.type(high)] = dtype.type(low)
    return values


def rrelu_noise(gen: Mt19937Generator, x: np.ndarray, low: float, high: float) -> np.ndarray:
    """The factors of rrelu in training: drawn from [low, high) where x <= 0, 1 elsewhere.

    One double for each such element, in row-major order, whatever the dtype.
    """
    noise, compute, hit = np.ones(x.shape, x.dtype), opmath(x.dtype).type, x <= 0
    low, high = float(compute(low)), float(compute(high))
    drawn = affine(gen.uniform_float64(int(hit.sum())), high - low, low)
    noise[hit] = drawn.astype(compute).astype(x.dtype)
    return noise


def _check_interval(dtype: np.dtype, low: float, high: float) -> None:
    largest = largest_finite(dtype)
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"uniform_: {name}={bound} is out of bounds for {dtype.name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= {largest} for {dtype.name}, but found to={high} and from={low}"
        )


@functools.cache
def largest_finite(dtype: np.dtype) -> float:
    """The largest finite value of a floating dtype."""
    if dtype == BFLOAT16:
        return 2.0**128 - 2.0**120
    return float(np.finfo(dtype).max)


# ---- integers --------------------------------------------------------------------------------


def randint(gen: Mt19937Generator, size, low: int, high: int | None, dtype=np.int64) -> np.ndarray:
    """Integers of [low, high) in any real dtype, as randint and random_(low, high) draw them.

    `high=None` is everything from low to the largest value of the dtype (2**digits for floating
    ones). Raises RuntimeError for an empty range or a bound outside the dtype.
    """
    if dtype is _INT64 and high is not None and 0 <= low < high < _WIDE_RANGE:  # 1 us less
        return gen.few(numel(size), (low, high), _integers_of, patience=4).reshape(size)
    _refuse_complex(dtype)
    dtype = require_dtype("randint", dtype, _RANDINT_TYPES)
    if high is None and low == _MIN_INT64:
        dtype = require_dtype("random_ over 64 bits", dtype, _FULL_RANGE_TYPES)
        return _from_bits(gen.random64(numel(size)), 0, dtype).reshape(size)
    low, last = _representable_range(low, high, dtype)
    _check_bounds(low, last, dtype)
    extent = last - low + 1
    n = numel(size)
    bits = gen.random64(n) if extent >= _WIDE_RANGE else gen.random32(n)
    bits %= np.uint64(extent)
    return _from_bits(bits, low, dtype).reshape(size)


def integers_at(n: int, dtype: np.dtype, low: int, high: int) -> Callable | None:
    """A function of a generator that draws n such integers without looking at the bounds."""
    if dtype is not _INT64 or not 0 <= low < high < _WIDE_RANGE:
        return None
    bounds = low, high
    return lambda gen: gen.few(n, bounds, _integers_of, 1, 1, 4)


def _integers_of(words: np.ndarray, bounds: tuple[int, int]) -> np.ndarray:
    """The integers that outputs stand for; the outputs are overwritten."""
    low, high = bounds
    words %= np.uint64(high - low)
    if low:
        words += np.uint64(low)
    return words.view(_INT64)


def random_full_range(gen: Mt19937Generator, size, dtype) -> np.ndarray:
    """random_() without bounds: [0, largest] of an integer dtype, [0, 2**digits] of a floating.

    A data loader's base seed is `int(random_full_range(gen, (), np.int64))`; worker i then
    seeds itself with base seed + i.
    """
    _refuse_complex(dtype)
    dtype = require_dtype("random_", dtype, _RANDOM_TYPES)
    n = numel(size)
    bits = gen.random64(n) if dtype in (np.float64, np.int64) else gen.random32(n)
    bits %= np.uint64(_largest_integer(dtype) + 1)
    return _from_bits(bits, 0, dtype).reshape(size)


def _refuse_complex(dtype):
    if dtype in COMPLEX_TYPES:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")


def _largest_integer(dtype: np.dtype) -> int:
    if dtype == _BOOL:
        return 1
    return 1 << DIGITS[dtype] if dtype in DIGITS else int(np.iinfo(dtype).max)


def _from_bits(bits: np.ndarray, low: int, dtype: np.dtype) -> np.ndarray:
    bits += np.uint64(low % (1 << 64))
    return cast(bits.view(np.int64), dtype)


@functools.lru_cache(256)
def _representable_range(low: int, high: int | None, dtype: np.dtype) -> tuple[int, int]:
    """The first and the last integer to draw, moved inwards to values of a floating dtype."""
    if high is not None and not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype not in DIGITS:
        return low, _largest_integer(dtype) if high is None else high - 1
    first = _lower_bound(low, dtype)
    last = _largest_integer(dtype) if high is None else _upper_bound(high, dtype) - 1
    if first > last:
        raise RuntimeError(
            f"random_ expects 'from' cast to the dtype to be less than 'to', but got from={first} >= to={last + 1}"
        )
    return first, last


def _lower_bound(low: int, dtype: np.dtype) -> int:
    """`low`, or the next value of `dtype` inwards where low + 1 rounds to less than low."""
    rounded = _round_trip(low + 1, dtype)
    return low if rounded >= low else rounded + _spacing(low + 1, dtype)


def _upper_bound(high: int, dtype: np.dtype) -> int:
    """`high`, or the next value of `dtype` inwards where high - 1 rounds to high or more."""
    rounded = _round_trip(high - 1, dtype)
    return high if rounded < high else rounded - _spacing(high - 1, dtype)


def _spacing(value: int, dtype: np.dtype) -> int:
    """Distance of the values of `dtype` at an integer too large for its digits."""
    return 1 << max(abs(value).bit_length() - DIGITS[dtype], 0)


def _round_trip(value: int, dtype: np.dtype) -> int:
    """`value` in `dtype` and back in int64; what overflows becomes the least int64, as in C."""
    rounded = float(cast(np.array(value, np.int64), dtype))
    return int(rounded) if abs(rounded) < 2.0**63 else _MIN_INT64


C_NAMES = {"int16": "short", "int32": "int", "int64": "long", "int8": "signed char", "uint8": "unsigned char"}


@functools.lru_cache(256)
def _check_bounds(low: int, last: int, dtype: np.dtype) -> None:
    if dtype in DIGITS:
        smallest, largest = -largest_finite(dtype), largest_finite(dtype)
    elif dtype == _BOOL:
        smallest, largest = 0, 1
    else:
        limits = np.iinfo(dtype)
        smallest, largest = int(limits.min), min(int(limits.max), _MAX_INT64)
    for name, bound in (("from", low), ("to - 1", last)):
        if not smallest <= bound <= largest:
            kind = C_NAMES.get(dtype.name, dtype.name)
            raise RuntimeError(f"{name} is out of bounds for {kind}")


# ---- permutations ----------------------------------------------------------------------------


def _as_they_are(words: np.ndarray, kind: str) -> np.ndarray:
    return words


def _swapped(words: list[int], n: int) -> list[int]:
    """range(n) shuffled by n - 1 outputs one by one, which of few is quicker than to call LAPACK: of 5 1.3 us for 7."""
    found = list(range(n))
    for i, word in enumerate(words):
        j = i + word % (n - i)
        found[i], found[j] = found[j], found[i]
    return found


def randperm(gen: Mt19937Generator, n: int, dtype=np.int64) -> np.ndarray:
    """A permutation of range(n), as randperm draws it; integer and floating dtypes.

    Raises RuntimeError where n is negative or the dtype cannot hold n, and NotImplementedError
    from 214,748,364 elements on, where PyTorch shuffles by another algorithm.
    """
    dtype = require_dtype("randperm", dtype, _RANDOM_TYPES[1:])
    largest = _HUGE_PERMUTATION if dtype == BFLOAT16 else _largest_integer(dtype) + 1
    if not 0 <= n <= largest:
        raise RuntimeError(f"randperm expected n in [0, {largest}] for {dtype.name}, got {n}")
    if n >= _HUGE_PERMUTATION:
        raise NotImplementedError(f"randperm is not implemented for n >= {_HUGE_PERMUTATION}, got {n}")
    if n < 2:
        return np.arange(n).astype(dtype)
    if n <= FEW:
        return np.array(_swapped(gen.few(n - 1, "words", _as_they_are).tolist(), n), dtype)
    targets = np.arange(n, dtype=np.int64)
    targets[:-1] += (gen.random32(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)).view(np.int64)
    return cast(apply_swaps(targets), dtype)
