"""The negative binomial distribution: the failures before the n-th success."""

import functorch_core as fc

from ..special import betaln, xlog1py
from ._distribution import distribution, inside, safe


def _logpmf(k, n, p):
    possible = (k >= 0) & (k == fc.floor(k))
    k = safe(possible, k, 0.0)
    ways = -fc.log(n + k) - betaln(n, k + 1)
    return inside(possible, ways + fc.xlogy(n, p) + xlog1py(k, -p))


logpmf, pmf = distribution("nbinom", "k, n, p, loc=0", "logpmf pmf", logpmf=_logpmf)
