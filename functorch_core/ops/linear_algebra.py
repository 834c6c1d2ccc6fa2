"""Products of arrays, written with dot_general, and what is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import matrices as kernels
from ..kernels.einsum import einsum as contracted
from ..kernels.einsum import einsum_plan
from ..kernels.elementwise import truth
from ..kernels.shapes import as_diagonal
from ..kernels.shapes import diagonal as diagonal_of
from .declaring import check
from .op import op
from .places import exposed
from .promotion import broadcast_shapes, broadcast_to, canonical_axis, in_one_dtype
from .statistics import sum_dtype

MATMUL = """{name}: shapes {x} and {y} do not fit: the last dimension of the first, {n},
    must equal the {which} of the second, {m}."""


def products(fun: Callable) -> Callable:
    """A decorator: the operands come in one dtype.

    Of bools a product says whether any pair is true in both. It is computed in float32, in which no sum of zeros and
    ones is 0 unless all of them are, and for which there is a library.
    """

    @functools.wraps(fun)
    def apply(*operands, **static):
        operands = in_one_dtype(*operands)
        if aval_of(operands[0]).dtype != dt.bool_:
            return fun(*operands, **static)
        return truth(fun(*[p.convert(x, dtype=dt.float32) for x in operands], **static))

    return apply


# ---- matmul --------------------------------------------------------------------------------------


@op("fc", "fc.linalg", "x @ y")
@products
def matmul(x1, x2, /):
    """The matrix product over the last two dimensions; the others are broadcast.

    A 1-d operand is a row (first) or a column (second), whose dimension then goes. ValueError if
    the sizes do not fit, or for 0-d operands.

    >>> import functorch_core as fc
    >>> fc.matmul(fc.asarray([[1., 2.], [3., 4.]]), fc.asarray([1., 1.]))
    Array([3., 7.], dtype=float32)
    """
    return matrix_product(x1, x2, "matmul")


def matrix_product(x, y, name: str):
    """matmul of operands of one dtype."""
    a, b = aval_of(x), aval_of(y)
    if not a.ndim or not b.ndim:
        raise ValueError(f"{name} takes arrays of one or more dimensions, got {a} and {b}; multiply by a scalar with *")
    contract = b.ndim - 2 if b.ndim > 1 else 0
    if a.shape[-1] != b.shape[contract]:
        which = "second to last dimension" if b.ndim > 1 else "dimension"
        raise ValueError(
            MATMUL.format(name=name, x=a.shape, y=b.shape, n=a.shape[-1], which=which, m=b.shape[contract])
        )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2], name=name) if b.ndim > 2 and a.ndim > 1 else None
    return kernels.product(x, y, lead)


@op("fc", "fc.linalg")
@products
def vecdot(x1, x2, /, *, axis=-1):
    """The dot product along `axis`, the first operand conjugated; the others are broadcast.

    >>> import functorch_core as fc
    >>> fc.vecdot(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array(11., dtype=float32)
    """
    a, b = aval_of(x1), aval_of(x2)
    ndim = min(a.ndim, b.ndim)
    if not ndim:
        raise ValueError(f"vecdot takes arrays of one or more dimensions, got {a} and {b}")
    if axis >= 0 and a.ndim != b.ndim:
        raise ValueError(
            f"vecdot: axis={axis} counts from the last dimension (negative) where the "
            f"operands, {a} and {b}, differ in their number of dimensions"
        )
    axis = canonical_axis(axis, ndim, "vecdot") - ndim
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot: {a} and {b} differ in size along axis {axis}")
    if a.dtype in dt.COMPLEX:
        x1 = p.conj(x1)
    shape = broadcast_shapes(a.shape, b.shape, name="vecdot")
    x1, x2 = broadcast_to(x1, shape), broadcast_to(x2, shape)
    return kernels.summed_product(x1, x2, len(shape) + axis)


@op("fc", "Array", names="a b")
@products
def dot(x1, x2, /):
    """NumPy's dot: sums over the last dimension of x1 and the second to last of x2.

    >>> import functorch_core as fc
    >>> fc.dot(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array(11., dtype=float32)
    """
    a, b = aval_of(x1), aval_of(x2)
    if not a.ndim or not b.ndim:
        shape = broadcast_shapes(a.shape, b.shape)
        return p.mul(broadcast_to(x1, shape), broadcast_to(x2, shape))
    contract = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[contract]:
        raise ValueError(
            f"dot: {a} and {b} do not fit: the last dimension of the first, {a.shape[-1]}, "
            f"must equal the {'second to last' if b.ndim > 1 else 'only'} one of the second, {b.shape[contract]}"
        )
    return p.dot_general(x1, x2, contract=((a.ndim - 1,), (contract,)))


@op("fc", "fc.linalg")
@products
def tensordot(x1, x2, /, *, axes=2):
    """Products summed over several dimensions: the last `axes` of x1 with the first of x2, or the
    pairs of axes=(of x1, of x2).

    ValueError if sizes differ.

    >>> import functorch_core as fc
    >>> fc.tensordot(fc.ones((2, 3)), fc.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    a, b = aval_of(x1), aval_of(x2)
    if hasattr(axes, "__index__"):
        n = axes.__index__()
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: axes={n} is not a number of dimensions of {a} and {b}")
        of_x, of_y = tuple(range(a.ndim - n, a.ndim)), tuple(range(n))
    else:
        of_x, of_y = ((d,) if hasattr(d, "__index__") else tuple(d) for d in axes)
        of_x = tuple(canonical_axis(d, a.ndim, "tensordot") for d in of_x)
        of_y = tuple(canonical_axis(d, b.ndim, "tensordot") for d in of_y)
    if [a.shape[d] for d in of_x] != [b.shape[d] for d in of_y]:
        raise ValueError(f"tensordot: {a} and {b} differ in size along axes {(of_x, of_y)}")
    return p.dot_general(x1, x2, contract=(of_x, of_y))


@op("fc", "fc.linalg", names="a b")
@products
def outer(x1, x2, /):
    """The products of all pairs of elements of two arrays of one dimension, a matrix.

    ValueError for other numbers of dimensions.

    >>> import functorch_core as fc
    >>> fc.outer(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    a, b = aval_of(x1), aval_of(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer takes arrays of one dimension, got {a} and {b}")
    shape = (a.size, b.size)
    return p.mul(p.broadcast_in_dim(x1, shape=shape, dims=(0,)), p.broadcast_in_dim(x2, shape=shape, dims=(1,)))


@op("fc", names="a b", scalars=True)
@products
def kron(x1, x2, /):
    """The Kronecker product: every element of x1 times the whole of x2.

    >>> import functorch_core as fc
    >>> fc.kron(fc.asarray([1, 10]), fc.asarray([1, 2]))
    Array([ 1,  2, 10, 20], dtype=int64)
    """
    return kernels.kron(x1, x2)


@op("fc.linalg")
def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of 3 along `axis`; the others are broadcast.

    >>> import functorch_core as fc
    >>> fc.linalg.cross(fc.asarray([1., 0., 0.]), fc.asarray([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    x1, x2 = in_one_dtype(x1, x2)
    check("cross", x1, dt.NUMERIC)
    shape = broadcast_shapes(aval_of(x1).shape, aval_of(x2).shape, name="cross")
    d = canonical_axis(axis, len(shape), "cross")
    if shape[d] != 3 or any(v.ndim < len(shape) - d or v.shape[d - len(shape)] != 3 for v in map(aval_of, (x1, x2))):
        raise ValueError(f"cross takes vectors of 3 along axis {axis}, got {aval_of(x1)} and {aval_of(x2)}")
    return kernels.cross(broadcast_to(x1, shape), broadcast_to(x2, shape), d)


@op("fc.linalg")
def diagonal(x, /, *, offset=0):
    """The diagonals of the matrices in the last two dimensions; above the main one if positive.

    ValueError for fewer than 2 dimensions.

    >>> import functorch_core as fc
    >>> fc.linalg.diagonal(fc.asarray([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int64)
    """
    if aval_of(x).ndim < 2:
        raise ValueError(f"diagonal takes 2 or more dimensions, got {aval_of(x)}")
    return diagonal_of(x, offset)


@op("fc", names="v")
def diag(x, /, k=0):
    """A matrix with the vector x on its k-th diagonal, or the k-th diagonal of a matrix.

    ValueError for other numbers of dimensions.

    >>> import functorch_core as fc
    >>> fc.diag(fc.asarray([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int64)
    """
    a = aval_of(x)
    if a.ndim == 2:
        return diagonal_of(x, k)
    if a.ndim != 1:
        raise ValueError(f"diag takes 1 or 2 dimensions, got {a}")
    return as_diagonal(x, k)


@op("fc.linalg")
def trace(x, /, *, offset=0, dtype=None):
    """The sum of the diagonal of the matrices in the last two dimensions. Dtypes as for sum.

    >>> import functorch_core as fc
    >>> fc.linalg.trace(fc.asarray([[1., 2.], [3., 4.]]))
    Array(5., dtype=float32)
    """
    if aval_of(x).ndim < 2:
        raise ValueError(f"trace takes 2 or more dimensions, got {aval_of(x)}")
    x = diagonal_of(x, offset)
    a = aval_of(x)
    return p.reduce_sum(p.convert(x, dtype=sum_dtype(a.dtype, dtype)), axes=(a.ndim - 1,))


# ---- einsum --------------------------------------------------------------------------------------


@op
@products
def _einsum(*arrays, subscripts, path):
    return contracted(arrays, subscripts, path)


@exposed("fc")
def einsum(subscripts, /, *operands, optimize="auto"):
    """Sums of products, written by labels: "ij,jk->ik" is the matrix product.

    Every operand has one label a dimension, `...` for all others; labels that the result lacks are
    summed over. Without "->" the result has the labels that occur once, sorted. The order of
    contractions is opt_einsum's (`optimize`: its strategies, or a path). ValueError if labels do not fit.

    >>> import functorch_core as fc
    >>> fc.einsum("ij,j->i", fc.ones((2, 3)), fc.asarray([1., 2., 3.]))
    Array([6., 6.], dtype=float32)
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            "einsum takes the subscripts first, as a string: "
            f"fc.einsum('ij,jk->ik', x, y); got {type(subscripts).__name__}"
        )
    if isinstance(optimize, list):
        optimize = tuple(tuple(step) if isinstance(step, list) else step for step in optimize)
    if not operands:
        raise ValueError("einsum takes at least one operand")
    shapes = tuple(tuple(np.shape(x)) for x in operands)
    parsed, path = einsum_plan(subscripts, shapes, optimize)
    return _einsum(*operands, subscripts=parsed, path=path)


__all__ = [  # what it has in fc, for static tools
    "diag", "dot", "einsum", "kron", "matmul", "outer", "tensordot", "vecdot",
]  # fmt: skip
