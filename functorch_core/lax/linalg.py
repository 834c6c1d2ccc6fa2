"""jax.lax.linalg: the factorisations themselves, with lax's signatures."""

from __future__ import annotations

import enum
import functools

import functorch_core as fc

from .. import primitives as p
from ..array.compose import composed, missing_name, of_arrays
from ..core import dtypes as dt
from ..core.explain import explaining
from ..numpy.linalg import symmetrized

function = functools.partial(composed, space="fc.lax.linalg")

SUBSET = "{name}: subset_by_index is not supported\n    Take part of all of them: w[..., i:j]."


class EigImplementation(enum.Enum):
    """JAX's routines of eig; here it is LAPACK's, whichever is named."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """JAX's algorithms of eigh; here it is LAPACK's or the device's own, whichever is named."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """JAX's algorithms of svd; here it is LAPACK's or the device's own."""

    DEFAULT = "default"
    QR = "qr"
    JACOBI = "jacobi"
    POLAR = "polar"


@function("x")
def cholesky(x, *, symmetrize_input=True):
    """The lower triangular L with x = L times its adjoint.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.cholesky(fc.asarray([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return fc.linalg.cholesky(symmetrized(x, symmetrize_input))


@function("r_matrix w_vector")
def cholesky_update(r_matrix, w_vector):
    """The upper triangular R' with R'^T R' = R^T R + w w^T, by rotations.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.cholesky_update(fc.eye(2), fc.asarray([1., 0.]))
    Array([[1.4142135, 0.       ],
           [0.       , 1.       ]], dtype=float32)
    """
    n = r_matrix.shape[-1]

    def step(w, pair):
        row, k = pair
        size = fc.hypot(row[k], w[k])
        c, s = row[k] / size, w[k] / size
        return c * w - s * row, c * row + s * w

    return fc.scan(step, w_vector, (r_matrix, fc.arange(n)))[1]


@explaining
def eigh(x, *, lower=True, symmetrize_input=True, sort_eigenvalues=True, subset_by_index=None, implementation=None):
    """(eigenvectors as columns, eigenvalues in rising order) of symmetric or Hermitian matrices.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.eigh(fc.asarray([[2., 0.], [0., 1.]]))[1]
    Array([1., 2.], dtype=float32)
    """
    if subset_by_index is not None:
        raise NotImplementedError(SUBSET.format(name="eigh"))
    found = fc.linalg.eigh(symmetrized(fc.asarray(x), symmetrize_input), UPLO="L" if lower else "U")
    return found.eigenvectors, found.eigenvalues


@explaining
def eig(
    x,
    *,
    compute_left_eigenvectors=True,
    compute_right_eigenvectors=True,
    enable_eigvec_derivs=False,
    implementation=None,
    use_magma=None,
):
    """[eigenvalues, left eigenvectors, right ones] of matrices, complex; those that are asked for.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> len(lax.linalg.eig(fc.eye(2)))
    3
    """
    return list(_eig(x, left=compute_left_eigenvectors, right=compute_right_eigenvectors))


@function("x")
def _eig(x, left, right):
    return of_arrays(p.eig)(x, left=left, right=right)


@function("a")
def geqrf(a):
    """(a packed QR factorisation of matrices, the scales of its reflectors), as LAPACK's geqrf.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.geqrf(fc.eye(2))[1].shape
    (2,)
    """
    return of_arrays(p.geqrf)(a)


@function("a taus")
def householder_product(a, taus):
    """The product of the reflectors that are below the diagonal of a, scaled by taus.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.householder_product(*lax.linalg.geqrf(fc.eye(2))).shape
    (2, 2)
    """
    return of_arrays(p.householder_product)(a, taus)


@function("a taus c")
def ormqr(a, taus, c, *, left=True, transpose=False):
    """The product of reflectors times c, or c times it, or its adjoint.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.ormqr(*lax.linalg.geqrf(fc.eye(2)), fc.ones((2, 1))).shape
    (2, 1)
    """
    return of_arrays(p.ormqr)(a, taus, c, left=left, transpose=transpose)


@function("x")
def lu(x):
    """(factors, pivots, permutation) with x[permutation] = L U, by partial pivoting.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.lu(fc.asarray([[0., 1.], [2., 3.]]))[0]
    Array([[2., 3.],
           [0., 1.]], dtype=float32)
    """
    return of_arrays(p.lu)(x)


@function("pivots")
def lu_pivots_to_permutation(pivots, permutation_size):
    """The permutation that exchanging row i with row pivots[i], one after the other, makes.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.lu_pivots_to_permutation(fc.asarray([1, 1], dtype=fc.int32), 2)
    Array([1, 0], dtype=int32)
    """
    return of_arrays(p.pivots_to_permutation)(pivots.astype(dt.int32), size=int(permutation_size))


@explaining
def qr(x, *, pivoting=False, full_matrices=True, use_magma=None):
    """(Q, R) with x = Q R, of the full shape unless full_matrices=False.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.qr(fc.eye(2))[1].shape
    (2, 2)
    """
    if pivoting:
        from ..scipy.linalg import qr_pivoted

        return qr_pivoted(x, full_matrices=full_matrices)
    return tuple(fc.linalg.qr(x, mode="complete" if full_matrices else "reduced"))


@explaining
def schur(x, *, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None):
    """(T, Z) with x = Z T Z^H, T triangular (of real matrices with blocks of two).

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.schur(fc.eye(2))[0]
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: the order of eigenvalues is LAPACK's\n    Leave sort_eig_vals out.")
    t, z = _schur(x)
    return (t, z) if compute_schur_vectors else (t,)


@function("x")
def _schur(x):
    return of_arrays(p.schur)(x)


@explaining
def svd(x, *, full_matrices=True, compute_uv=True, subset_by_index=None, algorithm=None):
    """(U, S, Vh) with x = U S Vh, or S alone.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.svd(fc.asarray([[3., 0.], [0., 4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    if subset_by_index is not None:
        raise NotImplementedError(SUBSET.format(name="svd"))
    return tuple(fc.linalg.svd(x, full_matrices=full_matrices)) if compute_uv else fc.linalg.svdvals(x)


@function("a_matrix c_matrix")
def symmetric_product(a_matrix, c_matrix, *, alpha=1.0, beta=0.0, symmetrize_output=False):
    """alpha * A A^T + beta * C.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.symmetric_product(fc.ones((2, 1)), fc.zeros((2, 2)))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    out = alpha * (a_matrix @ fc.matrix_transpose(a_matrix)) + beta * c_matrix
    if not symmetrize_output:
        return out
    upper = fc.triu(out, k=1)
    return fc.triu(out) + fc.matrix_transpose(upper)


@function("a b")
def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False):
    """The x with x op(a) = b (left_side: op(a) x = b) for triangular a.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.triangular_solve(fc.asarray([[2., 0.], [0., 4.]]), fc.asarray([[2., 4.]]))
    Array([[1., 1.]], dtype=float32)
    """
    dtype = fc.result_type(a, b)
    a, b = a.astype(dtype), b.astype(dtype)
    vector = left_side and b.ndim == a.ndim - 1
    out = of_arrays(p.triangular_solve)(
        a,
        b[..., None] if vector else b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    return out[..., 0] if vector else out


# ---- reductions to narrow matrices ---------------------------------------------------------------


def reflector(x, k: int):
    """(v, tau, beta): 1 - tau v v^H takes x to beta in place k; elements in front of k stay."""
    places = fc.arange(x.shape[0])
    rest = fc.where(places > k, x, fc.zeros_like(x))
    alpha = x[k]
    size = fc.sqrt(fc.sum(fc.real(rest * fc.conj(rest))))
    norm = fc.hypot(fc.abs(alpha), size)
    beta = -fc.where(fc.real(alpha) < 0, -norm, norm)
    nothing = (size == 0) & (fc.imag(alpha) == 0)
    safe = fc.where(nothing, fc.ones_like(beta), beta)
    tau = fc.where(nothing, fc.zeros_like(alpha), (safe - alpha) / safe)
    pivot = fc.where(nothing, fc.ones_like(alpha), alpha - safe)
    v = fc.where(places == k, fc.ones_like(rest), rest / pivot)
    return v, tau, fc.where(nothing, alpha, beta.astype(x.dtype))


def mapped(fun, a):
    """fun of each matrix of a stack."""
    for _ in range(a.ndim - 2):
        fun = fc.vmap(fun)
    return fun(a)


@function("a")
def hessenberg(a):
    """(a packed Hessenberg form, scales of reflectors): zero below the first subdiagonal, where the reflectors are.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.hessenberg(fc.eye(3))[1].shape
    (2,)
    """
    return mapped(_hessenberg, a)


def _hessenberg(a):
    n, taus, packed = a.shape[0], [], a
    for k in range(n - 1):
        v, tau, beta = reflector(a[:, k], k + 1)
        a = _turned(a, v, tau)
        places = fc.arange(n)
        packed = a.at[:, :k].set(packed[:, :k])
        packed = packed.at[:, k].set(fc.where(places <= k, a[:, k], fc.where(places == k + 1, beta, v)))
        taus.append(tau)
    upper = fc.triu(a, k=0)
    packed = fc.where(fc.tril(fc.ones((n, n), dtype=dt.bool_), k=-1), packed, upper)
    return packed, fc.stack(taus) if taus else fc.zeros(0, dtype=a.dtype)


def _turned(a, v, tau):
    """H^H a H for the reflector H = 1 - tau v v^H."""
    left = a - fc.conj(tau) * v[:, None] * (fc.conj(v) @ a)[None, :]
    return left - tau * (left @ v)[:, None] * fc.conj(v)[None, :]


@function("a")
def tridiagonal(a, *, lower=True):
    """(packed reflectors, diagonal, off-diagonal, scales) of a symmetric or Hermitian matrix made tridiagonal.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.tridiagonal(fc.eye(3))[1]
    Array([1., 1., 1.], dtype=float32)
    """
    return mapped(functools.partial(_tridiagonal, lower=lower), a)


def _tridiagonal(a, lower: bool):
    a = fc.tril(a) + fc.conj(fc.tril(a, k=-1)).T if lower else fc.triu(a) + fc.conj(fc.triu(a, k=1)).T
    a = a if lower else fc.conj(a)
    n, taus, packed = a.shape[0], [], a
    for k in range(n - 1):
        v, tau, beta = reflector(a[:, k], k + 1)
        a = _turned(a, v, tau)
        places = fc.arange(n)
        packed = packed.at[:, k].set(fc.where(places <= k, a[:, k], fc.where(places == k + 1, beta, v)))
        taus.append(tau)
    diagonal = fc.real(fc.linalg.diagonal(a))
    off = fc.real(fc.linalg.diagonal(a, offset=-1))
    packed = packed.at[fc.arange(n), fc.arange(n)].set(diagonal.astype(a.dtype))
    return packed if lower else packed.T, diagonal, off, fc.stack(taus) if taus else fc.zeros(0, dtype=a.dtype)


@function("dl d du b")
def tridiagonal_solve(dl, d, du, b, *, perturb_singular=False):
    """The x with A x = b for tridiagonal A: its subdiagonal dl[1:], diagonal d, superdiagonal du[:-1].

    b [..., n, k]. By elimination without pivoting.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> dl, d, du = fc.asarray([0., 1.]), fc.asarray([2., 2.]), fc.asarray([1., 0.])
    >>> lax.linalg.tridiagonal_solve(dl, d, du, fc.ones((2, 1)))
    Array([[0.3333333 ],
           [0.33333334]], dtype=float32)
    """
    dl, d, du = (fc.moveaxis(v, -1, 0) for v in (dl, d, du))
    rows = fc.moveaxis(b, -2, 0)

    def down(carry, row):
        c, x = carry
        low, here, up, right = row
        pivot = here - low * c
        found = up / pivot, (right - low[..., None] * x) / pivot[..., None]
        return found, found

    start = (fc.zeros_like(d[0]), fc.zeros_like(rows[0]))
    _, (c, x) = fc.scan(down, start, (dl, d, du, rows))

    def up(below, row):
        c, x = row
        out = x - c[..., None] * below
        return out, out

    found = fc.scan(up, fc.zeros_like(x[0]), (c, x), reverse=True)[1]
    return fc.moveaxis(found, 0, -2)


@explaining
def qdwh(x, *, is_hermitian=False, max_iterations=None, eps=None, dynamic_shape=None):
    """(U, H, number of iterations, whether they converged) with x = U H, U orthonormal, H positive.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.linalg.qdwh(fc.asarray([[2., 0.], [0., 1.]]))[1]
    Array([[2., 0.],
           [0., 1.]], dtype=float32)
    """
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh: dynamic_shape is not supported\n    Slice the matrix first.")
    u, h = _polar(x)
    return u, h, fc.asarray(1, dtype=dt.int32), fc.asarray(True)


@function("x")
def _polar(x):
    u, s, vh = fc.linalg.svd(x, full_matrices=False)
    h = fc.conj(fc.matrix_transpose(vh)) @ (s[..., None].astype(vh.dtype) * vh)
    return u @ vh, (h + fc.conj(fc.matrix_transpose(h))) / 2


__getattr__ = missing_name("lax.linalg", {})

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_update", "eig", "eigh",
    "geqrf", "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "ormqr", "qdwh", "qr", "schur",
    "svd", "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
]  # fmt: skip
