"""The normal distribution of vectors."""

import functools
import math

import functorch_core as fc

from ...array.compose import composed

function = functools.partial(composed, space="fc.scipy.stats.multivariate_normal", inexact=True)


@function("x mean cov")
def logpdf(x, mean, cov, allow_singular=None):
    """The logarithm of the density at vectors x (last dimension), of a mean and a covariance matrix.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.multivariate_normal.logpdf(fc.zeros(2), fc.zeros(2), fc.eye(2))
    Array(-1.837877, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal: allow_singular is not supported\n    Leave it out.")
    if not mean.ndim or not cov.ndim:
        off = x - mean
        return -0.5 * (off * off / cov + math.log(2 * math.pi) + fc.log(cov))
    n = mean.shape[-1]
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(f"multivariate_normal: a mean {mean.aval} takes a covariance [{n}, {n}], got {cov.aval}")
    lower = fc.linalg.cholesky(cov)
    off = x - mean
    lead = fc.broadcast_arrays(off, lower[..., 0])[0].shape[:-1]
    off, lower = fc.broadcast_to(off, (*lead, n)), fc.broadcast_to(lower, (*lead, n, n))
    scaled = fc.linalg.solve_triangular(lower, off[..., None], lower=True)[..., 0]
    size = fc.sum(fc.log(fc.linalg.diagonal(lower)), axis=-1)
    return -0.5 * fc.sum(scaled * scaled, axis=-1) - n / 2 * math.log(2 * math.pi) - size


@function("x mean cov")
def pdf(x, mean, cov):
    """The density at vectors x; see logpdf.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.multivariate_normal.pdf(fc.zeros(2), fc.zeros(2), fc.eye(2))
    Array(0.15915497, dtype=float32)
    """
    return fc.exp(logpdf(x, mean, cov))
