"""Reductions over axes: sums, products, extremes, logic, and the places of extremes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.primitive import NOT_LINEAR, Primitive, Reason, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Jvp, Tangents, Value
from .arithmetic import div, mul, neg
from .batching import Axis
from .comparison import eq, select
from .convert import convert
from .declare import Wrapper, check_dtype, jointly_linear, no_tangent, wrapper
from .host_sums import LONG, runs, sum_by_ones
from .structure import broadcast_in_dim, broadcast_in_dim_p, full, held, reshape, transpose, zeros

REDUCTION = Traits(family="reduction", numpy=0.15, expensive=True)
EXTREME = REDUCTION.but(compile=60_000)  # with its way around NaN

# ---- what reductions share -----------------------------------------------------------------------


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which sums of `dtype` are kept: float32 for 16 and 8 bits, else itself."""
    return dt.wide(dtype)


def lowest(dtype: np.dtype) -> Any:
    """The identity of max: -inf, or the least number of a dtype without infinities."""
    return _extreme(dtype, -1)


def highest(dtype: np.dtype) -> Any:
    """The identity of min: inf, or the greatest number of a dtype without infinities."""
    return _extreme(dtype, 1)


@functools.cache
def _extreme(dtype: np.dtype, sign: int) -> Any:
    if dtype == dt.bool_:
        return np.bool_(sign > 0)
    if dtype in dt.INTEGER:
        return dt.iinfo(dtype).max if sign > 0 else dt.iinfo(dtype).min
    infinity = np.asarray(sign * math.inf, np.float32).astype(dtype)
    if np.isinf(infinity.astype(np.float32)):
        return infinity[()]
    return dt.finfo(dtype).max if sign > 0 else dt.finfo(dtype).min


def reduced_shape(name: str, x: Aval, axes: Ints) -> Ints:
    """The shape without `axes`; ValueError if they are out of range or repeated."""
    if len(set(axes)) != len(axes) or any(not 0 <= d < x.ndim for d in axes):
        raise ValueError(f"{name}: axes {axes} do not fit {x}: distinct, 0 to {x.ndim - 1}")
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


def kept_axes(ndim: int, axes: Ints) -> Ints:
    """The axes that a reduction over `axes` leaves."""
    return tuple(d for d in range(ndim) if d not in axes)


def reduction_batch(apply: Function) -> Function:
    """The batch rule of a reduction over `axes`: they shift past the batch dimension."""

    def rule(axis: Axis, args: Sequence[Value], dims: Dims, *, axes: Ints, **params: Any) -> Batched:
        (d,) = dims
        shifted = tuple(a + (a >= d) for a in axes)
        return apply(args[0], axes=shifted, **params), d - sum(a < d for a in shifted)

    return rule


def convert_operand(ctx: LowerContext, x: Operand, dtype: np.dtype) -> Operand:
    """In a lowering: the operand in another dtype."""
    if x.aval.dtype == dtype:
        return x
    return ctx.op("stablehlo.convert", x, out=x.aval.with_dtype(dtype))


def reduce_operand(ctx: LowerContext, x: Operand, axes: Ints, combine: Function, identity: np.ndarray | int) -> Operand:
    """In a lowering: stablehlo.reduce by combine(ctx, a, b); wide accumulation is the caller's."""
    init = ctx.full(aval((), x.aval.dtype), identity)
    out = aval(tuple(n for d, n in enumerate(x.aval.shape) if d not in axes), x.aval.dtype)
    return ctx.op(
        "stablehlo.reduce",
        x,
        init,
        out=out,
        attrs=f"dimensions = {dims_attr(axes)}",
        regions=[ctx.region((init.aval, init.aval), combine)],
    )


def reshape_operand(ctx: LowerContext, x: Operand, shape: Ints) -> Operand:
    """In a lowering: the operand with another shape."""
    return ctx.op("stablehlo.reshape", x, out=x.aval.with_shape(shape))


def combine_by(hlo: str) -> Function:
    """The body of a reduction by one StableHLO operation."""

    def body(ctx: LowerContext, a: Operand, b: Operand) -> Operand:
        return ctx.op(hlo, a, b, out=a.aval)

    return body


def compare_operands(ctx: LowerContext, direction: str, a: Operand, b: Operand) -> Operand:
    """In a lowering: a bool array of a comparison, 'LT', 'EQ', ..."""
    return ctx.op(
        "stablehlo.compare",
        a,
        b,
        out=a.aval.with_dtype(dt.bool_),
        attrs=f"comparison_direction = #stablehlo<comparison_direction {direction}>",
    )


def _reduction(
    name: str,
    reference: Function,
    lower: Function,
    *,
    dtypes: frozenset[np.dtype],
    what: str,
    jvp: Function | None = None,
    transpose: Function | Reason = NOT_LINEAR,
    nonempty: bool = False,
    lower_on: dict[str, Function] | None = None,
    traits: Traits = REDUCTION,
) -> Wrapper:
    """Declare a reduction over `axes` that keeps the dtype; its wrapper."""

    def apply(x: Value, *, axes: Ints) -> Value:
        return bind(primitive, x, axes=tuple(axes)) if len(axes) else x

    def shape(x: Aval, *, axes: Ints) -> Aval:
        check_dtype(name, x, dtypes, what)
        if nonempty and any(x.shape[d] == 0 for d in axes if d < x.ndim):
            raise ValueError(
                f"{name} of {x} over axes {axes}: an axis has no elements and the "
                "reduction has no identity; give it at least one element"
            )
        return aval(reduced_shape(name, x, axes), x.dtype)

    primitive = Primitive(
        name,
        traits=traits,
        shape=shape,
        reference=reference,
        lower=lower,
        jvp=jvp or no_tangent(apply),
        transpose=transpose,
        batch=reduction_batch(apply),
        lower_on=lower_on,
    )
    return wrapper(primitive, apply, f"{name} of {what} arrays over `axes` (distinct, sorted), which disappear.")


def _by_numpy(fun: np.ufunc, x: Aval, axes: Ints, *start: Any) -> Function:
    """NumPy's reduction of arrays of an aval whose dtype it keeps. Arguments by their places, and memory for what would
    be a number and be made an array again, are 0.25 us less of 0.9."""
    reduce, dtype, axis = fun.reduce, x.dtype, tuple(axes)
    if len(axes) == x.ndim:  # NumPy's None, which is faster, for all
        return lambda array: reduce(array, None, dtype, np.empty((), dtype), False, *start)  # type: ignore[call-arg]
    return lambda array: reduce(array, axis, dtype, None, False, *start)  # type: ignore[call-arg]


def _sum_dtype(x: Aval | np.ndarray, axes: Ints) -> np.dtype:
    """The dtype NumPy is to accumulate in. It adds pairwise along the last axis only; along others
    one after the other, which takes float64 if there are many (1.5 to 1.8 of the time)."""
    wide = accumulator(x.dtype)
    one_by_one = x.ndim - 1 not in axes and math.prod([x.shape[d] for d in axes]) >= LONG
    return dt.float64 if wide == dt.float32 and one_by_one else wide


def _wide_reference(fun: np.ufunc) -> Function:
    def at(x: Aval, *, axes: Ints) -> Function | None:
        wide = _sum_dtype(x, axes)
        plain = _by_numpy(fun, x, axes) if wide == x.dtype else None
        by_ones = sum_by_ones(x, axes, plain or functools.partial(rule, axes=axes)) if fun is np.add else None
        return by_ones or plain

    @specialised(at)
    def rule(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        wide = x.astype(accumulator(x.dtype), copy=False)
        return fun.reduce(wide, axis=axes, dtype=_sum_dtype(x, axes))

    return rule


def _wide_lower(hlo: str, identity: int) -> Function:
    def rule(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
        wide = convert_operand(ctx, x, accumulator(x.aval.dtype))
        out = reduce_operand(ctx, wide, axes, combine_by(hlo), identity)
        return convert_operand(ctx, out, x.aval.dtype)

    return rule


# ---- reduce_sum ----------------------------------------------------------------------------------
# float16 and bfloat16 are summed in float32.


def _sum_by_rows(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
    """XLA:CPU sums rows and columns of matrices by a library, other sums by loops of its own: neighbouring dimensions
    become one, and are summed over one after the other. Batch norm of 16 x 64 x 32 x 32: 0.31 ms for 0.54."""
    a, wide = x.aval, accumulator(x.aval.dtype)
    x, summed = convert_operand(ctx, x, wide), combine_by("stablehlo.add")
    groups = runs(a.ndim, axes) if a.size else []
    if len(groups) > 1 and (len(groups) < a.ndim or len(groups) > 2):
        x = reshape_operand(ctx, x, tuple(math.prod(a.shape[d] for d in group) for _, group in groups))
        for at in reversed([i for i, (over, _) in enumerate(groups) if over]):
            x = reduce_operand(ctx, x, (at,), summed, 0)
        x = reshape_operand(ctx, x, reduced_shape("reduce_sum", a, axes))
    else:
        x = reduce_operand(ctx, x, axes, summed, 0)
    return convert_operand(ctx, x, a.dtype)


def _reduce_sum_transpose(ct: Value, x: Value, *, axes: Ints) -> Cotangents:
    shape = x.aval.shape
    return (broadcast_in_dim(ct, shape=shape, dims=kept_axes(len(shape), axes)),)


# XLA:CPU's library (YNN) takes a float32 sum of products for a dot of its own. If an operand of them is spread over
# other dimensions than the last alone, that goes across the memory: 64 x 64 x 64 by 64 weights, summed over the
# first, takes 2.4 ms, 256 x 128 x 128 takes 520; 0.03 and 0.23 as XLA's dot. Where it is none of matrices, a barrier
# keeps products and sum apart: 8 x 16 x 1,024 over the second takes 0.04 ms for 0.49.


def _parts(x: Operand, *primitives: Primitive) -> list[Operand] | None:
    """The operands of the node that made x, if it is one of these primitives."""
    return x.made[1] if x.made is not None and x.made[0].primitive in primitives else None


def _weights(x: Operand) -> tuple[Primitive, Operand, Operand, Ints] | None:
    """For a product or quotient of which one operand was broadcast: the primitive, the other operand, what was
    broadcast, and to which dimensions."""
    operands = _parts(x, mul.primitive, div.primitive)
    if x.made is None or operands is None:
        return None
    by, (a, b) = x.made[0].primitive, operands
    if by is mul.primitive and _parts(a, broadcast_in_dim_p):
        a, b = b, a
    small = _parts(b, broadcast_in_dim_p)
    if b.made is None or small is None or _parts(a, broadcast_in_dim_p):  # of two that are spread it makes a good dot
        return None
    dims = b.made[0].params["dims"]
    return by, a, small[0], tuple(d for d, n in zip(dims, small[0].aval.shape) if n > 1)


def _dot_of_weights(ctx: LowerContext, by: Primitive, array: Operand, weights: Operand) -> Operand:
    """The sum over the first dimension of array * weights or array / weights."""
    count, *rest = array.aval.shape
    flat = ctx.op("stablehlo.reshape", array, out=array.aval.with_shape((count, math.prod(rest))))
    weights = ctx.op("stablehlo.reshape", weights, out=weights.aval.with_shape((count,)))
    if by is div.primitive:
        weights = ctx.op("stablehlo.divide", ctx.full(weights.aval, 1), weights, out=weights.aval)
    numbers = "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>"
    out = array.aval.with_shape((math.prod(rest),))
    total = ctx.op("stablehlo.dot_general", weights, flat, out=out, attrs=f"dot_dimension_numbers = {numbers}")
    return ctx.op("stablehlo.reshape", total, out=array.aval.with_shape(tuple(rest)))


def _sum_of_outer_products(ctx: LowerContext, x: Operand) -> Operand | None:
    """The sum over the first dimension of x, if it is that of outer products, each times or by a number: one dot, of
    which they are never made. Gradients of each sample, clipped and averaged, 64 of 32 x 64: 0.02 ms for 0.05."""
    from .dot import dot_general_p, sum_of_dots

    by, array, weights, there = _weights(x) or (mul.primitive, x, None, (0,))
    operands = _parts(array, dot_general_p)
    if array.made is None or operands is None or there != (0,):
        return None
    params = array.made[0].params
    if not params["batch"][0] or params["contract"][0] or params["out_dtype"] != operands[0].aval.dtype:
        return None
    given = [] if weights is None else [reshape_operand(ctx, weights, (x.aval.shape[0],))]
    return ctx.call(sum_of_dots, *operands, *given, batch=params["batch"], divided=by is div.primitive)[0]


def _sum_cpu(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
    if ctx.root.meshes:  # dimensions put together would have to be gathered first
        return _wide_lower("stablehlo.add", 0)(ctx, x, axes=axes)
    if axes == (0,) and x.aval.dtype in (dt.float32, dt.float64) and x.aval.size:
        at_once = _sum_of_outer_products(ctx, x)
        if at_once is not None:
            return at_once
    if x.aval.dtype == dt.float32 and len(axes) == 1 and axes[0] < x.aval.ndim - 1:
        (product,) = _parts(x, neg.primitive) or (x,)
        by, array, weights, there = _weights(product) or (mul.primitive, x, x, ())
        missing, last = kept_axes(x.aval.ndim, there), x.aval.ndim - 1
        across = missing not in ((), (last,)) and not (axes[0] == last - 1 and last in missing)
        if axes[0] in there and across:
            if axes == there == (0,) and product is x:
                return _dot_of_weights(ctx, by, array, weights)
            x = held(ctx, x)
    return _sum_by_rows(ctx, x, axes=axes)


reduce_sum: Wrapper = _reduction(
    "reduce_sum",
    _wide_reference(np.add),
    _wide_lower("stablehlo.add", 0),
    lower_on={"cpu": _sum_cpu},
    dtypes=dt.NUMERIC,
    what="numeric",
    traits=REDUCTION.but(numpy=0.06, compiled=0.7, conjugates=True),  # a product with ones, at memory's speed
    jvp=jointly_linear(lambda x, *, axes: reduce_sum(x, axes=axes)),
    transpose=_reduce_sum_transpose,
)
reduce_sum_p = reduce_sum.primitive

# ---- reduce_prod ---------------------------------------------------------------------------------
# The derivative by an element is the product of all others. Dividing the whole product by it fails
# at zeros, so it is the product of those before times the product of those after.


def _flatten_reduced(x: Value, axes: Ints) -> Value:
    """x with the reduced axes last and as one."""
    a = aval_of(x)
    kept = kept_axes(a.ndim, axes)
    moved = transpose(x, permutation=(*kept, *axes))
    size = math.prod(a.shape[d] for d in axes)
    return reshape(moved, shape=(*(a.shape[d] for d in kept), size))


def _reduce_prod_jvp(primals: Sequence[Value], tangents: Tangents, *, axes: Ints) -> Jvp:
    from .cumulative import exclusive_cumprod

    flat, t = _flatten_reduced(primals[0], axes), _flatten_reduced(tangents[0], axes)
    last = aval_of(flat).ndim - 1
    others = mul(exclusive_cumprod(flat, axis=last), exclusive_cumprod(flat, axis=last, reverse=True))
    return reduce_prod(primals[0], axes=axes), reduce_sum(mul(t, others), axes=(last,))


reduce_prod = _reduction(
    "reduce_prod",
    _wide_reference(np.multiply),
    _wide_lower("stablehlo.multiply", 1),
    dtypes=dt.NUMERIC,
    what="numeric",
    jvp=_reduce_prod_jvp,
)

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
        if dtype in (dt.float32, dt.float64) and size >= LARGE and x.aval.ndim - 1 in axes:
            return _extreme_of_many(ctx, x, axes, hlo, choose_keeping_nan(direction), identity(dtype))
        if dtype in ORDERED_BITS and size >= FEW:
            return _extreme_of_bits(ctx, x, axes, hlo, identity)
        return reduce_operand(ctx, x, axes, choose_keeping_nan(direction), identity(dtype))

    return rule


def _extreme_of_bits(ctx: LowerContext, x: Operand, axes: Ints, hlo: str, identity: Function) -> Operand:
    """Of integers in the order of the numbers, where NaN goes beyond the infinity that is not the identity."""
    nan = math.copysign(math.nan, -float(identity(dt.float32)))
    bits = x.aval.with_dtype(ORDERED_BITS[x.aval.dtype])
    numbers = ctx.op("stablehlo.select", compare_operands(ctx, "NE", x, x), ctx.full(x.aval, nan), x, out=x.aval)
    ordered = _flip_negative(ctx, ctx.op("stablehlo.bitcast_convert", numbers, out=bits))
    best = reduce_operand(ctx, ordered, axes, combine_by(hlo), identity(bits.dtype))
    best = _flip_negative(ctx, best)
    return ctx.op("stablehlo.bitcast_convert", best, out=best.aval.with_dtype(x.aval.dtype))


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
    slow = ctx.region((), lambda inner: reduce_operand(inner, x, axes, careful, identity))
    return ctx.op("stablehlo.if", odd, out=quick.aval, regions=[slow, ctx.region((), lambda inner: quick)])


def _extreme_on_mesh(ctx: LowerContext, x: Operand, axes: Ints, hlo: str, identity: Any) -> Operand:
    """Over several devices, which exchange maxima by XLA's own reductions only: beside one that says where NaNs are."""
    quick = reduce_operand(ctx, x, axes, combine_by(hlo), identity)
    odd = convert_operand(ctx, compare_operands(ctx, "NE", x, x), dt.int32)
    odd = reduce_operand(ctx, odd, axes, combine_by("stablehlo.maximum"), 0)
    odd = compare_operands(ctx, "NE", odd, ctx.full(odd.aval, 0))
    return ctx.op("stablehlo.select", odd, ctx.full(quick.aval, np.nan), quick, out=quick.aval)


def _narrow_reference(fun: np.ufunc) -> Function:
    """A choice among elements: NumPy's, by way of float32 for dtypes that are not NumPy's own."""

    def at(x: Aval, *, axes: Ints) -> Function | None:
        if x.dtype.kind == "V":
            return None
        return _by_numpy(fun, x, axes)

    @specialised(at)
    def rule(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        if x.dtype.kind != "V":
            return fun.reduce(x, axis=axes)
        return fun.reduce(x.astype(np.float32), axis=axes).astype(x.dtype)

    return rule


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
    apply: Wrapper = _reduction(
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

# What exponentials are shifted by, where a NaN comes back through their sum: XLA's own maximum, one library call.
# Over rows of 16384 x 128: 0.055 ms for 0.33 with the choice spelled out; 1024 x 2000: 0.055 for 0.68.
reduce_max_loose: Wrapper = _reduction(
    "reduce_max_loose",
    _narrow_reference(np.maximum),
    _loose_lower,
    dtypes=dt.FLOATING,
    what="floating",
    nonempty=True,
    jvp=lambda primals, tangents, *, axes: _extreme_jvp(primals, tangents, axes=axes, apply=reduce_max_loose),
)
reduce_max_loose.__doc__ = "reduce_max, which of rows with a NaN may be any element."

# ---- reduce_and, reduce_or, reduce_xor -----------------------------------------------------------
# Of bools, and bit by bit of integers.


def _bitwise(name: str, fun: np.ufunc, hlo: str, identity: int) -> Wrapper:
    def start_of(x: Aval) -> np.ndarray:
        return np.asarray(identity).astype(x.dtype)[()]

    @specialised(lambda x, *, axes: _by_numpy(fun, x, axes, start_of(x)))
    def reference(x: Any, *, axes: Ints) -> Any:
        return fun.reduce(x, axis=axes, initial=start_of(x))

    def lower(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
        start = np.asarray(identity).astype(x.aval.dtype)
        return reduce_operand(ctx, x, axes, combine_by(hlo), start)

    return _reduction(name, reference, lower, dtypes=dt.INTEGER | {dt.bool_}, what="integer or bool")


reduce_and = _bitwise("reduce_and", np.bitwise_and, "stablehlo.and", -1)
reduce_or = _bitwise("reduce_or", np.bitwise_or, "stablehlo.or", 0)
reduce_xor = _bitwise("reduce_xor", np.bitwise_xor, "stablehlo.xor", 0)

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
    traits=EXTREME.but(compile=120_000),
    **_index_rules("argmax", "GT", np.argmax, "stablehlo.maximum", lowest, argmax),
)
argmin_p = Primitive(
    "argmin",
    traits=EXTREME.but(compile=120_000),
    **_index_rules("argmin", "LT", np.argmin, "stablehlo.minimum", highest, argmin),
)
