"""Samples by rejection: Poisson, binomial.

How many uniforms a sample takes depends on the uniforms, so these go element by element, in Python: binomial numbers
1 to 5 us each; many Poisson numbers 0.1 us where the rates are below 1, 0.3 below 10, 0.6 above, drawn of uniforms
in a list. Only trials of one rate of 10 or more go all at once, 0.1 us each. The order of operations
and their types are PyTorch's, whose float32 arguments stay float32 where an operation meets no float64.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from .arithmetic import FLOAT_TYPES, cast, libm, require_dtype
from .generator import Mt19937Generator, Stretch

MANY = 64  # elements from which on a block of uniforms in a list is faster
BLOCK = 1 << 13  # elements in a pass
_ARGUMENT_TYPES = FLOAT_TYPES[2:]

Read = Callable[[], float]


def require_finite(name: str, argument: str, values: np.ndarray) -> None:
    """Refuses what PyTorch's rejection loops never return from."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} expected finite {argument}, got infinity or NaN")


# ---- Poisson ---------------------------------------------------------------------------------


def poisson(gen: Mt19937Generator, rates: np.ndarray) -> np.ndarray:
    """Poisson samples of the shape and floating dtype of `rates`.

    Raises RuntimeError where a rate is negative or NaN, ValueError where one is infinite.
    """
    dtype = require_dtype("poisson", rates.dtype, FLOAT_TYPES)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    require_finite("poisson", "rates", rates)
    if rates.size < MANY:
        with gen.uniform_reader(2 * rates.size) as read:
            values = np.array([_poisson_one(rate, read) for rate in rates.ravel().tolist()], np.float64)
    else:
        values = _many_poissons(gen, rates.ravel().astype(np.float64))
    return cast(values, dtype).reshape(rates.shape)


def _many_poissons(gen, rates: np.ndarray) -> np.ndarray:
    """Poisson numbers of many rates, (n,) float64, in blocks of which the uniforms are drawn at once."""
    values, stretch = np.zeros(rates.size), Stretch(gen)
    try:
        for start in range(0, rates.size, BLOCK):
            block = rates[start : start + BLOCK]
            drawn = block > 0  # what is 0 takes no uniform
            positive = block[drawn]
            if not positive.size:
                continue
            least, most = float(positive.min()), float(positive.max())
            if least == most >= 10:
                counts = _poissons_of_one_rate(stretch, least, positive.size)
            else:
                counts = _poissons(stretch, positive, _by_products if most < 10 else _one_by_one)
            values[start : start + BLOCK][drawn] = counts
    finally:
        stretch.give_back()
    return values


def _poissons(stretch: Stretch, rates: np.ndarray, counted: Callable) -> list[int]:
    """counted(rates, read), where `read` reads from a list: 20 ns instead of 60."""
    expected = float(np.where(rates < 10, rates + 1, 2.8).sum()) + 6 * math.sqrt(10 * rates.size)
    while True:
        uniforms = stretch.peek(int(expected))
        ahead = iter(uniforms.tolist())
        try:
            counts = counted(rates, ahead.__next__)
        except StopIteration:
            expected = 1.25 * uniforms.size
            continue
        stretch.advance(uniforms.size - operator.length_hint(ahead))
        return counts


def _one_by_one(rates: np.ndarray, read: Read) -> list[int]:
    return [_poisson_one(rate, read) for rate in rates.tolist()]


def _by_products(rates: np.ndarray, read: Read) -> list[int]:
    """Of rates below 10."""
    counts = []
    # The complex exponential calls the C library's exp; NumPy's real one differs by an ulp in 5 %.
    for threshold in np.exp(-rates.astype(np.complex128)).real.tolist():
        count, product = 0, read()
        while product > threshold:
            count += 1
            product *= read()
        counts.append(count)
    return counts


def _poisson_one(rate: float, read: Read) -> int:
    if rate >= 10:
        return _poisson_by_rejection(rate, read)
    if rate == 0:
        return 0
    threshold = math.exp(-rate)
    count, product = 0, read()
    while product > threshold:
        count += 1
        product *= read()
    return count


def _poisson_by_rejection(rate: float, read: Read) -> int:
    """Hoermann's transformed rejection (PTRS, 1993)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    accept = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = read() - 0.5
        v = read()
        us = 0.5 - abs(u)
        if us == 0.0:
            continue  # an infinite candidate, which PyTorch rejects as a negative integer
        count = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= accept:
            return count
        if count < 0 or (us < 0.013 and v > us):
            continue
        if _poisson_accepts(rate, a, b, us, v, count):
            return count


def _poisson_accepts(rate: float, a: float, b: float, us: float, v: float, count: float) -> bool:
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    left = _log(v) + log_inverse_alpha - math.log(a / (us * us) + b)
    return left <= -rate + count * math.log(rate) - math.lgamma(count + 1)


def _poissons_of_one_rate(stretch: Stretch, rate: float, n: int) -> np.ndarray:
    """n numbers of a rate of 10 or more: all trials at once, which take two uniforms each."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    accept = 0.9277 - 3.6224 / (b - 2)
    parts = []
    while n:
        uniforms = stretch.peek(2 * int(1.35 * n + 16))
        u, v = uniforms[0:-1:2] - 0.5, uniforms[1::2]
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore"):  # -inf is rejected as negative
            counts = np.floor((2 * a / us + b) * u + rate + 0.43)
        accepted = (us >= 0.07) & (v <= accept)
        (unsure,) = np.nonzero(~accepted & (counts >= 0) & ((us >= 0.013) | (v <= us)))
        accepted[unsure] = _accepted(rate, a, b, us[unsure], v[unsure], counts[unsure])
        taken = np.flatnonzero(accepted)[:n]
        parts.append(counts[taken])
        n -= taken.size
        stretch.advance(2 * (int(taken[-1]) + 1) if not n else 2 * u.size)
    return np.concatenate(parts)


def _accepted(rate: float, a: float, b: float, us: np.ndarray, v: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`_poisson_accepts` of many: by NumPy's logarithms, which are exact enough unless both sides are close."""
    log_rate, log_inverse_alpha = math.log(rate), math.log(1.1239 + 1.1328 / (b - 3.4))
    with np.errstate(divide="ignore"):
        left = np.log(v) + log_inverse_alpha - np.log(a / (us * us) + b)
    above = left - (-rate + counts * log_rate - libm(math.lgamma, counts + 1))
    accepted = above <= 0
    (close,) = np.nonzero(np.abs(above) < 1e-9 + 1e-13 * rate * log_rate)
    for i in close.tolist():
        accepted[i] = _poisson_accepts(rate, a, b, float(us[i]), float(v[i]), float(counts[i]))
    return accepted


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


# ---- binomial --------------------------------------------------------------------------------

# What Stirling's approximation of log k! leaves out, for k = 0 ... 9.
_STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def binomial(gen: Mt19937Generator, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Binomial samples of the dtype (float32, float64) of `count` and `prob`, broadcast.

    Raises RuntimeError where the dtypes differ, ValueError where a count is not finite; NaN in
    `prob` gives NaN.
    """
    dtype = require_dtype("binomial", count.dtype, _ARGUMENT_TYPES)
    if prob.dtype != dtype:
        raise RuntimeError(f"binomial expected count and prob of one dtype, got {dtype.name} and {prob.dtype.name}")
    require_finite("binomial", "count", count)
    count, prob = np.broadcast_arrays(count, prob)
    with gen.uniform_reader(4 * count.size) as read:
        values = [_binomial_one(n, p, read) for n, p in zip(count.ravel(), prob.ravel())]
    return np.array(values, dtype).reshape(count.shape)


def _binomial_one(count, prob, read: Read) -> float:
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob <= 0.5:
        return _binomial_lower_half(count, prob, read)
    if prob > 0.5:
        complement = type(prob)(1.0 - float(prob))
        return count - _binomial_lower_half(count, complement, read)
    return math.nan


def _binomial_lower_half(count, prob, read: Read):
    if count * prob >= 10:
        return _binomial_by_rejection(count, prob, read)
    log_failure = float(type(prob)(math.log1p(-prob)))
    return _binomial_by_inversion(float(count), log_failure, read)


def _binomial_by_inversion(count: float, log_failure: float, read: Read) -> float:
    """Counts the geometric waiting times that fit into `count` trials."""
    trials, successes = 0.0, 0.0
    while True:
        u = read()
        trials += math.ceil(math.log(u) / log_failure) if u > 0.0 else math.inf
        if trials > count:
            return successes
        successes += 1.0


def _binomial_by_rejection(count, prob, read: Read) -> float:
    """Hoermann's transformed rejection (BTRS, 1993); count and prob are NumPy scalars."""
    real, one = float, type(prob)(1)
    stddev = real(np.sqrt(count * prob * (one - prob)))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * real(prob)
    center = real(count * prob) + 0.5
    accept = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * stddev
    odds, mode = real(prob / (one - prob)), real(np.floor((count + one) * prob))
    while True:
        u = read() - 0.5
        v = read()
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        k = type(prob)(math.floor((2 * a / us + b) * u + center))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= accept:
            return k
        if _log(v * alpha / (a / (us * us) + b)) <= _binomial_log_ratio(count, k, mode, odds):
            return k


def _binomial_log_ratio(count, k, mode: float, odds: float) -> float:
    """Logarithm of the probability of k over that of the mode."""
    n, successes, one = float(count), float(k), type(k)(1)
    failures, tries = float(count - k + one), float(count + one)
    mode_failures = n - mode + 1
    return (
        (mode + 0.5) * math.log((mode + 1) / (odds * mode_failures))
        + tries * math.log(mode_failures / failures)
        + (successes + 0.5) * math.log(odds * failures / float(k + one))
        + _stirling_tail(mode)
        + _stirling_tail(n - mode)
        - _stirling_tail(successes)
        - _stirling_tail(float(count - k))
    )


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAILS):
        return _STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
