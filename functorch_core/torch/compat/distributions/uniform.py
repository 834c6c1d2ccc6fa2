"""The uniform distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers of [low, high), all equally likely.

    >>> torch.distributions.Uniform(0., 4.).log_prob(torch.tensor(1.))
    tensor(-1.3863)
    """

    has_rsample = True

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        shape = self._broadcast(low=low, high=high)
        super().__init__(shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        """low below high."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """[low, high]."""
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """low + (high - low) times uniform numbers of [0, 1)."""
        shape = self._extended_shape(sample_shape)
        drawn = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-log(high - low), -inf outside."""
        inside = (self.low <= value) & (value < self.high)
        return torch.log(inside.type_as(self.low)) - torch.log(self.high - self.low)

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """(x - low) / (high - low), clipped."""
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """low + p (high - low)."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """log(high - low)."""
        return torch.log(self.high - self.low)
