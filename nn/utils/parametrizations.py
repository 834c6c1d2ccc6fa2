"""Orthogonal, weight-normalised and spectrally normalised parameters."""

from __future__ import annotations

import enum

from ...torch import add, allclose, cat, eye, finfo, geqrf, matrix_exp, mv, randn, vdot, zeros_like
from ...torch.namespaces import linalg
from ...torch.tape.modes import no_grad
from ...torch.tensors.base import Tensor
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .spectral_norm import as_matrix, default_dim
from .weight_norm import norm_except_dim, normalised

NO_ASSIGNMENT = (
    "It is not possible to assign to the matrix exponential or the Cayley "
    "parametrizations when use_trivialization=False."
)


def _tensor_of(module: Module, name: str):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ---- orthogonal ----------------------------------------------------------------------------------


def _is_orthogonal(q) -> bool:
    n, k = q.shape[-2:]
    identity = eye(k, dtype=q.dtype, device=q.device)
    return allclose(q.mH @ q, identity, atol=10.0 * n * finfo(q.dtype).eps)


def _make_orthogonal(a):
    """An orthogonal matrix that is the given one if that is orthogonal up to rounding."""
    x, tau = geqrf(a)
    q = linalg.householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


class _Orthogonal(Module):
    """Matrices as (semi-)orthogonal ones; with `base` as base @ map(X), so that X starts at -1."""

    def __init__(self, weight, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True):
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        wide = X.shape[-2] < X.shape[-1]
        x = X.mT if wide else X
        q = (self._reflected if self.orthogonal_map is _OrthMaps.householder else self._rotated)(x)
        q = self.base @ q if hasattr(self, "base") else q
        return q.mT if wide else q

    def _rotated(self, x):
        """By a skew matrix: its exponential, or Cayley's (1 + A/2) / (1 - A/2)."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = cat([x, x.new_zeros(*x.shape[:-2], n, n - k)], dim=-1)
        a = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = matrix_exp(a)
        else:
            identity = eye(n, dtype=a.dtype, device=a.device)
            q = linalg.solve(add(identity, a, alpha=-0.5), add(identity, a, alpha=0.5))
        return q[..., :k] if n != k else q

    def _reflected(self, x):
        """By Householder reflections, signs on the diagonal."""
        a = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
        q = linalg.householder_product(a, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        wide = Q.shape[-2] < Q.shape[-1]
        q = Q.mT if wide else Q
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(NO_ASSIGNMENT)
            a, tau = geqrf(q)
            diagonal = a.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return a.mT if wide else a
        n, k = q.shape[-2:]
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            rest = randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(cat([q, rest], dim=-1))
        self.base = q
        start = zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix (or a batch of them) orthogonal, or semi-orthogonal; returns the module.

    orthogonal_map is matrix_exp, cayley or householder; by default matrix_exp for square matrices,
    else householder.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# ---- normalised ----------------------------------------------------------------------------------


class _WeightNorm(Module):
    """A weight as its length (original0) times its direction (original1)."""

    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return normalised(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Let length and direction of a weight be parameters (Salimans and Kingma, 2016).

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_former_names(state_dict, prefix, *rest):
        if f"{prefix}{name}_g" in state_dict and f"{prefix}{name}_v" in state_dict:
            for i, part in enumerate("gv"):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(f"{prefix}{name}_{part}")

    module._register_load_state_dict_pre_hook(load_former_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, found by power iteration."""

    def __init__(self, weight, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim == 1:  # a vector's norm needs no iteration
            return
        self.n_power_iterations = n_power_iterations
        matrix = as_matrix(weight.detach(), self.dim)
        drawn = [matrix.new_empty(n).normal_(0, 1) for n in matrix.shape]
        for part, vector in zip(("_u", "_v"), drawn):
            self.register_buffer(part, F.normalize(vector, dim=0, eps=eps))
        self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call changes them in place
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., 2018); returns the module.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
    >>> [name.removeprefix("parametrizations.weight.") for name in layer.state_dict()]
    ['bias', 'original', '0._u', '0._v']
    """
    weight = _tensor_of(module, name)
    dim = default_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
