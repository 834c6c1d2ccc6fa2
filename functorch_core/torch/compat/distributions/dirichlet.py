"""The Dirichlet distribution."""

from __future__ import annotations

from .... import torch
from ....nn.functional import one_hot
from ... import _missing
from ...tensors.base import Tensor
from . import constraints
from .distribution import checked
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]
__getattr__ = _missing.getter(__name__)


class Dirichlet(ExponentialFamily):
    """Vectors of nonnegative numbers of sum 1, of density proportional to prod x**(c - 1).

    >>> torch.distributions.Dirichlet(torch.tensor([1., 3.])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()) -> Tensor:
        """Points of the simplex, differentiable by the concentration."""
        shape = self._extended_shape(sample_shape)
        return torch._sample_dirichlet(self.concentration.expand(shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """sum (c - 1) log(x) + log Gamma(sum c) - sum log Gamma(c)."""
        c = self.concentration
        return torch.xlogy(c - 1, value).sum(-1) + torch.lgamma(c.sum(-1)) - torch.lgamma(c).sum(-1)

    @property
    def mean(self) -> Tensor:
        """c / sum c."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """(c - 1) / sum (c - 1), clipped; the corner of the greatest c where all are below 1."""
        above = (self.concentration - 1).clamp(min=0)
        corner = one_hot(self.concentration.argmax(-1), self._event_shape[-1]).to(above)
        in_corner = (self.concentration < 1).all(-1, keepdim=True)
        return torch.where(in_corner, corner, above / above.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        """m (1 - m) / (1 + sum c)."""
        total = self.concentration.sum(-1, True)
        return self.mean * (1 - self.mean) / (total + 1)

    def entropy(self) -> Tensor:
        """log B(c) + (sum c - n) digamma(sum c) - sum (c - 1) digamma(c)."""
        c, n = self.concentration, self.concentration.size(-1)
        total = c.sum(-1)
        return (
            torch.lgamma(c).sum(-1)
            - torch.lgamma(total)
            - (n - total) * torch.digamma(total)
            - ((c - 1) * torch.digamma(c)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x) -> Tensor:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
