"""The multivariate normal distribution."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]

ONE_MATRIX = "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
LOG_TAU = math.log(2 * math.pi)


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices [..., n, k] with vectors [..., k]."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x of triangular factors [..., n, n] and vectors [..., n].

    Vectors in front of the factors' batch are columns of one solution: the factors are not copied.
    """
    batch = factor.shape[:-2]
    if x.dim() - 1 > len(batch) and x.shape[x.dim() - 1 - len(batch) : -1] == batch:
        front = x.shape[: x.dim() - 1 - len(batch)]
        columns = x.reshape((-1, *batch, x.shape[-1])).movedim(0, -1)
        solved = torch.linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum(-2).movedim(-1, 0).reshape((*front, *batch))
    solved = torch.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False)
    return solved.pow(2).sum((-2, -1))


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of a precision matrix's inverse.

    Reversing rows and columns before and after makes the factor an upper one, P = U U^T; then
    the factor of the inverse is that of U^-T, which is lower."""
    backwards = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    transposed = torch.flip(backwards, (-2, -1)).mT
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(transposed, identity, upper=False)


def half_log_det(factor: Tensor) -> Tensor:
    """log det L, half that of L L^T."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors of a mean and a covariance, a precision (its inverse), or a Cholesky factor.

    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        return torch.matmul(factor, factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return torch.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape())

    def _matrix_shape(self) -> tuple:
        return (*self._batch_shape, *self._event_shape, *self._event_shape)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """loc + L times standard normal vectors."""
        shape = self._extended_shape(sample_shape)
        drawn = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, drawn)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-(n log(2 pi) + (x - loc)^T C^-1 (x - loc) + log det C) / 2."""
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_TAU + distance) - half_log_det(factor)

    def entropy(self) -> Tensor:
        """(n (1 + log(2 pi)) + log det C) / 2."""
        half = half_log_det(self._unbroadcasted_scale_tril)
        return (0.5 * self._event_shape[0] * (1 + LOG_TAU) + half).expand(self._batch_shape)


def given_matrix(covariance_matrix, precision_matrix, scale_tril, error=ValueError) -> tuple[str, Tensor]:
    """The name and value of the only matrix that is given; an error for none and for several."""
    matrices = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error(ONE_MATRIX)
    return given[0]


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance that a matrix of that name stands for."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return torch.linalg.cholesky(matrix)
    return _precision_to_scale_tril(matrix)
