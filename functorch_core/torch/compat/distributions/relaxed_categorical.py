"""Relaxed one-hot vectors, with gradients."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, checked
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """Logarithms of relaxed one-hot vectors (Maddison et al., 2016).

    >>> module = torch.distributions.relaxed_categorical
    >>> module.ExpRelaxedCategorical(torch.tensor(1.), torch.ones(3)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # of numbers below 0 whose exps sum to 1
    has_rsample = True
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    param_shape = property(lambda self: self._categorical.param_shape)
    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """log softmax of the logits plus Gumbel noise, over the temperature."""
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(u.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """log((n - 1)! t**(n - 1)) + sum log softmax(logits - t x)."""
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        scores = torch.log_softmax(logits - value.mul(self.temperature), -1).sum(-1)
        return scores + math.lgamma(n) + (n - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex near its corners, the nearer the lower the temperature.

    >>> d = torch.distributions.RelaxedOneHotCategorical(torch.tensor(1.), torch.tensor([1., 3.]))
    >>> d.probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
