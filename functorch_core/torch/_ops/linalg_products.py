"""What torch.linalg has of products and views, and the factorisations the library lacks."""
from __future__ import annotations

from .._op import registry, torch_op
from . import matmul as products
from .linalg_solve import matrix_exp as torch_matrix_exp


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
