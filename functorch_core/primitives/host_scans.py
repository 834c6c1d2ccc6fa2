"""Cumulative sums, products and extremes by NumPy, which takes one number after the other: each waits for the one
before it to be written and read again, and along any axis but the last it takes columns across the memory.

ms for 512 x 512 as NumPy has them and like this: cumsum of float32 (in float64) along the last axis 0.87 and 0.40,
along the first 3.7 and 0.31; cumprod 0.77 and 0.44, 2.7 and 0.22.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.reference import contiguous
from ..xla.blas import matmul_for

BLOCK = 16  # numbers of a row
LONG, LARGE = 64, 1 << 14  # numbers of a row, and in all; fewer NumPy adds as quickly
PIECE, ROWS = 1 << 17, 1 << 15  # elements at once, of rows, and of a copy of rows that are combined
MANY = 256  # rows; so many are transposed and back sooner than combined one number after the other
WIDE = 128  # elements; to combine two arrays of fewer takes longer than the numbers of each one after the other


def accumulated(combine: np.ufunc, x: np.ndarray, axis: int, reverse: bool, wide: Any) -> np.ndarray:
    """What combine makes of the elements up to each along an axis, computed in the dtype `wide`, in that of x."""
    n = x.shape[axis]
    across = 0 < WIDE * n <= x.size and (axis < x.ndim - 1 or 1 < n <= BLOCK)
    if across:
        return _row_by_row(combine, np.moveaxis(x, axis, 0), axis, reverse, wide)
    if combine is np.add and wide == np.float64 and axis == x.ndim - 1 and n >= LONG and x.size >= LARGE:
        return _by_blocks(np.ascontiguousarray(x).reshape(-1, n), reverse).reshape(x.shape)
    if wide == np.float32 and axis == x.ndim - 1 and x.size >= max(LARGE, MANY * n) and x.dtype == wide:
        out = _row_by_row(combine, contiguous(np.moveaxis(x, axis, 0)), 0, reverse, wide)
        return contiguous(np.moveaxis(out, 0, axis))
    if reverse:
        x = np.flip(x, axis)
    out = combine.accumulate(x, axis, wide)
    return (np.flip(out, axis) if reverse else out).astype(x.dtype, copy=False)


def _row_by_row(combine: np.ufunc, x: np.ndarray, axis: int, reverse: bool, wide: Any) -> np.ndarray:
    """Along the first axis of x, which goes to `axis`: in the same order, all of a row at once."""
    out = np.empty((*x.shape[1 : axis + 1], x.shape[0], *x.shape[axis + 1 :]), x.dtype)
    target = np.moveaxis(out, axis, 0)
    if reverse:
        x, target = x[::-1], target[::-1]
    last, many = None, max(1, ROWS * len(x) // x.size)
    for i in range(0, len(x), many):
        rows = x[i : i + many].astype(wide, order="C")
        for row in rows:
            if last is not None:
                combine(last, row, out=row)
            last = row
        target[i : i + many] = rows
    return out


def _by_blocks(x: np.ndarray, reverse: bool) -> np.ndarray:
    """Sums along rows in float64: those of blocks by a product with ones, what is before each block is added to its
    first number, then all first numbers are added to all second ones, and so on."""
    (m, n), out = x.shape, np.empty_like(x)
    width = min(n, PIECE)
    rows, blocks = max(1, PIECE // n), -(-width // BLOCK)
    matmul, ones = matmul_for(rows * blocks, 1, BLOCK), np.ones(BLOCK)
    target = out[:, ::-1] if reverse else out
    x = x[:, ::-1] if reverse else x
    for i in range(0, m, rows):
        before = None
        for j in range(0, n, width):
            part = x[i : i + rows, j : j + width]
            size = part.shape[1]
            wide = np.zeros((len(part), blocks, BLOCK))
            numbers = wide.reshape(len(part), -1)[:, :size]
            numbers[...] = part
            sums = matmul(wide.reshape(-1, BLOCK), ones).reshape(len(part), blocks)
            if before is not None:
                wide[:, 0, 0] += before
                sums[:, 0] += before
            wide[:, 1:, 0] += np.cumsum(sums, 1)[:, :-1]
            for k in range(1, BLOCK):
                place = wide[:, :, k]
                np.add(wide[:, :, k - 1], place, place)
            target[i : i + rows, j : j + width] = numbers
            before = numbers[:, -1]
    return out
