"""Activations of floating values."""

from __future__ import annotations

import functools
import math

from . import on_host
from .values import Derived, aval_of, derived, full_like, like, p, stop_gradient, wide


@derived(lambda t, x, out: p.select(p.le(out, 0), p.zeros(aval_of(t)), t), on_host=on_host.positive)
def rectified(x):
    """max(x, 0); NaN stays. The derivative, 0 at 0, reads the output: no need to keep x."""
    return p.select(p.le(x, 0), p.zeros(aval_of(x)), x)


@functools.cache
def leaky(slope: float) -> Derived:
    """x where it is positive, slope * x elsewhere, at 0, too."""

    def value(x):
        return p.select(p.gt(x, 0), x, p.mul(x, full_like(x, slope)))

    def tangent(t, x, out):
        return p.select(p.gt(x, 0), t, p.mul(t, full_like(t, slope)))

    return Derived(value, tangent, on_host=on_host.greater_of_scaled(slope) if 0 < slope <= 1 else None)


@functools.cache
def between(low: float, high: float) -> Derived:
    """x clipped to [low, high]; NaN stays. The derivative at the bounds is 0, at NaN 1."""

    def value(x):
        above = p.select(p.le(x, full_like(x, low)), full_like(x, low), x)
        return p.select(p.ge(x, full_like(x, high)), full_like(x, high), above)

    def tangent(t, x, out):
        outside = p.or_(p.le(x, full_like(x, low)), p.ge(x, full_like(x, high)))
        return p.select(outside, p.zeros(aval_of(t)), t)

    return Derived(value, tangent, on_host=on_host.clipped(low, high))


@functools.cache
def elu(alpha: float, scale: float, input_scale: float) -> Derived:
    """scale * x for positive x and NaN, scale * alpha * expm1(input_scale * x) elsewhere; the
    second derivative at 0 is 0."""

    def inner(x):
        return p.mul(p.select(p.lt(x, 0), x, p.zeros(aval_of(x))), full_like(x, input_scale))

    def value(x):
        curved = p.mul(p.expm1(inner(x)), full_like(x, alpha * scale))
        return p.select(p.le(x, 0), curved, p.mul(x, full_like(x, scale)))

    def tangent(t, x, out):
        curved = p.mul(p.exp(inner(x)), full_like(x, alpha * scale * input_scale))
        return p.mul(t, p.select(p.le(x, 0), curved, full_like(x, scale)))

    return Derived(value, tangent)


def gelu(x, tanh: bool):
    """x times the normal distribution's cdf at x, by erf or by tanh; narrow floats are rounded once."""
    y = wide(x)
    if tanh:
        cubic = p.mul(p.mul(p.mul(y, y), y), 0.044715)
        curve = p.tanh(p.mul(p.add(y, cubic), math.sqrt(2 / math.pi)))
    else:  # erf, not erfc: the expansion of erfc is several kernels; an MLP half 18.4 -> 9.1 ms.
        curve = p.erf(p.mul(y, math.sqrt(0.5)))
    return like(p.mul(p.mul(y, 0.5), p.add(curve, 1.0)), x)


@functools.cache
def softened(beta: float, threshold: float) -> Derived:
    """log(1 + exp(beta x)) / beta, x itself where beta x is above the threshold."""

    def fun(x):
        z = p.mul(x, beta)
        above = p.gt(z, threshold)
        safe = p.select(above, p.zeros(aval_of(z)), z)
        return p.select(above, x, p.div(p.log1p(p.exp(safe)), full_like(x, beta)))

    def tangent(t, x, out):
        z = p.mul(x, beta)
        z = p.select(p.ge(z, threshold), stop_gradient(z), z)  # no second derivative at the kink
        return p.select(p.gt(z, threshold), t, p.mul(t, p.logistic(z)))

    return Derived(fun, tangent)


def _mish_parts(x):
    """e = exp x, n = e (e + 2) and n + 2; of x above 20, where tanh(log(1 + e)) is 1, those of 0."""
    above = p.gt(x, 20.0)
    e = p.exp(p.select(above, p.zeros(aval_of(x)), x))
    n = p.mul(e, p.add(e, 2.0))
    return above, e, n, p.add(n, 2.0)


def _mish_tangent(t, x, out):
    above, e, n, m = _mish_parts(x)
    steep = p.div(p.mul(p.mul(e, p.add(e, 1.0)), 4.0), p.mul(m, m))
    one = p.add(p.mul(x, p.mul(x, 0.0)), 1.0)  # NaN at infinity, and its derivative, as PyTorch's
    return p.mul(t, p.select(above, one, p.add(p.div(n, m), p.mul(x, steep))))


@derived(_mish_tangent)
def mish(x):
    """x tanh(log(1 + exp x)), which is x n / (n + 2): a million numbers 0.2 ms, by logarithm and tanh 0.7."""
    above, _, n, m = _mish_parts(x)
    return p.select(above, x, p.mul(x, p.div(n, m)))


@derived(lambda t, x, out: p.mul(t, p.logistic(p.neg(x))))
def log_sigmoid(x):
    """log(sigmoid(x)), stable on both sides."""
    return p.sub(p.min(x, p.zeros(aval_of(x))), p.log1p(p.exp(p.neg(p.abs(x)))))


def _within_3(x, inside, low, high):
    """`inside` where x is above -3 and below 3, `low` and `high` (of NaN, too) elsewhere."""
    return p.select(p.le(x, -3.0), low, p.select(p.lt(x, 3.0), inside, high))


@derived(
    lambda t, x, out: _within_3(x, p.div(t, 6.0), p.zeros(aval_of(t)), p.zeros(aval_of(t))),
    on_host=on_host.hard_sigmoid(times_itself=False),
)
def hard_sigmoid(x):
    """min(max(x + 3, 0), 6) / 6."""
    inner = p.div(p.add(x, 3.0), full_like(x, 6.0))
    return p.select(p.le(x, -3.0), full_like(x, 0), p.select(p.ge(x, 3.0), full_like(x, 1.0), inner))


@derived(
    lambda t, x, out: p.mul(t, _within_3(x, p.add(p.div(x, 3.0), 0.5), p.zeros(aval_of(t)), full_like(t, 1))),
    on_host=on_host.hard_sigmoid(times_itself=True),
)
def hard_silu(x):
    """x * hard_sigmoid(x)."""
    inner = p.div(p.mul(x, p.add(x, 3.0)), full_like(x, 6.0))
    return _within_3(x, inner, p.mul(x, 0.0), x)


def gated(x, axis: int):
    """The first half of x along an axis times the sigmoid of the second."""
    n = aval_of(x).shape[axis] // 2
    left, right = (p.slice_in_dim(x, start=i * n, limit=(i + 1) * n, dimension=axis) for i in (0, 1))
    return p.mul(left, p.logistic(right))
