"""Cumulative reductions along one axis, and the linear recurrence that differentiates them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand, dense_int
from ..core.lowering import dims as dims_attr
from ..core.primitive import NOT_LINEAR, Primitive, Reason, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Cotangents, Function, Jvp, Tangents, Value
from .arithmetic import add, mul, sub
from .batching import Axis, all_at_front
from .bitwise import or_
from .comparison import eq, ne, select
from .convert import convert
from .declare import Wrapper, check_dtype, jointly_linear, wrapper
from .host_few import FEW
from .host_scans import accumulated
from .indexing import take_along_axis
from .reductions import accumulator, combine_by, compare_operands, convert_operand, highest, lowest
from .slicing import concatenate, pad, slice_in_dim
from .slicing import reverse as flip
from .structure import broadcast_in_dim, constant, full, iota, reshape, transpose, zeros
from .transcendental import exp


def _scanned(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """NumPy takes one number after the other: integers, which are quicker to add, in a seventh of the time."""
    return operands[0].size * (0.15 if operands[0].dtype.kind in "iub" else 1.0)


def _compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    return 2.0 if operands[0].dtype.kind in "iub" else 0.3


CUMULATIVE = Traits(family="cumulative", numpy=3, work=_scanned, compiled=_compiled, compile=80_000, expensive=True)

ALONE = 1 << 14  # elements of a vector whose programs have fusion emitters
LONG = 16  # elements; of so many CPU programs combine four at a time first
# ---- what they share -----------------------------------------------------------------------------


def _check_axis(name: str, x: Aval, axis: int) -> None:
    if not 0 <= axis < x.ndim:
        raise ValueError(f"{name} of {x} along axis {axis}: it has axes 0 to {x.ndim - 1}")


def accumulate_reference(combine: np.ufunc) -> Function:
    """The NumPy reference of a ufunc accumulated along an axis, narrow floats in float32. Sums of float32 in float64:
    10,000 of them, one after the other, are off by 1e-6."""

    def at(x: Aval, *, axis: int, reverse: bool) -> Function | None:
        """Of few numbers in their order: eight in 0.5 us for 1.4."""
        if reverse or x.size > FEW or x.dtype != accumulator(x.dtype) or x.dtype.isbuiltin != 1:
            return None
        accumulate, dtype = combine.accumulate, x.dtype
        if combine is np.add and dtype == dt.float32:
            return lambda array: accumulate(array, axis, dt.float64).astype(dtype)
        return lambda array: accumulate(array, axis, dtype)

    @specialised(at)
    def rule(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        x = x.astype(accumulator(x.dtype), copy=False)
        wide = dt.float64 if combine is np.add and x.dtype == dt.float32 else x.dtype
        return accumulated(combine, x, axis, reverse, wide)

    return rule


def accumulate_lower(combine: Function, identity: Function) -> Function:
    """The lowering: a window over the whole axis, which XLA rewrites to a scan by blocks of 16; on a CPU groups of
    four, then what came before each group in the same way.

    1024 x 1024 float32 along rows 0.38 ms, along columns 0.33; by XLA's blocks alone 0.7 to 1.5, 7.5.
    """

    def rule(ctx: LowerContext, x: Operand, *, axis: int, reverse: bool) -> Operand:
        a, wide = x.aval, accumulator(x.aval.dtype)
        if a.size == 0:
            return x
        init = ctx.full(aval((), wide), identity(wide))
        quick = ctx.platform == "cpu" and "portable" not in ctx.root.features  # which has another form for each size
        accumulate = by_fours if quick else by_window
        if a.size == a.shape[axis] > ALONE:
            ctx.root.features.add("alone")
        out = accumulate(ctx, convert_operand(ctx, x, wide), init, axis, reverse)
        return convert_operand(ctx, out, a.dtype)

    def by_window(ctx: LowerContext, x: Operand, init: Operand, axis: int, reverse: bool) -> Operand:
        a, n = x.aval, x.aval.shape[axis]
        window = [n if d == axis else 1 for d in range(a.ndim)]
        padding = [[0, 0] for _ in range(a.ndim)]
        padding[axis] = [0, n - 1] if reverse else [n - 1, 0]
        return ctx.op(
            "stablehlo.reduce_window",
            x,
            init,
            out=a,
            attrs=f"window_dimensions = {dims_attr(window)}, padding = {dense_int(padding)}",
            regions=[ctx.region((init.aval, init.aval), combine)],
        )

    def by_fours(ctx: LowerContext, x: Operand, init: Operand, axis: int, reverse: bool) -> Operand:
        if x.aval.shape[axis] < LONG:
            return by_window(ctx, x, init, axis, reverse)
        how = {"axis": axis, "reverse": reverse, "fill": identity(x.aval.dtype)}
        within = by_window(ctx, ctx.call(_fours, x, **how)[0], init, axis + 1, reverse)
        before = by_fours(ctx, ctx.call(_before_fours, within, **how)[0], init, axis, reverse)
        both = combine(ctx, ctx.call(_over_fours, before, axis=axis)[0], within)
        return ctx.call(_joined, both, axis=axis, reverse=reverse, n=x.aval.shape[axis])[0]

    return rule


def _fours(x: Value, *, axis: int, reverse: bool, fill: float) -> Value:
    """Groups of four along the axis, of which the last (if `reverse` the first) is filled up."""
    shape = aval_of(x).shape
    low, high = [0] * len(shape), [0] * len(shape)
    (low if reverse else high)[axis] = missing = -shape[axis] % 4
    if missing:
        x = pad(x, constant(np.asarray(fill).astype(aval_of(x).dtype)), low=low, high=high)
    return reshape(x, shape=(*shape[:axis], (shape[axis] + missing) // 4, 4, *shape[axis + 1 :]))


def _joined(x: Value, *, axis: int, reverse: bool, n: int) -> Value:
    """The groups as one axis of n elements."""
    shape = aval_of(x).shape
    size = 4 * shape[axis]
    x, start = reshape(x, shape=(*shape[:axis], size, *shape[axis + 2 :])), size - n if reverse else 0
    return x if size == n else slice_in_dim(x, start=start, limit=start + n, dimension=axis)


def _before_fours(within: Value, *, axis: int, reverse: bool, fill: float) -> Value:
    """Of each four what is accumulated at the end of the one before; `fill` at the start."""
    shape, last = aval_of(within).shape, 0 if reverse else 3
    ends = slice_in_dim(within, start=last, limit=last + 1, dimension=axis + 1)
    return previous(reshape(ends, shape=(*shape[: axis + 1], *shape[axis + 2 :])), fill, axis=axis, reverse=reverse)


def _over_fours(x: Value, *, axis: int) -> Value:
    shape = aval_of(x).shape
    dims = tuple([d + (d > axis) for d in range(len(shape))])
    return broadcast_in_dim(x, shape=(*shape[: axis + 1], 4, *shape[axis + 1 :]), dims=dims)


def _axis_batch(apply: Function) -> Function:
    """The batch rule of what works along `axis` and keeps the shape."""

    def rule(axis_: Axis, args: list[Value], dims: list[int], *, axis: int, reverse: bool) -> tuple[Value, int]:
        (d,) = dims
        return apply(args[0], axis=axis + (axis >= d), reverse=reverse), d

    return rule


def _cumulative(
    name: str,
    combine_on_host: np.ufunc,
    combine: Function,
    identity: Function,
    *,
    dtypes: frozenset[np.dtype],
    what: str,
    jvp: Function,
    transpose: Function | Reason = NOT_LINEAR,
    traits: Traits = CUMULATIVE,
) -> Wrapper:
    """Declare a cumulative reduction; its wrapper."""

    def apply(x: Value, *, axis: int, reverse: bool = False) -> Value:
        return bind(primitive, x, axis=axis, reverse=bool(reverse))

    def shape(x: Aval, *, axis: int, reverse: bool) -> Aval:
        check_dtype(name, x, dtypes, what)
        _check_axis(name, x, axis)
        return x

    primitive = Primitive(
        name,
        traits=traits,
        shape=shape,
        reference=accumulate_reference(combine_on_host),
        lower=accumulate_lower(combine, identity),
        jvp=jvp,
        transpose=transpose,
        batch=_axis_batch(apply),
    )
    return wrapper(primitive, apply, f"{name} of {what} arrays along `axis`, from its end if `reverse`.")


def previous(x: Value, fill: float, *, axis: int, reverse: bool = False) -> Value:
    """What is before each element along the axis (after it if `reverse`); `fill` at the start."""
    a = aval_of(x)
    low, high = [0] * a.ndim, [0] * a.ndim
    low[axis], high[axis] = (-1, 1) if reverse else (1, -1)
    return pad(x, constant(np.asarray(fill).astype(a.dtype)), low=low, high=high)


# ---- linear_recurrence ---------------------------------------------------------------------------
# y[k] = a[k] y[k-1] + b[k], from y = 0 before the start. It is linear in b, its transpose is the
# recurrence run backwards, and its derivative by a is one again: it differentiates itself, and the
# cumulative product, without a division.


def linear_recurrence(a: Value, b: Value, *, axis: int, reverse: bool = False) -> Value:
    """y with y[k] = a[k] y[k-1] + b[k] along `axis` (y[k+1] if `reverse`); one shape and dtype."""
    return bind(linear_recurrence_p, a, b, axis=axis, reverse=bool(reverse))


def _recurrence_shape(a: Aval, b: Aval, *, axis: int, reverse: bool) -> Aval:
    if a is not b:
        raise TypeError(f"linear_recurrence takes arrays of one shape and dtype, got {a} and {b}")
    check_dtype("linear_recurrence", a, dt.NUMERIC, "numeric")
    _check_axis("linear_recurrence", a, axis)
    return a


def _recurrence_reference(a: np.ndarray, b: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
    wide = accumulator(a.dtype)
    a, b = (np.moveaxis(x, axis, 0).astype(wide) for x in (a, b))
    order = range(len(a))[::-1] if reverse else range(len(a))
    y, out = np.zeros(b.shape[1:], wide), np.empty_like(b)
    for k in order:  # over the axis only: each step is a whole array of the others
        y = out[k] = a[k] * y + b[k]
    return np.moveaxis(out, 0, axis)


def _halving(a: Value, b: Value) -> Value:
    """The recurrence along axis 0: pairs composed, solved at half the length, spread again."""
    n, *rest = aval_of(a).shape
    if n < 2:
        return b
    if n % 2:
        zero = constant(np.zeros((), aval_of(a).dtype))
        longer = [pad(x, zero, low=[0] * (1 + len(rest)), high=[1] + [0] * len(rest)) for x in (a, b)]
        return slice_in_dim(_halving(*longer), start=0, limit=n, dimension=0)
    (a0, b0), (a1, b1) = ([slice_in_dim(x, start=i, limit=n, stride=2, dimension=0) for x in (a, b)] for i in (0, 1))
    odd = _halving(mul(a1, a0), add(mul(a1, b0), b1))
    even = add(mul(a0, previous(odd, 0, axis=0)), b0)
    pairs = [reshape(y, shape=(n // 2, 1, *rest)) for y in (even, odd)]
    return reshape(concatenate(*pairs, dimension=1), shape=(n, *rest))


def recurrence_by_halving(a: Value, b: Value, *, axis: int, reverse: bool) -> Value:
    """The recurrence in 2 log2(n) steps, written with primitives."""
    dtype, ndim = aval_of(a).dtype, aval_of(a).ndim
    first = (axis, *(d for d in range(ndim) if d != axis))
    a, b = (transpose(convert(x, dtype=accumulator(dtype)), permutation=first) for x in (a, b))
    if reverse:
        a, b = flip(a, dims=(0,)), flip(b, dims=(0,))
    out = _halving(a, b)
    out = flip(out, dims=(0,)) if reverse else out
    back = tuple(int(i) for i in np.argsort(first))
    return convert(transpose(out, permutation=back), dtype=dtype)


def _recurrence_lower(ctx: LowerContext, a: Operand, b: Operand, *, axis: int, reverse: bool) -> Operand:
    return ctx.call(recurrence_by_halving, a, b, axis=axis, reverse=reverse)[0]


def _recurrence_jvp(primals: Sequence[Value], tangents: Tangents, *, axis: int, reverse: bool) -> Jvp:
    a, b = primals
    out, (da, db) = linear_recurrence(a, b, axis=axis, reverse=reverse), tangents
    if da is not None:
        moved = mul(da, previous(out, 0, axis=axis, reverse=reverse))
        db = moved if db is None else add(moved, db)
    return out, linear_recurrence(a, db, axis=axis, reverse=reverse)


def _recurrence_transpose(ct: Value, a: Value, b: Value, *, axis: int, reverse: bool) -> Cotangents:
    following = previous(a, 0, axis=axis, reverse=not reverse)
    return None, linear_recurrence(following, ct, axis=axis, reverse=not reverse)


def _recurrence_batch(
    axis_: Axis, args: list[Value], dims: list[int | None], *, axis: int, reverse: bool
) -> tuple[Value, int]:
    a, b = all_at_front(axis_, args, dims)
    return linear_recurrence(a, b, axis=axis + 1, reverse=reverse), 0


linear_recurrence_p = Primitive(
    "linear_recurrence",
    traits=CUMULATIVE,
    shape=_recurrence_shape,
    reference=_recurrence_reference,
    lower=_recurrence_lower,
    jvp=_recurrence_jvp,
    transpose=_recurrence_transpose,
    batch=_recurrence_batch,
)

# ---- cumsum --------------------------------------------------------------------------------------

cumsum: Wrapper = _cumulative(
    "cumsum",
    np.add,
    combine_by("stablehlo.add"),
    lambda dtype: 0,
    dtypes=dt.NUMERIC,
    what="numeric",
    traits=CUMULATIVE.but(conjugates=True),
    jvp=jointly_linear(lambda x, *, axis, reverse: cumsum(x, axis=axis, reverse=reverse)),
    transpose=lambda ct, x, *, axis, reverse: (cumsum(ct, axis=axis, reverse=not reverse),),
)

# ---- cumprod -------------------------------------------------------------------------------------


def exclusive_cumprod(x: Value, *, axis: int, reverse: bool = False) -> Value:
    """The product of all elements before each (after, if `reverse`)."""
    return previous(cumprod(x, axis=axis, reverse=reverse), 1, axis=axis, reverse=reverse)


def _cumprod_jvp(primals: Sequence[Value], tangents: Tangents, *, axis: int, reverse: bool) -> Jvp:
    """y[k] = x[k] y[k-1], so dy[k] = x[k] dy[k-1] + dx[k] y[k-1]: right at zeros."""
    x, t = primals[0], tangents[0]
    out = cumprod(x, axis=axis, reverse=reverse)
    own = mul(t, previous(out, 1, axis=axis, reverse=reverse))
    return out, linear_recurrence(x, own, axis=axis, reverse=reverse)


cumprod = _cumulative(
    "cumprod",
    np.multiply,
    combine_by("stablehlo.multiply"),
    lambda dtype: 1,
    dtypes=dt.NUMERIC,
    what="numeric",
    jvp=_cumprod_jvp,
)

# ---- cummax, cummin ------------------------------------------------------------------------------
# Where several elements are the extreme so far, the latest counts, as in PyTorch.


def extreme_index(x: Value, out: Value, *, axis: int, reverse: bool = False) -> Value:
    """The int64 index of the element that each entry of out = cummax(x) or cummin(x) is.

    The latest one that equals it: the latest place where x attained its extreme so far.
    """
    shape, n = aval_of(x).shape, aval_of(x).shape[axis]
    places = iota(shape=shape, dtype=dt.int64, dimension=axis)
    attained = or_(eq(x, out), ne(x, x))
    if reverse:
        return cummin(select(attained, places, full(shape, n, dt.int64)), axis=axis, reverse=True)
    return cummax(select(attained, places, full(shape, 0, dt.int64)), axis=axis)


def _extreme_jvp(apply: Function) -> Function:
    def rule(primals: Sequence[Value], tangents: Tangents, *, axis: int, reverse: bool) -> Jvp:
        x, out = primals[0], apply(primals[0], axis=axis, reverse=reverse)
        if aval_of(x).dtype not in dt.INEXACT:
            return out, None
        index = extreme_index(x, out, axis=axis, reverse=reverse)
        return out, take_along_axis(tangents[0], index, axis=axis)

    return rule


cummax: Wrapper = _cumulative(
    "cummax",
    np.maximum,
    combine_by("stablehlo.maximum"),
    lowest,
    dtypes=dt.ORDERED,
    what="real or bool",
    jvp=_extreme_jvp(lambda x, *, axis, reverse: cummax(x, axis=axis, reverse=reverse)),
    traits=CUMULATIVE.but(numpy=6, compiled=0.2),
)
cummin: Wrapper = _cumulative(
    "cummin",
    np.minimum,
    combine_by("stablehlo.minimum"),
    highest,
    dtypes=dt.ORDERED,
    what="real or bool",
    jvp=_extreme_jvp(lambda x, *, axis, reverse: cummin(x, axis=axis, reverse=reverse)),
    traits=CUMULATIVE.but(numpy=6, compiled=0.2),
)

# ---- cumlogsumexp --------------------------------------------------------------------------------


def _log_add_exp(ctx: LowerContext, a: Operand, b: Operand) -> Operand:
    """log(exp a + exp b) = max + log1p(exp(-|a - b|)); a + b where a - b is NaN (infinities)."""
    greater = ctx.op("stablehlo.maximum", a, b, out=a.aval)
    apart = ctx.op("stablehlo.subtract", a, b, out=a.aval)
    less = ctx.op("stablehlo.negate", ctx.op("stablehlo.abs", apart, out=a.aval), out=a.aval)
    more = ctx.op("stablehlo.log_plus_one", ctx.op("stablehlo.exponential", less, out=a.aval), out=a.aval)
    out = ctx.op("stablehlo.add", greater, more, out=a.aval)
    return ctx.op(
        "stablehlo.select",
        compare_operands(ctx, "NE", apart, apart),
        ctx.op("stablehlo.add", a, b, out=a.aval),
        out,
        out=a.aval,
    )


def _cumlogsumexp_jvp(primals: Sequence[Value], tangents: Tangents, *, axis: int, reverse: bool) -> Jvp:
    """dy[k] = exp(y[k-1] - y[k]) dy[k-1] + exp(x[k] - y[k]) dx[k]; both factors are at most 1."""
    x, t = primals[0], tangents[0]
    out = cumlogsumexp(x, axis=axis, reverse=reverse)
    before = previous(out, -math.inf, axis=axis, reverse=reverse)
    own = mul(t, _share(x, out))
    return out, linear_recurrence(_share(before, out), own, axis=axis, reverse=reverse)


def _share(part: Value, whole: Value) -> Value:
    """exp(part - whole), and 0 where both are -inf."""
    nothing, zero = eq(part, -math.inf), zeros(aval_of(whole))
    part, whole = select(nothing, zero, part), select(nothing, zero, whole)
    return select(nothing, zero, exp(sub(part, whole)))


cumlogsumexp = _cumulative(
    "cumlogsumexp",
    np.logaddexp,
    _log_add_exp,
    lowest,
    dtypes=dt.FLOATING,
    what="floating",
    traits=CUMULATIVE.but(numpy=45, compiled=0.2, compile=150_000),
    jvp=_cumlogsumexp_jvp,
)
