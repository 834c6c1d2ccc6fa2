"""Relaxed Bernoulli distributions, with gradients."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import Distribution, checked
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """Logits of relaxed Bernoulli numbers (Maddison et al., 2016).

    >>> torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(1.), .5)
    LogitRelaxedBernoulli(probs: 0.5)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_param(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Logistic noise plus the logits, over the temperature."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        noise = u.log() - (-u).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """log(t) + d - 2 log(1 + exp(d)), d = logits - t x."""
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1) near 0 and 1, the nearer the lower the temperature, with gradients.

    >>> d = torch.distributions.RelaxedBernoulli(torch.tensor(1.), torch.tensor([.2, .8]))
    >>> d.has_rsample, d.probs
    (True, tensor([0.2000, 0.8000]))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
