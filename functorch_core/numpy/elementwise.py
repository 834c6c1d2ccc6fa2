"""Elementwise functions that NumPy has and the Array API has not; those of both are fc's."""

from __future__ import annotations

import functools
import operator

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype, composed, with_signature
from ..core import dtypes as dt
from ..scipy.special import i0

function = functools.partial(composed, space="fc.numpy")


def as_array(x):
    """x, a number or an array, as an Array."""
    return fc.asarray(x)


def floats(x):
    """x as an Array of a floating or complex dtype."""
    x = fc.asarray(x)
    return x if x.dtype in dt.INEXACT else x.astype(dt.DEFAULT_FLOAT)


# ---- arithmetic ----------------------------------------------------------------------------------


@function("x y", inexact=True)
def float_power(x, y, /):
    """x to the power y, in floating point.

    >>> import functorch_core.numpy as jnp
    >>> jnp.float_power(jnp.asarray([1, 2, 3]), 2)
    Array([1., 4., 9.], dtype=float32)
    """
    return fc.pow(x, y)


@function("x1 x2")
def divmod(x1, x2, /):
    """(x1 // x2, x1 % x2), elementwise.

    >>> import functorch_core.numpy as jnp
    >>> jnp.divmod(jnp.asarray([7, -7]), 2)
    (Array([ 3, -4], dtype=int64), Array([1, 1], dtype=int64))
    """
    return fc.floor_divide(x1, x2), fc.remainder(x1, x2)


@function("x", inexact=True)
def fabs(x, /):
    """|x| in floating point.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fabs(jnp.asarray([-1, 2]))
    Array([1., 2.], dtype=float32)
    """
    return fc.abs(x)


@function("x1 x2")
def fmax(x1, x2):
    """The greater of two numbers, elementwise; the other one where one is NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fmax(jnp.asarray([1., jnp.nan]), 0.5)
    Array([1. , 0.5], dtype=float32)
    """
    x1, x2 = together(x1, x2)
    return fc.where((x1 > x2) | fc.isnan(x2), x1, x2)


@function("x1 x2")
def fmin(x1, x2):
    """The less of two numbers, elementwise; the other one where one is NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fmin(jnp.asarray([1., jnp.nan]), 0.5)
    Array([0.5, 0.5], dtype=float32)
    """
    x1, x2 = together(x1, x2)
    return fc.where((x1 < x2) | fc.isnan(x2), x1, x2)


def together(*arrays) -> list:
    """Arrays and numbers in the dtype that they promote to, and broadcast."""
    return list(fc.broadcast_arrays(*alike(*arrays)))


def alike(*arrays) -> list:
    """Arrays and numbers in the dtype that they promote to; numbers, which as arrays would be of 64 bits, are weak."""
    given = [as_array(x) if isinstance(x, (list, tuple)) else x for x in arrays]
    dtype = fc.result_type(*given)
    return [as_dtype(x, dtype) for x in given]


@function("x1 x2")
def heaviside(x1, x2, /):
    """0 where x1 is negative, 1 where it is positive, x2 where it is 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.heaviside(jnp.asarray([-1., 0., 2.]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x1, x2 = together(floats(x1), x2)
    out = fc.where(x1 < 0, fc.zeros_like(x1), fc.where(x1 > 0, fc.ones_like(x1), x2))
    return fc.where(fc.isnan(x1), x1, out)


@function("x1 x2")
def gcd(x1, x2):
    """The greatest common divisor of integers, elementwise; of 0 and 0 it is 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.gcd(jnp.asarray([12, -18]), 8)
    Array([4, 2], dtype=int64)
    """
    pair = _integers("gcd", x1, x2)
    return fc.while_loop(lambda v: (v[1] != 0).any(), _euclid, tuple(map(fc.abs, pair)))[0]


def _euclid(pair):
    a, b = pair
    done = b == 0
    rest = fc.remainder(a, fc.where(done, fc.ones_like(b), b))
    return fc.where(done, a, b), fc.where(done, b, rest)


def _integers(name: str, *arrays):
    found = together(*arrays)
    if found[0].dtype not in dt.INTEGER:
        raise TypeError(f"{name} takes integers, got {found[0].dtype.name}; convert them: x.astype(fc.int64)")
    return found


@function("x1 x2")
def lcm(x1, x2):
    """The least common multiple of integers, elementwise; with 0 it is 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.lcm(jnp.asarray([4, 6]), 10)
    Array([20, 30], dtype=int64)
    """
    x1, x2 = map(fc.abs, _integers("lcm", x1, x2))
    divisor = gcd(x1, x2)
    return fc.where(divisor == 0, fc.zeros_like(x1), x1 // fc.maximum(divisor, 1) * x2)


@function("x1 x2")
def logaddexp2(x1, x2, /):
    """log2(2**x1 + 2**x2), elementwise, without overflow.

    >>> import functorch_core.numpy as jnp
    >>> jnp.logaddexp2(jnp.asarray([0., 1000.]), 0.)
    Array([  1.     , 999.99994], dtype=float32)
    """
    log2 = float(np.log(2))
    return fc.logaddexp(floats(x1) * log2, floats(x2) * log2) / log2


@function("x")
def rint(x, /):
    """The nearest integer, elementwise; of two the even one. Integers become floats.

    >>> import functorch_core.numpy as jnp
    >>> jnp.rint(jnp.asarray([0.5, 1.5, -1.7]))
    Array([ 0.,  2., -2.], dtype=float32)
    """
    return fc.round(floats(x))


@function("a")
def round(a, decimals=0):
    """a rounded to a number of decimals, elementwise; halves go to the even neighbour.

    >>> import functorch_core.numpy as jnp
    >>> jnp.round(jnp.asarray([1.25, 1.35]), 1)
    Array([1.2, 1.4], dtype=float32)
    """
    return fc.round(a, decimals=decimals)


around = round


# ---- parts of floating-point numbers -------------------------------------------------------------


@function("x")
def modf(x, /):
    """(fractional part, integral part), elementwise, both with the sign of x.

    >>> import functorch_core.numpy as jnp
    >>> jnp.modf(jnp.asarray([2.5, -0.5]))
    (Array([ 0.5, -0.5], dtype=float32), Array([ 2., -0.], dtype=float32))
    """
    x = floats(x)
    whole = fc.trunc(x)
    return fc.copysign(fc.where(fc.isinf(x), fc.zeros_like(x), x - whole), x), whole


PARTS = {dt.float16: (dt.int16, 10, 5), dt.bfloat16: (dt.int16, 7, 8), dt.float32: (dt.int32, 23, 8)}
PARTS[dt.float64] = (dt.int64, 52, 11)  # the integers of that width, bits of mantissa and exponent


@function("x")
def frexp(x, /):
    """(mantissa, exponent) with x = mantissa * 2**exponent and |mantissa| in [0.5, 1); int32 exponents.

    >>> import functorch_core.numpy as jnp
    >>> jnp.frexp(jnp.asarray([8., 0.3]))
    (Array([0.5, 0.6], dtype=float32), Array([ 4, -1], dtype=int32))
    """
    x = floats(x)
    integers, mantissa, exponent = PARTS[x.dtype]
    tiny = fc.abs(x) < float(fc.finfo(x.dtype).smallest_normal)
    normal = fc.where(tiny, x * 2.0**mantissa, x)
    biased = (normal.view(integers) >> mantissa) & (2**exponent - 1)
    special = (x == 0) | ~fc.isfinite(x)
    power = biased.astype(dt.int32) - (2 ** (exponent - 1) - 2) - fc.where(tiny, mantissa, 0).astype(dt.int32)
    power = fc.where(special, fc.zeros_like(power), power)
    return fc.where(special, x, ldexp(x, -power)), power


@function("x1 x2")
def ldexp(x1, x2, /):
    """x1 * 2**x2, elementwise, for integers x2.

    >>> import functorch_core.numpy as jnp
    >>> jnp.ldexp(jnp.asarray([0.5, 3.]), jnp.asarray([4, -1]))
    Array([8. , 1.5], dtype=float32)
    """
    x1 = floats(x1)
    x2 = fc.asarray(x2)
    if x2.dtype not in dt.INTEGER and x2.dtype != dt.bool_:
        raise TypeError(f"ldexp takes integer exponents, got {x2.aval}; convert them: x2.astype(fc.int32)")
    limit = 2 ** (PARTS[x1.dtype][2] - 1) - 2
    x2 = fc.clip(x2.astype(dt.int64), -4 * limit, 4 * limit)  # which int8 does not hold
    for _ in range(4):  # each factor is a number of this dtype
        part = fc.clip(x2, -limit, limit)
        x1 = x1 * fc.exp2(part.astype(x1.dtype))
        x2 = x2 - part
    return x1


@function("x")
def spacing(x, /):
    """The distance to the next number away from 0, elementwise, with the sign of x.

    >>> import functorch_core.numpy as jnp
    >>> jnp.spacing(jnp.asarray([1., -1.]))
    Array([ 1.1920929e-07, -1.1920929e-07], dtype=float32)
    """
    x = floats(x)
    ahead = fc.copysign(fc.full_like(x, float("inf")), x)
    return fc.nextafter(x, ahead) - x


# ---- kinds of numbers ----------------------------------------------------------------------------


@function("x")
def isneginf(x, /):
    """Whether x is -inf, elementwise.

    >>> import functorch_core.numpy as jnp
    >>> jnp.isneginf(jnp.asarray([-jnp.inf, 1.]))
    Array([ True, False], dtype=bool)
    """
    return as_array(x) == -float("inf")


@function("x")
def isposinf(x, /):
    """Whether x is inf, elementwise.

    >>> import functorch_core.numpy as jnp
    >>> jnp.isposinf(jnp.asarray([jnp.inf, 1.]))
    Array([ True, False], dtype=bool)
    """
    return as_array(x) == float("inf")


@function("x")
def iscomplex(x):
    """Whether the imaginary part is not 0, elementwise.

    >>> import functorch_core.numpy as jnp
    >>> jnp.iscomplex(jnp.asarray([1 + 1j, 2]))
    Array([ True, False], dtype=bool)
    """
    return fc.imag(x) != 0


@function("x")
def isreal(x):
    """Whether the imaginary part is 0, elementwise.

    >>> import functorch_core.numpy as jnp
    >>> jnp.isreal(jnp.asarray([1 + 1j, 2]))
    Array([False,  True], dtype=bool)
    """
    return fc.imag(x) == 0


def iscomplexobj(x) -> bool:
    """Whether the dtype of x is complex.

    >>> import functorch_core.numpy as jnp
    >>> jnp.iscomplexobj(jnp.asarray([1.]))
    False
    """
    return fc.result_type(x) in dt.COMPLEX


def isrealobj(x) -> bool:
    """Whether the dtype of x is not complex.

    >>> import functorch_core.numpy as jnp
    >>> jnp.isrealobj(jnp.asarray([1.]))
    True
    """
    return not iscomplexobj(x)


@function("p")
def unwrap(p, discont=None, axis=-1, period=2 * np.pi):
    """Angles without jumps: multiples of `period` are added where neighbours differ by more than half.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unwrap(jnp.asarray([0., 3., 6., 9.]) % 6.2831855)
    Array([0., 3., 6., 9.], dtype=float32)
    """
    p = as_array(p)
    whole = p.dtype in dt.INTEGER and isinstance(period, int)
    p = p if whole else floats(p)
    step = fc.diff(p, axis=axis)
    half = period // 2 if whole else period / 2
    low = -half if not whole or period % 2 == 0 else -half - 1
    turned = fc.remainder(step - low, period) + low
    if not whole or period % 2 == 0:
        turned = fc.where((turned == low) & (step > 0), fc.full_like(step, half), turned)
    correct = fc.where(fc.abs(step) < (half if discont is None else discont), fc.zeros_like(step), turned - step)
    axis = operator.index(axis) % p.ndim
    rest = (slice(None),) * axis
    return p.at[(*rest, slice(1, None))].add(fc.cumsum(correct, axis=axis))


trunc = with_signature(fc.trunc, "x")
clip = with_signature(fc.clip, "arr=None, /, min=None, max=None")


__all__ = [
    "around", "clip", "divmod", "fabs", "float_power", "fmax", "fmin", "frexp", "gcd", "heaviside", "i0",
    "iscomplex", "iscomplexobj", "isneginf", "isposinf", "isreal", "isrealobj", "lcm", "ldexp", "logaddexp2",
    "modf", "rint", "round", "spacing", "trunc", "unwrap",
]  # fmt: skip
