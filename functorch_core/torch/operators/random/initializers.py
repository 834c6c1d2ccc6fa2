"""The truncated normal of nn.init, which draws whole arrays until every element is accepted."""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import FLOAT_TYPES, cast, numel, opmath, require_dtype
from .generator import Mt19937Generator
from .normals import normal
from .uniforms import uniform


def trunc_normal(
    gen: Mt19937Generator, size, dtype, mean: float = 0.0, std: float = 1.0, low: float = -2.0, high: float = 2.0
) -> np.ndarray:
    """Normal samples of a floating dtype within [low, high], as nn.init.trunc_normal_ of 2.13."""
    dtype = require_dtype("trunc_normal", dtype, FLOAT_TYPES)
    inside = _normal_cdf((high - mean) / std) - _normal_cdf((low - mean) / std)
    if inside > 0.3:
        flat = _by_redrawing_normals(gen, numel(size), dtype, mean, std, low, high)
    else:
        flat = _by_rejecting_uniforms(gen, numel(size), dtype, mean, std, low, high)
    return flat.reshape(size)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _by_redrawing_normals(gen, n: int, dtype, mean, std, low, high) -> np.ndarray:
    low, high = dtype.type(low), dtype.type(high)
    values = normal(gen, n, dtype, mean, std)
    while (outside := (values < low) | (values > high)).any():
        values = np.where(outside, normal(gen, n, dtype, mean, std), values)
    return values


def _by_rejecting_uniforms(gen, n: int, dtype, mean, std, low, high) -> np.ndarray:
    """For intervals of little mass: uniform candidates, accepted by the density's ratio."""
    peak = -0.5 * ((max(low, min(mean, high)) - mean) / std) ** 2
    values = uniform(gen, n, dtype, low, high)
    pending = _rejected(gen, values, mean, std, peak)
    while pending.any():
        candidates = uniform(gen, n, dtype, low, high)
        values = np.where(pending, candidates, values)
        pending &= _rejected(gen, candidates, mean, std, peak)
    return values


def _rejected(gen, candidates: np.ndarray, mean, std, peak) -> np.ndarray:
    """log u > log of the density relative to its peak, every operation rounded to the dtype.

    PyTorch rounds a scalar it adds to a half type first, but not one it multiplies by.
    """
    dtype, compute = candidates.dtype, opmath(candidates.dtype)

    def rounded(values):
        return cast(values, dtype).astype(compute)

    def term(value):
        return compute.type(dtype.type(value))

    deviation = rounded(candidates.astype(compute) - term(mean))
    deviation = rounded(deviation / compute.type(std))
    log_density = rounded(rounded(deviation * deviation) * compute.type(-0.5))
    log_density = rounded(log_density - term(peak))
    with np.errstate(divide="ignore"):
        log_uniform = np.log(uniform(gen, candidates.size, dtype).astype(np.float64))
    return rounded(log_uniform) > log_density
