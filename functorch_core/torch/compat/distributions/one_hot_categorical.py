"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from .... import torch
from ....nn.functional import one_hot
from ...tensors.base import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, checked

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Vectors of zeros and a one, at index i with probability probs[..., i].

    >>> d = torch.distributions.OneHotCategorical(torch.tensor([1., 3.]))
    >>> d.log_prob(torch.tensor([0., 1.]))
    tensor(-0.2877)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
    mean = property(lambda self: self._categorical.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    def _one_hot(self, index) -> Tensor:
        return one_hot(index, self._categorical._num_events).to(self._categorical.probs)

    @property
    def mode(self) -> Tensor:
        """The likeliest one."""
        return self._one_hot(self._categorical.mode)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """One-hot vectors."""
        return self._one_hot(self._categorical.sample(torch.Size(sample_shape)))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """The logit of the index of the one."""
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """That of the indices."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The rows of the identity."""
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n, *[1] * len(self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors with the gradients of the probabilities (Bengio et al., 2013).

    >>> probs = torch.tensor([1., 3.], requires_grad=True)
    >>> d = torch.distributions.OneHotCategoricalStraightThrough(probs)
    >>> d.rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples plus the probabilities less themselves."""
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())
