"""Distributions of transformed values."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What comes out of transforms that values of a base distribution are put into.

    >>> d = torch.distributions
    >>> lognormal = d.TransformedDistribution(d.Normal(0., 1.), d.ExpTransform())
    >>> lognormal.log_prob(torch.tensor(1.))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = _as_list(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        inner, outer = transform.domain.event_dim, transform.codomain.event_dim
        if len(shape) < inner:
            raise ValueError(f"base_distribution needs to have shape with size at least {inner}, but got {shape}.")
        forward = transform.forward_shape(shape)
        needed = transform.inverse_shape(forward)
        if shape != needed:  # the transforms' parameters have more batch dimensions
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dims])
        if inner > base_dims:
            base_distribution = Independent(base_distribution, inner - base_dims)
        self.base_dist = base_distribution
        cut = len(forward) - max(outer, base_dims + outer - inner)
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """Where the last transform leads."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        extra = len(self._event_shape) - found.event_dim
        return constraints.independent(found, extra) if extra > 0 else found

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Transformed samples of the base, without gradients."""
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Transformed samples of the base, with gradients."""
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """That of the base at the inverse image, less the transforms' log determinants."""
        dims, y, total = len(self._event_shape), value, 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            inner = transform.domain.event_dim
            dims += inner - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - inner)
            y = x
        extra = dims - len(self.base_dist.event_shape)
        return total + _sum_rightmost(self.base_dist.log_prob(y), extra)

    def _monotonize_cdf(self, value):
        """p where the transforms together increase, 1 - p where they decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """That of the base at the inverse image."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The image of the base's."""
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


def _as_list(transforms) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
