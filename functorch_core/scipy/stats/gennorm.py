"""The generalized normal distribution, whose density falls as exp(-|x|**beta)."""

import functorch_core as fc

from ._distribution import distribution

cdf, logpdf, pdf = distribution(
    "gennorm",
    "x, beta",
    "cdf logpdf pdf",
    logpdf=lambda x, beta: fc.log(0.5 * beta) - fc.lgamma(1 / beta) - fc.abs(x) ** beta,
    cdf=lambda x, beta: 0.5 * (1 + fc.sign(x) * fc.igamma(1 / beta, fc.abs(x) ** beta)),
)
