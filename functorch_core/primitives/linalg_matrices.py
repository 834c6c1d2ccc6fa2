"""What factorisations share: functions of stacks of matrices, LAPACK calls, references, checks.

Matrices are the last two dimensions; the leading ones are a batch everywhere.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Estimate, Reason, Traits
from ..core.reference import specialised
from ..core.types import Function, Ints, Value
from ..xla.blas import factorisation
from .arithmetic import add, div, mul, sub
from .bitwise import and_, not_
from .comparison import eq, ge, is_finite, le, select
from .convert import complex, conj, convert, imag, real
from .dot import dot_general
from .host_few import has_all
from .reductions import reduce_and, reduce_sum
from .slicing import pad
from .structure import broadcast_in_dim, full, iota, transpose, zeros

DTYPES = frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128})


def _of_each_row(columns: float) -> Estimate:
    """Each element once for each row of its matrix (or column, if these are fewer), and for so many more: what small
    matrices cost LAPACK."""

    def work(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
        return operands[0].size * (min(operands[0].shape[-2:], default=1) + columns)

    return work


def of_each_side(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """Each element of a square matrix once for each right side, and for 40 more."""
    a = operands[0]
    return a.size * (results[0].size / max(math.prod(a.shape[:-1]), 1) + 40.0)


def by_lapack(each: float, per: float, work: Estimate | float, *, stacks: float = 1.0, compile: float) -> Traits:
    """What is computed of matrices by LAPACK; figures of 2026-11-27, float32, stacks of 1 to 1,000 of 8 to 300 rows.

    each: microseconds that one takes Python, which calls LAPACK for one after the other; programs do that in C
    per: nanoseconds by LAPACK for each unit of `work`; a number: of each element for each row, and for so many more
    stacks: the part of that in programs, whose LAPACK has several threads for several matrices
    compile: as a trait
    """
    inside = work if callable(work) else _of_each_row(work)
    of_one = each * 1e3 / per

    def number(a: Aval) -> int:
        return math.prod(a.shape[:-2])

    def whole(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
        return inside(operands, results, params) + number(operands[0]) * of_one

    def compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
        part = stacks if number(operands[0]) > 1 else 1.0
        return part * inside(operands, results, params) / max(whole(operands, results, params), 1.0)

    return LINALG.but(numpy=per, work=whole, compiled=compiled, compile=compile)


LINALG = Traits(family="linalg", expensive=True)

# ---- checks --------------------------------------------------------------------------------------


def check_matrix(name: str, a: Aval, square: bool = False) -> None:
    """TypeError or ValueError unless the aval is a stack of (square) matrices LAPACK can take."""
    if a.dtype not in DTYPES:
        message = f"{name} takes float32, float64, complex64 or complex128 matrices, got {a}; convert it first"
        raise dt.DtypeError(message, a.dtype)
    if a.ndim < 2:
        raise ValueError(f"{name} takes matrices: at least 2 dimensions, got {a}")
    if square and a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name} takes square matrices, got {a}")


def check_stack(name: str, a: Aval, b: Aval) -> None:
    """TypeError or ValueError unless b is a stack like a: equal dtypes and leading dimensions."""
    if a.dtype != b.dtype:
        raise dt.DtypeError(f"{name} (primitive) takes operands of one dtype, got {a} and {b}; promote them first")
    if a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"{name} (primitive) takes equal leading dimensions, got {a} and {b}; broadcast them first")


def rows_columns(a: Value | Aval) -> tuple[int, int]:
    """The size of each matrix of a value or an aval."""
    return a.shape[-2], a.shape[-1]


# ---- functions of matrices, written with primitives ----------------------------------------------


def swapped(x: Value) -> Value:
    """The transposes of matrices."""
    ndim = aval_of(x).ndim
    return transpose(x, permutation=(*range(ndim - 2), ndim - 1, ndim - 2))


def conjugate(x: Value) -> Value:
    """The conjugate of complex x; real x itself."""
    return conj(x) if aval_of(x).dtype in dt.COMPLEX else x


def adjoint(x: Value) -> Value:
    """The conjugate transposes of matrices."""
    return conjugate(swapped(x))


def hermitian_part(x: Value) -> Value:
    """(x + its adjoint) / 2."""
    return mul(add(x, adjoint(x)), 0.5)


def matmul(x: Value, y: Value) -> Value:
    """Products of the matrices of two stacks."""
    ndim = aval_of(x).ndim
    lead = tuple(range(ndim - 2))
    return dot_general(x, y, contract=((ndim - 1,), (ndim - 2,)), batch=(lead, lead))


def _row_and_column(shape: Ints) -> tuple[Value, ...]:
    """The row and the column number of each element of one matrix."""
    row = iota(shape=shape[-2:], dtype=dt.int32, dimension=0)
    return row, iota(shape=shape[-2:], dtype=dt.int32, dimension=1)


def _masked(x: Value, mask: Value) -> Value:
    """x where the mask of one matrix holds, 0 elsewhere."""
    a = aval_of(x)
    return select(broadcast_in_dim(mask, shape=a.shape, dims=(a.ndim - 2, a.ndim - 1)), x, zeros(a))


def lower_triangle(x: Value, offset: int = 0) -> Value:
    """x on and below the diagonal (the offset-th above it); 0 elsewhere."""
    row, column = _row_and_column(aval_of(x).shape)
    return _masked(x, le(sub(column, within(offset, aval_of(x).shape)), row))


def upper_triangle(x: Value, offset: int = 0) -> Value:
    """x on and above the diagonal (the offset-th above it); 0 elsewhere."""
    row, column = _row_and_column(aval_of(x).shape)
    return _masked(x, ge(sub(column, within(offset, aval_of(x).shape)), row))


def within(offset: int, shape: Ints) -> int:
    """The number of a diagonal of matrices, of those outside the nearest: any number will do for these."""
    return min(max(int(offset), -shape[-2]), shape[-1])


def identity(*, shape: Ints, dtype: np.dtype) -> Value:
    """Matrices with ones on the diagonal, of `shape`."""
    return _masked(full(shape, 1, dtype), eq(*_row_and_column(shape)))


def diagonal(x: Value) -> Value:
    """The diagonals of matrices, min(m, n) long."""
    a = aval_of(x)
    m, n = rows_columns(a)
    summed = a.ndim - 2 if m >= n else a.ndim - 1  # the axis that is longer than the diagonal
    return reduce_sum(_masked(x, eq(*_row_and_column((m, n)))), axes=(summed,))


def as_diagonal(d: Value) -> Value:
    """Square matrices with these diagonals."""
    a = aval_of(d)
    return _masked(per_column(d, (*a.shape, a.shape[-1])), eq(*_row_and_column((a.shape[-1],) * 2)))


def resized(x: Value, rows: int, columns: int) -> Value:
    """Matrices of another size: cut, or filled with zeros, at the end."""
    a = aval_of(x)
    added = (*(0 for _ in a.shape[:-2]), rows - a.shape[-2], columns - a.shape[-1])
    return pad(x, full((), 0, a.dtype), low=(0,) * a.ndim, high=added)


def per_row(d: Value, shape: Ints) -> Value:
    """A number for each row, as an array of `shape`."""
    return broadcast_in_dim(d, shape=shape, dims=tuple(range(len(shape) - 1)))


def per_column(d: Value, shape: Ints) -> Value:
    """A number for each column, as an array of `shape`."""
    return broadcast_in_dim(d, shape=shape, dims=(*range(len(shape) - 2), len(shape) - 1))


def scale_rows(d: Value, x: Value) -> Value:
    """Each row of x times its number, real or of x's dtype."""
    return mul(per_row(convert(d, dtype=aval_of(x).dtype), aval_of(x).shape), x)


def scale_columns(x: Value, d: Value) -> Value:
    """Each column of x times its number, real or of x's dtype."""
    return mul(x, per_column(convert(d, dtype=aval_of(x).dtype), aval_of(x).shape))


def real_part(x: Value) -> Value:
    """The real part of complex x; real x itself."""
    return real(x) if aval_of(x).dtype in dt.COMPLEX else x


def imaginary(x: Value) -> Value:
    """i times the imaginary part of complex x, as complex."""
    part = imag(x)
    return complex(zeros(aval_of(part)), part)


def differences(w: Value) -> Value:
    """w[j] - w[i] at row i and column j."""
    a = aval_of(w)
    shape = (*a.shape, a.shape[-1])
    return sub(per_column(w, shape), per_row(w, shape))


def reciprocal_off_diagonal(x: Value) -> Value:
    """1 / x, and 0 on the diagonal, where x is 0.

    Not 0 for other zeros, the gaps between equal eigenvalues: where a is the identity matrix,
    v diag(w) v^H = a has ones for a gradient, and 0 would lose some. It is NaN there, as PyTorch's.
    """
    a = aval_of(x)
    one = identity(shape=a.shape, dtype=a.dtype)
    return sub(div(1, add(x, one)), one)


# ---- calls of LAPACK and cuSOLVER ----------------------------------------------------------------


def lapack(
    ctx: LowerContext, routine: str, operands: Sequence[Operand], outs: Sequence[Aval], attributes: str = ""
) -> list[Operand]:
    """In a lowering for the CPU: one LAPACK routine."""
    text, names = xla.lapack_call(routine, operands, [o.aval for o in operands], outs, attributes, result=ctx.fresh())
    ctx.lines.append(text + ctx.location)
    return [Operand(n, a) for n, a in zip(names, outs, strict=True)]


def cuda_call(
    ctx: LowerContext,
    target: str,
    operands: Sequence[Operand],
    outs: Sequence[Aval],
    attributes: str = "",
    *,
    matrices: tuple[str, str],
) -> list[Operand]:
    """In a lowering for CUDA: one kernel of jaxlib's plugin.

    `matrices` has a letter for each operand and each result: M is a column-major matrix.
    """
    takes, gives = ([letter == "M" for letter in letters] for letters in matrices)
    text, names = xla.custom_call_text(
        target,
        operands,
        [o.aval for o in operands],
        outs,
        result=ctx.fresh(),
        attributes=attributes,
        operand_matrices=takes,
        result_matrices=gives,
    )
    ctx.lines.append(text + ctx.location)
    return [Operand(n, a) for n, a in zip(names, outs, strict=True)]


def info_aval(a: Aval) -> Aval:
    """The aval of LAPACK's `info` for a stack of matrices."""
    return aval(a.shape[:-2], dt.int32)


def _nan_unless_zero(info: Value, *xs: Value) -> list[Value]:
    outs = []
    for x in xs:
        a = aval_of(x)
        fine = broadcast_in_dim(eq(info, 0), shape=a.shape, dims=tuple(range(aval_of(info).ndim)))
        outs.append(select(fine, x, full(a.shape, nan(a.dtype), a.dtype)))
    return outs


def nan_where_failed(ctx: LowerContext, info: Operand, *xs: Operand) -> list[Operand]:
    """In a lowering: NaN for the matrices whose `info` is not 0."""
    return ctx.call(_nan_unless_zero, info, *xs)


def _only_finite(a: Value) -> tuple[Value, ...]:
    """The matrices with 0 for those that hold inf or NaN, and 1 (int32) for each of these."""
    parts = (real(a), imag(a)) if a.dtype in dt.COMPLEX else (a,)
    fine = functools.reduce(and_, map(is_finite, parts))
    fine = reduce_and(fine, axes=(a.ndim - 2, a.ndim - 1))
    kept = broadcast_in_dim(fine, shape=a.shape, dims=tuple(range(a.ndim - 2)))
    return select(kept, a, zeros(a.aval)), convert(not_(fine), dtype=dt.int32)


def on_finite(ctx: LowerContext, a: Operand, call: Function) -> list[Operand]:
    """In a lowering: the results of call(matrices) -> (info, *results), NaN where that fails.

    Matrices that hold inf or NaN give NaN and never reach it: gesdd's iteration has no end on inf.
    """
    safe, spoilt = ctx.call(_only_finite, a)
    info, *results = call(safe)
    return nan_where_failed(ctx, ctx.op("stablehlo.or", info, spoilt, out=info.aval), *results)


def nan(dtype: np.dtype) -> builtins.complex:
    """NaN, in both parts if complex."""
    return math.nan * (1 + 1j) if dtype in dt.COMPLEX else math.nan


def unless_empty(shape: Function, lower: Function) -> Function:
    """The lowering but for stacks without elements, which LAPACK does not take."""

    def rule(ctx: LowerContext, *operands: Operand, **params: Any) -> Operand | list[Operand]:
        if all(o.aval.size for o in operands):
            return lower(ctx, *operands, **params)
        outs = shape(*[o.aval for o in operands], **params)
        if isinstance(outs, Aval):
            return ctx.call(_of_nothing, shape=outs.shape, dtype=outs.dtype)[0]
        return [ctx.call(_of_nothing, shape=o.shape, dtype=o.dtype)[0] for o in outs]

    return rule


def unavailable(name: str) -> Reason:
    """Stands for the lowering on platforms without one of its own."""
    return Reason(f"{name} is LAPACK's on CPU and cuSOLVER's on CUDA; no other platform has one")


def _of_nothing(*, shape: Ints, dtype: np.dtype) -> Value:
    """A result of a matrix without elements: nothing, an identity, or rows left in place."""
    if not math.prod(shape):
        return full(shape, 0, dtype)
    if dtype in dt.INTEGER:
        return iota(shape=shape, dtype=dtype, dimension=len(shape) - 1)
    return identity(shape=shape, dtype=dtype)


# ---- references ----------------------------------------------------------------------------------
# By SciPy's LAPACK, the one that jaxlib's kernels call, so that signs and phases agree.

_PREFIXES = {dt.float32: "s", dt.float64: "d", dt.complex64: "c", dt.complex128: "z"}


@functools.cache
def scipy_routine(name: str, dtype: np.dtype) -> Function:
    """SciPy's LAPACK (or BLAS) routine for a dtype: 'potrf' of float64 is dpotrf."""
    from scipy import linalg

    if dtype in dt.COMPLEX:
        name = {"orgqr": "ungqr", "syevd": "heevd"}.get(name, name)
    name = _PREFIXES[dtype] + name
    return getattr(linalg.lapack, name, None) or getattr(linalg.blas, name)


def stacked(shape: Function, one: Function) -> Function:
    """The reference for stacks, of a function of single matrices; empty ones never reach it.

    `shape` is the shape rule. Each operand's leading dimensions are those of the first.
    """

    def at(*avals: Aval, **params: Any) -> Function | None:
        """Of single matrices: 2 us less of the 6 to 7 for 4 x 4."""
        first = avals[0].shape
        if len(first) != 2 or not all([a.size for a in avals]):
            return None
        with_params = functools.partial(one, **params) if params else one
        return lambda *arrays: factorisation(first, with_params, *arrays)

    @specialised(at)
    def rule(*arrays: np.ndarray, **params: Any) -> np.ndarray | list[np.ndarray] | tuple[np.ndarray, ...]:
        lead = arrays[0].shape[:-2]
        expected = shape(*map(aval_of, arrays), **params)
        outs = (expected,) if isinstance(expected, Aval) else expected
        if not all(a.size for a in arrays):
            results = [_nothing(o.shape, o.dtype) for o in outs]
        elif not lead:
            return factorisation(arrays[0].shape, one, *arrays, **params)
        else:
            results = factorisation(arrays[0].shape, _loop, one, arrays, params, lead, outs)
        return results[0] if isinstance(expected, Aval) else results

    return rule


def _loop(
    one: Function, arrays: tuple[np.ndarray, ...], params: dict[str, bool], lead: Ints, outs: tuple[Aval, ...]
) -> list[np.ndarray]:
    count = math.prod(lead)
    flat = [a.reshape((count, *a.shape[len(lead) :])) for a in arrays]
    results = [np.empty((count, *o.shape[len(lead) :]), o.dtype) for o in outs]
    for k in range(count):
        found = one(*[a[k] for a in flat], **params)
        found = found if isinstance(found, (list, tuple)) else [found]
        for out, value in zip(results, found, strict=True):
            out[k] = value
    return [r.reshape(o.shape) for r, o in zip(results, outs)]


def _nothing(shape: Ints, dtype: np.dtype) -> np.ndarray:
    """As `_of_nothing`."""
    if not math.prod(shape):
        return np.zeros(shape, dtype)
    if dtype in dt.INTEGER:
        return np.broadcast_to(np.arange(shape[-1], dtype=dtype), shape)
    return np.broadcast_to(np.eye(*shape[-2:], dtype=dtype), shape)


def finite_reference(shape: Function, one: Function) -> Function:
    """As `on_finite`, for the reference of single matrices, one(a) -> (info, *results)."""

    def rule(a: np.ndarray, **params: Any) -> list[np.ndarray]:
        if has_all(np.isfinite(a)):
            info, *results = one(a, **params)
            if not info:
                return results
        return [np.full(o.shape, nan(o.dtype), o.dtype) for o in shape(aval_of(a), **params)]

    return stacked(shape, rule)
