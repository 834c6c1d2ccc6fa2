"""The hypergeometric functions 1F1 and 2F1 of real arguments, by series and transformations."""

from __future__ import annotations

import functools
import math

import functorch_core as fc

from ..array.compose import composed
from .integrals import with_derivative

function = functools.partial(composed, space="fc.scipy.special", inexact=True)

MOST_TERMS = 4000


def _summed(ratio, like, slopes: int):
    """The sum of the series with term[k + 1] = term[k] * ratio(k), and its derivatives.

    ratio(k) gives the ratio and its logarithmic derivatives by so many parameters.
    """
    eps = float(fc.finfo(like.dtype).eps) / 16
    zero, one = fc.zeros_like(like), fc.ones_like(like)

    def unfinished(state):
        k, term, total, logs, sums = state
        small = fc.abs(term) <= eps * fc.abs(total)
        for extra, whole in zip(logs, sums):
            small = small & (fc.abs(term * extra) <= eps * fc.maximum(fc.abs(whole), fc.abs(total)))
        return fc.any(~small & ~fc.isnan(total)) & (k < MOST_TERMS)

    def step(state):
        k, term, total, logs, sums = state
        factor, changes = ratio(k)
        term = term * factor
        logs = [a + b for a, b in zip(logs, changes)]
        return k + 1, term, total + term, logs, [s + term * extra for s, extra in zip(sums, logs)]

    start = (fc.zeros((), dtype=like.dtype), one, one, [zero] * slopes, [zero] * slopes)
    _, _, total, _, sums = fc.while_loop(unfinished, step, start)
    return total, sums


# ---- 1F1 -----------------------------------------------------------------------------------------


def _kummer(a, b, x):
    """1F1 and its derivatives by a and b."""
    negative = x < 0
    first, place = fc.where(negative, b - a, a), fc.abs(x)

    def ratio(k):
        return (first + k) / (b + k) * place / (k + 1), [_inverse(first + k), -1 / (b + k)]

    total, (by_first, by_b) = _summed(ratio, first + b + place, 2)
    scale = fc.where(negative, fc.exp(fc.minimum(x, 0)), fc.ones_like(x))
    by_a = fc.where(negative, -by_first, by_first)
    by_b = fc.where(negative, by_b + by_first, by_b)
    return scale * total, scale * by_a, scale * by_b


def _inverse(x):
    return 1 / fc.where(x == 0, fc.ones_like(x), x)


@with_derivative(
    lambda y, a, b, x: _kummer(a, b, x)[1],
    lambda y, a, b, x: _kummer(a, b, x)[2],
    lambda y, a, b, x: a / b * _kummer(a + 1, b + 1, x)[0],
)
def _hyp1f1(a, b, x):
    return _kummer(a, b, x)[0]


@function("a b x")
def hyp1f1(a, b, x):
    """Kummer's confluent hypergeometric function 1F1(a; b; x), elementwise.

    >>> from functorch_core.scipy import special
    >>> special.hyp1f1(1., 2., 0.5)
    Array(1.2974426, dtype=float32)
    """
    return _hyp1f1(*fc.broadcast_arrays(a, b, x))


# ---- 2F1 -----------------------------------------------------------------------------------------


def _gauss_series(a, b, c, x):
    """2F1 by its series, |x| < 1."""

    def ratio(k):
        return (a + k) * (b + k) / ((c + k) * (k + 1)) * x, []

    return _summed(ratio, a + b + c + x, 0)[0]


def _gamma_ratio(over, under):
    """The product of gammas over that of others, 0 where one below is at a pole."""
    from .special import gammasgn

    log = sum(map(fc.lgamma, over[1:]), fc.lgamma(over[0])) - sum(map(fc.lgamma, under[1:]), fc.lgamma(under[0]))
    sign = functools.reduce(lambda s, v: s * gammasgn(v), [*over, *under], fc.ones_like(log))
    pole = functools.reduce(lambda s, v: s | ((v <= 0) & (v == fc.floor(v))), under, fc.zeros_like(log) != 0)
    return fc.where(pole, fc.zeros_like(log), sign * fc.exp(log))


def _value(a, b, c, x):
    """2F1 for x <= 1: below 0 by Pfaff's transformation, near 1 by that to 1 - x."""
    negative = x < 0
    second = fc.where(negative, c - b, b)
    place = fc.where(negative, x / (x - 1), x)
    apart = c - a - second
    near_one = (place > 0.75) & (fc.abs(apart - fc.round(apart)) > 1e-6)
    at_one = place >= 1
    direct = _gauss_series(a, second, c, fc.where(near_one | at_one, fc.full_like(place, 0.5), place))
    rest = fc.where(near_one & ~at_one, 1 - place, fc.full_like(place, 0.1))
    safe = fc.where(near_one, apart, fc.full_like(apart, 0.5))
    one = _gamma_ratio([c, safe], [c - a, c - second]) * _gauss_series(a, second, 1 - safe, rest)
    two = _gamma_ratio([c, -safe], [a, second]) * _gauss_series(c - a, c - second, 1 + safe, rest)
    turned = one + fc.exp(safe * fc.log(rest)) * two
    ends = apart > 0
    gauss = _gamma_ratio([c, fc.where(ends, apart, fc.ones_like(apart))], [c - a, c - second])
    gauss = fc.where(ends, gauss, fc.full_like(gauss, math.inf))
    out = fc.where(at_one, gauss, fc.where(near_one, turned, direct))
    out = out * fc.where(negative, fc.exp(-a * fc.log1p(-fc.minimum(x, 0))), fc.ones_like(x))
    return fc.where(x > 1, fc.full_like(out, math.nan), out)


def _by_parameter(place: int):
    """The derivative by a parameter, by central differences of fourth order: there is no closed form."""

    def slope(y, *args):
        h = 1e-3 if y.dtype == fc.float64 else 1e-2

        def at(by):
            return _value(*[x + by * h if i == place else x for i, x in enumerate(args)])

        return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)

    return slope


@with_derivative(
    _by_parameter(0),
    _by_parameter(1),
    _by_parameter(2),
    lambda y, a, b, c, x: a * b / c * _value(a + 1, b + 1, c + 1, x),
)
def _hyp2f1(a, b, c, x):
    return _value(a, b, c, x)


@function("a b c x")
def hyp2f1(a, b, c, x):
    """Gauss's hypergeometric function 2F1(a, b; c; x), elementwise, for x <= 1.

    Slopes by a, b and c are differences of fourth order.

    >>> from functorch_core.scipy import special
    >>> special.hyp2f1(1., 2., 3., 0.5)
    Array(1.5451776, dtype=float32)
    """
    return _hyp2f1(*fc.broadcast_arrays(a, b, c, x))
