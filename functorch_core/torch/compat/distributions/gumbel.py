"""The Gumbel distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import checked
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Numbers of distribution function exp(-exp(-z)), z = (x - loc) / scale.

    >>> torch.distributions.Gumbel(0., 1.).log_prob(torch.tensor(0.))
    tensor(-1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast(loc=loc, scale=scale)
        limits = torch.finfo(self.loc.dtype)
        low, high = limits.tiny, 1 - limits.eps
        if isinstance(loc, Tensor) or isinstance(scale, Tensor):
            low, high = torch.full_like(self.loc, low), torch.full_like(self.loc, high)
        base = Uniform(low, high, validate_args=validate_args)
        one = torch.ones_like(self.scale)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-one),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-z - exp(-z) - log(scale)."""
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self) -> Tensor:
        """log(scale) + 1 + Euler's constant."""
        return self.scale.log() + (1 + euler_constant)
