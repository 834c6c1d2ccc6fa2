"""Functions of matrices: exponential, square root, polar factors, Sylvester's equation."""

from __future__ import annotations

import functools

import functorch_core as fc

from .. import primitives as p
from ..array.compose import composed, of_arrays
from ..core import dtypes as dt
from ..core.explain import explaining
from ..kernels import matrices
from ..numpy.elementwise import as_array, floats

function = functools.partial(composed, space="fc.scipy.linalg")


def adjoint(a):
    """The conjugate transpose of matrices."""
    return fc.conj(fc.matrix_transpose(a))


@explaining
def expm(A, *, upper_triangular=False, max_squarings=16):
    """The exponential of square matrices. max_squarings is JAX's limit, and not needed.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.expm(fc.zeros((2, 2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _expm(A)


@function("a")
def _expm(a):
    a = floats(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expm takes square matrices [..., n, n], got {a.aval}")
    return of_arrays(matrices.exponential)(a) if a.size else a


@explaining
def expm_frechet(A, E, *, method=None, compute_expm=True):
    """(expm(A), its derivative in the direction E), or the derivative alone.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.expm_frechet(fc.zeros((2, 2)), fc.eye(2), compute_expm=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    A, E = floats(A), floats(E)
    if A.shape != E.shape or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"expm_frechet takes two square matrices of one shape, got {A.aval} and {E.aval}")
    dtype = fc.result_type(A, E)
    value, slope = fc.jvp(expm, (A.astype(dtype),), (E.astype(dtype),))
    return (value, slope) if compute_expm else slope


@explaining
def rsf2csf(T, Z, check_finite=True):
    """(T, Z): a real Schur form made complex, with T triangular.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.rsf2csf(fc.eye(2), fc.eye(2))[0].dtype.name
    'complex64'
    """
    return _rsf2csf(T, Z)


@function("T Z")
def _rsf2csf(T, Z):
    T, Z = floats(T), floats(Z)
    if T.dtype not in dt.COMPLEX:
        T, Z = (x.astype(dt.complex_of(x.dtype)) for x in (T, Z))
    n = T.shape[-1]
    for m in range(n - 1, 0, -1):
        T, Z = _without_subdiagonal(T, Z, m)
    return fc.triu(T), Z


def _without_subdiagonal(T, Z, m: int):
    """T with 0 in place (m, m - 1), by a rotation of two rows and columns."""
    a, b, c, d = T[m - 1, m - 1], T[m - 1, m], T[m, m - 1], T[m, m]
    nothing = c == 0
    half = (a - d) / 2
    root = fc.sqrt(half * half + b * c)
    mu = half + fc.where(fc.abs(half + root) > fc.abs(half - root), root, -root)
    size = fc.hypot(fc.abs(mu), fc.abs(c))
    safe = fc.where(nothing, fc.ones_like(size), size)
    cosine = fc.where(nothing, fc.ones_like(mu), mu / safe)
    sine = fc.where(nothing, fc.zeros_like(mu), c / safe)
    turn = fc.stack([fc.stack([fc.conj(cosine), fc.conj(sine)]), fc.stack([-sine, cosine])])
    T = T.at[m - 1 : m + 1].set(turn @ T[m - 1 : m + 1])
    T = T.at[:, m - 1 : m + 1].set(T[:, m - 1 : m + 1] @ adjoint(turn))
    Z = Z.at[:, m - 1 : m + 1].set(Z[:, m - 1 : m + 1] @ adjoint(turn))
    return T.at[m, m - 1].set(0), Z


def _complex_schur(a):
    wide = a if a.dtype in dt.COMPLEX else a.astype(dt.complex_of(a.dtype))
    return of_arrays(p.schur)(wide)


@explaining
def sqrtm(A, blocksize=1):
    """A square root of a square matrix, complex, by its Schur form.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.sqrtm(fc.asarray([[4., 0.], [0., 9.]]))
    Array([[2.+0.j, 0.+0.j],
           [0.+0.j, 3.+0.j]], dtype=complex64)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm: blocksize is not supported\n    Leave it out.")
    return _sqrtm(A)


@function("a")
def _sqrtm(a):
    t, z = _complex_schur(floats(a))
    n = t.shape[0]
    root = fc.sqrt(fc.linalg.diagonal(t))
    r = fc.diag(root)
    for k in range(1, n):  # one diagonal above the other
        i = fc.arange(n - k)
        inner = fc.linalg.diagonal(r @ r, offset=k) if k > 1 else fc.zeros(n - k, dtype=t.dtype)
        over = fc.linalg.diagonal(t, offset=k) - inner
        under = root[:-k] + root[k:]
        found = fc.where(over == 0, fc.zeros_like(over), over / fc.where(under == 0, fc.ones_like(under), under))
        r = r.at[i, i + k].set(found)
    return z @ r @ adjoint(z)


@explaining
def funm(A, func, disp=True):
    """A function of a square matrix: func of its eigenvalues, by Parlett's recurrence. disp=False: (it, an error).

    func is elementwise. Of equal eigenvalues the result is not accurate.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.funm(fc.asarray([[1., 1.], [0., 2.]]), fc.exp)
    Array([[2.7182817+0.j, 4.6707745+0.j],
           [0.       +0.j, 7.389056 +0.j]], dtype=complex64)
    """
    a = floats(A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"funm takes a square matrix, got {a.aval}")
    out, least = _funm(a, func)
    if a.dtype not in dt.COMPLEX:
        near = fc.max(fc.abs(fc.imag(out))) <= 1e3 * float(fc.finfo(a.dtype).eps) * fc.maximum(fc.max(fc.abs(out)), 1)
        out = fc.where(near, fc.real(out).astype(out.dtype), out)
    if disp:
        return out
    eps = float(fc.finfo(a.dtype).eps)
    upper = fc.linalg.norm(fc.triu(_complex_schur_of(a), k=1), 1)
    error = fc.minimum(1.0, fc.maximum(eps, eps / fc.where(least == 0, fc.full_like(least, eps), least) * upper))
    return out, error


@function("a")
def _complex_schur_of(a):
    return _complex_schur(a)[0]


def _funm(a, func):
    t, z = _schur_pair(a)
    n = t.shape[0]
    eigenvalues = fc.linalg.diagonal(t)
    f = fc.diag(func(eigenvalues).astype(t.dtype))
    least = fc.abs(t[0, 0])
    for k in range(1, n):
        i = fc.arange(n - k)
        s = fc.linalg.diagonal(t, offset=k) * (f[i + k, i + k] - f[i, i])
        s = s + _between(f, t, k)
        apart = eigenvalues[k:] - eigenvalues[:-k]
        found = fc.where(apart == 0, s, s / fc.where(apart == 0, fc.ones_like(apart), apart))
        f = f.at[i, i + k].set(found)
        least = fc.minimum(least, fc.min(fc.abs(apart)))
    return z @ f @ adjoint(z), least


def _between(f, t, k: int):
    """The sums over what is strictly between i and i + k of t f - f t."""
    inside_f, inside_t = fc.triu(f, k=1), fc.triu(t, k=1)
    return fc.linalg.diagonal(inside_t @ inside_f - inside_f @ inside_t, offset=k)


@function("a")
def _schur_pair(a):
    return _complex_schur(a)


@explaining
def polar(a, side="right", *, method="qdwh", eps=None, max_iterations=None):
    """(U, P): a = U P with P positive and U with orthonormal columns; side 'left': a = P U.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.polar(fc.asarray([[2., 0.], [0., 1.]]))[1]
    Array([[2., 0.],
           [0., 1.]], dtype=float32)
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side is 'right' or 'left', got {side!r}")
    return _polar(a, side=side)


@function("a")
def _polar(a, side):
    u, s, vh = fc.linalg.svd(floats(a), full_matrices=False)
    around = adjoint(vh) if side == "right" else u
    positive = (around * s[..., None, :].astype(around.dtype)) @ adjoint(around)
    return u @ vh, positive


@explaining
def solve_sylvester(A, B, C, *, method="schur", tol=1e-8):
    """The X with A X + X B = C, by the Schur forms of A and B (method='eigen': by their eigenvectors).

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.solve_sylvester(fc.eye(2), fc.eye(2), fc.ones((2, 2)))
    Array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method is 'schur' or 'eigen', got {method!r}")
    A, B, C = (floats(as_array(x)) for x in (A, B, C))
    if C.shape != (A.shape[0], B.shape[0]):
        raise ValueError(f"solve_sylvester: A {A.aval} and B {B.aval} take C [m, n], got {C.aval}")
    found = _sylvester(A, B, C)
    real = not {x.dtype for x in (A, B, C)} & dt.COMPLEX
    return fc.real(found) if real else found


@function("a b c")
def _sylvester(a, b, c):
    dtype = fc.result_type(a, b, c)
    r, u = _complex_schur(a.astype(dtype))
    s, v = _complex_schur(b.astype(dtype))
    f = adjoint(u) @ c.astype(u.dtype) @ v
    n, eye = s.shape[0], fc.eye(r.shape[0], dtype=r.dtype)

    def column(y, k):
        right = f[:, k] - y @ s[:, k]
        found = fc.linalg.solve_triangular(r + s[k, k] * eye, right, lower=False)
        return y.at[:, k].set(found), None

    y = fc.scan(column, fc.zeros_like(f), fc.arange(n))[0]
    return u @ y @ adjoint(v)
