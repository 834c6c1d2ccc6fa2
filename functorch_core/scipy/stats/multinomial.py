"""The multinomial distribution: how often each of several outcomes occurs in n trials."""

import functools

import functorch_core as fc

from ...array.compose import composed
from ._distribution import inside

function = functools.partial(composed, space="fc.scipy.stats.multinomial", inexact=True)


@function("x n p")
def logpmf(x, n, p):
    """The logarithm of the probability of counts x (last dimension), of outcomes with probabilities p.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.multinomial.logpmf(fc.asarray([1., 2.]), 3, fc.asarray([0.4, 0.6]))
    Array(-0.8393295, dtype=float32)
    """
    out = fc.lgamma(n + 1) + fc.sum(fc.xlogy(x, p) - fc.lgamma(x + 1), axis=-1)
    return inside(fc.sum(x, axis=-1) == n, out)


@function("x n p")
def pmf(x, n, p):
    """The probability of counts x; see logpmf.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.multinomial.pmf(fc.asarray([1., 2.]), 3, fc.asarray([0.4, 0.6]))
    Array(0.4320001, dtype=float32)
    """
    return fc.exp(logpmf(x, n, p))
