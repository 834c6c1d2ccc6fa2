"""fc.linalg: factorisations, solving, norms, for stacks of matrices in the last two dimensions."""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from .elementwise import check, like
from .host import host_array
from .linear_algebra import matrix_product, products
from .manipulation import matrix_transpose
from .op import op
from .promotion import broadcast_shapes, broadcast_to, canonical_axes, canonical_axis, cast
from .statistics import keep, to_floats

SQUARE = """{name} takes square matrices [..., n, n], got {aval}"""
DECOMPOSED = frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128})


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors, the columns."""

    eigenvalues: object
    eigenvectors: object


class EigResult(NamedTuple):
    """Complex eigenvalues and eigenvectors, the columns."""

    eigenvalues: object
    eigenvectors: object


class QRResult(NamedTuple):
    """Q with orthonormal columns and the upper triangular R."""

    Q: object
    R: object


class SlogdetResult(NamedTuple):
    """The sign of the determinant and the logarithm of its absolute value."""

    sign: object
    logabsdet: object


class SVDResult(NamedTuple):
    """Left singular vectors, singular values (descending), right singular vectors as rows."""

    U: object
    S: object
    Vh: object


def matrices(x, name: str, square: bool = False):
    """x as float32, float64, complex64 or complex128 matrices; ValueError, TypeError otherwise."""
    x = to_floats(x)
    a = aval_of(x)
    check(name, x, DECOMPOSED)
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        wanted = SQUARE if square else "{name} takes matrices [..., m, n], got {aval}"
        raise ValueError(wanted.format(name=name, aval=a))
    return x


def _adjoint(x):
    x = matrix_transpose.fun(x)
    return p.conj(x) if aval_of(x).dtype in dt.COMPLEX else x


# ---- factorisations ------------------------------------------------------------------------------


@op
def cholesky(x, /, *, upper=False):
    """The lower triangular L with L L^H = x (upper: U with U^H U = x), for positive definite x.

    NaN where a matrix is not positive definite. ValueError unless x is [..., n, n].

    >>> import functorch_core as fc
    >>> fc.linalg.cholesky(fc.asarray([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    out = p.cholesky(matrices(x, "cholesky", square=True))
    return _adjoint(out) if upper else out


@op
def _qr(x, /, *, mode):
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is 'reduced' or 'complete', got {mode!r}")
    return p.qr(matrices(x, "qr"), full_matrices=mode == "complete")


def qr(x, /, *, mode="reduced"):
    """x = Q R: orthonormal columns, upper triangular. QRResult(Q, R).

    Q is [..., m, k], k = min(m, n) for mode 'reduced' and m for 'complete'.

    >>> import functorch_core as fc
    >>> fc.linalg.qr(fc.ones((3, 2))).R.shape
    (2, 2)
    """
    return QRResult(*_qr(x, mode=mode))


@op
def _svd(x, /, *, full_matrices):
    return p.svd(matrices(x, "svd"), full_matrices=bool(full_matrices))


def svd(x, /, *, full_matrices=True):
    """x = U diag(S) Vh with S descending. SVDResult(U, S, Vh).

    U is [..., m, m] and Vh [..., n, n]; [..., m, k] and [..., k, n] unless full_matrices.

    >>> import functorch_core as fc
    >>> fc.linalg.svd(fc.ones((3, 2)), full_matrices=False).U.shape
    (3, 2)
    """
    return SVDResult(*_svd(x, full_matrices=full_matrices))


@op
def svdvals(x, /):
    """The singular values, descending, [..., min(m, n)].

    >>> import functorch_core as fc
    >>> fc.linalg.svdvals(fc.asarray([[3., 0.], [0., 4.]]))
    Array([4., 3.], dtype=float32)
    """
    return p.svd(matrices(x, "svdvals"), compute_uv=False)


@op
def _eigh(x, /, *, lower):
    return p.eigh(matrices(x, "eigh", square=True), lower=lower)


def eigh(x, /, *, UPLO="L"):
    """Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices. EighResult.

    Only the triangle UPLO ('L' or 'U') is read.

    >>> import functorch_core as fc
    >>> fc.linalg.eigh(fc.asarray([[2., 0.], [0., 1.]])).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    return EighResult(*_eigh(x, lower=_is_lower(UPLO)))


def _is_lower(uplo: str) -> bool:
    if uplo not in ("L", "U"):
        raise ValueError(f"UPLO is 'L' or 'U', got {uplo!r}")
    return uplo == "L"


@op
def eigvalsh(x, /, *, UPLO="L"):
    """The eigenvalues, ascending, of Hermitian matrices: see eigh.

    >>> import functorch_core as fc
    >>> fc.linalg.eigvalsh(fc.asarray([[2., 0.], [0., 1.]]))
    Array([1., 2.], dtype=float32)
    """
    return p.eigvalsh(matrices(x, "eigvalsh", square=True), lower=_is_lower(UPLO))


@op
def _eig(x, /):
    return p.eig(matrices(x, "eig", square=True))


def eig(x, /):
    """Complex eigenvalues and eigenvectors (columns of norm 1) of square matrices. EigResult.

    >>> import functorch_core as fc
    >>> fc.linalg.eig(fc.asarray([[0., 1.], [0., 2.]])).eigenvalues
    Array([0.+0.j, 2.+0.j], dtype=complex64)
    """
    return EigResult(*_eig(x))


@op
def eigvals(x, /):
    """The complex eigenvalues of square matrices: see eig.

    >>> import functorch_core as fc
    >>> fc.linalg.eigvals(fc.asarray([[0., 1.], [0., 2.]]))
    Array([0.+0.j, 2.+0.j], dtype=complex64)
    """
    return p.eigvals(matrices(x, "eigvals", square=True))


# ---- solving -------------------------------------------------------------------------------------


def _stacked(x, y, name: str, square: bool):
    """Matrices and right sides [..., m, k] of one dtype with equal leading dimensions."""
    x, y = products(name, x, y)
    x, y = matrices(x, name, square), to_floats(y)
    vector = aval_of(y).ndim == 1
    if vector:
        y = p.expand_dims(y, dims=(1,))
    a, b = aval_of(x), aval_of(y)
    if a.shape[-2] != b.shape[-2]:
        raise ValueError(
            f"{name}: {a} has {a.shape[-2]} rows, the right side {b} has {b.shape[-2]}; they must be equal"
        )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2], name=name)
    return (broadcast_to(x, lead + a.shape[-2:]), broadcast_to(y, lead + b.shape[-2:]), vector)


def _unstacked(out, vector: bool):
    return p.squeeze(out, dims=(aval_of(out).ndim - 1,)) if vector else out


@op
def solve(x1, x2, /):
    """The y with x1 y = x2, for square matrices x1 and x2 [..., n, k] or a vector [n].

    inf or NaN where a matrix is singular. ValueError if the sizes do not fit.

    >>> import functorch_core as fc
    >>> fc.linalg.solve(fc.asarray([[2., 0.], [0., 4.]]), fc.asarray([2., 2.]))
    Array([1. , 0.5], dtype=float32)
    """
    x1, x2, vector = _stacked(x1, x2, "solve", square=True)
    return _unstacked(p.solve(x1, x2), vector)


@op
def solve_triangular(x1, x2, /, *, lower=False, trans=0, unit_diagonal=False):
    """The y with x1 y = x2 for triangular x1, of which only the named triangle is read.

    trans: 0 for x1, 1 for its transpose, 2 for its conjugate transpose.

    >>> import functorch_core as fc
    >>> fc.linalg.solve_triangular(fc.asarray([[2., 1.], [0., 4.]]), fc.asarray([4., 4.]))
    Array([1.5, 1. ], dtype=float32)
    """
    x1, x2, vector = _stacked(x1, x2, "solve_triangular", square=True)
    out = p.triangular_solve(
        x1, x2, lower=lower, transpose_a=trans in (1, 2), conjugate_a=trans == 2, unit_diagonal=unit_diagonal
    )
    return _unstacked(out, vector)


class LstsqResult(NamedTuple):
    """What lstsq gives; the residuals are squared norms, one for each column."""

    solution: object
    residuals: object
    rank: object
    singular_values: object


def lstsq(x1, x2, /, rcond=None, *, numpy_resid=False):
    """(y, residuals, rank, singular values) for the y of least norm that minimises |x1 y - x2|.

    Singular values below rcond times the greatest count as 0; rcond is max(m, n) times the dtype's
    epsilon by default. numpy_resid: residuals are empty, as NumPy's, unless m > n = rank.

    >>> import functorch_core as fc
    >>> fc.linalg.lstsq(fc.asarray([[2.], [0.]]), fc.asarray([4., 1.])).solution
    Array([2.], dtype=float32)
    """
    found = LstsqResult(*_lstsq(x1, x2, rcond=rcond))
    if not numpy_resid:
        return found
    m, n = aval_of(x1).shape[-2:]
    rank = host_array(found.rank, "lstsq(numpy_resid=True)", "Leave numpy_resid out")
    return found if m > n == rank else found._replace(residuals=_no_residuals(found.residuals))


@op
def _no_residuals(x, /):
    return p.full((0,), 0, aval_of(x).dtype)


@op
def _lstsq(x1, x2, /, *, rcond):
    x1, x2, vector = _stacked(x1, x2, "lstsq", square=False)
    a, real = aval_of(x1), dt.real_of(aval_of(x1).dtype)
    lead = a.shape[:-2]
    if not min(a.shape[-2:]):
        y = p.full((*lead, a.shape[-1], aval_of(x2).shape[-1]), 0, a.dtype)
        s, rank = p.full((*lead, 0), 0, real), p.full(lead, 0, dt.int64)
    else:
        u, s, vh = p.svd(x1, full_matrices=False)
        kept = _above(s, rcond, a)
        inverse = p.select(kept, p.div(1, p.select(kept, s, like(s, 1))), like(s, 0))
        rank = p.reduce_sum(p.convert(kept, dtype=dt.int64), axes=(len(lead),))
        u, v = (_adjoint(q) for q in (u, vh))
        scaled = p.mul(
            matrix_product(u, x2, "lstsq"),
            p.broadcast_in_dim(
                p.convert(inverse, dtype=a.dtype),
                dims=tuple(range(len(lead) + 1)),
                shape=(*aval_of(s).shape, aval_of(x2).shape[-1]),
            ),
        )
        y = matrix_product(v, scaled, "lstsq")
    off = p.abs(p.sub(x2, matrix_product(x1, y, "lstsq")))
    residuals = p.reduce_sum(p.mul(off, off), axes=(len(lead),))
    return [_unstacked(y, vector), residuals, rank, s]


def _adjoint(x):
    """The conjugate transposes of matrices."""
    x = matrix_transpose.fun(x)
    return p.conj(x) if aval_of(x).dtype in dt.COMPLEX else x


@op
def inv(x, /):
    """The inverses of square matrices; inf or NaN where they are singular.

    >>> import functorch_core as fc
    >>> fc.linalg.inv(fc.asarray([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return p.inv(matrices(x, "inv", square=True))


@op
def det(x, /):
    """The determinants of square matrices.

    >>> import functorch_core as fc
    >>> fc.linalg.det(fc.asarray([[2., 1.], [0., 4.]]))
    Array(8., dtype=float32)
    """
    return p.det(matrices(x, "det", square=True))


@op
def _slogdet(x, /):
    return p.slogdet(matrices(x, "slogdet", square=True))


def slogdet(x, /):
    """The sign of the determinant and the logarithm of its size. SlogdetResult(sign, logabsdet).

    >>> import functorch_core as fc
    >>> fc.linalg.slogdet(fc.asarray([[2., 1.], [0., 4.]])).sign
    Array(1., dtype=float32)
    """
    return SlogdetResult(*_slogdet(x))


@op(arrays=("rtol",))
def pinv(x, /, rtol=None):
    """The pseudo-inverses, [..., n, m]; singular values below rtol of the greatest count as 0.

    rtol (a number, or one a matrix) is max(m, n) times the dtype's epsilon by default.

    >>> import functorch_core as fc
    >>> fc.linalg.pinv(fc.asarray([[2., 0.], [0., 0.]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    x = matrices(x, "pinv")
    a = aval_of(x)
    if not a.size:
        return matrix_transpose.fun(x)
    u, s, vh = p.svd(x, full_matrices=False)
    big = _above(s, rtol, a)
    safe = p.select(big, s, like(s, 1))
    inverse = p.select(big, p.div(1, safe), like(s, 0))
    scaled = p.mul(_adjoint(vh), _columns(p.convert(inverse, dtype=a.dtype), aval_of(vh).shape))
    return matrix_product(scaled, _adjoint(u), "pinv")


def _columns(s, shape):
    """Numbers [..., k] along the columns of the adjoint of [..., k, n]."""
    shape = (*shape[:-2], shape[-1], shape[-2])
    return p.broadcast_in_dim(s, shape=shape, dims=(*range(len(shape) - 2), len(shape) - 1))


def _above(s, rtol, a):
    """Which singular values count: those above rtol times the greatest."""
    dtype = aval_of(s).dtype
    if rtol is None:
        rtol = p.full(aval_of(s).shape[:-1], max(a.shape[-2:]) * float(dt.finfo(dtype).eps), dtype)
    else:
        rtol = broadcast_to(cast(rtol, dtype), aval_of(s).shape[:-1])
    top = p.reduce_max(s, axes=(aval_of(s).ndim - 1,))
    limit = p.mul(top, rtol)
    return p.gt(s, p.broadcast_in_dim(limit, shape=aval_of(s).shape, dims=tuple(range(aval_of(limit).ndim))))


@op(arrays=("rtol",))
def matrix_rank(x, /, rtol=None):
    """The number of singular values above rtol of the greatest, an int64: see pinv.

    >>> import functorch_core as fc
    >>> fc.linalg.matrix_rank(fc.ones((3, 3)))
    Array(1, dtype=int64)
    """
    x = matrices(x, "matrix_rank")
    a = aval_of(x)
    if not min(a.shape[-2:]):
        return p.full(a.shape[:-2], 0, dt.int64)
    s = p.svd(x, compute_uv=False)
    return p.reduce_sum(p.convert(_above(s, rtol, a), dtype=dt.int64), axes=(aval_of(s).ndim - 1,))


def matrix_power(x, n, /):
    """Square matrices to the integer power n, by repeated squaring; the inverse's if negative.

    >>> import functorch_core as fc
    >>> fc.linalg.matrix_power(fc.asarray([[1., 1.], [0., 1.]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float32)
    """
    return _matrix_power(x, n=n.__index__())


@op
def _matrix_power(x, /, *, n):
    a = aval_of(x)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(SQUARE.format(name="matrix_power", aval=a))
    if n == 0:
        from .creation import eye

        one = eye.fun(n_rows=a.shape[-1], dtype=a.dtype)
        return broadcast_to(one, a.shape)
    if n < 0:
        x, n = p.inv(matrices(x, "matrix_power", square=True)), -n
    out = None
    while n:
        if n & 1:
            out = x if out is None else matrix_product(out, x, "matrix_power")
        n >>= 1
        if n:
            x = matrix_product(x, x, "matrix_power")
    return out


# ---- norms ---------------------------------------------------------------------------------------


@op
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The ord-norm over `axis` (several, or None for all): (sum |x|**ord)**(1/ord).

    ord may be inf, -inf (the extremes of |x|) and 0 (the number of elements that are not 0).

    >>> import functorch_core as fc
    >>> fc.linalg.vector_norm(fc.asarray([3., 4.]))
    Array(5., dtype=float32)
    """
    x = to_floats(x)
    ndim = aval_of(x).ndim
    axes = canonical_axes(axis, ndim, "vector_norm") if ndim else ()
    return keep(_vector_norm(x, axes, ord), x, axes, keepdims)


def _vector_norm(x, axes, order):
    size = p.abs(x)
    if order == 2:
        square = p.mul(size, size)
        if aval_of(x).dtype in dt.COMPLEX:
            re, im = p.real(x), p.imag(x)
            square = p.add(p.mul(re, re), p.mul(im, im))
        return p.sqrt(p.reduce_sum(square, axes=axes))
    if order == math.inf:
        return p.reduce_max(size, axes=axes)
    if order == -math.inf:
        return p.reduce_min(size, axes=axes)
    if order == 0:
        return p.reduce_sum(p.convert(p.ne(size, 0), dtype=aval_of(size).dtype), axes=axes)
    if order == 1:
        return p.reduce_sum(size, axes=axes)
    return p.pow(p.reduce_sum(p.pow(size, float(order)), axes=axes), 1.0 / order)


@op
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices in the last two dimensions: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> import functorch_core as fc
    >>> fc.linalg.matrix_norm(fc.asarray([[3., 0.], [0., 4.]]))
    Array(5., dtype=float32)
    """
    x = to_floats(x)
    a = aval_of(x)
    if a.ndim < 2:
        raise ValueError(f"matrix_norm takes matrices [..., m, n], got {a}")
    last = (a.ndim - 2, a.ndim - 1)
    return keep(_matrix_norm(x, last, ord), x, last, keepdims)


def _matrix_norm(x, last, order):
    if order == "fro":
        return _vector_norm(x, last, 2)
    if order in ("nuc", 2, -2):
        s = p.svd(matrices(x, "matrix_norm"), compute_uv=False)
        reduce = {"nuc": p.reduce_sum, 2: p.reduce_max, -2: p.reduce_min}[order]
        return reduce(s, axes=(aval_of(s).ndim - 1,))
    if order not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {order!r}")
    summed = last[0] if abs(order) == 1 else last[1]
    sums = p.reduce_sum(p.abs(x), axes=(summed,))
    reduce = p.reduce_max if order > 0 else p.reduce_min
    return reduce(sums, axes=(last[0],))


@op
def norm(x, /, ord=None, *, axis=None, keepdims=False):
    """NumPy's norm: of vectors along one axis, of matrices along two; all elements by default.

    >>> import functorch_core as fc
    >>> fc.linalg.norm(fc.asarray([3., 4.]))
    Array(5., dtype=float32)
    """
    x = to_floats(x)
    a = aval_of(x)
    if axis is None and (ord is None or a.ndim == 1):
        axes = tuple(range(a.ndim))
        return keep(_vector_norm(x, axes, 2 if ord is None else ord), x, axes, keepdims)
    axes = tuple(range(a.ndim)) if axis is None else ((axis,) if hasattr(axis, "__index__") else tuple(axis))
    axes = tuple(canonical_axis(d, a.ndim, "norm") for d in axes)
    if len(axes) == 1:
        return keep(_vector_norm(x, axes, 2 if ord is None else ord), x, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: ord={ord!r} is for one axis (vectors) or two (matrices), got {axes}")
    kept = [d for d in range(a.ndim) if d not in axes]
    moved = p.transpose(x, permutation=(*kept, *axes))
    last = (a.ndim - 2, a.ndim - 1)
    return keep(_matrix_norm(moved, last, "fro" if ord is None else ord), x, axes, keepdims)
