"""The Pareto distribution of exponent b, of numbers from 1 on."""

import math

import functorch_core as fc

from ._distribution import distribution, inside, safe


def _logsf(x, b):
    return inside(x >= 1, -b * fc.log(safe(x >= 1, x, 1.0)), 0.0)


cdf, logcdf, logpdf, logsf, pdf, ppf, sf = distribution(
    "pareto",
    "x, b, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf ppf sf",
    logpdf=lambda x, b: inside(x >= 1, fc.log(b) - (b + 1) * fc.log(safe(x >= 1, x, 1.0))),
    cdf=lambda x, b: -fc.expm1(_logsf(x, b)),
    logsf=_logsf,
    ppf=lambda q, b: inside((q >= 0) & (q <= 1), (1 - q) ** (-1 / b), math.nan),
)
