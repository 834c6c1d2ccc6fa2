"""The Poisson distribution of mean mu."""

import functools

import functorch_core as fc

from ...array.compose import composed
from ._distribution import distribution, inside, safe

TERMS = 512


def _logpmf(k, mu):
    possible = (k >= 0) & (k == fc.floor(k))
    k = safe(possible, k, 0.0)
    return inside(possible, fc.xlogy(k, mu) - fc.lgamma(k + 1) - mu)


def _cdf(k, mu):
    below = safe(k >= 0, fc.floor(k), 0.0) + 1
    return inside(k >= 0, fc.igammac(below, mu), 0.0)


cdf, logpmf, pmf = distribution("poisson", "k, mu, loc=0", "cdf logpmf pmf", logpmf=_logpmf, cdf=_cdf)


@functools.partial(composed, space="fc.scipy.stats.poisson", inexact=True)("mu loc")
def entropy(mu, loc=0):
    """The entropy of the Poisson distribution, elementwise: a sum up to 500, above an expansion.

    >>> from functorch_core.scipy import stats
    >>> found = stats.poisson.entropy(2.)
    """
    small = mu < 250
    near = safe(small, mu, 1.0)[..., None]
    k = fc.arange(TERMS).astype(mu.dtype)
    log = _logpmf(*fc.broadcast_arrays(k, near))
    summed = -fc.sum(fc.exp(log) * log, axis=-1)
    far = safe(~small, mu, 300.0)
    expansion = 0.5 * fc.log(2 * fc.pi * fc.e * far) - 1 / (12 * far) - 1 / (24 * far**2) - 19 / (360 * far**3)
    out = fc.where(small, summed, expansion) + 0 * loc
    return fc.where(mu == 0, fc.zeros_like(out), inside(mu >= 0, out, float("nan")))
