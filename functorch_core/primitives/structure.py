"""Shapes: making, broadcasting, reshaping and permuting arrays; identities."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.graph import Literal
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.primitive import NOT_LINEAR, Primitive, Traits
from ..core.reference import LARGE, contiguous, specialised
from ..core.trace import bind, constant_p
from ..core.types import Cotangents, Function, Ints, Jvps, Tangents, Value
from .batching import Axis, move_batch_axis
from .declare import jointly_linear
from .host_copies import repeated

MOVING = Traits(family="structure", conjugates=True, moves=slice(0, 1), carries=True)
VIEW = MOVING.but(numpy=0)  # elements read through it are counted where they are read

# ---- constants -----------------------------------------------------------------------------------


def constant(value: np.ndarray | np.generic) -> Value:
    """A concrete array as a value of the active trace."""
    return bind(constant_p, value=Literal(value))


def full(shape: Ints, fill: complex, dtype: np.dtype) -> Value:
    """An array of one repeated number: a scalar constant, broadcast."""
    scalar = constant(np.asarray(fill).astype(dtype))
    return broadcast_in_dim(scalar, shape=tuple(shape), dims=()) if len(shape) else scalar


def zeros(like: Aval) -> Value:
    """Zeros of an aval."""
    return full(like.shape, 0, like.dtype)


# ---- broadcast_in_dim ----------------------------------------------------------------------------


def broadcast_in_dim(x: Value, *, shape: Ints, dims: Ints) -> Value:
    """Broadcast x to `shape`, its dimension i becoming dimension dims[i] (increasing)."""
    if tuple(shape) == aval_of(x).shape:
        return x
    return bind(broadcast_in_dim_p, x, shape=tuple(shape), dims=tuple(dims))


def _broadcast_in_dim_shape(x: Aval, *, shape: Ints, dims: Ints) -> Aval:
    fits = len(dims) == x.ndim and all(n in (1, shape[d]) for n, d in zip(x.shape, dims))
    if not fits or any(a >= b for a, b in zip(dims, dims[1:])):
        raise ValueError(f"broadcast_in_dim cannot place {x} in shape {shape} at dimensions {dims}")
    return aval(shape, x.dtype)


def _broadcast_at(x: Aval, *, shape: Ints, dims: Ints) -> Function | None:
    if x.dtype.isbuiltin != 1 or not x.size:
        return None
    strides, step, dtype = [0] * len(shape), x.dtype.itemsize, x.dtype
    for n, d in zip(reversed(x.shape), reversed(dims)):
        strides[d] = step if n == shape[d] else 0
        step *= n
    along = tuple(strides)
    if not x.ndim:
        return lambda x: np.ndarray(shape, dtype, np.asarray(x), 0, along)  # 0.5 us for 3.5

    def run(x: np.ndarray) -> np.ndarray:
        if x.flags.c_contiguous:
            return np.ndarray(shape, dtype, x, 0, along)
        return _broadcast_in_dim_reference(x, shape=shape, dims=dims)

    return run


@specialised(_broadcast_at)
def _broadcast_in_dim_reference(x: np.ndarray, *, shape: Ints, dims: Ints) -> np.ndarray:
    expanded = [1] * len(shape)
    for n, d in zip(x.shape, dims):
        expanded[d] = n
    return np.broadcast_to(x.reshape(expanded), shape)


def _broadcast_in_dim_lower(ctx: LowerContext, x: Operand, *, shape: Ints, dims: Ints) -> Operand:
    return ctx.op(
        "stablehlo.broadcast_in_dim",
        x,
        out=aval(shape, x.aval.dtype),
        attrs=f"broadcast_dimensions = {dims_attr(dims)}",
    )


def _broadcast_in_dim_transpose(ct: Value, x: Value, *, shape: Ints, dims: Ints) -> Cotangents:
    from .reductions import reduce_sum

    a = x.aval
    kept = {d: n for n, d in zip(a.shape, dims) if n != 1 or shape[d] == 1}
    summed = reduce_sum(ct, axes=tuple(d for d in range(len(shape)) if d not in kept))
    return (reshape(summed, shape=a.shape),)


def _broadcast_in_dim_batch(
    axis: Axis, args: list[Value], batch_dims: list[int], *, shape: Ints, dims: Ints
) -> tuple[Value, int]:
    x = move_batch_axis(axis, args[0], batch_dims[0], 0)
    return broadcast_in_dim(x, shape=(axis.size, *shape), dims=(0, *(d + 1 for d in dims))), 0


broadcast_in_dim_p = Primitive(
    "broadcast_in_dim",
    traits=VIEW.but(free=True, sizes=("shape",)),
    shape=_broadcast_in_dim_shape,
    reference=_broadcast_in_dim_reference,
    lower=_broadcast_in_dim_lower,
    jvp=jointly_linear(broadcast_in_dim),
    transpose=_broadcast_in_dim_transpose,
    batch=_broadcast_in_dim_batch,
)

# ---- reshape -------------------------------------------------------------------------------------


def reshape(x: Value, *, shape: Ints) -> Value:
    """The same elements in row-major order under another shape of the same size."""
    if tuple(shape) == aval_of(x).shape:
        return x
    return bind(reshape_p, x, shape=tuple(shape))


def _reshape_shape(x: Aval, *, shape: Ints) -> Aval:
    out = aval(shape, x.dtype)
    if out.size != x.size:
        raise ValueError(f"reshape cannot make {out} of {x}: {x.size} elements, {out.size} wanted")
    return out


def _reshape_at(x: Aval, *, shape: Ints) -> Function:
    plain = operator.methodcaller("reshape", shape)
    if x.size < LARGE:
        return plain

    def of_large(array: np.ndarray) -> np.ndarray:
        """What has to be copied is copied by strips, what repeats elements in a row by words."""
        if array.flags.c_contiguous:
            return array.reshape(shape)
        try:
            return array.reshape(shape, copy=False)
        except (ValueError, TypeError):  # the latter from NumPy before 2.1
            return (contiguous if array.strides[-1] else repeated)(array).reshape(shape)

    return of_large


def _reshape_batch(axis: Axis, args: list[Value], batch_dims: list[int], *, shape: Ints) -> tuple[Value, int]:
    x = move_batch_axis(axis, args[0], batch_dims[0], 0)
    return reshape(x, shape=(axis.size, *shape)), 0


reshape_p = Primitive(
    "reshape",
    traits=VIEW.but(sizes=("shape",)),
    shape=_reshape_shape,
    reference=specialised(_reshape_at)(lambda x, *, shape: np.reshape(x, shape)),
    lower=lambda ctx, x, *, shape: ctx.op("stablehlo.reshape", x, out=aval(shape, x.aval.dtype)),
    jvp=jointly_linear(reshape),
    transpose=lambda ct, x, *, shape: (reshape(ct, shape=x.aval.shape),),
    batch=_reshape_batch,
)

# ---- transpose -----------------------------------------------------------------------------------


def transpose(x: Value, *, permutation: Sequence[int]) -> Value:
    """Permute the dimensions: dimension i of the result is dimension permutation[i] of x."""
    if tuple(permutation) == tuple(range(len(permutation))):
        return x
    return bind(transpose_p, x, permutation=tuple(permutation))


def _transpose_shape(x: Aval, *, permutation: Ints) -> Aval:
    if sorted(permutation) != list(range(x.ndim)):
        raise ValueError(f"transpose: {permutation} is not a permutation of {x.ndim} dimensions")
    return aval(tuple(x.shape[p] for p in permutation), x.dtype)


def _transpose_lower(ctx: LowerContext, x: Operand, *, permutation: Ints) -> Operand:
    return ctx.op(
        "stablehlo.transpose",
        x,
        out=_transpose_shape(x.aval, permutation=permutation),
        attrs=f"permutation = {dims_attr(permutation)}",
    )


def _transpose_transpose(ct: Value, x: Value, *, permutation: Ints) -> Cotangents:
    return (transpose(ct, permutation=tuple(int(i) for i in np.argsort(permutation))),)


def _transpose_batch(axis: Axis, args: list[Value], batch_dims: list[int], *, permutation: Ints) -> tuple[Value, int]:
    (d,) = batch_dims
    moved = tuple(p + (p >= d) for p in permutation)
    return transpose(args[0], permutation=(d, *moved)), 0


transpose_p = Primitive(
    "transpose",
    traits=VIEW,
    shape=_transpose_shape,
    reference=specialised(lambda x, *, permutation: operator.methodcaller("transpose", permutation))(
        lambda x, *, permutation: np.transpose(x, permutation)
    ),
    lower=_transpose_lower,
    jvp=jointly_linear(transpose),
    transpose=_transpose_transpose,
    batch=_transpose_batch,
)


def squeeze(x: Value, *, dims: Ints) -> Value:
    """Without the dimensions `dims`, each of size 1: a reshape."""
    shape = aval_of(x).shape
    if any(not 0 <= d < len(shape) or shape[d] != 1 for d in dims):
        raise ValueError(f"squeeze: dimensions {tuple(dims)} of {aval_of(x)} are not all of size 1")
    return reshape(x, shape=tuple(n for d, n in enumerate(shape) if d not in dims))


def expand_dims(x: Value, *, dims: Ints) -> Value:
    """With new dimensions of size 1, which are the result's dimensions `dims`: a reshape."""
    old = aval_of(x).shape
    ndim = len(old) + len(dims)
    if len(set(dims)) != len(dims) or any(not 0 <= d < ndim for d in dims):
        raise ValueError(f"expand_dims: {tuple(dims)} are not distinct dimensions of {ndim}")
    sizes = iter(old)
    return reshape(x, shape=tuple(1 if d in dims else next(sizes) for d in range(ndim)))


# ---- iota ----------------------------------------------------------------------------------------


def iota(*, shape: Ints, dtype: type[Any] | np.dtype, dimension: int = 0) -> Value:
    """An array of `shape` whose elements count 0, 1, ... along `dimension`."""
    return bind(iota_p, shape=tuple(shape), dtype=np.dtype(dtype), dimension=dimension)


def _iota_shape(*, shape: Ints, dtype: np.dtype, dimension: int) -> Aval:
    if dtype not in dt.NUMERIC:
        raise TypeError(f"iota takes a numeric dtype, got {dtype.name}; count in int64 and convert")
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota: dimension {dimension} is not one of shape {tuple(shape)}")
    return aval(shape, dtype)


def _iota_reference(*, shape: Ints, dtype: np.dtype, dimension: int) -> np.ndarray:
    line = np.arange(shape[dimension]).astype(dtype)
    expanded = [1] * len(shape)
    expanded[dimension] = shape[dimension]
    return np.broadcast_to(line.reshape(expanded), shape)


def _iota_lower(ctx: LowerContext, *, shape: Ints, dtype: np.dtype, dimension: int) -> Operand:
    return ctx.op("stablehlo.iota", out=aval(shape, dtype), attrs=f"iota_dimension = {dimension} : i64")


iota_p = Primitive(
    "iota",
    traits=Traits(family="structure", free=True, sizes=("shape",)),
    shape=_iota_shape,
    reference=_iota_reference,
    lower=_iota_lower,
    jvp=lambda primals, tangents, **params: (iota(**params), None),
    transpose=NOT_LINEAR,
    batch=lambda axis, args, dims, **params: (iota(**params), None),
)

# ---- identities: copy, name, optimization_barrier ------------------------------------------------


def _identity(name: str) -> tuple[Function, Primitive]:
    """A primitive that is the identity of one operand, and its wrapper (static params free)."""

    def apply(x: Value, **params: Any) -> Value:
        return bind(primitive, x, **params)

    primitive = Primitive(
        name,
        traits=MOVING,
        shape=lambda x, **params: x,
        reference=lambda x, **params: np.array(x),
        lower=lambda ctx, x, **params: x,
        jvp=jointly_linear(apply),
        transpose=lambda ct, x, **params: (apply(ct, **params),),
        batch=lambda axis, args, dims, **params: (apply(args[0], **params), dims[0]),
    )
    return apply, primitive


_copy, copy_p = _identity("copy")
_name, name_p = _identity("name")


def copy(x: Value) -> Value:
    """x as a fresh value: the reference computes a new array, a graph gets a new slot."""
    return _copy(x)


def name(x: Value, *, name: str) -> Value:
    """x itself, under a name that rematerialisation policies look for."""
    return _name(x, name=name)


def optimization_barrier(*xs: Value) -> list[Value]:
    """The operands, none of which is available before all are: XLA moves nothing across."""
    return list(bind(optimization_barrier_p, *xs))


def _barrier_lower(ctx: LowerContext, *xs: Operand) -> list[Operand]:
    ctx.root.features.add("barrier")  # on CPU a barrier holds only with an option of its own
    return ctx.op("stablehlo.optimization_barrier", *xs, out=[x.aval for x in xs]) if xs else []


MIN_HELD = 512  # elements; fewer are computed again as quickly as they are kept


def held(ctx: LowerContext, x: Operand) -> Operand:
    """In a lowering for CPU: x behind a barrier, so that no loop that reads it computes it; small ones as they are."""
    if x.aval.size < MIN_HELD:
        return x
    ctx.root.features.add("barrier")
    return ctx.op("stablehlo.optimization_barrier", x, out=x.aval)


def _barrier_of_present(values: Sequence[Value | None]) -> list[Value | None]:
    """A barrier of the values that are not None; None stays."""
    present = [v for v in values if v is not None]
    held = iter(optimization_barrier(*present) if present else ())
    return [None if v is None else next(held) for v in values]


def _barrier_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvps:
    return optimization_barrier(*primals), _barrier_of_present(tangents)


optimization_barrier_p = Primitive(
    "optimization_barrier",
    traits=Traits(family="structure", numpy=0, carries=True),
    multiple=True,
    shape=lambda *xs: xs,
    reference=lambda *xs: xs,
    lower=_barrier_lower,
    jvp=_barrier_jvp,
    transpose=lambda cts, *xs: _barrier_of_present(cts),
    batch=lambda axis, args, dims: (optimization_barrier(*args), list(dims)),
)
