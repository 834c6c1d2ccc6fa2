"""Sums, means, variances over axes that are not negative, and what is normalised by them."""

from __future__ import annotations

import functools

from .subgradients import parts_product
from .values import Derived, aval_of, count_over, dt, full_like, like, mean, p, spread, stop_gradient, total, wide


def mean_of(x, axes):
    """The mean, with half precision summed as float32."""
    return like(mean(wide(x), axes), x)


def mean_and_variance(x, axes, correction):
    """(mean, variance by n - correction), both wide; the variance of complex numbers is real."""
    deviation, middle = centred(wide(x), axes)
    summed = total(parts_product(deviation, deviation), axes)
    return middle, p.div(summed, full_like(summed, max(count_over(x, axes) - correction, 0)))


def centred(x, axes):
    """(x - mean, mean)."""
    middle = mean(x, axes)
    return p.sub(x, spread(middle, aval_of(x).shape, axes)), middle


def normalised(x, axes, epsilon):
    """((x - mean) / sqrt(variance + epsilon), mean, variance)."""
    deviation, middle = centred(x, axes)
    variance = mean(p.mul(deviation, deviation), axes)
    return p.mul(deviation, spread(reciprocal_root(variance, epsilon), aval_of(x).shape, axes)), middle, variance


def rms_normalised(x, axes, epsilon):
    """x / sqrt(mean square + epsilon)."""
    return p.mul(x, spread(reciprocal_root(mean(p.mul(x, x), axes), epsilon), aval_of(x).shape, axes))


def reciprocal_root(variance, epsilon):
    """1 / sqrt(variance + epsilon)."""
    return p.rsqrt(p.add(variance, full_like(variance, epsilon)))


def affine(x, weight, bias, dims=None):
    """x * weight + bias, each None or of the dimensions `dims`, the last by default."""
    shape = aval_of(x).shape
    for apply, v in ((p.mul, weight), (p.add, bias)):
        if v is not None:
            along = tuple(range(len(shape) - aval_of(v).ndim, len(shape))) if dims is None else dims
            x = apply(x, p.broadcast_in_dim(like(v, x), shape=shape, dims=along))
    return x


# ---- exponentials --------------------------------------------------------------------------------


def shifted_by_max(x, axes):
    """(x - its maximum, the maximum): 0 where that is not finite, of complex numbers the real part's."""
    sizes = p.real(x) if aval_of(x).dtype in dt.COMPLEX else x
    if not count_over(x, axes):
        return x, total(x, axes)  # 0
    top = stop_gradient(p.reduce_max_loose(sizes, axes=axes))
    top = like(p.select(p.is_finite(top), top, full_like(top, 0)), x)
    return p.sub(x, spread(top, aval_of(x).shape, axes)), top


def logsumexp(x, axes):
    """log(sum(exp(x))) without overflow; -inf of nothing."""
    shifted, top = shifted_by_max(wide(x), axes)
    return like(p.add(p.log(total(p.exp(shifted), axes)), top), x)


def exponentials(x, axes):
    """(the maximum, x - it, its exponentials, their sum); NaN of rows with NaN or infinity, or -infinity alone."""
    top = stop_gradient(p.reduce_max_loose(x, axes=axes))
    shifted = p.sub(x, spread(top, aval_of(x).shape, axes))
    powers = p.exp(shifted)
    return top, shifted, powers, total(powers, axes)


@functools.cache
def _normalised_exponential(axes: tuple[int, ...], log: bool) -> Derived:
    """softmax or log_softmax; their derivatives read only the output."""

    def fun(x):
        shape = aval_of(x).shape
        _, shifted, powers, sums = exponentials(x, axes)
        if log:
            return p.sub(shifted, spread(p.log(sums), shape, axes))
        return p.div(powers, spread(sums, shape, axes))

    def tangent(t, x, out):
        inner = spread(total(p.mul(p.exp(out) if log else out, t), axes), aval_of(out).shape, axes)
        return p.sub(t, inner) if log else p.mul(out, p.sub(t, inner))

    return Derived(fun, tangent)


def softmax(x, axes, log: bool = False):
    """softmax (or its logarithm) of a floating value."""
    if not aval_of(x).size:
        return p.exp(x)  # which has a second derivative, as softmax has
    return _normalised_exponential(tuple(axes), log)(x)
