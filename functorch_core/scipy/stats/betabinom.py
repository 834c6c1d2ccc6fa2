"""The binomial distribution whose probability is beta-distributed, of shapes a and b."""

import math

import functorch_core as fc

from ..special import betaln
from ._distribution import distribution, inside, safe


def _logpmf(k, n, a, b):
    possible = (k >= 0) & (k <= n) & (k == fc.floor(k))
    k = safe(possible, k, 0.0)
    ways = -fc.log(n + 1) - betaln(n - k + 1, k + 1)
    out = inside(possible, ways + betaln(k + a, n - k + b) - betaln(a, b))
    return inside((a > 0) & (b > 0) & (n >= 0), out, math.nan)


logpmf, pmf = distribution("betabinom", "k, n, a, b, loc=0", "logpmf pmf", logpmf=_logpmf)
