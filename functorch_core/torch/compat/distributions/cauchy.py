"""The Cauchy distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Numbers of density 1 / (pi scale (1 + z**2)), z = (x - loc) / scale; without moments.

    >>> torch.distributions.Cauchy(0., 1.).log_prob(torch.tensor(0.))
    tensor(-1.1447)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        shape = self._broadcast(loc=loc, scale=scale)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self._filled(math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self._filled(math.inf))

    def _filled(self, number: float) -> Tensor:
        return torch.full(self._extended_shape(), number, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """loc + scale times standard Cauchy numbers."""
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + drawn * self.scale

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-log(pi) - log(scale) - log(1 + z**2)."""
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """atan(z) / pi + 1/2."""
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """loc + scale tan(pi (p - 1/2))."""
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4 pi scale)."""
        return math.log(4 * math.pi) + self.scale.log()
