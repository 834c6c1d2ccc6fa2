"""The Kumaraswamy distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers of distribution function 1 - (1 - x**c1)**c0.

    >>> torch.distributions.Kumaraswamy(1., 3.).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._broadcast(concentration1=concentration1, concentration0=concentration0)
        zero = torch.zeros_like(self.concentration0)
        base = Uniform(zero, zero + 1, validate_args=validate_args)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """E x**n = c0 B(1 + n / c1, c0)."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return torch.exp(b.log() + torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b))

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    @property
    def mode(self) -> Tensor:
        """((c1 - 1) / (c1 c0 - 1))**(1 / c1), NaN where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = (torch.log1p(-a.reciprocal()) - torch.log1p(-(a * b).reciprocal()) - b.log()) / a
        return log_mode.exp().masked_fill((a < 1) | (b < 1), math.nan)

    def entropy(self) -> Tensor:
        """(1 - 1 / c0) + (1 - 1 / c1) H(c0) - log(c1 c0), H the harmonic number."""
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
