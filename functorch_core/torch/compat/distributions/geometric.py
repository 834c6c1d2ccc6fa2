"""The geometric distribution."""

from __future__ import annotations

from .... import torch
from ....nn.functional import binary_cross_entropy_with_logits
from ...tensors.base import Tensor
from . import constraints
from ._checks import require
from ._probs_or_logits import ProbsOrLogits
from .distribution import Distribution, checked
from .utils import broadcast_all

__all__ = ["Geometric"]

NOT_POSITIVE = (
    "Expected parameter probs ({kind} of shape {shape}) of distribution {of} to be "
    "positive but found invalid values:\n{value}"
)


class Geometric(ProbsOrLogits, Distribution):
    """How many trials fail before the first success, of probability probs (of log odds logits).

    >>> torch.distributions.Geometric(torch.tensor(.25)).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_param(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            require(constraints.positive, self.probs, type(self).__name__, self._not_positive)

    def _not_positive(self, value) -> ValueError:
        return ValueError(
            NOT_POSITIVE.format(
                kind=type(value).__name__, shape=tuple(value.shape), of=repr(self), value=value[value <= 0]
            )
        )

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """floor(log(u) / log(1 - p)) of uniform u."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            u = self.probs.new_empty(shape).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """k log(1 - p) + log(p)."""
        value, probs = broadcast_all(value, self.probs)
        at_once = (probs == 1) & (value == 0)  # where the first term is 0 times -inf
        return value * torch.where(at_once, 0, -probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        """That of one trial, times the mean number of trials."""
        one = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return one / self.probs
