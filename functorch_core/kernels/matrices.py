"""Products, powers, norms, pseudo-inverses of matrices: the last two dimensions of values of one dtype."""

from __future__ import annotations

import functools
import math

from ..primitives import linalg_matrices as m
from ..transforms.custom import JvpRule, custom_jvp
from ..transforms.scan import scan
from .subgradients import vector_norm
from .values import aval_of, derived, dt, expanded, full_like, p, spread, stop_gradient, tied, total, where

# ---- products ------------------------------------------------------------------------------------


def product(x, y, lead=None):
    """x @ y as NumPy has it; `lead` is the shape that the dimensions in front of matrices are broadcast to."""
    a, b = aval_of(x), aval_of(y)
    if b.ndim <= 2:  # one contraction, whatever stands in front: no batch dimensions
        return p.dot_general(x, y, contract=((a.ndim - 1,), (max(b.ndim - 2, 0),)))
    if a.ndim == 1:
        return p.dot_general(y, x, contract=((b.ndim - 2,), (0,)))
    lead = a.shape[:-2] if lead is None else lead
    if math.prod(b.shape[:-2]) == 1:  # one matrix for all: no batch
        out = p.dot_general(x, p.reshape(y, shape=b.shape[-2:]), contract=((a.ndim - 1,), (0,)))
        return p.reshape(out, shape=(*lead, a.shape[-2], b.shape[-1]))
    return m.matmul(expanded(x, (*lead, *a.shape[-2:])), expanded(y, (*lead, *b.shape[-2:])))


def powered(x, n: int, multiply=product):
    """Square matrices to the power n >= 1, by the product of two."""
    out = None
    while n:
        if n & 1:
            out = x if out is None else multiply(out, x)
        n >>= 1
        x = multiply(x, x) if n else x
    return out


def summed_product(x, y, axis: int):
    """The sum of x * y along an axis, of values of one shape."""
    both = tuple(d for d in range(aval_of(x).ndim) if d != axis)
    return p.dot_general(x, y, contract=((axis,), (axis,)), batch=(both, both))


def kron(x, y):
    """Kronecker's product, of as many dimensions as the larger has."""
    ndim = max(aval_of(x).ndim, aval_of(y).ndim)
    of_x, of_y = ((1,) * (ndim - aval_of(v).ndim) + aval_of(v).shape for v in (x, y))
    split = tuple(n for pair in zip(of_x, of_y, strict=True) for n in pair)
    x = p.broadcast_in_dim(p.reshape(x, shape=of_x), shape=split, dims=tuple(range(0, 2 * ndim, 2)))
    y = p.broadcast_in_dim(p.reshape(y, shape=of_y), shape=split, dims=tuple(range(1, 2 * ndim, 2)))
    return p.reshape(p.mul(x, y), shape=tuple(n * m for n, m in zip(of_x, of_y, strict=True)))


def cross(x, y, axis: int):
    """The cross product of vectors of 3 along an axis, of values of one shape."""
    x, y = ([p.slice_in_dim(v, start=i, limit=i + 1, dimension=axis) for i in range(3)] for v in (x, y))
    parts = [p.sub(p.mul(x[i], y[j]), p.mul(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return p.concatenate(*parts, dimension=axis)


# ---- singular values, norms ----------------------------------------------------------------------


def filled(x, shape, fill, dtype=None):
    """A number for whatever is asked of an empty x, in x's dtype or another.

    It depends on x, so that there is a derivative, which is as empty.
    """
    dtype = aval_of(x).dtype if dtype is None else dtype
    return tied(p.full(tuple(shape), fill, dtype), x)


def singular_values(x):
    """The singular values of a value, descending."""
    a = aval_of(x)
    if not a.size:
        return filled(x, (*a.shape[:-2], min(a.shape[-2:])), 0, dt.real_of(a.dtype))
    return p.svd(x, compute_uv=False)


def above(values, atol, rtol):
    """Which singular values exceed max(atol, rtol * the largest)."""
    last = aval_of(values).ndim - 1
    limit = p.max(atol, p.mul(rtol, p.reduce_max(values, axes=(last,))))
    return p.gt(values, spread(limit, aval_of(values).shape, (last,)))


def rank(values, atol, rtol):
    """The number of singular values above tolerances."""
    last = aval_of(values).ndim - 1
    if not aval_of(values).shape[last]:
        return p.full(aval_of(values).shape[:-1], 0, dt.int64)
    return total(p.convert(above(values, atol, rtol), dtype=dt.int64), (last,))


def matrix_norm(x, order):
    """Of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    last = aval_of(x).ndim - 1
    if order == "fro":
        return vector_norm(x, 2, (last - 1, last))
    if order in ("nuc", 2, -2):
        values = singular_values(x)
        return total(values, (last - 1,)) if order == "nuc" else _extreme(values, last - 1, order)
    return _extreme(total(p.abs(x), (last - 1 if abs(order) == 1 else last,)), last - 1, order)


def _extreme(x, dim: int, order):
    if not aval_of(x).shape[dim]:
        return total(x, (dim,))
    return (p.reduce_max if order > 0 else p.reduce_min)(x, axes=(dim,))


# ---- pseudo-inverses -----------------------------------------------------------------------------


@functools.cache
def _pinv(hermitian: bool) -> JvpRule:
    """The rule of Golub and Pereyra (1973): no derivative of singular vectors."""

    def rule(primals, tangents):
        a, t = primals[0], tangents[0]
        x = pinv(*primals, hermitian)
        th, xh = m.adjoint(t), m.adjoint(x)
        moved = p.neg(product(product(x, t), x))
        rows, columns = m.rows_columns(aval_of(a))
        left = p.sub(_eye(th, rows), product(a, x))
        right = p.sub(_eye(th, columns), product(x, a))
        moved = p.add(moved, product(product(x, product(xh, th)), left))
        moved = p.add(moved, product(product(right, th), product(xh, x)))
        return [x], [moved]

    return JvpRule(rule, "pinv")


def pinv(a, atol, rtol, hermitian: bool = False):
    """The pseudo-inverse of a value, with its rule."""
    return custom_jvp(
        lambda a, atol, rtol: [_pseudo_inverse(a, atol, rtol, hermitian)], _pinv(hermitian), [a, atol, rtol]
    )[0]


def _eye(x, n: int):
    a = aval_of(x)
    return m.identity(shape=(*a.shape[:-2], n, n), dtype=a.dtype)


def _pseudo_inverse(a, atol, rtol, hermitian: bool):
    """V diag(1 / s) U^H, for the s above the tolerances (one for each matrix)."""
    if hermitian:
        values, vectors = p.eigh(a)
        size = p.abs(values)
        left, right = vectors, vectors
    else:
        left, size, vh = p.svd(a)
        values, right = size, m.adjoint(vh)
    kept = above(size, atol, rtol)
    safe = p.select(kept, values, full_like(values, 1))
    inverse_ = p.select(kept, p.div(full_like(safe, 1), safe), p.zeros(aval_of(safe)))
    return product(m.scale_columns(right, inverse_), m.adjoint(left))


# ---- exponentials --------------------------------------------------------------------------------

# The Taylor polynomial of degree 19 by seven products (Paterson and Stockmeyer, 1973): good to
# these norms, to which a matrix is halved before and squared after. No system to solve, as Pade's
# would be.
TAYLOR_NORM = {dt.float32: 3.0, dt.float64: 1.1}
HALVINGS = 24  # enough for norms up to 18 million


def exponential(x):
    """The exponential of square matrices."""
    a = aval_of(x)
    sums = total(stop_gradient(p.abs(x)), (a.ndim - 2,))
    norm = p.reduce_max(sums, axes=(a.ndim - 2,))
    limit = TAYLOR_NORM[aval_of(norm).dtype]
    halvings = p.ceil(p.log2(p.div(norm, full_like(norm, limit))))
    halvings = p.max(halvings, full_like(norm, 0))
    halvings = p.select(p.gt(halvings, float(HALVINGS)), full_like(norm, math.nan), halvings)
    scale = p.exp2(p.neg(halvings))
    y = _taylor(p.mul(x, _per_matrix(p.convert(scale, dtype=a.dtype), a.shape)))
    steps = p.iota(shape=(HALVINGS,), dtype=aval_of(norm).dtype)

    def square(carry, xs):
        going = p.lt(p.broadcast_in_dim(xs[0], shape=aval_of(norm).shape, dims=()), halvings)
        mask = _per_matrix(going, a.shape)
        return [p.select(mask, product(carry[0], carry[0]), carry[0])], []

    return scan(square, [y], [steps])[0][0]


def _per_matrix(x, shape):
    return p.broadcast_in_dim(x, shape=shape, dims=tuple(range(len(shape) - 2)))


def _taylor(x):
    """The sum of x ** k / k! to k = 19: a polynomial of degree 4 in x ** 4."""
    powers = [m.identity(shape=aval_of(x).shape, dtype=aval_of(x).dtype), x, product(x, x)]
    powers.append(product(powers[2], x))
    fourth = product(powers[2], powers[2])
    out = None
    for block in reversed(range(5)):
        part = None
        for i, power in enumerate(powers):
            term = p.mul(power, 1 / math.factorial(4 * block + i))
            part = term if part is None else p.add(part, term)
        out = part if out is None else p.add(product(out, fourth), part)
    return out


# ---- distances -----------------------------------------------------------------------------------
# Of all pairs of 300 and 300 rows of 32, ms, forward and with gradients:
#     the norms of all differences    0.29   1.73
#     by products                     0.04   0.14


def _inner(x, y):
    """The inner products of all pairs of rows."""
    n = aval_of(x).ndim
    lead = tuple(range(n - 2))
    return p.dot_general(x, y, contract=((n - 1,), (n - 1,)), batch=(lead, lead))


def _by_rows(t, x, y, out):
    return _distance_tangent(total(p.mul(t, x), (aval_of(x).ndim - 1,)), _inner(t, y), out, aval_of(x).ndim - 1)


def _by_columns(t, x, y, out):
    return _distance_tangent(total(p.mul(t, y), (aval_of(y).ndim - 1,)), _inner(x, t), out, aval_of(y).ndim - 2)


def _distance_tangent(own, crossed, out, axis: int):
    """(<t, x> - <t, y>) / |x - y|, 0 where that is."""
    reciprocal = where(p.eq(out, 0), 0, p.div(1, out))
    return p.mul(p.sub(spread(own, aval_of(out).shape, (axis,)), crossed), reciprocal)


@derived(_by_rows, _by_columns)
def euclidean_distances(x, y):
    """The distances of all pairs of rows of (..., n, d) and (..., m, d), with one product of matrices."""
    last = aval_of(x).ndim - 1
    squares = [p.expand_dims(total(p.mul(v, v), (last,)), dims=(last,)) for v in (x, y)]
    ones = [full_like(s, 1) for s in squares]
    left = p.concatenate(p.mul(-2.0, x), squares[0], ones[0], dimension=last)
    right = p.concatenate(y, ones[1], squares[1], dimension=last)
    found = _inner(left, right)
    return p.sqrt(p.max(found, full_like(found, 0)))
