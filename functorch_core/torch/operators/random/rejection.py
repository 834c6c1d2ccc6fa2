"""Samples by rejection: Poisson, gamma, Dirichlet, binomial.

How many uniforms a sample takes depends on the uniforms, so these go element by element, in
Python: 1 to 5 us each. The order of operations and their types are PyTorch's, whose float32
arguments stay float32 where an operation meets no float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .arithmetic import FLOAT_TYPES, cast, require_dtype
from .generator import Mt19937Generator

_ARGUMENT_TYPES = FLOAT_TYPES[2:]
_f32 = np.float32

# float32 constants of PyTorch's gamma sampler, which computes in float64 with them.
_THIRD, _SQUEEZE = float(_f32(1.0 / 3.0)), float(_f32(0.0331))

Read = Callable[[], float]


def _require_finite(name: str, argument: str, values: np.ndarray) -> None:
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
    _require_finite("poisson", "rates", rates)
    flat = rates.ravel().astype(np.float64).tolist()
    with gen.uniform_reader(2 * len(flat)) as read:
        values = [_poisson_one(rate, read) for rate in flat]
    return cast(np.array(values, np.float64), dtype).reshape(rates.shape)


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
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
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
        if _log(v) + log_inverse_alpha - math.log(a / (us * us) + b) <= -rate + count * log_rate - math.lgamma(
            count + 1
        ):
            return count


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


# ---- gamma and Dirichlet ---------------------------------------------------------------------


def standard_gamma(gen: Mt19937Generator, alpha: np.ndarray) -> np.ndarray:
    """Gamma samples of unit rate, of the shape and dtype (float32, float64) of `alpha`.

    No sample is less than the smallest normal number. Raises ValueError where alpha is negative,
    infinite or NaN (PyTorch does not return from some of these).
    """
    dtype = require_dtype("gamma", alpha.dtype, _ARGUMENT_TYPES)
    values = _gammas(gen, alpha).astype(dtype)
    return np.maximum(values, np.finfo(dtype).tiny)


def dirichlet(gen: Mt19937Generator, alpha: np.ndarray) -> np.ndarray:
    """Dirichlet samples along the last axis, of the shape and dtype of `alpha`."""
    dtype = require_dtype("dirichlet", alpha.dtype, _ARGUMENT_TYPES)
    gammas = np.maximum(_gammas(gen, alpha.astype(np.float64)), np.finfo(np.float64).tiny)
    fractions = (gammas / gammas.sum(axis=-1, keepdims=True)).astype(dtype)
    return np.clip(fractions, np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0)))


def _gammas(gen, alpha: np.ndarray) -> np.ndarray:
    _require_finite("gamma", "alpha", alpha)
    if not (alpha >= 0).all():
        raise ValueError(f"gamma expected alpha >= 0, got {alpha.min()}")
    with gen.uniform_reader(4 * alpha.size) as read:
        read_normal = _normal_reader(gen, read)
        if alpha.dtype == np.float32:
            values = [_gamma_one(*_gamma_parameters_float32(a), read, read_normal) for a in alpha.ravel()]
        else:
            values = [_gamma_one(*_gamma_parameters(a), read, read_normal) for a in alpha.ravel().tolist()]
    return np.array(values, np.float64).reshape(alpha.shape)


def _gamma_parameters(alpha: float) -> tuple[float, float | None]:
    """Marsaglia and Tsang's d, and 1 / alpha where alpha < 1 (the boost's exponent)."""
    if alpha == 0:
        return 0.0, math.inf
    if alpha < 1:
        return alpha + 1.0 - _THIRD, 1.0 / alpha
    return alpha - _THIRD, None


def _gamma_parameters_float32(alpha: np.float32) -> tuple[float, float | None]:
    if alpha == 0:
        return 0.0, math.inf
    if alpha < 1:
        with np.errstate(over="ignore"):
            inverse = float(_f32(1) / alpha)
        return float(alpha + _f32(1) - _f32(_THIRD)), inverse
    return float(alpha - _f32(_THIRD)), None


def _gamma_one(d: float, exponent: float | None, read: Read, read_normal: Read) -> float:
    """Marsaglia and Tsang (2000), the shape boosted where it was less than one."""
    if d == 0.0:
        return 0.0
    scale = 1.0 if exponent is None else math.pow(1 - read(), exponent)
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = read_normal()
        y = 1.0 + c * x
        while y <= 0:
            x = read_normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - read()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx:
            return scale * d * v
        if math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _normal_reader(gen, read: Read) -> Read:
    """Standard normals one by one; the second of a pair is cached in the generator."""

    def read_normal() -> float:
        if gen.next_normal is not None:
            cached, gen.next_normal = gen.next_normal, None
            return cached
        u1 = read()
        radius = math.sqrt(-2.0 * math.log1p(-read()))
        theta = (2.0 * math.pi) * u1
        gen.next_normal = radius * math.sin(theta)
        return radius * math.cos(theta)

    return read_normal


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
    _require_finite("binomial", "count", count)
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
