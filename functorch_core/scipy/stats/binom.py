"""The binomial distribution: how many of n trials succeed, each with probability p."""

import functorch_core as fc

from ..special import betaln, xlog1py
from ._distribution import distribution, inside, safe


def _logpmf(k, n, p):
    possible = (k >= 0) & (k <= n) & (k == fc.floor(k))
    k = safe(possible, k, 0.0)
    ways = -fc.log(n + 1) - betaln(n - k + 1, k + 1)
    return inside(possible, ways + fc.xlogy(k, p) + xlog1py(n - k, -p))


logpmf, pmf = distribution("binom", "k, n, p, loc=0", "logpmf pmf", logpmf=_logpmf)
