"""The gamma distribution of shape a."""

import functorch_core as fc

from ._distribution import distribution, inside, safe


def _logpdf(x, a):
    positive = x >= 0
    x = safe(positive, x, 1.0)
    return inside(positive, fc.xlogy(a - 1, x) - x - fc.lgamma(a))


cdf, logcdf, logpdf, logsf, pdf, sf = distribution(
    "gamma",
    "x, a, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf sf",
    logpdf=_logpdf,
    cdf=lambda x, a: inside(x > 0, fc.igamma(a, safe(x > 0, x, 1.0)), 0.0),
    sf=lambda x, a: inside(x > 0, fc.igammac(a, safe(x > 0, x, 1.0)), 1.0),
)
