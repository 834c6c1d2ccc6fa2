"""Eigenvalues and singular values: eigh, svd, eig, schur.

Vectors are defined up to a sign (a phase, a rotation where values are equal), and LAPACK's choice
has no derivative. Functions that do not depend on the choice have one, and the rules here give it:
Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; Seeger, Hetzel, Dai, Meissner and Lawrence, "Auto-differentiating linear
algebra", 2017. Where values are equal, functions of the vectors have NaN for a derivative; those of
the values alone have theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Primitive, Reason
from ..core.trace import bind
from ..core.types import Function, Jvps, Tangents, Value
from ..xla import flag
from .arithmetic import add, div, mul, neg, sqrt, sub
from .batching import front_batch
from .comparison import gt, lt, select
from .convert import complex, convert, imag, real
from .linalg_lu import inv, solve
from .linalg_matrices import (
    adjoint,
    by_lapack,
    check_matrix,
    conjugate,
    cuda_call,
    diagonal,
    differences,
    finite_reference,
    hermitian_part,
    imaginary,
    info_aval,
    lapack,
    lower_triangle,
    matmul,
    on_finite,
    per_column,
    real_part,
    reciprocal_off_diagonal,
    scale_columns,
    scale_rows,
    scipy_routine,
    swapped,
    unavailable,
    unless_empty,
    upper_triangle,
)
from .reductions import reduce_sum
from .slicing import pad
from .structure import full, zeros

# ---- eigh ----------------------------------------------------------------------------------------


def eigh(a: Value, *, lower: bool = True) -> list[Value]:
    """[w, v] with a v = v diag(w), w ascending and v^H v = 1, for Hermitian matrices [..., n, n].

    Reads the triangle named by `lower` only. NaN where it holds inf or NaN, or LAPACK fails. The
    derivative is that of Hermitian matrices: it takes the Hermitian part of a tangent.
    """
    return _eigh(a, lower=bool(lower), vectors=True)


def eigvalsh(a: Value, *, lower: bool = True) -> Value:
    """The eigenvalues alone, ascending, of Hermitian matrices [..., n, n]."""
    return _eigh(a, lower=bool(lower), vectors=False)[0]


def _eigh(a: Value, *, lower: bool, vectors: bool) -> list[Value]:
    return bind(eigh_p, a, lower=lower, vectors=vectors)


def _values(a: Aval, dtype: np.dtype) -> Aval:
    """The aval of one value for each row or column, whichever are fewer."""
    return aval((*a.shape[:-2], min(a.shape[-2:])), dtype)


def _eigh_shape(a: Aval, *, lower: bool, vectors: bool) -> tuple[Aval, ...]:
    check_matrix("eigh", a, square=True)
    w = _values(a, dt.real_of(a.dtype))
    return (w, a) if vectors else (w,)


def _eigh_one(a: np.ndarray, *, lower: bool, vectors: bool) -> list[np.ndarray | int]:
    w, v, info = scipy_routine("syevd", a.dtype)(a, compute_v=vectors, lower=lower)
    return [info, w, v][: 2 + vectors]


def _eigh_reference(a: np.ndarray, *, lower: bool, vectors: bool) -> list[np.ndarray]:
    return _eigh_finite(np.tril(a) if lower else np.triu(a), lower=lower, vectors=vectors)


def _eigh_lower(call: Function) -> Function:
    """The lowering by call(ctx, a, outs, lower, vectors) -> v, w, info."""

    def rule(ctx: LowerContext, a: Operand, *, lower: bool, vectors: bool) -> list[Operand]:
        outs = [a.aval, _values(a.aval, dt.real_of(a.aval.dtype)), info_aval(a.aval)]

        def run(a: Operand) -> list[Operand]:
            v, w, info = call(ctx, a, outs, lower, vectors)
            return [info, w, v][: 2 + vectors]

        return on_finite(ctx, ctx.call(lower_triangle if lower else upper_triangle, a)[0], run)

    return unless_empty(_eigh_shape, rule)


def _syevd_cpu(ctx: LowerContext, a: Operand, outs: list[Aval], lower: bool, vectors: bool) -> list[Operand]:
    flags = f"{flag('mode', 'V' if vectors else 'N')}, {flag('uplo', 'L' if lower else 'U')}"
    return lapack(ctx, "syevd", [a], outs, flags)


def _syevd_cuda(ctx: LowerContext, a: Operand, outs: list[Aval], lower: bool, vectors: bool) -> list[Operand]:
    return cuda_call(
        ctx,
        "cusolver_syevd_ffi",
        [a],
        outs,
        f"lower = {str(lower).lower()}, algorithm = 0 : ui8",
        matrices=("M", "Mvv"),
    )


def _eigh_jvp(primals: Sequence[Value], tangents: Tangents, *, lower: bool, vectors: bool) -> Jvps:
    """V^H dA V has dw on its diagonal; V^H dV is the rest, divided by the gaps."""
    w, v = eigh(primals[0], lower=lower)
    inner = matmul(adjoint(v), matmul(hermitian_part(tangents[0]), v))
    dw = real_part(diagonal(inner))
    if not vectors:
        return [w], [dw]
    turn = mul(inner, convert(reciprocal_off_diagonal(differences(w)), dtype=v.dtype))
    return [w, v], [dw, matmul(v, turn)]


_eigh_finite = finite_reference(_eigh_shape, _eigh_one)

eigh_p = Primitive(
    "eigh",
    traits=by_lapack(5.0, 0.047, 600, stacks=0.8, compile=45_000),
    multiple=True,
    shape=_eigh_shape,
    reference=_eigh_reference,
    lower=unavailable("eigh"),
    lower_on={"cpu": _eigh_lower(_syevd_cpu), "cuda": _eigh_lower(_syevd_cuda)},
    jvp=_eigh_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(_eigh),
)

# ---- svd -----------------------------------------------------------------------------------------


def svd(a: Value, *, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """[u, s, vh] with a = u diag(s) vh, s descending; s alone if not `compute_uv`.

    For a [..., m, n] and k = min(m, n): u [..., m, k], s [..., k], vh [..., k, n], or u [..., m, m]
    and vh [..., n, n] with `full_matrices`. NaN where a holds inf or NaN, or LAPACK fails.
    """
    outs = _svd(a, full_matrices=bool(full_matrices and compute_uv), compute_uv=bool(compute_uv))
    return outs if compute_uv else outs[0]


def _svd(a: Value, *, full_matrices: bool, compute_uv: bool) -> list[Value]:
    return bind(svd_p, a, full_matrices=full_matrices, compute_uv=compute_uv)


def _svd_vectors(a: Aval, full_matrices: bool) -> tuple[Aval, Aval]:
    lead, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    return (a.with_shape((*lead, m, m if full_matrices else k)), a.with_shape((*lead, n if full_matrices else k, n)))


def _svd_shape(a: Aval, *, full_matrices: bool, compute_uv: bool) -> tuple[Aval, ...]:
    check_matrix("svd", a)
    s = _values(a, dt.real_of(a.dtype))
    if not compute_uv:
        return (s,)
    u, vh = _svd_vectors(a, full_matrices)
    return u, s, vh


def _svd_one(a: np.ndarray, *, full_matrices: bool, compute_uv: bool) -> list[np.ndarray | int]:
    u, s, vh, info = scipy_routine("gesdd", a.dtype)(a, compute_uv=compute_uv, full_matrices=full_matrices)
    return [info, u, s, vh] if compute_uv else [info, s]


def _svd_lower(call: Function) -> Function:
    """The lowering by call(ctx, a, s, u, vh, full_matrices, compute_uv) -> s, u, vh, info."""

    def rule(ctx: LowerContext, a: Operand, *, full_matrices: bool, compute_uv: bool) -> list[Operand]:
        u, vh = _svd_vectors(a.aval, full_matrices)
        s = _values(a.aval, dt.real_of(a.aval.dtype))

        def run(a: Operand) -> list[Operand]:
            found = call(ctx, a, s, u, vh, full_matrices, compute_uv)
            return [found[3], found[1], found[0], found[2]] if compute_uv else [found[3], found[0]]

        return on_finite(ctx, a, run)

    return unless_empty(_svd_shape, rule)


def _gesdd_cpu(
    ctx: LowerContext, a: Operand, s: Aval, u: Aval, vh: Aval, full_matrices: bool, compute_uv: bool
) -> list[Operand]:
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    return lapack(ctx, "gesdd", [a], [a.aval, s, u, vh, info_aval(a.aval)], flag("mode", mode))[1:]


def _gesvd_cuda(
    ctx: LowerContext, a: Operand, s: Aval, u: Aval, vh: Aval, full_matrices: bool, compute_uv: bool
) -> tuple[Operand, ...]:
    """cuSOLVER takes tall matrices; a wide one, row-major, is one transposed: u and vh swap."""
    wide = a.aval.shape[-2] < a.aval.shape[-1]
    flags = {"full_matrices": full_matrices, "compute_uv": True, "transposed": wide}
    attributes = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items())
    first, second = (vh, u) if wide else (u, vh)
    _, values, left, right, info = cuda_call(
        ctx,
        "cusolver_gesvd_ffi",
        [a],
        [a.aval, s, first, second, info_aval(a.aval)],
        attributes,
        matrices=("v", "vvvvv") if wide else ("M", "MvMMv"),
    )
    return (values, right, left, info) if wide else (values, left, right, info)


def _svd_jvp(primals: Sequence[Value], tangents: Tangents, *, full_matrices: bool, compute_uv: bool) -> Jvps:
    (a,), (t,) = primals, tangents
    m, n = a.shape[-2:]
    if full_matrices and m != n:
        raise NotImplementedError(
            f"svd of {a.aval} with full_matrices=True has no derivative: the vectors that complete "
            "u or vh are any orthonormal ones; use full_matrices=False or compute_uv=False"
        )
    u, s, vh = svd(a)
    inner = matmul(matmul(adjoint(u), t), adjoint(vh))
    ds = real_part(diagonal(inner))
    if not compute_uv:
        return [s], [ds]
    du, dvh = _singular_vector_tangents(u, s, vh, t, inner)
    return [u, s, vh], [du, ds, dvh]


def _singular_vector_tangents(u: Value, s: Value, vh: Value, t: Value, inner: Value) -> tuple[Value, ...]:
    """U^H dU and V^H dV divide by differences of squares; what is outside of the spans, by s."""
    m, n, over_s = u.shape[-2], vh.shape[-1], div(1, s)
    shape = (*s.shape, s.shape[-1])
    sums = add(per_column(s, shape), swapped(per_column(s, shape)))
    gaps = convert(reciprocal_off_diagonal(mul(differences(s), sums)), dtype=u.dtype)
    of_u, of_v = scale_columns(inner, s), scale_rows(s, inner)
    turn_u = mul(gaps, add(of_u, adjoint(of_u)))
    turn_v = mul(gaps, add(of_v, adjoint(of_v)))
    du, dvh = matmul(u, turn_u), matmul(adjoint(turn_v), vh)
    if u.dtype in dt.COMPLEX:  # the phases' difference is determined, and given to u
        phases = imaginary(diagonal(inner))
        du = add(du, scale_columns(u, mul(phases, convert(over_s, dtype=u.dtype))))
    if m > n:
        x = matmul(t, adjoint(vh))
        du = add(du, scale_columns(sub(x, matmul(u, matmul(adjoint(u), x))), over_s))
    if n > m:
        x = matmul(adjoint(u), t)
        dvh = add(dvh, scale_rows(over_s, sub(x, matmul(matmul(x, adjoint(vh)), vh))))
    return du, dvh


svd_p = Primitive(
    "svd",
    traits=by_lapack(7.0, 0.08, 600, stacks=0.6, compile=45_000),
    multiple=True,
    shape=_svd_shape,
    reference=finite_reference(_svd_shape, _svd_one),
    lower=unavailable("svd"),
    lower_on={"cpu": _svd_lower(_gesdd_cpu), "cuda": _svd_lower(_gesvd_cuda)},
    jvp=_svd_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(_svd),
)

# ---- eig -----------------------------------------------------------------------------------------


def eig(a: Value, *, left: bool = False, right: bool = True) -> list[Value]:
    """[w, vl, vr] with a vr = vr diag(w) and vl^H a = diag(w) vl^H, for matrices [..., n, n].

    All complex; vl only if `left`, vr only if `right`. The columns have norm 1. NaN where LAPACK
    fails.
    """
    return bind(eig_p, a, left=bool(left), right=bool(right))


def eigvals(a: Value) -> Value:
    """The complex eigenvalues alone, [..., n], of matrices [..., n, n]."""
    return eig(a, right=False)[0]


def _eig_shape(a: Aval, *, left: bool, right: bool) -> tuple[Aval, ...]:
    check_matrix("eig", a, square=True)
    wide = dt.complex_of(a.dtype)
    return (_values(a, wide), *[a.with_dtype(wide)] * (left + right))


def _eig_one(a: np.ndarray, *, left: bool, right: bool) -> list[np.ndarray | int]:
    found = scipy_routine("geev", a.dtype)(a, compute_vl=left, compute_vr=right)
    *w, vl, vr, info = found
    w = w[0] + 1j * w[1] if len(w) == 2 else w[0]
    vectors = [v for v, wanted in ((vl, left), (vr, right)) if wanted]
    if a.dtype not in dt.COMPLEX:
        vectors = [_pairs_reference(w, v) for v in vectors]
    return [info, w, *vectors]


def _pairs_reference(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """As `_unpacked_pairs`."""
    out = v.astype(w.dtype)
    first = np.flatnonzero(w.imag > 0)
    out[:, first] = v[:, first] + 1j * v[:, first + 1]
    out[:, first + 1] = out[:, first].conj()
    return out


def _eig_lower(call: Function) -> Function:
    """The lowering by call(ctx, a, left, right) -> info, w, [vl], [vr]."""

    def rule(ctx: LowerContext, a: Operand, *, left: bool, right: bool) -> list[Operand]:
        return on_finite(ctx, a, lambda a: call(ctx, a, left, right))

    return unless_empty(_eig_shape, rule)


def _geev_cpu(ctx: LowerContext, a: Operand, left: bool, right: bool) -> list[Operand]:
    v = a.aval.with_dtype(dt.complex_of(a.aval.dtype))
    is_complex = a.aval.dtype in dt.COMPLEX
    values = [_values(a.aval, a.aval.dtype)] * (1 if is_complex else 2)
    flags = [flag(f"compute_{side}", "V" if wanted else "N") for side, wanted in (("left", left), ("right", right))]
    *w, vl, vr, info = lapack(ctx, "geev", [a], [*values, v, v, info_aval(a.aval)], ", ".join(flags))
    value = w[0] if is_complex else ctx.call(complex, *w)[0]
    return [info, value, *[vl] * left, *[vr] * right]


def _geev_cuda(ctx: LowerContext, a: Operand, left: bool, right: bool) -> list[Operand]:
    """cuSOLVER has right eigenvectors only; the left ones are the inverse's rows."""
    vectors = left or right
    values = _values(a.aval, dt.complex_of(a.aval.dtype))
    _, w, _, vr, info = cuda_call(
        ctx,
        "cusolver_geev_ffi",
        [a],
        [a.aval, values, a.aval, a.aval, info_aval(a.aval)],
        f"left = false, right = {str(vectors).lower()}",
        matrices=("M", "MvMMv"),
    )
    if vectors and a.aval.dtype not in dt.COMPLEX:
        (vr,) = ctx.call(_unpacked_pairs, w, vr)
    vl = ctx.call(_left_of_right, vr) if left else []
    return [info, w, *vl, *[vr] * right]


def _unpacked_pairs(w: Value, v: Value) -> Value:
    """Complex eigenvectors of a real matrix: a conjugate pair has its parts in two real columns."""
    turn = imag(w)
    zero = zeros(aval_of(turn))
    first, second = (per_column(test(turn, zero), v.shape) for test in (gt, lt))
    before, after = _shifted(v, 1), _shifted(v, -1)
    part = select(first, after, select(second, neg(v), zeros(aval_of(v))))
    return complex(select(second, before, v), part)


def _shifted(x: Value, by: int) -> Value:
    """The columns moved to the right (left) by one, with zeros where none comes."""
    low = (0,) * (x.ndim - 1) + (by,)
    high = (0,) * (x.ndim - 1) + (-by,)
    return pad(x, full((), 0, x.dtype), low=low, high=high)


def _left_of_right(vr: Value) -> Value:
    """Left eigenvectors: the columns of the inverse's adjoint, with norm 1."""
    vl = adjoint(inv(vr))
    squares = real(mul(vl, conjugate(vl)))
    norms = sqrt(reduce_sum(squares, axes=(vl.ndim - 2,)))
    return scale_columns(vl, div(1, norms))


def _eigenvector_tangents(w: Value, v: Value, t: Value) -> tuple[Value, ...]:
    """(dw, dv) for right eigenvectors v of norm 1: V^-1 dA V, and dV at right angles to V."""
    inner = solve(v, matmul(t, v))
    dv = matmul(v, mul(inner, reciprocal_off_diagonal(differences(w))))
    along = reduce_sum(real(mul(conjugate(v), dv)), axes=(v.ndim - 2,))
    return diagonal(inner), sub(dv, scale_columns(v, along))


def _eig_jvp(primals: Sequence[Value], tangents: Tangents, *, left: bool, right: bool) -> Jvps:
    """Left eigenvectors are the right ones of the adjoint, whose eigenvalues are conjugate."""
    (a,), t = primals, convert(tangents[0], dtype=dt.complex_of(primals[0].dtype))
    outs = eig(a, left=left, right=right or not left)
    w, vectors, moved, dw = outs[0], outs[1:], [], None
    if left:
        dw, dvl = _eigenvector_tangents(conjugate(w), vectors[0], adjoint(t))
        dw, moved = conjugate(dw), [dvl]
    if right or not left:
        dw, dvr = _eigenvector_tangents(w, vectors[-1], t)
        moved = [*moved, dvr]
    count = 1 + left + right
    return outs[:count], [dw, *moved][:count]


eig_p = Primitive(
    "eig",
    traits=by_lapack(12.0, 0.25, 600, stacks=0.7, compile=45_000),
    multiple=True,
    shape=_eig_shape,
    reference=finite_reference(_eig_shape, _eig_one),
    lower=unavailable("eig"),
    lower_on={"cpu": _eig_lower(_geev_cpu), "cuda": _eig_lower(_geev_cuda)},
    jvp=_eig_jvp,
    transpose=NOT_LINEAR,
    batch=front_batch(eig),
)

# ---- schur ---------------------------------------------------------------------------------------


def schur(a: Value) -> list[Value]:
    """[t, z] with a = z t z^H and z^H z = 1, for matrices [..., n, n].

    t is upper triangular if complex; if real, with 2 x 2 blocks on the diagonal for pairs of
    complex eigenvalues. NaN where a holds inf or NaN, or LAPACK fails.
    """
    return bind(schur_p, a)


def _schur_shape(a: Aval) -> tuple[Aval, ...]:
    check_matrix("schur", a, square=True)
    return a, a


def _schur_one(a: np.ndarray) -> list[np.ndarray | int]:
    found = scipy_routine("gees", a.dtype)(lambda *w: None, a)
    return [found[-1], found[0], found[-3]]


def _schur_cpu(ctx: LowerContext, a: Operand) -> list[Operand]:
    w = [_values(a.aval, a.aval.dtype)] * (1 if a.aval.dtype in dt.COMPLEX else 2)
    outs = [a.aval, a.aval, *w, info_aval(a.aval), info_aval(a.aval)]

    def run(a: Operand) -> list[Operand]:
        t, z, *_, info = lapack(ctx, "gees", [a], outs, f"{flag('mode', 'V')}, {flag('sort', 'N')}")
        return [info, t, z]

    return on_finite(ctx, a, run)


schur_p = Primitive(
    "schur",
    traits=by_lapack(12.0, 0.25, 600, stacks=0.7, compile=45_000),
    multiple=True,
    shape=_schur_shape,
    reference=finite_reference(_schur_shape, _schur_one),
    lower=Reason("it is LAPACK's on CPU; cuSOLVER has none"),
    lower_on={"cpu": unless_empty(_schur_shape, _schur_cpu)},
    jvp=Reason("the order of eigenvalues and the blocks are LAPACK's choice; differentiate eig"),
    transpose=NOT_LINEAR,
    batch=front_batch(schur),
)
