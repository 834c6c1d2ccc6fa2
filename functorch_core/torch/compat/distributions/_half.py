"""What the distributions of absolute values share."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """Absolute values of numbers of a distribution that is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    whole: type[Distribution]  # of (0, scale)

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = self.whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """Twice the density of the whole distribution, 0 below 0."""
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        doubled = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, doubled, -math.inf)

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """2 F(x) - 1 of the whole distribution."""
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """That of the whole distribution at (1 + p) / 2."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """That of the whole distribution less log(2)."""
        return self.base_dist.entropy() - math.log(2)
