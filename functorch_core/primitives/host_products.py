"""Products over the last dimensions by NumPy: its own multiplies one number after the other, each waiting for the last.

us by np.multiply.reduce and like this: rows of 512 x 512 197 and 77, of 10,000 x 10 161 and 34, all of 512 x 512 235
and 37. A product of n factors is off by n / 2 roundings at most in any order. Those of
many numbers are a library's (`host_library`).
"""

from __future__ import annotations

import math

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.types import Function, Ints
from .host_library import products_of_rows

MANY = 1 << 12  # numbers
FEW = 32  # factors


def product_by_halves(x: Aval, axes: Ints, otherwise: Function) -> Function | None:
    """The product over the last dimensions of such arrays; `otherwise` of what does not lie in rows."""
    kept = x.ndim - len(axes)
    if x.dtype not in (dt.float32, dt.float64) or x.size < MANY or tuple(axes) != tuple(range(kept, x.ndim)):
        return None
    shape, rows = x.shape[:kept], (math.prod(x.shape[:kept]), math.prod(x.shape[kept:]))
    product = products_of_rows(*rows, _of_rows) if x.dtype == dt.float32 else _of_rows

    def run(array: np.ndarray) -> np.ndarray:
        return product(array.reshape(rows)).reshape(shape) if array.flags.c_contiguous else otherwise(array)

    return run


def _of_rows(x: np.ndarray) -> np.ndarray:
    """The first half of each row times the second, and so on; the last few factors of all rows one after the other."""
    n = x.shape[1]
    while n > FEW:
        half = n // 2
        y = np.multiply(x[:, :half], x[:, half : 2 * half])
        if n % 2:
            y[:, 0] *= x[:, -1]
        x, n = y, half
    return np.multiply.reduce(np.ascontiguousarray(x.T), 0)
