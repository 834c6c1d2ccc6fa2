"""Elementwise operations of the Array API standard, with its names."""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import elementwise as kernels
from ..kernels.values import full_like as like
from .op import Op, op
from .promotion import broadcast_together, cast, promote, result_dtype

# ---- how they are declared -----------------------------------------------------------------------

BITS = dt.INTEGER | {dt.bool_}
NOT_DEFINED = "{name} is not defined for {dtype} arrays, only for {what}; convert first with astype"
KINDS = {
    dt.ALL: "any dtype",
    dt.NUMERIC: "numbers",
    dt.ORDERED: "real numbers and bools",
    dt.REAL: "real numbers",
    dt.FLOATING: "floats",
    BITS: "integers and bools",
    dt.INTEGER: "integers",
    dt.INEXACT: "floats and complex numbers",
}


def binary(
    name: str, apply: Callable, doc: str, example: str, gives: str, *, allowed=dt.ALL, to_inexact=False, **declared
) -> Op:
    """An operation of two operands that are promoted and broadcast first, of fc and places `also`; see op."""

    def fun(x1, x2, /):
        x1, x2 = promote(x1, x2, name=name, to_inexact=to_inexact)
        check(name, x1, allowed)
        return apply(x1, x2)

    takes = "Operands are promoted to one dtype and broadcast to one shape."
    return _finish(fun, name, doc, takes, example, gives, allowed, to_inexact, **declared)


def unary(
    name: str, apply: Callable, doc: str, example: str, gives: str, *, allowed=dt.ALL, to_inexact=False, **declared
) -> Op:
    """An operation of one operand."""

    def fun(x, /):
        (x,) = promote(x, name=name, to_inexact=to_inexact)
        check(name, x, allowed)
        return apply(x)

    return _finish(fun, name, doc, "", example, gives, allowed, to_inexact, **declared)


def _finish(fun, name, doc, takes, example, gives, allowed, to_inexact, also=(), names="") -> Op:
    fun.__name__ = fun.__qualname__ = name
    dtypes = "Integers and bools become float32." if to_inexact else ""
    if allowed != dt.ALL:
        dtypes += f" TypeError for dtypes other than {KINDS[allowed]}."
    details = " ".join(f"{takes} {dtypes}".split())
    fun.__doc__ = f"{doc}\n\n    {details}\n\n    >>> import functorch_core as fc\n    >>> {example}\n    {gives}\n    "
    return op("fc", *also, names=names, scalars=True)(fun)


def check(name: str, x, allowed):
    """TypeError unless the (promoted) dtype is one the operation is defined for."""
    dtype = aval_of(x).dtype
    if dtype not in allowed:
        what = KINDS.get(allowed) or ", ".join(sorted(d.name for d in allowed))
        raise TypeError(NOT_DEFINED.format(name=name, dtype=dtype.name, what=what))


# ---- arithmetic ----------------------------------------------------------------------------------

add = binary(
    "add",
    p.add,
    "The sum of two arrays, elementwise.",
    "fc.add(fc.asarray([1., 2.]), 3)",
    "Array([4., 5.], dtype=float32)",
    also=("x + y",),
)
subtract = binary(
    "subtract",
    p.sub,
    "The difference of two arrays, elementwise.",
    "fc.subtract(fc.asarray([1., 2.]), 3)",
    "Array([-2., -1.], dtype=float32)",
    allowed=dt.NUMERIC,
    also=("x - y",),
)
multiply = binary(
    "multiply",
    p.mul,
    "The product of two arrays, elementwise.",
    "fc.multiply(fc.asarray([1., 2.]), 3)",
    "Array([3., 6.], dtype=float32)",
    also=("x * y",),
)
divide = binary(
    "divide",
    p.div,
    "The quotient of two arrays, elementwise.",
    "fc.divide(fc.asarray([1, 2]), 4)",
    "Array([0.25, 0.5 ], dtype=float32)",
    to_inexact=True,
    also=("x / y",),
)
negative = unary(
    "negative",
    p.neg,
    "-x, elementwise.",
    "fc.negative(fc.asarray([1, -2]))",
    "Array([-1,  2], dtype=int64)",
    allowed=dt.NUMERIC,
    also=("-x",),
)
positive = unary(
    "positive",
    lambda x: x,
    "+x, elementwise: x itself.",
    "fc.positive(fc.asarray([1, -2]))",
    "Array([ 1, -2], dtype=int64)",
    allowed=dt.NUMERIC,
    also=("+x",),
)
abs = unary(
    "abs",
    p.abs,
    "The absolute value, elementwise; of complex numbers the real magnitude.",
    "fc.abs(fc.asarray([1., -2.]))",
    "Array([1., 2.], dtype=float32)",
    allowed=dt.NUMERIC,
    also=("abs x",),
)
square = unary(
    "square",
    lambda x: p.mul(x, x),
    "x * x, elementwise.",
    "fc.square(fc.asarray([1, -2]))",
    "Array([1, 4], dtype=int64)",
    allowed=dt.NUMERIC,
)
reciprocal = unary(
    "reciprocal",
    lambda x: p.div(1, x),
    "1 / x, elementwise.",
    "fc.reciprocal(fc.asarray([1., 4.]))",
    "Array([1.  , 0.25], dtype=float32)",
    to_inexact=True,
)
sqrt = unary(
    "sqrt",
    p.sqrt,
    "The square root, elementwise; NaN for negative real numbers.",
    "fc.sqrt(fc.asarray([4., 9.]))",
    "Array([2., 3.], dtype=float32)",
    to_inexact=True,
)
rsqrt = unary(
    "rsqrt",
    p.rsqrt,
    "1 / sqrt(x), elementwise.",
    "fc.rsqrt(fc.asarray([4., 16.]))",
    "Array([0.5 , 0.25], dtype=float32)",
    to_inexact=True,
    names="x",
)
cbrt = unary(
    "cbrt",
    p.cbrt,
    "The cube root, elementwise.",
    "fc.cbrt(fc.asarray([8., -27.]))",
    "Array([ 2.       , -2.9999998], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
)


floor_divide = binary(
    "floor_divide",
    kernels.floor_divide,
    "x1 // x2 as Python rounds it, towards minus infinity; by integer 0 it is -1.",
    "fc.floor_divide(fc.asarray([7, -7]), 2)",
    "Array([ 3, -4], dtype=int64)",
    allowed=dt.REAL,
    also=("x // y",),
)
remainder = binary(
    "remainder",
    kernels.remainder,
    "x1 % x2 as in Python, with the sign of x2; by integer 0 it is x1.",
    "fc.remainder(fc.asarray([7, -7]), 3)",
    "Array([1, 2], dtype=int64)",
    allowed=dt.REAL,
    also=("x % y",),
)
fmod = binary(
    "fmod",
    p.rem,
    "The remainder of x1 / x2 with the sign of x1, as C's fmod.",
    "fc.fmod(fc.asarray([7, -7]), 3)",
    "Array([ 1, -1], dtype=int64)",
    allowed=dt.REAL,
)


hypot = binary(
    "hypot",
    kernels.hypot,
    "sqrt(x1**2 + x2**2) without overflow, elementwise.",
    "fc.hypot(fc.asarray([3., 5.]), fc.asarray([4., 12.]))",
    "Array([ 5., 13.], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
)

# ---- powers --------------------------------------------------------------------------------------


@op("fc", "x ** y", scalars=True, static_ints=True)
def pow(x1, x2, /):
    """x1 to the power x2, elementwise.

    Operands are promoted to one dtype and broadcast to one shape. A Python int as the exponent is
    exact repeated multiplication. TypeError for bools; ValueError for integers to a negative int.

    >>> import functorch_core as fc
    >>> fc.pow(fc.asarray([2., 3.]), 2)
    Array([4., 9.], dtype=float32)
    """
    whole = x2.__class__ is int or (x2.__class__ is float and x2 in (1.0, 2.0, -1.0))
    base, power = promote(x1, x2, name="pow")
    check("pow", base, dt.NUMERIC)
    if not whole:
        return p.pow(base, power)
    if x2 < 0 and aval_of(base).dtype in dt.INTEGER:
        raise ValueError(
            f"pow: {aval_of(base)} to the negative integer power {x2} is not an "
            "integer; convert the base to floats first"
        )
    return p.integer_pow(base, y=int(x2))


# ---- exponentials and logarithms -----------------------------------------------------------------

exp = unary(
    "exp",
    p.exp,
    "e to the power x, elementwise.",
    "fc.exp(fc.asarray([0., 1.]))",
    "Array([1.      , 2.718282], dtype=float32)",
    to_inexact=True,
)
exp2 = unary(
    "exp2",
    p.exp2,
    "2 to the power x, elementwise.",
    "fc.exp2(fc.asarray([0., 3.]))",
    "Array([1., 8.], dtype=float32)",
    to_inexact=True,
)
expm1 = unary(
    "expm1",
    p.expm1,
    "exp(x) - 1 with full precision near 0, elementwise.",
    "fc.expm1(fc.asarray([0., 1e-6]))",
    "Array([0.0000000e+00, 1.0000005e-06], dtype=float32)",
    to_inexact=True,
)
log = unary(
    "log",
    p.log,
    "The natural logarithm, elementwise.",
    "fc.log(fc.asarray([1., 10.]))",
    "Array([0.       , 2.3025851], dtype=float32)",
    to_inexact=True,
)
log1p = unary(
    "log1p",
    p.log1p,
    "log(1 + x) with full precision near 0, elementwise.",
    "fc.log1p(fc.asarray([0., 1e-6]))",
    "Array([0.000000e+00, 9.999995e-07], dtype=float32)",
    to_inexact=True,
)
log2 = unary(
    "log2",
    p.log2,
    "The logarithm to base 2, elementwise.",
    "fc.log2(fc.asarray([1., 8.]))",
    "Array([0., 3.], dtype=float32)",
    to_inexact=True,
)
log10 = unary(
    "log10",
    p.log10,
    "The logarithm to base 10, elementwise.",
    "fc.log10(fc.asarray([1., 1000.]))",
    "Array([0.       , 3.0000002], dtype=float32)",
    to_inexact=True,
)


logaddexp = binary(
    "logaddexp",
    kernels.logaddexp,
    "log(exp(x1) + exp(x2)) without overflow, elementwise.",
    "fc.logaddexp(fc.asarray([0., 1000.]), 0.)",
    "Array([6.931472e-01, 1.000000e+03], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
)

# ---- trigonometric and hyperbolic ----------------------------------------------------------------

sin = unary(
    "sin",
    p.sin,
    "The sine of x radians, elementwise.",
    "fc.sin(fc.asarray([0., 1.]))",
    "Array([0.      , 0.841471], dtype=float32)",
    to_inexact=True,
)
cos = unary(
    "cos",
    p.cos,
    "The cosine of x radians, elementwise.",
    "fc.cos(fc.asarray([0., 1.]))",
    "Array([1.       , 0.5403023], dtype=float32)",
    to_inexact=True,
)
tan = unary(
    "tan",
    p.tan,
    "The tangent of x radians, elementwise.",
    "fc.tan(fc.asarray([0., 1.]))",
    "Array([0.       , 1.5574077], dtype=float32)",
    to_inexact=True,
)
asin = unary(
    "asin",
    p.asin,
    "The angle in [-pi/2, pi/2] whose sine is x, elementwise.",
    "fc.asin(fc.asarray([0., 1.]))",
    "Array([0.       , 1.5707964], dtype=float32)",
    to_inexact=True,
)
acos = unary(
    "acos",
    p.acos,
    "The angle in [0, pi] whose cosine is x, elementwise.",
    "fc.acos(fc.asarray([0., 1.]))",
    "Array([1.5707964, 0.       ], dtype=float32)",
    to_inexact=True,
)
atan = unary(
    "atan",
    p.atan,
    "The angle in [-pi/2, pi/2] whose tangent is x, elementwise.",
    "fc.atan(fc.asarray([0., 1.]))",
    "Array([0.       , 0.7853982], dtype=float32)",
    to_inexact=True,
)
sinh = unary(
    "sinh",
    p.sinh,
    "The hyperbolic sine, elementwise.",
    "fc.sinh(fc.asarray([0., 1.]))",
    "Array([0.       , 1.1752012], dtype=float32)",
    to_inexact=True,
)
cosh = unary(
    "cosh",
    p.cosh,
    "The hyperbolic cosine, elementwise.",
    "fc.cosh(fc.asarray([0., 1.]))",
    "Array([1.       , 1.5430807], dtype=float32)",
    to_inexact=True,
)
tanh = unary(
    "tanh",
    p.tanh,
    "The hyperbolic tangent, elementwise.",
    "fc.tanh(fc.asarray([0., 1.]))",
    "Array([0.       , 0.7615942], dtype=float32)",
    to_inexact=True,
)
asinh = unary(
    "asinh",
    p.asinh,
    "The inverse of sinh, elementwise.",
    "fc.asinh(fc.asarray([0., 1.]))",
    "Array([0.       , 0.8813736], dtype=float32)",
    to_inexact=True,
)
acosh = unary(
    "acosh",
    p.acosh,
    "The inverse of cosh, elementwise; NaN below 1.",
    "fc.acosh(fc.asarray([1., 2.]))",
    "Array([0.      , 1.316958], dtype=float32)",
    to_inexact=True,
)
atanh = unary(
    "atanh",
    p.atanh,
    "The inverse of tanh, elementwise.",
    "fc.atanh(fc.asarray([0., .5]))",
    "Array([0.        , 0.54930615], dtype=float32)",
    to_inexact=True,
)
atan2 = binary(
    "atan2",
    p.atan2,
    "The angle of the point (x2, x1) in radians, elementwise.",
    "fc.atan2(fc.asarray([1., -1.]), fc.asarray([1., -1.]))",
    "Array([ 0.7853981, -2.3561945], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
)

# ---- rounding ------------------------------------------------------------------------------------


floor = unary(
    "floor",
    kernels.whole(p.floor),
    "The greatest whole number not above x, elementwise.",
    "fc.floor(fc.asarray([1.5, -1.5]))",
    "Array([ 1., -2.], dtype=float32)",
    allowed=dt.REAL,
)
ceil = unary(
    "ceil",
    kernels.whole(p.ceil),
    "The least whole number not below x, elementwise.",
    "fc.ceil(fc.asarray([1.5, -1.5]))",
    "Array([ 2., -1.], dtype=float32)",
    allowed=dt.REAL,
)
trunc = unary(
    "trunc",
    kernels.whole(p.trunc),
    "The whole part of x, elementwise.",
    "fc.trunc(fc.asarray([1.5, -1.5]))",
    "Array([ 1., -1.], dtype=float32)",
    allowed=dt.REAL,
)


@op("fc", scalars=True)
def round(x, /, *, decimals=0):
    """The nearest number with so many decimals, elementwise; halves go to the even one.

    Integers stay as they are for decimals >= 0. TypeError for bools.

    >>> import functorch_core as fc
    >>> fc.round(fc.asarray([.5, 1.5, -2.6]))
    Array([ 0.,  2., -3.], dtype=float32)
    """
    (x,) = promote(x, name="round")
    check("round", x, dt.NUMERIC)
    if not decimals:
        return kernels.whole(p.round)(x)
    if aval_of(x).dtype in dt.INTEGER:
        if decimals > 0:
            return x
        raise NotImplementedError("round of integers to negative decimals; convert them to floats")
    return p.div(kernels.whole(p.round)(p.mul(x, 10.0**decimals)), 10.0**decimals)


# ---- sign ----------------------------------------------------------------------------------------


sign = unary(
    "sign",
    p.sign,
    "-1, 0 or 1, elementwise; x / |x| of complex numbers.",
    "fc.sign(fc.asarray([-2., 0., 3.]))",
    "Array([-1.,  0.,  1.], dtype=float32)",
    allowed=dt.NUMERIC,
)
signbit = unary(
    "signbit",
    kernels.signbit,
    "Whether the sign bit is set (also of -0. and -nan).",
    "fc.signbit(fc.asarray([-1., -0., 0.]))",
    "Array([ True,  True, False], dtype=bool)",
    allowed=dt.REAL,
)
copysign = binary(
    "copysign",
    kernels.copysign,
    "The magnitude of x1 with the sign of x2, elementwise.",
    "fc.copysign(fc.asarray([1., 2.]), fc.asarray([-0., 3.]))",
    "Array([-1.,  2.], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
)
nextafter = binary(
    "nextafter",
    p.nextafter,
    "The next number after x1 towards x2, elementwise.",
    "fc.nextafter(fc.asarray([0.]), 1.)",
    "Array([1.e-45], dtype=float32)",
    allowed=dt.FLOATING,
)

# ---- the larger, the smaller ---------------------------------------------------------------------

maximum = binary(
    "maximum",
    p.max,
    "The larger of two, elementwise; NaN wins.",
    "fc.maximum(fc.asarray([1., 5.]), 3.)",
    "Array([3., 5.], dtype=float32)",
    allowed=dt.ORDERED,
)
minimum = binary(
    "minimum",
    p.min,
    "The smaller of two, elementwise; NaN wins.",
    "fc.minimum(fc.asarray([1., 5.]), 3.)",
    "Array([1., 3.], dtype=float32)",
    allowed=dt.ORDERED,
)


@op("fc", scalars=True, arrays=("min", "max"))
def clip(x, /, min=None, max=None):
    """x moved into [min, max], elementwise; None is no bound; max wins where min > max.

    Operands are promoted to one dtype and broadcast to one shape. The derivative where x equals a
    bound is that of x. TypeError for bools and complex numbers.

    >>> import functorch_core as fc
    >>> fc.clip(fc.asarray([-1., .5, 3.]), 0., 1.)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    operands = promote(*[v for v in (x, min, max) if v is not None], name="clip")
    x, bounds = operands[0], iter(operands[1:])
    check("clip", x, dt.REAL)
    return kernels.clamped(x, None if min is None else next(bounds), None if max is None else next(bounds))


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
    p.lt,
    "x1 < x2, elementwise.",
    "fc.less(fc.asarray([1, 2]), 2)",
    "Array([ True, False], dtype=bool)",
    allowed=dt.ORDERED,
    also=("x < y",),
)
less_equal = binary(
    "less_equal",
    p.le,
    "x1 <= x2, elementwise.",
    "fc.less_equal(fc.asarray([1, 2]), 2)",
    "Array([ True,  True], dtype=bool)",
    allowed=dt.ORDERED,
    also=("x <= y",),
)
greater = binary(
    "greater",
    p.gt,
    "x1 > x2, elementwise.",
    "fc.greater(fc.asarray([1, 3]), 2)",
    "Array([False,  True], dtype=bool)",
    allowed=dt.ORDERED,
    also=("x > y",),
)
greater_equal = binary(
    "greater_equal",
    p.ge,
    "x1 >= x2, elementwise.",
    "fc.greater_equal(fc.asarray([1, 2]), 2)",
    "Array([False,  True], dtype=bool)",
    allowed=dt.ORDERED,
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
    also=("x << y",),
)


bitwise_right_shift = binary(
    "bitwise_right_shift",
    kernels.shift_right,
    "x1 >> x2, elementwise; the sign stays.",
    "fc.bitwise_right_shift(fc.asarray([8, -8]), 2)",
    "Array([ 2, -2], dtype=int64)",
    allowed=dt.INTEGER,
    also=("x >> y",),
)
bitwise_count = unary(
    "bitwise_count",
    p.population_count,
    "The number of bits that are 1.",
    "fc.bitwise_count(fc.asarray([5, 255]))",
    "Array([2, 8], dtype=int64)",
    allowed=dt.INTEGER,
)

# ---- complex numbers -----------------------------------------------------------------------------


def _if_complex(apply: Callable, otherwise: Callable) -> Callable:
    return lambda x: (apply if aval_of(x).dtype in dt.COMPLEX else otherwise)(x)


real = unary(
    "real",
    _if_complex(p.real, lambda x: x),
    "The real part, elementwise.",
    "fc.real(fc.asarray([1 + 2j]))",
    "Array([1.], dtype=float32)",
    allowed=dt.NUMERIC,
)
imag = unary(
    "imag",
    _if_complex(p.imag, lambda x: like(x, 0)),
    "The imaginary part, elementwise: 0 of real numbers.",
    "fc.imag(fc.asarray([1 + 2j]))",
    "Array([2.], dtype=float32)",
    allowed=dt.NUMERIC,
)
conj = unary(
    "conj",
    _if_complex(p.conj, lambda x: x),
    "The complex conjugate, elementwise.",
    "fc.conj(fc.asarray([1 + 2j]))",
    "Array([1.-2.j], dtype=complex64)",
    allowed=dt.NUMERIC,
    also=("Array", "Array as conjugate"),
)


@op("fc", names="z", scalars=True)
def angle(x, /, deg=False):
    """The angle of a complex number, elementwise, in radians (or degrees, with `deg`).

    >>> import functorch_core as fc
    >>> fc.angle(fc.asarray([1j]))
    Array([1.5707964], dtype=float32)
    """
    (x,) = promote(x, name="angle", to_inexact=True)
    if aval_of(x).dtype in dt.COMPLEX:
        turn = p.atan2(p.imag(x), p.real(x))
    else:
        turn = p.atan2(like(x, 0), x)
    return p.mul(turn, 180 / math.pi) if deg else turn


# ---- choice --------------------------------------------------------------------------------------


@op("fc", scalars=True)
def where(condition, x1=None, x2=None, /):
    """x1 where the condition is true, x2 elsewhere.

    The three are broadcast to one shape, x1 and x2 promoted to one dtype. Derivatives flow into the
    chosen elements only.

    >>> import functorch_core as fc
    >>> fc.where(fc.asarray([True, False]), fc.asarray([1., 2.]), 0.)
    Array([1., 0.], dtype=float32)
    """
    if x1 is None or x2 is None:
        raise TypeError(
            "where takes a condition and two arrays, fc.where(condition, x1, x2); for "
            "the places where a condition holds use fc.nonzero(condition)"
        )
    dtype = result_dtype((x1, x2))
    condition = kernels.truth(cast(condition, result_dtype((condition,))))
    operands = [condition, cast(x1, dtype), cast(x2, dtype)]
    return p.select(*broadcast_together(operands, "where"))


__all__ = [  # what it has in fc, for static tools
    "abs", "acos", "acosh", "add", "angle", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "cbrt", "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "exp2", "expm1", "floor",
    "floor_divide", "fmod", "greater", "greater_equal", "hypot", "imag", "isclose", "isfinite", "isinf", "isnan",
    "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "nan_to_num", "negative", "nextafter", "not_equal", "positive",
    "pow", "real", "reciprocal", "remainder", "round", "rsqrt", "sign", "signbit", "sin", "sinh", "sqrt", "square",
    "subtract", "tan", "tanh", "trunc", "where",
]  # fmt: skip
