"""Rounding as PyTorch's compiled kernels round: C casts, fused multiply-add, libm functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF_TYPES = (np.dtype(np.float16), BFLOAT16)
_HALF, _FLOAT32 = frozenset(HALF_TYPES), np.dtype(np.float32)
FLOAT_TYPES = (*HALF_TYPES, np.dtype(np.float32), np.dtype(np.float64))
COMPLEX_TYPES = (np.dtype(ml_dtypes.complex32), np.dtype(np.complex64), np.dtype(np.complex128))
# Bits of the significand, the hidden one included.
DIGITS = {FLOAT_TYPES[0]: 11, FLOAT_TYPES[1]: 8, FLOAT_TYPES[2]: 24, FLOAT_TYPES[3]: 53}

_SPLITTER = 2.0**27 + 1.0  # Veltkamp: splits a float64 into two halves of 26 bits


def numel(size: int | tuple[int, ...]) -> int:
    """Number of elements of a shape, or of a length given as an int."""
    return math.prod(size) if isinstance(size, tuple) else int(size)


def require_dtype(name: str, dtype, allowed: tuple[np.dtype, ...]) -> np.dtype:
    """`dtype` as np.dtype; NotImplementedError, naming the draw, where it is not allowed."""
    dtype = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
    for t in allowed:
        if dtype is t:  # == takes 0.1 us
            return dtype
    if dtype not in allowed:
        expected = ", ".join(t.name for t in allowed)
        raise NotImplementedError(f"{name} is not implemented for {dtype.name}; it draws {expected}")
    return dtype


def opmath(dtype: np.dtype) -> np.dtype:
    """The type PyTorch computes in for tensors of `dtype`: float32 for the half types."""
    return _FLOAT32 if dtype in _HALF else dtype


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`values` converted as a C++ cast does: to the half types by way of float32."""
    if values.dtype == dtype:
        return values
    if dtype in _HALF:
        values = values.astype(np.float32, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(dtype, copy=False)


def affine(values: np.ndarray, scale: float, offset: float) -> np.ndarray:
    """`values * scale + offset` rounded once, as the kernels' fused multiply-add; float32/64."""
    if scale == 1.0 and offset == 0.0:
        return values
    dtype = values.dtype
    scale, offset = dtype.type(scale), dtype.type(offset)
    if offset == 0:
        return values if scale == 1 else values * scale
    if scale == 1:
        return values + offset
    if dtype == np.float32:
        # The product of two float32 is exact in float64.
        return (values.astype(np.float64) * float(scale) + float(offset)).astype(np.float32)
    return _fused_float64(values, scale, offset)


def _fused_float64(x: np.ndarray, scale: np.float64, offset: np.float64) -> np.ndarray:
    """Multiply-add by error-free transformations: Dekker's product, Knuth's sum."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = x * scale
        x_high, scale_high = _high_part(x), _high_part(scale)
        x_low, scale_low = x - x_high, scale - scale_high
        product_error = ((x_high * scale_high - product) + x_high * scale_low + x_low * scale_high) + x_low * scale_low
        total = product + offset
        back = total - product
        total_error = (product - (total - back)) + (offset - back)
        fused = total + (total_error + product_error)
        return np.where(np.isfinite(fused), fused, total)


def _high_part(x):
    scaled = x * _SPLITTER
    return scaled - (scaled - x)


def libm(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """`function` of the `math` module over a float64 array, with the C library's last bit.

    NumPy's own log, log1p and tan are vectorised and differ by an ulp in up to 7 % of the
    samples; PyTorch calls the C library. 70 ns an element, NumPy's 1.
    """
    results = map(function, memoryview(values.ravel()))
    return np.fromiter(results, np.float64, values.size).reshape(values.shape)


def libm_if(exact: bool, name: str, values: np.ndarray) -> np.ndarray:
    """`libm` of the named function where `exact`, else NumPy's quick version of it.

    Results that are rounded to float32 afterwards need not be exact: an ulp of float64 changes
    one of them in 10**9.
    """
    return libm(getattr(math, name), values) if exact else getattr(np, name)(values)
