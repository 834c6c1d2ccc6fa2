"""Elementwise operations of the Array API standard, with its names."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from .op import Op, op
from .promotion import promote

# ---- declared from a table ---------------------------------------------------------------------------


def binary(name: str, apply: Callable, doc: str, *, allowed=dt.ALL, to_inexact: bool = False) -> Op:
    """An operation of two operands that are promoted and broadcast first."""
    def fun(x1, x2, /):
        x1, x2 = promote(x1, x2, name=name, to_inexact=to_inexact)
        check(name, x1, allowed)
        return apply(x1, x2)
    return _finish(fun, name, doc)


def unary(name: str, apply: Callable, doc: str, *, allowed=dt.ALL, to_inexact: bool = False) -> Op:
    """An operation of one operand."""
    def fun(x, /):
        x, = promote(x, name=name, to_inexact=to_inexact)
        check(name, x, allowed)
        return apply(x)
    return _finish(fun, name, doc)


def _finish(fun, name, doc) -> Op:
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = doc
    return Op(fun, scalars=True)


def check(name: str, x, allowed):
    """TypeError unless the (promoted) dtype is one the operation is defined for."""
    if aval_of(x).dtype not in allowed:
        raise TypeError(f"{name} is not defined for {aval_of(x).dtype.name} arrays; "
                        "convert them first with astype")


BITS = dt.INTEGER | {dt.bool_}

add = binary("add", p.add, "The sum of two arrays, elementwise.")
subtract = binary("subtract", p.sub, "The difference of two arrays, elementwise.",
                  allowed=dt.NUMERIC)
multiply = binary("multiply", p.mul, "The product of two arrays, elementwise.")
divide = binary("divide", p.div, "The quotient, elementwise; integers are divided as floats.",
                to_inexact=True)
pow = binary("pow", p.pow, "x1 to the power x2, elementwise.", allowed=dt.NUMERIC)
atan2 = binary("atan2", p.atan2, "The angle of the point (x2, x1) in radians, elementwise.",
               to_inexact=True)
maximum = binary("maximum", p.max, "The larger of two, elementwise; NaN wins.")
minimum = binary("minimum", p.min, "The smaller of two, elementwise; NaN wins.")
nextafter = binary("nextafter", p.nextafter, "The next number after x1 towards x2, elementwise.",
                   allowed=dt.FLOATING)
equal = binary("equal", p.eq, "x1 == x2, elementwise.")
not_equal = binary("not_equal", p.ne, "x1 != x2, elementwise.")
less = binary("less", p.lt, "x1 < x2, elementwise.", allowed=dt.ORDERED)
less_equal = binary("less_equal", p.le, "x1 <= x2, elementwise.", allowed=dt.ORDERED)
greater = binary("greater", p.gt, "x1 > x2, elementwise.", allowed=dt.ORDERED)
greater_equal = binary("greater_equal", p.ge, "x1 >= x2, elementwise.", allowed=dt.ORDERED)
bitwise_and = binary("bitwise_and", p.and_, "x1 & x2, elementwise.", allowed=BITS)
bitwise_or = binary("bitwise_or", p.or_, "x1 | x2, elementwise.", allowed=BITS)
bitwise_xor = binary("bitwise_xor", p.xor, "x1 ^ x2, elementwise.", allowed=BITS)
bitwise_left_shift = binary("bitwise_left_shift", p.shift_left, "x1 << x2, elementwise.",
                            allowed=dt.INTEGER)


def _shift_right(x1, x2):
    signed = aval_of(x1).dtype in dt.SIGNED
    return (p.shift_right_arithmetic if signed else p.shift_right_logical)(x1, x2)


bitwise_right_shift = binary("bitwise_right_shift", _shift_right, "x1 >> x2, elementwise.",
                             allowed=dt.INTEGER)

negative = unary("negative", p.neg, "-x, elementwise.", allowed=dt.NUMERIC)
bitwise_invert = unary("bitwise_invert", p.not_, "~x, elementwise.", allowed=BITS)

for _name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin",
              "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"):
    globals()[_name] = unary(_name, getattr(p, _name), f"{_name}(x), elementwise.",
                             to_inexact=True)
