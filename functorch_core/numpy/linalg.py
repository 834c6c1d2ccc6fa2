"""jax.numpy.linalg: linear algebra with NumPy's signatures, over fc.linalg."""

from __future__ import annotations

import functools
import operator

import numpy as np

import functorch_core as fc

from .. import primitives as p
from ..array.compose import composed, missing_name, of_arrays, with_signature
from ..array.precision import with_precision
from ..core import dtypes as dt
from ..core.explain import explaining
from ..ops.linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from .elementwise import as_array, floats

eig, eigvals, lstsq, norm, svdvals = (
    fc.linalg.eig, fc.linalg.eigvals, fc.linalg.lstsq, fc.linalg.norm, fc.linalg.svdvals,
)  # fmt: skip
cross, diagonal, matrix_norm = fc.linalg.cross, fc.linalg.diagonal, fc.linalg.matrix_norm
matrix_transpose, trace, vector_norm = fc.linalg.matrix_transpose, fc.linalg.trace, fc.linalg.vector_norm
matmul, tensordot, vecdot = map(with_precision, (fc.linalg.matmul, fc.linalg.tensordot, fc.linalg.vecdot))
outer = with_signature(fc.linalg.outer, "x1, x2, /")
det = with_signature(fc.linalg.det, "a")
inv = with_signature(fc.linalg.inv, "a")
solve = with_signature(fc.linalg.solve, "a, b")
matrix_power = with_signature(fc.linalg.matrix_power, "a, n")

function = functools.partial(composed, space="fc.numpy.linalg")


def symmetrized(a, symmetrize: bool):
    """(a + its adjoint) / 2, if that is asked for; what is not square as it is, for fc's function to refuse."""
    a = floats(a)  # the sum of bools is none, that of narrow integers wraps
    square = a.ndim > 1 and a.shape[-1] == a.shape[-2]
    return (a + fc.conj(fc.matrix_transpose(a))) / 2 if symmetrize and square else a


@function("a")
def cholesky(a, *, upper=False, symmetrize_input=True):
    """The lower triangular L (upper: its adjoint) with a = L times its adjoint.

    symmetrize_input: of (a + its adjoint) / 2; otherwise only one triangle is read.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.cholesky(jnp.asarray([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return fc.linalg.cholesky(symmetrized(as_array(a), symmetrize_input), upper=upper)


@explaining
def eigh(a, UPLO=None, symmetrize_input=True):
    """(eigenvalues in rising order, eigenvectors as columns) of symmetric or Hermitian matrices.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.eigh(jnp.asarray([[2., 0.], [0., 1.]])).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    a = symmetrized(as_array(a), symmetrize_input)
    return fc.linalg.eigh(a, UPLO=UPLO or "L")


@explaining
def eigvalsh(a, UPLO="L", *, symmetrize_input=True):
    """The eigenvalues of symmetric or Hermitian matrices, in rising order.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.eigvalsh(jnp.asarray([[2., 0.], [0., 1.]]))
    Array([1., 2.], dtype=float32)
    """
    return fc.linalg.eigvalsh(symmetrized(as_array(a), symmetrize_input), UPLO=UPLO or "L")


@explaining
def slogdet(a, *, method=None):
    """The sign of the determinant and the logarithm of its size.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.slogdet(jnp.asarray([[2., 1.], [0., 4.]])).sign
    Array(1., dtype=float32)
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method is 'lu' or 'qr', got {method!r}")
    return fc.linalg.slogdet(a)


@explaining
def qr(a, mode="reduced"):
    """(Q, R) with a = Q R: 'reduced', 'complete', 'r' (R alone) or 'raw' (reflectors, factors).

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.qr(jnp.asarray([[2., 0.], [0., 1.]]), mode="r").shape
    (2, 2)
    """
    if mode == "r":
        return fc.linalg.qr(a, mode="reduced").R
    if mode == "raw":
        return _raw_qr(a)
    return fc.linalg.qr(a, mode="complete" if mode == "full" else mode)


@function("a")
def _raw_qr(a):
    packed, taus = of_arrays(p.geqrf)(a)
    return fc.matrix_transpose(packed), taus


@explaining
def svd(a, full_matrices=True, compute_uv=True, hermitian=False, subset_by_index=None):
    """(U, S, Vh) with a = U S Vh, S in falling order; compute_uv=False gives S alone.

    hermitian: by the eigenvalues of a, which must be Hermitian.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.svd(jnp.asarray([[3., 0.], [0., 4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    if subset_by_index is not None:
        raise NotImplementedError("svd: subset_by_index is not supported\n    Take part of all: S[:k], U[..., :k].")
    if not hermitian:
        return fc.linalg.svd(a, full_matrices=full_matrices) if compute_uv else fc.linalg.svdvals(a)
    u, s, vh = _hermitian_svd(a)
    return SVDResult(u, s, vh) if compute_uv else s


@function("a")
def _hermitian_svd(a):
    values, vectors = fc.linalg.eigh(a)
    order = fc.argsort(fc.abs(values), axis=-1, descending=True)
    values = fc.take_along_axis(values, order, axis=-1)
    vectors = fc.take_along_axis(vectors, fc.broadcast_to(order[..., None, :], vectors.shape), axis=-1)
    signs = fc.where(values < 0, fc.full_like(values, -1), fc.ones_like(values))
    vh = fc.conj(fc.matrix_transpose(vectors * signs[..., None, :].astype(vectors.dtype)))
    return vectors, fc.abs(values), vh


@explaining
def matrix_rank(M, rtol=None, *, hermitian=False, tol=None):
    """The number of singular values above rtol times the greatest, or above tol.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.matrix_rank(jnp.ones((3, 3)))
    Array(1, dtype=int64)
    """
    M = as_array(M)
    if M.ndim < 2:
        return fc.any(M != 0).astype(dt.DEFAULT_INT)
    if tol is None and not hermitian:
        return fc.linalg.matrix_rank(M, rtol)
    return _rank(M, rtol, tol, hermitian=hermitian)


@function("M rtol tol")
def _rank(M, rtol, tol, hermitian):
    s = fc.abs(fc.linalg.eigvalsh(M)) if hermitian else fc.linalg.svdvals(M)
    if tol is None:
        rtol = max(M.shape[-2:]) * float(fc.finfo(s.dtype).eps) if rtol is None else as_array(rtol)[..., None]
        tol = fc.max(s, axis=-1, keepdims=True) * rtol
    else:
        tol = as_array(tol)[..., None]
    return fc.sum((s > tol).astype(dt.DEFAULT_INT), axis=-1)


@explaining
def pinv(a, rtol=None, hermitian=False, *, rcond=None):
    """The pseudo-inverses; singular values below rtol of the greatest count as 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.pinv(jnp.asarray([[2., 0.], [0., 0.]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    rtol = rcond if rtol is None else rtol
    if not hermitian:
        return fc.linalg.pinv(a, rtol)
    return _hermitian_pinv(a, rtol)


@function("a rtol")
def _hermitian_pinv(a, rtol):
    u, s, vh = _hermitian_svd(a)
    rtol = 10 * max(a.shape[-2:]) * float(fc.finfo(s.dtype).eps) if rtol is None else as_array(rtol)[..., None]
    keep = s > rtol * s[..., :1]
    inverse = fc.where(keep, 1 / fc.where(keep, s, fc.ones_like(s)), fc.zeros_like(s)).astype(u.dtype)
    return fc.conj(fc.matrix_transpose(vh)) @ (inverse[..., None] * fc.conj(fc.matrix_transpose(u)))


@function("x")
def cond(x, p=None):
    """The condition numbers of matrices: the norm p of x times that of its inverse (None: the 2-norm).

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.cond(jnp.asarray([[2., 0.], [0., 1.]]))
    Array(2., dtype=float32)
    """
    x = floats(x)
    if x.ndim < 2:
        raise ValueError(f"cond takes matrices [..., m, n], got {x.aval}")
    if p in (None, 2, -2):
        s = fc.linalg.svdvals(x)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    both = fc.linalg.norm(x, p, (-2, -1)) * fc.linalg.norm(fc.linalg.inv(x), p, (-2, -1))
    lost = fc.any(fc.isnan(x), axis=(-2, -1))
    return fc.where(fc.isnan(both) & ~lost, fc.full_like(both, float("inf")), both)


@explaining
def multi_dot(arrays, *, precision=None):
    """The product of several matrices (vectors first and last), in the cheapest order.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
    Array([12., 12.], dtype=float32)
    """
    arrays = [as_array(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot takes at least two arrays, got {len(arrays)}")
    letters = "abcdefghijklmnopqrstuvwxyz"
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    names = [letters[i] + letters[i + 1] for i in range(len(arrays))]
    names[0] = names[0][1] if first else names[0]
    names[-1] = names[-1][0] if last else names[-1]
    out = ("" if first else "a") + ("" if last else letters[len(arrays)])
    return fc.einsum(f"{','.join(names)}->{out}", *arrays, optimize="optimal")


@function("a")
def tensorinv(a, ind=2):
    """The inverse of a seen as a matrix of its first `ind` and its other dimensions.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.reshape(jnp.eye(4), (2, 2, 2, 2))).shape
    (2, 2, 2, 2)
    """
    a, ind = as_array(a), operator.index(ind)
    if ind < 1:
        raise ValueError(f"tensorinv: ind is at least 1, got {ind}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    n = int(np.prod(rows, dtype=np.int64))
    return fc.reshape(fc.linalg.inv(fc.reshape(a, (n, -1))), columns + rows)


@function("a b")
def tensorsolve(a, b, axes=None):
    """The x with tensordot(a, x, x.ndim) = b; `axes` of a are moved to its end first.

    >>> import functorch_core.numpy as jnp
    >>> jnp.linalg.tensorsolve(jnp.reshape(jnp.eye(4), (2, 2, 2, 2)), jnp.ones((2, 2)))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    a, b = as_array(a), as_array(b)
    if axes is not None:
        axes = [d % a.ndim for d in axes]
        a = fc.permute_dims(a, (*[d for d in range(a.ndim) if d not in axes], *axes))
    shape = a.shape[b.ndim :]
    n = int(np.prod(shape, dtype=np.int64))
    if n != b.size:
        raise ValueError(f"tensorsolve: {a.aval} is no square matrix for {b.aval}: {n} unknowns, {b.size} equations")
    return fc.reshape(fc.linalg.solve(fc.reshape(a, (b.size, n)), fc.ravel(b)), shape)


__getattr__ = missing_name("numpy.linalg", {"LinAlgError": "Singular matrices give inf and NaN, no error."})

__all__ = [
    "EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cond", "cross", "det",
    "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip
