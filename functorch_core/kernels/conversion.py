"""Floats as integers the way x86 converts them, which is PyTorch's."""

from __future__ import annotations

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of

_NARROW = dt.FLOAT8 | {dt.float16, dt.bfloat16}
_BY_INT64 = {dt.int64, dt.uint32, dt.uint8}


def wrapped(x, dtype: np.dtype):
    """Floats as integers, rounded towards zero. By way of int64 for int64, uint32 and uint8, of int32 for
    others: what that does not hold, and NaN, is its least number; what the dtype does not hold then wraps.

    Of uint64 numbers from 2**63 on are right, those too large are 0.
    """
    if aval_of(x).dtype in _NARROW:
        x = p.convert(x, dtype=dt.float32)
    if dtype == dt.uint64:
        return _unsigned(x)
    wide = dt.int64 if dtype in _BY_INT64 else dt.int32
    whole = _within(x, wide)
    return whole if wide == dtype else p.convert(whole, dtype=dtype)


def _within(x, dtype: np.dtype):
    """Floats as int32 or int64; its least number for what it does not hold."""
    a, end = aval_of(x), 2.0 ** (8 * dtype.itemsize - 1)
    below = p.lt(x, p.full(a.shape, end, a.dtype))
    if a.dtype == dt.float64 and dtype == dt.int32:
        above = p.gt(x, p.full(a.shape, -end - 1, a.dtype))
    else:  # it has no numbers between the least and the one below
        above = p.ge(x, p.full(a.shape, -end, a.dtype))
    return p.convert(p.select(p.and_(below, above), x, p.full(a.shape, -end, a.dtype)), dtype=dtype)


def _unsigned(x):
    a, half = aval_of(x), 2.0**63
    high = p.ge(x, p.full(a.shape, half, a.dtype))
    low = p.select(high, p.sub(x, p.full(a.shape, half, a.dtype)), x)
    bits = p.bitcast(_within(low, dt.int64), dtype=dt.uint64)
    return p.add(bits, p.select(high, p.full(a.shape, 1 << 63, dt.uint64), p.full(a.shape, 0, dt.uint64)))
