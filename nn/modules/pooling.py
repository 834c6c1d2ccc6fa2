"""Pooling."""

from __future__ import annotations

from .. import functional as F
from ._described import Described
from .module import Module
from .utils import _ntuple

# In each family the classes differ in `_function`, the name of the function of F that computes (looked up at the
# call, since packages replace it), and `_n`, the number of spatial dimensions. Inputs are (N, C, ...) or (C, ...).

# ---- maximum -------------------------------------------------------------------------------------


class _MaxPoolNd(Described):
    _shown = "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}"

    def __init__(
        self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            dilation=dilation,
            return_indices=return_indices,
            ceil_mode=ceil_mode,
        )

    def forward(self, input):
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of (N, C, L) or (C, L).

    The result is (N, C, L') with L' = (L + 2 padding - dilation (K - 1) - 1) // stride + 1 (rounded up with
    ceil_mode) and stride K by default. RuntimeError for another number of dimensions, and for a padding of more
    than K / 2.

    >>> nn.MaxPool1d(2)(torch.tensor([[1., 3., 2., 0.]]))
    tensor([[3., 2.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of (N, C, H, W) or (C, H, W).

    The result is (N, C, H', W') with H' = (H + 2 padding - dilation (K - 1) - 1) // stride + 1 (rounded up with
    ceil_mode) and stride K by default. RuntimeError for another number of dimensions, and for a padding of more
    than K / 2.

    >>> nn.MaxPool2d(3, stride=2)(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W).

    The sizes are as in MaxPool2d. RuntimeError for another number of dimensions, and for a padding of more than K /
    2.

    >>> torch.nn.MaxPool3d(2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function = "max_pool3d"


class _MaxUnpoolNd(Described):
    _n = 0
    _shown = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def __init__(self, kernel_size, stride=None, padding=0):
        each = _ntuple(self._n)
        super().__init__(
            kernel_size=each(kernel_size), padding=each(padding), stride=each(kernel_size if stride is None else stride)
        )

    def forward(self, input, indices, output_size=None):
        return getattr(F, self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """The inverse of MaxPool1d: maxima to their places, 0 elsewhere.

    The indices, int64, have the input's shape; the result is (N, C, (L - 1) stride - 2 padding + K), or
    output_size. RuntimeError for other indices.

    >>> y, places = F.max_pool1d(torch.tensor([[[1., 3., 2., 0.]]]), 2, return_indices=True)
    >>> nn.MaxUnpool1d(2)(y, places)
    tensor([[[0., 3., 2., 0.]]])
    """

    _n, _function = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """The inverse of MaxPool2d: maxima to their places, 0 elsewhere.

    The indices, int64, have the input's shape; the result is (N, C, H', W') with H' = (H - 1) stride - 2 padding +
    K, or output_size. RuntimeError for other indices, and for one beyond the result.

    >>> pooled, indices = torch.nn.MaxPool2d(2, return_indices=True)(torch.tensor([[[1., 2.], [3., 4.]]]))
    >>> torch.nn.MaxUnpool2d(2)(pooled, indices)
    tensor([[[0., 0.],
             [0., 4.]]])
    """

    _n, _function = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """The inverse of MaxPool3d: maxima to their places, 0 elsewhere.

    The sizes are as in MaxUnpool2d.

    >>> pooled, indices = torch.nn.MaxPool3d(2, return_indices=True)(torch.zeros(1, 2, 2, 2))
    >>> torch.nn.MaxUnpool3d(2)(pooled, indices).shape
    torch.Size([1, 2, 2, 2])
    """

    _n, _function = 3, "max_unpool3d"


class _FractionalMaxPool(Module):
    _n = 0

    def __init__(
        self, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None
    ):
        super().__init__()
        each, name = _ntuple(self._n), type(self).__name__
        self._check_kernel(kernel_size)
        self.kernel_size, self.return_indices = each(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _check_kernel(self, kernel_size):
        pass

    def forward(self, input):
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows whose places are drawn (Graham, 2014), for (N, C, H, W) or (C, H, W).

    The result is (N, C, *output_size), or output_ratio of each size, rounded down. ValueError for neither,
    RuntimeError for windows that do not fit.

    >>> torch.nn.FractionalMaxPool2d(2, output_size=2)(torch.zeros(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    return_indices: bool

    _n, _function = 2, "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows whose places are drawn, for (N, C, D, H, W) or (C, D, H, W).

    >>> torch.nn.FractionalMaxPool3d(2, output_size=2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    return_indices: bool

    _n, _function = 3, "fractional_max_pool3d"

    def _check_kernel(self, kernel_size):
        if any(k <= 0 for k in _ntuple(3)(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")


# ---- average and norm ----------------------------------------------------------------------------


class _AvgPoolNd(Described):
    _shown = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )

    def forward(self, input):
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool1d(Described):
    """The mean of each window of (N, C, L) or (C, L).

    The result is (N, C, L') with L' = (L + 2 padding - K) // stride + 1 (rounded up with ceil_mode) and stride K by
    default. RuntimeError for another number of dimensions, and for a padding of more than K / 2.

    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    ceil_mode: bool
    count_include_pad: bool

    _shown = _AvgPoolNd._shown

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True):
        single = _ntuple(1)
        super().__init__(
            kernel_size=single(kernel_size),
            padding=single(padding),
            stride=single(kernel_size if stride is None else stride),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of (N, C, H, W) or (C, H, W).

    The result is (N, C, H', W') with H' = (H + 2 padding - K) // stride + 1 (rounded up with ceil_mode) and stride
    K by default. RuntimeError for a padding of more than K / 2.

    >>> nn.AvgPool2d(2)(torch.ones(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    ceil_mode: bool
    count_include_pad: bool

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    The sizes are as in AvgPool2d. RuntimeError for another number of dimensions, and for a padding of more than K /
    2.

    >>> torch.nn.AvgPool3d(2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    ceil_mode: bool
    count_include_pad: bool

    _function = "avg_pool3d"


class _LPPoolNd(Described):
    _shown = "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False):
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)

    def forward(self, input):
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of (N, C, L) or (C, L).

    The result is (N, C, L') with L' = (L - K) // stride + 1 (rounded up with ceil_mode) and stride K by default.
    RuntimeError for another number of dimensions.

    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3., 4.]]))
    tensor([[5.]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of (N, C, H, W) or (C, H, W).

    >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 2, 2))
    tensor([[[2.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> torch.nn.LPPool3d(2, 2)(torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 1, 1, 1])
    """

    _function = "lp_pool3d"


# ---- adaptive ------------------------------------------------------------------------------------


class _AdaptiveMaxPoolNd(Described):
    _shown = "output_size={output_size}"

    def __init__(self, output_size, return_indices: bool = False):
        super().__init__(output_size=output_size, return_indices=return_indices)

    def forward(self, input):
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maxima of output_size windows that cover (N, C, L) or (C, L).

    The result is (N, C, output_size), RuntimeError for another number of dimensions.

    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maxima of a grid of windows that cover (N, C, H, W) or (C, H, W).

    The result is (N, C, *output_size); None keeps a size. RuntimeError for another number of dimensions.

    >>> torch.nn.AdaptiveMaxPool2d(2)(torch.zeros(1, 4, 6)).shape
    torch.Size([1, 2, 2])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maxima of a grid of windows that cover (N, C, D, H, W) or (C, D, H, W).

    The result is (N, C, *output_size); None keeps a size. RuntimeError for another number of dimensions.

    >>> torch.nn.AdaptiveMaxPool3d(2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function = "adaptive_max_pool3d"


class _AdaptiveAvgPoolNd(Described):
    _shown = "output_size={output_size}"

    def __init__(self, output_size):
        super().__init__(output_size=output_size)

    def forward(self, input):
        return getattr(F, self._function)(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of output_size windows that cover (N, C, L) or (C, L).

    The result is (N, C, output_size), RuntimeError for another number of dimensions.

    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of a grid of windows that cover (N, C, H, W) or (C, H, W).

    The result is (N, C, *output_size); None keeps a size. RuntimeError for another number of dimensions.

    >>> nn.AdaptiveAvgPool2d(1)(torch.ones(2, 3, 5, 5)).shape
    torch.Size([2, 3, 1, 1])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of a grid of windows that cover (N, C, D, H, W) or (C, D, H, W).

    The result is (N, C, *output_size); None keeps a size. RuntimeError for another number of dimensions.

    >>> torch.nn.AdaptiveAvgPool3d(2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function = "adaptive_avg_pool3d"


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]
