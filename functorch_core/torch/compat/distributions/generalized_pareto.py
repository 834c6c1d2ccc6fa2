"""The generalized Pareto distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Numbers whose survival function is (1 + c z)**(-1 / c), z = (x - loc) / scale, c the
    concentration; exp(-z) for c = 0.

    >>> torch.distributions.GeneralizedPareto(0., 1., .5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._broadcast(loc=loc, scale=scale, concentration=concentration)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From loc to infinity, or to loc - scale / c for negative c."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, math.inf))

    def _is_exponential(self) -> Tensor:
        return torch.isclose(self.concentration, torch.zeros_like(self.concentration))

    def _safe_concentration(self) -> Tensor:
        """c, and 1 where it is 0."""
        return torch.where(self._is_exponential(), 1.0, self.concentration)

    def _z(self, value) -> Tensor:
        return (value - self.loc) / self.scale

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """The inverse of the distribution function at uniform numbers."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-(1 + 1 / c) log(1 + c z) - log(scale)."""
        z, c = self._z(value), self._safe_concentration()
        power = -(1 + 1 / c) * torch.log1p(c * z)
        return torch.where(self._is_exponential(), -z, power) - self.scale.log()

    @checked
    def log_survival_function(self, value: Tensor) -> Tensor:
        """-log(1 + c z) / c."""
        z, c = self._z(value), self._safe_concentration()
        return torch.where(self._is_exponential(), -z, -torch.log1p(c * z) / c)

    @checked
    def log_cdf(self, value: Tensor) -> Tensor:
        """log(1 - survival function)."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """1 - survival function."""
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """loc + scale ((1 - p)**-c - 1) / c."""
        c, log_rest = self._safe_concentration(), torch.log1p(-value)
        z = torch.where(self._is_exponential(), -log_rest, torch.expm1(-c * log_rest) / c)
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        """loc + scale / (1 - c), NaN from c = 1 on."""
        c = self.concentration
        return torch.where(c < 1, self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self) -> Tensor:
        """scale**2 / ((1 - c)**2 (1 - 2 c)), NaN from c = 1/2 on."""
        c = self.concentration
        finite = self.scale.pow(2) / ((1 - c).pow(2) * (1 - 2 * c))
        return torch.where(c < 0.5, finite, math.nan)

    mode = property(lambda self: self.loc)

    def entropy(self) -> Tensor:
        """log(scale) + c + 1."""
        return torch.log(self.scale) + self.concentration + 1
