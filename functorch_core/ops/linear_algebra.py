"""Products of arrays, written with dot_general, and what is made of them."""

from __future__ import annotations

import functools

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from .elementwise import check
from .op import op
from .promotion import broadcast_shapes, broadcast_to, canonical_axis, cast, result_dtype

MATMUL = """{name}: shapes {x} and {y} do not fit: the last dimension of the first, {n},
    must equal the {which} of the second, {m}."""


def products(name: str, *operands) -> list:
    """The operands in one numeric dtype; bools are not numbers, and need astype first."""
    dtype = result_dtype(operands)
    operands = [cast(x, dtype) for x in operands]
    for x in operands:
        check(name, x, dt.NUMERIC)
    return operands


# ---- matmul --------------------------------------------------------------------------------------


@op
def matmul(x1, x2, /):
    """The matrix product over the last two dimensions; the others are broadcast.

    A 1-d operand is a row (first) or a column (second), whose dimension then goes. ValueError if
    the sizes do not fit, or for 0-d operands.

    >>> import functorch_core as fc
    >>> fc.matmul(fc.asarray([[1., 2.], [3., 4.]]), fc.asarray([1., 1.]))
    Array([3., 7.], dtype=float32)
    """
    x1, x2 = products("matmul", x1, x2)
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
    if b.ndim <= 2:  # one contraction, whatever stands in front: no batch dimensions
        return p.dot_general(x, y, contract=((a.ndim - 1,), (contract,)))
    if a.ndim == 1:
        out = p.dot_general(y, x, contract=((contract,), (0,)))
        return out
    shared = broadcast_shapes(a.shape[:-2], b.shape[:-2], name=name)
    x, y = broadcast_to(x, shared + a.shape[-2:]), broadcast_to(y, shared + b.shape[-2:])
    n, both = len(shared), tuple(range(len(shared)))
    return p.dot_general(x, y, contract=((n + 1,), (n,)), batch=(both, both))


@op
def vecdot(x1, x2, /, *, axis=-1):
    """The dot product along `axis`, the first operand conjugated; the others are broadcast.

    >>> import functorch_core as fc
    >>> fc.vecdot(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array(11., dtype=float32)
    """
    x1, x2 = products("vecdot", x1, x2)
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
    d = len(shape) + axis
    both = tuple(i for i in range(len(shape)) if i != d)
    return p.dot_general(x1, x2, contract=((d,), (d,)), batch=(both, both))


@op
def dot(x1, x2, /):
    """NumPy's dot: sums over the last dimension of x1 and the second to last of x2.

    >>> import functorch_core as fc
    >>> fc.dot(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array(11., dtype=float32)
    """
    x1, x2 = products("dot", x1, x2)
    a, b = aval_of(x1), aval_of(x2)
    if not a.ndim or not b.ndim:
        shape = broadcast_shapes(a.shape, b.shape)
        return p.mul(broadcast_to(x1, shape), broadcast_to(x2, shape))
    contract = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[contract]:
        raise ValueError(f"dot: {a} and {b} do not fit: {a.shape[-1]} is not {b.shape[contract]}")
    return p.dot_general(x1, x2, contract=((a.ndim - 1,), (contract,)))


@op
def tensordot(x1, x2, /, *, axes=2):
    """Products summed over several dimensions: the last `axes` of x1 with the first of x2, or the
    pairs of axes=(of x1, of x2).

    ValueError if sizes differ.

    >>> import functorch_core as fc
    >>> fc.tensordot(fc.ones((2, 3)), fc.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    x1, x2 = products("tensordot", x1, x2)
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


@op
def outer(x1, x2, /):
    """The products of all pairs of elements of two arrays of one dimension, a matrix.

    ValueError for other numbers of dimensions.

    >>> import functorch_core as fc
    >>> fc.outer(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    x1, x2 = products("outer", x1, x2)
    a, b = aval_of(x1), aval_of(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer takes arrays of one dimension, got {a} and {b}")
    shape = (a.size, b.size)
    return p.mul(p.broadcast_in_dim(x1, shape=shape, dims=(0,)), p.broadcast_in_dim(x2, shape=shape, dims=(1,)))


@op
def kron(x1, x2, /):
    """The Kronecker product: every element of x1 times the whole of x2.

    >>> import functorch_core as fc
    >>> fc.kron(fc.asarray([1, 10]), fc.asarray([1, 2]))
    Array([ 1,  2, 10, 20], dtype=int64)
    """
    x1, x2 = products("kron", x1, x2)
    a, b = aval_of(x1), aval_of(x2)
    ndim = max(a.ndim, b.ndim)
    of_x, of_y = ((1,) * (ndim - v.ndim) + v.shape for v in (a, b))
    spread = tuple(n for pair in zip(of_x, of_y) for n in pair)
    x1 = p.broadcast_in_dim(p.reshape(x1, shape=of_x), shape=spread, dims=tuple(range(0, 2 * ndim, 2)))
    x2 = p.broadcast_in_dim(p.reshape(x2, shape=of_y), shape=spread, dims=tuple(range(1, 2 * ndim, 2)))
    return p.reshape(p.mul(x1, x2), shape=tuple(n * m for n, m in zip(of_x, of_y)))


@op
def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of 3 along `axis`; the others are broadcast.

    >>> import functorch_core as fc
    >>> fc.linalg.cross(fc.asarray([1., 0., 0.]), fc.asarray([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    x1, x2 = products("cross", x1, x2)
    shape = broadcast_shapes(aval_of(x1).shape, aval_of(x2).shape, name="cross")
    d = canonical_axis(axis, len(shape), "cross")
    if shape[d] != 3 or any(v.ndim < len(shape) - d or v.shape[d - len(shape)] != 3 for v in map(aval_of, (x1, x2))):
        raise ValueError(f"cross takes vectors of 3 along axis {axis}, got {aval_of(x1)} and {aval_of(x2)}")
    x, y = (
        [p.slice_in_dim(broadcast_to(v, shape), start=i, limit=i + 1, dimension=d) for i in range(3)] for v in (x1, x2)
    )
    parts = [p.sub(p.mul(x[i], y[j]), p.mul(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return p.concatenate(*parts, dimension=d)


# ---- diagonals -----------------------------------------------------------------------------------


def diagonal_of(x, offset: int = 0):
    """The diagonals of the last two dimensions, by one gather of flattened matrices."""
    a = aval_of(x)
    rows, columns = a.shape[-2:]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = np.arange(count, dtype=np.int64) * (columns + 1) + max(offset, 0) - min(offset, 0) * columns
    flat = p.reshape(x, shape=a.shape[:-2] + (rows * columns,))
    if not count:
        return p.full(a.shape[:-2] + (0,), 0, a.dtype)
    # The elements stand columns + 1 apart: a strided slice, which fuses, where a gather may not.
    first, last = int(places[0]), int(places[-1]) + 1
    return p.slice_in_dim(flat, start=first, limit=last, stride=columns + 1, dimension=a.ndim - 2)


@op
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


@op
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
    n = a.size + abs(k)
    if not a.size:
        return p.full((n, n), 0, a.dtype)
    flat = p.pad(
        x,
        p.constant(_zero(a.dtype)),
        low=(max(k, 0) + max(-k, 0) * n,),
        interior=(n,),
        high=(n * n - (a.size - 1) * (n + 1) - 1 - max(k, 0) - max(-k, 0) * n,),
    )
    return p.reshape(flat, shape=(n, n))


def _zero(dtype):
    return np.zeros((), dtype)


@op
def trace(x, /, *, offset=0, dtype=None):
    """The sum of the diagonal of the matrices in the last two dimensions. Dtypes as for sum.

    >>> import functorch_core as fc
    >>> fc.linalg.trace(fc.asarray([[1., 2.], [3., 4.]]))
    Array(5., dtype=float32)
    """
    from .statistics import sum_dtype

    if aval_of(x).ndim < 2:
        raise ValueError(f"trace takes 2 or more dimensions, got {aval_of(x)}")
    x = diagonal_of(x, offset)
    a = aval_of(x)
    return p.reduce_sum(p.convert(x, dtype=sum_dtype(a.dtype, dtype)), axes=(a.ndim - 1,))


# ---- einsum --------------------------------------------------------------------------------------


@op
def _einsum(*arrays, subscripts, path):
    arrays = products("einsum", *arrays)
    inputs, output = subscripts
    terms = list(inputs)
    for chosen, result in path:
        picked = [(terms[i], arrays[i]) for i in chosen]
        for i in sorted(chosen, reverse=True):
            del terms[i], arrays[i]
        needed = set("".join(terms)) | set(output)
        term, value = picked[0]
        for other, operand in picked[1:]:
            term, value = _einsum_pair(term, value, other, operand, needed)
        if len(picked) == 1:
            term, value = _einsum_reduce(term, value, needed)
        terms.append(term)
        arrays.append(value)
    term, value = _einsum_reduce(terms[0], arrays[0], set(output))
    return p.transpose(value, permutation=tuple(term.index(c) for c in output))


def _einsum_reduce(term: str, x, needed):
    """Repeated labels as diagonals, labels that nobody needs summed."""
    while len(set(term)) != len(term):
        c = next(c for c in term if term.count(c) > 1)
        i, j = term.index(c), term.rindex(c)
        order = [d for d in range(len(term)) if d not in (i, j)] + [i, j]
        x = diagonal_of(p.transpose(x, permutation=tuple(order)))
        term = "".join(term[d] for d in order[:-1])
    axes = tuple(d for d, c in enumerate(term) if c not in needed)
    return "".join(c for c in term if c in needed), p.reduce_sum(x, axes=axes)


def _einsum_pair(a: str, x, b: str, y, needed):
    """The product of two terms: labels of both are batch dimensions if needed, else contracted."""
    a, x = _einsum_reduce(a, x, needed | set(b))
    b, y = _einsum_reduce(b, y, needed | set(a))
    shared = [c for c in a if c in b]
    sizes = {c: (aval_of(x).shape[a.index(c)], aval_of(y).shape[b.index(c)]) for c in shared}
    # A dimension of size 1 that meets a longer one is broadcast: it leaves its own term.
    for c, (n, m) in sizes.items():
        if n == 1 != m:
            x, a = p.squeeze(x, dims=(a.index(c),)), a.replace(c, "")
        elif m == 1 != n:
            y, b = p.squeeze(y, dims=(b.index(c),)), b.replace(c, "")
    if a and (set(a) | set(b)) - needed - (set(a) & set(b)):
        a, x = _einsum_reduce(a, x, needed | set(b))
        b, y = _einsum_reduce(b, y, needed | set(a))
    both = [c for c in a if c in b and c in needed]
    summed = [c for c in a if c in b and c not in needed]
    out = p.dot_general(
        x,
        y,
        contract=(tuple(a.index(c) for c in summed), tuple(b.index(c) for c in summed)),
        batch=(tuple(a.index(c) for c in both), tuple(b.index(c) for c in both)),
    )
    rest = [c for c in a if c not in b] + [c for c in b if c not in a]
    return "".join(both + rest), out


@functools.lru_cache(maxsize=1024)
def einsum_plan(subscripts: str, shapes: tuple, optimize) -> tuple:
    """((input terms, output term), path) of an einsum expression, by opt_einsum."""
    import opt_einsum

    try:
        inputs, output, _ = opt_einsum.parser.parse_einsum_input((subscripts, *shapes), shapes=True)
        terms = tuple(inputs.split(","))
        for term, shape in zip(terms, shapes, strict=True):
            if len(term) != len(shape):
                raise ValueError(f"the term {term!r} has {len(term)} labels for shape {shape}")
        if len(shapes) == 1:
            path = [(0,)]
        else:
            path, _ = opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=optimize)
    except (ValueError, KeyError) as error:
        shown = ", ".join(map(str, shapes))
        raise ValueError(f"einsum({subscripts!r}) of shapes {shown}: {error}") from None
    return (terms, output), tuple((tuple(step), None) for step in path)


def einsum(subscripts, /, *operands, optimize="auto"):
    """Sums of products, written by labels: "ij,jk->ik" is the matrix product.

    Every operand has one label a dimension, `...` for all others; labels that the result lacks are
    summed over. Without "->" the result has the labels that occur once, sorted. The order of
    contractions is opt_einsum's (`optimize`: its strategies). ValueError if labels do not fit.

    >>> import functorch_core as fc
    >>> fc.einsum("ij,j->i", fc.ones((2, 3)), fc.asarray([1., 2., 3.]))
    Array([6., 6.], dtype=float32)
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            "einsum takes the subscripts first, as a string: "
            f"fc.einsum('ij,jk->ik', x, y); got {type(subscripts).__name__}"
        )
    if not operands:
        raise ValueError("einsum takes at least one operand")
    shapes = tuple(tuple(np.shape(x)) for x in operands)
    parsed, path = einsum_plan(subscripts, shapes, optimize)
    return _einsum(*operands, subscripts=parsed, path=path)
