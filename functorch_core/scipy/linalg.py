"""jax.scipy.linalg: factorisations, solvers and functions of matrices with SciPy's signatures.

Flags that let LAPACK overwrite or check its operands (overwrite_a, check_finite, ...) are accepted, and do nothing.
"""

from __future__ import annotations

import functools

import numpy as np

import functorch_core as fc

from .. import primitives as p
from ..array.compose import composed, missing_name, of_arrays
from ..core import dtypes as dt
from ..core.explain import explaining
from ..lax.linalg import hessenberg as _packed_hessenberg
from ..lax.linalg import mapped, reflector
from ..numpy.elementwise import as_array, floats
from .matrix_functions import expm, expm_frechet, funm, polar, rsf2csf, solve_sylvester, sqrtm
from .special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
)

function = functools.partial(composed, space="fc.scipy.linalg")


def adjoint(a):
    """The conjugate transpose of matrices."""
    return fc.conj(fc.matrix_transpose(a))


# ---- factorisations ------------------------------------------------------------------------------


@function("a")
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """The upper (or lower) triangular factor of a positive definite matrix.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.cholesky(fc.asarray([[4., 2.], [2., 5.]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    a = floats(a)
    if lower:
        return fc.linalg.cholesky(a)
    return adjoint(fc.linalg.cholesky(adjoint(a)))


@explaining
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """(the triangular factor, whether it is the lower one), for cho_solve.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.cho_factor(fc.asarray([[4., 0.], [0., 9.]]))
    (Array([[2., 0.],
           [0., 3.]], dtype=float32), False)
    """
    return cholesky(a, lower), lower


@explaining
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """The x with a x = b, by the factor of a that cho_factor gave.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.cho_solve(linalg.cho_factor(fc.asarray([[4., 0.], [0., 9.]])), fc.ones(2))
    Array([0.25      , 0.11111112], dtype=float32)
    """
    c, lower = c_and_lower
    return _cho_solve(c, b, lower=bool(lower))


@function("c b")
def _cho_solve(c, b, lower):
    first, second = (0, 2) if lower else (2, 0)
    half = fc.linalg.solve_triangular(c, b, lower=lower, trans=first)
    return fc.linalg.solve_triangular(c, half, lower=lower, trans=second)


@explaining
def det(a, overwrite_a=False, check_finite=True):
    """The determinants of square matrices.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.det(fc.asarray([[2., 1.], [0., 4.]]))
    Array(8., dtype=float32)
    """
    return fc.linalg.det(a)


@explaining
def inv(a, overwrite_a=False, check_finite=True):
    """The inverses of square matrices.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.inv(fc.asarray([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return fc.linalg.inv(a)


@explaining
def lu_factor(a, overwrite_a=False, check_finite=True):
    """(the factors in one matrix, pivots): row i was exchanged with row pivots[i].

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.lu_factor(fc.asarray([[0., 1.], [2., 3.]]))[0]
    Array([[2., 3.],
           [0., 1.]], dtype=float32)
    """
    return _factored(a)[:2]


@function("a")
def _factored(a):
    return of_arrays(p.lu)(floats(a))


@explaining
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """The x with op(a) x = b, by what lu_factor gave; trans: 0 for a, 1 its transpose, 2 its adjoint.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.lu_solve(linalg.lu_factor(fc.asarray([[0., 1.], [2., 0.]])), fc.ones(2))
    Array([0.5, 1. ], dtype=float32)
    """
    factors, pivots = lu_and_piv
    return _lu_solve(factors, pivots, b, trans=int(trans))


@function("factors pivots b")
def _lu_solve(factors, pivots, b, trans):
    n = factors.shape[-1]
    permutation = of_arrays(p.pivots_to_permutation)(pivots.astype(dt.int32), size=n)
    vector = b.ndim < factors.ndim
    b = b[..., None] if vector else b
    dtype = fc.result_type(factors, b)
    lead = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    factors = fc.broadcast_to(factors.astype(dtype), (*lead, n, n))
    permutation = fc.broadcast_to(permutation, (*lead, n))
    b = fc.broadcast_to(b.astype(dtype), (*lead, *b.shape[-2:]))
    out = of_arrays(p.lu_solve)(factors, permutation, b, transpose=trans > 0, conjugate=trans == 2)
    return out[..., 0] if vector else out


@explaining
def lu(a, permute_l=False, overwrite_a=False, check_finite=True):
    """(P, L, U) with a = P L U; permute_l: (P L, U).

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.lu(fc.asarray([[0., 1.], [2., 3.]]))[2]
    Array([[2., 3.],
           [0., 1.]], dtype=float32)
    """
    return _lu(a, permute_l=bool(permute_l))


@function("a")
def _lu(a, permute_l):
    factors, _, permutation = of_arrays(p.lu)(floats(a))
    m, n = factors.shape[-2:]
    k = min(m, n)
    lower = fc.tril(factors, k=-1)[..., :k] + fc.eye(m, k, dtype=factors.dtype)
    upper = fc.triu(factors)[..., :k, :]
    places = (permutation[..., None, :] == fc.arange(m)[:, None]).astype(dt.real_of(factors.dtype))
    return (places.astype(factors.dtype) @ lower, upper) if permute_l else (places, lower, upper)


@explaining
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """(Q, R) with a = Q R: 'full', 'economic' or 'r' (R alone); pivoting: (Q, R, P) with a[:, P] = Q R.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.qr(fc.asarray([[2., 0.], [0., 1.]]), mode="r")[0].shape
    (2, 2)
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"qr: mode is 'full', 'economic' or 'r', got {mode!r}")
    a = floats(a)
    full = mode != "economic"
    found = qr_pivoted(a, full) if pivoting else tuple(fc.linalg.qr(a, mode="complete" if full else "reduced"))
    return found[1:] if mode == "r" else found


def qr_pivoted(a, full_matrices=True):
    """(Q, R, P): by Householder's reflections, of the column that has most left."""
    return mapped(functools.partial(_pivoted, full=full_matrices), floats(a))


@function("a")
def _pivoted(a, full):
    m, n = a.shape
    order, q = fc.arange(n), fc.eye(m, dtype=a.dtype)
    rows, columns = fc.arange(m), fc.arange(n)
    for k in range(min(m, n)):
        rest = fc.where(rows[:, None] >= k, a, fc.zeros_like(a))
        sizes = fc.sum(fc.real(rest * fc.conj(rest)), axis=0)
        pivot = fc.argmax(fc.where(columns >= k, sizes, fc.full_like(sizes, -1)))
        swap = fc.where(columns == k, pivot, fc.where(columns == pivot, k, columns))
        a, order = fc.take(a, swap, axis=1), fc.take(order, swap, axis=0)
        v, tau, _ = reflector(a[:, k], k)
        a = a - fc.conj(tau) * v[:, None] * (fc.conj(v) @ a)[None, :]
        q = q - tau * (q @ v)[:, None] * fc.conj(v)[None, :]
    r = fc.triu(a)
    return (q, r, order) if full else (q[:, : min(m, n)], r[: min(m, n)], order)


@explaining
def qr_multiply(a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False, overwrite_c=False):
    """(c Q, R), or (Q c, R) with mode 'left'; pivoting adds the permutation. Of the economic Q.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.qr_multiply(fc.eye(2), fc.ones(2))[1].shape
    (2, 2)
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: mode is 'left' or 'right', got {mode!r}")
    a, c = floats(a), floats(c)
    found = qr(a, mode="economic", pivoting=pivoting)
    q = fc.conj(found[0]) if conjugate else found[0]
    if mode == "left" and c.shape[0] == a.shape[0] and q.shape[1] != a.shape[0]:
        q = qr(a, mode="full", pivoting=pivoting)[0]
        q = fc.conj(q) if conjugate else q
    product = q @ c if mode == "left" else c @ q
    return (product, *found[1:])


@explaining
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    """(U, S, Vh) with a = U S Vh, or S alone.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.svd(fc.asarray([[3., 0.], [0., 4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    return tuple(fc.linalg.svd(a, full_matrices=full_matrices)) if compute_uv else fc.linalg.svdvals(a)


@explaining
def schur(a, output="real"):
    """(T, Z) with a = Z T Z^H: T triangular, if real with blocks of two; output: 'real' or 'complex'.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.schur(fc.eye(2))[0]
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output is 'real' or 'complex', got {output!r}")
    a = floats(a)
    if output == "complex" and a.dtype not in dt.COMPLEX:
        a = a.astype(dt.complex_of(a.dtype))
    return _schur(a)


@function("a")
def _schur(a):
    return of_arrays(p.schur)(a)


@explaining
def hessenberg(a, *, calc_q=False, overwrite_a=False, check_finite=True):
    """H, zero below its first subdiagonal, with a = Q H Q^H; calc_q: (H, Q).

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.hessenberg(fc.eye(3))
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    h, q = _hessenberg(a)
    return (h, q) if calc_q else h


@function("a")
def _hessenberg(a):
    a = floats(a)
    packed, taus = _packed_hessenberg(a)
    n = a.shape[-1]
    h = fc.triu(packed, k=-1)
    if n < 3:
        return h, fc.broadcast_to(fc.eye(n, dtype=a.dtype), a.shape)
    inner = of_arrays(p.householder_product)(packed[..., 1:, :-1], taus)
    lead = [(0, 0)] * (a.ndim - 2)
    q = fc.pad(inner, [*lead, (1, 0), (1, 0)])
    corner = fc.pad(fc.ones((1, 1), dtype=a.dtype), [(0, n - 1), (0, n - 1)])
    return h, q + corner


# ---- solving -------------------------------------------------------------------------------------

ASSUMPTIONS = ("gen", "sym", "her", "pos")


@explaining
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, debug=False, check_finite=True, assume_a="gen"):
    """The x with a x = b; assume_a: 'gen', 'sym', 'her' or 'pos' (definite: by Cholesky's factor).

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.solve(fc.asarray([[2., 0.], [0., 4.]]), fc.asarray([2., 2.]))
    Array([1. , 0.5], dtype=float32)
    """
    if assume_a not in ASSUMPTIONS:
        raise ValueError(f"solve: assume_a is one of {', '.join(map(repr, ASSUMPTIONS))}, got {assume_a!r}")
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower), b)
    return fc.linalg.solve(as_array(a), as_array(b))


@explaining
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, debug=None, check_finite=True):
    """The x with op(a) x = b for triangular a; trans: 0 or 'N', 1 or 'T', 2 or 'C'.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.solve_triangular(fc.asarray([[2., 1.], [0., 4.]]), fc.asarray([4., 4.]))
    Array([1.5, 1. ], dtype=float32)
    """
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    return fc.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


# ---- eigenvalues ---------------------------------------------------------------------------------


@explaining
def eigh(
    a,
    b=None,
    lower=True,
    eigvals_only=False,
    overwrite_a=False,
    overwrite_b=False,
    turbo=True,
    eigvals=None,
    type=1,
    check_finite=True,
):
    """(eigenvalues in rising order, eigenvectors) of a symmetric or Hermitian matrix; or the values alone.

    b: of a v = w b v (type 1), a b v = w v (2) or b a v = w v (3) for positive definite b.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.eigh(fc.asarray([[2., 0.], [0., 1.]]), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    if eigvals is not None:
        raise NotImplementedError("eigh: eigvals (a part of them) is not supported\n    Take part of all: w[i:j].")
    if b is not None:
        w, v = _generalized(a, b, lower=lower, type=int(type))
    else:
        w, v = fc.linalg.eigh(floats(a), UPLO="L" if lower else "U")
    return w if eigvals_only else (w, v)


@function("a b")
def _generalized(a, b, lower, type):
    a, b = (floats(x) for x in (a, b))
    triangle = fc.tril if lower else fc.triu
    a, b = (triangle(x) + adjoint(triangle(x, k=-1 if lower else 1)) for x in (a, b))
    factor = fc.linalg.cholesky(b)

    def divided(x, trans=0):
        return fc.linalg.solve_triangular(factor, x, lower=True, trans=trans)

    if type == 1:
        inner = divided(adjoint(divided(a)))
        w, v = fc.linalg.eigh((inner + adjoint(inner)) / 2)
        return w, divided(v, 2)
    inner = adjoint(factor) @ a @ factor
    w, v = fc.linalg.eigh((inner + adjoint(inner)) / 2)
    return w, divided(v, 2) if type == 2 else factor @ v


@explaining
def eigh_tridiagonal(d, e, *, eigvals_only=False, select="a", select_range=None, tol=None, key=None):
    """The eigenvalues (and vectors) of a real symmetric tridiagonal matrix: diagonal d, off-diagonal e.

    select: 'a' for all, 'i' for the indices select_range = (first, last).

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.eigh_tridiagonal(fc.asarray([2., 1.]), fc.asarray([0.]), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    if select not in ("a", "i"):
        raise NotImplementedError("eigh_tridiagonal: select is 'a' or 'i'\n    Choose among the values it gives.")
    w, v = _tridiagonal(d, e)
    if select == "i":
        first, last = select_range
        w, v = w[first : last + 1], v[:, first : last + 1]
    return w if eigvals_only else (w, v)


@function("d e")
def _tridiagonal(d, e):
    d, e = floats(d), floats(e)
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise ValueError(f"eigh_tridiagonal takes d [n] and e [n - 1], got {d.aval} and {e.aval}")
    dtype = fc.result_type(d, e)
    d, e = d.astype(dtype), e.astype(dtype)
    matrix = fc.diag(d) + fc.diag(fc.conj(e), 1) + fc.diag(e, -1)
    return tuple(fc.linalg.eigh(matrix))


__getattr__ = missing_name(
    "scipy.linalg",
    {
        "eig eigvals eigvalsh lstsq norm pinv matrix_rank": "Use functorch_core.numpy.linalg's.",
        "logm signm cosm sinm tanm coshm sinhm tanhm": "Use linalg.funm(a, function).",
        "kron tril triu": "Use functorch_core.numpy's.",
        "tri": "Use functorch_core.numpy.tri.",
    },
)

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "convolution_matrix", "det",
    "dft", "eigh", "eigh_tridiagonal", "expm", "expm_frechet", "fiedler", "fiedler_companion", "funm", "hadamard",
    "hankel", "helmert", "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lu", "lu_factor",
    "lu_solve", "pascal", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "solve", "solve_sylvester",
    "solve_triangular", "sqrtm", "svd", "toeplitz",
]  # fmt: skip
