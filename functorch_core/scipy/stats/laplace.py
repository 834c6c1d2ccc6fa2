"""The Laplace (double exponential) distribution."""

import math

import functorch_core as fc

from ._distribution import distribution

cdf, logpdf, pdf = distribution(
    "laplace",
    "x, loc=0, scale=1",
    "cdf logpdf pdf",
    logpdf=lambda x: -fc.abs(x) - math.log(2),
    cdf=lambda x: fc.where(x > 0, 1 - 0.5 * fc.exp(-fc.abs(x)), 0.5 * fc.exp(-fc.abs(x))),
)
