"""Samples that are one function of one uniform each, computed in float64."""

from __future__ import annotations

import math

import numpy as np

from ...tensors.types import scalar_name
from .arithmetic import FLOAT_TYPES, affine, cast, libm_if, numel, require_dtype
from .generator import Mt19937Generator, float64_of

_FLOAT32 = np.dtype(np.float32)
_GEOMETRIC_TYPES = (*(np.dtype(code) for code in ("u1", "i1", "i2", "i4", "i8")), *FLOAT_TYPES)


CONTINUOUS = (
    "{} distribution is a continuous probability distribution. dtype must be a floating point but you specified {}"
)


def _continuous(name: str, dtype) -> np.dtype:
    """RuntimeError for dtypes that the draw has none of."""
    if np.dtype(dtype) not in FLOAT_TYPES:
        raise RuntimeError(CONTINUOUS.format(name, scalar_name(np.dtype(dtype))))
    return require_dtype(name, dtype, FLOAT_TYPES)


def exponential(gen: Mt19937Generator, size, dtype, rate: float = 1.0) -> np.ndarray:
    """-log(1 - u) / rate, as exponential_. RuntimeError unless rate > 0."""
    dtype = dtype if dtype is _FLOAT32 else _continuous("Exponential", dtype)
    if not rate > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if dtype is _FLOAT32 and rate == 1.0:
        return gen.few(2 * numel(size), "exponentials", _exponentials_of, 2, 2, 4).reshape(size)
    uniforms = gen.uniform_float64(numel(size))
    values = (-1.0 / rate) * libm_if(dtype == np.float64, "log1p", -uniforms)
    return cast(values, dtype).reshape(size)


def _exponentials_of(words: np.ndarray, kind: str) -> np.ndarray:
    """-log(1 - u) of the uniforms that pairs of outputs stand for, float32."""
    return (-np.log1p(-float64_of(words))).astype(_FLOAT32)


def cauchy(gen: Mt19937Generator, size, dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """median + sigma tan(pi (u - 1/2)), as cauchy_. RuntimeError unless sigma > 0."""
    dtype = dtype if dtype is _FLOAT32 else _continuous("Cauchy", dtype)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    angles = math.pi * (gen.uniform_float64(numel(size)) - 0.5)
    tangents = libm_if(dtype == np.float64, "tan", angles)
    return cast(affine(tangents, sigma, median), dtype).reshape(size)


def geometric(gen: Mt19937Generator, size, dtype, p: float) -> np.ndarray:
    """ceil(log(u) / log(1 - p)), as geometric_; real dtypes. RuntimeError unless 0 < p < 1."""
    dtype = require_dtype("geometric", dtype, _GEOMETRIC_TYPES)
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    with np.errstate(divide="ignore"):
        logs = np.log(gen.uniform_float64(numel(size)))
    return cast(np.ceil(logs / math.log1p(-p)), dtype).reshape(size)
