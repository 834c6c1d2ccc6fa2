"""Reductions over axes: sums, products, extremes, logic, and the places of extremes."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand, full_precision
from ..core.lowering import dims as dims_attr
from ..core.primitive import NOT_LINEAR, Primitive, Reason, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Jvp, Tangents, Value
from .arithmetic import div, mul, neg
from .batching import Axis
from .declare import Wrapper, check_dtype, jointly_linear, no_tangent, wrapper
from .host_few import extreme_of_few
from .host_products import product_by_halves
from .host_sums import LONG, runs, sum_by_ones
from .structure import broadcast_in_dim, broadcast_in_dim_p, held, reshape, transpose

REDUCTION = Traits(family="reduction", numpy=0.15, expensive=True, fresh=True)

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


def declare_reduction(
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


def by_numpy(fun: np.ufunc, x: Aval, axes: Ints, *start: Any) -> Function:
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
    is_sum = fun is np.add

    def at(x: Aval, *, axes: Ints) -> Function | None:
        if accumulator(x.dtype) != x.dtype:
            return _by_wide(at, x, axes) or functools.partial(rule, axes=axes)
        wide = _sum_dtype(x, axes) if is_sum else x.dtype
        plain = by_numpy(fun, x, axes) if wide == x.dtype else None
        otherwise = plain or functools.partial(rule, axes=axes)
        return (sum_by_ones if is_sum else product_by_halves)(x, axes, otherwise) or plain

    @specialised(at)
    def rule(x: np.ndarray, *, axes: Ints) -> np.ndarray:
        wide = x.astype(accumulator(x.dtype), copy=False)
        result = fun.reduce(wide, axis=axes, dtype=_sum_dtype(x, axes) if is_sum else wide.dtype)
        return result.astype(x.dtype, copy=False)

    return rule


def _by_wide(at: Function, x: Aval, axes: Ints) -> Function | None:
    """The same of what is converted first: bfloat16 of 512 x 512 along rows 57 us by NumPy's sum, 29 like this."""
    wide, dtype = accumulator(x.dtype), x.dtype
    reduce = at(x.with_dtype(wide), axes=axes)
    return reduce and (lambda array: reduce(array.astype(wide)).astype(dtype))


FEW = 4  # numbers of a sum


def _summed(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """Sums of few numbers are no long products: 4 million in twos and twos take 1.2 ms, 10,000 x 3 6 us."""
    (x,), groups = operands, runs(operands[0].ndim, params["axes"])
    few = any([over and math.prod(x.shape[d] for d in dims) <= FEW for over, dims in groups])
    return x.size * (4.0 if few else 1.0)


def _sum_compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """A product with ones, at memory's speed; float16 NumPy converts number by number, 512 x 512 in 418 us for 45."""
    if operands[0].dtype == dt.float16:
        return 0.1
    return 0.7 * operands[0].size / max(1, _summed(operands, results, params))


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
    attrs = f"dot_dimension_numbers = {numbers}" + full_precision(ctx, flat.aval.dtype)
    total = ctx.op("stablehlo.dot_general", weights, flat, out=out, attrs=attrs)
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


reduce_sum: Wrapper = declare_reduction(
    "reduce_sum",
    _wide_reference(np.add),
    _wide_lower("stablehlo.add", 0),
    lower_on={"cpu": _sum_cpu},
    dtypes=dt.NUMERIC,
    what="numeric",
    traits=REDUCTION.but(numpy=0.06, work=_summed, compiled=_sum_compiled, conjugates=True),
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


reduce_prod = declare_reduction(
    "reduce_prod",
    _wide_reference(np.multiply),
    _wide_lower("stablehlo.multiply", 1),
    dtypes=dt.NUMERIC,
    what="numeric",
    jvp=_reduce_prod_jvp,
)

# ---- reduce_and, reduce_or, reduce_xor -----------------------------------------------------------
# Of bools, and bit by bit of integers.


def _bitwise(name: str, fun: np.ufunc, hlo: str, identity: int, find: str = "") -> Wrapper:
    """`find`: where the truth is that the reduction of truths is."""

    def start_of(x: Aval) -> np.ndarray:
        return np.asarray(identity).astype(x.dtype)[()]

    def at(x: Aval, *, axes: Ints) -> Function:
        found = find and x.dtype == dt.bool_ and extreme_of_few(find, x, axes)
        return found or by_numpy(fun, x, axes, start_of(x))

    @specialised(at)
    def reference(x: Any, *, axes: Ints) -> Any:
        return fun.reduce(x, axis=axes, initial=start_of(x))

    def lower(ctx: LowerContext, x: Operand, *, axes: Ints) -> Operand:
        start = np.asarray(identity).astype(x.aval.dtype)
        return reduce_operand(ctx, x, axes, combine_by(hlo), start)

    return declare_reduction(name, reference, lower, dtypes=dt.INTEGER | {dt.bool_}, what="integer or bool")


reduce_and = _bitwise("reduce_and", np.bitwise_and, "stablehlo.and", -1, "argmin")
reduce_or = _bitwise("reduce_or", np.bitwise_or, "stablehlo.or", 0, "argmax")
reduce_xor = _bitwise("reduce_xor", np.bitwise_xor, "stablehlo.xor", 0)
