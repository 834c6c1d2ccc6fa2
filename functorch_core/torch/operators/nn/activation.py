"""Activation functions, with PyTorch's derivatives at kinks."""

from __future__ import annotations

import functools
import math

from ....core.warn import warn
from ....kernels import activations as act
from ....kernels.reductions import softmax as softmax_of
from ....kernels.values import along, aval_of, derived, dt, full_like, like, np, p, spread, stop_gradient, wide
from ...dispatch.inplace import inplace as in_place
from ...dispatch.op import composite, registry, torch_op, write_out
from ...dispatch.slots import Factor, Level
from ...dispatch.traits import EXACT, EXPECTED, SCALAR_TYPE, Out
from ...tensors.active import active, overridable
from ...tensors.base import Tensor
from ...tensors.promotion import check_held
from ...views.cells import assign
from ...views.memory_order import by_first, preserved
from .. import random as _random
from ..declaring import by_number, scale_dtype
from ..pointwise.arithmetic import ONE_BOOL
from ..random.sampling import bits_of, sampled
from ..values import cast, floated, name_of, require_floating, require_same_dtype, wrap_dim
from .other import drawn


def _either(op, input, inplace: bool, *args):
    """op(input, *args), or its in-place form; the function that calls this has asked who overrides it."""
    if inplace:
        return in_place(op, input, args, {})
    run = op.runs.get(input.__class__) if active.plain and not args else None
    made = None if run is None else run(input)
    return op.call((input, *args), {}) if made is None else made


def hidden(fun=None, **traits):
    """An op that is a function of torch.nn.functional only: not torch.NAME, no method."""
    if fun is None:
        return functools.partial(hidden, **traits)
    return torch_op(fun, name=fun.__name__, method=False, function=False, **traits)


# ---- rectifiers ----------------------------------------------------------------------------------


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
    return act.rectified(input)


@overridable
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
    if min_val < 0 and aval_of(input).dtype.kind == "u":
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    for bound in (min_val, max_val):
        check_held(aval_of(input).dtype, bound)
    if min_val != min_val or max_val != max_val:
        return p.add(input, math.nan)
    return act.between(min_val, max_val)(input)


@overridable
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input clipped to [min_val, max_val]; the derivative at the bounds is 0.

    >>> nn.functional.hardtanh(torch.tensor([-2., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return _either(_hardtanh, input, inplace, min_val, max_val)


@overridable
def relu6(input, inplace=False):
    """min(max(input, 0), 6).

    >>> nn.functional.relu6(torch.tensor([-1., 7.]))
    tensor([0., 6.])
    """
    return _either(_hardtanh, input, inplace, 0.0, 6.0)


@hidden
def _leaky_relu(input: Tensor, negative_slope=0.01):
    require_floating("leaky_relu_cpu", input)
    check_held(scale_dtype(aval_of(input).dtype), negative_slope)
    if aval_of(input).dtype in (dt.float32, dt.float64):
        return act.leaky(float(negative_slope))(input)
    return p.select(p.gt(input, 0), input, by_number(p.mul, input, negative_slope))


@overridable
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input where it is positive, negative_slope * input elsewhere.

    >>> nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _either(_leaky_relu, input, inplace, negative_slope)


@torch_op(inplace=True, name="threshold", method=False, out=Out(overlapping=True, idempotent=True))
def torch_threshold(input: Tensor, threshold: Factor, value: Level, *, out=None):
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


@overridable
def threshold(input, threshold, value, inplace=False):
    """input where it is above the threshold, `value` elsewhere.

    >>> nn.functional.threshold(torch.tensor([0.1, 2.]), 1., 0.)
    tensor([0., 2.])
    """
    return _either(torch_threshold, input, inplace, threshold, value)


@torch_op(autocast="low", layout=preserved, node="PreluKernelBackward0")
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


@derived(
    lambda t, x, w, out: p.select(p.gt(x, 0), t, _mixed(t, x, w)),
    lambda t, x, w, out: p.select(p.gt(x, 0), p.zeros(aval_of(t)), _mixed(t, x, x)),
)
def _parametric(x, weight):
    return p.select(p.gt(x, 0), x, p.mul(weight, x))


@composite(name="rrelu", method=False)
def torch_rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """leaky_relu with slopes drawn from [lower, upper] in training, their mean otherwise.

    As in PyTorch, only elements that are not positive take a draw: the input is computed for it.

    >>> torch.rrelu(torch.tensor([-2., 3.]), 0.25, 0.75)
    tensor([-1.,  3.])
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _leaky_relu(input, (lower + upper) / 2)
    noise = sampled(
        lambda shape, x: _random.rrelu_noise(bits_of(generator), x, lower, upper), input.shape, input.detach()
    )
    return _rrelu(input, noise)


@hidden(node="RreluWithNoiseBackward0")
def _rrelu(input: Tensor, noise: Tensor):
    """input where it is positive, noise * input elsewhere."""
    require_floating("rrelu_with_noise_cpu", input)
    return p.select(p.le(input, 0), p.mul(input, noise), input)


@overridable
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu with slopes drawn from [lower, upper] in training, their mean otherwise.

    >>> nn.functional.rrelu(torch.tensor([2.]))
    tensor([2.])
    """
    out = torch_rrelu(input, lower, upper, training)
    if inplace:
        return assign(input, out, op="rrelu")
    return out


# ---- shrinking -----------------------------------------------------------------------------------


@torch_op(method=True, out=Out(EXPECTED))
def hardshrink(input: Tensor, lambd: Level = 0.5, *, out=None):
    """input where its magnitude exceeds lambd, 0 elsewhere.

    >>> nn.functional.hardshrink(torch.tensor([0.4, 2.]))
    tensor([0., 2.])
    """
    require_floating("hardshrink_cpu", input)
    limit = p.broadcast_in_dim(cast(lambd, aval_of(input).dtype), shape=aval_of(input).shape, dims=())
    inside = p.and_(p.ge(input, p.neg(limit)), p.le(input, limit))
    return p.select(inside, p.zeros(aval_of(input)), input)


@hidden(out=Out(EXPECTED))
def softshrink(input: Tensor, lambd=0.5, *, out=None):
    """input moved towards 0 by lambd, 0 within [-lambd, lambd].

    >>> nn.functional.softshrink(torch.tensor([0.4, 2.]))
    tensor([0.0000, 1.5000])
    """
    require_floating("softshrink_check", input)
    largest = float(dt.finfo(aval_of(input).dtype).max)
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {name_of(input)}, but found {lambd:g}"
        )
    limit = full_like(input, lambd)
    inside = p.and_(p.ge(input, p.neg(limit)), p.le(input, limit))  # not so NaN
    outside = p.select(p.gt(input, limit), p.sub(input, limit), p.add(input, limit))
    return p.select(inside, p.mul(input, 0.0), outside)


@hidden(node="Sub0(input, Tanh0(input))", saves="nothing")
def _tanhshrink(input: Tensor):
    """input - tanh(input).

    >>> nn.functional.tanhshrink(torch.tensor([0.]))
    tensor([0.])
    """
    if aval_of(input).dtype == dt.bool_:
        raise RuntimeError(ONE_BOOL)
    if aval_of(input).dtype not in dt.INEXACT:
        input = p.convert(input, dtype=np.dtype("float32"))
    return p.sub(input, p.tanh(input))


tanhshrink = _tanhshrink


# ---- exponential units ---------------------------------------------------------------------------


@hidden(node="EluBackward0", in_place="elu_")
def _elu_op(input: Tensor, alpha=1.0):
    require_floating("elu_cpu", input, complex=True)
    check_held(scale_dtype(aval_of(input).dtype), alpha)
    return like(act.elu(float(alpha), 1.0, 1.0)(wide(input)), input)


@overridable
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
    return like(act.elu(1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)(wide(input)), input)


@overridable
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
    check_held(scale_dtype(aval_of(input).dtype), alpha)
    return like(act.elu(float(alpha), 1.0, 1.0 / alpha)(wide(input)), input)


@overridable
def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> nn.functional.celu(torch.tensor([1.]))
    tensor([1.])
    """
    return _either(torch_celu, input, inplace, alpha)


@composite(method=False, autocast={"cpu": "low"}, out=Out(EXACT))
def _addmm_activation(input, mat1, mat2, *, beta=1, alpha=1, use_gelu=False, out=None):
    """relu, or gelu, of beta * input + alpha * (mat1 @ mat2)."""
    x = registry["addmm"](input, mat1, mat2, beta=beta, alpha=alpha)
    return write_out("_addmm_activation", out, gelu(x) if use_gelu else registry["relu"](x))


@hidden(out=Out(EXPECTED))
def gelu(input: Tensor, *, approximate="none"):
    """x * Phi(x), by erf or, with approximate='tanh', by tanh.

    >>> nn.functional.gelu(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8413])
    """
    require_floating("GeluKernelImpl", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return act.gelu(input, approximate == "tanh")


@hidden
def _silu(input: Tensor):
    require_floating("silu_cpu", input, complex=True)
    x = wide(input)
    return like(p.mul(x, p.logistic(x)), input)


@overridable
def silu(input, inplace=False):
    """x * sigmoid(x).

    >>> nn.functional.silu(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7311])
    """
    return _either(_silu, input, inplace)


@hidden(out=Out(EXPECTED), autocast={"cuda": "full"})
def softplus(input: Tensor, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * input)) / beta.

    >>> nn.functional.softplus(torch.tensor([0.]))
    tensor([0.6931])
    """
    require_floating("softplus_cpu", input)
    for number in (beta, threshold):
        check_held(scale_dtype(aval_of(input).dtype), number)
    return like(act.softened(float(beta), float(threshold))(wide(input)), input)


@hidden
def _mish(input: Tensor):
    require_floating("mish_cpu", input)
    return like(act.mish(wide(input)), input)


@overridable
def mish(input, inplace=False):
    """x * tanh(softplus(x)).

    >>> nn.functional.mish(torch.tensor([0.]))
    tensor([0.])
    """
    return _either(_mish, input, inplace)


@hidden(out=Out(SCALAR_TYPE, silent=True), layout=None, node="LogSigmoidBackward0")
def logsigmoid(input: Tensor, *, out=None):
    """log(sigmoid(input)).

    >>> nn.functional.logsigmoid(torch.tensor([0.]))
    tensor([-0.6931])
    """
    require_floating("log_sigmoid_cpu", input)
    return like(act.log_sigmoid(wide(input)), input)


@hidden(node="Div0(input, Add0(Abs0(input), -))", saves="operands")
def softsign(input: Tensor):
    """x / (1 + |x|).

    >>> nn.functional.softsign(torch.tensor([1.]))
    tensor([0.5000])
    """
    x = input
    if aval_of(x).dtype == dt.bool_:
        raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
    if aval_of(x).dtype not in dt.INEXACT:
        x = p.convert(x, dtype=np.dtype("float32"))
    magnitude = p.abs(x)
    below = p.add(magnitude, 1.0)
    return p.div(x, p.convert(below, dtype=aval_of(x).dtype))


@hidden
def _hardsigmoid(input: Tensor):
    require_floating("hardsigmoid", input)
    return like(act.hard_sigmoid(wide(input)), input)


@overridable
def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6.

    >>> nn.functional.hardsigmoid(torch.tensor([0., 4.]))
    tensor([0.5000, 1.0000])
    """
    return _either(_hardsigmoid, input, inplace)


@hidden
def _hardswish(input: Tensor):
    require_floating("hardswish", input)
    return like(act.hard_silu(wide(input)), input)


@overridable
def hardswish(input, inplace=False):
    """x * min(max(x + 3, 0), 6) / 6.

    >>> nn.functional.hardswish(torch.tensor([0., 4.]))
    tensor([0., 4.])
    """
    return _either(_hardswish, input, inplace)


@hidden(layout=by_first)
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
    return like(act.gated(wide(input), d), input)


# ---- softmax -------------------------------------------------------------------------------------


def _soft(input, dim, dtype, log):
    x = floated(input, dtype)
    ndim = aval_of(x).ndim
    axes = (wrap_dim(dim, ndim),)[:ndim]
    last = "lastdim_" if axes in ((), (ndim - 1,)) else ""
    require_floating(f"{'log_' * log}softmax_{last}kernel_impl", x)
    return like(softmax_of(wide(x), axes, log), x)


@torch_op(name="softmax", out=Out(EXACT, recorded=True), autocast={"cuda": "full"})
def torch_softmax(input: Tensor, dim, dtype=None, *, out=None):
    """exp(input) / sum(exp(input)) along dim.

    >>> torch.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return _soft(input, dim, dtype, log=False)


@torch_op(name="log_softmax", out=Out(EXACT, recorded=True), autocast={"cuda": "full"})
def torch_log_softmax(input: Tensor, dim, dtype=None, *, out=None):
    """The logarithm of softmax.

    >>> torch.log_softmax(torch.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    return _soft(input, dim, dtype, log=True)


IMPLICIT_DIM = (
    "Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
)


def _dim_of(name: str, dim, ndim: int) -> int:
    if dim is not None:
        return dim
    warn(IMPLICIT_DIM.format(name=name))
    return 0 if ndim in (0, 1, 3) else 1


@overridable
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) / sum(exp(input)) along dim.

    Shape and dtype are kept. IndexError for a dimension that is not there; integers need `dtype`,
    NotImplementedError otherwise.

    >>> nn.functional.softmax(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return torch_softmax(input, _dim_of("softmax", dim, input.ndim), dtype)


@overridable
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input.

    >>> nn.functional.softmin(torch.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    return torch_softmax(-input, _dim_of("softmin", dim, input.ndim), dtype)


@overridable
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax.

    >>> nn.functional.log_softmax(torch.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    return torch_log_softmax(input, _dim_of("log_softmax", dim, input.ndim), dtype)


@overridable
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax of logits with Gumbel noise; one-hot with the soft derivative if `hard`.

    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(1)
    tensor([1., 1.])
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = drawn("exponential", logits)
    soft = torch_softmax((logits - noise.log()) / tau, dim)
    return _straight_through(soft, dim) if hard else soft


@hidden
def _straight_through(input: Tensor, dim):
    a = aval_of(input)
    d = wrap_dim(dim, a.ndim)
    if not a.ndim:  # the only class
        return p.add(p.sub(full_like(input, 1), stop_gradient(input)), input)
    best = p.argmax(input, axis=d)
    places = p.iota(shape=a.shape, dtype=np.dtype("int64"), dimension=d)
    hard = p.convert(p.eq(places, spread(best, a.shape, (d,))), dtype=a.dtype)
    return p.add(p.sub(hard, stop_gradient(input)), input)


# ---- in place ------------------------------------------------------------------------------------


@overridable
def relu_(input):
    """relu, in place.

    >>> F.relu_(torch.tensor([-2., 0.5]))
    tensor([0.0000, 0.5000])
    """
    return relu(input, inplace=True)


@overridable
def threshold_(input, threshold, value):
    """threshold, in place.

    >>> F.threshold_(torch.tensor([0.5, 2.]), 1., 9.)
    tensor([9., 2.])
    """
    return in_place(torch_threshold, input, (threshold, value), {})


@overridable
def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """hardtanh, in place.

    >>> F.hardtanh_(torch.tensor([-2., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, inplace=True)


@overridable
def leaky_relu_(input, negative_slope=0.01):
    """leaky_relu, in place.

    >>> F.leaky_relu_(torch.tensor([-2., 0.5]))
    tensor([-0.0200,  0.5000])
    """
    return leaky_relu(input, negative_slope, inplace=True)


@overridable
def elu_(input, alpha=1.0):
    """elu, in place.

    >>> F.elu_(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, inplace=True)


@overridable
def celu_(input, alpha=1.0):
    """celu, in place.

    >>> F.celu_(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, inplace=True)


@overridable
def selu_(input):
    """selu, in place.

    >>> F.selu_(torch.tensor([-1., 1.]))
    tensor([-1.1113,  1.0507])
    """
    return selu(input, inplace=True)


@overridable
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """rrelu, in place.

    >>> F.rrelu_(torch.tensor([-2., 0.5]), 0.25, 0.75)
    tensor([-1.0000,  0.5000])
    """
    return rrelu(input, lower, upper, training, inplace=True)


def sigmoid(input):
    """1 / (1 + exp(-input)).

    >>> F.sigmoid(torch.tensor([0.]))
    tensor([0.5000])
    """
    return input.sigmoid()


def tanh(input):
    """The hyperbolic tangent.

    >>> F.tanh(torch.tensor([1.]))
    tensor([0.7616])
    """
    return input.tanh()
