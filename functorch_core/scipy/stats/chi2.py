"""The chi-squared distribution with df degrees of freedom."""

import math

import functorch_core as fc

from ._distribution import distribution, inside, safe


def _logpdf(x, df):
    positive = x >= 0
    x = safe(positive, x, 1.0)
    return inside(positive, fc.xlogy(df / 2 - 1, x) - x / 2 - fc.lgamma(df / 2) - df / 2 * math.log(2))


cdf, logcdf, logpdf, logsf, pdf, sf = distribution(
    "chi2",
    "x, df, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf sf",
    logpdf=_logpdf,
    cdf=lambda x, df: inside(x > 0, fc.igamma(df / 2, safe(x > 0, x, 1.0) / 2), 0.0),
    sf=lambda x, df: inside(x > 0, fc.igammac(df / 2, safe(x > 0, x, 1.0) / 2), 1.0),
)
