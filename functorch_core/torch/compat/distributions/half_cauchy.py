"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from .... import torch
from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """Absolute values of Cauchy numbers around 0.

    >>> torch.distributions.HalfCauchy(1.).cdf(torch.tensor(1.))
    tensor(0.5000)
    """

    whole = Cauchy
    mean = property(lambda self: torch.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)
