"""Mixtures of distributions of one family."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, checked

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the k distributions along the last batch dimension of a component distribution, chosen
    by a categorical distribution.

    >>> d = torch.distributions
    >>> mixture = d.MixtureSameFamily(d.Categorical(torch.ones(2)),
    ...                               d.Normal(torch.tensor([-1., 3.]), 1.))
    >>> mixture.mean, mixture.variance
    (tensor(1.), tensor(5.))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        _check(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_distribution.batch_shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        """The mixture with its batch dimensions expanded."""
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        component = self.component_distribution.expand((*batch_shape, self._num_component))
        mixture = self.mixture_distribution.expand(batch_shape)
        MixtureSameFamily.__init__(new, mixture, component, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        """That of all components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def _weights(self) -> Tensor:
        """The probabilities of the components, in front of the event's dimensions."""
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *[1] * self._event_ndims))

    def _average(self, values) -> Tensor:
        return (self._weights() * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The average of the components' means."""
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The average of the variances, plus the variance of the means."""
        means = self.component_distribution.mean
        within = self._average(self.component_distribution.variance)
        return within + self._average((means - self._pad(self.mean)).pow(2.0))

    def _pad(self, x) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Tensor) -> Tensor:
        """The average of the components'."""
        found = self.component_distribution.cdf(self._pad(x))
        return (found * self.mixture_distribution.probs).sum(-1)

    @checked
    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithm of the components' average density."""
        found = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(found + torch.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples of all components, of which one is chosen."""
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape((*chosen.shape, *[1] * (self._event_ndims + 1)))
            index = index.expand((*chosen.shape, 1, *self._event_shape))
            return torch.gather(drawn, dim, index).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


def _check(mixture, component):
    if not isinstance(mixture, Categorical):
        raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
    if not isinstance(component, Distribution):
        raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
    ours, theirs = mixture.batch_shape, component.batch_shape[:-1]
    for a, b in zip(reversed(ours), reversed(theirs)):
        if a != 1 and b != 1 and a != b:
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({ours}) is not compatible with "
                f"`component_distribution.batch_shape`({theirs})"
            )
    n, found = mixture.logits.shape[-1], component.batch_shape[-1]
    if n != found:
        raise ValueError(
            f"`mixture_distribution component` ({n}) does not equal `component_distribution.batch_shape[-1]` ({found})"
        )
