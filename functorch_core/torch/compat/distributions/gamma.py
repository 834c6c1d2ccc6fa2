"""The gamma distribution."""

from __future__ import annotations

from .... import torch
from ...operators.random.sampling_gradients import kept_positive
from ...tensors.base import Tensor
from . import constraints
from .distribution import checked
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


def _standard_gamma(concentration: Tensor) -> Tensor:
    """Gamma numbers of rate 1."""
    return torch._standard_gamma(concentration)


class Gamma(ExponentialFamily):
    """Numbers of density proportional to x**(concentration - 1) exp(-rate x).

    >>> torch.distributions.Gamma(3., 2.).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        shape = self._broadcast(concentration=concentration, rate=rate)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Gamma numbers, differentiable by both parameters."""
        shape = self._extended_shape(sample_shape)
        drawn = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return kept_positive(drawn)

    def log_prob(self, value: Tensor | float) -> Tensor:
        """c log(rate) + (c - 1) log(x) - rate x - log Gamma(c)."""
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        c = self.concentration
        return torch.xlogy(c, self.rate) + torch.xlogy(c - 1, value) - self.rate * value - torch.lgamma(c)

    def entropy(self) -> Tensor:
        """c - log(rate) + log Gamma(c) + (1 - c) digamma(c)."""
        c = self.concentration
        return c - torch.log(self.rate) + torch.lgamma(c) + (1 - c) * torch.digamma(c)

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """The regularised incomplete gamma function."""
        return torch.special.gammainc(self.concentration, self.rate * value)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y) -> Tensor:
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
