"""The exponential distribution."""

import math

import functorch_core as fc

from ._distribution import distribution, inside, safe


def _logcdf(x):
    positive = x > 0
    return inside(positive, fc.log(-fc.expm1(-safe(positive, x, 1.0))))


cdf, logcdf, logpdf, logsf, pdf, ppf, sf = distribution(
    "expon",
    "x, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf ppf sf",
    logpdf=lambda x: inside(x >= 0, -x),
    cdf=lambda x: inside(x >= 0, -fc.expm1(-x), 0.0),
    logcdf=_logcdf,
    logsf=lambda x: inside(x >= 0, -x, 0.0),
    ppf=lambda q: inside((q >= 0) & (q <= 1), -fc.log1p(-q), math.nan),
)
