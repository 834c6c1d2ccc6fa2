"""The multinomial distribution."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution, checked
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each index comes up in total_count draws with these probs (or logits).

    >>> d = torch.distributions.Multinomial(2, torch.ones(2))
    >>> d.log_prob(torch.tensor([1., 1.]))
    tensor(-0.6931)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts that sum to total_count."""
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """total_count indices, counted."""
        sample_shape = torch.Size(sample_shape)
        drawn = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape)
        drawn = drawn.movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=torch.int64, device=drawn.device)
        return counts.scatter_add(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        """n times the categorical one's, less log n!, plus the means of log k! of the counts."""
        n = torch.tensor(self.total_count)
        values = self._binomial.enumerate_support(expand=False)[1:]
        chances = torch.exp(self._binomial.log_prob(values))
        log_factorials = (chances * torch.lgamma(values + 1)).sum((0, -1))
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + log_factorials

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """log n! - sum log k! + sum k logits."""
        logits, value = broadcast_all(self.logits, value)
        impossible = (value == 0) & (logits == -torch.inf)  # 0 times -inf
        powers = (logits.masked_fill(impossible, 0) * value).sum(-1)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + powers
