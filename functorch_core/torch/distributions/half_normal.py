"""The half-normal distribution."""
from __future__ import annotations

import math

from ... import torch
from .._tensor_base import Tensor
from . import constraints
from .distribution import checked
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """Absolute values of normal numbers around 0.

    >>> torch.distributions.HalfNormal(1.).mean
    tensor(0.7979)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    mode = property(lambda self: torch.zeros_like(self.scale))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """Twice the density of the normal distribution, 0 below 0."""
        doubled = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, doubled, -math.inf)

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """2 F(x) - 1 of the normal distribution."""
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """That of the normal distribution at (1 + p) / 2."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """That of the normal distribution less log(2)."""
        return self.base_dist.entropy() - math.log(2)
