"""The Wishart distribution."""

from __future__ import annotations

import math

from .... import torch
from ....core.warn import warn
from ...tensors.base import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import checked
from .exp_family import ExponentialFamily
from .multivariate_normal import factor_of, given_matrix, half_log_det
from .utils import lazy_property

__all__ = ["Wishart"]

LOW_DF = "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim."
TRIES = 10


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the multivariate log gamma function."""
    steps = torch.arange(p, dtype=x.dtype, device=x.device) / 2
    return torch.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of df outer products of normal vectors of a covariance, precision or Cholesky factor.

    >>> d = torch.distributions.Wishart(torch.tensor(3.), torch.eye(2))
    >>> d.mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril, error=AssertionError)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = torch.as_tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        if df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.df = df.expand(batch_shape)
        if self.df.lt(n).any():
            warn(LOW_DF)
        self._event_shape = event_shape  # arg_constraints need it
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        # The squares of the diagonal of Bartlett's factor.
        steps = torch.arange(n, dtype=df.dtype, device=df.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps)

    @property
    def arg_constraints(self):
        """df above n - 1."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def _expanded_matrix(self, matrix) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return self._expanded_matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        return self._expanded_matrix(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return self._expanded_matrix(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        """df C."""
        return self.df.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """(df - n - 1) C, NaN for df up to n + 1."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """df (C_ij**2 + C_ii C_jj)."""
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.reshape((*self._batch_shape, 1, 1)) * (self.covariance_matrix.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape=torch.Size()) -> Tensor:
        """(L A) (L A)^T, A lower triangular: chi numbers on the diagonal, normal ones below."""
        n = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        rows, columns = torch.tril_indices(n, n, offset=-1, device=roots.device)
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        below = torch.randn(shape, dtype=roots.dtype, device=roots.device)
        noise = roots.diag_embed(dim1=-2, dim2=-1)
        noise[..., rows, columns] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=torch.Size(), max_try_correction: int | None = None) -> Tensor:
        """Samples; what rounding has made singular is drawn again, max_try_correction times."""
        tries = TRIES if max_try_correction is None else max_try_correction
        sample_shape = torch.Size(sample_shape)
        drawn = self._bartlett_sampling(sample_shape)
        if not tries:
            return drawn
        # PyTorch draws again what is good, not what is singular: the second draw is its result.
        flat = torch.Size((sample_shape.numel(),))
        drawn = self._bartlett_sampling(flat)
        for _ in range(tries):
            singular = ~self.support.check(drawn)
            if not singular.any():
                break
            warn("Singular sample detected.")
            drawn = torch.where(singular[..., None, None], self._bartlett_sampling(flat), drawn)
        return drawn.reshape(self._extended_shape(sample_shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """(df - n - 1) / 2 log det x - tr(C^-1 x) / 2, less the logarithm of the constant."""
        n, df = self._event_shape[-1], self.df
        solved = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        half = half_log_det(self._unbroadcasted_scale_tril)
        return (
            -df * (n * math.log(2) / 2 + half)
            - torch.mvlgamma(df / 2, p=n)
            + (df - n - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        """-log density, of the means of log det x and tr(C^-1 x) = df n."""
        n, df = self._event_shape[-1], self.df
        half = half_log_det(self._unbroadcasted_scale_tril)
        return (
            (n + 1) * (n * math.log(2) / 2 + half)
            + torch.mvlgamma(df / 2, p=n)
            - (df - n - 1) / 2 * _mvdigamma(df / 2, p=n)
            + df * n / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y) -> Tensor:
        n = self._event_shape[-1]
        half_df = y + (n + 1) / 2
        log_det = torch.linalg.slogdet(-2 * x).logabsdet
        return half_df * (n * math.log(2) - log_det) + torch.mvlgamma(half_df, p=n)
