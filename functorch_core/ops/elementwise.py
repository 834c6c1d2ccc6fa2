"""Elementwise operations of the Array API standard, with its names."""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import elementwise as kernels
from ..kernels.complex_order import extreme_of_two
from ..kernels.subgradients import signed_remainder
from ..kernels.values import full_like as like
from .declaring import binary, check, unary
from .op import op
from .promotion import broadcast_together, cast, promote, result_dtype

# ---- arithmetic ----------------------------------------------------------------------------------


def _bools_as_they_are(apply: Callable) -> Callable:
    """Of bools, which are whole and not negative, what an operation of numbers would leave as it is."""
    return lambda x: x if aval_of(x).dtype == dt.bool_ else apply(x)


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
    also=("+x",),
)
abs = unary(
    "abs",
    _bools_as_they_are(p.abs),
    "The absolute value, elementwise; of complex numbers the real magnitude.",
    "fc.abs(fc.asarray([1., -2.]))",
    "Array([1., 2.], dtype=float32)",
    also=("abs x",),
)
square = unary(
    "square",
    lambda x: p.mul(x, x),
    "x * x, elementwise.",
    "fc.square(fc.asarray([1, -2]))",
    "Array([1, 4], dtype=int64)",
    to_numeric=True,
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
    to_numeric=True,
    also=("x // y",),
)
remainder = binary(
    "remainder",
    lambda x, y: (signed_remainder if aval_of(x).dtype in dt.FLOATING else kernels.modulo)(x, y),
    "x1 % x2 as in Python, with the sign of x2; by integer 0 it is x1.",
    "fc.remainder(fc.asarray([7, -7]), 3)",
    "Array([1, 2], dtype=int64)",
    allowed=dt.REAL,
    to_numeric=True,
    also=("x % y",),
)
fmod = binary(
    "fmod",
    p.rem,
    "The remainder of x1 / x2 with the sign of x1, as C's fmod.",
    "fc.fmod(fc.asarray([7, -7]), 3)",
    "Array([ 1, -1], dtype=int64)",
    allowed=dt.REAL,
    to_numeric=True,
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

    Operands are promoted to one dtype and broadcast to one shape; bools become int64. A Python int as the
    exponent is exact repeated multiplication. ValueError for integers to a negative int.

    >>> import functorch_core as fc
    >>> fc.pow(fc.asarray([2., 3.]), 2)
    Array([4., 9.], dtype=float32)
    """
    whole = x2.__class__ is int or (x2.__class__ is float and x2 in (1.0, 2.0, -1.0))
    base, power = promote(x1, x2, name="pow", to_numeric=True)
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
    _bools_as_they_are(kernels.whole(p.floor)),
    "The greatest whole number not above x, elementwise.",
    "fc.floor(fc.asarray([1.5, -1.5]))",
    "Array([ 1., -2.], dtype=float32)",
    allowed=dt.ORDERED,
)
ceil = unary(
    "ceil",
    _bools_as_they_are(kernels.whole(p.ceil)),
    "The least whole number not below x, elementwise.",
    "fc.ceil(fc.asarray([1.5, -1.5]))",
    "Array([ 2., -1.], dtype=float32)",
    allowed=dt.ORDERED,
)
trunc = unary(
    "trunc",
    _bools_as_they_are(kernels.whole(p.trunc)),
    "The whole part of x, elementwise.",
    "fc.trunc(fc.asarray([1.5, -1.5]))",
    "Array([ 1., -1.], dtype=float32)",
    allowed=dt.ORDERED,
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
    lambda x: kernels.signbit(p.convert(x, dtype=dt.uint8) if aval_of(x).dtype == dt.bool_ else x),
    "Whether the sign bit is set (also of -0. and -nan).",
    "fc.signbit(fc.asarray([-1., -0., 0.]))",
    "Array([ True,  True, False], dtype=bool)",
    allowed=dt.ORDERED,
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
    to_inexact=True,
    allowed=dt.FLOATING,
)

# ---- the larger, the smaller ---------------------------------------------------------------------

maximum = binary(
    "maximum",
    extreme_of_two(p.max, p.gt),
    "The larger of two, elementwise; NaN wins. Of complex numbers see less: x2 if one is NaN.",
    "fc.maximum(fc.asarray([1., 5.]), 3.)",
    "Array([3., 5.], dtype=float32)",
)
minimum = binary(
    "minimum",
    extreme_of_two(p.min, p.lt),
    "The smaller of two, elementwise; NaN wins. Of complex numbers see less: x2 if one is NaN.",
    "fc.minimum(fc.asarray([1., 5.]), 3.)",
    "Array([1., 3.], dtype=float32)",
)


@op("fc", scalars=True, arrays=("min", "max"))
def clip(x, /, min=None, max=None):
    """x moved into [min, max], elementwise; None is no bound; max wins where min > max.

    Operands are promoted to one dtype and broadcast to one shape. The derivative where x equals a
    bound is that of x. TypeError for complex numbers.

    >>> import functorch_core as fc
    >>> fc.clip(fc.asarray([-1., .5, 3.]), 0., 1.)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    operands = promote(*[v for v in (x, min, max) if v is not None], name="clip")
    x, bounds = operands[0], iter(operands[1:])
    check("clip", x, dt.ORDERED)
    low, high = None if min is None else next(bounds), None if max is None else next(bounds)
    if aval_of(x).dtype != dt.bool_:
        return kernels.clamped(x, low, high)
    x = x if low is None else p.or_(x, low)
    return x if high is None else p.and_(x, high)


# ---- complex numbers -----------------------------------------------------------------------------


def _if_complex(apply: Callable, otherwise: Callable) -> Callable:
    return lambda x: (apply if aval_of(x).dtype in dt.COMPLEX else otherwise)(x)


real = unary(
    "real",
    _if_complex(p.real, lambda x: x),
    "The real part, elementwise.",
    "fc.real(fc.asarray([1 + 2j]))",
    "Array([1.], dtype=float32)",
)
imag = unary(
    "imag",
    _if_complex(p.imag, lambda x: like(x, 0)),
    "The imaginary part, elementwise: 0 of real numbers.",
    "fc.imag(fc.asarray([1 + 2j]))",
    "Array([2.], dtype=float32)",
)
conj = unary(
    "conj",
    _if_complex(p.conj, lambda x: x),
    "The complex conjugate, elementwise.",
    "fc.conj(fc.asarray([1 + 2j]))",
    "Array([1.-2.j], dtype=complex64)",
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
    "abs", "acos", "acosh", "add", "angle", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "clip",
    "conj", "copysign", "cos", "cosh", "divide", "exp", "exp2", "expm1", "floor", "floor_divide", "fmod", "hypot",
    "imag", "log", "log10", "log1p", "log2", "logaddexp", "maximum", "minimum", "multiply", "negative", "nextafter",
    "positive", "pow", "real", "reciprocal", "remainder", "round", "rsqrt", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "subtract", "tan", "tanh", "trunc", "where",
]  # fmt: skip
