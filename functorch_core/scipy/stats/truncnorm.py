"""The normal distribution cut off at a and b (in its standard form)."""

import functorch_core as fc

from ..special import log_ndtr
from . import norm
from ._distribution import distribution, inside, safe


def _log_difference(high, low):
    """log(exp(high) - exp(low)), for high >= low."""
    equal = high <= low
    return inside(
        ~equal, high + fc.log(-fc.expm1(safe(equal, low, 0.0) * 0 + fc.where(equal, high * 0 - 1, low - high)))
    )


def _log_mass(a, b):
    """The logarithm of the normal probability of (a, b), by the tail that both are in."""
    right = a > 0
    low, high = fc.where(right, -b, a), fc.where(right, -a, b)
    return _log_difference(log_ndtr(high), log_ndtr(low))


def _logpdf(x, a, b):
    return inside((x >= a) & (x <= b), norm.logpdf(x) - _log_mass(a, b))


def _logcdf(x, a, b):
    within = (x > a) & (x < b)
    place = fc.where(within, x, (a + fc.minimum(b, a + 1)) / 2)
    return fc.where(x >= b, fc.zeros_like(place), inside(within, _log_mass(a, place) - _log_mass(a, b)))


def _logsf(x, a, b):
    within = (x > a) & (x < b)
    place = fc.where(within, x, (a + fc.minimum(b, a + 1)) / 2)
    return fc.where(x <= a, fc.zeros_like(place), inside(within, _log_mass(place, b) - _log_mass(a, b)))


cdf, logcdf, logpdf, logsf, pdf, sf = distribution(
    "truncnorm",
    "x, a, b, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf sf",
    logpdf=_logpdf,
    logcdf=_logcdf,
    logsf=_logsf,
)
