"""The Bernoulli distribution: 1 with probability p, 0 otherwise."""

import math

import functorch_core as fc

from ..special import xlog1py
from ._distribution import distribution, inside

cdf, ppf = distribution(
    "bernoulli",
    "k, p",
    "cdf ppf",
    cdf=lambda k, p: fc.where(k < 0, fc.zeros_like(p), fc.where(k < 1, 1 - p, fc.ones_like(p))),
    ppf=lambda q, p: inside(
        (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1),
        fc.where(q == 0, fc.full_like(q, -1.0), fc.where(q <= 1 - p, fc.zeros_like(q), fc.ones_like(q))),
        math.nan,
    ),
)
logpmf, pmf = distribution(
    "bernoulli",
    "k, p, loc=0",
    "logpmf pmf",
    logpmf=lambda k, p: inside((k == 0) | (k == 1), fc.xlogy(k, p) + xlog1py(1 - k, -p)),
)
