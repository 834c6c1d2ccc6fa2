"""Bessel functions of order 0 and 1, spherical ones and Airy's.

Near the origin Chebyshev series in x or x^2 (with the logarithm of Y and K apart), beyond it series
in 1/x of what remains when the leading behaviour is divided out (DLMF 10.17, 10.40, 9.7).
"""

from __future__ import annotations

import math

import numpy as np

from ..core.types import Function, Value
from . import formula as fo
from . import special_tables as tables
from .arithmetic import abs as absolute
from .arithmetic import add, div, mul, neg, sign, sub
from .comparison import eq, select
from .declare import Wrapper, aval_of
from .formula import Numeric
from .special import series, special, wide_reference
from .structure import full

# ---- what derivatives share ----------------------------------------------------------------------


def _over_x(value: Value, x: Value, at_zero: float) -> Value:
    """value / x, with its limit at x = 0."""
    a = aval_of(x)
    zero = eq(x, 0.0)
    safe = select(zero, full(a.shape, 1, a.dtype), x)
    return select(zero, full(a.shape, at_zero, a.dtype), div(value, safe))


# ---- J and Y -------------------------------------------------------------------------------------


def _near(x: Numeric, table: tuple[float, ...]) -> Numeric:
    """A series in x^2 for |x| <= 8."""
    return series(x * x * (1 / 32) - 1, table)


def _phase_amplitude(x: Numeric, p: tuple[float, ...], q: tuple[float, ...]) -> tuple[Numeric, ...]:
    """(p, q, sin x + cos x, sin x - cos x) over sqrt(pi x): the parts of J and Y for x >= 8.

    The sums of sin and cos stand for cos(x - pi/4), which would round x.
    """
    t = 128 / (x * x) - 1
    s, c, scale = fo.sin(x), fo.cos(x), 1 / fo.sqrt(x * math.pi)
    return series(t, p), series(t, q) / x, (s + c) * scale, (s - c) * scale


def _j0(x: Numeric) -> Numeric:
    x = abs(x)
    p, q, plus, minus = _phase_amplitude(x, tables.P0, tables.Q0)
    return fo.where(x < 8, _near(x, tables.J0_SMALL), p * plus - q * minus)


def _j1(x: Numeric) -> Numeric:
    size = abs(x)
    p, q, plus, minus = _phase_amplitude(size, tables.P1, tables.Q1)
    far = p * minus + q * plus
    return fo.where(size < 8, x * _near(x, tables.J1_SMALL), fo.where(x < 0, -far, far))


def _y0(x: Numeric) -> Numeric:
    p, q, plus, minus = _phase_amplitude(x, tables.P0, tables.Q0)
    logarithm = fo.log(x * 0.5) * _near(x, tables.J0_SMALL) * (2 / math.pi)
    return fo.where(x < 8, logarithm + _near(x, tables.Y0_SMALL), p * minus + q * plus)


def _y1(x: Numeric) -> Numeric:
    p, q, plus, minus = _phase_amplitude(x, tables.P1, tables.Q1)
    singular = fo.log(x * 0.5) * x * _near(x, tables.J1_SMALL) - 1 / x
    near = singular * (2 / math.pi) + x * _near(x, tables.Y1_SMALL)
    near = fo.where(fo.equals(x, 0), -math.inf, near)
    return fo.where(x < 8, near, q * minus - p * plus)


bessel_j0 = special("bessel_j0", _j0, "j0", lambda t, out, x: neg(mul(t, bessel_j1(x))))
bessel_j1: Wrapper = special("bessel_j1", _j1, "j1", lambda t, out, x: mul(t, sub(bessel_j0(x), _over_x(out, x, 0.5))))
bessel_y0 = special("bessel_y0", _y0, "y0", lambda t, out, x: neg(mul(t, bessel_y1(x))))
bessel_y1: Wrapper = special("bessel_y1", _y1, "y1", lambda t, out, x: mul(t, sub(bessel_y0(x), div(out, x))))

# ---- modified: I ---------------------------------------------------------------------------------
# The scaled functions come first: e^-|x| I(x) stays of one size, so that the series keep their
# relative accuracy.


def _i0e(x: Numeric) -> Numeric:
    x = abs(x)
    large = series(16 / x - 1, tables.I0E_LARGE) / fo.sqrt(x)
    return fo.where(x < 8, series(x * 0.25 - 1, tables.I0E_SMALL), large)


def _i1e(x: Numeric) -> Numeric:
    size = abs(x)
    small = series(size * 0.25 - 1, tables.I1E_SMALL) * size / (1 + size)
    large = series(16 / size - 1, tables.I1E_LARGE) / fo.sqrt(size)
    out = fo.where(size < 8, small, large)
    return fo.where(x < 0, -out, out)


def _unscaled(scaled: Function) -> Function:
    """e^|x| times a scaled function; in two factors, as e^|x| overflows before I does."""

    def formula(x: Numeric) -> Numeric:
        root = fo.exp(abs(x) * 0.5)
        return scaled(x) * root * root

    return formula


bessel_i0e = special("bessel_i0e", _i0e, "i0e", lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))))
bessel_i1e: Wrapper = special(
    "bessel_i1e", _i1e, "i1e", lambda t, out, x: mul(t, sub(sub(bessel_i0e(x), _over_x(out, x, 0.5)), absolute(out)))
)
bessel_i0 = special("bessel_i0", _unscaled(_i0e), "i0", lambda t, out, x: mul(t, bessel_i1(x)))
bessel_i1: Wrapper = special(
    "bessel_i1", _unscaled(_i1e), "i1", lambda t, out, x: mul(t, sub(bessel_i0(x), _over_x(out, x, 0.5)))
)

# ---- modified: K ---------------------------------------------------------------------------------


def _k0_near(x: Numeric) -> Numeric:
    t = x * x * 0.5 - 1
    return series(t, tables.K0_SMALL) - fo.log(x * 0.5) * series(t, tables.I0_UNIT)


def _k1_near(x: Numeric) -> Numeric:
    t = x * x * 0.5 - 1
    near = fo.log(x * 0.5) * x * series(t, tables.I1_UNIT) + series(t, tables.K1_SMALL) / x
    return fo.where(fo.equals(x, 0), math.inf, near)


def _k(near: Function, table: str, scaled: bool) -> Function:
    """The formula of K, or of e^x K, from its part near 0 and the table of the series of sqrt(x) e^x K."""

    def formula(x: Numeric) -> Numeric:
        far = series(4 / x - 1, getattr(tables, table)) / fo.sqrt(x)
        if scaled:
            return fo.where(x <= 2, near(x) * fo.exp(x), far)
        return fo.where(x <= 2, near(x), far * fo.exp(-x))

    return formula


bessel_k0 = special("bessel_k0", _k(_k0_near, "K0E_LARGE", False), "k0", lambda t, out, x: neg(mul(t, bessel_k1(x))))
bessel_k1: Wrapper = special(
    "bessel_k1", _k(_k1_near, "K1E_LARGE", False), "k1", lambda t, out, x: neg(mul(t, add(bessel_k0(x), div(out, x))))
)
bessel_k0e = special(
    "bessel_k0e", _k(_k0_near, "K0E_LARGE", True), "k0e", lambda t, out, x: mul(t, sub(out, bessel_k1e(x)))
)
bessel_k1e: Wrapper = special(
    "bessel_k1e",
    _k(_k1_near, "K1E_LARGE", True),
    "k1e",
    lambda t, out, x: mul(t, sub(out, add(bessel_k0e(x), div(out, x)))),
)


# ---- spherical -----------------------------------------------------------------------------------


def _vanishing(formula: Function) -> Function:
    """The formula, but 0 at infinity, where its sine has no value."""

    def guarded(x: Numeric) -> Numeric:
        return fo.where(fo.equals(abs(x), math.inf), 0.0, formula(x))

    return guarded


def _spherical_j0(x: Numeric) -> Numeric:
    return fo.where(fo.equals(x, 0), 1.0, fo.sin(x) / x)


def _spherical_j1(x: Numeric) -> Numeric:
    near = x * series(x * x * 0.5 - 1, tables.SPHERICAL_J1)
    return fo.where(abs(x) < 2, near, (fo.sin(x) / x - fo.cos(x)) / x)


def _spherical_reference(order: int) -> Function:
    def fun(x: np.ndarray) -> np.ndarray:
        from scipy import special as sp

        return sp.spherical_jn(order, x)

    return wide_reference(fun)


spherical_bessel_j0 = special(
    "spherical_bessel_j0",
    _vanishing(_spherical_j0),
    _spherical_reference(0),
    lambda t, out, x: neg(mul(t, spherical_bessel_j1(x))),
)
spherical_bessel_j1: Wrapper = special(
    "spherical_bessel_j1",
    _vanishing(_spherical_j1),
    _spherical_reference(1),
    lambda t, out, x: mul(t, sub(spherical_bessel_j0(x), _over_x(mul(out, 2.0), x, 1 / 3))),
)

# ---- Airy ----------------------------------------------------------------------------------------

_Z2, _Z6 = 2 / 3 * 2**1.5, 2 / 3 * 6**1.5


def _airy_pieces(
    x: Numeric,
    negative: tuple[float, ...],
    small: tuple[float, ...],
    large: tuple[float, ...],
    u: tuple[float, ...],
    v: tuple[float, ...],
) -> tuple[Numeric, ...]:
    """The series of the four intervals: (middle, decaying, U, V/z, cos w, sin w, |x|^(1/4))."""
    root = fo.sqrt(abs(x))
    z = root * abs(x) * (2 / 3)
    middle = fo.where(x < 0, series(x * (1 / 3) + 1, negative), series(x - 1, small))
    decaying = series(2 * _Z2 / z - 1, large) * fo.exp(-z) * (0.5 / math.sqrt(math.pi))
    t = 2 * _Z6**2 / (z * z) - 1
    c, s, scale = fo.cos(z), fo.sin(z), 1 / math.sqrt(2 * math.pi)
    return (middle, decaying, series(t, u), series(t, v) / z, (c + s) * scale, (s - c) * scale, fo.sqrt(root))


def _airy_ai(x: Numeric) -> Numeric:
    middle, decaying, u, v, c, s, quarter = _airy_pieces(
        x, tables.AI_NEGATIVE, tables.AI_SMALL, tables.AI_LARGE, tables.AI_U, tables.AI_V
    )
    return fo.where(x < -6, (c * u + s * v) / quarter, fo.where(x < 2, middle, decaying / quarter))


def _airy_ai_prime(x: Numeric) -> Numeric:
    middle, decaying, u, v, c, s, quarter = _airy_pieces(
        x, tables.AIP_NEGATIVE, tables.AIP_SMALL, tables.AIP_LARGE, tables.AIP_U, tables.AIP_V
    )
    return fo.where(x < -6, (s * u - c * v) * quarter, fo.where(x < 2, middle, decaying * quarter))


def _airy_reference(which: int, formula: Function) -> Function:
    """scipy's, and the formula beyond |x| = 100, where scipy gives NaN sooner or later."""

    def fun(x: np.ndarray) -> np.ndarray:
        from scipy import special as sp

        return np.where(np.abs(x) > 100, formula(x), sp.airy(x)[which])

    return wide_reference(fun)


airy_ai = special("airy_ai", _airy_ai, _airy_reference(0, _airy_ai), lambda t, out, x: mul(t, airy_ai_prime(x)))
airy_ai_prime: Wrapper = special(
    "airy_ai_prime", _airy_ai_prime, _airy_reference(1, _airy_ai_prime), lambda t, out, x: mul(t, mul(x, airy_ai(x)))
)
