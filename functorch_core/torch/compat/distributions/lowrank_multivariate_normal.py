"""The multivariate normal distribution of a covariance of low rank plus a diagonal."""

from __future__ import annotations

from .... import torch
from ...tensors.base import Tensor
from . import constraints
from .distribution import Distribution, checked
from .multivariate_normal import LOG_TAU, _batch_mahalanobis, _batch_mv, half_log_det
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    identity = torch.eye(factor.size(-1), dtype=factor.dtype, device=factor.device)
    return torch.linalg.cholesky(identity + torch.matmul(scaled, factor))


def _batch_lowrank_logdet(factor: Tensor, diagonal: Tensor, capacitance_tril: Tensor) -> Tensor:
    """log det(W W^T + D), by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance_tril) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """x^T (W W^T + D)^-1 x, by the Woodbury identity."""
    projected = _batch_mv(factor.mT / diagonal.unsqueeze(-2), x)
    plain = (x.pow(2) / diagonal).sum(-1)
    return plain - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance cov_factor cov_factor^T + diag(cov_diag).

    cov_factor [..., n, m] with m less than n: determinants and inverses are of m x m matrices.

    >>> W, D = torch.ones(2, 1), torch.ones(2)
    >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), W, D).covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _kept = ("_capacitance_tril",)

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch_shape = _common_batch(loc, cov_factor, cov_diag)
        self.loc = loc.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        self.cov_diag = cov_diag.expand((*batch_shape, -1))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squares.expand((*self._batch_shape, *self._event_shape))

    def _as_matrix(self, matrix) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance: sqrt(D) times that of the scaled matrix, which is
        well conditioned."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = torch.eye(root.shape[-2], dtype=root.dtype, device=root.device)
        factor = torch.linalg.cholesky(torch.matmul(scaled, scaled.mT) + identity)
        return self._as_matrix(root * factor)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """W W^T + D."""
        factor = self._unbroadcasted_cov_factor
        return self._as_matrix(torch.matmul(factor, factor.mT) + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """D^-1 - D^-1 W C^-1 W^T D^-1, C the capacitance matrix."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        inverse = torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal())
        return self._as_matrix(inverse - torch.matmul(solved.mT, solved))

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """loc + W times normal vectors of m + the root of D times normal vectors of n."""
        shape = self._extended_shape(sample_shape)
        like = {"dtype": self.loc.dtype, "device": self.loc.device}
        short = _standard_normal((*shape[:-1], self.cov_factor.shape[-1]), **like)
        long = _standard_normal(shape, **like)
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, short) + self._unbroadcasted_cov_diag.sqrt() * long

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        """-(n log(2 pi) + (x - loc)^T C^-1 (x - loc) + log det C) / 2."""
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, value - self.loc, self._capacitance_tril
        )
        return -0.5 * (self._event_shape[0] * LOG_TAU + self._log_det() + distance)

    def entropy(self) -> Tensor:
        """(n (1 + log(2 pi)) + log det C) / 2."""
        n = self._event_shape[0]
        return (0.5 * (n * (1.0 + LOG_TAU) + self._log_det())).expand(self._batch_shape)


def _common_batch(loc, cov_factor, cov_diag) -> torch.Size:
    try:
        return torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
    except RuntimeError as error:
        raise ValueError(
            f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
        ) from error
