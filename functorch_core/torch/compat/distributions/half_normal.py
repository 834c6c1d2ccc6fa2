"""The half-normal distribution."""

from __future__ import annotations

import math

from ._half import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """Absolute values of normal numbers around 0.

    >>> torch.distributions.HalfNormal(1.).mean
    tensor(0.7979)
    """

    whole = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
