"""Padding."""

from __future__ import annotations

from .. import functional as F
from ._described import Described
from .utils import _ntuple

# In each family the classes differ in `_n`, the number of spatial dimensions. `padding` is one
# number for all sides or (left, right, top, bottom, front, back). Inputs are (N, C, ...) or
# (C, ...).


class _PadNd(Described):
    """Padding with values from the input; `_mode` is F.pad's."""

    _n, _mode, _shown = 0, "", "{padding}"

    def __init__(self, padding):
        super().__init__(padding=_ntuple(2 * self._n)(padding))

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)


class CircularPad1d(_PadNd):
    """Padding with the input, repeated periodically.

    (N, C, L) or (C, L) to L + left + right. RuntimeError for a padding of more than L, ValueError for another
    number of dimensions.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _n, _mode = 1, "circular"

    def forward(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad2d(CircularPad1d):
    """Padding with the input, repeated periodically.

    (N, C, H, W) or (C, H, W) to H + top + bottom, W + left + right. RuntimeError for a padding of more than the
    size, ValueError for another number of dimensions.

    >>> torch.nn.CircularPad2d(1)(torch.zeros(1, 2, 3)).shape
    torch.Size([1, 4, 5])
    """

    _n = 2


class CircularPad3d(CircularPad1d):
    """Padding with the input, repeated periodically.

    >>> torch.nn.CircularPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3


class ReflectionPad1d(_PadNd):
    """Padding with the input, reflected at its border.

    (N, C, L) or (C, L) to L + left + right. RuntimeError for a padding of L or more.

    >>> nn.ReflectionPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    _n, _mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Padding with the input, reflected at its border.

    (N, C, H, W) or (C, H, W) to H + top + bottom, W + left + right. RuntimeError for a padding of the size or more.

    >>> torch.nn.ReflectionPad2d(1)(torch.zeros(1, 2, 3)).shape
    torch.Size([1, 4, 5])
    """

    _n, _mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Padding with the input, reflected at its border.

    The last three of 4 or 5 dimensions grow. RuntimeError for a padding of the size or more.

    >>> torch.nn.ReflectionPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n, _mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Padding with the input's border.

    (N, C, L) or (C, L) to L + left + right; NotImplementedError for fewer dimensions.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    _n, _mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Padding with the input's border.

    (N, C, H, W) or (C, H, W) to H + top + bottom, W + left + right; NotImplementedError for fewer dimensions.

    >>> torch.nn.ReplicationPad2d(1)(torch.zeros(1, 2, 3)).shape
    torch.Size([1, 4, 5])
    """

    _n, _mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Padding with the input's border.

    >>> torch.nn.ReplicationPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n, _mode = 3, "replicate"


class _ConstantPadNd(Described):
    _n, _shown = 0, "padding={padding}, value={value}"

    def __init__(self, padding, value: float):
        super().__init__(padding=_ntuple(2 * self._n)(padding), value=value)

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd):
    """Padding with a value.

    (..., L) to L + left + right; negative numbers cut off, RuntimeError if nothing can be left.

    >>> nn.ConstantPad1d(1, 5.)(torch.ones(1, 2))
    tensor([[5., 1., 1., 5.]])
    """

    _n = 1


class ConstantPad2d(_ConstantPadNd):
    """Padding with a value.

    >>> torch.nn.ConstantPad2d(1, 9.)(torch.zeros(1, 1, 1))
    tensor([[[9., 9., 9.],
             [9., 0., 9.],
             [9., 9., 9.]]])
    """

    _n = 2


class ConstantPad3d(_ConstantPadNd):
    """Padding with a value.

    >>> torch.nn.ConstantPad3d(1, 9.)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3


class _Zeros:
    _shown = "{padding}"

    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ZeroPad1d(_Zeros, ConstantPad1d):
    """Padding with zeros.

    (..., L) to L + left + right; negative numbers cut off, RuntimeError if nothing can be left.

    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[0., 1., 2., 3., 0.]])
    """


class ZeroPad2d(_Zeros, ConstantPad2d):
    """Padding with zeros.

    >>> nn.ZeroPad2d(1)(torch.ones(1, 1, 1))
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """


class ZeroPad3d(_Zeros, ConstantPad3d):
    """Padding with zeros.

    >>> torch.nn.ZeroPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """


__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
