"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math

from .... import torch
from ....nn.functional import binary_cross_entropy_with_logits
from ...tensors.base import Tensor
from . import constraints
from ._checks import require
from ._probs_or_logits import ProbsOrLogits, require_one
from .distribution import checked
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers of [0, 1] of density proportional to p**x (1 - p)**(1 - x), p = probs.

    Between `lims` the formulas lose all digits (they are 0 / 0 at p = 1/2), and series take their
    place.

    >>> torch.distributions.ContinuousBernoulli(torch.tensor([.2, .5])).mean
    tensor([0.3880, 0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        require_one(probs, logits)
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args:  # not by default: they are clamped
                require(
                    constraints.unit_interval,
                    probs,
                    type(self).__name__,
                    lambda value: ValueError("The parameter probs has invalid values"),
                )
            probs = clamp_probs(probs)
        self._set_param(probs, logits)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """p, away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_stable(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _stable_probs(self) -> Tensor:
        """p where the formulas hold, harmless numbers elsewhere."""
        return torch.where(self._is_stable(), self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        """log of 2 atanh(1 - 2 p) / (1 - 2 p)."""
        p, x = self._stable_probs(), self.probs - 0.5
        exact = torch.abs(torch.log1p(-p) - torch.log(p)).log() - torch.abs(1.0 - 2.0 * p).log()
        series = math.log(2.0) + (4 / 3 + 104 / 45 * x.pow(2)) * x.pow(2)
        return torch.where(self._is_stable(), exact, series)

    _cont_bern_log_norm = _log_norm

    @property
    def mean(self) -> Tensor:
        """p / (2 p - 1) + 1 / (2 atanh(1 - 2 p))."""
        p, x = self._stable_probs(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        return torch.where(self._is_stable(), exact, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        """p (p - 1) / (1 - 2 p)**2 + 1 / (2 atanh(1 - 2 p))**2."""
        p, x = self._stable_probs(), (self.probs - 0.5).pow(2)
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / (torch.log1p(-p) - torch.log(p)).pow(2)
        return torch.where(self._is_stable(), exact, 1 / 12 - (1 / 15 + 128 / 945 * x) * x)

    stddev = property(lambda self: self.variance.sqrt())

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """The inverse of the distribution function at uniform numbers."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """x log(p) + (1 - x) log(1 - p) plus the logarithm of the constant."""
        logits, value = broadcast_all(self.logits, value)
        cross = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -cross + self._log_norm()

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """(p**x (1 - p)**(1 - x) + p - 1) / (2 p - 1)."""
        p = self._stable_probs()
        exact = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(self._is_stable(), exact, value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        """(log(1 - p + u (2 p - 1)) - log(1 - p)) / (log(p) - log(1 - p))."""
        p = self._stable_probs()
        rest = torch.log1p(-p)
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - rest) / (torch.log(p) - rest)
        return torch.where(self._is_stable(), exact, value)

    def entropy(self) -> Tensor:
        """-log density at the mean, in which it is linear."""
        log_zero, log_one = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log_zero - log_one) - self._log_norm() - log_zero

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x) -> Tensor:
        """log((exp(x) - 1) / x)."""
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = torch.where(stable, x, self._lims[0] - 0.5)
        exact = torch.log(torch.abs(torch.special.expm1(safe))) - torch.log(torch.abs(safe))
        return torch.where(stable, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
