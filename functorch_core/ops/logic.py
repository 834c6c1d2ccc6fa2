"""Comparison, kinds of numbers, logic and bits, with the names of the Array API standard."""

from __future__ import annotations

from collections.abc import Callable

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import elementwise as kernels
from ..kernels.complex_order import by_parts
from .declaring import BITS, binary, unary
from .op import op
from .promotion import promote

# ---- comparison ----------------------------------------------------------------------------------

equal = binary(
    "equal",
    p.eq,
    "x1 == x2, elementwise; NaN equals nothing.",
    "fc.equal(fc.asarray([1, 2]), 2)",
    "Array([False,  True], dtype=bool)",
    also=("x == y",),
)
not_equal = binary(
    "not_equal",
    p.ne,
    "x1 != x2, elementwise.",
    "fc.not_equal(fc.asarray([1, 2]), 2)",
    "Array([ True, False], dtype=bool)",
    also=("x != y",),
)
less = binary(
    "less",
    by_parts(p.lt),
    "x1 < x2, elementwise; complex numbers by their real, then their imaginary parts.",
    "fc.less(fc.asarray([1, 2]), 2)",
    "Array([ True, False], dtype=bool)",
    also=("x < y",),
)
less_equal = binary(
    "less_equal",
    by_parts(p.le),
    "x1 <= x2, elementwise.",
    "fc.less_equal(fc.asarray([1, 2]), 2)",
    "Array([ True,  True], dtype=bool)",
    also=("x <= y",),
)
greater = binary(
    "greater",
    by_parts(p.gt),
    "x1 > x2, elementwise.",
    "fc.greater(fc.asarray([1, 3]), 2)",
    "Array([False,  True], dtype=bool)",
    also=("x > y",),
)
greater_equal = binary(
    "greater_equal",
    by_parts(p.ge),
    "x1 >= x2, elementwise.",
    "fc.greater_equal(fc.asarray([1, 2]), 2)",
    "Array([False,  True], dtype=bool)",
    also=("x >= y",),
)


@op("fc", names="a b", scalars=True)
def isclose(x1, x2, /, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether |x1 - x2| <= atol + rtol |x2|, elementwise; infinities are close to themselves.

    >>> import functorch_core as fc
    >>> fc.isclose(fc.asarray([1., 2.]), fc.asarray([1. + 1e-6, 2.1]))
    Array([ True, False], dtype=bool)
    """
    x1, x2 = promote(x1, x2, name="isclose", to_inexact=True)
    return p.or_(kernels.same_or_nan(x1, x2, equal_nan), kernels.isclose(x1, x2, rtol, atol))


# ---- kinds of numbers ----------------------------------------------------------------------------


isfinite = unary(
    "isfinite",
    kernels.isfinite,
    "Whether x is neither infinite nor NaN, elementwise.",
    "fc.isfinite(fc.asarray([1., fc.inf, fc.nan]))",
    "Array([ True, False, False], dtype=bool)",
)
isinf = unary(
    "isinf",
    kernels.isinf,
    "Whether x is inf or -inf, elementwise.",
    "fc.isinf(fc.asarray([1., fc.inf, fc.nan]))",
    "Array([False,  True, False], dtype=bool)",
)
isnan = unary(
    "isnan",
    kernels.isnan,
    "Whether x is not a number, elementwise.",
    "fc.isnan(fc.asarray([1., fc.inf, fc.nan]))",
    "Array([False, False,  True], dtype=bool)",
)


@op("fc", names="x", scalars=True)
def nan_to_num(x, /, copy=True, nan=0.0, posinf=None, neginf=None):
    """x with NaN and infinities replaced by numbers: 0 and the dtype's largest, by default.

    `copy` is NumPy's; arrays are immutable.

    >>> import functorch_core as fc
    >>> fc.nan_to_num(fc.asarray([1., fc.nan]))
    Array([1., 0.], dtype=float32)
    """
    (x,) = promote(x, name="nan_to_num")
    return kernels.nan_to_num(x, nan, posinf, neginf)


# ---- logic and bits ------------------------------------------------------------------------------


def _logical(combine: Callable) -> Callable:
    return lambda x, y: combine(kernels.truth(x), kernels.truth(y))


logical_and = binary(
    "logical_and",
    _logical(p.and_),
    "Whether both are true (not 0), elementwise.",
    "fc.logical_and(fc.asarray([True, False]), True)",
    "Array([ True, False], dtype=bool)",
)
logical_or = binary(
    "logical_or",
    _logical(p.or_),
    "Whether one or both are true, elementwise.",
    "fc.logical_or(fc.asarray([True, False]), False)",
    "Array([ True, False], dtype=bool)",
)
logical_xor = binary(
    "logical_xor",
    _logical(p.xor),
    "Whether exactly one is true.",
    "fc.logical_xor(fc.asarray([True, False]), True)",
    "Array([False,  True], dtype=bool)",
)
logical_not = unary(
    "logical_not",
    lambda x: p.not_(kernels.truth(x)),
    "Whether x is false (0).",
    "fc.logical_not(fc.asarray([True, False]))",
    "Array([False,  True], dtype=bool)",
)
bitwise_and = binary(
    "bitwise_and",
    p.and_,
    "x1 & x2, elementwise.",
    "fc.bitwise_and(fc.asarray([5, 6]), 3)",
    "Array([1, 2], dtype=int64)",
    allowed=BITS,
    also=("x & y",),
)
bitwise_or = binary(
    "bitwise_or",
    p.or_,
    "x1 | x2, elementwise.",
    "fc.bitwise_or(fc.asarray([5, 6]), 3)",
    "Array([7, 7], dtype=int64)",
    allowed=BITS,
    also=("x | y",),
)
bitwise_xor = binary(
    "bitwise_xor",
    p.xor,
    "x1 ^ x2, elementwise.",
    "fc.bitwise_xor(fc.asarray([5, 6]), 3)",
    "Array([6, 5], dtype=int64)",
    allowed=BITS,
    also=("x ^ y",),
)
bitwise_invert = unary(
    "bitwise_invert",
    p.not_,
    "~x, elementwise.",
    "fc.bitwise_invert(fc.asarray([0, 5]))",
    "Array([-1, -6], dtype=int64)",
    allowed=BITS,
    also=("~x",),
)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    p.shift_left,
    "x1 << x2, elementwise.",
    "fc.bitwise_left_shift(fc.asarray([1, 5]), 2)",
    "Array([ 4, 20], dtype=int64)",
    allowed=dt.INTEGER,
    to_numeric=True,
    also=("x << y",),
)


bitwise_right_shift = binary(
    "bitwise_right_shift",
    kernels.shift_right,
    "x1 >> x2, elementwise; the sign stays.",
    "fc.bitwise_right_shift(fc.asarray([8, -8]), 2)",
    "Array([ 2, -2], dtype=int64)",
    allowed=dt.INTEGER,
    to_numeric=True,
    also=("x >> y",),
)


def _ones(x):
    """How many bits of the absolute value are 1."""
    dtype = aval_of(x).dtype
    if dtype == dt.bool_:
        return p.convert(x, dtype=dt.uint8)
    return p.convert(p.population_count(p.abs(x) if dtype in dt.SIGNED else x), dtype=dt.uint8)


bitwise_count = unary(
    "bitwise_count",
    _ones,
    "How many bits of its absolute value are 1, as uint8.",
    "fc.bitwise_count(fc.asarray([5, -255]))",
    "Array([2, 8], dtype=uint8)",
    allowed=BITS,
)


__all__ = [  # what it has in fc, for static tools
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "equal", "greater", "greater_equal", "isclose", "isfinite", "isinf", "isnan", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "nan_to_num", "not_equal",
]  # fmt: skip
