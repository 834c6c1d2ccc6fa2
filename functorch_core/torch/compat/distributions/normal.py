"""The normal distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import checked
from .exp_family import ExponentialFamily
from .utils import _standard_normal

__all__ = ["Normal"]

LOG_ROOT_TAU = math.log(math.sqrt(2 * math.pi))


class Normal(ExponentialFamily):
    """Numbers of density exp(-z**2 / 2) / (scale sqrt(2 pi)), z = (x - loc) / scale.

    >>> torch.distributions.Normal(0., 1.).log_prob(torch.tensor(0.))
    tensor(-0.9189)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        shape = self._broadcast(loc=loc, scale=scale)
        super().__init__(shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples without gradients."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            # As they are, where that is their shape: what is read then are numbers that are there.
            loc, scale = (x if x.shape == shape else x.expand(shape) for x in (self.loc, self.scale))
            return torch.normal(loc, scale)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """loc + scale times standard normal numbers."""
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-z**2 / 2 - log(scale) - log(2 pi) / 2."""
        z = (value - self.loc) / self.scale
        return -0.5 * z * z - self.scale.log() - LOG_ROOT_TAU

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        """(1 + erf(z / sqrt 2)) / 2."""
        return 0.5 * (1 + torch.erf((value - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value: Tensor) -> Tensor:
        """loc + scale sqrt(2) erfinv(2 p - 1)."""
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """(1 + log(2 pi)) / 2 + log(scale)."""
        return 0.5 + LOG_ROOT_TAU + torch.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)
