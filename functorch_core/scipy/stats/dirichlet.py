"""The Dirichlet distribution over probabilities that add up to 1."""

import functools

import functorch_core as fc

from ...array.compose import composed
from ._distribution import inside, safe

function = functools.partial(composed, space="fc.scipy.stats.dirichlet", inexact=True)


@function("x alpha")
def logpdf(x, alpha):
    """The logarithm of the density at x, whose first dimension is of the probabilities (or all but the last).

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.dirichlet.logpdf(fc.asarray([0.2, 0.8]), fc.asarray([1., 2.]))
    Array(0.47000366, dtype=float32)
    """
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha has one dimension, got {alpha.aval}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(f"dirichlet: x, {x.aval}, has {alpha.shape[0]} rows (or one less) for alpha {alpha.aval}")
    if x.shape[0] != alpha.shape[0]:
        x = fc.concat([x, 1 - fc.sum(x, axis=0, keepdims=True)], axis=0)
    alpha = fc.reshape(alpha, (-1,) + (1,) * (x.ndim - 1))
    tolerance = 10 * float(fc.finfo(x.dtype).eps) * x.shape[0]
    valid = fc.all((x >= 0) & (x <= 1), axis=0) & (fc.abs(fc.sum(x, axis=0) - 1) < tolerance)
    norm = fc.sum(fc.lgamma(alpha)) - fc.lgamma(fc.sum(alpha))
    return inside(valid, fc.sum(fc.xlogy(alpha - 1, safe(valid, x, 0.5)), axis=0) - norm)


@function("x alpha")
def pdf(x, alpha):
    """The density at x; see logpdf.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.dirichlet.pdf(fc.asarray([0.2, 0.8]), fc.asarray([1., 2.]))
    Array(1.6, dtype=float32)
    """
    return fc.exp(logpdf(x, alpha))
