"""What torch.linalg has of products and views, and the factorisations the library lacks."""
from __future__ import annotations

from .._op import registry, torch_op
from . import matmul as products
from .linalg_solve import matrix_exp as torch_matrix_exp
from .values import aval_of, dt, p


@torch_op(name="linalg_cross", method=False, function=False)
def _cross(input: Tensor, other: Tensor, dim, *, out=None):
    return products.cross_product(input, other, dim)


def cross(input, other, *, dim=-1, out=None):
    """Cross products of vectors of 3 along a dimension.

    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    return _cross(input, other, dim, out=out)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices: a view."""
    return registry["diagonal"](A, offset, dim1, dim2)


def matmul(input, other, *, out=None):
    """torch.matmul."""
    return products.matmul(input, other, out=out)


def matrix_power(A, n, *, out=None):
    """A square matrix times itself n times; its inverse for negative n."""
    return products.matrix_power(A, n, out=out)


def matrix_exp(A):
    """The exponential of square matrices."""
    return torch_matrix_exp(A)


@torch_op(name="_linalg_vander", method=False, function=False)
def _vander(input: Tensor, columns):
    input = input if aval_of(input).ndim else p.reshape(input, shape=(1,))
    a = aval_of(input)
    dtype = dt.int64 if a.dtype in dt.INTEGER | {dt.bool_} else a.dtype
    x = p.convert(input, dtype=dtype)
    ones = p.full((*a.shape, 1), 1, dtype)
    repeated = p.broadcast_in_dim(x, shape=(*a.shape, columns - 1), dims=tuple(range(a.ndim)))
    return p.concatenate(ones, p.cumprod(repeated, axis=a.ndim), dimension=a.ndim)


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


MISSING = "linalg.{name} is not implemented: the LDL factorisation has no kernel here. Use linalg.lu_factor"


def ldl_factor(A, *, hermitian=False, out=None):
    """Not implemented."""
    raise NotImplementedError(MISSING.format(name="ldl_factor"))


def ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None):
    """Not implemented."""
    raise NotImplementedError(MISSING.format(name="ldl_factor_ex"))


def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """Not implemented."""
    raise NotImplementedError(MISSING.format(name="ldl_solve"))
