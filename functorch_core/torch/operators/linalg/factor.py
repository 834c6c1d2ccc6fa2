"""Factorisations: Cholesky, LU, QR, eigenvalues, singular values."""

from __future__ import annotations

from ....core.trace import run, trace_closed
from ....core.warn import warn_once
from ....kernels.matrices import filled, singular_values
from ....primitives import linalg_matrices as m
from ....transforms.custom import JvpRule, custom_jvp
from ....transforms.jvp import jvp
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.traits import EXACT, Out, castable, takes_out
from ...tape.meta import is_readable
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...views.memory_order import with_strides
from ...views.strides import contiguous_strides
from .. import return_types as named
from ..values import aval_of, dt, full_like, iota_along, np, p, stop_gradient, tied
from .checks import check_info, matrices, require_inexact, require_matrices_of_numbers

# ---- Cholesky ------------------------------------------------------------------------------------


def _order_that_failed(factor):
    """The order of the first leading minor that is not positive definite, for each matrix, 0 if all are: int32.

    The diagonal of the lower factor is NaN from there on: of n elements the last counts n, each before it -1."""
    found = m.diagonal(p.real(factor) if aval_of(factor).dtype in dt.COMPLEX else factor)
    a = aval_of(found)
    n = a.shape[-1]
    each = np.append(np.full(max(n - 1, 0), -1), n)[:n].astype(np.int32)
    each = p.broadcast_in_dim(each, shape=a.shape, dims=(a.ndim - 1,))
    return p.reduce_sum(p.select(p.ne(found, found), each, p.zeros(aval_of(each))), axes=(a.ndim - 1,))


@torch_op(
    name="linalg_cholesky_ex",
    method=False,
    function=False,
    returns=named.linalg_cholesky_ex,
    node="linalg_cholesky_ex",
    autocast={"cpu": "full"},
)
def _cholesky_ex(input: Tensor, upper):
    x = matrices(input, "linalg.cholesky", square=True)
    lower = p.cholesky(m.adjoint(x) if upper else x, minor=True)
    return [m.adjoint(lower) if upper else lower, _order_that_failed(stop_gradient(lower))]


@overridable
def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """cholesky, and for each matrix 0, or the order of its first leading minor that is not positive definite.

    The factor of the minors before that one is there; behind it is NaN.

    >>> torch.linalg.cholesky_ex(torch.tensor([[4., 2.], [2., 5.]])).info
    tensor(0, dtype=torch.int32)
    """
    result = _cholesky_ex(A, upper)
    if check_errors:
        check_info("linalg.cholesky", result.info, NOT_POSITIVE)
    return write_out("linalg_cholesky_ex", out, result)


NOT_POSITIVE = (
    "The factorization could not be completed because the input is not "
    "positive-definite "
    "(the leading minor of order {info} is not positive-definite)."
)


@takes_out("linalg_cholesky", Out(EXACT))
@overridable
def cholesky(A, *, upper=False, out=None):
    """L with L L^H = A for Hermitian positive definite matrices; LinAlgError for others.

    >>> torch.linalg.cholesky(torch.tensor([[4.]]))
    tensor([[2.]])
    """
    result, info = _cholesky_ex(A, upper)
    check_info("linalg.cholesky", info, NOT_POSITIVE)
    return write_out("linalg_cholesky", out, result)


OLD_CHOLESKY = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
    "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
)


@composite(name="cholesky", out=Out(lower=castable("cholesky")), autocast={"cpu": "full"}, node="CholeskyBackward0")
def torch_cholesky(input, upper=False, *, out=None):
    """linalg.cholesky under its old name.

    >>> torch.cholesky(torch.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        require_inexact("torch.cholesky", input._read())
    warn_once(OLD_CHOLESKY, key=f"cholesky {out is None}")  # as each of PyTorch's two functions
    return write_out("cholesky", out, cholesky(input, upper=upper))


@torch_op(autocast={"cpu": "full"})
def cholesky_inverse(input: Tensor, upper=False, *, out=None):
    """The inverse of L L^H (of U^H U if upper), given the factor.

    >>> torch.cholesky_inverse(torch.tensor([[2.]]))
    tensor([[0.2500]])
    """
    x = matrices(input, "cholesky_inverse", square=True)
    if not aval_of(x).size:
        return x
    eye = m.identity(shape=aval_of(x).shape, dtype=aval_of(x).dtype)
    return _by_cholesky(x, eye, upper)


def _by_cholesky(factor, b, upper: bool):
    """x with L L^H x = b."""
    lower = not upper
    first = p.triangular_solve(factor, b, lower=lower, transpose_a=upper, conjugate_a=upper)
    return p.triangular_solve(factor, first, lower=lower, transpose_a=lower, conjugate_a=lower)


@torch_op(out=Out(lower=castable("cholesky_solve")), autocast={"cpu": "full"})
def cholesky_solve(input: Tensor, L: Tensor, upper=False, *, out=None):
    """X with A X = input, from A's Cholesky factor L.

    >>> torch.cholesky_solve(torch.tensor([[4.]]), torch.tensor([[2.]]))
    tensor([[1.]])
    """
    for name, x in (("b", input), ("u", L)):
        if aval_of(x).ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {aval_of(x).ndim} dimensions instead"
            )
    from .solve import stacked_together

    factor, b = stacked_together("cholesky_solve", L, input)
    return _by_cholesky(factor, b, upper) if aval_of(b).size else tied(b, factor)


# ---- LU ------------------------------------------------------------------------------------------


def singular_info(factors):
    """For each matrix the number (from 1) of the first zero on U's diagonal, or 0: int32."""
    d = m.diagonal(stop_gradient(factors))
    a = aval_of(d)
    last = a.ndim - 1
    n = a.shape[last]
    zero = p.eq(d, full_like(d, 0))
    place = p.select(zero, iota_along(a.shape, last, dt.int32), p.full(a.shape, n, dt.int32))
    if not n:
        return p.full(a.shape[:-1], 0, dt.int32)
    first = p.reduce_min(place, axes=(last,))
    return p.select(p.eq(first, full_like(first, n)), full_like(first, 0), p.add(first, 1))


def lu_of(x, pivot: bool):
    """[factors, pivots from 1, permutation] of a value."""
    if not pivot:
        raise NotImplementedError("LU without pivoting is not implemented on the CPU")
    a = aval_of(x)
    if not a.size:
        k = min(a.shape[-2:])
        return [
            x,
            p.full((*a.shape[:-2], k), 0, dt.int32),
            p.iota(shape=(*a.shape[:-2], a.shape[-2]), dtype=dt.int32, dimension=a.ndim - 2),
        ]
    factors, pivots, permutation = p.lu(x)
    return [factors, p.add(pivots, 1), permutation]


@torch_op(name="linalg_lu_factor_ex", method=False, function=False, returns=named.linalg_lu_factor_ex)
def _lu_factor_ex(input: Tensor, pivot):
    x = matrices(input, "torch.linalg.lu_factor_ex")
    factors, pivots, _ = lu_of(x, pivot)
    return [factors, pivots, singular_info(factors)]


@overridable
def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """lu_factor, and for each matrix the first zero on U's diagonal (from 1), or 0.

    >>> torch.linalg.lu_factor_ex(torch.tensor([[1., 2.], [4., 4.]])).info
    tensor(0, dtype=torch.int32)
    """
    result = _lu_factor_ex(A, pivot)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", result.info, ZERO_PIVOT)
    return write_out("linalg_lu_factor_ex", out, result)


ZERO_PIVOT = (
    "U[{info},{info}] is zero and using it on lu_solve would result in a division by "
    "zero. "
    "If you still want to perform the factorization, consider calling linalg.lu(A, "
    "pivot) or "
    "linalg.lu_factor_ex(A, pivot)"
)


@takes_out("linalg_lu_factor", Out(EXACT))
@overridable
def lu_factor(A, *, pivot=True, out=None):
    """(L and U packed in one matrix, the pivots); LinAlgError where U is singular.

    >>> torch.linalg.lu_factor(torch.tensor([[2., 1.], [4., 3.]]))
    torch.return_types.linalg_lu_factor(
    LU=tensor([[ 4.0000,  3.0000],
            [ 0.5000, -0.5000]]),
    pivots=tensor([2, 2], dtype=torch.int32))
    """
    factors, pivots, info = _lu_factor_ex(A, pivot)
    check_info("torch.linalg.lu_factor", info, ZERO_PIVOT)
    return write_out("linalg_lu_factor", out, named.linalg_lu_factor(factors, pivots))


def _permutation_matrix(permutation, dtype):
    """P with P[permutation[i], i] = 1, so that A = P L U."""
    n = aval_of(permutation).shape[-1]
    shape = (*aval_of(permutation).shape[:-1], n, n)
    last = len(shape) - 1
    source = p.broadcast_in_dim(permutation, shape=shape, dims=(*range(len(shape) - 2), last))
    return p.convert(p.eq(iota_along(shape, last - 1, dt.int32), source), dtype=dtype)


def _triangles(factors):
    """(unit lower L, upper U) of packed factors."""
    rows, columns = m.rows_columns(aval_of(factors))
    k = min(rows, columns)
    lower = m.lower_triangle(m.resized(factors, rows, k), -1)
    eye = m.identity(shape=aval_of(lower).shape, dtype=aval_of(lower).dtype)
    return p.add(lower, eye), m.upper_triangle(m.resized(factors, k, columns))


@torch_op(name="linalg_lu", method=False, function=False, returns=named.linalg_lu, out=Out(EXACT))
def _lu(input: Tensor, pivot):
    x = matrices(input, "linalg.lu")
    factors, _, permutation = lu_of(x, pivot)
    return [_permutation_matrix(permutation, aval_of(x).dtype), *_triangles(factors)]


@overridable
def lu(A, *, pivot=True, out=None):
    """P, L, U with A = P L U.

    >>> torch.linalg.lu(torch.tensor([[2.]])).U
    tensor([[2.]])
    """
    return write_out("linalg_lu", out, _lu(A, pivot))


@torch_op(method=False, returns=named.lu_unpack)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data=True, unpack_pivots=True, *, out=None):
    """P, L, U from what lu_factor gives.

    >>> P, L, U = torch.lu_unpack(*torch.lu(torch.tensor([[1., 2.], [4., 4.]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [4., 4.]])
    """
    if aval_of(LU_pivots).dtype != dt.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of "
            "torch.int32 dtype.\nNote: this function is intended to be used with "
            "the "
            "output produced by torch.linalg.lu_factor"
        )
    a = aval_of(LU_data)
    if a.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead"
        )
    empty = p.full((0,), 0, a.dtype)
    lower, upper = _triangles(LU_data) if unpack_data else (empty, empty)
    if not unpack_pivots:
        return [empty, lower, upper]
    zero_based = p.sub(LU_pivots, 1)
    if not a.size:
        permutation = p.iota(shape=a.shape[:-1], dtype=dt.int32, dimension=a.ndim - 2)
    else:
        dims = tuple(range(a.ndim - 1 - aval_of(zero_based).ndim, a.ndim - 1))  # one row of pivots may be for a batch
        shape = (*a.shape[:-2], *aval_of(zero_based).shape[-1:])
        zero_based = p.broadcast_in_dim(zero_based, shape=shape, dims=dims)
        permutation = p.pivots_to_permutation(zero_based, size=a.shape[-2])
    return [_permutation_matrix(permutation, a.dtype), lower, upper]


OLD_LU = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
    "future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
    "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)


@composite(name="lu")
def torch_lu(self, pivot=True, get_infos=False, out=None):
    """(LU, pivots[, infos]): lu_factor under its old name.

    >>> LU, pivots = torch.lu(torch.tensor([[1., 2.], [4., 4.]]))
    >>> LU
    tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]])
    >>> pivots
    tensor([2, 2], dtype=torch.int32)
    """
    warn_once(OLD_LU)
    factors, pivots, info = _lu_factor_ex(self, pivot)
    result = named.linalg_lu_factor_ex(factors, pivots, info) if get_infos else named.linalg_lu_factor(factors, pivots)
    return write_out("lu", out, result)


def _identity(x, shape):
    """Ones on the diagonal, for an empty x."""
    return p.add(m.identity(shape=shape, dtype=aval_of(x).dtype), filled(x, shape, 0))


# ---- QR ------------------------------------------------------------------------------------------


@torch_op(
    name="linalg_qr", method=False, function=False, returns=named.linalg_qr, out=Out(EXACT), autocast={"cpu": "full"}
)
def _qr(input: Tensor, mode):
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    x = matrices(input, "linalg.qr")
    a = aval_of(x)
    rows, columns = a.shape[-2:]
    k = rows if mode == "complete" else min(rows, columns)
    if not a.size:
        q = _identity(x, (*a.shape[:-2], rows, k))
        r = filled(x, (*a.shape[:-2], k, columns), 0)
    else:
        q, r = p.qr(x, full_matrices=mode == "complete")
    return [p.full((0,), 0, a.dtype) if mode == "r" else q, r]


@overridable
def qr(A, mode="reduced", *, out=None):
    """Q with orthonormal columns and the upper triangular R with A = Q R.

    >>> torch.linalg.qr(torch.ones(3, 2)).R.shape
    torch.Size([2, 2])
    """
    return write_out("linalg_qr", out, _qr(A, mode))


OLD_QR = (
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
    "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
)


@composite(name="qr")
def torch_qr(input, some=True, *, out=None):
    """linalg.qr under its old name.

    >>> torch.qr(torch.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    warn_once(OLD_QR, key=f"qr {out is None}")
    result = named.qr(*_qr(input, "reduced" if some else "complete"))
    return write_out("qr", out, result)


@composite(out=Out(lower=castable("torch.geqrf", "a")), autocast={"cpu": "full"})
def geqrf(input, *, out=None):
    """A QR factorisation as LAPACK packs it: (reflectors and R, taus), column by column.

    >>> a, tau = torch.geqrf(torch.tensor([[3., 1.], [4., 2.]]))
    >>> a.shape, tau.shape
    (torch.Size([2, 2]), torch.Size([2]))
    """
    made = _geqrf(input)
    *batch, n, m = made.a.shape
    strides = (*[n * m * s for s in contiguous_strides(batch)], 1, max(n, 1))
    return write_out("geqrf", out, made._replace(a=with_strides(made.a, strides)))


@torch_op(name="_geqrf", returns=named.geqrf, node="GeqrfBackward0")
def _geqrf(input: Tensor):
    x = matrices(input, "torch.geqrf")
    a = aval_of(x)
    if not a.size:
        return [x, p.full((*a.shape[:-2], min(a.shape[-2:])), 0, a.dtype)]
    return p.geqrf(x)


@torch_op(
    name="linalg_householder_product",
    method=False,
    function=False,
    out=Out(lower=castable("torch.linalg.householder_product"), whole=True),
    autocast={"cpu": "full"},
)
def _householder_product(input: Tensor, tau: Tensor, *, out=None):
    a, t = aval_of(input), aval_of(tau)
    name = "torch.linalg.householder_product"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if a.shape[-1] < t.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if a.dtype != t.dtype:
        raise RuntimeError(f"{name}: tau dtype {t.dtype} does not match input dtype {a.dtype}")
    if not a.size:
        return input
    if not t.shape[-1]:
        return tied(m.identity(shape=a.shape, dtype=a.dtype), input)
    return p.householder_product(input, tau)


@overridable
def householder_product(A, tau, *, out=None):
    """The first columns of the product of the reflectors that A and tau hold.

    >>> torch.linalg.householder_product(torch.zeros(2, 1), torch.tensor([0.]))
    tensor([[1.],
            [-0.]])
    """
    return _householder_product(A, tau, out=out)


@composite(autocast={"cpu": "full"})
def orgqr(input, input2, *, out=None):
    """linalg.householder_product under its old name.

    >>> a, tau = torch.geqrf(torch.tensor([[3., 1.], [4., 2.]]))
    >>> Q = torch.orgqr(a, tau)
    >>> torch.allclose(Q.T @ Q, torch.eye(2), atol=1e-6)
    True
    """
    return _householder_product(input, input2, out=out)


@torch_op(autocast={"cpu": "full"})
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left=True, transpose=False, *, out=None):
    """other times the matrix Q that geqrf's results hold.

    >>> x = torch.tensor([[3., 1.], [4., 2.]])
    >>> a, tau = torch.geqrf(x)
    >>> torch.allclose(torch.ormqr(a, tau, a.triu()), x, atol=1e-5)
    True
    """
    require_inexact("torch.ormqr", input)
    for name, x in (("input", input), ("other", other)):
        if aval_of(x).ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    if aval_of(tau).ndim != aval_of(input).ndim - 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but "
            "got "
            f"tau.ndim equal to {aval_of(tau).ndim} and input.ndim is equal to "
            f"{aval_of(input).ndim}"
        )
    k = aval_of(tau).shape[-1]
    if not aval_of(other).size or not k:
        return tied(other, input)
    reflectors = m.resized(input, aval_of(input).shape[-2], k)
    return p.ormqr(reflectors, tau, other, left=left, transpose=transpose)


# ---- eigenvalues ---------------------------------------------------------------------------------


def _check_uplo(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "L"


@torch_op(
    name="linalg_eigh",
    method=False,
    function=False,
    returns=named.linalg_eigh,
    out=Out(EXACT),
    autocast={"cpu": "full"},
)
def _eigh(input: Tensor, UPLO):
    x = matrices(input, "linalg.eigh", square=True)
    lower = _check_uplo(UPLO)
    a = aval_of(x)
    if not a.size:
        return [filled(x, a.shape[:-1], 0, dt.real_of(a.dtype)), x]
    return p.eigh(x, lower=lower)


@overridable
def eigh(A, UPLO="L", *, out=None):
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    >>> torch.linalg.eigh(torch.tensor([[2.]])).eigenvalues
    tensor([2.])
    """
    return write_out("linalg_eigh", out, _eigh(A, UPLO))


@torch_op(
    name="linalg_eigvalsh", method=False, function=False, node="linalg_eigh", out=Out(EXACT), autocast={"cpu": "full"}
)
def _eigvalsh(input: Tensor, UPLO, *, out=None):
    x = matrices(input, "linalg.eigvalsh", square=True)
    lower = _check_uplo(UPLO)
    a = aval_of(x)
    return p.eigvalsh(x, lower=lower) if a.size else filled(x, a.shape[:-1], 0, dt.real_of(a.dtype))


@overridable
def eigvalsh(A, UPLO="L", *, out=None):
    """The eigenvalues, ascending, of Hermitian matrices.

    >>> torch.linalg.eigvalsh(torch.tensor([[2., 1.], [1., 2.]]))
    tensor([1., 3.])
    """
    return _eigvalsh(A, UPLO, out=out)


@torch_op(
    name="linalg_eig",
    method=False,
    function=False,
    returns=named.linalg_eig,
    out=Out(castable("torch.linalg.eig", "eigenvalues")),
    autocast={"cpu": "full"},
)
def _eig(input: Tensor):
    x = matrices(input, "linalg.eig", square=True)
    a = aval_of(x)
    if not a.size:
        return [filled(x, a.shape[:-1], 0, dt.complex_of(a.dtype)), p.convert(x, dtype=dt.complex_of(a.dtype))]
    return p.eig(x)


@overridable
def eig(A, *, out=None):
    """Complex eigenvalues and eigenvectors of any square matrices.

    >>> torch.linalg.eig(torch.tensor([[2., 0.], [0., 3.]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    if is_readable(A) and A.ndim and not np.isfinite(A._array()).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return write_out("linalg_eig", out, _eig(A))


@torch_op(
    name="linalg_eigvals",
    method=False,
    function=False,
    out=Out(castable("torch.linalg.eigvals", "eigenvalues")),
    autocast={"cpu": "full"},
    node="LinalgEigBackward0",
)
def _eigvals(input: Tensor, *, out=None):
    x = matrices(input, "linalg.eigvals", square=True)
    a = aval_of(x)
    return p.eigvals(x) if a.size else filled(x, a.shape[:-1], 0, dt.complex_of(a.dtype))


@overridable
def eigvals(A, *, out=None):
    """The complex eigenvalues of any square matrices.

    >>> torch.linalg.eigvals(torch.tensor([[0., 1.], [-1., 0.]])).imag.abs()
    tensor([1., 1.])
    """
    return _eigvals(A, out=out)


# ---- singular values -----------------------------------------------------------------------------


def svd_of(x, full: bool):
    """[u, s, vh] of a value. The columns that fill up a full u or v have no derivative."""
    a = aval_of(x)
    rows, columns = a.shape[-2:]
    k = min(rows, columns)
    if not a.size:
        wide, tall = (rows if full else k), (columns if full else k)
        return [
            _identity(x, (*a.shape[:-2], rows, wide)),
            filled(x, (*a.shape[:-2], k), 0, dt.real_of(a.dtype)),
            _identity(x, (*a.shape[:-2], tall, columns)),
        ]
    if not full or rows == columns:
        return p.svd(x, full_matrices=False)
    return custom_jvp(lambda v: p.svd(v, full_matrices=True), _FULL_SVD, [x])


def _full_svd_tangents(primals, tangents):
    x = primals[0]
    outs = p.svd(x, full_matrices=True)
    graph = trace_closed(lambda v: p.svd(v, full_matrices=False), [aval_of(x)], "svd")
    dual, _ = jvp(graph, (True,))
    moved = run(dual, [x, tangents[0]])[3:]
    shapes = [aval_of(o).shape for o in outs]
    return outs, [m.resized(moved[0], *shapes[0][-2:]), moved[1], m.resized(moved[2], *shapes[2][-2:])]


_FULL_SVD = JvpRule(_full_svd_tangents, "svd")


@torch_op(
    name="linalg_svd", method=False, function=False, returns=named.linalg_svd, out=Out(EXACT), autocast={"cpu": "full"}
)
def _svd(input: Tensor, full_matrices):
    return svd_of(matrices(input, "linalg.svd"), full_matrices)


@overridable
def svd(A, full_matrices=True, *, driver=None, out=None):
    """U, S (descending) and V^H with A = U diag(S) V^H.

    >>> torch.linalg.svd(torch.tensor([[2.]])).S
    tensor([2.])
    """
    _check_driver(driver)
    require_matrices_of_numbers(A)
    return write_out("linalg_svd", out, _svd(A, full_matrices))


def _check_driver(driver):
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@torch_op(
    name="linalg_svdvals", method=False, function=False, node="linalg_svd", out=Out(EXACT), autocast={"cpu": "full"}
)
def _svdvals(input: Tensor, *, out=None):
    return singular_values(matrices(input, "linalg.svdvals"))


@overridable
def svdvals(A, *, driver=None, out=None):
    """The singular values, descending.

    >>> torch.linalg.svdvals(torch.tensor([[3., 0.], [0., -4.]]))
    tensor([4., 3.])
    """
    _check_driver(driver)
    require_matrices_of_numbers(A)
    return _svdvals(A, out=out)


@composite(name="svd", out=Out(EXACT), autocast={"cpu": "full"})
def torch_svd(input, some=True, compute_uv=True, *, out=None):
    """U, S, V with input = U diag(S) V^H: linalg.svd's forerunner.

    >>> torch.svd(torch.tensor([[3., 0.], [0., 2.]])).S
    tensor([3., 2.])
    """
    made = _torch_svd(input, some, compute_uv, out=out)
    require_matrices_of_numbers(input)
    return made


@torch_op(returns=named.svd, node="linalg_svd", out=Out(EXACT))
def _torch_svd(input: Tensor, some, compute_uv, *, out=None):
    x = matrices(input, "linalg.svd")
    if not compute_uv:
        a = aval_of(x)
        rows, columns = a.shape[-2:]
        return [
            p.full((*a.shape[:-2], rows, rows), 0, a.dtype),
            singular_values(x),
            p.full((*a.shape[:-2], columns, columns), 0, a.dtype),
        ]
    u, s, vh = svd_of(x, not some)
    return [u, s, m.adjoint(vh)]
