"""Normalisation: batch, layer, group, instance, root mean square, local response."""

from __future__ import annotations

import math

from ....kernels.normalisation import normalised_by, normalised_channels, normalised_rows
from ....kernels.reductions import affine, reciprocal_root, rms_normalised
from ....kernels.values import count_over
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import MaybeTensor, Number
from ...levels.writes import is_more_batched
from ...tape.modes import no_grad, state
from ...tensors import types as _types
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...views.cells import assign
from ...views.memory_order import image, normalised
from ..values import along, aval_of, dt, full_like, like, mean, p, require_floating, scalar, stop_gradient, wide

# ---- what they share -----------------------------------------------------------------------------


def _channelwise(x, vector):
    """A vector along the channels of x."""
    return along(like(vector, x), aval_of(x).shape, 1)


def _check_vector(name: str, vector, channels: int):
    if vector is not None and aval_of(vector).size != channels:
        raise RuntimeError(f"{name} should contain {channels} elements not {aval_of(vector).size}")


def _parameters(x, *vectors) -> list:
    """The vectors there are in the dtype of x."""
    return [None if v is None else like(v, x) for v in vectors]


# ---- batch norm ----------------------------------------------------------------------------------


def _batch_axes(x) -> tuple[int, ...]:
    return (0, *range(2, aval_of(x).ndim))


def _check_batch_norm(input, weight, bias, running_mean, running_var):
    a = aval_of(input)
    require_floating("batch_norm", input)
    if a.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    for name, vector in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        _check_vector(name, vector, a.shape[1])


@torch_op(node="native_batch_norm", layout=normalised, absent_edges=True)
def _batch_norm_train(
    input: Tensor,
    weight: MaybeTensor,
    bias: MaybeTensor,
    running_mean: MaybeTensor,
    running_var: MaybeTensor,
    momentum: Number,
    eps,
):
    """(normalised, mean, 1 / std, new running statistics if there are any)."""
    _check_batch_norm(input, weight, bias, running_mean, running_var)
    x, axes = wide(input), _batch_axes(input)
    out, middle, variance = normalised_channels(x, *_parameters(x, weight, bias), eps)
    # PyTorch's statistics have no derivative either: they are there for its backward pass.
    outs = [like(out, input), stop_gradient(middle), _inverse(variance, eps)]
    return _in_dtype_of(weight, input, outs) + _updated(running_mean, running_var, x, axes, middle, variance, momentum)


def _inverse(variance, eps):
    return stop_gradient(reciprocal_root(variance, eps))


def _updated(running_mean, running_var, x, axes, middle, variance, momentum, reduce=lambda v: v) -> list:
    """The running statistics there are, moved towards new ones."""
    count, outs = count_over(x, axes), []
    unbiased = p.mul(variance, full_like(variance, count / max(count - 1, 1)))
    for running, new in ((running_mean, middle), (running_var, unbiased)):
        if running is not None:
            new, rate = like(stop_gradient(reduce(new)), running), scalar(running, momentum)
            outs.append(p.add(p.mul(running, p.sub(full_like(rate, 1), rate)), p.mul(new, rate)))
    return outs


@torch_op(node="native_batch_norm", layout=normalised, absent_edges=True)
def _batch_norm_eval(
    input: Tensor, weight: MaybeTensor, bias: MaybeTensor, running_mean: Tensor, running_var: Tensor, eps
):
    _check_batch_norm(input, weight, bias, running_mean, running_var)
    x = wide(input)
    inverse = reciprocal_root(like(running_var, x), eps)
    return like(normalised_by(x, like(running_mean, x), inverse, *_parameters(x, weight, bias)), input)


SHARED_STATISTICS = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
    "updated in place, were not batched.\nIf you are using a module and do not need eval mode, please "
    "set `track_running_stats` to be False.If you are using a prebuilt module and do not need eval "
    "mode, please see the functorch website for resources on how to patch your module to work with "
    "vmap"
)


def _trained(input, weight, bias, running_mean, running_var, momentum, eps):
    """The normalised input and its statistics; the running ones are updated in place."""
    for running in (running_mean, running_var):
        if running is not None and input._level is not None and is_more_batched(input, running):
            raise RuntimeError(SHARED_STATISTICS)
    outs = _batch_norm_train(input, weight, bias, running_mean, running_var, momentum, eps)
    _assign_running(running_mean, running_var, outs[3:] if input.numel() else ())  # no batch leaves them as they are
    return outs[:3]


def _assign_running(running_mean, running_var, updated):
    """Give the running statistics there are their new values."""
    there = [r for r in (running_mean, running_var) if r is not None]
    with no_grad():
        for running, value in zip(there, updated):
            assign(running, value.detach(), captured=True)


NO_DERIVATIVE = (
    "The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. "
    "This input cannot have requires_grad True."
)


@overridable
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Each channel (dimension 1) normalised to mean 0 and variance 1, then scaled and shifted.

    In training by its own statistics, with which the running ones are updated in place; otherwise
    by the running ones.

    >>> nn.functional.batch_norm(torch.ones(2, 1), torch.zeros(1), torch.ones(1))
    tensor([[1.0000],
            [1.0000]])
    """
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is not None and running._ge is not None and state.enabled:
            raise RuntimeError(NO_DERIVATIVE.format(name=name))
    return torch_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def _verify_batch_size(size):
    if len(size) >= 2 and math.prod(size) // max(size[1], 1) == 1 and size[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


@composite(name="batch_norm", method=False)
def torch_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """torch.batch_norm: nn.functional.batch_norm with other places of the arguments.

    >>> x = torch.tensor([[1., 2.], [3., 6.]])
    >>> torch.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    """
    if input.ndim == 1 and not input.numel():  # PyTorch looks at no other dimension of nothing
        return input.clone()
    if training or running_mean is None or running_var is None:
        if not training:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"Expected {missing} to be defined when training=False")
        return _trained(input, weight, bias, running_mean, running_var, momentum, eps)[0]
    return _batch_norm_eval(input, weight, bias, running_mean, running_var, eps)


@composite(method=False)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, out=None):
    """batch_norm with the mean and 1 / std it used; two empty tensors in evaluation.

    >>> x = torch.tensor([[1.], [3.]])
    >>> torch.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """
    if training:
        result = _trained(input, weight, bias, running_mean, running_var, momentum, eps)
    else:
        normalised = _batch_norm_eval(input, weight, bias, running_mean, running_var, eps)
        empty = normalised.detach().new_empty((0,))
        result = (normalised, empty, empty)
    return write_out("native_batch_norm", out, tuple(result))


@composite(method=False)
def _native_batch_norm_legit(input, weight, bias, *arguments, out=None, **options):
    """native_batch_norm, of which a form without running statistics exists."""
    if arguments and isinstance(arguments[0], bool):
        arguments = (None, None, *arguments)
    return native_batch_norm(input, weight, bias, *arguments, out=out, **options)


# ---- layer norm, rms norm ------------------------------------------------------------------------


def _check_normalized(name: str, x, shape, weight, bias):
    a = aval_of(x)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., "
            "containing at"
            f" least one element, but got normalized_shape = {list(shape)}"
        )
    for what, v in (("weight", weight), ("bias", bias)):
        if v is not None and aval_of(v).shape != shape:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got "
                f"{what} of shape {list(aval_of(v).shape)} and normalized_shape = "
                f"{list(shape)}"
            )
    if a.ndim < len(shape) or a.shape[a.ndim - len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(a.shape)}"
        )


def _layer_norm(input, shape, weight, bias, eps):
    """(normalised, mean, 1 / std), the statistics with dimensions of size 1."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    _check_normalized("layer_norm", input, shape, weight, bias)
    require_floating("LayerNormKernelImpl", input)
    x = wide(input)
    axes = tuple(range(aval_of(x).ndim - len(shape), aval_of(x).ndim))
    out, middle, variance = normalised_rows(x, len(shape), *_parameters(x, weight, bias), eps)
    statistics = (p.expand_dims(v, dims=axes) for v in (middle, reciprocal_root(variance, eps)))
    return like(out, input), *statistics


@torch_op(name="layer_norm", method=False, node="native_layer_norm", autocast={"cuda": "full"}, absent_edges=True)
def torch_layer_norm(
    input: Tensor, normalized_shape, weight: MaybeTensor = None, bias: MaybeTensor = None, eps=1e-5, cudnn_enable=True
):
    """The last dimensions, of normalized_shape, normalised, scaled and shifted.

    >>> torch.layer_norm(torch.tensor([1., 3.]), (2,))
    tensor([-1.0000,  1.0000])
    """
    return _layer_norm(input, normalized_shape, weight, bias, eps)[0]


def _in_dtype_of(weight, input, outs) -> list:
    """The statistics in the dtype of the parameters, if there are any, or of the input."""
    return [outs[0], *(like(v, input if weight is None else weight) for v in outs[1:])]


@torch_op(method=False, returns=tuple, autocast={"cuda": "full"}, absent_edges=True)
def native_layer_norm(input: Tensor, normalized_shape, weight: MaybeTensor, bias: MaybeTensor, eps):
    """layer_norm with the mean and 1 / std it used.

    >>> torch.native_layer_norm(torch.tensor([[1., 3.]]), [2], None, None, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    out, *statistics = _in_dtype_of(weight, input, _layer_norm(input, normalized_shape, weight, bias, eps))
    return [out, *map(stop_gradient, statistics)]


@overridable
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """The last dimensions, of normalized_shape, normalised to mean 0 and variance 1.

    >>> nn.functional.layer_norm(torch.tensor([1., 3.]), (2,))
    tensor([-1.0000,  1.0000])
    """
    return torch_layer_norm(input, normalized_shape, weight, bias, eps)


def _rms_node(a):
    scaled = "Mul0(input, Rsqrt0(Add1(Mean1(Pow0(input)))))"
    return scaled if a.weight is None else f"Mul0({scaled}, weight)"


@torch_op(method=False, autocast={"cuda": "full"}, node=_rms_node)
def rms_norm(input: Tensor, normalized_shape, weight: MaybeTensor = None, eps=None):
    """The last dimensions divided by the root of their mean square.

    >>> nn.functional.rms_norm(torch.tensor([3., 3.]), (2,))
    tensor([1., 1.])
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    _check_normalized("rms_norm", input, shape, weight, None)
    x = wide(input)
    a = aval_of(x)
    eps = float(dt.finfo(a.dtype).eps) if eps is None else eps
    axes = tuple(range(a.ndim - len(shape), a.ndim))
    return like(affine(rms_normalised(x, axes, eps), weight, None), input)


# ---- group norm, instance norm -------------------------------------------------------------------


def _group_norm(input, groups, weight, bias, eps):
    """(normalised, mean, 1 / std), the statistics of shape (N, groups)."""
    a = aval_of(input)
    if a.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {a.ndim}")
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if a.shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, "
            "but got"
            f" input of shape {list(a.shape)} and num_groups={groups}"
        )
    for name, v in (("weight", weight), ("bias", bias)):
        if v is not None and aval_of(v).shape != (a.shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of "
                "channels"
                f" in input, but got {name} of shape {list(aval_of(v).shape)} and "
                "input "
                f"of shape {list(a.shape)}"
            )
    require_floating("GroupNormKernelImpl", input)
    x = wide(input)
    out, middle, variance = normalised_channels(x, *_parameters(x, weight, bias), eps, groups)
    return like(out, input), middle, reciprocal_root(variance, eps)


@torch_op(
    name="group_norm",
    method=False,
    node="native_group_norm",
    autocast={"cuda": "full"},
    layout=image,
    absent_edges=True,
)
def torch_group_norm(
    input: Tensor, num_groups, weight: MaybeTensor = None, bias: MaybeTensor = None, eps=1e-5, cudnn_enabled=True
):
    """Groups of channels of each example normalised, the channels scaled and shifted.

    >>> torch.group_norm(torch.tensor([[1., 3., 2., 6.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    return _group_norm(input, num_groups, weight, bias, eps)[0]


@torch_op(method=False, returns=tuple, absent_edges=True)
def native_group_norm(input: Tensor, weight: MaybeTensor, bias: MaybeTensor, N, C, HxW, group, eps):
    """group_norm with the mean and 1 / std it used.

    >>> x = torch.tensor([[[1.], [3.]]])
    >>> torch.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)
    (tensor([[[-1.],
             [ 1.]]]), tensor([[2.]]), tensor([[1.]]))
    """
    return _in_dtype_of(weight, input, _group_norm(input, group, weight, bias, eps))


@overridable
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Groups of channels of each example normalised, the channels scaled and shifted.

    >>> nn.functional.group_norm(torch.tensor([[1., 3.]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    groups = [input.shape[0] * input.shape[1] // max(num_groups, 1), num_groups]
    _verify_batch_size([*groups, *input.shape[2:]])
    return torch_group_norm(input, num_groups, weight, bias, eps)


@composite(name="instance_norm", method=False)
def torch_instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True
):
    """torch.instance_norm: nn.functional.instance_norm with other places of the arguments.

    >>> x = torch.tensor([[[1., 3.]]])
    >>> torch.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return _batch_norm_eval(input, weight, bias, running_mean, running_var, eps)
    outs = _instance_norm(input, weight, bias, running_mean, running_var, momentum, eps)
    _assign_running(running_mean, running_var, outs[1:])
    return outs[0]


def _instance_norm_node(a):
    if a.input.ndim < 3:
        return "ViewBackward0"
    weight, bias = ("-" if x is None else f"Repeat0({name})" for x, name in ((a.weight, "weight"), (a.bias, "bias")))
    return f"View0(NativeBatchNorm0(View0(input), {weight}, {bias}))"


@torch_op(node=_instance_norm_node)
def _instance_norm(
    input: Tensor,
    weight: MaybeTensor,
    bias: MaybeTensor,
    running_mean: MaybeTensor,
    running_var: MaybeTensor,
    momentum: Number,
    eps,
):
    _check_batch_norm(input, weight, bias, running_mean, running_var)
    x = wide(input)
    axes = tuple(range(2, aval_of(x).ndim))
    channels = aval_of(x).shape[1]
    out, middle, variance = normalised_channels(x, *_parameters(x, weight, bias), eps, channels)
    updated = _updated(
        running_mean, running_var, x, axes, middle, variance, momentum, lambda statistic: mean(statistic, (0,))
    )
    return [like(out, input), *updated]


@overridable
def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    """Each channel of each example normalised, then scaled and shifted.

    >>> nn.functional.instance_norm(torch.tensor([[[1., 3.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats:
        size = input.size()
        if len(size) < 2 or math.prod(size[2:]) == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")
    return torch_instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


# ---- local response norm -------------------------------------------------------------------------


def _response_norm_node(a):
    squares = "Mul0(input, input)"
    if a.input.ndim == 3:
        means = f"Squeeze1(AvgPool2D0(ConstantPadNd0(Unsqueeze0({squares}))))"
    else:
        means = f"View0(Squeeze1(AvgPool3D0(ConstantPadNd0(View0({squares})))))"
    return f"Div0(input, Pow0(Add0(Mul0({means}, -), -)))"


@torch_op(method=False, function=False, layout=image, node=_response_norm_node, saves="operands")
def local_response_norm(input: Tensor, size, alpha=1e-4, beta=0.75, k=1.0):
    """input / (k + alpha * the mean square of `size` neighbouring channels) ** beta.

    >>> nn.functional.local_response_norm(torch.ones(1, 1, 1), 1, alpha=0.)
    tensor([[[1.]]])
    """
    a = aval_of(input)
    if a.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {a.ndim} dimensions)"
        )
    if not a.size:
        return input
    if a.dtype not in dt.INEXACT:
        input = p.convert(input, dtype=_types.defaults.dtype.numpy)
    x = wide(input)
    window = (1, size) + (1,) * (a.ndim - 2)
    pads = ((0, 0), (size // 2, (size - 1) // 2)) + ((0, 0),) * (a.ndim - 2)
    sums = p.reduce_window_sum(p.mul(x, x), window=window, padding=pads)
    base = p.add(p.mul(p.div(sums, full_like(sums, size)), full_like(sums, alpha)), full_like(sums, k))
    return like(p.div(x, p.pow(base, full_like(base, beta))), input)
