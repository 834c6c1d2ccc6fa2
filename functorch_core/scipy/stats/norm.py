"""The normal distribution."""

import math

from ..special import log_ndtr, ndtr, ndtri
from ._distribution import distribution

cdf, isf, logcdf, logpdf, logsf, pdf, ppf, sf = distribution(
    "norm",
    "x, loc=0, scale=1",
    "cdf isf logcdf logpdf logsf pdf ppf sf",
    logpdf=lambda x: -(x * x + math.log(2 * math.pi)) / 2,
    cdf=ndtr,
    logcdf=log_ndtr,
    sf=lambda x: ndtr(-x),
    logsf=lambda x: log_ndtr(-x),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
)
