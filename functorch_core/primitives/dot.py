"""dot_general: the one product of arrays; matmul, einsum and linear layers are made of it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand, full_precision
from ..core.primitive import Linear, Primitive, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Value
from ..xla.blas import matmul_for
from .arithmetic import div, mul
from .batching import Axis
from .convert import convert
from .declare import multilinear
from .reductions import accumulator, convert_operand
from .structure import broadcast_in_dim, transpose

# ---- dot_general ---------------------------------------------------------------------------------


def dot_general(
    x: Value,
    y: Value,
    *,
    contract: tuple[Ints, ...] = ((), ()),
    batch: tuple[Ints, ...] = ((), ()),
    out_dtype: np.dtype | None = None,
) -> Value:
    """Products of x and y, summed over the dimensions paired in `contract`.

    `contract` and `batch` are (dimensions of x, dimensions of y). The result has the batch
    dimensions, then the others of x, then the others of y. One dtype in; `out_dtype` (theirs by
    default) out. 16-bit floats are summed in float32, integers wrap.
    """
    out_dtype = aval_of(x).dtype if out_dtype is None else np.dtype(out_dtype)
    return bind(dot_general_p, x, y, contract=_pairs(contract), batch=_pairs(batch), out_dtype=out_dtype)


def _pairs(dims: tuple[Ints, ...]) -> tuple[Ints, Ints]:
    return tuple(dims[0]), tuple(dims[1])


def free_dims(ndim: int, contract: Ints, batch: Ints) -> Ints:
    """The dimensions of one operand that are neither contracted nor batch dimensions."""
    return tuple(d for d in range(ndim) if d not in contract and d not in batch)


def _dot_shape(x: Aval, y: Aval, *, contract: tuple[Ints, ...], batch: tuple[Ints, ...], out_dtype: np.dtype) -> Aval:
    if x.dtype != y.dtype or x.dtype not in dt.NUMERIC:
        message = f"dot_general takes numeric arrays of one dtype, got {x} and {y}; promote them first"
        raise dt.DtypeError(message, x.dtype if x.dtype == y.dtype else None)
    if dt.category(out_dtype) < dt.category(x.dtype) or out_dtype not in dt.NUMERIC:
        raise TypeError(f"dot_general of {x} and {y} cannot give {out_dtype}")
    for what, (of_x, of_y) in (("contract", contract), ("batch", batch)):
        _check_pairs(what, x, y, of_x, of_y)
    if set(contract[0]) & set(batch[0]) or set(contract[1]) & set(batch[1]):
        raise ValueError(
            f"dot_general of {x} and {y}: a dimension is in contract={contract} and in"
            f" batch={batch}; it can be in one of them"
        )
    shared = tuple(x.shape[d] for d in batch[0])
    return aval(
        (
            *shared,
            *(x.shape[d] for d in free_dims(x.ndim, contract[0], batch[0])),
            *(y.shape[d] for d in free_dims(y.ndim, contract[1], batch[1])),
        ),
        out_dtype,
    )


def _check_pairs(what: str, x: Aval, y: Aval, of_x: Ints, of_y: Ints) -> None:
    for a, dims in ((x, of_x), (y, of_y)):
        if len(set(dims)) != len(dims) or any(not 0 <= d < a.ndim for d in dims):
            raise ValueError(f"dot_general: {what} dimensions {dims} do not fit {a}: distinct, 0 to {a.ndim - 1}")
    if tuple(x.shape[d] for d in of_x) != tuple(y.shape[d] for d in of_y):
        raise ValueError(f"dot_general of {x} and {y}: the {what} dimensions {of_x} and {of_y} differ in size")


def sum_dtype(dtype: np.dtype, out_dtype: np.dtype) -> np.dtype:
    """The dtype that products are summed in."""
    return dt.promote(accumulator(dtype), out_dtype)


def _dot_at(
    x: Aval, y: Aval, *, contract: tuple[Ints, ...], batch: tuple[Ints, ...], out_dtype: np.dtype
) -> Function | None:
    """np.matmul of the operands as matrices, what that takes written down: None of other dtypes."""
    if not x.dtype == y.dtype == sum_dtype(x.dtype, out_dtype) == out_dtype:
        return None
    free_x, free_y = free_dims(x.ndim, contract[0], batch[0]), free_dims(y.ndim, contract[1], batch[1])
    shared, kept_x, kept_y, inner = (
        tuple(a.shape[d] for d in dims) for a, dims in ((x, batch[0]), (x, free_x), (y, free_y), (x, contract[0]))
    )
    n = math.prod(inner)
    left = _as_matrices(x, batch[0] + free_x + contract[0], (*shared, math.prod(kept_x), n))
    right = _as_matrices(y, batch[1] + contract[1] + free_y, (*shared, n, math.prod(kept_y)))
    shape = (*shared, *kept_x, *kept_y)
    matmul = matmul_for(math.prod(kept_x), math.prod(kept_y), n) if n != 1 else np.multiply  # BLAS takes ten times that
    if matmul is np.matmul and not shared and out_dtype.isbuiltin == 1:
        matmul = np.ndarray.dot  # of 4 x 4 numbers 0.3 us for 0.75
    if out_dtype in dt.INTEGER and min(math.prod(kept_x), math.prod(kept_y), n) >= FEW:
        matmul = functools.partial(_product_of_integers, matmul)
    if shape == (*shared, math.prod(kept_x), math.prod(kept_y)):
        return lambda x, y: matmul(left(x), right(y))
    return lambda x, y: matmul(left(x), right(y)).reshape(shape)


FEW = 16  # rows of integer matrices: what smaller ones take is not worth looking at them


def _product_of_integers(matmul: Function, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By floats, which BLAS multiplies, where all sums are whole numbers that these hold: 128 x 128 by 128 x 128 0.1 ms
    for NumPy's 1.8, 512 x 512 by 512 x 512 of int8 2.3 for 93."""
    largest = x.shape[-1]
    for a in (x, y):
        largest *= max(int(a.max()), -int(a.min())) if a.size else 0
    wide = _holding(largest)
    if wide is None:
        return np.matmul(x, y)
    found = matmul(x.astype(wide), y.astype(wide))
    if largest > np.iinfo(x.dtype).max:
        found = found.astype(np.int64)  # of which the lower bits are the sum that wraps
    return found.astype(x.dtype)


def _holding(largest: int) -> np.dtype | None:
    """Floats that hold all whole numbers up to this one."""
    return dt.float32 if largest <= 2**24 else dt.float64 if largest <= 2**53 else None


def _as_matrices(a: Aval, order: Ints, shape: Ints) -> Function:
    """How an array becomes (a stack of) matrices: nothing, a transposition, another shape, or both."""
    stays, same = order == tuple(range(a.ndim)), tuple(a.shape[d] for d in order) == shape
    if stays:
        return (lambda x: x) if same else lambda x: x.reshape(shape)
    return (lambda x: x.transpose(order)) if same else lambda x: x.transpose(order).reshape(shape)


@specialised(_dot_at)
def _dot_reference(
    x: np.ndarray, y: np.ndarray, *, contract: tuple[Ints, ...], batch: tuple[Ints, ...], out_dtype: np.dtype
) -> np.ndarray:
    wide = sum_dtype(x.dtype, out_dtype)
    x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
    run: Any = _dot_at(aval(x.shape, wide), aval(y.shape, wide), contract=contract, batch=batch, out_dtype=wide)
    return run(x, y)


# ---- lowering


def _dot_op(
    ctx: LowerContext, x: Operand, y: Operand, contract: tuple[Ints, ...], batch: tuple[Ints, ...], out: Aval
) -> Operand:
    numbers = (
        f"lhs_batching_dimensions = {list(batch[0])}, "
        f"rhs_batching_dimensions = {list(batch[1])}, "
        f"lhs_contracting_dimensions = {list(contract[0])}, "
        f"rhs_contracting_dimensions = {list(contract[1])}"
    )
    attrs = f"dot_dimension_numbers = #stablehlo.dot<{numbers}>" + full_precision(ctx, x.aval.dtype)
    return ctx.op("stablehlo.dot_general", x, y, out=out, attrs=attrs)


def _dot_lower(
    ctx: LowerContext,
    x: Operand,
    y: Operand,
    *,
    contract: tuple[Ints, ...],
    batch: tuple[Ints, ...],
    out_dtype: np.dtype,
) -> Operand:
    out = _dot_shape(x.aval, y.aval, contract=contract, batch=batch, out_dtype=out_dtype)
    return _dot_op(ctx, x, y, contract, batch, out)


def _run(dims: Ints) -> bool:
    """Whether dimensions are neighbours in order, so that they collapse to one for nothing."""
    return all(b == a + 1 for a, b in zip(dims, dims[1:]))


def _unturned(x: Operand, contract: Ints, batch: Ints) -> tuple[Operand, Ints]:
    """A matrix that was transposed for the dot as it was, and where its contracted dimension is then. XLA does so
    itself, but copies the matrix for a single row: x @ w.T for four matrices of 768 x 2304 4.2 ms, like this 0.5."""
    if x.made is None or x.aval.ndim != 2 or batch or len(contract) != 1 or x.made[0].primitive.name != "transpose":
        return x, contract
    return x.made[1][0], (1 - contract[0],)


def _collapse_operand(ctx: LowerContext, x: Operand, groups: list[Ints]) -> tuple[Operand, list[Ints]]:
    """x with each group of dimensions as one; its dimensions as tuples of those of x."""
    grouped = {d for group in groups for d in group}
    single = [(d,) for d in range(x.aval.ndim) if d not in grouped]
    order = sorted([*filter(None, groups), *single])
    if len(order) < x.aval.ndim:
        shape = tuple(math.prod(x.aval.shape[d] for d in dims) for dims in order)
        x = ctx.op("stablehlo.reshape", x, out=x.aval.with_shape(shape))
    return x, order


def _places(order: list[Ints], dims: Ints) -> Ints:
    """Where dimensions went, a group once."""
    return tuple(dict.fromkeys(next(i for i, group in enumerate(order) if d in group) for d in dims))


def _without_ones(ctx: LowerContext, x: Operand, contract: Ints, batch: Ints) -> tuple[Operand, Ints, Ints]:
    """x without free dimensions of size 1, and where its contracted and batch dimensions are then: a batched product
    with one takes XLA 78 ms to compile, 29 without."""
    ones = [d for d in free_dims(x.aval.ndim, contract, batch) if x.aval.shape[d] == 1]
    if not ones:
        return x, contract, batch
    kept = [d for d in range(x.aval.ndim) if d not in ones]
    x = ctx.op("stablehlo.reshape", x, out=x.aval.with_shape(tuple(x.aval.shape[d] for d in kept)))
    return x, tuple(map(kept.index, contract)), tuple(map(kept.index, batch))


def _batch_first(ctx: LowerContext, x: Operand, contract: Ints, batch: Ints) -> tuple[Operand, Ints, Ints]:
    """x with its batch dimensions first."""
    order = (*batch, *(d for d in range(x.aval.ndim) if d not in batch))
    if order != tuple(range(x.aval.ndim)):
        out = x.aval.with_shape(tuple(x.aval.shape[d] for d in order))
        x = ctx.op("stablehlo.transpose", x, out=out, attrs=f"permutation = array<i64: {', '.join(map(str, order))}>")
    return x, tuple(map(order.index, contract)), tuple(range(len(batch)))


def _plain(
    ctx: LowerContext, operands: tuple[Operand, Operand], contract: tuple[Ints, ...], batch: tuple[Ints, ...]
) -> tuple[tuple[Operand, Operand], tuple[Ints, ...], tuple[Ints, ...]]:
    """The same dot without free dimensions of size 1; of matrices by vectors with the batch first, as XLA, which would
    turn them round itself, gives the vectors that dimension back then."""
    sides = [_without_ones(ctx, x, *dims) for x, *dims in zip(operands, contract, batch)]
    if any(x.aval.ndim == len(inner) + len(shared) for x, inner, shared in sides):
        sides = [_batch_first(ctx, *side) for side in sides]
    (x, y), contract, batch = zip(*sides)
    return (x, y), contract, batch


def _collapse(
    ctx: LowerContext, operands: tuple[Operand, Operand], contract: tuple[Ints, ...], batch: tuple[Ints, ...]
) -> tuple[list[Operand], tuple[Ints, ...], tuple[Ints, ...]]:
    """The same dot with each run of neighbouring dimensions of one role as one dimension."""
    together = [pair for pair in (contract, batch) if _run(pair[0]) and _run(pair[1])]
    new, orders = [], []
    for side, operand in enumerate(operands):
        free = free_dims(operand.aval.ndim, contract[side], batch[side])
        groups = [pair[side] for pair in together] + [free if _run(free) else ()]
        operand, order = _collapse_operand(ctx, operand, groups)
        new.append(operand)
        orders.append(order)
    return new, tuple(map(_places, orders, contract)), tuple(map(_places, orders, batch))


def _dot_cpu(
    ctx: LowerContext,
    x: Operand,
    y: Operand,
    *,
    contract: tuple[Ints, ...],
    batch: tuple[Ints, ...],
    out_dtype: np.dtype,
) -> Operand:
    """Runs of dimensions collapsed to one before the dot: 8.8 ms of CPU for 10.2 in an MLP of 128,
    512, 128 with its gradient, on 12 x 64. 16-bit floats in float32, integers of 8 and 16 bits in floats that hold all
    sums: 512 x 512 by 512 x 512 of int8 in 59 ms by XLA's loops, of int16 in 131; 1.5 and 2.0 like this."""
    ctx.root.features.add("dot")
    out = _dot_shape(x.aval, y.aval, contract=contract, batch=batch, out_dtype=out_dtype)
    exact = _exact_floats(x.aval, contract[0]) if out_dtype in dt.INTEGER else None
    wide = exact or sum_dtype(x.aval.dtype, out_dtype)
    x, of_x = _unturned(x, contract[0], batch[0])
    y, of_y = _unturned(y, contract[1], batch[1])
    x, y, contract = convert_operand(ctx, x, wide), convert_operand(ctx, y, wide), (of_x, of_y)
    operands, contract, batch = _plain(ctx, (x, y), contract, batch)
    (x, y), contract, batch = _collapse(ctx, operands, contract, batch)
    flat = _dot_shape(x.aval, y.aval, contract=contract, batch=batch, out_dtype=wide)
    result = _dot_op(ctx, x, y, contract, batch, flat)
    if flat.shape != out.shape:
        result = ctx.op("stablehlo.reshape", result, out=out.with_dtype(wide))
    return convert_operand(ctx, convert_operand(ctx, result, dt.int64) if exact else result, out_dtype)


def _exact_floats(x: Aval, contracted: Ints) -> np.dtype | None:
    """Floats that hold all sums of products of these integers; None if these have more than 16 bits."""
    if x.dtype.itemsize > 2:
        return None
    info = np.iinfo(x.dtype)
    return _holding(max(info.max, -info.min) ** 2 * math.prod(x.shape[d] for d in contracted))


# ---- derivative and batching


def _by_x(ct: Value, y: Value, x: Aval, contract: tuple[Ints, ...], batch: tuple[Ints, ...]) -> Value:
    """The cotangent of x, [batch, free of x, contracted], put into x's order."""
    free_x, free_y = free_dims(x.ndim, contract[0], batch[0]), free_dims(y.aval.ndim, contract[1], batch[1])
    shared, kept = len(batch[0]), len(free_x)
    rest = tuple(range(shared + kept, shared + kept + len(free_y)))
    out = _dot_in(x.dtype, ct, y, (rest, free_y), (tuple(range(shared)), batch[1]))
    in_order = sorted(zip(contract[1], contract[0]))  # the result has them in y's order
    return _put(out, (*batch[0], *free_x, *(d for _, d in in_order)))


def _by_y(ct: Value, x: Value, y: Aval, contract: tuple[Ints, ...], batch: tuple[Ints, ...]) -> Value:
    """The cotangent of y, [batch, contracted, free of y], put into y's order."""
    free_x, free_y = free_dims(x.aval.ndim, contract[0], batch[0]), free_dims(y.ndim, contract[1], batch[1])
    shared = len(batch[0])
    rest = tuple(range(shared, shared + len(free_x)))
    in_order = [d for _, d in sorted(zip(*contract))]  # the result has them in x's order
    if all(y.shape[d] == 1 for d in free_y):  # a vector by x, which its rows go through as they lie
        out = _dot_in(y.dtype, ct, x, (rest, free_x), (tuple(range(shared)), batch[0]))
        return _put(out, (*batch[1], *free_y, *in_order))
    out = _dot_in(y.dtype, x, ct, (free_x, rest), (batch[0], tuple(range(shared))))
    return _put(out, (*batch[1], *in_order, *free_y))


def _dot_in(dtype: np.dtype, x: Value, y: Value, contract: tuple[Ints, ...], batch: tuple[Ints, ...]) -> Value:
    """A dot of operands whose dtypes may differ, with the result in `dtype`."""
    wide = dt.promote(aval_of(x).dtype, aval_of(y).dtype)
    x, y = convert(x, dtype=wide), convert(y, dtype=wide)
    return convert(dot_general(x, y, contract=contract, batch=batch), dtype=dtype)


def _put(x: Value, dims: Ints) -> Value:
    """x, whose dimension i is dimension dims[i] of the result."""
    return transpose(x, permutation=tuple(int(i) for i in np.argsort(dims)))


def _dot_transpose(
    ct: Value, x: Value, y: Value, *, contract: tuple[Ints, ...], batch: tuple[Ints, ...], out_dtype: np.dtype
) -> Cotangents:
    return (
        _by_x(ct, y, x.aval, contract, batch) if isinstance(x, Linear) else None,
        _by_y(ct, x, y.aval, contract, batch) if isinstance(y, Linear) else None,
    )


def _past(dims: Ints, batch_dim: int | None) -> Ints:
    """Dimensions of one example as dimensions of the batched operand."""
    return dims if batch_dim is None else tuple(d + (d >= batch_dim) for d in dims)


def _swapped_batch(
    x: Value, y: Value, contract: tuple[Ints, ...], batch: tuple[Ints, ...], at: int, count: int, out_dtype: np.dtype
) -> Batched:
    """A transposed matrix by many: y first, of which each is turned round, where else all of them would be as one.
    256 x 128, transposed, by 8 of 256 x 128 takes 0.5 ms for 1.9; 64 x 64 by 16 of 64 x 64 0.095 for 0.134."""
    out = dot_general(y, x, contract=contract[::-1], batch=batch[::-1], out_dtype=out_dtype)
    shared, ndim = len(batch[0]), aval_of(out).ndim
    of_x, of_y = range(ndim - count, ndim), [d for d in range(shared, ndim - count) if d != shared + at]
    return transpose(out, permutation=(*range(shared), shared + at, *of_x, *of_y)), shared


def _dot_batch(
    axis: Axis,
    args: Sequence[Value],
    dims: Dims,
    *,
    contract: tuple[Ints, ...],
    batch: tuple[Ints, ...],
    out_dtype: np.dtype,
) -> Batched:
    x, y = args
    dx, dy = dims
    contract = (_past(contract[0], dx), _past(contract[1], dy))
    batch = (_past(batch[0], dx), _past(batch[1], dy))
    if dx is not None and dy is not None:
        batch = ((dx, *batch[0]), (dy, *batch[1]))
        return dot_general(x, y, contract=contract, batch=batch, out_dtype=out_dtype), 0
    free_x, free_y = (free_dims(aval_of(a).ndim, contract[i], batch[i]) for i, a in enumerate(args))
    if dy is None:
        to = free_x.index(dx)
    elif free_y == (dy,):  # a matrix by many vectors gives rows, as what they meet next has them
        x, y, contract, batch, to = y, x, contract[::-1], batch[::-1], 0
    elif free_x and contract[0] and max(contract[0]) < min(free_x):
        return _swapped_batch(x, y, contract, batch, free_y.index(dy), len(free_x), out_dtype)
    else:
        to = len(free_x) + free_y.index(dy)
    return dot_general(x, y, contract=contract, batch=batch, out_dtype=out_dtype), len(batch[0]) + to


def sum_of_dots(x: Value, y: Value, *weights: Value, batch: tuple[Ints, ...], divided: bool) -> Value:
    """The sum over the first of the batch dimensions of a dot that contracts none, each example times (or divided by)
    its weight: a dot that contracts that dimension."""
    (bx, *more_x), (by, *more_y) = batch
    smaller, at = (x, bx) if aval_of(x).size <= aval_of(y).size else (y, by)
    for weight in weights:
        spread = broadcast_in_dim(weight, shape=aval_of(smaller).shape, dims=(at,))
        weighted = div(smaller, spread) if divided else mul(smaller, spread)
        x, y = (weighted, y) if smaller is x else (x, weighted)
    return dot_general(x, y, contract=((bx,), (by,)), batch=(tuple(more_x), tuple(more_y)))


WRITTEN = 5.0  # what it takes to write a result, in products
INTEGERS = 3.0  # a product of integers takes as long as so many: by float64, mostly
VECTOR = (
    10_000.0  # microseconds: what a matrix by a vector takes to compile, as XLA writes out its loops (matrices: 2,000)
)


def _products(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    contracted = math.prod(operands[0].shape[d] for d in params["contract"][0])
    products = results[0].size * (contracted + WRITTEN) if operands[1].size else 0.0
    return products * (1 if operands[0].dtype.kind in "fcV" else INTEGERS)


def _compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    by_floats = operands[0].dtype.kind in "fcV" or operands[0].dtype.itemsize <= 2
    return 0.2 if by_floats else 10.0  # XLA multiplies one integer after the other


def _compilation(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    rows, columns = (
        math.prod([x.shape[d] for d in free_dims(x.ndim, of, at)])
        for x, of, at in zip(operands, params["contract"], params["batch"], strict=True)
    )
    return VECTOR if rows == 1 or columns == 1 else 0.0


dot_general_p = Primitive(
    "dot_general",
    traits=Traits(
        family="dot",
        numpy=0.02,
        work=_products,
        compiled=_compiled,
        compile=_compilation,
        expensive=True,
        conjugates=True,
        fresh=True,
    ),
    shape=_dot_shape,
    reference=_dot_reference,
    lower=_dot_lower,
    lower_on={"cpu": _dot_cpu},
    jvp=multilinear(dot_general),
    transpose=_dot_transpose,
    batch=_dot_batch,
)
