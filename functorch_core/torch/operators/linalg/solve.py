"""Linear systems: solve, inverses, determinants, least squares, and what is made of them."""

from __future__ import annotations

import math

from ....core.warn import warn_once
from ....engine.bounds import extent_of
from ....kernels import matrices as kernels
from ....kernels.matrices import filled, singular_values
from ....kernels.values import aval_of, dt, full_like, like, p, stop_gradient, tied, total, wide
from ....primitives import linalg_matrices as m
from ...dispatch.bounds import at_bottom
from ...dispatch.bounds import check as check_indices
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import Operand, Tensors
from ...dispatch.traits import EXACT, SCALAR_TYPE, Out, castable, takes_out
from ...tape.meta import is_meta, is_readable
from ...tensors.active import overridable
from ...tensors.base import Tensor
from .. import return_types as named
from ..values import broadcast, cast, name_of, wrap_dim
from . import nodes
from .checks import check_info, matrices, require_matrices_of_numbers
from .factor import lu_of, singular_info
from .matmul import broadcast_lead, chained, expanded_to, product

# ---- operands ------------------------------------------------------------------------------------


def stacked_together(name: str, a, b):
    """Matrices a and b with their leading dimensions broadcast together; one dtype."""
    x, y = aval_of(a), aval_of(b)
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{name_of(a)} and B of type {name_of(b)} instead"
        )
    lead = broadcast_lead(x.shape[:-2], y.shape[:-2])
    return (expanded_to(a, (*lead, *x.shape[-2:])), expanded_to(b, (*lead, *y.shape[-2:])))


def _is_vector(a, b) -> bool:
    """Whether b holds vectors: PyTorch's rule."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


def solved(a, b, left: bool = True):
    """X with A X = B (X A = B) for stacks of equal leading dimensions."""
    if not aval_of(b).size:
        return tied(b, a)
    if left:
        return p.solve(a, b)
    return m.swapped(p.solve(m.swapped(a), m.swapped(b)))


# ---- solve ---------------------------------------------------------------------------------------


@torch_op(
    name="linalg_solve_ex",
    method=False,
    function=False,
    returns=named.linalg_solve_ex,
    node="linalg_solve_ex",
    autocast={"cpu": "full"},
)
def _solve_ex(input: Tensor, B: Tensor, left):
    a = matrices(input, "linalg.solve", square=True)
    vector = _is_vector(aval_of(a), aval_of(B))
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not "
            "supported "
            "for left=False. In this case linalg.solve is equivalent to B / "
            "A.squeeze(-1)"
        )
    b = p.expand_dims(B, dims=(aval_of(B).ndim,)) if vector else B
    side = -2 if left else -1
    if aval_of(b).ndim < 2 or aval_of(b).shape[side] != aval_of(a).shape[side]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({_size(a)} and {_size(b)})"
        )
    a, b = stacked_together("linalg.solve", a, b)
    out = solved(a, b, left)
    info = singular_info(lu_of(a, True)[0])
    return [p.squeeze(out, dims=(aval_of(out).ndim - 1,)) if vector else out, info]


def _size(x) -> str:
    return "x".join(map(str, aval_of(x).shape[-2:]))


SINGULAR = "The solver failed because the input matrix is singular."


@takes_out("linalg_solve", Out(EXACT))
@overridable
def solve(A, B, *, left=True, out=None):
    """X with A X = B, or X A = B if not `left`; LinAlgError where A is singular.

    >>> torch.linalg.solve(torch.tensor([[2.]]), torch.tensor([4.]))
    tensor([2.])
    """
    result, info = _solve_ex(A, B, left)
    check_info("torch.linalg.solve", info, SINGULAR)
    return write_out("linalg_solve", out, result)


@overridable
def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """solve, and for each matrix the first zero pivot (from 1), or 0.

    >>> torch.linalg.solve_ex(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([2., 8.])).result
    tensor([1., 2.])
    """
    result = _solve_ex(A, B, left)
    if check_errors:
        check_info("torch.linalg.solve_ex", result.info, SINGULAR)
    return write_out("linalg_solve_ex", out, result)


@torch_op(name="linalg_solve_triangular", method=False, function=False, out=Out(SCALAR_TYPE))
def _solve_triangular(input: Tensor, B: Tensor, upper, left, unitriangular, *, out=None):
    a = matrices(input, "linalg.solve_triangular", square=True)
    if aval_of(B).ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    side = -2 if left else -1
    if aval_of(B).shape[side] != aval_of(a).shape[side]:
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the "
            "equation "
            f"{'AX = B' if left else 'XA = B'} ({_size(a)} and {_size(B)})"
        )
    a, b = stacked_together("linalg.solve_triangular", a, B)
    return _triangular(a, b, upper, left, unitriangular)


def _triangular(a, b, upper, left=True, unit=False, **op):
    if not aval_of(b).size:
        return tied(b, a)
    return p.triangular_solve(a, b, left_side=left, lower=not upper, unit_diagonal=unit, **op)


@overridable
def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """X with A X = B for triangular A, of which only that triangle is read.

    >>> torch.linalg.solve_triangular(torch.tensor([[2., 0.], [2., 4.]]), torch.tensor([[2.], [6.]]), upper=False)
    tensor([[1.],
            [1.]])
    """
    return _solve_triangular(A, B, upper, left, unitriangular, out=out)


OLD_SOLVE = (
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
    "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of "
    "the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B)."
)


@torch_op(returns=named.triangular_solve, out=Out(EXACT), autocast={"cpu": "full"})
def triangular_solve(input: Tensor, A: Tensor, upper=True, transpose=False, unitriangular=False, *, out=None):
    """(X with A X = input for triangular A, A): linalg.solve_triangular's forerunner.

    >>> torch.triangular_solve(torch.tensor([[2.], [4.]]), torch.tensor([[1., 1.], [0., 2.]])).solution
    tensor([[0.],
            [2.]])
    """
    warn_once(OLD_SOLVE)
    a, b = stacked_together("triangular_solve", A, input)
    out = _triangular(a, b, upper, True, unitriangular, transpose_a=transpose)
    return [out, a]


@torch_op(name="linalg_lu_solve", method=False, function=False)
def _lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left, adjoint, *, out=None):
    a, b = stacked_together("linalg.lu_solve", matrices(LU, "torch.linalg.lu_solve", square=True), B)
    if aval_of(pivots).dtype != dt.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if not aval_of(b).size:
        return tied(b, a)
    lead = aval_of(a).shape[:-2]
    zero_based = p.sub(expanded_to(pivots, (*lead, aval_of(pivots).shape[-1])), 1)
    permutation = p.pivots_to_permutation(zero_based, size=aval_of(a).shape[-2])
    if left:
        return p.lu_solve(a, permutation, b, transpose=adjoint, conjugate=adjoint)
    # X A = B is A^H X^H = B^H; X A^H = B is A X^H = B^H
    out = p.lu_solve(a, permutation, m.adjoint(b), transpose=not adjoint, conjugate=not adjoint)
    return m.adjoint(out)


WRONG_PIVOTS = "Pivots given to lu_solve must all be {bound}. Did you properly pass the result of lu_factor?"


def _wrong_pivot(row) -> RuntimeError:
    bound = "greater or equal to 1" if int(row) < 0 else "smaller or equal to LU.size(-2)"
    return RuntimeError(WRONG_PIVOTS.format(bound=bound))


def _check_pivots(LU, pivots):
    """RuntimeError, now or when something is read, for rows to exchange that are not there."""
    if LU.ndim < 2 or not pivots.numel() or pivots.is_floating_point() or is_meta(pivots):
        return
    known = extent_of(at_bottom(pivots))
    if known is None:
        check_indices(pivots - 1, LU.shape[-2], 0, "lu_solve", message="{index}", error=_wrong_pivot)
    elif known[0] < 1 or known[1] > LU.shape[-2]:
        raise _wrong_pivot(known[0] - 1)


@overridable
def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """X with A X = B, from lu_factor's results.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2., 0.], [0., 4.]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[2.], [8.]]))
    tensor([[1.],
            [2.]])
    """
    _check_pivots(LU, pivots)
    return _lu_solve(LU, pivots, B, left, adjoint, out=out)


@composite(name="lu_solve", autocast={"cpu": "full"})
def torch_lu_solve(input, LU_data, LU_pivots, *, out=None):
    """linalg.lu_solve with the right side first.

    >>> A = torch.tensor([[1., 2.], [4., 4.]])
    >>> torch.lu_solve(torch.tensor([[5.], [12.]]), *torch.lu(A))
    tensor([[1.],
            [2.]])
    """
    _check_pivots(LU_data, LU_pivots)
    return _lu_solve(LU_data, LU_pivots, input, True, False, out=out)


# ---- inverses ------------------------------------------------------------------------------------


@torch_op(
    name="linalg_inv_ex",
    method=False,
    function=False,
    returns=named.linalg_inv_ex,
    out=Out(EXACT),
    autocast={"cpu": "full"},
)
def _inv_ex(input: Tensor):
    a = matrices(input, "linalg.inv", square=True)
    if not aval_of(a).size:
        return [a, p.full(aval_of(a).shape[:-2], 0, dt.int32)]
    return [p.inv(a), singular_info(lu_of(a, True)[0])]


NOT_INVERTIBLE = (
    "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."
)


@takes_out("linalg_inv", Out(EXACT))
@overridable
def inv(A, *, out=None):
    """The inverse of square matrices; LinAlgError for singular ones.

    >>> torch.linalg.inv(torch.tensor([[2.]]))
    tensor([[0.5000]])
    """
    result, info = _inv_ex(A)
    check_info("linalg.inv", info, NOT_INVERTIBLE)
    return write_out("linalg_inv", out, result)


@overridable
def inv_ex(A, *, check_errors=False, out=None):
    """inv, and for each matrix the first zero pivot (from 1), or 0.

    >>> torch.linalg.inv_ex(torch.tensor([[2., 0.], [0., 4.]])).inverse
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    result = _inv_ex(A)
    if check_errors:
        check_info("linalg.inv_ex", result.info, NOT_INVERTIBLE)
    return write_out("linalg_inv_ex", out, result)


@composite(out=Out(EXACT), autocast={"cpu": "full"})
def inverse(input, *, out=None):
    """linalg.inv.

    >>> torch.inverse(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inv(input, out=out)


def tolerances(a, atol, rtol):
    """(absolute, relative) tolerance for each matrix, in the real dtype."""
    shape, real = a.shape[:-2], dt.real_of(a.dtype)

    def spread(x):
        return expanded_to(cast(x, real), shape)

    if rtol is None:
        default = float(dt.finfo(real).eps) * max(a.shape[-2:])
        if atol is None:
            rtol = default
        else:  # a given atol above 0 leaves the relative one out
            given = spread(atol)
            return given, p.select(p.gt(given, 0.0), full_like(given, 0), full_like(given, default))
    return spread(0.0 if atol is None else atol), spread(rtol)


NO_MATRICES = (
    "linalg.pinv({found}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types"
)


@torch_op(name="linalg_pinv", method=False, function=False, out=Out(lower=castable("linalg.pinv")))
def _pinv_op(input: Tensor, atol: Operand, rtol: Operand, hermitian, *, out=None):
    if aval_of(input).ndim < 2:
        found = f"{name_of(input)}{{{list(aval_of(input).shape)}}}"
        raise RuntimeError(NO_MATRICES.format(found=found))
    a = matrices(input, "linalg.pinv", square=hermitian)
    shape = aval_of(a).shape
    if not aval_of(a).size:
        return filled(a, (*shape[:-2], shape[-1], shape[-2]), 0)
    limits = tolerances(aval_of(a), atol, rtol)
    limits = [stop_gradient(x) for x in limits]
    return kernels.pinv(a, *limits, hermitian)


@overridable
def pinv(A, rcond=None, *, atol=None, rtol=None, hermitian=False, out=None):
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the largest) count as 0.

    >>> torch.linalg.pinv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if not hermitian:
        require_matrices_of_numbers(A)
    return _pinv_op(A, atol, rcond if rtol is None else rtol, hermitian, out=out)


@composite(autocast={"cpu": "full"})
def pinverse(input, rcond=1e-15):
    """linalg.pinv under its old name.

    >>> torch.pinverse(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    require_matrices_of_numbers(input)
    return _pinv_op(input, 0.0, rcond, False)


# ---- determinants --------------------------------------------------------------------------------


def det_of(x):
    """Determinants of a value; 1 of empty matrices."""
    a = aval_of(x)
    if not a.shape[-1]:
        return filled(x, a.shape[:-2], 1)
    return p.det(x) if a.size else filled(x, a.shape[:-2], 0)


@torch_op(node="linalg_det", out=Out(EXACT))
def det(input: Tensor):
    """The determinant of square matrices.

    >>> torch.det(torch.tensor([[2., 0.], [0., 3.]]))
    tensor(6.)
    """
    return det_of(matrices(input, "linalg.det", square=True))


@takes_out("linalg_det", Out(EXACT))
@overridable
def linalg_det(A, *, out=None):
    """The determinant of square matrices.

    >>> torch.linalg.det(torch.tensor([[2., 0.], [0., 3.]]))
    tensor(6.)
    """
    return write_out("linalg_det", out, det(A))


def _slogdet_of(x):
    a = aval_of(x)
    real = dt.real_of(a.dtype)
    if not a.size:
        sign, size = (1, 0) if not a.shape[-1] else (0, 0)
        return [filled(x, a.shape[:-2], sign), filled(x, a.shape[:-2], size, real)]
    sign, size = p.slogdet(x)
    return [sign if a.dtype in dt.COMPLEX else tied(sign, x), size]


@torch_op(returns=named.slogdet, node="linalg_slogdet", out=Out(EXACT))
def slogdet(input: Tensor, *, out=None):
    """(sign, logarithm of the absolute value) of determinants; (0, -inf) of singular matrices.

    >>> torch.slogdet(torch.tensor([[-2., 0.], [0., 3.]]))
    torch.return_types.slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(1.7918))
    """
    return _slogdet_of(matrices(input, "linalg.slogdet", square=True))


@takes_out("linalg_slogdet", Out(EXACT))
@overridable
def linalg_slogdet(A, *, out=None):
    """(sign, logarithm of the absolute value) of determinants.

    >>> torch.linalg.slogdet(torch.tensor([[-2., 0.], [0., 3.]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(1.7918))
    """
    return write_out("linalg_slogdet", out, named.linalg_slogdet(*slogdet(A)))


@torch_op(node="Where0(-, LinalgSlogdet0(input)#1)")
def logdet(input: Tensor):
    """The logarithm of determinants; NaN of negative ones.

    >>> torch.logdet(torch.tensor([[2., 0.], [0., 3.]]))
    tensor(1.7918)
    """
    x = matrices(input, "linalg.det", square=True)
    sign, size = _slogdet_of(x)
    if aval_of(x).dtype in dt.COMPLEX:
        return p.add(p.log(sign), p.convert(size, dtype=aval_of(sign).dtype))
    return p.select(p.lt(sign, 0.0), full_like(size, math.nan), size)


# ---- least squares -------------------------------------------------------------------------------


def _cut_of(rcond: float, driver: str, eps: float) -> float:
    """The part of the greatest singular value up to which LAPACK's driver takes others for 0."""
    if driver == "gelsd" and (rcond == 0 or rcond >= 1):
        return eps
    return eps if rcond < 0 else rcond


@torch_op(
    name="linalg_lstsq",
    method=False,
    function=False,
    returns=tuple,
    out=Out(lower=castable("torch.linalg.lstsq", "solution")),
    autocast={"cpu": "full"},
)
def _lstsq(input: Tensor, B: Tensor, rcond, driver):
    if aval_of(input).ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if aval_of(B).ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    a = matrices(input, "torch.linalg.lstsq")
    if aval_of(a).dtype != aval_of(B).dtype:
        raise RuntimeError(
            f"torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype {name_of(a)} "
            f"and other's dtype {name_of(B)}"
        )
    if not 0 <= aval_of(a).ndim - aval_of(B).ndim <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    vector = aval_of(B).ndim < aval_of(a).ndim and (aval_of(B).ndim == 1 or _is_vector(aval_of(a), aval_of(B)))
    b = p.expand_dims(B, dims=(aval_of(B).ndim,)) if vector else B
    if aval_of(b).ndim < 2 or aval_of(b).shape[-2] != aval_of(a).shape[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    a, b = stacked_together("torch.linalg.lstsq", a, b)
    shape, real = aval_of(a).shape, dt.real_of(aval_of(a).dtype)
    rows, columns = shape[-2:]
    eps = float(dt.finfo(real).eps)
    cut = eps * max(rows, columns) if rcond is None else _cut_of(rcond, driver, eps)
    if not aval_of(a).size:
        x = p.add(
            filled(a, (*shape[:-2], columns, aval_of(b).shape[-1]), 0),
            filled(b, (*shape[:-2], columns, aval_of(b).shape[-1]), 0),
        )
        rank = p.full(shape[:-2], 0, dt.int64)
        values = p.full((*shape[:-2], 0), 0, real)
    else:
        limits = [p.full(shape[:-2], 0, real), p.full(shape[:-2], cut, real)]
        x = product(kernels.pinv(a, *limits), b)
        values = stop_gradient(singular_values(a))
        rank = kernels.rank(values, *limits)
    none = p.full((0,), 0, real)
    apart = tied(none, a)
    if rows > columns and driver != "gelsy":
        gap = p.sub(product(a, x), b)
        size = p.abs(gap)
        apart = total(p.mul(size, size), (aval_of(size).ndim - 2,))
    if vector:
        x = p.squeeze(x, dims=(aval_of(x).ndim - 1,))
    return [
        x,
        apart,
        p.full((0,), 0, dt.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else none,
    ]


@overridable
def lstsq(A, B, rcond=None, *, driver=None, out=None):
    """X of least norm that minimises |A X - B|: (solution, residuals, rank, singular_values).

    Residuals are there where A is tall and of full rank, but not for driver='gelsy' (the default);
    the rank but for 'gels'; singular values for 'gelsd' and 'gelss'.

    >>> torch.linalg.lstsq(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([[2.], [8.]])).solution
    tensor([[1.],
            [2.]])
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    solution, residuals, rank, values = _lstsq(A, B, rcond, driver)
    if residuals.numel() and rank.numel() and is_readable(rank):
        if (rank._array() < A.shape[-1]).any():
            residuals = residuals.new_empty((0,))
    return write_out("linalg_lstsq", out, named.linalg_lstsq(solution, residuals, rank, values))


@torch_op(
    name="linalg_matrix_rank",
    method=False,
    function=False,
    out=Out(lower=castable("torch.linalg.matrix_rank")),
    autocast={"cpu": "full"},
)
def _matrix_rank(input: Tensor, atol: Operand, rtol: Operand, hermitian, *, out=None):
    a = matrices(input, "linalg.matrix_rank", square=hermitian)
    if not aval_of(a).size:
        return p.full(aval_of(a).shape[:-2], 0, dt.int64)
    a = stop_gradient(a)
    values = p.abs(p.eigvalsh(a)) if hermitian else singular_values(a)
    return kernels.rank(values, *tolerances(aval_of(a), atol, rtol))


@overridable
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """How many singular values exceed max(atol, rtol * the largest).

    >>> torch.linalg.matrix_rank(torch.tensor([[1., 2.], [2., 4.]]))
    tensor(1)
    """
    if tol is not None:
        atol, rtol = tol, 0.0
    require_matrices_of_numbers(A, "linalg.eigh" if hermitian else "linalg.svd")
    return _matrix_rank(A, atol, rtol, hermitian, out=out)


# ---- functions of matrices -----------------------------------------------------------------------


@torch_op(aliases=("linalg_matrix_exp",), node="linalg_matrix_exp")
def matrix_exp(input: Tensor):
    """The exponential of square matrices; NaN where their norm exceeds 18 million.

    >>> torch.matrix_exp(torch.zeros(1, 1))
    tensor([[1.]])
    """
    if aval_of(input).dtype not in dt.INEXACT:
        raise RuntimeError(
            f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {name_of(input)}"
        )
    x = matrices(wide(input), "linalg.matrix_exp", square=True)
    return like(kernels.exponential(x), input) if aval_of(x).size else input


# ---- products and tensors ------------------------------------------------------------------------


@torch_op(
    name="linalg_multi_dot",
    method=False,
    function=False,
    out=Out("multi_dot(): expected out tensor to have dtype {c_found} but got {c_wanted}"),
    autocast="low",
    node=nodes.multi_dot("tensors", "ViewBackward0"),
)
def _multi_dot(tensors: Tensors, *, out=None):
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = aval_of(tensors[0]), aval_of(tensors[-1])
    for i, x in enumerate(tensors):
        allowed = (1, 2) if i in (0, len(tensors) - 1) else (2,)
        if aval_of(x).ndim not in allowed:
            which = "the first" if i == 0 else "the last" if i == len(tensors) - 1 else i
            raise RuntimeError(
                f"multi_dot(): {which} tensor must be {'1D or ' * (len(allowed) - 1)}2D but got {aval_of(x).ndim}D"
            )
    tensors = list(tensors)
    if first.ndim == 1:
        tensors[0] = p.expand_dims(tensors[0], dims=(0,))
    if last.ndim == 1:
        tensors[-1] = p.expand_dims(tensors[-1], dims=(1,))
    for x, y in zip(tensors, tensors[1:]):
        if aval_of(x).shape[1] != aval_of(y).shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {tensors.index(x)} and {tensors.index(y)} "
                "with "
                f"shapes {list(aval_of(x).shape)} and {list(aval_of(y).shape)} "
                "cannot be "
                "multiplied"
            )
    result = chained(tensors)
    shape = aval_of(result).shape
    keep = tuple(n for n, v in zip(shape, (first, last)) if v.ndim == 2)
    return p.reshape(result, shape=keep)


@overridable
def multi_dot(tensors, *, out=None):
    """The product of matrices (the first and last may be vectors), associated best.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)])
    tensor([[12.],
            [12.]])
    """
    return _multi_dot(tuple(tensors), out=out)


@takes_out("linalg_tensorinv", Out(lower=castable("tensorinv")))
@overridable
def tensorinv(A, ind=2, *, out=None):
    """The inverse for tensordot: of A as a matrix of the first `ind` dimensions by the others.

    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(columns)} != "
            f"{math.prod(rows)}"
        )
    result = inv(A.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)
    return write_out("linalg_tensorinv", out, result)


@takes_out("linalg_tensorsolve", Out(lower=castable("tensorsolve")))
@overridable
def tensorsolve(A, B, dims=None, *, out=None):
    """X with tensordot(A, X, X.ndim) = B.

    >>> torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3)).shape
    torch.Size([6])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    if math.prod(shape) != math.prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement "
            "prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(shape)} != "
            f"{math.prod(A.shape[: B.ndim])}"
        )
    flat = A.reshape(math.prod(shape), math.prod(shape))
    return write_out("linalg_tensorsolve", out, solve(flat, B.reshape(-1)).reshape(shape))


@torch_op(
    name="linalg_vecdot",
    method=False,
    function=False,
    out=Out("linalg.vecdot: Expected out of dtype{found} but found {wanted}"),
    autocast="low",
    node=lambda a: "VdotBackward0" if a.input.ndim == 1 else "SumBackward1",
)
def _vecdot(input: Tensor, y: Tensor, dim, *, out=None):
    if aval_of(input).dtype != aval_of(y).dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x "
            "of type "
            f"{name_of(input)} and y of type {name_of(y)} instead"
        )
    x = p.conj(input) if aval_of(input).dtype in dt.COMPLEX else input
    x, y = broadcast([x, y])
    d = wrap_dim(dim, aval_of(x).ndim)
    return kernels.summed_product(x, y, d) if aval_of(x).ndim else p.mul(x, y)


@overridable
def vecdot(x, y, *, dim=-1, out=None):
    """Sums of conj(x) * y along a dimension.

    >>> torch.linalg.vecdot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """
    return _vecdot(x, y, dim, out=out)
