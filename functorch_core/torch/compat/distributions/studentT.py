"""Student's t distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution, checked
from .utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale times a normal number over the root of a chi-squared one over df.

    >>> torch.distributions.StudentT(3.).variance
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._broadcast(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """scale**2 df / (df - 2), infinite for df up to 2, NaN up to 1."""
        df = self.df
        finite = self.scale.pow(2) * df / (df - 2)
        return torch.where(df > 2, finite, math.inf).masked_fill(df <= 1, math.nan)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Normal numbers, then the chi-squared ones."""
        shape = self._extended_shape(sample_shape)
        normals = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        spread = torch.rsqrt(self._chi2.rsample(sample_shape) / self.df)
        return self.loc + self.scale * (normals * spread)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-(df + 1) / 2 log(1 + z**2 / df) less the logarithm of the constant."""
        z, df = (value - self.loc) / self.scale, self.df
        constant = (
            self.scale.log()
            + 0.5 * df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * df)
            - torch.lgamma(0.5 * (df + 1.0))
        )
        return -0.5 * (df + 1.0) * torch.log1p(z**2.0 / df) - constant

    def entropy(self) -> Tensor:
        """log(scale sqrt(df) B(df / 2, 1 / 2)), plus (df + 1) / 2 times the step of digamma from
        df / 2 to (df + 1) / 2."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(more)
        return self.scale.log() + more * (torch.digamma(more) - torch.digamma(half)) + 0.5 * self.df.log() + log_beta
