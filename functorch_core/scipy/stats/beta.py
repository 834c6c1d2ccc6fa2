"""The beta distribution of shapes a and b."""

import functorch_core as fc

from ..special import betainc, betaln, xlog1py
from ._distribution import distribution, inside, safe


def _logpdf(x, a, b):
    within = (x >= 0) & (x <= 1)
    x = safe(within, x, 0.5)
    return inside(within, fc.xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


cdf, logcdf, logpdf, logsf, pdf, sf = distribution(
    "beta",
    "x, a, b, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf sf",
    logpdf=_logpdf,
    cdf=lambda x, a, b: betainc(a, b, fc.clip(x, 0.0, 1.0)),
    sf=lambda x, a, b: betainc(b, a, 1 - fc.clip(x, 0.0, 1.0)),
)
