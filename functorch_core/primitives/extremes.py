"""Maxima, minima and their places, which keep NaN, and how XLA's CPU compiler is made to."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.primitive import NOT_LINEAR, Primitive
from ..core.reference import contiguous, specialised
from ..core.trace import bind
from ..core.types import Function, Ints, Jvp, Tangents, Value
from .arithmetic import abs as abs_of
from .arithmetic import div, mul
from .batching import Axis
from .comparison import eq, select
from .convert import convert
from .declare import Wrapper, check_dtype, no_tangent, unless
from .host_few import extreme_of_few
from .reductions import (
    REDUCTION,
    accumulator,
    by_numpy,
    combine_by,
    compare_operands,
    convert_operand,
    declare_reduction,
    highest,
    kept_axes,
    lowest,
    reduce_operand,
    reduce_sum,
    reduced_shape,
    reshape_operand,
)
from .structure import broadcast_in_dim, full, zeros

# With its way around NaN. us of 512 x 512 along rows 35, along columns 75, of int64 75; places of extremes 120 to 150.
EXTREME = REDUCTION.but(compile=60_000, compiled=0.7)

# ---- reduce_max, reduce_min ----------------------------------------------------------------------
# NaN is the greatest and the least. XLA:CPU's library fusions lose it in a reduction by maximum or
# minimum, so there integers in the order of the numbers are compared; a few numbers by a choice that is spelled out,
# many along the last dimension by XLA's own if their sums do not say that there may be a NaN. ms:
#               64 x 64, all   1000 x 1000, columns   100 x 100, rows, in a loop   rows of 16384 x 128   1024 x 2000
# maximum            0.011                    0.067                        0.034                 0.055         0.055
# spelled out        0.017                    0.835                        0.135                 0.331         0.684
# maximum and sums   0.014                    0.159                        0.081                 0.120         0.100
# integers           0.011                    0.131                        0.041                 1.551         1.541

FEW, LARGE = 1 << 8, 1 << 14  # elements
# Few elements of each reduction are a choice that is spelled out. us, and ms to compile with what follows: rows of
# 1000 x 8 11.5 and 76, by integers 12.6 and 77; of 20000 x 4 54 and 65, by maximum and sums 170 and 140; of 5000 x 16
# 112 and 100 for 114 and 193. Without XLA's fusion emitters (not in fc.jit) large ones take 1.3 to 2.3 times as long.
SHORT = 16
WINDOW = 32  # of a longer axis XLA reduces windows of so many elements first
ORDERED_BITS = {np.dtype(f"float{n}"): np.dtype(f"int{n}") for n in (16, 32, 64)} | {dt.bfloat16: dt.int16}


def choose_keeping_nan(direction: str) -> Function:
    """The body of a reduction that takes a where it compares so with b, or is NaN."""

    def body(ctx: LowerContext, a: Operand, b: Operand) -> Operand:
        wins, nan = compare_operands(ctx, direction, a, b), compare_operands(ctx, "NE", a, a)
        wins = ctx.op("stablehlo.or", wins, nan, out=wins.aval)
        return ctx.op("stablehlo.select", wins, a, b, out=a.aval)

    return body


def _extreme_lower(hlo: str, direction: str, identity: Function) -> Function:
    def rule(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
        dtype, size = x.aval.dtype, x.aval.size
        if ctx.platform != "cpu" or dtype not in dt.FLOATING:
            return reduce_operand(ctx, x, axes, combine_by(hlo), identity(dtype))
        if ctx.root.meshes:
            return _extreme_on_mesh(ctx, x, axes, hlo, identity(dtype))
        short = math.prod(x.aval.shape[d] for d in axes) <= SHORT and (size < LARGE or "jit" in ctx.root.features)
        if size < FEW or dtype not in ORDERED_BITS or short:
            return reduce_operand(ctx, x, axes, choose_keeping_nan(direction), identity(dtype))
        if dtype in (dt.float32, dt.float64) and size >= LARGE and x.aval.ndim - 1 in axes:
            return _extreme_of_many(ctx, x, axes, hlo, choose_keeping_nan(direction), identity(dtype))
        return _extreme_of_bits(ctx, x, axes, hlo, identity)

    return rule


def _extreme_of_bits(ctx: LowerContext, x: Operand, axes: Ints, hlo: str, identity: Function) -> Operand:
    """Of integers in the order of the numbers, where NaN goes beyond the infinity that is not the identity."""
    nan = math.copysign(math.nan, -float(identity(dt.float32)))
    # The bits of absolute values, NaN among them, are in their order as they are.
    signless = hlo == "stablehlo.maximum" and _is_absolute(x)
    x, axes = _in_short_axes(ctx, x, axes)
    bits = x.aval.with_dtype(ORDERED_BITS[x.aval.dtype])
    # Also what keeps XLA from undoing the reshape.
    numbers = ctx.op("stablehlo.select", compare_operands(ctx, "NE", x, x), ctx.full(x.aval, nan), x, out=x.aval)
    ordered = ctx.op("stablehlo.bitcast_convert", numbers, out=bits)
    if not signless:
        ordered = _flip_negative(ctx, ordered)
    best = reduce_operand(ctx, ordered, axes, combine_by(hlo), identity(bits.dtype))
    if not signless:
        best = _flip_negative(ctx, best)
    return ctx.op("stablehlo.bitcast_convert", best, out=best.aval.with_dtype(x.aval.dtype))


def _is_absolute(x: Operand) -> bool:
    """Whether it is the absolute value of real numbers, so that no sign bit is set."""
    return x.made is not None and x.made[0].primitive is abs_of.primitive and x.made[1][0].aval.dtype == x.aval.dtype


def _in_short_axes(ctx: LowerContext, x: Operand, axes: Ints) -> tuple[Operand, Ints]:
    """The same with axes of 32 elements at most, where the last is reduced and that is possible.

    Longer ones XLA reduces by windows of 32 first, two programs of loops more: max(abs(x - y)) of 64 x 64 takes
    70 ms to compile and 7.5 us so, 41 ms and 6.1 us in one.
    """
    if x.aval.ndim - 1 not in axes:  # down columns the windows are vectors
        return x, axes
    parts = [_factors(n) if d in axes else (n,) for d, n in enumerate(x.aval.shape)]
    ends = list(itertools.accumulate(map(len, parts)))
    axes = tuple(k for d in axes for k in range(ends[d] - len(parts[d]), ends[d]))
    shape = tuple(itertools.chain.from_iterable(parts))
    return (x if shape == x.aval.shape else reshape_operand(ctx, x, shape)), axes


def _factors(n: int) -> Ints:
    """Numbers of at most WINDOW whose product is n; n itself if there are none."""
    found: list[int] = []
    rest = n
    while rest > WINDOW:
        factor = next((k for k in range(WINDOW, 1, -1) if rest % k == 0), None)
        if factor is None:
            return (n,)
        found.append(factor)
        rest //= factor
    return (rest, *reversed(found))


def _flip_negative(ctx: LowerContext, bits: Operand) -> Operand:
    """All bits but the sign the other way round where it is set: from a float's bits to its order and back."""
    info = dt.iinfo(bits.aval.dtype)
    sign = ctx.op("stablehlo.shift_right_arithmetic", bits, ctx.full(bits.aval, info.bits - 1), out=bits.aval)
    others = ctx.op("stablehlo.and", sign, ctx.full(bits.aval, info.max), out=bits.aval)
    return ctx.op("stablehlo.xor", bits, others, out=bits.aval)


def _extreme_of_many(ctx: LowerContext, x: Operand, axes: Ints, hlo: str, careful: Function, identity: Any) -> Operand:
    """XLA's own reduction, unless a sum over the same axes shows that there may be a NaN."""
    quick = reduce_operand(ctx, x, axes, combine_by(hlo), identity)
    sums = reduce_operand(ctx, x, axes, combine_by("stablehlo.add"), 0)
    odd = compare_operands(ctx, "NE", sums, sums)
    if odd.aval.ndim:
        odd = reduce_operand(ctx, odd, tuple(range(odd.aval.ndim)), combine_by("stablehlo.or"), 0)
    return unless(ctx, odd, quick, lambda inner: reduce_operand(inner, x, axes, careful, identity))


def _extreme_on_mesh(ctx: LowerContext, x: Operand, axes: Ints, hlo: str, identity: Any) -> Operand:
    """Over several devices, which exchange maxima by XLA's own reductions only: beside one that says where NaNs are."""
    quick = reduce_operand(ctx, x, axes, combine_by(hlo), identity)
    odd = convert_operand(ctx, compare_operands(ctx, "NE", x, x), dt.int32)
    odd = reduce_operand(ctx, odd, axes, combine_by("stablehlo.maximum"), 0)
    odd = compare_operands(ctx, "NE", odd, ctx.full(odd.aval, 0))
    return ctx.op("stablehlo.select", odd, ctx.full(quick.aval, np.nan), quick, out=quick.aval)


def _narrow_reference(fun: np.ufunc) -> Function:
    """A choice among elements: NumPy's, by way of float32 for dtypes that are not NumPy's own."""
    find = "argmax" if fun is np.maximum else "argmin"

    def at(x: Aval, *, axes: Ints) -> Function | None:
        if x.dtype.kind == "V":
            return None
        if x.dtype in (dt.float32, dt.float64) and x.size >= PLACED and axes == (x.ndim - 1,) and x.shape[-1] >= SHORT:
            return functools.partial(_by_places, find)
        return extreme_of_few(find, x, axes) or by_numpy(fun, x, axes)

    @specialised(at)
    def rule(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        if x.dtype.kind != "V":
            return fun.reduce(x, axis=axes)
        return fun.reduce(x.astype(np.float32), axis=axes).astype(x.dtype)

    return rule


PLACED = 1 << 11  # elements


def _by_places(find: str, x: np.ndarray) -> np.ndarray:
    """The extremes of rows by where they are, for which NumPy has vectors: of 1,024 x 256 numbers 22 us for 81. NaN are
    extremes there, too."""
    rows = x.reshape(-1, x.shape[-1])
    places = getattr(rows, find)(1)
    places += np.arange(0, rows.size, rows.shape[1])
    return rows.reshape(-1).take(places).reshape(x.shape[:-1])


def _extreme_jvp(primals: Sequence[Value], tangents: Tangents, *, axes: Ints, apply: Function) -> Jvp:
    """The tangent is shared equally among the elements that equal the result."""
    x, t = primals[0], tangents[0]
    a, out = aval_of(x), apply(x, axes=axes)
    ties = eq(x, broadcast_in_dim(out, shape=a.shape, dims=kept_axes(a.ndim, axes)))
    wide = accumulator(a.dtype)
    count = reduce_sum(convert(ties, dtype=wide), axes=axes)
    share = convert(div(full(aval_of(count).shape, 1, wide), count), dtype=a.dtype)
    return out, mul(reduce_sum(select(ties, t, zeros(a)), axes=axes), share)


def _loose_lower(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
    return reduce_operand(ctx, x, axes, combine_by("stablehlo.maximum"), lowest(x.aval.dtype))


def _extreme_reduction(name: str, fun: np.ufunc, hlo: str, direction: str, identity: Function) -> Wrapper:
    apply: Wrapper = declare_reduction(
        name,
        _narrow_reference(fun),
        _extreme_lower(hlo, direction, identity),
        dtypes=dt.ORDERED,
        what="real or bool",
        nonempty=True,
        traits=EXTREME.but(moves=slice(0, 1)),
        jvp=lambda primals, tangents, *, axes: _extreme_jvp(primals, tangents, axes=axes, apply=apply),
    )
    return apply


reduce_max = _extreme_reduction("reduce_max", np.maximum, "stablehlo.maximum", "GT", lowest)
reduce_min = _extreme_reduction("reduce_min", np.minimum, "stablehlo.minimum", "LT", highest)


def _loose_at(x: Aval, *, axes: Ints) -> Function | None:
    if x.dtype == dt.float32 and x.size >= LARGE and axes == (x.ndim - 1,) and x.shape[-1] < WIDE:
        return _loose_by_bits
    return _of_rows.specialised(x, axes=axes)  # type: ignore[attr-defined]  # it is a rule


def _loose_by_bits(x: np.ndarray) -> np.ndarray:
    """The greatest of each row as an integer of the same bits, which is that of the numbers where one has no sign; of
    other rows by the numbers. 64 x 128 rows of 128: 0.24 ms for 0.60."""
    out = np.maximum.reduce(x.view(np.int32), -1).view(np.float32)
    signed = np.signbit(out)
    if signed.any():
        out[signed] = np.maximum.reduce(x[signed], -1)
    return out


WIDE = 64  # elements of rows whose greatest is found quicker by its place
_of_rows = _narrow_reference(np.maximum)


@specialised(_loose_at)
def _loose_reference(x: np.ndarray, *, axes: Ints) -> np.ndarray:
    return _of_rows(x, axes=axes)


# What exponentials are shifted by, where a NaN comes back through their sum: XLA's own maximum, one library call.
# Over rows of 16384 x 128: 0.055 ms for 0.33 with the choice spelled out; 1024 x 2000: 0.055 for 0.68.
reduce_max_loose: Wrapper = declare_reduction(
    "reduce_max_loose",
    _loose_reference,
    _loose_lower,
    dtypes=dt.FLOATING,
    what="floating",
    nonempty=True,
    jvp=lambda primals, tangents, *, axes: _extreme_jvp(primals, tangents, axes=axes, apply=reduce_max_loose),
)
reduce_max_loose.__doc__ = "reduce_max, which of rows with a NaN may be any element."

# ---- argmax, argmin ------------------------------------------------------------------------------
# The first index where several elements are extreme; the first NaN where there is one. Two plain
# reductions, of the values and of the indices that have the extreme: one reduction of pairs takes
# 4.6 ms for 0.95 over 1000 x 1000.


def argmax(x: Value, *, axis: int, index_dtype: type[Any] | np.dtype = dt.int64) -> Value:
    """The first index of the greatest element along `axis`, which disappears; NaN is greatest."""
    return bind(argmax_p, x, axis=axis, index_dtype=np.dtype(index_dtype))


def argmin(x: Value, *, axis: int, index_dtype: type[Any] | np.dtype = dt.int64) -> Value:
    """The first index of the least element along `axis`, which disappears; NaN is least."""
    return bind(argmin_p, x, axis=axis, index_dtype=np.dtype(index_dtype))


TURNED = 1 << 17  # elements; down columns NumPy goes across the memory: 512 x 512 310 us, 61 as rows of a turned copy


def _index_rules(name: str, direction: str, fun: Any, hlo: str, identity: Function, apply: Function) -> dict[str, Any]:
    def shape(x: Aval, *, axis: int, index_dtype: np.dtype) -> Aval:
        check_dtype(name, x, dt.ORDERED, "real or bool")
        if index_dtype not in dt.INTEGER:
            raise TypeError(f"{name} gives indices of an integer dtype, not {index_dtype}")
        out = reduced_shape(name, x, (axis,))
        if x.shape[axis] == 0:
            raise ValueError(f"{name} of {x} along axis {axis}, which has no elements; give it at least one")
        return aval(out, index_dtype)

    def at(x: Aval, *, axis: int, index_dtype: np.dtype) -> Function | None:
        if x.dtype.kind == "V" or index_dtype != dt.int64:
            return None
        if x.size >= TURNED and axis < x.ndim - 1 and x.dtype.itemsize > 2:
            return lambda array: getattr(contiguous(np.moveaxis(array, axis, -1)), name)(-1)
        return operator.methodcaller(name, axis)

    @specialised(at)
    def reference(x: np.ndarray, *, axis: int, index_dtype: np.dtype) -> np.ndarray:
        return fun(x.astype(np.float32) if x.dtype.kind == "V" else x, axis=axis)

    def lower(ctx: LowerContext, x: Operand, *, axis: int, index_dtype: np.dtype) -> Operand:
        a = x.aval
        # int8 counts to 127: indices are counted in a dtype that holds them all
        counted = dt.int32 if a.shape[axis] < 2**31 else dt.int64
        index = a.with_dtype(counted)
        best = _extreme_lower(hlo, direction, identity)(ctx, x, axes=(axis,))
        best = ctx.op(
            "stablehlo.broadcast_in_dim",
            best,
            out=a,
            attrs=f"broadcast_dimensions = {dims_attr(kept_axes(a.ndim, (axis,)))}",
        )
        hits = compare_operands(ctx, "EQ", x, best)
        if a.dtype in dt.FLOATING:
            hits = ctx.op("stablehlo.or", hits, compare_operands(ctx, "NE", x, x), out=hits.aval)
        places = ctx.op("stablehlo.iota", out=index, attrs=f"iota_dimension = {axis} : i64")
        places = ctx.op("stablehlo.select", hits, places, ctx.full(index, a.shape[axis]), out=index)
        first = reduce_operand(ctx, places, (axis,), combine_by("stablehlo.minimum"), a.shape[axis])
        return convert_operand(ctx, first, index_dtype)

    def batch(
        axis_: Axis, args: list[Value], dims: list[int], *, axis: int, index_dtype: np.dtype
    ) -> tuple[Value, int]:
        (d,) = dims
        moved = axis + (axis >= d)
        return apply(args[0], axis=moved, index_dtype=index_dtype), d - (moved < d)

    return {
        "shape": shape,
        "reference": reference,
        "lower": lower,
        "batch": batch,
        "jvp": no_tangent(apply),
        "transpose": NOT_LINEAR,
    }


argmax_p = Primitive(
    "argmax",
    traits=EXTREME.but(compile=120_000, compiled=1.8),
    **_index_rules("argmax", "GT", np.argmax, "stablehlo.maximum", lowest, argmax),
)
argmin_p = Primitive(
    "argmin",
    traits=EXTREME.but(compile=120_000, compiled=1.8),
    **_index_rules("argmin", "LT", np.argmin, "stablehlo.minimum", highest, argmin),
)
