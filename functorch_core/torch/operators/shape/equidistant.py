"""Equidistant numbers, as PyTorch computes them."""

from __future__ import annotations

import numpy as np

from ....core import dtypes as dt
from .data import cast_array

PIECE = 1 << 15  # numbers at once, which stay in the cache


def between(start, end, steps: int, dtype: np.dtype) -> np.ndarray:
    """Equidistant numbers, from both ends towards the middle."""
    if steps == 1:
        return cast_array(np.array([start]), dtype)
    compute = (
        dtype.type
        if dtype in (dt.float32, dt.float64, dt.complex64, dt.complex128)
        else (np.float32 if dtype in dt.FLOATING else np.float64)
    )
    if dtype in dt.INTEGER:
        start, end = [int(cast_array(np.array(int(x)), dtype)) for x in (start, end)]
        step = (end - start) / max(steps - 1, 1)
    else:
        start, end = compute(start), compute(end)
        step = (end - start) / compute(max(steps - 1, 1))
    values, half = np.empty(steps, compute), steps // 2
    with np.errstate(all="ignore"):
        for i in range(0, half, PIECE):
            part = _counted_off(values[i : min(i + PIECE, half)], i, 1)
            np.add(np.multiply(part, step, out=part), start, out=part)
        for i in range(half, steps, PIECE):
            part = _counted_off(values[i : i + PIECE], steps - 1 - i, -1)
            np.subtract(end, np.multiply(part, step, out=part), out=part)
    return cast_array(values, dtype)


def _counted_off(part: np.ndarray, start: int, step: int) -> np.ndarray:
    """The array, with start, start + step, ... written to it."""
    kind = np.int32 if abs(start) + part.size < 1 << 31 else np.int64
    part[...] = np.arange(start, start + step * part.size, step, dtype=kind)
    return part
