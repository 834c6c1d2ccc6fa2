"""Activation functions, with PyTorch's derivatives at kinks."""

from __future__ import annotations

import functools
import math
import warnings

from .. import _random
from .._inplace import inplace as in_place
from .._op import composite, torch_op
from .values import (
    Derived,
    along,
    aval_of,
    cast,
    derived,
    dt,
    floated,
    full_like,
    like,
    name_of,
    np,
    p,
    partials,
    require_floating,
    require_same_dtype,
    spread,
    stop_gradient,
    wide,
    wrap_dim,
)


def _either(op, input, inplace: bool, *args):
    """op(input, *args), or its in-place form."""
    return in_place(op, input, args, {}) if inplace else op(input, *args)


def hidden(fun):
    """An op that is a function of torch.nn.functional only: not torch.NAME, no method."""
    return torch_op(fun, name=fun.__name__, method=False, function=False, node=fun.__name__.lstrip("_"))


# ---- rectifiers ----------------------------------------------------------------------------------


@derived(lambda t, x, out: p.select(p.le(out, 0), p.zeros(aval_of(t)), t))
def rectified(x):
    """max(x, 0); NaN stays. The derivative, 0 at 0, reads the output: no need to keep x."""
    return p.select(p.le(x, 0), p.zeros(aval_of(x)), x)


@torch_op(inplace=True, name="relu")
def torch_relu(input: Tensor):
    """max(input, 0); the derivative at 0 is 0.

    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    if aval_of(input).dtype == dt.bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    if aval_of(input).dtype in dt.COMPLEX:
        raise NotImplementedError(f"\"clamp_min_scalar_cpu\" not implemented for '{name_of(input)}'")
    return rectified(input)


def relu(input, inplace=False):
    """max(input, 0); the derivative at 0 is 0.

    >>> nn.functional.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return _either(torch_relu, input, inplace)


@hidden
def _hardtanh(input: Tensor, min_val=-1.0, max_val=1.0):
    if aval_of(input).dtype == dt.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    low, high = full_like(input, min_val), full_like(input, max_val)
    x = p.select(p.le(input, low), low, input)
    return p.select(p.ge(input, high), high, x)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input clipped to [min_val, max_val]; the derivative at the bounds is 0.

    >>> nn.functional.hardtanh(torch.tensor([-2., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return _either(_hardtanh, input, inplace, min_val, max_val)


def relu6(input, inplace=False):
    """min(max(input, 0), 6).

    >>> nn.functional.relu6(torch.tensor([-1., 7.]))
    tensor([0., 6.])
    """
    return _either(_hardtanh, input, inplace, 0.0, 6.0)


@hidden
def _leaky_relu(input: Tensor, negative_slope=0.01):
    require_floating("leaky_relu_cpu", input)
    return p.select(p.gt(input, 0), input, p.mul(input, full_like(input, negative_slope)))


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input where it is positive, negative_slope * input elsewhere.

    >>> nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _either(_leaky_relu, input, inplace, negative_slope)


@torch_op(inplace=True, name="threshold", method=False)
def torch_threshold(input: Tensor, threshold: Number, value: Number, *, out=None):
    """input where it is above the threshold, `value` elsewhere.

    >>> torch.threshold(torch.tensor([0.1, 2.]), 1., 0.)
    tensor([0., 2.])
    """
    x = input
    if aval_of(x).dtype == dt.bool_ or aval_of(x).dtype in dt.COMPLEX:
        raise NotImplementedError(f"\"threshold_cpu\" not implemented for '{name_of(x)}'")
    limit = p.broadcast_in_dim(cast(threshold, aval_of(x).dtype), shape=aval_of(x).shape, dims=())
    fill = p.broadcast_in_dim(cast(value, aval_of(x).dtype), shape=aval_of(x).shape, dims=())
    return p.select(p.le(x, limit), fill, x)


def threshold(input, threshold, value, inplace=False):
    """input where it is above the threshold, `value` elsewhere.

    >>> nn.functional.threshold(torch.tensor([0.1, 2.]), 1., 0.)
    tensor([0., 2.])
    """
    return _either(torch_threshold, input, inplace, threshold, value)


@torch_op
def prelu(input: Tensor, weight: Tensor):
    """input where it is positive, weight * input elsewhere; one weight, or one a channel.

    >>> nn.functional.prelu(torch.tensor([-1., 2.]), torch.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    a, w = aval_of(input), aval_of(weight)
    require_same_dtype(input, weight, "prelu: Type promoting not supported. Got {x} and {y}")
    if w.size != 1:
        if not a.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = a.shape[1] if a.ndim >= 2 else 1
        if channels != w.size:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found "
                f"parameter numbers = {w.size} and channel size = {channels}."
            )
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    weight = p.reshape(weight, shape=(w.size,))
    spread_ = (
        along(weight, a.shape, 1)
        if a.ndim >= 2 and w.size != 1
        else p.broadcast_in_dim(p.reshape(weight, shape=()), shape=a.shape, dims=())
    )
    return _parametric(input, spread_)


def _mixed(t, x, slope):
    """The second derivative, by input and weight, is 0 at 0, too."""
    flat = p.ge(x, 0)
    return p.mul(t, p.select(flat, stop_gradient(slope), slope))


@partials(
    lambda t, x, w, out: p.select(p.gt(x, 0), t, _mixed(t, x, w)),
    lambda t, x, w, out: p.select(p.gt(x, 0), p.zeros(aval_of(t)), _mixed(t, x, x)),
)
def _parametric(x, weight):
    return p.select(p.gt(x, 0), x, p.mul(weight, x))


@composite(name="rrelu", method=False)
def torch_rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """leaky_relu with slopes drawn from [lower, upper] in training, their mean otherwise.

    As in PyTorch, only elements that are not positive take a draw: the input is computed for it.
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _leaky_relu(input, (lower + upper) / 2)
    from .sampling import bits_of, sampled

    noise = sampled(
        lambda shape, x: _random.rrelu_noise(bits_of(generator), x, lower, upper), input.shape, input.detach()
    )
    return _rrelu(input, noise)


@hidden
def _rrelu(input: Tensor, noise: Tensor):
    """input where it is positive, noise * input elsewhere."""
    require_floating("rrelu_with_noise_cpu", input)
    return p.select(p.le(input, 0), p.mul(input, noise), input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu with slopes drawn from [lower, upper] in training, their mean otherwise.

    >>> nn.functional.rrelu(torch.tensor([2.]))
    tensor([2.])
    """
    out = torch_rrelu(input, lower, upper, training)
    if inplace:
        from .._views import assign

        return assign(input, out)
    return out


# ---- shrinking -----------------------------------------------------------------------------------


@torch_op(method=True)
def hardshrink(input: Tensor, lambd: Number = 0.5, *, out=None):
    """input where its magnitude exceeds lambd, 0 elsewhere.

    >>> nn.functional.hardshrink(torch.tensor([0.4, 2.]))
    tensor([0., 2.])
    """
    require_floating("hardshrink_cpu", input)
    limit = p.broadcast_in_dim(cast(lambd, aval_of(input).dtype), shape=aval_of(input).shape, dims=())
    inside = p.and_(p.ge(input, p.neg(limit)), p.le(input, limit))
    return p.select(inside, p.zeros(aval_of(input)), input)


@hidden
def softshrink(input: Tensor, lambd=0.5, *, out=None):
    """input moved towards 0 by lambd, 0 within [-lambd, lambd].

    >>> nn.functional.softshrink(torch.tensor([0.4, 2.]))
    tensor([0.0000, 1.5000])
    """
    require_floating("softshrink_cpu", input)
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    limit = full_like(input, lambd)
    inside = p.and_(p.ge(input, p.neg(limit)), p.le(input, limit))  # not so NaN
    outside = p.select(p.gt(input, limit), p.sub(input, limit), p.add(input, limit))
    return p.select(inside, p.mul(input, 0.0), outside)


@hidden
def _tanhshrink(input: Tensor):
    """input - tanh(input).

    >>> nn.functional.tanhshrink(torch.tensor([0.]))
    tensor([0.])
    """
    if aval_of(input).dtype not in dt.INEXACT:
        input = p.convert(input, dtype=np.dtype("float32"))
    return p.sub(input, p.tanh(input))


tanhshrink = _tanhshrink


# ---- exponential units ---------------------------------------------------------------------------


@functools.cache
def _elu(alpha: float, scale: float, input_scale: float) -> Derived:
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


@hidden
def _elu_op(input: Tensor, alpha=1.0):
    require_floating("elu_cpu", input, complex=True)
    return like(_elu(float(alpha), 1.0, 1.0)(wide(input)), input)


def elu(input, alpha=1.0, inplace=False):
    """input where it is positive, alpha * (exp(input) - 1) elsewhere.

    >>> nn.functional.elu(torch.tensor([0., 2.]))
    tensor([0., 2.])
    """
    return _either(_elu_op, input, inplace, alpha)


@torch_op(inplace=True, name="selu", method=False, node="elu")
def torch_selu(input: Tensor):
    """The self-normalising exponential unit.

    >>> torch.selu(torch.tensor([1.]))
    tensor([1.0507])
    """
    require_floating("elu_cpu", input)
    return like(_elu(1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)(wide(input)), input)


def selu(input, inplace=False):
    """The self-normalising exponential unit.

    >>> nn.functional.selu(torch.tensor([1.]))
    tensor([1.0507])
    """
    return _either(torch_selu, input, inplace)


@torch_op(inplace=True, name="celu", method=False)
def torch_celu(input: Tensor, alpha=1.0):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> torch.celu(torch.tensor([1.]))
    tensor([1.])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    require_floating("elu_cpu", input)
    return like(_elu(float(alpha), 1.0, 1.0 / alpha)(wide(input)), input)


def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> nn.functional.celu(torch.tensor([1.]))
    tensor([1.])
    """
    return _either(torch_celu, input, inplace, alpha)


@hidden
def gelu(input: Tensor, *, approximate="none"):
    """x * Phi(x), by erf or, with approximate='tanh', by tanh.

    >>> nn.functional.gelu(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8413])
    """
    require_floating("GeluKernelImpl", input)
    x = wide(input)
    if approximate == "none":
        # erf, not erfc: the expansion of erfc is several kernels; an MLP half 18.4 -> 9.1 ms.
        out = p.mul(p.mul(x, 0.5), p.add(p.erf(p.mul(x, math.sqrt(0.5))), 1.0))
    elif approximate == "tanh":
        cubic = p.mul(p.mul(p.mul(x, x), x), 0.044715)
        out = p.mul(p.mul(x, 0.5), p.add(p.tanh(p.mul(p.add(x, cubic), math.sqrt(2 / math.pi))), 1.0))
    else:
        raise RuntimeError("approximate argument must be either none or tanh.")
    return like(out, input)


@hidden
def _silu(input: Tensor):
    require_floating("silu_cpu", input, complex=True)
    x = wide(input)
    return like(p.mul(x, p.logistic(x)), input)


def silu(input, inplace=False):
    """x * sigmoid(x).

    >>> nn.functional.silu(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7311])
    """
    return _either(_silu, input, inplace)


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


@hidden
def softplus(input: Tensor, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * input)) / beta.

    >>> nn.functional.softplus(torch.tensor([0.]))
    tensor([0.6931])
    """
    require_floating("softplus_cpu", input)
    return like(softened(float(beta), float(threshold))(wide(input)), input)


@hidden
def _mish(input: Tensor):
    require_floating("mish_cpu", input)
    x = wide(input)
    return like(p.mul(x, p.tanh(softened(1.0, 20.0)(x))), input)


def mish(input, inplace=False):
    """x * tanh(softplus(x)).

    >>> nn.functional.mish(torch.tensor([0.]))
    tensor([0.])
    """
    return _either(_mish, input, inplace)


@derived(lambda t, x, out: p.mul(t, p.logistic(p.neg(x))))
def log_sigmoid_of(x):
    """log(sigmoid(x)), stable on both sides."""
    return p.sub(p.min(x, p.zeros(aval_of(x))), p.log1p(p.exp(p.neg(p.abs(x)))))


@hidden
def logsigmoid(input: Tensor, *, out=None):
    """log(sigmoid(input)).

    >>> nn.functional.logsigmoid(torch.tensor([0.]))
    tensor([-0.6931])
    """
    require_floating("log_sigmoid_cpu", input)
    return like(log_sigmoid_of(wide(input)), input)


@hidden
def softsign(input: Tensor):
    """x / (1 + |x|).

    >>> nn.functional.softsign(torch.tensor([1.]))
    tensor([0.5000])
    """
    x = input
    if aval_of(x).dtype not in dt.INEXACT:
        x = p.convert(x, dtype=np.dtype("float32"))
    magnitude = p.abs(x)
    below = p.add(magnitude, 1.0)
    return p.div(x, p.convert(below, dtype=aval_of(x).dtype))


def _within_3(x, inside, low, high):
    """`inside` where x is above -3 and below 3, `low` and `high` (of NaN, too) elsewhere."""
    return p.select(p.le(x, -3.0), low, p.select(p.lt(x, 3.0), inside, high))


@derived(lambda t, x, out: _within_3(x, p.div(t, 6.0), p.zeros(aval_of(t)), p.zeros(aval_of(t))))
def _hard_sigmoid_of(x):
    inner = p.div(p.add(x, 3.0), full_like(x, 6.0))
    return p.select(p.le(x, -3.0), full_like(x, 0), p.select(p.ge(x, 3.0), full_like(x, 1.0), inner))


@hidden
def _hardsigmoid(input: Tensor):
    require_floating("hardsigmoid", input)
    return like(_hard_sigmoid_of(wide(input)), input)


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6.

    >>> nn.functional.hardsigmoid(torch.tensor([0., 4.]))
    tensor([0.5000, 1.0000])
    """
    return _either(_hardsigmoid, input, inplace)


@derived(lambda t, x, out: p.mul(t, _within_3(x, p.add(p.div(x, 3.0), 0.5), p.zeros(aval_of(t)), full_like(t, 1))))
def _hard_swish_of(x):
    inner = p.div(p.mul(x, p.add(x, 3.0)), full_like(x, 6.0))
    return _within_3(x, inner, p.mul(x, 0.0), x)


@hidden
def _hardswish(input: Tensor):
    require_floating("hardswish", input)
    return like(_hard_swish_of(wide(input)), input)


def hardswish(input, inplace=False):
    """x * min(max(x + 3, 0), 6) / 6.

    >>> nn.functional.hardswish(torch.tensor([0., 4.]))
    tensor([0., 4.])
    """
    return _either(_hardswish, input, inplace)


@hidden
def glu(input: Tensor, dim=-1):
    """a * sigmoid(b) of the two halves a, b along dim.

    >>> nn.functional.glu(torch.tensor([1., 0.]))
    tensor([0.5000])
    """
    a = aval_of(input)
    require_floating("glu_cpu", input)
    if not a.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = wrap_dim(dim, a.ndim)
    if a.shape[d] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {a.shape[d]}")
    n = a.shape[d] // 2
    x = wide(input)
    first = p.slice_in_dim(x, start=0, limit=n, dimension=d)
    second = p.slice_in_dim(x, start=n, limit=2 * n, dimension=d)
    return like(p.mul(first, p.logistic(second)), input)


# ---- softmax -------------------------------------------------------------------------------------


@functools.cache
def normalised_exponential(dim: int, log: bool) -> Derived:
    """softmax or log_softmax along a dimension; their derivatives read only the output."""

    def fun(x):
        shape = aval_of(x).shape
        top = stop_gradient(p.reduce_max(x, axes=(dim,)))
        shifted = p.sub(x, spread(top, shape, (dim,)))
        powers = p.exp(shifted)
        sums = p.reduce_sum(powers, axes=(dim,))
        if log:
            return p.sub(shifted, spread(p.log(sums), shape, (dim,)))
        return p.div(powers, spread(sums, shape, (dim,)))

    def tangent(t, x, out):
        shape = aval_of(out).shape
        weights = p.exp(out) if log else out
        inner = spread(p.reduce_sum(p.mul(weights, t), axes=(dim,)), shape, (dim,))
        return p.sub(t, inner) if log else p.mul(out, p.sub(t, inner))

    return Derived(fun, tangent)


def softmax_of(x, dim: int, log: bool = False):
    """softmax (or its logarithm) of a floating value along a non-negative dimension."""
    if not aval_of(x).size:
        return x
    if not aval_of(x).ndim:
        x = p.reshape(x, shape=(1,))
        return p.reshape(normalised_exponential(0, log)(x), shape=())
    return normalised_exponential(dim, log)(x)


def _soft(input, dim, dtype, log):
    x = floated(input, dtype)
    require_floating("log_softmax_lastdim_kernel_impl" if log else "softmax_lastdim_kernel_impl", x)
    return like(softmax_of(wide(x), wrap_dim(dim, aval_of(x).ndim), log), x)


@torch_op(name="softmax")
def torch_softmax(input: Tensor, dim, dtype=None, *, out=None):
    """exp(input) / sum(exp(input)) along dim.

    >>> torch.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return _soft(input, dim, dtype, log=False)


@torch_op(name="log_softmax")
def torch_log_softmax(input: Tensor, dim, dtype=None, *, out=None):
    """The logarithm of softmax.

    >>> torch.log_softmax(torch.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    return _soft(input, dim, dtype, log=True)


IMPLICIT_DIM = (
    "Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
)


def _dim_of(name: str, dim, ndim: int, stacklevel: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(IMPLICIT_DIM.format(name=name), stacklevel=stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) / sum(exp(input)) along dim.

    >>> nn.functional.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return torch_softmax(input, _dim_of("softmax", dim, input.ndim, _stacklevel), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input.

    >>> nn.functional.softmin(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return torch_softmax(-input, _dim_of("softmin", dim, input.ndim, _stacklevel), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax.

    >>> nn.functional.log_softmax(torch.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    return torch_log_softmax(input, _dim_of("log_softmax", dim, input.ndim, _stacklevel), dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax of logits with Gumbel noise; one-hot with the soft derivative if `hard`."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    from .nn_other import drawn

    noise = drawn("exponential", logits)
    soft = torch_softmax((logits - noise.log()) / tau, dim)
    return _straight_through(soft, dim) if hard else soft


@hidden
def _straight_through(input: Tensor, dim):
    a = aval_of(input)
    d = wrap_dim(dim, a.ndim)
    best = p.argmax(input, axis=d)
    places = p.iota(shape=a.shape, dtype=np.dtype("int64"), dimension=d)
    hard = p.convert(p.eq(places, spread(best, a.shape, (d,))), dtype=a.dtype)
    return p.add(p.sub(hard, stop_gradient(input)), input)


# ---- in place ------------------------------------------------------------------------------------


def relu_(input):
    """relu, in place."""
    return relu(input, inplace=True)


def threshold_(input, threshold, value):
    """threshold, in place."""
    return in_place(torch_threshold, input, (threshold, value), {})


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """hardtanh, in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def leaky_relu_(input, negative_slope=0.01):
    """leaky_relu, in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu_(input, alpha=1.0):
    """elu, in place."""
    return elu(input, alpha, inplace=True)


def celu_(input, alpha=1.0):
    """celu, in place."""
    return celu(input, alpha, inplace=True)


def selu_(input):
    """selu, in place."""
    return selu(input, inplace=True)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """rrelu, in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def sigmoid(input):
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()
