"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math

from ....core.warn import warn_once
from ....kernels.matrices import filled, singular_values
from ....kernels.matrices import matrix_norm as matrix_norm_of
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.traits import EXACT, Out, castable, takes_out
from ...tensors import types as _types
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ..reduce.reduction import _vector_norm as vector_norm_op
from ..values import aval_of, dt, full_like, p, permuted, wide, wrap_dim
from .checks import matrices, require_inexact, require_matrices_of_numbers

# ---- vectors -------------------------------------------------------------------------------------


@takes_out("linalg_vector_norm", Out(EXACT))
@overridable
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The ord-norm over dimensions (all by default) as if they were one vector.

    >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    _check_empty(x, ord, dim)
    _check_norm_dtype("linalg.vector_norm", x, dtype)
    return write_out("linalg_vector_norm", out, vector_norm_op(x, float(ord), dim, keepdim, dtype))


def _check_norm_dtype(name: str, x, dtype):
    if dtype is None:
        return
    wanted, found = _types.numpy_dtype(dtype), x._aval.dtype
    if wanted not in dt.INEXACT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex. Got {dtype}")
    if dt.category(wanted) != dt.category(found):
        raise RuntimeError(
            f"{name}: dtype should be "
            f"{'complex' if found in dt.COMPLEX else 'real'} for "
            f"{'complex' if found in dt.COMPLEX else 'real'} inputs, but got "
            f"{dtype}"
        )
    if wanted.itemsize < found.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype}) should be convertible "
            "without "
            f"narrowing to the specified dtype ({dtype})"
        )


def _check_empty(x, ord, dim):
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if not (ord == math.inf or ord < 0):
        return
    shape = x.shape or (1,)
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    if any(shape[d] == 0 for d in dims):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor "
            "because "
            "the operation does not have an identity"
        )


# ---- matrices ------------------------------------------------------------------------------------


SPECTRAL = ("nuc", 2, -2)  # norms of singular values, which matrices with NaN do not have
ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def _matrix_norm_node(a):
    if a.ord in ("fro", None):
        return "LinalgVectorNormBackward0"
    if a.keepdim and a.ord in SPECTRAL:
        return "PermuteBackward0"
    if a.ord == "nuc":
        return "SumBackward1"
    return "AminBackward0" if a.ord < 0 else "AmaxBackward0"


@torch_op(
    name="linalg_matrix_norm",
    method=False,
    function=False,
    out=Out("linalg.matrix_norm expected out tensor dtype {found} but got: {wanted}"),
    autocast={"cuda": "full"},
    node=_matrix_norm_node,
)
def _matrix_norm(input: Tensor, ord, dim, keepdim, dtype, *, out=None):
    a = aval_of(input)
    if ord not in ORDERS:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord if isinstance(ord, str) else f'{ord:g}'} not supported.")
    if a.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    wanted = _types.numpy_dtype(dtype, a.dtype)
    if wanted not in dt.INEXACT:
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {a.dtype.name.capitalize()}"
        )
    x = p.convert(input, dtype=wanted)
    if ord in SPECTRAL:
        require_inexact("linalg.matrix_norm", x)
    rows, columns = (wrap_dim(d, a.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    rest = [d for d in range(a.ndim) if d not in (rows, columns)]
    moved = permuted(x, (*rest, rows, columns))
    _check_size(ord, aval_of(moved).shape[-2:])
    out_ = matrix_norm_of(wide(moved), ord)
    out_ = p.convert(out_, dtype=dt.real_of(wanted))
    return p.expand_dims(out_, dims=tuple(sorted((rows, columns)))) if keepdim else out_


def _check_size(ord, size):
    """IndexError for the least of nothing; the greatest is 0."""
    least = {-1: size[1], -math.inf: size[0], -2: min(size)}
    if least.get(ord, 1) == 0:
        raise IndexError("amin(): Expected reduction dim to have non-zero size.")


@overridable
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf.

    >>> torch.linalg.matrix_norm(torch.tensor([[3., 4.]]))
    tensor(5.)
    """
    _check_norm_dtype("linalg.matrix_norm", A, dtype)
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    ord, dim = ord if isinstance(ord, str) else float(ord), tuple(dim)
    made = _matrix_norm(A, ord, dim, keepdim, dtype, out=out)
    if ord in SPECTRAL:
        require_matrices_of_numbers(A if dim == (-2, -1) else A.movedim(dim, (-2, -1)))
    return made


@overridable
def norm(input, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """A vector's or a matrix's norm, by the number of dimensions.

    >>> torch.linalg.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    if isinstance(dim, int):
        dim = (dim,)
    if ord is not None:
        if dim is not None and len(dim) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
        if dim is None and input.ndim not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
            )
    matrix = ord is not None and (len(dim) == 2 if dim is not None else input.ndim == 2)
    if isinstance(ord, str) and not matrix:
        if dim is None:
            raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim[0]}")
    if matrix:
        return matrix_norm(input, ord, dim or (-2, -1), keepdim, dtype=dtype, out=out)
    return vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


OLD_NORM = "torch.{name} is deprecated: call torch.linalg.matrix_norm(A, ord={ord!r})"


@composite(method=False, autocast={"cuda": "full"})
def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """linalg.matrix_norm(input, "nuc") under its old name.

    >>> torch.nuclear_norm(torch.tensor([[3., 0.], [0., 4.]]))
    tensor(7.)
    """
    warn_once(OLD_NORM.format(name="nuclear_norm", ord="nuc"))
    return matrix_norm(input, "nuc", dim, keepdim, out=out)


@composite(method=False, autocast={"cuda": "full"})
def frobenius_norm(input, dim=(), keepdim=False, *, out=None):
    """linalg.vector_norm(input) under its old name; over all dimensions if none is given.

    >>> torch.frobenius_norm(torch.tensor([[3., 0.], [0., 4.]]), (0, 1), False)
    tensor(5.)
    """
    warn_once(OLD_NORM.format(name="frobenius_norm", ord="fro"))
    return vector_norm(input, 2, tuple(dim) if isinstance(dim, (tuple, list)) and dim else None, keepdim, out=out)


# ---- condition numbers ---------------------------------------------------------------------------


def _cond_node(a):
    largest = "Slice0(LinalgSvd0(input)#1)"
    return f"Squeeze1(Div0({largest}, {largest}))" if a.order in (None, 2) else "SqueezeBackward1"


@torch_op(
    name="linalg_cond",
    saves="operands",
    method=False,
    function=False,
    out=Out(lower=castable("linalg.cond")),
    autocast={"cpu": "full"},
    node=_cond_node,
)
def _cond(input: Tensor, order, *, out=None):
    x = matrices(input, "linalg.cond")
    a = aval_of(x)
    if order not in (None, *ORDERS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {order}")
    if order in (None, 2, -2):
        if not a.size:
            return filled(x, a.shape[:-2], 0, dt.real_of(a.dtype))
        values = singular_values(x)
        last = aval_of(values).ndim - 1
        top, bottom = (
            p.squeeze(p.slice_in_dim(values, start=i, limit=i + 1, dimension=last), dims=(last,))
            for i in (0, aval_of(values).shape[last] - 1)
        )
        return p.div(bottom, top) if order == -2 else p.div(top, bottom)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.cond: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if not a.size:
        return filled(x, a.shape[:-2], 0, dt.real_of(a.dtype))
    inverse = p.inv(x)
    product = p.mul(matrix_norm_of(x, order), matrix_norm_of(inverse, order))
    singular = p.reduce_or(p.ne(p.abs(inverse), p.abs(inverse)), axes=(a.ndim - 2, a.ndim - 1))
    return p.select(singular, full_like(product, math.inf), product)


@overridable
def cond(A, p=None, *, out=None):
    """The condition number of matrices by a norm, the spectral one by default.

    >>> torch.linalg.cond(torch.tensor([[2., 0.], [0., 4.]]))
    tensor(2.)
    """
    made = _cond(A, p if p is None or isinstance(p, str) else float(p), out=out)
    if p is None or p in SPECTRAL:
        require_matrices_of_numbers(A)
    return made
