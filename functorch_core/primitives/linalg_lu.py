"""LU factorisation, and what it gives: solutions, inverses, determinants.

Derivatives: de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using triangular
factorization", 2011; Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation", 2008.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Linear, Primitive, Traits
from ..core.trace import bind, evaluate, trace_closed
from ..core.types import Batched, Cotangents, Dims, Jvp, Jvps, Tangents, Value
from .arithmetic import abs, add, mul, neg, sign, sub
from .batching import Axis, front_batch
from .bitwise import and_
from .comparison import eq, ge, lt, ne, select
from .convert import convert
from .declare import no_tangent
from .extremes import reduce_max, reduce_min
from .indexing import gather, index_vectors
from .linalg_matrices import (
    LINALG,
    as_diagonal,
    by_lapack,
    check_matrix,
    check_stack,
    cuda_call,
    diagonal,
    identity,
    info_aval,
    lapack,
    lower_triangle,
    matmul,
    of_each_side,
    per_column,
    per_row,
    resized,
    rows_columns,
    scipy_routine,
    stacked,
    swapped,
    unavailable,
    unless_empty,
    upper_triangle,
)
from .linalg_triangular import solve_as_columns, triangular_solve
from .reductions import reduce_prod, reduce_sum
from .slicing import concatenate, dynamic_slice
from .structure import broadcast_in_dim, full, iota, zeros
from .transcendental import log

# ---- permutations of rows ------------------------------------------------------------------------


def permute_rows(x: Value, permutation: Value) -> Value:
    """x[..., permutation, :] of matrices [..., m, n], by int32 [..., m]."""
    a = aval_of(x)
    if not a.size:
        return x
    lead = tuple(range(a.ndim - 2))
    return gather(
        x,
        index_vectors(permutation),
        offset_dims=(a.ndim - 1,),
        collapsed_slice_dims=(a.ndim - 2,),
        start_index_map=(a.ndim - 2,),
        slice_sizes=(*(1 for _ in lead), 1, a.shape[-1]),
        operand_batching_dims=lead,
        start_indices_batching_dims=lead,
        mode="clip",
    )


def inverse_permutation(permutation: Value) -> Value:
    """The permutations that undo these, int32 [..., m]: where each number stands."""
    a = aval_of(permutation)
    square = aval((*a.shape, a.shape[-1]), a.dtype)
    row = iota(shape=square.shape, dtype=a.dtype, dimension=a.ndim - 1)
    column = iota(shape=square.shape, dtype=a.dtype, dimension=a.ndim)
    found = eq(per_row(permutation, square.shape), column)
    return reduce_sum(select(found, row, zeros(square)), axes=(a.ndim - 1,))


def pivots_to_permutation(pivots: Value, *, size: int) -> Value:
    """LU's exchanges (row i with row pivots[i], i = 0, 1, ...) of `size` rows as a permutation.

    int32 [..., k] with k of `size` at most -> int32 [..., size].
    """
    return bind(pivots_to_permutation_p, pivots, size=int(size))


def _permutation_shape(pivots: Aval, *, size: int) -> Aval:
    if pivots.dtype != dt.int32 or pivots.ndim < 1 or pivots.shape[-1] > size:
        raise ValueError(
            f"pivots_to_permutation takes at most {size} (`size`) int32 pivots along the last dimension, got {pivots}"
        )
    return aval((*pivots.shape[:-1], size), dt.int32)


def _permutation_reference(pivots: np.ndarray, *, size: int) -> np.ndarray:
    """One exchange after the other: of few rows of pivots in a list, 0.05 us each, of many in all rows at once."""
    flat = pivots.reshape((math.prod(pivots.shape[:-1]), pivots.shape[-1]))
    order = _permuted_one_by_one if len(flat) < AT_ONCE else _permuted_at_once
    return order(flat, size).reshape((*pivots.shape[:-1], size))


AT_ONCE = 20  # rows


def _permuted_one_by_one(pivots: np.ndarray, size: int) -> np.ndarray:
    out = np.empty((len(pivots), size), np.int32)
    for row, targets in zip(out, pivots.tolist()):
        order = list(range(size))
        for i, target in enumerate(targets):
            order[i], order[target] = order[target], order[i]
        row[:] = order
    return out


def _permuted_at_once(pivots: np.ndarray, size: int) -> np.ndarray:
    out = np.empty((len(pivots), size), np.int32)
    out[:] = np.arange(size)
    flat, places = out.reshape(-1), pivots + size * np.arange(len(pivots))[:, None]
    for i, at in enumerate(places.T):
        first = out[:, i].copy()
        out[:, i], flat[at] = flat[at], first
    return out


def _exchange(i: Value, permutation: Value, pivots: Value) -> Value:
    """Exchange entries i and pivots[..., i]; masks, not indices, so that a batch is as one."""
    a, lead = permutation.aval, pivots.aval.ndim - 1
    zero = full((), 0, dt.int32)
    pivot = dynamic_slice(pivots, *[zero] * lead, i, sizes=(*pivots.shape[:-1], 1))
    place = iota(shape=a.shape, dtype=dt.int32, dimension=lead)
    here = eq(place, broadcast_in_dim(i, shape=a.shape, dims=()))
    there = eq(place, broadcast_in_dim(pivot, shape=a.shape, dims=tuple(range(a.ndim))))
    first, second = (
        broadcast_in_dim(
            reduce_sum(select(at, permutation, zeros(a)), axes=(lead,)), shape=a.shape, dims=tuple(range(lead))
        )
        for at in (here, there)
    )
    return select(here, second, select(there, first, permutation))


def _permutation_lower(ctx: LowerContext, pivots: Operand, *, size: int) -> Operand:
    """A loop over the pivots."""
    out = _permutation_shape(pivots.aval, size=size)
    number = aval((), dt.int32)
    start = ctx.op("stablehlo.iota", out=out, attrs=f"iota_dimension = {out.ndim - 1} : i64")
    carried = [ctx.full(number, 0), start, pivots]

    def unfinished(c: LowerContext, i: Operand, permutation: Operand, pivots: Operand) -> Operand:
        end = c.full(number, pivots.aval.shape[-1])
        return c.op(
            "stablehlo.compare",
            i,
            end,
            out=number.with_dtype(dt.bool_),
            attrs="comparison_direction = #stablehlo<comparison_direction LT>",
        )

    def step(c: LowerContext, i: Operand, permutation: Operand, pivots: Operand) -> list[Operand]:
        (exchanged,) = c.call(_exchange, i, permutation, pivots)
        return [c.op("stablehlo.add", i, c.full(number, 1), out=number), exchanged, pivots]

    avals = [o.aval for o in carried]
    return ctx.op(
        "stablehlo.while", *carried, out=avals, regions=[ctx.region(avals, unfinished), ctx.region(avals, step)]
    )[1]


def _permutation_cuda(ctx: LowerContext, pivots: Operand, *, size: int) -> Operand:
    out = _permutation_shape(pivots.aval, size=size)
    return cuda_call(ctx, "cu_lu_pivots_to_permutation", [pivots], [out], matrices=("v", "v"))[0]


pivots_to_permutation_p = Primitive(
    "pivots_to_permutation",
    traits=Traits(family="linalg", numpy=57, expensive=True),
    shape=_permutation_shape,
    reference=_permutation_reference,
    lower=unless_empty(_permutation_shape, _permutation_lower),
    lower_on={"cuda": unless_empty(_permutation_shape, _permutation_cuda)},
    jvp=no_tangent(pivots_to_permutation),
    transpose=NOT_LINEAR,
    batch=front_batch(pivots_to_permutation),
)

# ---- lu ------------------------------------------------------------------------------------------


def lu(a: Value) -> list[Value]:
    """[factors, pivots, permutation] with a[permutation] = L U, by partial pivoting.

    For a [..., m, n] and k = min(m, n): the factors [..., m, n] hold U and, below the diagonal, L
    without its ones; pivots int32 [..., k] from 0: row i was exchanged with row pivots[i];
    permutation int32 [..., m].
    """
    return bind(lu_p, a)


def _lu_shape(a: Aval) -> tuple[Aval, ...]:
    check_matrix("lu", a)
    lead, (m, n) = a.shape[:-2], a.shape[-2:]
    return a, aval((*lead, min(m, n)), dt.int32), aval((*lead, m), dt.int32)


def _getrf_one(a: np.ndarray) -> tuple[np.ndarray, ...]:
    return scipy_routine("getrf", a.dtype)(a)[:2]


_getrf_reference = stacked(lambda a: _lu_shape(a)[:2], _getrf_one)


def _spread_nan(factors: Value) -> Value:
    """The factors with NaN in the rows below a pivot that is NaN, which OpenBLAS does not divide by."""
    a, d = factors.aval, diagonal(factors)
    shape, last = d.aval.shape, d.aval.ndim - 1
    place = select(ne(d, d), iota(shape=shape, dtype=dt.int32, dimension=last), full(shape, a.shape[-1], dt.int32))
    first = broadcast_in_dim(reduce_min(place, axes=(last,)), shape=a.shape, dims=tuple(range(last)))
    row, column = (iota(shape=a.shape, dtype=dt.int32, dimension=last + i) for i in (0, 1))
    return select(and_(lt(first, row), ge(column, first)), full(a.shape, math.nan, a.dtype), factors)


def _lu_reference(a: np.ndarray) -> tuple[np.ndarray, ...]:
    factors, pivots = _getrf_reference(a)
    if np.isnan(factors.diagonal(0, -2, -1)).any():
        factors = np.asarray(evaluate(trace_closed(lambda x: [_spread_nan(x)], [aval_of(factors)]), [factors])[0])
    pivots = pivots.astype(np.int32, copy=False)
    return factors, pivots, _permutation_reference(pivots, size=a.shape[-2])


def _taken(x: Value, at: Value) -> Value:
    """x[..., at[..., i]], for int32 of equal leading dimensions."""
    ndim = aval_of(x).ndim
    lead = tuple(range(ndim - 1))
    return gather(
        x,
        index_vectors(at),
        offset_dims=(),
        collapsed_slice_dims=(ndim - 1,),
        start_index_map=(ndim - 1,),
        slice_sizes=(1,) * ndim,
        operand_batching_dims=lead,
        start_indices_batching_dims=lead,
        mode="clip",
    )


def _lu_permutation(pivots: Value, *, size: int) -> Value:
    """As `pivots_to_permutation`, of pivots at or below their row, as LU's are: in half the time of its loop.

    All rows are followed back at once: row i ends as what lay at pivots[i] before step i: the last step before that
    brought something there, j, brought what lay at j before step j, which only steps before j brought there, and so on.
    """
    lead, k = pivots.shape[:-1], pivots.shape[-1]
    shape, last = (*lead, size), len(lead)
    if size > k:
        rest = iota(shape=(*lead, size - k), dtype=dt.int32, dimension=last)
        pivots = concatenate(pivots, add(rest, k), dimension=last)
    row, step = (iota(shape=(*shape, size), dtype=dt.int32, dimension=d) for d in (last, last + 1))
    reached = per_column(pivots, (*shape, size))

    def last_before(place: Value) -> Value:
        found = and_(lt(step, row), eq(reached, per_row(place, (*shape, size))))
        return reduce_max(select(found, step, full((*shape, size), -1, dt.int32)), axes=(last + 1,))

    here, there = iota(shape=shape, dtype=dt.int32, dimension=last), last_before(pivots)
    came = last_before(here)
    origin = select(ge(came, 0), came, here)
    for _ in range((size - 1).bit_length()):  # twice as far back each time
        origin = _taken(origin, origin)
    return select(ge(there, 0), _taken(origin, there), pivots)


def _lu_finish(pivots_from_1: Value, *, size: int) -> tuple[Value, ...]:
    pivots = sub(pivots_from_1, 1)
    return pivots, _lu_permutation(pivots, size=size)


def _lu_finish_cuda(pivots_from_1: Value, *, size: int) -> tuple[Value, ...]:
    pivots = sub(pivots_from_1, 1)
    return pivots, pivots_to_permutation(pivots, size=size)  # a kernel


def _lu_cpu(ctx: LowerContext, a: Operand) -> list[Operand]:
    outs = [a.aval, _lu_shape(a.aval)[1], info_aval(a.aval)]
    factors, pivots, _ = lapack(ctx, "getrf", [a], outs)  # info: which pivot is 0; no failure
    return [*ctx.call(_spread_nan, factors), *ctx.call(_lu_finish, pivots, size=a.aval.shape[-2])]


def _lu_cuda(ctx: LowerContext, a: Operand) -> list[Operand]:
    outs = [a.aval, _lu_shape(a.aval)[1], info_aval(a.aval)]
    factors, pivots, _ = cuda_call(ctx, "cusolver_getrf_ffi", [a], outs, matrices=("M", "Mvv"))
    return [factors, *ctx.call(_lu_finish_cuda, pivots, size=a.aval.shape[-2])]


def _square_factors(factors: Value) -> tuple[Value, ...]:
    """L [..., m, m] and U [..., n, n], continued by the identity."""
    m, n = rows_columns(factors)
    a = aval_of(factors)
    lower = lower_triangle(resized(factors, m, m), -1)
    lower = add(lower, identity(shape=aval_of(lower).shape, dtype=a.dtype))
    upper = upper_triangle(resized(factors, n, n))
    if n > m:
        further = convert(ge(iota(shape=(n,), dtype=dt.int32), m), dtype=a.dtype)
        shape = aval_of(upper).shape
        further = broadcast_in_dim(further, shape=shape[:-1], dims=(len(shape) - 2,))
        upper = add(upper, as_diagonal(further))
    return lower, upper


def _lu_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvps:
    """L^-1 P dA U^-1 is L^-1 dL, strictly lower, and dU U^-1, upper."""
    factors, pivots, permutation = lu(primals[0])
    lower, upper = _square_factors(factors)
    both = triangular_solve(lower, permute_rows(tangents[0], permutation), lower=True, unit_diagonal=True)
    both = triangular_solve(upper, both, left_side=False, lower=False)
    tangent = add(matmul(lower, lower_triangle(both, -1)), matmul(upper_triangle(both), upper))
    return [factors, pivots, permutation], [tangent, None, None]


lu_p = Primitive(
    "lu",
    traits=by_lapack(2.0, 0.0075, 200, compile=80_000),
    multiple=True,
    shape=_lu_shape,
    reference=_lu_reference,
    lower=unavailable("lu"),
    lower_on={"cpu": unless_empty(_lu_shape, _lu_cpu), "cuda": unless_empty(_lu_shape, _lu_cuda)},
    jvp=_lu_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(lu),
)


def lu_solve(
    factors: Value, permutation: Value, b: Value, *, transpose: bool = False, conjugate: bool = False
) -> Value:
    """x with op(a) x = b, from `lu(a)`'s factors [..., n, n] and permutation; b [..., n, k].

    op transposes, and conjugates, as told. Differentiable by the factors and by b.
    """
    # LAPACK's factors lie by columns: as rows of their transposes no system has to turn them round.
    op = {"conjugate_a": conjugate, "transpose_a": not transpose}
    columns = swapped(factors)
    if not transpose:
        x = permute_rows(b, permutation)
        x = triangular_solve(columns, x, lower=False, unit_diagonal=True, **op)
        return triangular_solve(columns, x, lower=True, **op)
    x = triangular_solve(columns, b, lower=True, **op)
    x = triangular_solve(columns, x, lower=False, unit_diagonal=True, **op)
    return permute_rows(x, inverse_permutation(permutation))


# ---- solve, inv ----------------------------------------------------------------------------------
# The primitive solves by factors it is given and has its derivative by the matrix itself: two
# triangular solves, where the derivative of the factors takes two more with n right sides.


def solve(a: Value, b: Value) -> Value:
    """x with a x = b, for a [..., n, n] and b [..., n, k]; inf or NaN where a is singular."""
    check_matrix("solve", aval_of(a), square=True)
    factors, _, permutation = lu(a)
    return _solve_factored(a, factors, permutation, b, transpose=False)


def inv(a: Value) -> Value:
    """The inverses of matrices [..., n, n]; inf or NaN where they are singular."""
    check_matrix("inv", aval_of(a), square=True)
    factors, _, permutation = lu(a)
    return _inv_factored(a, factors, permutation)


def _solve_factored(a: Value, factors: Value, permutation: Value, b: Value, *, transpose: bool) -> Value:
    return bind(solve_p, a, factors, permutation, b, transpose=transpose)


def _solve_shape(a: Aval, factors: Aval, permutation: Aval, b: Aval, *, transpose: bool) -> Aval:
    check_matrix("solve", b)
    check_stack("solve", a, b)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"solve with {a} takes b with {a.shape[-1]} rows, got {b}")
    return b


def _solve_one(
    a: np.ndarray, factors: np.ndarray, permutation: np.ndarray, b: np.ndarray, *, transpose: bool
) -> np.ndarray:
    trsm = scipy_routine("trsm", a.dtype)
    columns = factors.T  # which lie one after the other, as LAPACK has them
    if not transpose:
        x = trsm(1, columns, b[permutation].T, side=True, lower=False, diag=True)
        return trsm(1, columns, x, side=True, lower=True).T
    x = trsm(1, columns, b.T, side=True, lower=True, trans_a=1)
    out = np.empty_like(b)
    out[permutation] = trsm(1, columns, x, side=True, lower=False, diag=True, trans_a=1).T
    return out


def _solve_by_factors(a: Value, factors: Value, permutation: Value, b: Value, *, transpose: bool) -> Value:
    return lu_solve(factors, permutation, b, transpose=transpose)


def _solve_jvp(primals: Sequence[Value], tangents: Tangents, *, transpose: bool) -> Jvp:
    """op(a) dx = db - op(da) x; the tangents of the factors say nothing that a's does not."""
    a, factors, permutation, b = primals
    da, right = tangents[0], tangents[3]
    x = _solve_factored(*primals, transpose=transpose)
    if da is not None:
        product = matmul(swapped(da) if transpose else da, x)
        right = neg(product) if right is None else sub(right, product)
    if right is None:
        return x, None
    return x, _solve_factored(a, factors, permutation, right, transpose=transpose)


def _solve_transpose(
    ct: Value, a: Value, factors: Value, permutation: Value, b: Value, *, transpose: bool
) -> Cotangents:
    if isinstance(a, Linear):
        raise NotImplementedError("solve is not linear in the matrix a")
    return None, None, None, _solve_factored(a, factors, permutation, ct, transpose=not transpose)


def _solve_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, transpose: bool) -> Batched:
    if any(d is not None for d in dims[:3]):
        return _solve_at_front(axis, args, dims, transpose=transpose)

    a, factors, permutation, b = args
    return solve_as_columns(
        axis, b, dims[3], lambda b: _solve_factored(a, factors, permutation, b, transpose=transpose)
    )


_solve_at_front = front_batch(_solve_factored)

solve_p = Primitive(
    "solve",
    traits=by_lapack(3.5, 0.024, of_each_side, compile=40_000),
    shape=_solve_shape,
    reference=stacked(_solve_shape, _solve_one),
    lower=unless_empty(
        _solve_shape, lambda ctx, *operands, transpose: ctx.call(_solve_by_factors, *operands, transpose=transpose)[0]
    ),
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    batch=_solve_batch,
)

# The inverse is its own derivative's factor: two products, where those of `solve` would be four triangular solves.


def _inv_factored(a: Value, factors: Value, permutation: Value) -> Value:
    return bind(inv_p, a, factors, permutation)


def _inv_one(a: np.ndarray, factors: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    return _solve_one(a, factors, permutation, np.eye(len(a), dtype=a.dtype), transpose=False)


def _inv_by_factors(a: Value, factors: Value, permutation: Value) -> Value:
    return lu_solve(factors, permutation, identity(shape=a.shape, dtype=a.dtype))


def _inv_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
    """-x da x; the tangents of the factors say nothing that a's does not."""
    x = _inv_factored(*primals)
    return x, None if tangents[0] is None else neg(matmul(matmul(x, tangents[0]), x))


inv_p = Primitive(
    "inv",
    traits=by_lapack(4.5, 0.024, of_each_side, compile=40_000),
    shape=lambda a, factors, permutation: a,
    reference=stacked(lambda a, factors, permutation: a, _inv_one),
    lower=unless_empty(
        lambda a, factors, permutation: a, lambda ctx, *operands: ctx.call(_inv_by_factors, *operands)[0]
    ),
    jvp=_inv_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(_inv_factored),
)

# ---- det, slogdet --------------------------------------------------------------------------------


def det(a: Value) -> Value:
    """The determinants of matrices [..., n, n], singular ones with their derivatives."""
    check_matrix("det", aval_of(a), square=True)
    return _det_factored(a, *lu(a))


def slogdet(a: Value) -> list[Value]:
    """[sign, logarithm of the absolute value] of determinants; [0, -inf] of singular matrices."""
    check_matrix("slogdet", aval_of(a), square=True)
    factors, pivots, _ = lu(a)
    d = diagonal(factors)
    last = (aval_of(d).ndim - 1,)
    signs = mul(_parity(pivots, aval_of(d).dtype), reduce_prod(sign(d), axes=last))
    return [signs, reduce_sum(log(abs(d)), axes=last)]


def _parity(pivots: Value, dtype: np.dtype) -> Value:
    """1 or -1 for an even or an odd number of exchanges."""
    a = aval_of(pivots)
    moved = convert(ne(pivots, iota(shape=a.shape, dtype=a.dtype, dimension=a.ndim - 1)), dtype=dtype)
    ones = full(a.shape, 1, dtype)
    return reduce_prod(sub(ones, mul(moved, 2)), axes=(a.ndim - 1,))


def _det_factored(a: Value, factors: Value, pivots: Value, permutation: Value) -> Value:
    return bind(det_p, a, factors, pivots, permutation)


def _det_shape(a: Aval, factors: Aval, pivots: Aval, permutation: Aval) -> Aval:
    return aval(a.shape[:-2], a.dtype)


def _det_reference(a: np.ndarray, factors: np.ndarray, pivots: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    odd = np.count_nonzero(pivots != np.arange(pivots.shape[-1]), axis=-1) % 2
    product = np.prod(np.diagonal(factors, axis1=-2, axis2=-1), axis=-1)
    return (product * (1 - 2 * odd)).astype(a.dtype)


def _det_by_factors(a: Value, factors: Value, pivots: Value, permutation: Value) -> Value:
    d = diagonal(factors)
    return mul(_parity(pivots, a.dtype), reduce_prod(d, axes=(aval_of(d).ndim - 1,)))


def _without_zero_pivots(factors: Value) -> Value:
    """The factors with sqrt(epsilon), relative to their size, for pivots that are 0."""
    a, d = aval_of(factors), diagonal(factors)
    size = reduce_max(abs(factors), axes=(a.ndim - 2, a.ndim - 1))
    one = full(aval_of(size).shape, 1, aval_of(size).dtype)
    step = mul(select(eq(size, 0), one, size), float(dt.finfo(a.dtype).eps) ** 0.5)
    step = broadcast_in_dim(convert(step, dtype=a.dtype), shape=aval_of(d).shape, dims=tuple(range(a.ndim - 2)))
    return add(factors, as_diagonal(select(eq(d, 0), step, zeros(aval_of(d)))))


def _det_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
    """The sum of cofactors times da; the cofactors are det(a) inv(a)^T.

    They are polynomials of a, so where a is singular those of a matrix nearby do, to about the
    square root of epsilon: less would leave nothing of the second derivative.
    """
    a, factors, pivots, permutation = primals
    out, t = _det_factored(*primals), tangents[0]
    if t is None or not a.aval.size:
        return out, None
    near = _without_zero_pivots(factors)
    eye = identity(shape=a.shape, dtype=a.dtype)
    inverses = _solve_factored(a, near, permutation, eye, transpose=True)
    traces = reduce_sum(mul(inverses, t), axes=(a.ndim - 2, a.ndim - 1))
    return out, mul(_det_factored(a, near, pivots, permutation), traces)


def _diagonals(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    return operands[2].size  # of the pivots


det_p = Primitive(
    "det",
    traits=LINALG.but(numpy=5, work=_diagonals),
    shape=_det_shape,
    reference=_det_reference,
    lower=lambda ctx, *operands: ctx.call(_det_by_factors, *operands)[0],
    jvp=_det_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(_det_factored),
)
