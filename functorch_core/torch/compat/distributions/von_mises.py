"""The von Mises distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked
from .utils import lazy_property

__all__ = ["VonMises"]


def _proposals(loc, concentration, r, shape) -> tuple[Tensor, Tensor]:
    """(accepted, angles): one round of Best and Fisher (1979), from a wrapped Cauchy envelope."""
    first, second, third = torch.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
    z = torch.cos(math.pi * first)
    f = (1 + r * z) / (r + z)
    c = concentration * (r - f)
    accepted = ((c * (2 - c) - second) > 0) | ((c / second).log() + 1 - c >= 0)
    return accepted, (third - 0.5).sign() * f.acos()


def _in_rounds(loc, concentration, r, shape) -> Tensor:
    """Angles around 0: proposals until all are accepted; a later accepted one replaces an earlier."""
    angles = torch.zeros(shape, dtype=loc.dtype, device=loc.device)
    done = torch.zeros(shape, dtype=torch.bool, device=loc.device)
    while not done.all():
        accepted, proposed = _proposals(loc, concentration, r, shape)
        angles, done = torch.where(accepted, proposed, angles), done | accepted
    return angles


class VonMises(Distribution):
    """Angles of [-pi, pi), of density proportional to exp(concentration cos(x - loc)).

    >>> d = torch.distributions.VonMises(torch.tensor(0.), torch.tensor(1.))
    >>> d.log_prob(torch.tensor(0.))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None) -> None:
        shape = self._broadcast(loc=loc, concentration=concentration)
        super().__init__(shape, torch.Size(), validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I1 / I0."""
        c = self.concentration
        return 1 - torch.special.i1e(c) / torch.special.i0e(c)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """c cos(x - loc) - log(2 pi I0(c))."""
        c = self.concentration
        log_bessel = torch.special.i0e(c).log() + c
        return c * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    def _envelope(self) -> Tensor:
        """Best and Fisher's r, in float64; 1 / c + c where c is tiny and r would be rounded off."""
        c = self.concentration.double()
        tau = 1 + (1 + 4 * c**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * c)
        return torch.where(c < 1e-5, 1 / c + c, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Angles, drawn in float64."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            loc, concentration = self.loc.double(), self.concentration.double()
            angles = _in_rounds(loc, concentration, self._envelope(), shape)
            turned = (angles + math.pi + loc) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)
