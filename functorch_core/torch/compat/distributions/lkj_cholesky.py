"""Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution, checked
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors [dim, dim] of correlation matrices of density det**(concentration - 1).

    Lewandowski, Kurowicka and Joe (2009); samples by their onion method, with PyTorch's parameters
    of the rows' lengths: from dim 3 on they are not distributed as log_prob says.

    >>> torch.distributions.LKJCholesky(3, 1.).event_shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squares of row i, before the diagonal, sum to a beta number. Its first parameter would
        # have to be i / 2; PyTorch's is i - 1/2, and its draws are what seeds are expected to give.
        before = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        before = torch.cat([before.new_zeros((1,)), before])
        marginal = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(before + 0.5, marginal - 0.5 * before)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args=validate_args)

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Rows: a direction of the sphere, of the length a beta number says; 1 in all."""
        with torch.no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            normals = torch.randn(self._extended_shape(sample_shape), dtype=squares.dtype, device=squares.device).tril(
                -1
            )
            lengths = normals.norm(dim=-1, keepdim=True)
            first = torch.arange(self.dim, device=squares.device).unsqueeze(-1) == 0
            rows = (normals / lengths).masked_fill(first, 0.0) * squares.sqrt()
            rest = 1 - rows.pow(2).sum(-1)
            return rows + rest.clamp(min=torch.finfo(rows.dtype).tiny).sqrt().diag_embed()

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """Powers of the diagonal, which the factor's Jacobian has, too, over the constant."""
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = torch.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        alpha = self.concentration + 0.5 * n
        constant = 0.5 * n * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n
        return (powers * diagonal.log()).sum(-1) - constant
