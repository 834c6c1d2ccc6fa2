"""Elementwise functions of one or two values of one dtype and shape."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..primitives.reductions import highest, lowest
from .values import aval_of, dt, full_like, p


def _adjusts(r, y):
    """Where a remainder (towards zero) and its divisor differ in sign: floor is one less."""
    differ = p.xor(p.lt(r, 0), p.lt(y, 0))
    return p.and_(p.and_(p.ne(r, 0), p.ne(y, 0)), differ)


def floor_divide(x, y):
    """Towards minus infinity; x // 0 is nan or inf of floats, -1 of integers (as XLA)."""
    dtype = aval_of(x).dtype
    if dtype in dt.UNSIGNED:
        return p.div(x, y)
    if dtype in dt.SIGNED:
        q = p.div(x, y)
        return p.select(_adjusts(p.rem(x, y), y), p.sub(q, 1), q)
    return p.floor_div(x, y)


def modulo(x, y):
    """The remainder with the sign of the divisor, a zero with that of x; x % 0 is NaN of floats, x of integers."""
    r = p.rem(x, y)
    return r if aval_of(x).dtype in dt.UNSIGNED else p.select(_adjusts(r, y), p.add(r, y), r)


def signed_modulo(x, y):
    """modulo of floats, a zero with the divisor's sign, too; such a zero is a constant to derivatives."""
    out = modulo(x, y)
    return p.select(p.eq(out, 0), p.select(signbit(y), full_like(x, -0.0), full_like(x, 0.0)), out)


def hypot(x, y):
    """sqrt(x ** 2 + y ** 2) without overflow."""
    x, y = p.abs(x), p.abs(y)
    large, small = p.max(x, y), p.min(x, y)
    flat = p.eq(large, 0)
    ratio = p.div(small, p.select(flat, full_like(x, 1), large))
    out = p.select(flat, p.add(x, y), p.mul(large, p.sqrt(p.add(p.mul(ratio, ratio), 1))))
    infinite = p.or_(p.eq(x, math.inf), p.eq(y, math.inf))
    return p.select(infinite, full_like(x, math.inf), out)


def logaddexp(x, y):
    """log(exp(x) + exp(y)) without overflow."""
    apart = p.sub(x, y)
    out = p.add(p.max(x, y), p.log1p(p.exp(p.neg(p.abs(apart)))))
    return p.select(p.ne(apart, apart), p.add(x, y), out)  # equal infinities, NaN


def whole(round_floats: Callable) -> Callable:
    """Rounding that leaves integers as they are and rounds the parts of complex numbers."""

    def apply(x):
        dtype = aval_of(x).dtype
        if dtype in dt.COMPLEX:
            return p.complex(round_floats(p.real(x)), round_floats(p.imag(x)))
        return x if dtype in dt.INTEGER else round_floats(x)

    return apply


def signbit(x):
    """Whether the sign bit is set, also of -0. and -nan; of integers whether they are negative."""
    dtype = aval_of(x).dtype
    if dtype in dt.FLOATING:
        x = p.bitcast(x, dtype=dt.canonical(f"int{dtype.itemsize * 8}"))
    return p.lt(x, 0)


def copysign(x, y):
    """The magnitude of x with the sign of y."""
    size = p.abs(x)
    return p.select(signbit(y), p.neg(size), size)


def _of_parts(test: Callable, combine: Callable, otherwise: bool) -> Callable:
    """A test of floats, of both parts of complex numbers; `otherwise` of integers and bools."""

    def apply(x):
        dtype = aval_of(x).dtype
        if dtype in dt.COMPLEX:
            return combine(test(p.real(x)), test(p.imag(x)))
        if dtype not in dt.FLOATING:
            return p.full(aval_of(x).shape, otherwise, dt.bool_)
        return test(x)

    return apply


isfinite = _of_parts(p.is_finite, p.and_, True)


isnan = _of_parts(lambda x: p.ne(x, x), p.or_, False)


isinf = _of_parts(lambda x: p.eq(p.abs(x), full_like(x, math.inf)), p.or_, False)


def truth(x):
    """Whether x is not 0."""
    return p.convert(x, dtype=dt.bool_)


def shift_right(x1, x2):
    """x >> y; the sign stays."""
    signed = aval_of(x1).dtype in dt.SIGNED
    return (p.shift_right_arithmetic if signed else p.shift_right_logical)(x1, x2)


def nan_to_num(x, nan, posinf, neginf):
    """x with other numbers for NaN and infinities, by default the largest ones there are."""
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEX:
        return p.complex(*[nan_to_num(part, nan, posinf, neginf) for part in (p.real(x), p.imag(x))])
    if dtype not in dt.FLOATING:
        return x
    info = dt.finfo(dtype)
    for found, value in (
        (p.ne(x, x), nan),
        (p.eq(x, math.inf), info.max if posinf is None else posinf),
        (p.eq(x, -math.inf), info.min if neginf is None else neginf),
    ):
        x = p.select(found, full_like(x, value), x)
    return x


def isclose(x, y, rtol, atol):
    """Whether finite numbers lie within the tolerance of y."""
    error = p.abs(p.sub(x, y))
    return p.and_(p.is_finite(error), p.le(error, p.add(p.mul(p.abs(y), rtol), atol)))


def same_or_nan(x, y, equal_nan: bool):
    """x == y, and if wanted, both NaN."""
    same = p.eq(x, y)
    return p.or_(same, p.and_(p.ne(x, x), p.ne(y, y))) if equal_nan else same


def clamped(x, low, high):
    """x within bounds, each a value or None."""
    dtype = aval_of(x).dtype
    low = full_like(x, lowest(dtype)) if low is None else low
    return p.clamp(low, x, full_like(x, highest(dtype)) if high is None else high)
