"""Distributions that are given by probabilities or by logits."""

from __future__ import annotations

from .... import torch
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

ONE_OF_BOTH = "Either `probs` or `logits` must be specified, but not both."


class ProbsOrLogits:
    """One of `probs` and `logits` is given and kept in `_param`; the other follows when asked for.

    `_is_binary`: they are of one event each (log odds), not of all along the last dimension.
    """

    _is_binary = True

    def _set_param(self, probs, logits, **counts):
        """Keep the one that is given, and counts, broadcast and in its dtype."""
        require_one(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        *others, given = broadcast_all(*counts.values(), given)
        for count, value in zip(counts, others):
            setattr(self, count, value.type_as(given))
        self._param = given
        setattr(self, name, given)

    @lazy_property
    def logits(self) -> torch.Tensor:
        """The log odds, or the logarithms of the probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> torch.Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self) -> torch.Size:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


def require_one(probs, logits):
    """ValueError unless exactly one of both is given."""
    if (probs is None) == (logits is None):
        raise ValueError(ONE_OF_BOTH)
