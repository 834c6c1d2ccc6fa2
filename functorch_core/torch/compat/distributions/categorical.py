"""The categorical distribution."""

from __future__ import annotations

import functools
import math

from .... import torch
from ...operators.random.sampling import one_of_each
from ...tape.meta import is_meta
from ...tensors.base import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits, require_one
from .distribution import Distribution, checked

__all__ = ["Categorical"]


@functools.lru_cache(64)
def _below(n: int) -> constraints.Constraint:
    return constraints.integer_interval(0, n - 1)


class Categorical(ProbsOrLogits, Distribution):
    """The index i with probability probs[..., i], or exp(logits[..., i]); both are normalised.

    >>> torch.distributions.Categorical(torch.tensor([1., 3.])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        require_one(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self._set_param(None, logits - logits.logsumexp(-1, keepdim=True))
        else:
            self._set_param(probs / probs.sum(-1, keepdim=True), None)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """0 to n - 1."""
        return _below(self._num_events)

    mean = variance = property(
        lambda self: torch.full(self._extended_shape(), math.nan, dtype=self._param.dtype, device=self._param.device)
    )
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Indices, int64."""
        sample_shape = torch.Size(sample_shape)
        if not sample_shape and self.probs.shape[:-1] == self._batch_shape and not is_meta(self.probs):
            return one_of_each(self.probs)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, sample_shape.numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """The logits of the indices."""
        value, logits = value.long().unsqueeze(-1), self.logits
        if value.shape[:-1] != logits.shape[:-1]:
            shape = torch.broadcast_shapes(value.shape[:-1], logits.shape[:-1])
            logits, value = logits.expand((*shape, self._num_events)), value.expand((*shape, 1))
        return logits.gather(-1, value).squeeze(-1)

    def entropy(self) -> Tensor:
        """-sum p log p."""
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)  # 0 log 0 is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to n - 1."""
        values = torch.arange(self._num_events, device=self._param.device)
        return self._along_first(values, expand)
