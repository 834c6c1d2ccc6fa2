"""Normalisation within an example."""

from __future__ import annotations

import numbers

from .. import functional as F
from .. import init
from ._described import Described
from .linear import new_parameter
from .module import Module


class LocalResponseNorm(Described):
    """x divided by (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta.

    Channels are the second dimension, the shape is kept; ValueError for fewer than 3 dimensions.

    >>> torch.nn.LocalResponseNorm(2)(torch.zeros(1, 4, 3)).shape
    torch.Size([1, 4, 3])
    """

    size: int
    alpha: float
    beta: float
    k: float

    _shown = "{size}, alpha={alpha}, beta={beta}, k={k}"

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm by channels as in Caffe, with the windows of PyTorch's implementation.

    They reach (size - 1) // 2 channels ahead and begin as far back, one earlier than symmetric;
    channel 0, once in, is in all of them.

    >>> torch.nn.CrossMapLRN2d(2)(torch.zeros(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        ahead = int((self.size - 1) / 2)
        n, sums = input.shape[1], input.square().cumsum(1)
        last = [min(c + ahead, n - 1) for c in range(n)]
        left = [max(c - ahead - 1, 0) for c in range(n)]  # the last channel a window has lost
        total = sums[:, last] - (sums - sums[:, :1])[:, left]
        return input * (total * (self.alpha / self.size) + self.k) ** -self.beta


class _Affine(Module):
    """What follows may have a weight of ones and a bias of zeros."""

    def _make_affine(self, shape, weight: bool, bias: bool, device, dtype):
        for name, wanted in (("weight", weight), ("bias", bias)):
            made = new_parameter(*shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


def _shape(normalized_shape) -> tuple[int, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (normalized_shape,)
    return tuple(normalized_shape)


class LayerNorm(_Affine):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al., 2016).

    Shape and dtype are kept. RuntimeError if the last dimensions are not `normalized_shape`.

    >>> nn.LayerNorm(10)(torch.randn(20, 5, 10)).shape
    torch.Size([20, 5, 10])
    """

    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Normalisation of groups of channels of (N, C, ...) (Wu and He, 2018).

    Shape and dtype are kept. ValueError if num_groups does not divide num_channels, RuntimeError for another number
    of channels.

    >>> nn.GroupNorm(2, 4)(torch.ones(1, 4, 3)).shape
    torch.Size([1, 4, 3])
    """

    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        self._make_affine((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean of x^2 + eps) * weight over the last dimensions (Zhang and Sennrich, 2019).

    The shape is kept; RuntimeError if the last sizes are not normalized_shape.

    >>> nn.RMSNorm(2)(torch.tensor([3., 4.])).data
    tensor([0.8485, 1.1314])
    """

    eps: float | None
    elementwise_affine: bool

    def __init__(
        self, normalized_shape, eps: float | None = None, elementwise_affine: bool = True, device=None, dtype=None
    ):
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight", new_parameter(*self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x):
        """Normalise the last dimensions."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """What repr() shows."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
