"""Special functions around the error function, and what all special functions share."""

from __future__ import annotations

import math

import numpy as np

from ..core import dtypes as dt
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Traits
from ..core.types import Function, Value
from . import formula as fo
from . import special_tables as tables
from .arithmetic import div, mul, neg, sub
from .declare import ELEMENTWISE, Wrapper, unary
from .formula import Numeric
from .scipy_functions import scipy_function
from .structure import held
from .transcendental import exp

SPECIAL = ELEMENTWISE.but(family="special", numpy=12, expensive=True)

FLOATS = dt.FLOATING - dt.FLOAT8

# ---- declaring -----------------------------------------------------------------------------------


def at_least_float32(dtype: np.dtype) -> np.dtype:
    """The dtype a formula computes in: half precision is too coarse for any of them."""
    return dt.float64 if dtype == dt.float64 else dt.float32


def in_float64(dtype: np.dtype) -> np.dtype:
    """For formulas that amplify rounding (x^a e^-x, long sums): 53 bits give a true float32."""
    return dt.float64


def wide_reference(fun: Function) -> Function:
    """A NumPy function computed in float64, whatever floats come."""

    def rule(*arrays: np.ndarray) -> np.ndarray:
        return fun(*[a.astype(np.float64) for a in arrays]).astype(arrays[0].dtype)

    return rule


def scipy_reference(name: str) -> Function:
    """scipy.special's function of this name, imported when first used."""

    def fun(*arrays: np.ndarray) -> np.ndarray:
        return np.asarray(scipy_function(name)(*arrays))

    return wide_reference(fun)


def special(
    name: str,
    formula: Function,
    reference: str | Function,
    derivative: Function | None = None,
    *,
    lower: Function | None = None,
    traits: Traits = SPECIAL,
) -> Wrapper:
    """Declare an elementwise special function of one operand by its formula."""
    return unary(
        name,
        lower or fo.lowered(formula, at_least_float32),
        scipy_reference(reference) if isinstance(reference, str) else reference,
        dtypes=FLOATS,
        what="floating (not float8)",
        derivative=derivative,
        traits=traits,
    )


def series(t: Numeric, table: tuple[float, ...]) -> Numeric:
    """A Chebyshev series with as many terms as t's dtype can use."""
    return fo.chebyshev(t, fo.needed(table, t.dtype))


# ---- error function ------------------------------------------------------------------------------

SQRT2 = math.sqrt(2)
TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gaussian(x: Value, scale: float) -> Value:
    """scale e^(-x^2), written with primitives."""
    return mul(exp(neg(mul(x, x))), scale)


# erf(x) / x, the quotient of two polynomials in x^2 for |x| up to ERF_END, off by 2e-9 of itself (a fit with the
# weights of its errors, iterated); beyond, erf is 1 in float32. 153,600 numbers take 0.5 ms, scipy's function of
# float64 1.4 to 2.7; results are at most 0.53 units in the last place of float32 from it.
ERF_END, ERF_MANY, ERF_PIECE = 3.92, 1 << 14, 1 << 15
ERF_ABOVE = (
    1.12837916914, 0.185136185234, 0.0542440066138, 0.00383864653022, 0.000376755454166, 4.60912018519e-06,
    -1.27992779817e-08,
)  # fmt: skip
ERF_BELOW = (1.0, 0.497406078428, 0.113874045943, 0.015430083964, 0.00130152501567, 6.23980976223e-05)


def _polynomial(coefficients: tuple[float, ...], t: np.ndarray) -> np.ndarray:
    """By Horner's rule, in one array."""
    last, *others = reversed(coefficients)
    out = t * last
    for c in others[:-1]:
        out += c
        out *= t
    out += others[-1]
    return out


def _erf_reference(x: np.ndarray) -> np.ndarray:
    if x.dtype == dt.float64 or x.size < ERF_MANY:
        return _scipy_erf(x)
    flat, out = x.reshape(-1), np.empty(x.size, x.dtype)
    for i in range(0, flat.size, ERF_PIECE):
        part = np.clip(flat[i : i + ERF_PIECE].astype(np.float64), -ERF_END, ERF_END)
        square = part * part
        part *= _polynomial(ERF_ABOVE, square)
        part /= _polynomial(ERF_BELOW, square)
        out[i : i + ERF_PIECE] = part
    return out.reshape(x.shape)


_scipy_erf = scipy_reference("erf")


def _erf_lower(ctx: LowerContext, x: Operand) -> Operand:
    ctx.root.features.add("erf")
    return fo.lowered(fo.erf, at_least_float32)(ctx, x)


erf = special(
    "erf",
    fo.erf,
    _erf_reference,
    lambda t, out, x: mul(t, _gaussian(x, TWO_OVER_SQRT_PI)),
    lower=_erf_lower,
    traits=SPECIAL.but(numpy=3, compiled=0.12),
)

erfc = special("erfc", fo.erfc, "erfc", lambda t, out, x: mul(t, _gaussian(x, -TWO_OVER_SQRT_PI)))

# ---- erfcx ---------------------------------------------------------------------------------------
# e^(x^2) erfc(x); a Chebyshev series of (1 + 2x) erfcx(x) in (x - 4)/(x + 4) for x >= 0 (the
# mapping is that of Shepherd and Laframboise, Math. Comp. 36, 1981), reflection for x < 0.


def _exp_square(x: Numeric) -> Numeric:
    """e^(x^2) for x >= 0: the square is split, as its rounding would be multiplied by x^2.

    Not as e^u e^v, which XLA turns back into e^(u + v).
    """
    x = fo.where(x < 27.0, x, 27.0)  # e^729 is infinite
    head = fo.floor(x * 16) * 0.0625
    main, rest = fo.exp(head * head), (x - head) * (x + head)
    return main + fo.where(rest > 0, main * fo.expm1(rest), 0.0)


def _erfcx_positive(x: Numeric) -> Numeric:
    return series(1 - 8 / (x + 4), tables.ERFCX) / (1 + 2 * x)


def _erfcx(x: Numeric) -> Numeric:
    size = abs(x)
    positive = _erfcx_positive(size)
    return fo.where(x < 0, 2 * _exp_square(size) - positive, positive)


erfcx = special("erfcx", _erfcx, "erfcx", lambda t, out, x: mul(t, sub(mul(mul(x, out), 2.0), TWO_OVER_SQRT_PI)))

# ---- erf_inv, ndtri ------------------------------------------------------------------------------
# The quantile of the normal distribution. In the middle chlo.erf_inv, which loses digits from
# |x| = 0.75 on (1e-10 off in float64 at 1 - 1e-8: it forms 1 - x^2 from the rounded square). In the
# tails a series of r + x in log r, where the tail's probability is e^(-r^2/2).

_chlo_erf_inv = fo.unary_function("chlo.erf_inv", None)
_LOG_NEAR, _LOG_6, _LOG_FAR = math.log(math.sqrt(2 * math.log(8))), math.log(6), math.log(38.7)


def _on_interval(x: Numeric, low: float, high: float) -> Numeric:
    """x mapped from [low, high] to [-1, 1]."""
    return (x - (low + high) / 2) * (2 / (high - low))


def _upper_quantile(tail: Numeric) -> Numeric:
    """The x > 0 above which a normal number lies with this probability, at most 1/8."""
    r = fo.sqrt(-2 * fo.log(tail))
    v = fo.log(r)
    near = series(_on_interval(v, _LOG_NEAR, _LOG_6), tables.NDTRI_NEAR)
    far = series(_on_interval(v, _LOG_6, _LOG_FAR), tables.NDTRI_FAR)
    return fo.where(fo.equals(tail, 0), math.inf, r - fo.where(r < 6.0, near, far))


def _quantile(x: Numeric, tail: Numeric) -> Numeric:
    """The quantile at (1 + x)/2, given min((1 + x)/2, (1 - x)/2) exactly."""
    middle = abs(x) < 0.75
    near = _chlo_erf_inv(fo.where(middle, x, 0.0)) * SQRT2
    far = _upper_quantile(tail)
    return fo.where(middle, near, fo.where(x < 0, -far, far))


def _erf_inv(x: Numeric) -> Numeric:
    return _quantile(x, (1 - abs(x)) * 0.5) * (1 / SQRT2)


def _ndtri(p: Numeric) -> Numeric:
    return _quantile(2 * p - 1, fo.where(p < 0.5, p, 1 - p))


def _erf_inv_derivative(t: Value, out: Value, x: Value) -> Value:
    return mul(t, mul(exp(mul(out, out)), 1 / TWO_OVER_SQRT_PI))


def _ndtri_derivative(t: Value, out: Value, p: Value) -> Value:
    return mul(t, mul(exp(mul(mul(out, out), 0.5)), math.sqrt(2 * math.pi)))


erf_inv = special("erf_inv", _erf_inv, "erfinv", _erf_inv_derivative)
ndtri = special("ndtri", _ndtri, "ndtri", _ndtri_derivative)


def _of_drawn(ctx: LowerContext, x: Operand) -> Operand:
    out = fo.lowered(_chlo_erf_inv, at_least_float32)(ctx, x)
    return held(ctx, out) if ctx.platform == "cpu" else out


# erf_inv of numbers that were drawn, which are known to 2^-23 only: without the tails' own series (6e-6 of a number's
# size off), 64 x 576 normal numbers take 270 us with it and 160 without. The barrier has them drawn once, not in
# each loop that reads them: the step of an autoencoder drew 64 x 8 numbers twice, in 78 us for 25.
erf_inv_of_drawn = special("erf_inv_of_drawn", _chlo_erf_inv, "erfinv", _erf_inv_derivative, lower=_of_drawn)

# ---- log_ndtr ------------------------------------------------------------------------------------


def _log_ndtr(x: Numeric) -> Numeric:
    scaled = x * (1 / SQRT2)
    far = fo.log(_erfcx_positive(abs(scaled)) * 0.5) - scaled * scaled
    return fo.where(x < -1.0, far, fo.log1p(fo.erfc(scaled) * -0.5))


def _log_ndtr_derivative(t: Value, out: Value, x: Value) -> Value:
    # density / probability; the factors e^(-x^2/2) of both are cancelled
    return mul(t, div(math.sqrt(2 / math.pi), erfcx(mul(x, -1 / SQRT2))))


log_ndtr = special("log_ndtr", _log_ndtr, "log_ndtr", _log_ndtr_derivative)
