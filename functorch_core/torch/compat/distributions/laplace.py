"""The Laplace distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Numbers of density exp(-|x - loc| / scale) / (2 scale).

    >>> torch.distributions.Laplace(0., 1.).log_prob(torch.tensor(0.))
    tensor(-0.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        shape = self._broadcast(loc=loc, scale=scale)
        super().__init__(shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """loc + scale times the inverse distribution function of a uniform number of (-1, 1)."""
        shape, eps = self._extended_shape(sample_shape), torch.finfo(self.loc.dtype).eps
        u = self.loc.new_empty(shape).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-log(2 scale) - |z|."""
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """exp(-|z|) / 2 on the left, 1 minus that on the right."""
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * torch.expm1(-z.abs())

    def icdf(self, value: Tensor) -> Tensor:
        """loc - scale sign(p - 1/2) log(1 - 2 |p - 1/2|)."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * torch.log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 scale)."""
        return 1 + torch.log(2 * self.scale)
