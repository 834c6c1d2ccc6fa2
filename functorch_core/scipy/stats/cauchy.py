"""The Cauchy distribution."""

import math

import functorch_core as fc

from ._distribution import distribution

cdf, isf, logcdf, logpdf, logsf, pdf, ppf, sf = distribution(
    "cauchy",
    "x, loc=0, scale=1",
    "cdf isf logcdf logpdf logsf pdf ppf sf",
    logpdf=lambda x: -math.log(math.pi) - fc.log1p(x * x),
    cdf=lambda x: fc.atan2(fc.ones_like(x), -x) / math.pi,
    sf=lambda x: fc.atan2(fc.ones_like(x), x) / math.pi,
    ppf=lambda q: fc.tan(math.pi * (q - 0.5)),
    isf=lambda q: fc.tan(math.pi * (0.5 - q)),
)
