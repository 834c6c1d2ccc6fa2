"""jax.lax's elementwise functions: fc's under the names and signatures that lax gives them.

Operands are promoted and broadcast as everywhere in this library, where JAX's lax wants equal ones.
"""

from __future__ import annotations

import enum
import functools

import functorch_core as fc

from .. import primitives as p
from ..array.compose import as_dtype, composed, of_arrays, with_signature
from ..core import dtypes as dt
from ..numpy.elementwise import as_array, together
from ..scipy import special

function = functools.partial(composed, space="fc.lax")


def _unary(name: str, target=None):
    return with_signature(getattr(fc, target or name), "x")


def _binary(target: str):
    return with_signature(getattr(fc, target), "x, y")


abs, acos, acosh, asin, asinh, atan, atanh = map(_unary, "abs acos acosh asin asinh atan atanh".split())
cbrt, ceil, cos, cosh, exp, exp2, expm1, floor = map(_unary, "cbrt ceil cos cosh exp exp2 expm1 floor".split())
log, log1p, sign, sin, sinh, sqrt, tan, tanh = map(_unary, "log log1p sign sin sinh sqrt tan tanh".split())
rsqrt, real, imag, conj, square, reciprocal = map(_unary, "rsqrt real imag conj square reciprocal".split())
digamma, erf, erf_inv, erfc, lgamma = fc.digamma, fc.erf, fc.erf_inv, fc.erfc, fc.lgamma
neg, is_finite, bitwise_not, logistic = _unary("negative"), _unary("isfinite"), _unary("bitwise_invert"), fc.sigmoid
add, sub, mul, pow, atan2 = map(_binary, "add subtract multiply pow atan2".split())
max, min, rem = map(_binary, "maximum minimum fmod".split())
eq, ne, ge, gt, le, lt = map(_binary, "equal not_equal greater_equal greater less_equal less".split())
bitwise_and, bitwise_or, bitwise_xor = map(_binary, "bitwise_and bitwise_or bitwise_xor".split())
shift_left, shift_right_arithmetic = _binary("bitwise_left_shift"), _binary("bitwise_right_shift")
nextafter = with_signature(fc.nextafter, "x1, x2")
igamma, igammac = fc.igamma, fc.igammac
betainc, zeta = special.betainc, with_signature(special.zeta, "x, q")
polygamma = with_signature(special.polygamma, "m, x")
bessel_i0e, bessel_i1e = special.i0e, special.i1e
stop_gradient = fc.stop_gradient


class RoundingMethod(enum.IntEnum):
    """Where round puts halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


@function("x y")
def div(x, y):
    """x / y, elementwise; of integers the quotient without its fraction.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.div(7, -2)
    Array(-3, dtype=int64)
    """
    x, y = together(x, y)
    if x.dtype not in dt.INTEGER:
        return fc.divide(x, y)
    return (x - fc.fmod(x, y)) // y


@function("x")
def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """The nearest integer, elementwise; halves away from 0, or to the even neighbour.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.round(fc.asarray([0.5, -2.5]))
    Array([ 1., -3.], dtype=float32)
    """
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return fc.round(x)
    x = as_array(x)
    whole = fc.trunc(x)
    return fc.where(fc.isinf(x), whole, whole + fc.trunc(2 * (x - whole)))  # of infinity the difference is NaN


@function("x")
def integer_pow(x, y):
    """x to a whole number's power, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.integer_pow(2., 3)
    Array(8., dtype=float32)
    """
    return as_array(x) ** int(y)


@function("min x max")
def clamp(min, x, max):
    """x moved into [min, max], elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.clamp(0., fc.asarray([-1., 0.5, 2.]), 1.)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = as_array(x)
    return fc.minimum(fc.maximum(x, as_dtype(min, x.dtype)), as_dtype(max, x.dtype))


@function("x y")
def complex(x, y):
    """x + i y, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.complex(1., 2.)
    Array(1.+2.j, dtype=complex64)
    """
    return of_arrays(p.complex)(*together(x, y))


@function("x")
def clz(x):
    """The number of leading zero bits of integers, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.clz(fc.asarray([1, 255], dtype=fc.int32))
    Array([31, 24], dtype=int32)
    """
    return of_arrays(p.clz)(x)


@function("x")
def population_count(x):
    """How many bits of integers are 1 (of -1: all), elementwise, in their dtype.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.population_count(fc.asarray([7, -1], dtype=fc.int8))
    Array([3, 8], dtype=int8)
    """
    return of_arrays(p.population_count)(x)


@function("x y")
def shift_right_logical(x, y):
    """The bits of x moved right by y, zeros coming in, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.shift_right_logical(fc.asarray([-1], dtype=fc.int8), 4)
    Array([15], dtype=int8)
    """
    return of_arrays(p.shift_right_logical)(*together(x, y))


@function("x y")
def mulhi(x, y, /):
    """The upper half of the bits of the product of integers, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.mulhi(fc.asarray([2 ** 62]), fc.asarray([8]))
    Array([2], dtype=int64)
    """
    x, y = together(x, y)
    if x.dtype not in dt.INTEGER:
        raise TypeError(f"mulhi takes integers, got {x.aval} and {y.aval}")
    bits = 8 * x.dtype.itemsize
    if bits < 64:
        wide = dt.int64 if x.dtype in dt.SIGNED else dt.uint64
        return ((x.astype(wide) * y.astype(wide)) >> bits).astype(x.dtype)
    low, half = 2**32 - 1, 32
    logical = of_arrays(p.shift_right_logical)
    (a, b), (c, d) = ((v >> half, v & low) for v in (x, y))
    carry = logical(b * d, fc.full_like(b, half))
    one = a * d + carry
    two = b * c + (one & low)
    return a * c + (one >> half) + (two >> half)


@function("operand")
def reduce_precision(operand, exponent_bits, mantissa_bits):
    """operand rounded to what a float of so many bits holds, in its own dtype.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.reduce_precision(1.2345, 8, 7)
    Array(1.234375, dtype=float32)
    """
    return of_arrays(p.reduce_precision)(operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


@function("operand")
def convert_element_type(operand, new_dtype):
    """The array in another dtype.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.convert_element_type(1.7, int)
    Array(1, dtype=int64)
    """
    return as_dtype(operand, new_dtype)


@function("operand")
def bitcast_convert_type(operand, new_dtype):
    """The bits of the array as another dtype; of another width the last dimension changes.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.bitcast_convert_type(fc.asarray([1.], dtype=fc.float32), fc.int32)
    Array([1065353216], dtype=int32)
    """
    operand, dtype = as_array(operand), dt.canonical(new_dtype)
    narrow, wide = sorted((operand.dtype.itemsize, dtype.itemsize))
    if narrow == wide:
        return operand.view(dtype)
    if dtype.itemsize < operand.dtype.itemsize:
        return operand[..., None].view(dtype)
    return fc.squeeze(operand.view(dtype), axis=-1)


@function("pred on_true on_false")
def select(pred, on_true, on_false):
    """on_true where pred holds, on_false elsewhere; a scalar pred chooses one of the two.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.select(fc.asarray([True, False]), fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array([1., 4.], dtype=float32)
    """
    return fc.where(pred, on_true, on_false)


@function("which cases")
def select_n(which, *cases):
    """Elementwise the case that `which` names: a bool of two, or an integer.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.select_n(fc.asarray([0, 1]), fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array([1., 4.], dtype=float32)
    """
    which = as_array(which).astype(dt.int64)
    out = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        out = fc.where(which <= i, cases[i], out)
    return out


@function("a x")
def igamma_grad_a(a, x):
    """The derivative of igamma(a, x) by a, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.igamma_grad_a(2., 1.)
    Array(-0.27619603, dtype=float32)
    """
    return of_arrays(p.igamma_grad_a)(*together(a, x))


@function("a x")
def random_gamma_grad(a, x):
    """How a draw x of the gamma distribution changes with its parameter a, elementwise.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.random_gamma_grad(2., 1.)
    Array(0.7507787, dtype=float32)
    """
    return of_arrays(p.random_gamma_grad)(*together(a, x))


__all__ = [
    "RoundingMethod", "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0e",
    "bessel_i1e", "betainc", "bitcast_convert_type", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "cbrt", "ceil", "clamp", "clz", "complex", "conj", "convert_element_type", "cos", "cosh", "digamma", "div",
    "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt", "igamma", "igamma_grad_a",
    "igammac", "imag", "integer_pow", "is_finite", "le", "lgamma", "log", "log1p", "logistic", "lt", "max", "min",
    "mul", "mulhi", "ne", "neg", "nextafter", "polygamma", "population_count", "pow", "random_gamma_grad", "real",
    "reciprocal", "reduce_precision", "rem", "round", "rsqrt", "select", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square", "stop_gradient",
    "sub", "tan", "tanh", "zeta",
]  # fmt: skip
