"""What torch.linalg has of products and views, and approximations of low rank."""

from __future__ import annotations

from ...dispatch.op import composite, registry, torch_op
from ...dispatch.traits import EXACT, Out
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ..values import aval_of, dt, p
from . import matmul as products
from .factor import qr, svd
from .solve import matrix_exp as torch_matrix_exp


@torch_op(name="linalg_cross", method=False, function=False, out=Out(EXACT, apart=True))
def _cross(input: Tensor, other: Tensor, dim, *, out=None):
    return products.cross_product(input, other, dim)


@overridable
def cross(input, other, *, dim=-1, out=None):
    """Cross products of vectors of 3 along a dimension.

    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    return _cross(input, other, dim, out=out)


@overridable
def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices: a view.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return registry["diagonal"](A, offset, dim1, dim2)


@overridable
def matmul(input, other, *, out=None):
    """torch.matmul.

    >>> torch.linalg.matmul(torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    return products.matmul(input, other, out=out)


@overridable
def matrix_power(A, n, *, out=None):
    """A square matrix times itself n times; its inverse for negative n.

    >>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    return products.matrix_power(A, n, out=out)


@overridable
def matrix_exp(A):
    """The exponential of square matrices.

    >>> torch.linalg.matrix_exp(torch.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return torch_matrix_exp(A)


@torch_op(name="_linalg_vander", node="CatBackward0")
def _vander(input: Tensor, columns):
    input = input if aval_of(input).ndim else p.reshape(input, shape=(1,))
    a = aval_of(input)
    dtype = dt.int64 if a.dtype in dt.INTEGER | {dt.bool_} else a.dtype
    x = p.convert(input, dtype=dtype)
    ones = p.full((*a.shape, 1), 1, dtype)
    repeated = p.broadcast_in_dim(x, shape=(*a.shape, columns - 1), dims=tuple(range(a.ndim)))
    return p.concatenate(ones, p.cumprod(repeated, axis=a.ndim), dimension=a.ndim)


@overridable
def vander(x, N=None):
    """The powers 0 to N - 1 of every element, along a new last dimension.

    >>> torch.linalg.vander(torch.tensor([2, 3]))
    tensor([[1, 2],
            [1, 3]])
    """
    columns = N if N is not None else x.shape[-1] if x.ndim else 1
    if columns <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _vander(x, columns)


# ---- low rank ------------------------------------------------------------------------------------


def _basis(A, q: int, niter: int):
    """Orthonormal columns that span about the range of A (Halko et al., 2009, algorithm 4.4)."""
    random = registry["randn"](A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = qr(A @ random).Q
    for _ in range(niter):
        basis = qr(A.mH @ basis).Q
        basis = qr(A @ basis).Q
    return basis


@composite(method=False)
def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S, V with A (less M) about U diag(S) V^H, of rank q, by a random basis of its range.

    >>> U, S, V = torch.svd_lowrank(torch.tensor([[3., 0.], [4., 0.]]), q=1)
    >>> S
    tensor([5.])
    """
    rows, columns = A.shape[-2:]
    A = A if M is None else A - M.expand(A.shape)
    A = A.mH if rows < columns else A
    basis = _basis(A, 6 if q is None else q, niter)
    u, s, vh = svd(basis.mH @ A, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (v, s, u) if rows < columns else (u, s, v)


@composite(method=False)
def pca_lowrank(A, q=None, center=True, niter=2):
    """svd_lowrank of the rows of A, less their mean if `center`.

    >>> U, S, V = torch.pca_lowrank(torch.tensor([[1., 0.], [3., 0.], [5., 0.]]), q=1)
    >>> S
    tensor([2.8284])
    """
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter=niter)
