"""The Fisher-Snedecor distribution."""

from __future__ import annotations

import math

from .... import torch
from ...operators.random.sampling_gradients import kept_positive
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked
from .gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """Ratios of two chi-squared numbers, each over its degrees of freedom.

    >>> torch.distributions.FisherSnedecor(1., 4.).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        shape = self._broadcast(df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """df2 / (df2 - 2), NaN for df2 up to 2."""
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """(df1 - 2) / df1 df2 / (df2 + 2), NaN for df1 up to 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        """2 df2**2 (df1 + df2 - 2) / (df1 (df2 - 2)**2 (df2 - 4)), NaN for df2 up to 4."""
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """The ratio of two gamma numbers."""
        first, second = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        return kept_positive(first / kept_positive(second))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density of F numbers."""
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return a * ratio.log() + (a - 1) * torch.log(value) - (a + b) * torch.log1p(ratio * value) - log_beta
