"""Trigonometric functions of many float32 numbers, which LLVM takes several at a time: XLA calls C's for each.

Polynomials in the square of an angle, fitted to the least largest error over the interval (linear programming), in
float64 where float32 would be more than a unit in the last place off. Nanoseconds a number, XLA's form and this:
sin and cos 3.5, 0.7; tan 3.7, 0.8; asin 4.5, 0.2; acos 7.7, 0.2; atan2 8.3, 0.4.
"""

from __future__ import annotations

import math

from ..core import dtypes as dt
from ..core.types import Value
from .arithmetic import abs, add, div, max, min, mul, neg, round, sqrt, sub
from .bitwise import and_
from .comparison import eq, ge, gt, lt, select
from .convert import bitcast, convert, with_sign_of
from .reductions import reduce_or
from .structure import full

SINE = (-0.16666655242443085, 0.008332174271345139, -0.0001951667363755405)  # (sin r - r) / r^3 up to pi / 4
COSINE = (0.04166664555668831, -0.0013887247769162059, 2.4426281015621498e-05)  # (cos r - 1 + r^2 / 2) / r^4
ARC_SINE = (  # (asin s - s) / s^3 up to 1 / 2
    0.16666755080223083,
    0.07495220750570297,
    0.04547993838787079,
    0.02413257583975792,
    0.042245663702487946,
)
ARC_TANGENT = (  # (atan t - t) / t^3 up to 1
    -0.33333298563957214,
    0.19998548924922943,
    -0.14264242351055145,
    0.10952185839414597,
    -0.0840345099568367,
    0.05795760452747345,
    -0.031177856028079987,
    0.01091461069881916,
    -0.001793622737750411,
)
ARC_TANGENT_64 = (  # the same up to 7 / 16
    -0.3333333333333332,
    0.19999999999985818,
    -0.14285714282779846,
    0.1111111087376447,
    -0.09090899214783224,
    0.07692066868757312,
    -0.06662980445388379,
    0.0584570979348734,
    -0.05024505380911164,
    0.037581419746372094,
    -0.01728045534079896,
)
# Angles in two parts, rounded and what is missing: those with the tangents 1 / 2 and 1, a quarter and half a turn.
OF_HALF, OF_ONE = (0.4636476090008061, 2.2698777452961687e-17), (0.7853981633974483, 3.061616997868383e-17)
QUARTER, HALF = (1.5707963267948966, 6.123233995736766e-17), (3.141592653589793, 1.2246467991473532e-16)
# pi / 2 in three parts of float64: the first two have 22 bits, so that their products with whole numbers below 2^31
# are exact.
HALF_PI = (1.570796012878418, 3.139164164167596e-07, 6.223372171896613e-14)
LARGE = 2.0**31  # angles from which on there are more quarter turns than int32 holds


def _polynomial(z: Value, coefficients: tuple[float, ...]) -> Value:
    out = full(z.shape, coefficients[-1], z.dtype)
    for c in coefficients[-2::-1]:
        out = add(mul(out, z), c)
    return out


def _wide(x: Value) -> Value:
    return convert(x, dtype=dt.float64)


def _quarter_turns(x: Value) -> tuple[Value, Value]:
    """How many quarter turns the angle x is, to the nearest, and what is left: int32 and float64."""
    rest = _wide(x)
    turns = round(mul(rest, 2 / math.pi))
    for part in HALF_PI:
        rest = sub(rest, mul(turns, part))
    return convert(turns, dtype=dt.int32), rest


def _sine(r: Value, z: Value) -> Value:
    return add(r, mul(mul(r, z), _polynomial(z, SINE)))


def _cosine(z: Value) -> Value:
    return add(sub(1, mul(z, 0.5)), mul(mul(z, z), _polynomial(z, COSINE)))


def _wave(x: Value, quarter: int) -> Value:
    """The sine of x and so many quarter turns."""
    turns, r = _quarter_turns(x)
    z = mul(r, r)
    turns = add(turns, quarter) if quarter else turns
    value = convert(select(eq(and_(turns, 1), 1), _cosine(z), _sine(r, z)), dtype=dt.float32)
    return select(eq(and_(turns, 2), 2), neg(value), value)


def sin(x: Value) -> Value:
    """To 0.6 units in the last place, of angles below LARGE; so are cos and tan."""
    return select(eq(x, 0), x, _wave(x, 0))  # -0 stays


def cos(x: Value) -> Value:
    """The sine of a quarter turn more."""
    return _wave(x, 1)


def tan(x: Value) -> Value:
    """Sine by cosine of what is left of quarter turns."""
    turns, r = _quarter_turns(x)
    z = mul(r, r)
    s, c = _sine(r, z), _cosine(z)
    odd = eq(and_(turns, 1), 1)
    value = div(select(odd, neg(c), s), select(odd, s, c))
    return select(eq(x, 0), x, convert(value, dtype=dt.float32))


def has_large_angles(x: Value) -> Value:
    """Whether there are finite angles of which `_quarter_turns` is not exact."""
    return reduce_or(and_(ge(abs(x), LARGE), lt(abs(x), math.inf)), axes=tuple(range(x.ndim)))


def _arc_sine(s: Value, z: Value) -> Value:
    return add(s, mul(mul(s, z), _polynomial(z, ARC_SINE)))


def _half_angle(size: Value) -> tuple[Value, Value]:
    """sin(a / 2) and its square of a with cos a = size."""
    z = mul(sub(1, size), 0.5)
    return sqrt(z), z


def asin(x: Value) -> Value:
    """From 1 / 2 on by half of the angle's complement; NaN beyond 1. To 2.2 units in the last place."""
    size = abs(x)
    near = lt(size, 0.5)
    s, z = _half_angle(size)
    value = _arc_sine(select(near, size, s), select(near, mul(x, x), z))
    return with_sign_of(select(near, value, sub(math.pi / 2, mul(value, 2))), x)


def acos(x: Value) -> Value:
    """The complement of asin, to 1.3 units in the last place."""
    size = abs(x)
    near = lt(size, 0.5)
    s, z = _half_angle(size)
    value = _arc_sine(select(near, x, s), select(near, mul(x, x), z))
    far = mul(value, 2)
    return select(near, sub(math.pi / 2, value), select(lt(x, 0), sub(math.pi, far), far))


def _arc_tangent(t: Value) -> Value:
    """Of t in [0, 1]."""
    z = mul(t, t)
    return add(t, mul(mul(t, z), _polynomial(z, ARC_TANGENT)))


def atan(x: Value) -> Value:
    """Of numbers beyond 1 the complement of their reciprocal's."""
    size = _wide(abs(x))
    far = gt(size, 1)
    angle = _arc_tangent(select(far, div(1, size), size))
    return with_sign_of(convert(select(far, sub(math.pi / 2, angle), angle), dtype=dt.float32), x)


def atan2(y: Value, x: Value) -> Value:
    """The angle of (x, y), by that of the shorter side over the longer one."""
    width, height = _wide(abs(x)), _wide(abs(y))
    short, long = min(width, height), max(width, height)
    ratio = select(eq(short, long), full(x.shape, 1, dt.float64), div(short, long))  # both may be infinite
    angle = _arc_tangent(select(eq(long, 0), long, ratio))
    angle = select(gt(height, width), sub(math.pi / 2, angle), angle)
    negative = lt(bitcast(x, dtype=dt.int32), 0)
    angle = select(negative, sub(math.pi, angle), angle)
    return with_sign_of(convert(angle, dtype=dt.float32), y)


def atan_64(x: Value) -> Value:
    """Of float64 numbers."""
    return atan2_64(x, full(x.shape, 1, x.dtype))


def atan2_64(y: Value, x: Value) -> Value:
    """In float64, to about one unit in the last place: the angle's distance p from one of those whose tangents are 0,
    1 / 2 and 1, counted from the nearer axis."""
    width, height = abs(x), abs(y)
    short, long = min(width, height), max(width, height)
    scale = select(gt(long, 1e300), _like(x, 2.0**-64), _like(x, 1))  # long + short would be infinite
    infinite, both = eq(long, math.inf), eq(short, math.inf)
    short = select(infinite, select(both, _like(x, 1), _like(x, 0)), mul(short, scale))
    long = select(infinite, _like(x, 1), mul(long, scale))
    beyond_first, beyond_second = gt(short, mul(long, 7 / 16)), gt(short, mul(long, 11 / 16))

    def at_tangent(zero: float, half: float, one: float) -> Value:
        return select(beyond_second, _like(x, one), select(beyond_first, _like(x, half), _like(x, zero)))

    tangent = at_tangent(0, 0.5, 1)
    t = div(sub(short, mul(tangent, long)), select(eq(long, 0), _like(x, 1), add(long, mul(tangent, short))))
    z = mul(t, t)
    p = add(t, mul(mul(t, z), _polynomial(z, ARC_TANGENT_64)))
    # counted from the x axis: back from a quarter turn, on from it, back from half a turn
    tall, negative = gt(height, width), lt(bitcast(x, dtype=dt.int64), 0)

    def turned(part: int) -> Value:
        half = select(negative, _like(x, HALF[part]), _like(x, 0))
        return select(tall, _like(x, QUARTER[part]), half)

    forward = eq(tall, negative)
    base, rest, p = (
        select(forward, a, neg(a))
        for a in (at_tangent(0, OF_HALF[0], OF_ONE[0]), at_tangent(0, OF_HALF[1], OF_ONE[1]), p)
    )
    turn = turned(0)
    angle = add(turn, base)
    lost = add(sub(base, sub(angle, turn)), add(turned(1), rest))
    return with_sign_of(add(angle, add(p, lost)), y)


def _like(x: Value, value: float) -> Value:
    return full(x.shape, value, x.dtype)
