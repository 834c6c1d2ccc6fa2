"""QR factorisation and Householder reflectors.

Derivatives: Walter, Lehmann and Lamour, "On evaluating higher-order derivatives of the QR
decomposition of tall matrices with full column rank in forward and reverse mode algorithmic
differentiation", 2012; of products of reflectors by Joffrain, Low, Quintana-Orti, van de Geijn and
Van Zee, "Accumulating Householder transformations, revisited", 2006.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Primitive, Reason
from ..core.trace import bind
from ..core.types import Ints, Jvp, Jvps, Tangents, Value
from .arithmetic import add, neg, sub
from .batching import front_batch
from .linalg_matrices import (
    adjoint,
    as_diagonal,
    by_lapack,
    check_matrix,
    check_stack,
    conjugate,
    cuda_call,
    diagonal,
    identity,
    imaginary,
    lapack,
    lower_triangle,
    matmul,
    resized,
    rows_columns,
    scale_rows,
    scipy_routine,
    stacked,
    unavailable,
    unless_empty,
    upper_triangle,
)
from .linalg_triangular import triangular_solve
from .slicing import concatenate, slice_in_dim

# ---- geqrf ---------------------------------------------------------------------------------------


def geqrf(a: Value) -> list[Value]:
    """[a, taus] as LAPACK packs a QR factorisation of matrices [..., m, n].

    R on and above the diagonal; below it the reflectors' vectors, whose leading 1 is not kept;
    taus [..., min(m, n)]. `householder_product` and `ormqr` take them.
    """
    return bind(geqrf_p, a)


def _geqrf_shape(a: Aval) -> tuple[Aval, ...]:
    check_matrix("geqrf", a)
    return a, aval((*a.shape[:-2], min(a.shape[-2:])), a.dtype)


def _geqrf_one(a: np.ndarray) -> tuple[np.ndarray, ...]:
    packed, taus, _, _ = scipy_routine("geqrf", a.dtype)(a, lwork=_workspace("geqrf", a))
    return packed, taus


def _workspace(name: str, *arrays: np.ndarray) -> int:
    """LAPACK's own choice of workspace, which decides its block size."""
    return _workspace_of(name, arrays[0].dtype, *[a.shape for a in arrays])


@functools.lru_cache(maxsize=256)
def _workspace_of(name: str, dtype: np.dtype, *shapes: Ints) -> int:
    arrays = [np.zeros(shape, dtype, "F") for shape in shapes]
    return int(scipy_routine(name, dtype)(*arrays, lwork=-1)[-2][0].real)


def _geqrf_cpu(ctx: LowerContext, a: Operand) -> list[Operand]:
    return lapack(ctx, "geqrf", [a], _geqrf_shape(a.aval))


def _geqrf_cuda(ctx: LowerContext, a: Operand) -> list[Operand]:
    return cuda_call(ctx, "cusolver_geqrf_ffi", [a], _geqrf_shape(a.aval), matrices=("M", "Mv"))


geqrf_p = Primitive(
    "geqrf",
    traits=by_lapack(3.0, 0.017, 200, compile=30_000),
    multiple=True,
    shape=_geqrf_shape,
    reference=stacked(_geqrf_shape, _geqrf_one),
    lower=unavailable("geqrf"),
    lower_on={"cpu": unless_empty(_geqrf_shape, _geqrf_cpu), "cuda": unless_empty(_geqrf_shape, _geqrf_cuda)},
    jvp=Reason("the packed form is one of many for the same factorisation; differentiate qr"),
    transpose=NOT_LINEAR,
    batch=front_batch(geqrf),
)

# ---- householder_product -------------------------------------------------------------------------
# With V the unit lower trapezoid of the vectors, D the taus and M = I + D triu(V^H V, 1), the
# product of the reflectors I - tau v v^H is I - V T V^H, T = M^-1 D.


def householder_product(a: Value, taus: Value) -> Value:
    """The first n columns of H1 H2 ... Hk, for the vectors below the diagonal of a [..., m, n].

    Hi = I - taus[i] v v^H; m >= n >= k; taus [..., k]. LAPACK's orgqr and ungqr.
    """
    return bind(householder_product_p, a, taus)


def _check_reflectors(name: str, a: Aval, taus: Aval) -> None:
    check_matrix(name, a)
    m, n = a.shape[-2:]
    fits = taus.dtype == a.dtype and taus.shape[:-1] == a.shape[:-2]
    if not fits or not m >= n >= taus.shape[-1]:
        raise ValueError(
            f"{name} takes a [..., m, n] and taus [..., k] of one dtype with m >= n >= k, got {a} and {taus}"
        )


def _householder_shape(a: Aval, taus: Aval) -> Aval:
    _check_reflectors("householder_product", a, taus)
    return a


def _householder_one(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    routine = scipy_routine("orgqr", a.dtype)
    return routine(a, taus, lwork=_workspace("orgqr", a, taus))[0]


def _householder_cpu(ctx: LowerContext, a: Operand, taus: Operand) -> Operand:
    return lapack(ctx, "orgqr", [a, taus], [a.aval])[0]


def _householder_cuda(ctx: LowerContext, a: Operand, taus: Operand) -> Operand:
    return cuda_call(ctx, "cusolver_orgqr_ffi", [a, taus], [a.aval], matrices=("Mv", "M"))[0]


def _vectors(a: Value, count: int) -> Value:
    """The first `count` reflectors' vectors, as columns with their leading ones."""
    v = lower_triangle(resized(a, aval_of(a).shape[-2], count), -1)
    return add(v, identity(shape=aval_of(v).shape, dtype=aval_of(v).dtype))


def _overlaps(taus: Value, v: Value, w: Value) -> Value:
    """D triu(v^H w, 1)."""
    return scale_rows(taus, upper_triangle(matmul(adjoint(v), w), 1))


def _solve_unit(m: Value, x: Value, **op: Any) -> Value:
    """M^-1 x, of the strict upper triangle of M."""
    return triangular_solve(m, x, lower=False, unit_diagonal=True, **op)


def _householder_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
    """The first n columns of -(dV T V^H + V dT V^H + V T dV^H), and dT = M^-1 (dD - dM T)."""
    a, taus = primals
    n, k = a.shape[-1], taus.shape[-1]
    v, out = _vectors(a, k), householder_product(a, taus)
    top = adjoint(resized(v, n, k))
    m = _overlaps(taus, v, v)
    right = _solve_unit(m, scale_rows(taus, top))
    moved = []  # what M^-1 is applied to
    total = None
    if tangents[0] is not None:
        dv = lower_triangle(resized(tangents[0], a.shape[-2], k), -1)
        moved.append(scale_rows(taus, adjoint(resized(dv, n, k))))
        moved.append(neg(matmul(add(_overlaps(taus, dv, v), _overlaps(taus, v, dv)), right)))
        total = matmul(dv, right)
    if tangents[1] is not None:
        moved.append(scale_rows(tangents[1], top))
        moved.append(neg(matmul(_overlaps(tangents[1], v, v), right)))
    step = moved[0]
    for term in moved[1:]:
        step = add(step, term)
    step = matmul(v, _solve_unit(m, step))
    return out, neg(step if total is None else add(total, step))


householder_product_p = Primitive(
    "householder_product",
    traits=by_lapack(3.0, 0.017, 200, compile=30_000),
    shape=_householder_shape,
    reference=stacked(_householder_shape, _householder_one),
    lower=unavailable("householder_product"),
    lower_on={
        "cpu": unless_empty(_householder_shape, _householder_cpu),
        "cuda": unless_empty(_householder_shape, _householder_cuda),
    },
    jvp=_householder_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(householder_product),
)


def ormqr(a: Value, taus: Value, c: Value, *, left: bool = True, transpose: bool = False) -> Value:
    """Q c, or c Q if not `left`, or with the adjoint of Q if `transpose`; LAPACK's ormqr, unmqr.

    Q [..., m, m] is the whole product of the reflectors in a [..., m, n] and taus [..., k]. By
    products of matrices alone, V (T (V^H c)), which need no rules of their own.
    """
    _check_reflectors("ormqr", aval_of(a), aval_of(taus))
    check_stack("ormqr", aval_of(a), aval_of(c))
    if aval_of(c).shape[-2 if left else -1] != aval_of(a).shape[-2]:
        raise ValueError(
            f"ormqr by the reflectors of {aval_of(a)} takes c with that many "
            f"{'rows' if left else 'columns'}, got {aval_of(c)}"
        )
    if not left:  # c Q = (Q^H c^H)^H
        return adjoint(ormqr(a, taus, adjoint(c), transpose=not transpose))
    v = _vectors(a, aval_of(taus).shape[-1])
    m, x = _overlaps(taus, v, v), matmul(adjoint(v), c)
    if transpose:
        x = _solve_unit(m, x, transpose_a=True, conjugate_a=True)
        x = scale_rows(conjugate(taus), x)
    else:
        x = _solve_unit(m, scale_rows(taus, x))
    return sub(c, matmul(v, x))


# ---- qr ------------------------------------------------------------------------------------------


def qr(a: Value, *, full_matrices: bool = False) -> list[Value]:
    """[q, r] with a = q r, q^H q = 1 and r upper triangular, for matrices [..., m, n].

    q [..., m, k] and r [..., k, n], with k = m if `full_matrices` and min(m, n) if not.
    """
    return bind(qr_p, a, full_matrices=bool(full_matrices))


def _qr_shape(a: Aval, *, full_matrices: bool) -> tuple[Aval, ...]:
    check_matrix("qr", a)
    lead, (m, n) = a.shape[:-2], a.shape[-2:]
    k = m if full_matrices else min(m, n)
    return a.with_shape((*lead, m, k)), a.with_shape((*lead, k, n))


def _qr_one(a: np.ndarray, *, full_matrices: bool) -> tuple[np.ndarray, ...]:
    (m, n), (packed, taus) = a.shape, _geqrf_one(a)
    k = m if full_matrices else min(m, n)
    vectors = np.zeros((m, k), a.dtype)
    vectors[:, :n] = packed[:, :k]
    return _householder_one(vectors, taus), np.triu(packed[:k])


def _qr_by_reflectors(a: Value, *, full_matrices: bool) -> tuple[Value, ...]:
    m, n = a.shape[-2:]
    k = m if full_matrices else min(m, n)
    packed, taus = geqrf(a)
    return householder_product(resized(packed, m, k), taus), upper_triangle(resized(packed, k, n))


def _qr_jvp(primals: Sequence[Value], tangents: Tangents, *, full_matrices: bool) -> Jvps:
    a, t = primals[0], tangents[0]
    m, n = rows_columns(a)
    if full_matrices and m > n:
        raise NotImplementedError(
            f"qr of {a.aval} with full_matrices=True has no derivative: the columns that complete "
            "q are any orthonormal ones; use full_matrices=False"
        )
    q, r = qr(a, full_matrices=False)
    if m >= n:
        return [q, r], _tall_qr_tangents(q, r, t)
    first = {"start": 0, "limit": m, "dimension": a.ndim - 1}
    rest = {"start": m, "limit": n, "dimension": a.ndim - 1}
    dq, dr = _tall_qr_tangents(q, slice_in_dim(r, **first), slice_in_dim(t, **first))
    more = add(matmul(adjoint(dq), slice_in_dim(a, **rest)), matmul(adjoint(q), slice_in_dim(t, **rest)))
    return [q, r], [dq, concatenate(dr, more, dimension=a.ndim - 1)]


def _tall_qr_tangents(q: Value, r: Value, t: Value) -> list[Value]:
    """With X = dA R^-1: Q^H dQ is skew-Hermitian and agrees with Q^H X below the diagonal."""
    x = triangular_solve(r, t, left_side=False, lower=False)
    inner = matmul(adjoint(q), x)
    below = lower_triangle(inner, -1)
    turn = sub(below, adjoint(below))
    if q.dtype in dt.COMPLEX:  # the diagonal of R stays real
        turn = add(turn, as_diagonal(imaginary(diagonal(inner))))
    dq = add(matmul(q, sub(turn, inner)), x)
    return [dq, matmul(sub(inner, turn), r)]


qr_p = Primitive(
    "qr",
    traits=by_lapack(9.0, 0.036, 200, compile=45_000),
    multiple=True,
    shape=_qr_shape,
    reference=stacked(_qr_shape, _qr_one),
    lower=unless_empty(
        _qr_shape, lambda ctx, a, *, full_matrices: ctx.call(_qr_by_reflectors, a, full_matrices=full_matrices)
    ),
    jvp=_qr_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(qr),
)


def lstsq(a: Value, b: Value) -> Value:
    """x of least norm that minimises |a x - b|, for a [..., m, n] of full rank, b [..., m, k]."""
    check_matrix("lstsq", aval_of(a))
    check_stack("lstsq", aval_of(a), aval_of(b))
    m, n = rows_columns(aval_of(a))
    if m >= n:
        q, r = qr(a)
        return triangular_solve(r, matmul(adjoint(q), b), lower=False)
    q, r = qr(adjoint(a))
    return matmul(q, triangular_solve(r, b, lower=False, transpose_a=True, conjugate_a=True))
