"""Convolutions and their transposes."""

from __future__ import annotations

from ....core.warn import warn_once
from ...dispatch.op import torch_op
from ...dispatch.slots import MaybeTensor
from ...tensors.base import Tensor
from ...views.memory_order import convolved
from ..values import aval_of, dt, name_of, p, permuted

# ---- arguments -----------------------------------------------------------------------------------


def ntuple(value, n: int, name: str = "argument") -> tuple[int, ...]:
    """An int or a sequence as n ints; RuntimeError for another length."""
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            return tuple(map(int, value)) * n
        if len(value) != n:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {n} "
                "values "
                f"to match the convolution dimensions, but got {name}={list(value)}"
            )
        return tuple(map(int, value))
    return (int(value),) * n


BIASED = (
    "Given weight of size {w}, expected bias to be 1-dimensional with {n} elements, but got bias of size {b} instead"
)
BATCHED = "Expected {a}D (unbatched) or {b}D (batched) input to conv{t}{n}d, but got input of size: {x}"


def _check(x, w, bias, n: int, stride, dilation, groups: int, transposed: bool):
    kind = "_transpose" if transposed else ""
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(BATCHED.format(a=n + 1, b=n + 2, t=kind, n=n, x=list(x.shape)))
    if w.ndim != n + 2:
        raise RuntimeError(f"expected weight to be {n + 2}-dimensional, but got weight of size {list(w.shape)} instead")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if 0 in w.shape[2:]:
        raise RuntimeError(f"Kernel size should be greater than zero, but got shape {list(w.shape)}")
    _check_channels(x.shape if x.ndim == n + 2 else (1, *x.shape), w.shape, groups, transposed)
    made = w.shape[1] * groups if transposed else w.shape[0]
    if bias is not None and aval_of(bias).shape != (made,):
        raise RuntimeError(BIASED.format(w=list(w.shape), n=made, b=list(aval_of(bias).shape)))


def _check_channels(x, w, groups: int, transposed: bool):
    head = f"Given groups={groups}, weight of size {list(w)}, "
    if transposed:
        if x[1] != w[0]:
            raise RuntimeError(
                f"Given transposed=True, weight of size {list(w)}, expected input"
                f"{list(x)} to have {w[0]} channels, but got {x[1]} channels "
                "instead"
            )
        if x[1] % groups:
            raise RuntimeError(
                f"{head}expected weight to be divisible by {groups} at dimension "
                "0, but"
                f" got weight of size {list(w)} instead"
            )
        return
    if w[0] < groups:
        raise RuntimeError(
            f"{head}expected weight to be at least {groups} at dimension 0, but got weight of size {list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"{head}expected weight to be divisible by {groups} at dimension 0, "
            "but got"
            f" weight of size [{list(w)}] instead"
        )
    if x[1] != w[1] * groups:
        raise RuntimeError(
            f"{head}expected input{list(x)} to have {w[1] * groups} channels, but got {x[1]} channels instead"
        )


def _check_dtypes(x, w, bias):
    if aval_of(x).dtype != aval_of(w).dtype:
        raise RuntimeError(f"Input type ({name_of(x)}) and weight type ({name_of(w)}) should be the same")
    if bias is not None and aval_of(bias).dtype != aval_of(x).dtype:
        raise RuntimeError(f"Input type ({name_of(x)}) and bias type ({name_of(bias)}) should be the same")
    if aval_of(x).dtype == dt.bool_:
        raise NotImplementedError("\"convolution\" not implemented for 'Bool'")


COPIED = (
    "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
    "created"
)


def _paddings(padding, kernel, stride, dilation, n: int):
    """(low, high) for each dimension, of ints or 'valid' or 'same'."""
    if padding == "valid":
        return ((0, 0),) * n
    if padding == "same":
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
        if any(t % 2 for t in totals):
            warn_once(COPIED)
        return tuple((t // 2, t - t // 2) for t in totals)
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    padding = ntuple(padding, n, "padding")
    if any(q < 0 for q in padding):
        raise RuntimeError("negative padding is not supported")
    return tuple((q, q) for q in padding)


# ---- convolution ---------------------------------------------------------------------------------


def convolve(x, w, bias, n: int, stride, padding, dilation, groups: int):
    """conv{n}d of values."""
    stride, dilation = ntuple(stride, n, "stride"), ntuple(dilation, n, "dilation")
    _check(aval_of(x), aval_of(w), bias, n, stride, dilation, groups, False)
    _check_dtypes(x, w, bias)
    a, kernel = aval_of(x), aval_of(w).shape[2:]
    pads = _paddings(padding, kernel, stride, dilation, n)
    _check_reach(a.shape[-n:], kernel, pads, dilation)
    batched = x if a.ndim == n + 2 else p.expand_dims(x, dims=(0,))
    # Channels stay first here: 241 and 242 ms for a residual block with its gradient either way.
    out = p.conv(batched, w, strides=stride, padding=pads, rhs_dilation=dilation, feature_groups=groups)
    return _finish(out, bias, a.ndim == n + 2)


def _check_reach(spatial, kernel, pads, dilation):
    padded = [m + low + high for m, (low, high) in zip(spatial, pads)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(m < r for m, r in zip(padded, reach)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel "
            "size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )


def _finish(out, bias, batched: bool):
    """The bias along channels; no batch dimension if the input had none."""
    if bias is not None:
        shape = aval_of(out).shape
        out = p.add(out, p.broadcast_in_dim(bias, shape=shape, dims=(1,)))
    return out if batched else p.squeeze(out, dims=(0,))


def _node_of(n: int):
    """PyTorch adds the batch dimension to one example and takes it off."""
    one = "Squeeze1(Convolution0(Unsqueeze0(input), weight, bias))"
    return lambda a: one if a.input.ndim == n + 1 else "ConvolutionBackward0"


@torch_op(method=False, node=_node_of(1), autocast="low", absent_edges=True)
def conv1d(input: Tensor, weight: Tensor, bias: MaybeTensor = None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation over one dimension: (N, C, L) with (out, C / groups, k).

    >>> nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """
    return convolve(input, weight, bias, 1, stride, padding, dilation, groups)


@torch_op(method=False, node=_node_of(2), autocast="low", layout=convolved, absent_edges=True)
def conv2d(input: Tensor, weight: Tensor, bias: MaybeTensor = None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation over two dimensions: (N, C, H, W) with (out, C / groups, kH, kW).

    >>> nn.functional.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    return convolve(input, weight, bias, 2, stride, padding, dilation, groups)


@torch_op(method=False, node=_node_of(3), autocast="low", layout=convolved, absent_edges=True)
def conv3d(input: Tensor, weight: Tensor, bias: MaybeTensor = None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation over three dimensions.

    >>> nn.functional.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2))
    tensor([[[[[8.]]]]])
    """
    return convolve(input, weight, bias, 3, stride, padding, dilation, groups)


@torch_op(method=False, autocast="low")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad=0):
    """Cross-correlation over the first dimension: (time, batch, in) with (k, in, out).

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    if aval_of(input).ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if aval_of(weight).ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if aval_of(bias).ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if aval_of(input).shape[2] != aval_of(weight).shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if aval_of(bias).shape[0] != aval_of(weight).shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    out = p.conv(input, weight, padding=((pad, pad),), dims=((1, 2, 0), (2, 1, 0), (1, 2, 0)))
    return p.add(out, p.broadcast_in_dim(bias, shape=aval_of(out).shape, dims=(2,)))


# ---- transposed convolution ----------------------------------------------------------------------


def convolve_transposed(x, w, bias, n: int, stride, padding, output_padding, groups: int, dilation):
    """conv_transpose{n}d of values: the array dilated by the strides, the kernel turned round."""
    if isinstance(padding, str):
        raise TypeError(f"conv_transpose{n}d(): argument 'padding' must be tuple of ints, not str")
    stride, dilation = ntuple(stride, n, "stride"), ntuple(dilation, n, "dilation")
    padding, extra = ntuple(padding, n, "padding"), ntuple(output_padding, n, "output_padding")
    _check(aval_of(x), aval_of(w), bias, n, stride, dilation, groups, True)
    _check_dtypes(x, w, bias)
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding={list(extra)}"
        )
    a, kernel = aval_of(x), aval_of(w).shape[2:]
    reach = [d * (k - 1) for k, d in zip(kernel, dilation)]
    pads = tuple((r - q, r - q + e) for r, q, e in zip(reach, padding, extra))
    _check_size(a.shape[-n:], stride, pads, reach)
    batched = x if a.ndim == n + 2 else p.expand_dims(x, dims=(0,))
    kernel_ = p.reverse(_turned(w, groups), dims=tuple(range(2, n + 2)))
    out = p.conv(batched, kernel_, padding=pads, lhs_dilation=stride, rhs_dilation=dilation, feature_groups=groups)
    return _finish(out, bias, a.ndim == n + 2)


def _check_size(spatial, stride, pads, reach):
    sizes = [(m - 1) * s + low + high - r + 1 for m, s, (low, high), r in zip(spatial, stride, pads, reach)]
    if any(m < 1 for m in sizes):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, spatial))}). "
            f"Calculated output size per channel: ({' x '.join(map(str, sizes))}). "
            "Output size is too small"
        )


def _turned(w, groups: int):
    """(in, out / groups, ...) as (out, in / groups, ...)."""
    shape = aval_of(w).shape
    inner, outer = shape[0] // groups, shape[1]
    w = p.reshape(w, shape=(groups, inner, outer, *shape[2:]))
    w = permuted(w, (0, 2, 1, *range(3, w.aval.ndim)))
    return p.reshape(w, shape=(groups * outer, inner, *shape[2:]))


@torch_op(method=False, node=_node_of(1), autocast="low", absent_edges=True)
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: MaybeTensor = None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    """The transpose of conv1d as a function of its input: (N, C, L) with (C, out / groups, k).

    >>> nn.functional.conv_transpose1d(torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return convolve_transposed(input, weight, bias, 1, stride, padding, output_padding, groups, dilation)


@torch_op(method=False, node=_node_of(2), autocast="low", layout=convolved, absent_edges=True)
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: MaybeTensor = None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    """The transpose of conv2d as a function of its input.

    >>> nn.functional.conv_transpose2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """
    return convolve_transposed(input, weight, bias, 2, stride, padding, output_padding, groups, dilation)


@torch_op(method=False, node=_node_of(3), autocast="low", layout=convolved, absent_edges=True)
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: MaybeTensor = None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    """The transpose of conv3d as a function of its input.

    >>> nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 1.]]]]])
    """
    return convolve_transposed(input, weight, bias, 3, stride, padding, output_padding, groups, dilation)


@torch_op(method=False, autocast="low", layout=convolved, absent_edges=True)
def convolution(
    input: Tensor, weight: Tensor, bias: MaybeTensor, stride, padding, dilation, transposed, output_padding, groups
):
    """A convolution of any number of dimensions, or its transpose.

    >>> x, w = torch.arange(4.).view(1, 1, 4), torch.ones(1, 1, 2)
    >>> torch.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[1., 3., 5.]]])
    """
    n = aval_of(weight).ndim - 2
    if transposed:
        return convolve_transposed(input, weight, bias, n, stride, padding, output_padding, groups, dilation)
    return convolve(input, weight, bias, n, stride, padding, dilation, groups)
