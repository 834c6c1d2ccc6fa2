"""The negative binomial distribution."""

from __future__ import annotations

from .... import torch
from ....nn.functional import logsigmoid
from ...tensors.base import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import Distribution, checked
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """How many trials succeed, each with probability probs (of log odds logits), before total_count
    of them have failed.

    >>> torch.distributions.NegativeBinomial(2., torch.tensor(.5)).mean
    tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_param(probs, logits, total_count=total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    @lazy_property
    def _gamma(self) -> Gamma:
        """The distribution of the rates of which the counts are Poisson numbers."""
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Poisson numbers of gamma rates."""
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """log(k + n - 1 over k) + n log(1 - p) + k log(p)."""
        n = self.total_count
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = torch.lgamma(n + value) - torch.lgamma(1.0 + value) - torch.lgamma(n)
        return powers + ways.masked_fill(n + value == 0.0, 0.0)
