"""Cholesky's factorisation and triangular systems.

Derivatives: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; Murray, "Differentiation of the Cholesky decomposition", 2016.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Linear, Primitive
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Jvp, Tangents, Value
from ..xla import flag
from .arithmetic import add, mul, neg, sub
from .batching import Axis, front_batch, move_batch_axis
from .comparison import eq, le, lt, select
from .linalg_matrices import (
    by_lapack,
    check_matrix,
    check_stack,
    conjugate,
    cuda_call,
    hermitian_part,
    info_aval,
    lapack,
    lower_triangle,
    matmul,
    nan,
    of_each_side,
    scipy_routine,
    stacked,
    swapped,
    unless_empty,
    upper_triangle,
)
from .structure import broadcast_in_dim, full, iota, reshape, zeros

# ---- cholesky ------------------------------------------------------------------------------------


def cholesky(a: Value, *, minor: bool = False) -> Value:
    """Lower triangular L with L L^H = a, for Hermitian positive definite matrices [..., n, n].

    Reads the lower triangle only. NaN where a matrix is not positive definite; with `minor` what belongs to the
    leading minors before the first that is not stays, with the row of that up to its diagonal. The derivative is
    that of Hermitian matrices: it takes the Hermitian part of a tangent.
    """
    return bind(cholesky_p, a, minor=bool(minor))


def _cholesky_shape(a: Aval, **_: Any) -> Aval:
    check_matrix("cholesky", a, square=True)
    return a


def _cholesky_one(a: np.ndarray, *, minor: bool) -> np.ndarray:
    upper, info = scipy_routine("potrf", a.dtype)(a.T, lower=False, clean=True)
    lower = upper.T
    if info:
        order = info if minor else 1
        lower[order:] = lower[:, order - 1 :] = nan(a.dtype)
        lower = np.tril(lower)
    return lower


def _factor(info: Value, lower: Value, *, minor: bool) -> Value:
    """What LAPACK left as the primitive's result: 0 above the diagonal, NaN where the factorisation failed."""
    shape, batch = aval_of(lower).shape, aval_of(info)
    *lead, n = range(len(shape) - 1)
    failed = info if minor else zeros(batch)
    order = select(eq(info, 0), full(batch.shape, shape[-1] + 1, dt.int32), failed)
    order = broadcast_in_dim(order, shape=shape[:-1], dims=tuple(lead))
    row = iota(shape=shape[:-1], dtype=dt.int32, dimension=n)
    up_to = select(eq(add(row, 1), order), sub(row, 1), row)
    last = select(lt(row, order), up_to, full(shape[:-1], -1, dt.int32))  # what each row keeps
    column = iota(shape=shape, dtype=dt.int32, dimension=n + 1)
    kept, inside = (le(column, broadcast_in_dim(x, shape=shape, dims=(*lead, n))) for x in (last, row))
    return select(kept, lower, select(inside, full(shape, nan(lower.dtype), lower.dtype), zeros(aval_of(lower))))


def _finished(ctx: LowerContext, info: Operand, lower: Operand, minor: bool) -> Operand:
    return ctx.call(functools.partial(_factor, minor=minor), info, lower)[0]


def _cholesky_cpu(ctx: LowerContext, a: Operand, *, minor: bool) -> Operand:
    upper, info = lapack(ctx, "potrf", ctx.call(swapped, a), [a.aval, info_aval(a.aval)], flag("uplo", "U"))
    return _finished(ctx, info, ctx.call(swapped, upper)[0], minor)


def _cholesky_cuda(ctx: LowerContext, a: Operand, *, minor: bool) -> Operand:
    lower, info = cuda_call(
        ctx, "cusolver_potrf_ffi", [a], [a.aval, info_aval(a.aval)], "lower = true", matrices=("M", "Mv")
    )
    return _finished(ctx, info, lower, minor)


def _cholesky_native(ctx: LowerContext, a: Operand, *, minor: bool) -> Operand:
    """XLA's own, which knows no minors: 50 times slower than LAPACK on CPU, and not used there."""
    lower = ctx.op("stablehlo.cholesky", a, out=a.aval, attrs="lower = true")
    return ctx.call(lower_triangle, lower)[0]


def _cholesky_jvp(primals: Sequence[Value], tangents: Tangents, *, minor: bool) -> Jvp:
    """L^-1 dA L^-H is L^-1 dL and its adjoint: dL is L times its lower half."""
    lower = cholesky(primals[0], minor=minor)
    right = triangular_solve(
        lower, hermitian_part(tangents[0]), left_side=False, lower=True, transpose_a=True, conjugate_a=True
    )
    both = triangular_solve(lower, right, lower=True)
    half = mul(add(lower_triangle(both), lower_triangle(both, -1)), 0.5)
    return lower, matmul(lower, half)


cholesky_p = Primitive(
    "cholesky",
    traits=by_lapack(2.0, 0.0085, 50, compile=30_000),
    shape=_cholesky_shape,
    reference=stacked(_cholesky_shape, _cholesky_one),
    lower=unless_empty(_cholesky_shape, _cholesky_native),
    lower_on={
        "cpu": unless_empty(_cholesky_shape, _cholesky_cpu),
        "cuda": unless_empty(_cholesky_shape, _cholesky_cuda),
    },
    jvp=_cholesky_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(cholesky),
)

# ---- triangular_solve ----------------------------------------------------------------------------


def triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool = True,
    lower: bool,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """x with op(a) x = b, or x op(a) = b if not `left_side`, for triangular a [..., n, n].

    op transposes and conjugates as told. Only the triangle named by `lower` is read, without its
    diagonal if that is `unit_diagonal`. Equal leading dimensions; inf or NaN where a is singular.
    """
    if aval_of(a).dtype not in dt.COMPLEX:
        conjugate_a = False
    if conjugate_a and not transpose_a:
        a, conjugate_a = conjugate(a), False
    return bind(
        triangular_solve_p,
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit_diagonal=bool(unit_diagonal),
    )


def _triangular_shape(a: Aval, b: Aval, *, left_side: bool, **_: Any) -> Aval:
    check_matrix("triangular_solve", a, square=True)
    check_matrix("triangular_solve", b)
    check_stack("triangular_solve", a, b)
    if b.shape[-2 if left_side else -1] != a.shape[-1]:
        side = "rows" if left_side else "columns"
        raise ValueError(
            f"triangular_solve of {a} takes b with {a.shape[-1]} {side}, got {b} with left_side={left_side}"
        )
    return b


def _triangular_one(
    a: np.ndarray,
    b: np.ndarray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> np.ndarray:
    return scipy_routine("trsm", a.dtype)(
        1, a.T, b.T, side=left_side, lower=not lower, trans_a=2 if conjugate_a else int(transpose_a), diag=unit_diagonal
    ).T


def _triangular_cpu(
    ctx: LowerContext,
    a: Operand,
    b: Operand,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Operand:
    flags = [
        flag("side", "R" if left_side else "L"),
        flag("uplo", "U" if lower else "L"),
        flag("trans_x", "C" if conjugate_a else "T" if transpose_a else "N"),
        flag("diag", "U" if unit_diagonal else "N"),
    ]
    (right,) = ctx.call(swapped, b)
    (x,) = lapack(ctx, "trsm", [*ctx.call(swapped, a), right], [right.aval], ", ".join(flags))
    return ctx.call(swapped, x)[0]


def _triangular_native(
    ctx: LowerContext,
    a: Operand,
    b: Operand,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Operand:
    op = "ADJOINT" if conjugate_a else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    attrs = [f"{name} = {str(value).lower()}" for name, value in flags.items()]
    return ctx.op(
        "stablehlo.triangular_solve",
        a,
        b,
        out=b.aval,
        attrs=", ".join([*attrs, f"transpose_a = #stablehlo<transpose {op}>"]),
    )


def _triangular_jvp(
    primals: Sequence[Value],
    tangents: Tangents,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Jvp:
    """op(a) dx = db - d(op(a)) x."""
    params = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": conjugate_a,
        "unit_diagonal": unit_diagonal,
    }
    (a, b), (da, right) = primals, tangents
    x = triangular_solve(a, b, **params)
    if da is not None:
        keep = lower_triangle if lower else upper_triangle
        strict = (-1 if lower else 1) if unit_diagonal else 0
        moved = keep(da, strict)
        moved = swapped(moved) if transpose_a else moved
        moved = conjugate(moved) if conjugate_a else moved
        product = matmul(moved, x) if left_side else matmul(x, moved)
        right = neg(product) if right is None else sub(right, product)
    return x, triangular_solve(a, right, **params)


def _triangular_transpose(
    ct: Value, a: Value, b: Value, *, transpose_a: bool, conjugate_a: bool, **params: Any
) -> Cotangents:
    """Linear in b: the solve with op(a) transposed, of which conj(a) is one case."""
    if isinstance(a, Linear):
        raise NotImplementedError("triangular_solve is not linear in the matrix a")
    return None, triangular_solve(a, ct, transpose_a=not transpose_a, conjugate_a=conjugate_a, **params)


def solve_as_columns(axis: Axis, b: Value, dim: int, solve: Function, left_side: bool = True) -> tuple[Value, int]:
    """In a batch rule: one system for all right sides, which become its columns (or rows)."""
    ndim = aval_of(b).ndim
    at = ndim - 1 if left_side else ndim - 2
    b = move_batch_axis(axis, b, dim, at)
    shape = b.shape
    flat = (*shape[: at - 1], shape[at - 1] * shape[at], *shape[at + 1 :])
    return reshape(solve(reshape(b, shape=flat)), shape=shape), at


def _triangular_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, left_side: bool, **params: Any) -> Batched:
    a, b = args
    if dims[0] is not None:
        return _triangular_at_front(axis, args, dims, left_side=left_side, **params)

    def solve(b: Value) -> Value:
        return triangular_solve(a, b, left_side=left_side, **params)

    return solve_as_columns(axis, b, dims[1], solve, left_side)


_triangular_at_front = front_batch(triangular_solve)

triangular_solve_p = Primitive(
    "triangular_solve",
    traits=by_lapack(2.3, 0.012, of_each_side, compile=40_000),
    shape=_triangular_shape,
    reference=stacked(_triangular_shape, _triangular_one),
    lower=unless_empty(_triangular_shape, _triangular_native),
    lower_on={"cpu": unless_empty(_triangular_shape, _triangular_cpu)},
    jvp=_triangular_jvp,
    transpose=_triangular_transpose,
    batch=_triangular_batch,
)
