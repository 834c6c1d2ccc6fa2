"""The binomial distribution."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import Distribution, checked

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits, Distribution):
    """How many of total_count trials succeed, each with probability probs (of log odds logits).

    >>> torch.distributions.Binomial(2, torch.tensor(.5)).log_prob(torch.tensor(1.))
    tensor(-0.6931)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_param(probs, logits, total_count=total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """0 to total_count."""
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @property
    def mode(self) -> Tensor:
        """floor((n + 1) p), n at most."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Counts of successes."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """log(n over k) + k logits - n log(1 + exp(logits))."""
        n, logits = self.total_count, self.logits
        combinations = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # its derivative at 0 is a half
        softplus = positive + torch.log1p(torch.exp(-logits.abs()))
        return combinations + value * logits - n * softplus

    def entropy(self) -> Tensor:
        """-sum p log p over all counts; all of the batch have the same total_count."""
        self._require_one_count("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(logs) * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to total_count, which is the same for all of the batch."""
        n = self._require_one_count("enumerate_support")
        values = torch.arange(1 + n, dtype=self._param.dtype, device=self._param.device)
        return self._along_first(values, expand)

    def _require_one_count(self, name: str) -> int:
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return n
