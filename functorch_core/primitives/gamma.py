"""The gamma function's family: log-gamma, polygamma, Hurwitz zeta, incomplete gamma and beta."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.types import Function, Jvp, Tangents, Value
from . import formula as fo
from . import special_tables as tables
from .arithmetic import add, mul, neg, sub
from .comparison import eq, select
from .declare import (
    NOT_LINEAR,
    Primitive,
    Reason,
    Wrapper,
    aval_of,
    bind,
    elementwise_batch,
    elementwise_shape,
    operand_like,
    same_dtype,
    unary,
    wrapper,
)
from .formula import Numeric
from .scipy_functions import scipy_function
from .special import FLOATS, SPECIAL, at_least_float32, in_float64, scipy_reference, wide_reference
from .structure import full
from .transcendental import exp, log, log1p

# ---- declaring -----------------------------------------------------------------------------------


def _several(
    name: str, formula: Function, reference: Function | str, derivatives: tuple[Function | Reason, ...]
) -> Wrapper:
    """Declare an elementwise special function of several operands; it computes in float64.

    For each operand: derivative(t, out, *operands), None for "no dependence", or a Reason.
    """

    def apply(*operands: Value) -> Value:
        like = next(x for x in operands if not isinstance(x, (int, float)))
        return bind(primitive, *[operand_like(x, like) for x in operands])

    def jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
        out, total = apply(*primals), None
        for i, (t, derivative) in enumerate(zip(tangents, derivatives, strict=True)):
            if t is None or derivative is None:
                continue
            if isinstance(derivative, Reason):
                raise NotImplementedError(f"{name} has no derivative by operand {i}: {derivative}")
            term = mul(t, derivative(out, *primals))
            total = term if total is None else add(total, term)
        return out, total

    primitive = Primitive(
        name,
        traits=SPECIAL,
        shape=elementwise_shape(name, FLOATS, "floating (not float8)", same_dtype),
        reference=scipy_reference(reference) if isinstance(reference, str) else reference,
        lower=fo.lowered(formula, in_float64),
        jvp=jvp,
        transpose=NOT_LINEAR,
        batch=elementwise_batch(apply),
    )
    which = f"{len(derivatives)} floating arrays of one shape and dtype (or Python scalars)"
    return wrapper(primitive, apply, f"Elementwise {name} of {which}.")


# ---- zeta, polygamma -----------------------------------------------------------------------------
# Hurwitz's zeta by Euler-Maclaurin summation (DLMF 25.11.5): terms until q + k > 9, nine at least,
# then the integral and its corrections. chlo.zeta is 2e-5 off at q = -7.5, in both precisions.

_BERNOULLI = (  # B(2j) / (2j)!
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)
_LOWEST_Q = -1e5  # that many terms at most; below it NaN


def _zeta_step(k: Numeric, s: Numeric, q: Numeric, total: Numeric) -> tuple[Numeric, ...]:
    active = (q <= 9) | (k <= 9)
    total = fo.where(active, total + q ** (-s), total)
    q = fo.where(active, q + 1, q)
    return s, q, total, (q <= 9) | (k < 9)


def _zeta(s: Numeric, q: Numeric) -> Numeric:
    q = fo.where(q < _LOWEST_Q, math.nan, q)
    _, q, total = fo.iterate(_zeta_step, (s, q, 0.0), limit=110_000)
    order = fo.where(s < 1000, s, 1000.0)  # beyond, the correction is 0 and its factors overflow
    factor, correction = order / q, 0.5
    for j, b in enumerate(_BERNOULLI):
        correction = factor * b + correction
        factor = factor * ((order + (2 * j + 1)) / q) * ((order + (2 * j + 2)) / q)
    total = total + q ** (1 - s) / (s - 1) + q ** (-s) * correction
    return fo.where(s < 1, math.nan, fo.where(fo.equals(s, 1), math.inf, total))


def _polygamma(n: Numeric, x: Numeric) -> Numeric:
    n = fo.where((n < 0) | (fo.floor(n) < n), math.nan, n)
    size = fo.exp(fo.lgamma(n + 1)) * _zeta(n + 1, x)
    even = fo.equals(fo.floor(n * 0.5) * 2, n)
    return fo.where(fo.equals(n, 0), _digamma(x), fo.where(even, -size, size))


def _zeta_reference(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    return scipy_function("zeta")(s, np.where(q < _LOWEST_Q, np.nan, q))


def _polygamma_reference(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    gamma, psi = scipy_function("gamma"), scipy_function("psi")
    whole = np.where((n >= 0) & (np.floor(n) == n), n, np.nan)
    higher = (-1.0) ** (whole + 1) * gamma(whole + 1) * _zeta_reference(whole + 1, x)
    return np.where(whole == 0, psi(x), higher)


_ORDER = Reason("the order of zeta and polygamma is a parameter; differentiate by the last operand")

zeta: Wrapper = _several(
    "zeta", _zeta, wide_reference(_zeta_reference), (_ORDER, lambda out, s, q: neg(mul(s, zeta(add(s, 1.0), q))))
)

polygamma: Wrapper = _several(
    "polygamma", _polygamma, wide_reference(_polygamma_reference), (_ORDER, lambda out, n, x: polygamma(add(n, 1.0), x))
)

# ---- lgamma, digamma -----------------------------------------------------------------------------


def _digamma(x: Numeric) -> Numeric:
    return fo.where(fo.equals(x, 0), -1 / x, fo.digamma(x))  # -inf at +0, inf at -0; chlo: NaN


def _lgamma_reference(x: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(x), np.inf, scipy_function("gammaln")(x))  # scipy: -inf at -inf


lgamma = unary(
    "lgamma",
    fo.lowered(fo.lgamma, at_least_float32),
    wide_reference(_lgamma_reference),
    dtypes=FLOATS,
    what="floating (not float8)",
    traits=SPECIAL,
    derivative=lambda t, out, x: mul(t, digamma(x)),
)

digamma: Wrapper = unary(
    "digamma",
    fo.lowered(_digamma, at_least_float32),
    scipy_reference("psi"),
    dtypes=FLOATS,
    what="floating (not float8)",
    traits=SPECIAL,
    derivative=lambda t, out, x: mul(t, trigamma(x)),
)

# ---- trigamma ------------------------------------------------------------------------------------
# polygamma(1, x) by ten steps of the recurrence, then the asymptotic series (DLMF 5.15.1, 5.15.8); below 1/2 by
# reflection (5.15.6). 512 x 512 float32: 1.2 ms for 13 by zeta's loop, by NumPy 8 for 43.

_STEPS = 10
_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)  # B(2) to B(16)
_SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12))  # of pi f, |f| <= 1/2


def _trigamma(x: Numeric) -> Numeric:
    low = x < 0.5
    z = fo.where(low, 1 - x, x)
    near = z < _STEPS
    first, total = fo.where(near, z, math.inf), 0.0
    for k in range(_STEPS):
        total = total + 1 / ((first + k) * (first + k))
    inverse = 1 / fo.where(near, z + _STEPS, z)
    square = inverse * inverse
    total = total + inverse + square * (0.5 + inverse * fo.polynomial(square, _SERIES))
    fraction = x - fo.floor(x + 0.5)
    sine = fraction * fo.polynomial(fraction * fraction, _SINE)
    return fo.where(low, math.pi**2 / (sine * sine) - total, total)


def _trigamma_derivative(t: Value, out: Value, x: Value) -> Value:
    a = aval_of(x)
    return mul(t, polygamma(full(a.shape, 2, a.dtype), x))


trigamma: Wrapper = unary(
    "trigamma",
    fo.lowered(_trigamma, in_float64),
    wide_reference(_trigamma),
    dtypes=FLOATS,
    what="floating (not float8)",
    traits=SPECIAL,
    derivative=_trigamma_derivative,
)


# ---- incomplete gamma: the pieces ----------------------------------------------------------------
# With mu = x/a - 1 and D = x^a e^-x / Gamma(a + 1):
#   a >= 32, |mu| < 0.3: Temme's uniform expansion (DLMF 8.12.3, 8.12.4, 8.12.8)
#   else x > max(a, 1):  Q = D a / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))  (DLMF 8.9.2)
#   else:                P = D (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...)  (DLMF 8.11.4)
# Elements outside a region take part in its loop with values for which it ends at once.

EPS = 2.0**-53


def _stirling(a: Numeric) -> Numeric:
    """log of Gamma(a) / (sqrt(2 pi / a) (a/e)^a), for a >= 10."""
    inverse = 1 / a
    return fo.polynomial(inverse * inverse, tables.STIRLING) * inverse


def _phi(ratio: Numeric) -> Numeric:
    """mu - log(1 + mu) for mu = ratio - 1, without cancellation near 0."""
    mu = ratio - 1
    near = abs(mu) < 0.3
    close = mu * mu * fo.chebyshev(fo.where(near, mu, 0.0) * (1 / 0.3), tables.LOG1PMX)
    return fo.where(near, close, mu - fo.log(ratio))


def _density(a: Numeric, x: Numeric) -> Numeric:
    """D = x^a e^-x / Gamma(a + 1)."""
    small_a = fo.where(a < 10, a, 10.0)
    bounded = fo.where(x < 1e4, x, 1e4)  # e^-x is 0 long before
    small = bounded**small_a * fo.exp(-bounded) / fo.exp(fo.lgamma(small_a + 1))
    large_a = fo.where(a < 10, 10.0, a)
    exponent = large_a * _phi(x / large_a) + _stirling(large_a)
    large = fo.exp(-exponent) / fo.sqrt(large_a * (2 * math.pi))
    return fo.where(a < 10, small, large)


def _regions(a: Numeric, x: Numeric) -> tuple[Numeric, ...]:
    """Where Temme's expansion, and where the continued fraction is used."""
    temme = (a >= 32) & (abs(x - a) < 0.3 * a)
    fraction = (x > a) & (x > 1) & ~temme
    return temme, fraction


def _still(term: Numeric, total: Numeric) -> Numeric:
    """Whether a term still matters, its derivative included where it has one."""
    busy = abs(fo.value_of(term)) > abs(fo.value_of(total)) * EPS
    if isinstance(term, fo.Dual):
        busy = busy | (abs(term.dot) > abs(total.dot) * EPS)
    return busy


def _refine(h: Numeric, change: Numeric) -> tuple[Numeric, ...]:
    """(h times change, whether it still matters), for Lentz's method.

    What has converged stays: a product with 1 + eps for as long as the slowest element takes
    would drift (600 eps were seen).
    """
    busy = abs(fo.value_of(change) - 1) > 4 * EPS
    if isinstance(change, fo.Dual):
        busy = busy | (abs(change.dot) > 4 * EPS)
    return fo.where(busy, h * change, h), busy


def _series_step(k: Numeric, a: Numeric, x: Numeric, term: Numeric, total: Numeric) -> tuple[Numeric, ...]:
    term = term * x / (a + k)
    total = total + term
    return a, x, term, total, _still(term, total)


def _series(a: Numeric, x: Numeric) -> Numeric:
    """P / D by the power series."""
    one = x * 0 + 1
    one = fo.Dual(one, x * 0) if isinstance(a, fo.Dual) else one
    return fo.iterate(_series_step, (a, x, one, one), limit=2000)[3]


def _fraction_step(k: Numeric, a: Numeric, b: Numeric, c: Numeric, d: Numeric, h: Numeric) -> tuple[Numeric, ...]:
    numerator = (a - k) * k
    b = b + 2
    d = 1 / (numerator * d + b)
    c = b + numerator / c
    return a, b, c, d, *_refine(h, c * d)


def _fraction(a: Numeric, x: Numeric) -> Numeric:
    """Q / (D a) by Lentz's method (Thompson and Barnett, J. Comput. Phys. 64, 1986)."""
    b = x + 1 - a
    start = b * 0 + 1e300
    return fo.iterate(_fraction_step, (a, b, start, 1 / b, 1 / b), limit=2000)[4]


def _temme(a: Numeric, x: Numeric) -> tuple[Numeric, ...]:
    """(a phi, y, R) for 2 Q = erfc(y) + 2 e^(-a phi) R, y = +- sqrt(a phi)."""
    mu = (x - a) / a
    ratio = fo.chebyshev(mu * (1 / 0.3), tables.LOG1PMX)
    eta = mu * fo.sqrt(ratio * 2)
    inner = [fo.polynomial(eta, getattr(tables, f"TEMME_{k}")) for k in range(10)]
    total = inner[-1]
    for c in inner[-2::-1]:
        total = total / a + c
    return mu * mu * ratio * a, eta * fo.sqrt(a * 0.5), total / fo.sqrt(a * (2 * math.pi))


# ---- igamma, igammac -----------------------------------------------------------------------------


def _small_q_step(k: Numeric, a: Numeric, x: Numeric, power: Numeric, total: Numeric) -> tuple[Numeric, ...]:
    power = power * x / -k
    term = power / (a + k)
    total = total + term
    return a, x, power, total, _still(term, total)


def _small_q(a: Numeric, x: Numeric) -> Numeric:
    """Q for a < 1/2, x <= 1, where 1 - P would cancel: 1 - x^a / Gamma(1 + a) apart."""
    *_, total = fo.iterate(_small_q_step, (a, x, x * 0 + 1, x * 0), limit=40)
    exponent = a * fo.log(x) - a * fo.chebyshev(a * 2, tables.LGAM1P)
    return -fo.expm1(exponent) - fo.exp(exponent) * a * total


def _incomplete(a: Numeric, x: Numeric) -> tuple[Numeric, ...]:
    """(P, Q) for a > 0, 0 < x < inf."""
    temme, fraction = _regions(a, x)
    density, plain = _density(a, x), ~temme & ~fraction
    p = density * _series(fo.where(plain, a, 1.0), fo.where(plain, x, 0.0))
    tiny = plain & (a < 0.5) & (x <= 1)
    q = fo.where(tiny, _small_q(fo.where(tiny, a, 0.25), fo.where(tiny, x, 0.5)), 1 - p)
    tail = density * a * _fraction(fo.where(fraction, a, 1.0), fo.where(fraction, x, 2.0))
    p, q = fo.where(fraction, 1 - tail, p), fo.where(fraction, tail, q)
    exponent, y, rest = _temme(fo.where(temme, a, 32.0), fo.where(temme, x, 32.0))
    rest = fo.exp(-exponent) * rest
    return (fo.where(temme, 0.5 * fo.erfc(-y) - rest, p), fo.where(temme, 0.5 * fo.erfc(y) + rest, q))


def _guarded(a: Numeric, x: Numeric, out: Numeric, at_zero: float, at_infinity: float) -> Numeric:
    """`out` with the limits at the border of the domain; NaN outside and where both limits meet."""
    low, high = fo.equals(x, 0) | fo.equals(a, math.inf), fo.equals(x, math.inf) | fo.equals(a, 0)
    out = fo.where(low, at_zero, fo.where(high, at_infinity, out))
    return fo.where((low & high) | ~((a >= 0) & (x >= 0)), math.nan, out)


def _inside(a: Numeric, x: Numeric) -> tuple[Numeric, ...]:
    """The operands where they are in the open domain, harmless ones elsewhere."""
    inside = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    return fo.where(inside, a, 1.0), fo.where(inside, x, 1.0)


def _igamma(a: Numeric, x: Numeric) -> Numeric:
    return _guarded(a, x, _incomplete(*_inside(a, x))[0], 0.0, 1.0)


def _igammac(a: Numeric, x: Numeric) -> Numeric:
    return _guarded(a, x, _incomplete(*_inside(a, x))[1], 1.0, 0.0)


def _gamma_density(a: Value, x: Value) -> Value:
    """x^(a-1) e^-x / Gamma(a), written with primitives; (a-1) log 0 is kept finite."""
    v = aval_of(x)
    tiny = full(v.shape, float(np.finfo(np.float32).tiny), v.dtype)
    logarithm = log(select(eq(x, 0.0), tiny, x))
    return exp(sub(mul(sub(a, 1.0), logarithm), add(x, lgamma(a))))


igamma = _several(
    "igamma", _igamma, "gammainc", (lambda out, a, x: igamma_grad_a(a, x), lambda out, a, x: _gamma_density(a, x))
)

igammac = _several(
    "igammac",
    _igammac,
    "gammaincc",
    (lambda out, a, x: neg(igamma_grad_a(a, x)), lambda out, a, x: neg(_gamma_density(a, x))),
)

# ---- the derivative by a -------------------------------------------------------------------------
# The same series, fraction and expansion, on dual numbers.


def _slope(a: Numeric, x: Numeric) -> Numeric:
    """dP/da / D for a > 0, 0 < x < inf."""
    temme, fraction = _regions(a, x)
    plain = ~temme & ~fraction
    log_slope = fo.log(x) - fo.digamma(a + 1)  # d log D / da
    s = _series(_moving(fo.where(plain, a, 1.0)), fo.where(plain, x, 0.0))
    f = _moving(a) * _fraction(_moving(fo.where(fraction, a, 1.0)), fo.where(fraction, x, 2.0))
    out = fo.where(fraction, -(log_slope * f.value + f.dot), log_slope * s.value + s.dot)
    a = fo.where(temme, a, 32.0)
    exponent, y, rest = _temme(_moving(a), fo.where(temme, x, 32.0))
    q = -y.dot * (1 / math.sqrt(math.pi)) - exponent.dot * rest.value + rest.dot
    return fo.where(temme, -q * fo.sqrt(a * (2 * math.pi)) * fo.exp(_stirling(a)), out)


def _moving(a: Numeric) -> Numeric:
    """The dual of the variable that is differentiated by."""
    return fo.Dual(a, a * 0 + 1)


def _igamma_grad_a(a: Numeric, x: Numeric) -> Numeric:
    inside = _inside(a, x)
    return _guarded(a, x, _density(*inside) * _slope(*inside), 0.0, 0.0)


def _random_gamma_grad(a: Numeric, sample: Numeric) -> Numeric:
    a_in, x = _inside(a, sample)
    return _guarded(a, sample, -x / a_in * _slope(a_in, x), 0.0, math.inf)


_SECOND = Reason("it is a first derivative already, and its own is not known in closed form")

igamma_grad_a: Wrapper = _several(
    "igamma_grad_a",
    _igamma_grad_a,
    wide_reference(_igamma_grad_a),
    (_SECOND, lambda out, a, x: mul(_gamma_density(a, x), sub(log(x), digamma(a)))),
)

random_gamma_grad = _several(
    "random_gamma_grad", _random_gamma_grad, wide_reference(_random_gamma_grad), (_SECOND, _SECOND)
)

# ---- betainc -------------------------------------------------------------------------------------
# I = W g, W = x^a (1-x)^b / B(a, b), g a continued fraction (DLMF 8.17.22), on the side of the mean
# where it converges; I(a, b, x) = 1 - I(b, a, 1 - x) on the other. At the mean it takes about
# sqrt(a) / 10 steps: 2,300 for a = b = 1e8. Beyond 1e10 the answer is NaN.

_LARGEST = 1e10


def _log_weight(a: Numeric, b: Numeric, x: Numeric, y: Numeric) -> Numeric:
    """log of x^a y^b / B(a, b); the large parts of the logarithms cancel in closed form."""
    low, high = fo.where(a < b, a, b), fo.where(a < b, b, a)
    big, mid = fo.where(high < 10, 10.0, high), fo.where(low < 10, 10.0, low)
    powers = a * fo.log(x) + b * fo.log(y)
    small = powers + fo.lgamma(a + b) - fo.lgamma(a) - fo.lgamma(b)
    shift = _stirling(low + big) - _stirling(big)
    mixed = powers - fo.lgamma(low) + low * (fo.log(low + big) - 1) + (big - 0.5) * fo.log1p(low / big) + shift
    gap = x * b - y * a
    central = (
        a * fo.log1p(gap / a)
        + b * fo.log1p(-gap / b)
        + 0.5 * fo.log(mid / (mid + big) * big * (0.5 / math.pi))
        + _stirling(mid + big)
        - _stirling(mid)
        - _stirling(big)
    )
    return fo.where(high < 10, small, fo.where(low < 10, mixed, central))


def _beta_step(
    k: Numeric, a: Numeric, b: Numeric, x: Numeric, c: Numeric, d: Numeric, h: Numeric
) -> tuple[Numeric, ...]:
    twice = a + 2 * k
    even = (b - k) * k * x / ((twice - 1) * twice)
    d, c = 1 / (even * d + 1), even / c + 1
    first = d * c
    odd = -(a + k) * (a + b + k) * x / (twice * (twice + 1))
    d, c = 1 / (odd * d + 1), odd / c + 1
    return a, b, x, c, d, *_refine(h, first * (d * c))


def _beta_fraction(a: Numeric, b: Numeric, x: Numeric) -> Numeric:
    """g: I / W by Lentz's method."""
    d = 1 / (1 - (a + b) * x / (a + 1))
    one = d * 0 + 1
    return fo.iterate(_beta_step, (a, b, x, one, d, d), limit=20_000)[5] / a


def _beta_sides(a: Numeric, b: Numeric, x: Numeric) -> tuple[Numeric, ...]:
    """(swapped, a, b, x) with a and b exchanged and x reflected beyond the mean."""
    swapped = x > (a + 1) / (a + b + 2)
    return swapped, fo.where(swapped, b, a), fo.where(swapped, a, b), fo.where(swapped, 1 - x, x)


def _beta_inside(a: Numeric, b: Numeric, x: Numeric) -> tuple[Numeric, ...]:
    inside = _beta_proper(a, b) & (x > 0) & (x < 1)
    return fo.where(inside, a, 1.0), fo.where(inside, b, 1.0), fo.where(inside, x, 0.5)


def _beta_proper(a: Numeric, b: Numeric) -> Numeric:
    return (a > 0) & (b > 0) & (a <= _LARGEST) & (b <= _LARGEST)


def _beta_guarded(a: Numeric, b: Numeric, x: Numeric, out: Numeric, at_one: float) -> Numeric:
    out = fo.where(fo.equals(x, 0), 0.0, fo.where(fo.equals(x, 1), at_one, out))
    return fo.where(_beta_proper(a, b) & (x >= 0) & (x <= 1), out, math.nan)


def _betainc(a: Numeric, b: Numeric, x: Numeric) -> Numeric:
    ia, ib, ix = _beta_inside(a, b, x)
    weight = fo.exp(_log_weight(ia, ib, ix, 1 - ix))
    swapped, *operands = _beta_sides(ia, ib, ix)
    part = weight * _beta_fraction(*operands)
    return _beta_guarded(a, b, x, fo.where(swapped, 1 - part, part), 1.0)


def _betainc_grad_a(a: Numeric, b: Numeric, x: Numeric) -> Numeric:
    ia, ib, ix = _beta_inside(a, b, x)
    weight = fo.exp(_log_weight(ia, ib, ix, 1 - ix))
    log_slope = fo.log(ix) - fo.digamma(ia) + fo.digamma(ia + ib)
    swapped, sa, sb, sx = _beta_sides(ia, ib, ix)
    moves = fo.where(swapped, ia * 0, 1.0)
    g = _beta_fraction(fo.Dual(sa, moves), fo.Dual(sb, 1 - moves), fo.Dual(sx, sx * 0))
    slope = weight * (log_slope * g.value + g.dot)
    return _beta_guarded(a, b, x, fo.where(swapped, -slope, slope), 0.0)


def _betainc_reference(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(_beta_proper(a, b), scipy_function("betainc")(a, b, x), np.nan)


def _beta_density(out: Value, a: Value, b: Value, x: Value) -> Value:
    """x^(a-1) (1-x)^(b-1) / B(a, b), written with primitives."""
    powers = add(mul(sub(a, 1.0), log(x)), mul(sub(b, 1.0), log1p(neg(x))))
    return exp(add(powers, sub(lgamma(add(a, b)), add(lgamma(a), lgamma(b)))))


def _beta_grad_x(out: Value, a: Value, b: Value, x: Value) -> Value:
    slope = add(sub(log(x), digamma(a)), digamma(add(a, b)))
    return mul(_beta_density(out, a, b, x), slope)


betainc = _several(
    "betainc",
    _betainc,
    wide_reference(_betainc_reference),
    (
        lambda out, a, b, x: betainc_grad_a(a, b, x),
        lambda out, a, b, x: neg(betainc_grad_a(b, a, sub(1.0, x))),
        _beta_density,
    ),
)

betainc_grad_a: Wrapper = _several(
    "betainc_grad_a", _betainc_grad_a, wide_reference(_betainc_grad_a), (_SECOND, _SECOND, _beta_grad_x)
)


# ---- the derivative of a coordinate of a Dirichlet vector ----------------------------------------


def _random_dirichlet_grad(a: Numeric, b: Numeric, x: Numeric) -> Numeric:
    """-dI/da / (x^(a-1) (1-x)^b / B(a, b)): W, which both hold, is left out."""
    ia, ib, ix = _beta_inside(a, b, x)
    log_slope = fo.log(ix) - fo.digamma(ia) + fo.digamma(ia + ib)
    swapped, sa, sb, sx = _beta_sides(ia, ib, ix)
    moves = fo.where(swapped, ia * 0, 1.0)
    g = _beta_fraction(fo.Dual(sa, moves), fo.Dual(sb, 1 - moves), fo.Dual(sx, sx * 0))
    slope = ix * (log_slope * g.value + g.dot)
    at_one = (fo.digamma(ia + ib) - fo.digamma(ia)) / ib
    return _beta_guarded(a, b, x, fo.where(swapped, slope, -slope), at_one)


random_dirichlet_grad = _several(
    "random_dirichlet_grad", _random_dirichlet_grad, wide_reference(_random_dirichlet_grad), (_SECOND, _SECOND, _SECOND)
)
