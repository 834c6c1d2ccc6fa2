"""The von Mises distribution of angles, concentrated by kappa."""

import math

import functorch_core as fc

from ..special import i0e
from ._distribution import distribution, inside

logpdf, pdf = distribution(
    "vonmises",
    "x, kappa",
    "logpdf pdf",
    logpdf=lambda x, kappa: inside(kappa > 0, kappa * (fc.cos(x) - 1) - fc.log(2 * math.pi * i0e(kappa)), math.nan),
)
