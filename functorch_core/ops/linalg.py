"""fc.linalg: factorisations, solving, norms, for stacks of matrices in the last two dimensions."""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import matrices as kernels
from ..kernels.subgradients import vector_norm as vector_norm_of
from ..kernels.values import full_like as like
from ..kernels.values import kept
from ..primitives import linalg_matrices as m
from .declaring import check
from .host import host_array
from .linear_algebra import products
from .manipulation import matrix_transpose
from .op import op
from .places import exposed
from .promotion import broadcast_shapes, broadcast_to, canonical_axes, canonical_axis, cast, in_one_dtype
from .statistics import to_floats

SQUARE = """{name} takes square matrices [..., n, n], got {aval}"""
DECOMPOSED = frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128})


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors, the columns.

    >>> values, vectors = fc.linalg.eigh(fc.asarray([[2.0, 1.0], [1.0, 2.0]]))
    >>> values
    Array([1., 3.], dtype=float32)
    """

    eigenvalues: object
    eigenvectors: object


class EigResult(NamedTuple):
    """Complex eigenvalues and eigenvectors, the columns.

    >>> result = fc.linalg.eig(fc.asarray([[2.0, 0.0], [0.0, 3.0]]))
    >>> result.eigenvalues.real
    Array([2., 3.], dtype=float32)
    """

    eigenvalues: object
    eigenvectors: object


class QRResult(NamedTuple):
    """Q with orthonormal columns and the upper triangular R.

    >>> fc.linalg.qr(fc.eye(2)).Q.shape
    (2, 2)
    """

    Q: object
    R: object


class SlogdetResult(NamedTuple):
    """The sign of the determinant and the logarithm of its absolute value.

    >>> sign, log = fc.linalg.slogdet(fc.asarray([[2.0, 0.0], [0.0, -3.0]]))
    >>> sign
    Array(-1., dtype=float32)
    """

    sign: object
    logabsdet: object


class SVDResult(NamedTuple):
    """Left singular vectors, singular values (descending), right singular vectors as rows.

    >>> fc.linalg.svd(fc.asarray([[3.0, 0.0], [0.0, 2.0]])).S
    Array([3., 2.], dtype=float32)
    """

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


# ---- factorisations ------------------------------------------------------------------------------


@op("fc.linalg")
def cholesky(x, /, *, upper=False):
    """The lower triangular L with L L^H = x (upper: U with U^H U = x), for positive definite x.

    NaN where a matrix is not positive definite. ValueError unless x is [..., n, n].

    >>> import functorch_core as fc
    >>> fc.linalg.cholesky(fc.asarray([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    out = p.cholesky(matrices(x, "cholesky", square=True))
    return m.adjoint(out) if upper else out


@op
def _qr(x, /, *, mode):
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is 'reduced' or 'complete', got {mode!r}")
    return p.qr(matrices(x, "qr"), full_matrices=mode == "complete")


@exposed("fc.linalg")
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


@exposed("fc.linalg")
def svd(x, /, *, full_matrices=True):
    """x = U diag(S) Vh with S descending. SVDResult(U, S, Vh).

    U is [..., m, m] and Vh [..., n, n]; [..., m, k] and [..., k, n] unless full_matrices.

    >>> import functorch_core as fc
    >>> fc.linalg.svd(fc.ones((3, 2)), full_matrices=False).U.shape
    (3, 2)
    """
    return SVDResult(*_svd(x, full_matrices=full_matrices))


@op("fc.linalg")
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


@exposed("fc.linalg")
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


@op("fc.linalg")
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


@exposed("fc.linalg", names="a")
def eig(x, /):
    """Complex eigenvalues and eigenvectors (columns of norm 1) of square matrices. EigResult.

    >>> import functorch_core as fc
    >>> fc.linalg.eig(fc.asarray([[0., 1.], [0., 2.]])).eigenvalues
    Array([0.+0.j, 2.+0.j], dtype=complex64)
    """
    return EigResult(*_eig(x))


@op("fc.linalg", names="a")
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
    x, y = in_one_dtype(x, y)
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


@op("fc.linalg")
def solve(x1, x2, /):
    """The y with x1 y = x2, for square matrices x1 and x2 [..., n, k] or a vector [n].

    inf or NaN where a matrix is singular. ValueError if the sizes do not fit.

    >>> import functorch_core as fc
    >>> fc.linalg.solve(fc.asarray([[2., 0.], [0., 4.]]), fc.asarray([2., 2.]))
    Array([1. , 0.5], dtype=float32)
    """
    x1, x2, vector = _stacked(x1, x2, "solve", square=True)
    return _unstacked(p.solve(x1, x2), vector)


@op("fc.linalg")
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


@exposed("fc.linalg", names="a b")
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
        limits = _tolerances(rcond, a)
        above, rank = kernels.above(s, *limits), kernels.rank(s, *limits)
        inverse = p.select(above, p.div(1, p.select(above, s, like(s, 1))), like(s, 0))
        y = kernels.product(m.adjoint(vh), m.scale_rows(inverse, kernels.product(m.adjoint(u), x2)))
    off = p.abs(p.sub(x2, kernels.product(x1, y)))
    residuals = p.reduce_sum(p.mul(off, off), axes=(len(lead),))
    return [_unstacked(y, vector), residuals, rank, s]


@op("fc.linalg")
def inv(x, /):
    """The inverses of square matrices; inf or NaN where they are singular.

    >>> import functorch_core as fc
    >>> fc.linalg.inv(fc.asarray([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return p.inv(matrices(x, "inv", square=True))


@op("fc.linalg")
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


@exposed("fc.linalg")
def slogdet(x, /):
    """The sign of the determinant and the logarithm of its size. SlogdetResult(sign, logabsdet).

    >>> import functorch_core as fc
    >>> fc.linalg.slogdet(fc.asarray([[2., 1.], [0., 4.]])).sign
    Array(1., dtype=float32)
    """
    return SlogdetResult(*_slogdet(x))


@op("fc.linalg", arrays=("rtol",))
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
    return kernels.pinv(x, *_tolerances(rtol, a))


def _tolerances(rtol, a):
    """(0, rtol) for each matrix of a, by default its larger size times epsilon."""
    real = dt.real_of(a.dtype)
    if rtol is None:
        rtol = max(a.shape[-2:]) * float(dt.finfo(real).eps)
    return p.full(a.shape[:-2], 0, real), broadcast_to(cast(rtol, real), a.shape[:-2])


@op("fc.linalg", arrays=("rtol",))
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
    return kernels.rank(p.svd(x, compute_uv=False), *_tolerances(rtol, a))


@exposed("fc.linalg")
def matrix_power(x, n, /):
    """Square matrices to the integer power n, by repeated squaring; the inverse's if negative.

    >>> import functorch_core as fc
    >>> fc.linalg.matrix_power(fc.asarray([[1., 1.], [0., 1.]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float32)
    """
    if not hasattr(n, "__index__"):
        raise TypeError(f"matrix_power takes an integer exponent, got {n!r}")
    return _matrix_power(x, n=n.__index__())


@op
def _matrix_power(x, /, *, n):
    a = aval_of(x)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(SQUARE.format(name="matrix_power", aval=a))
    if n == 0:
        return m.identity(shape=a.shape, dtype=a.dtype)
    x = p.inv(matrices(x, "matrix_power", square=True)) if n < 0 else x
    return kernels.powered(x, abs(n), products(kernels.product))


# ---- norms ---------------------------------------------------------------------------------------


@op("fc.linalg")
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
    return kept(vector_norm_of(x, ord, axes), x, axes, keepdims)


@op("fc.linalg")
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
    return kept(_matrix_norm(x, ord), x, last, keepdims)


def _matrix_norm(x, order):
    if order not in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ValueError(f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {order!r}")
    return kernels.matrix_norm(matrices(x, "matrix_norm") if order in ("nuc", 2, -2) else x, order)


@op("fc.linalg", names="x")
def norm(x, /, ord=None, axis=None, keepdims=False):
    """NumPy's norm: of vectors along one axis, of matrices along two; all elements by default.

    >>> import functorch_core as fc
    >>> fc.linalg.norm(fc.asarray([3., 4.]))
    Array(5., dtype=float32)
    """
    x = to_floats(x)
    a = aval_of(x)
    if axis is None and (ord is None or a.ndim == 1):
        axes = tuple(range(a.ndim))
        return kept(vector_norm_of(x, 2 if ord is None else ord, axes), x, axes, keepdims)
    axes = tuple(range(a.ndim)) if axis is None else ((axis,) if hasattr(axis, "__index__") else tuple(axis))
    axes = tuple(canonical_axis(d, a.ndim, "norm") for d in axes)
    if len(axes) == 1:
        return kept(vector_norm_of(x, 2 if ord is None else ord, axes), x, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: ord={ord!r} is for one axis (vectors) or two (matrices), got {axes}")
    rest = [d for d in range(a.ndim) if d not in axes]
    moved = p.transpose(x, permutation=(*rest, *axes))
    return kept(_matrix_norm(moved, "fro" if ord is None else ord), x, axes, keepdims)


__all__ = [  # what it has in fc.linalg, for static tools
    "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_norm", "matrix_power",
    "matrix_rank", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "vector_norm",
]  # fmt: skip
