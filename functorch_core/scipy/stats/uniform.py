"""The uniform distribution on [0, 1]."""

import math

import functorch_core as fc

from ._distribution import distribution, inside

cdf, logpdf, pdf, ppf = distribution(
    "uniform",
    "x, loc=0, scale=1",
    "cdf logpdf pdf ppf",
    logpdf=lambda x: inside((x >= 0) & (x <= 1), fc.zeros_like(x)),
    cdf=lambda x: fc.clip(x, 0.0, 1.0),
    ppf=lambda q: inside((q >= 0) & (q <= 1), q, math.nan),
)
