"""Convolutions."""

from __future__ import annotations

import math

from ...core.warn import warn
from .. import functional as F
from .. import init
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin
from .linear import draw_bias, new_parameter
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}
WRONG_INPUT = "Expected {n}D (unbatched) or {m}D (batched) input to {name}, but got input of size: {size}"


class _ConvNd(Module):
    """What all convolutions share; `_n` is the number of spatial dimensions."""

    _n = 0

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ):
        super().__init__()
        _check(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.transposed, self.output_padding = dilation, transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        where = {"device": device, "dtype": dtype}
        self.weight = new_parameter(*self._weight_shape(), **where)
        self.register_parameter("bias", new_parameter(out_channels, **where) if bias else None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        return outer, inner // self.groups, *self.kernel_size

    def _padding_for_pad(self):
        """The padding as F.pad takes it: from the last dimension, both sides."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]

    def reset_parameters(self):
        """Draw weight and bias uniformly, within 1 / sqrt(fan in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        draw_bias(self.weight, self.bias)

    def extra_repr(self):
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        shown += f", stride={self.stride}"
        for name, default in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (default,) * len(value):
                shown += f", {name}={value}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        if self.padding_mode != "zeros":
            shown += f", padding_mode={self.padding_mode}"
        return shown

    def __setstate__(self, state):
        super().__setstate__({"padding_mode": "zeros", **state})


def _check(in_channels, out_channels, groups, padding, stride, padding_mode):
    """ValueError for arguments that do not fit."""
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of { {'same', 'valid'} }")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{padding_mode}'")


class _Conv(_ConvNd):
    """A convolution of (N, C, ...) or (C, ...); F.`_function`, as it is at the call, computes it."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ):
        each = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding if isinstance(padding, str) else each(padding),
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, self._function)(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution of (N, C_in, L) or (C_in, L) with a weight (C_out, C_in / groups, K).

    The result is (N, C_out, L') with L' = (L + 2 padding - dilation (K - 1) - 1) // stride + 1. The input has the
    weight's dtype; RuntimeError for other channels, numbers of dimensions or dtypes, ValueError for channels that
    `groups` does not divide.

    >>> nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _n, _function = 1, "conv1d"


class Conv2d(_Conv):
    """Convolution of (N, C_in, H, W) or (C_in, H, W) with a weight (C_out, C_in / groups, K, K).

    The result is (N, C_out, H', W') with H' = (H + 2 padding - dilation (K - 1) - 1) // stride + 1. The input has
    the weight's dtype; RuntimeError for other channels, numbers of dimensions or dtypes, ValueError for channels
    that `groups` does not divide.

    >>> nn.Conv2d(16, 33, (3, 5), stride=(2, 1))(torch.randn(20, 16, 50, 100)).shape
    torch.Size([20, 33, 24, 96])
    """

    _n, _function = 2, "conv2d"


class Conv3d(_Conv):
    """Convolution of (N, C_in, D, H, W) or (C_in, D, H, W).

    The sizes are as in Conv2d. RuntimeError for other channels, numbers of dimensions or dtypes.

    >>> nn.Conv3d(1, 2, 3)(torch.ones(1, 1, 5, 5, 5)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _n, _function = 3, "conv3d"


# ---- transposed ----------------------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """What transposed convolutions share, also those of other packages."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """What to add so that the output has the wanted size; ValueError if that cannot be."""
        if output_size is None:
            return self.output_padding
        n, lead = num_spatial_dims, input.dim() - num_spatial_dims
        if len(output_size) == lead + n:
            output_size = output_size[lead:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have "
                f"{n} or {lead + n} elements (got {len(output_size)})"
            )
        dilation = dilation or (1,) * n
        smallest = [
            (input.shape[lead + d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1
            for d in range(n)
        ]
        largest = [low + s - 1 for low, s in zip(smallest, stride)]
        if any(not a <= size <= b for a, size, b in zip(smallest, output_size, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range "
                f"from {smallest} to {largest} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest)]


class _ConvTransposeMixin(_ConvTransposeNd):
    """_ConvTransposeNd by its former name, for classes that derive from it."""

    def __init__(self, *args, **kwargs):
        warn("`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs.", FutureWarning)
        super().__init__(*args, **kwargs)


class _ConvTranspose(_ConvTransposeNd):
    """A transposed convolution of (N, C, ...) or (C, ...); F.`_function`, as it is at the call, computes it."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups: int = 1,
        bias: bool = True,
        dilation=1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ):
        each = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input, output_size=None):
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for ConvTranspose{self._n}d")
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self._n, self.dilation
        )
        return getattr(F, self._function)(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of (N, C_in, L) with a weight (C_in, C_out / groups, K).

    The result is (N, C_out, L') with L' = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1.
    RuntimeError for other channels or dtypes, and for an output_padding that is no smaller than stride or dilation.

    >>> nn.ConvTranspose1d(1, 2, 3, stride=2)(torch.ones(1, 1, 4)).shape
    torch.Size([1, 2, 9])
    """

    _n, _function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of (N, C_in, H, W) with a weight (C_in, C_out / groups, K, K).

    The result is (N, C_out, H', W') with H' = (H - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1.
    The input has the weight's dtype; RuntimeError for other channels, numbers of dimensions or dtypes, ValueError
    for channels that `groups` does not divide.

    >>> nn.ConvTranspose2d(1, 2, 3, stride=2)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 2, 9, 9])
    """

    _n, _function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of (N, C_in, D, H, W).

    The sizes are as in ConvTranspose2d. RuntimeError for other channels, numbers of dimensions or dtypes.

    >>> torch.nn.ConvTranspose3d(1, 2, 3)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([2, 6, 6, 6])
    """

    _n, _function = 3, "conv_transpose3d"


# ---- lazy ----------------------------------------------------------------------------------------


class _LazyConvXdMixin(LazyModuleMixin):
    """in_channels is the first input's number of channels."""

    def _make_lazy(self, out_channels: int, bias: bool, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input) -> int:
        if input.dim() not in (self._n + 1, self._n + 2):
            raise RuntimeError(
                WRONG_INPUT.format(n=self._n + 1, m=self._n + 2, size=input.shape, name=type(self).__name__)
            )
        return input.shape[-self._n - 1]

    def _get_num_spatial_dims(self) -> int:
        return self._n


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups: int = 1,
        bias: bool = True,
        dilation=1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d whose in_channels comes from the first input.

    >>> torch.nn.LazyConv1d(4, 3)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 4, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d whose in_channels comes from the first input.

    >>> torch.nn.LazyConv2d(4, 3)(torch.zeros(1, 2, 5, 5)).shape
    torch.Size([1, 4, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d whose in_channels comes from the first input.

    >>> torch.nn.LazyConv3d(4, 3)(torch.zeros(1, 2, 5, 5, 5)).shape
    torch.Size([1, 4, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """ConvTranspose1d whose in_channels comes from the first input.

    >>> torch.nn.LazyConvTranspose1d(4, 3)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 4, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d whose in_channels comes from the first input.

    >>> torch.nn.LazyConvTranspose2d(4, 3)(torch.zeros(1, 2, 5, 5)).shape
    torch.Size([1, 4, 7, 7])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """ConvTranspose3d whose in_channels comes from the first input.

    >>> torch.nn.LazyConvTranspose3d(4, 3)(torch.zeros(1, 2, 5, 5, 5)).shape
    torch.Size([1, 4, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d


__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]
