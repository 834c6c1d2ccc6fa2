"""The Weibull distribution."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Numbers of distribution function 1 - exp(-(x / scale)**concentration).

    >>> torch.distributions.Weibull(2., 1.).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast(scale=scale, concentration=concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def _log_gamma(self, n: int) -> Tensor:
        return torch.lgamma(1 + n * self.concentration_reciprocal)

    @property
    def mean(self) -> Tensor:
        """scale Gamma(1 + 1 / c)."""
        return self.scale * torch.exp(self._log_gamma(1))

    @property
    def mode(self) -> Tensor:
        """scale ((c - 1) / c)**(1 / c)."""
        c = self.concentration
        return self.scale * ((c - 1) / c) ** c.reciprocal()

    @property
    def variance(self) -> Tensor:
        """scale**2 (Gamma(1 + 2 / c) - Gamma(1 + 1 / c)**2)."""
        return self.scale.pow(2) * (torch.exp(self._log_gamma(2)) - torch.exp(2 * self._log_gamma(1)))

    def entropy(self) -> Tensor:
        """Euler's constant times (1 - 1 / c), plus log(scale / c) + 1."""
        shortened = self.scale * self.concentration_reciprocal
        return euler_constant * (1 - self.concentration_reciprocal) + torch.log(shortened) + 1
