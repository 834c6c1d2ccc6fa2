"""Exponential families: exp(<natural parameters, statistics> - log normalizer) times a carrier."""

from __future__ import annotations

from .... import torch
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution of an exponential family.

    Subclasses give `_natural_params`, `_log_normalizer` and `_mean_carrier_measure`, the mean of
    the carrier's logarithm. The entropy follows: the gradient of the log normalizer is the mean of
    the statistics.

    >>> d = torch.distributions
    >>> d.ExponentialFamily.entropy(d.Normal(0., 1.)).detach()
    tensor(1.4189)
    """

    @property
    def _natural_params(self) -> tuple:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self):
        """The entropy, by automatic differentiation of the log normalizer."""
        carrier = self._mean_carrier_measure
        with torch.enable_grad():
            natural = [x.detach().requires_grad_() for x in self._natural_params]
            log_normalizer = self._log_normalizer(*natural)
            means = torch.autograd.grad(log_normalizer.sum(), natural, create_graph=True)
        entropy = log_normalizer - carrier
        for parameter, mean in zip(natural, means):
            product = parameter * mean
            entropy = entropy - product.reshape((*self._batch_shape, -1)).sum(-1)
        return entropy
