"""Reductions over sliding windows: sums, extremes, the places of extremes.

A window is described over all dimensions: its size, its strides, the padding (low, high) of the
array, and two dilations: of the array (`base_dilation`) and of the window. Size 1 and stride 1
leave a dimension alone.
"""

from __future__ import annotations

import itertools
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
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Jvp, Tangents, Value
from .arithmetic import add, div, mul, sub
from .batching import Axis, move_batch_axis
from .bitwise import and_, or_
from .comparison import eq, ne, select
from .convert import convert
from .declare import Wrapper, check_dtype, jointly_linear, no_tangent, wrapper
from .extremes import choose_keeping_nan
from .indexing import take
from .reductions import accumulator, combine_by, compare_operands, convert_operand, highest, lowest
from .remainders import rem
from .scattering import scatter_axis
from .slicing import concatenate, pad, pad_p, slice
from .structure import broadcast_in_dim, constant, full, iota, optimization_barrier, reshape, transpose, zeros
from .tiled_windows import extreme_of_tiles, is_tiled, scatter_to_tiles
from .window import Window

FEW = 4  # windows of at most so many elements are not worth taking one dimension after the other
UNROLLED = 64  # windows of at most so many elements are written out as shifted arrays
MOST_RESIDUES = 16  # strides of at most so many positions are taken apart by residue

# ---- the geometry of windows ---------------------------------------------------------------------


def make_window(
    ndim: int,
    window: Ints,
    strides: Ints | None,
    padding: Sequence[Ints] | None,
    base_dilation: Ints | None,
    window_dilation: Ints | None,
) -> Window:
    """A Window of canonical tuples, 1 for what is not given."""
    ones = (1,) * ndim
    return Window(
        tuple(map(int, window)),
        tuple(strides or ones),
        tuple((int(low), int(high)) for low, high in padding or ((0, 0),) * ndim),
        tuple(base_dilation or ones),
        tuple(window_dilation or ones),
    )


def _check_window(name: str, x: Aval, window: Window) -> None:
    if any(len(field) != x.ndim for field in window):
        raise ValueError(f"{name} of {x} takes a window over all {x.ndim} dimensions, got {window}")
    positive = (window.size, window.strides, window.base_dilation, window.window_dilation)
    if any(n < 1 for field in positive for n in field):
        raise ValueError(f"{name} of {x}: sizes, strides and dilations are at least 1, got {window}")
    if any(n < 0 for n in window.padded(x.shape)):
        raise ValueError(f"{name} of {x}: the negative padding {window.padding} takes away more than there is")


def pad_for(x: Value, *, fill: np.ndarray | int, window: Window) -> Value:
    """x dilated and padded as the window says, with primitives."""
    low, high = zip(*window.padding) if window.padding else ((), ())
    value = constant(np.asarray(fill).astype(aval_of(x).dtype))
    return pad(x, value, low=low, high=high, interior=[d - 1 for d in window.base_dilation])


def padded_array(x: np.ndarray, fill: np.ndarray | int, window: Window) -> np.ndarray:
    """A NumPy array dilated and padded as the window says."""
    if window == window.unpadded():
        return x
    low, high = zip(*window.padding)
    interior = tuple(d - 1 for d in window.base_dilation)
    return pad_p.reference(x, np.asarray(fill).astype(x.dtype), low=low, high=high, interior=interior)


def window_views(x: np.ndarray, window: Window) -> np.ndarray:
    """Every window of a padded NumPy array, without copying: shape places + size."""
    places = window.unpadded().places(x.shape)
    steps = tuple(n * s for n, s in zip(x.strides, window.strides))
    inner = tuple(n * d for n, d in zip(x.strides, window.window_dilation))
    if 0 in places:
        return np.empty(places + window.size, x.dtype)
    return np.lib.stride_tricks.as_strided(x, places + window.size, steps + inner, writeable=False)


def _in_windows(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """NumPy reads each element once for each window that it is in."""
    return max(operands[0].size, results[0].size * params["window"].count)


# Per element of a window: 6 ns for max on an idle machine, 15 on a busy one.
WINDOW = Traits(family="window", numpy=11, work=_in_windows, compile=30_000, expensive=True)

# ---- reduce_window_sum, reduce_window_max, reduce_window_min -------------------------------------


def _window_attributes(window: Window) -> str:
    return ", ".join(
        [
            f"window_dimensions = {dims_attr(window.size)}",
            f"window_strides = {dims_attr(window.strides)}",
            f"base_dilations = {dims_attr(window.base_dilation)}",
            f"window_dilations = {dims_attr(window.window_dilation)}",
            f"padding = {dense_int(np.reshape(window.padding, (-1, 2)))}",
        ]
    )


def _window_lower(combine: Function, identity: Function, extreme: str = "") -> Function:
    """XLA's reduce_window, but padded beforehand where that is negative, and a slice where windows
    have one element: of both at once its simplifier makes a wrong shape, and aborts.

    An extreme is taken side by side (see tiled_windows), or one dimension after the other. Windows of 3 x 3 over
    16 x 64 x 32 x 32, stride 2: 0.27 ms for 0.81; 5 x 5 over 8 x 32 x 56 x 56, stride 3: 0.23 for 1.1.
    """

    def rule(ctx: LowerContext, x: Operand, *, window: Window) -> Operand:
        a, wide = x.aval, accumulator(x.aval.dtype)
        out = aval(window.places(a.shape), wide)
        fill = identity(wide)
        if 0 in (a.size, out.size):
            return ctx.full(out.with_dtype(a.dtype), identity(a.dtype))
        if window.count == 1:
            return ctx.call(_single_elements, x, window=window, fill=identity(a.dtype))[0]
        if extreme and is_tiled(window) and ctx.platform == "cpu":
            return ctx.call(extreme_of_tiles, x, window=window, extreme=extreme)[0]
        if any(n < 0 for sides in window.padding for n in sides):
            (x,) = ctx.call(pad_for, x, window=window, fill=identity(a.dtype))
            window = window.unpadded()
        if extreme and window.count > FEW and sum(n > 1 for n in window.size) > 1:
            outer, inner = window.split()
            return rule(ctx, rule(ctx, x, window=outer), window=inner)
        init = ctx.full(aval((), wide), fill)
        result = ctx.op(
            "stablehlo.reduce_window",
            convert_operand(ctx, x, wide),
            init,
            out=out,
            attrs=_window_attributes(window),
            regions=[ctx.region((init.aval, init.aval), combine)],
        )
        return convert_operand(ctx, result, a.dtype)

    return rule


def _single_elements(x: Value, *, window: Window, fill: int) -> Value:
    return taken(pad_for(x, fill=fill, window=window), (0,) * len(window.size), window.unpadded())


def _window_reduction(
    name: str,
    fun: np.ufunc,
    combine: Function,
    identity: Function,
    *,
    dtypes: frozenset[np.dtype],
    what: str,
    jvp: Function,
    transpose: Function | Reason = NOT_LINEAR,
    lower_on: dict[str, Function] | None = None,
    traits: Traits = WINDOW,
    extreme: str = "",
) -> Wrapper:
    """Declare a reduction over windows; its wrapper."""

    def apply(
        x: Value,
        *,
        window: Ints,
        strides: Ints | None = None,
        padding: Sequence[Ints] | None = None,
        base_dilation: Ints | None = None,
        window_dilation: Ints | None = None,
    ) -> Value:
        made = make_window(aval_of(x).ndim, window, strides, padding, base_dilation, window_dilation)
        return bind(primitive, x, window=made)

    def shape(x: Aval, *, window: Window) -> Aval:
        check_dtype(name, x, dtypes, what)
        _check_window(name, x, window)
        return x.with_shape(window.places(x.shape))

    @specialised(lambda x, *, window: _of_few(x, fun, identity, window))
    def reference(x: np.ndarray, *, window: Window) -> np.ndarray:
        wide = accumulator(x.dtype)
        padded = padded_array(x.astype(wide, copy=False), identity(wide), window)
        return fun.reduce(window_views(padded, window), axis=tuple(range(x.ndim, 2 * x.ndim)))

    primitive = Primitive(
        name,
        traits=traits,
        shape=shape,
        reference=reference,
        lower=_window_lower(combine, identity, extreme),
        lower_on=lower_on,
        jvp=jvp,
        transpose=transpose,
        batch=_window_batch(lambda x, *, window: bind(primitive, x, window=window)),
    )
    return wrapper(primitive, apply, f"{name} of {what} arrays; strides, padding and dilations by dimension.")


def _of_few(x: Aval, fun: np.ufunc, identity: Function, window: Window) -> Function | None:
    """Of few numbers by the places of each window's elements, the first being what is around them: 2 x 2 windows of
    2 x 6 x 6 numbers 1.5 us for 12."""
    shape = window.places(x.shape)
    many = max(x.size, math.prod(shape) * window.count) > MANY
    if many or not x.size or 0 in shape or x.dtype != accumulator(x.dtype) or x.dtype.isbuiltin != 1:
        return None
    numbered = padded_array(np.arange(1, x.size + 1).reshape(x.shape), 0, window)
    places, reduce, dtype = window_views(numbered, window).reshape(*shape, window.count), fun.reduce, x.dtype
    if places.min():
        inside = places - 1
        return lambda array: reduce(array.reshape(-1).take(inside), -1, dtype)
    around = identity(dtype)

    def run(array: np.ndarray) -> np.ndarray:
        flat = np.empty(array.size + 1, dtype)
        flat[0], flat[1:] = around, array.reshape(-1)
        return reduce(flat.take(places), -1, dtype)

    return run


MANY = 1 << 11  # numbers, or elements of all windows


def _window_batch(apply: Function) -> Function:
    """The batch rule: a window of size 1 along the batch dimension."""

    def rule(axis: Axis, args: Sequence[Value], dims: Dims, *, window: Window, **params: Any) -> Batched:
        to = next(d for d in dims if d is not None)
        args = [move_batch_axis(axis, x, d, to) for x, d in zip(args, dims)]
        return apply(*args, window=window.with_batch(to), **params), to

    return rule


def _sum_transpose(ct: Value, x: Value, *, window: Window) -> Cotangents:
    """Each cotangent goes to all elements of its window: the sum over windows of the cotangents,
    with what was the strides and the dilation of the array exchanged."""
    padded, padding = window.padded(x.aval.shape), []
    for n, r, s, m, (low, high) in zip(padded, window.reach, window.strides, aval_of(ct).shape, window.padding):
        rest = n - (max(m - 1, 0) * s + min(m, 1) + r - 1)  # elements that no window reaches
        padding.append((r - 1 - low, r - 1 + rest - high))
    return (
        reduce_window_sum(
            ct,
            window=window.size,
            strides=window.base_dilation,
            padding=padding,
            base_dilation=window.strides,
            window_dilation=window.window_dilation,
        ),
    )


def _sum_jvp(primals: Sequence[Value], tangents: Tangents, *, window: Window) -> Jvp:
    return jointly_linear(lambda x: bind(reduce_window_sum.primitive, x, window=window))(primals, tangents)


_sum_lower = _window_lower(combine_by("stablehlo.add"), lambda dtype: 0)


def _sum_cpu(ctx: LowerContext, x: Operand, *, window: Window) -> Operand:
    """A dilated array (the gradient of strided windows) by residues: 2 ms for 13, see below."""
    ones = (1,) * x.aval.ndim
    simple = window.strides == ones == window.window_dilation
    if x.aval.size and simple and 1 < math.prod(window.base_dilation) <= MOST_RESIDUES:
        return ctx.call(_sum_by_residues, x, window=window)[0]
    return _sum_lower(ctx, x, window=window)


def _sum_by_residues(x: Value, *, window: Window) -> Value:
    """Sums over an array with holes: for each residue of the position modulo the dilation, a sum
    over the elements that are there, without holes; then interleaved.

    32 x 64 x 32 x 32 from windows of 3 with stride 2.
    """
    a, holes = aval_of(x), window.base_dilation
    shape = window.places(a.shape)
    grid = tuple(-(-n // s) for n, s in zip(shape, holes))
    parts: dict[Ints, Value] = {}
    for residue in itertools.product(*map(range, holes)):
        dims = [_residue_window(*each) for each in zip(residue, window.size, holes, window.padding, grid, a.shape)]
        if all(dims):
            size, padding = zip(*dims)
            parts[residue] = reduce_window_sum(x, window=size, padding=padding)
    return interleaved(parts, shape, grid, holes, a.dtype)


def _residue_window(residue: int, size: int, hole: int, padding: Ints, places: int, n: int) -> tuple[int, Ints] | None:
    """Window size and padding, in one dimension, of what a residue sees of the elements."""
    first = (padding[0] - residue) % hole  # the first offset in a window where an element is
    if first >= size:
        return None
    count = -(-(size - first) // hole)
    low = (padding[0] - residue - first) // hole
    return count, (low, places + count - 1 - n - low)


reduce_window_sum = _window_reduction(
    "reduce_window_sum",
    np.add,
    combine_by("stablehlo.add"),
    lambda dtype: 0,
    dtypes=dt.NUMERIC,
    what="numeric",
    jvp=_sum_jvp,
    traits=WINDOW.but(conjugates=True),
    transpose=_sum_transpose,
    lower_on={"cpu": _sum_cpu},
)


def _extreme_jvp(name: str) -> Function:
    """The tangent is that of the first element of each window that is its extreme."""

    def rule(primals: Sequence[Value], tangents: Tangents, *, window: Window) -> Jvp:
        x, t = primals[0], tangents[0]
        value, index, _, _ = _EXTREMES[name]
        places = bind(index, x, window=window)
        return bind(value.primitive, x, window=window), window_gather(
            pad_for(t, fill=0, window=window), places, window=window.unpadded()
        )

    return rule


reduce_window_max = _window_reduction(
    "reduce_window_max",
    np.maximum,
    choose_keeping_nan("GT"),
    lowest,
    dtypes=dt.ORDERED,
    what="real or bool",
    jvp=_extreme_jvp("max"),
    extreme="max",
)
reduce_window_min = _window_reduction(
    "reduce_window_min",
    np.minimum,
    choose_keeping_nan("LT"),
    highest,
    dtypes=dt.ORDERED,
    what="real or bool",
    jvp=_extreme_jvp("min"),
    extreme="min",
)

# ---- reduce_window_argmax, reduce_window_argmin --------------------------------------------------
# The place of an extreme is its number within the window, row by row. Padding is never extreme,
# not even beside elements that equal it; a window of nothing but padding has place 0.


def reduce_window_argmax(
    x: Value,
    *,
    window: Ints,
    strides: Ints | None = None,
    padding: tuple[Ints, ...] | None = None,
    base_dilation: Ints | None = None,
    window_dilation: Ints | None = None,
) -> Value:
    """The int32 number in each window of its greatest element, the first one; NaN is greatest."""
    made = make_window(aval_of(x).ndim, window, strides, padding, base_dilation, window_dilation)
    return bind(reduce_window_argmax_p, x, window=made)


def reduce_window_argmin(
    x: Value,
    *,
    window: Ints,
    strides: Ints | None = None,
    padding: tuple[Ints, ...] | None = None,
    base_dilation: Ints | None = None,
    window_dilation: Ints | None = None,
) -> Value:
    """The int32 number in each window of its least element, the first one; NaN is least."""
    made = make_window(aval_of(x).ndim, window, strides, padding, base_dilation, window_dilation)
    return bind(reduce_window_argmin_p, x, window=made)


def _place_shape(name: str) -> Function:
    def rule(x: Aval, *, window: Window) -> Aval:
        check_dtype(name, x, dt.ORDERED, "real or bool")
        _check_window(name, x, window)
        return aval(window.places(x.shape), dt.int32)

    return rule


def _place_reference(fun: Any, identity: Function) -> Function:
    def rule(x: np.ndarray, *, window: Window) -> np.ndarray:
        x = x.astype(accumulator(x.dtype), copy=False)
        views = window_views(padded_array(x, identity(x.dtype), window), window)
        real = window_views(padded_array(np.ones(x.shape, bool), False, window), window)
        flat = (*views.shape[: x.ndim], window.count)
        views, real = views.reshape(flat), real.reshape(flat)
        best = fun(views, -1, keepdims=True)
        hits = real & ((views == best) | (views != views))
        return np.argmax(hits, -1)

    return rule


def _lower_place(extreme: str) -> Function:
    """A short program for small windows, a reduction of pairs for large ones."""

    def rule(ctx: LowerContext, x: Operand, *, window: Window) -> Operand:
        if x.aval.size == 0 or 0 in window.places(x.aval.shape):
            return ctx.full(aval(window.places(x.aval.shape), dt.int32), 0)
        if is_tiled(window) and ctx.platform == "cpu":
            return ctx.call(extreme_of_tiles, x, window=window, extreme=extreme)[1]
        if window.count <= UNROLLED:
            return ctx.call(_place_by_shifts, x, window=window, extreme=extreme)[0]
        flat = _place_by_pairs(ctx, x, window, extreme)
        return ctx.call(_number_of, flat, window=window, shape=x.aval.shape)[0]

    return rule


def _place_by_shifts(x: Value, *, window: Window, extreme: str) -> Value:
    """The first offset whose element equals the extreme, a comparison for each offset."""
    a, (value, _, identity, _) = aval_of(x), _EXTREMES[extreme]
    best = bind(value.primitive, x, window=window)
    padded, inner = pad_for(x, fill=identity(a.dtype), window=window), window.unpadded()
    index = full(aval_of(best).shape, 0, dt.int32)
    for number, at in reversed(list(enumerate(window.offsets()))):
        element = taken(padded, at, inner)
        hit = eq(element, best)
        if a.dtype in dt.FLOATING:
            hit = or_(hit, ne(element, element))
        inside = _and_inside(hit, at, a.shape, window)
        if inside is not None:
            index = select(inside, full(aval_of(best).shape, number, dt.int32), index)
    return index


def taken(x: Value, at: Ints, window: Window) -> Value:
    """The element at one offset of each window of a padded array."""
    shape = aval_of(x).shape
    limits = [i + (m - 1) * s + 1 for i, m, s in zip(at, window.places(shape), window.strides)]
    return slice(x, start=at, limit=limits, strides=window.strides)


def _and_inside(hit: Value, at: Ints, shape: Ints, window: Window) -> Value | None:
    """`hit` where the windows' elements at this offset are no padding; None if all of them are."""
    places = window.places(shape)
    for d, (n, (low, _), hole) in enumerate(zip(shape, window.padding, window.base_dilation)):
        position = np.arange(places[d]) * window.strides[d] + at[d] - low
        inside = (position >= 0) & (position <= (n - 1) * hole) & (position % hole == 0)
        if not inside.any():
            return None
        if not inside.all():
            hit = and_(hit, broadcast_in_dim(constant(inside), shape=places, dims=(d,)))
    return hit


def _place_by_pairs(ctx: LowerContext, x: Operand, window: Window, extreme: str) -> Operand:
    """The flat index of each window's extreme in x, the number of its elements for padding."""
    _, _, identity, direction = _EXTREMES[extreme]
    a = x.aval
    dtype = dt.int32 if a.size < 2**31 - 1 else dt.int64
    count = ctx.op("stablehlo.iota", out=aval((a.size,), dtype), attrs="iota_dimension = 0 : i64")
    index = ctx.op("stablehlo.reshape", count, out=a.with_dtype(dtype))
    starts = [ctx.full(aval((), a.dtype), identity(a.dtype)), ctx.full(aval((), dtype), a.size)]
    outs = [aval(window.places(a.shape), d) for d in (a.dtype, dtype)]
    body = ctx.region([s.aval for s in (*starts, *starts)], _choose_pair(direction))
    return ctx.op(
        "stablehlo.reduce_window", x, index, *starts, out=outs, attrs=_window_attributes(window), regions=[body]
    )[1]


def _choose_pair(direction: str) -> Function:
    """Of two (value, index): the extreme value, NaN before any, the smaller index if equal."""

    def body(ctx: LowerContext, a: Operand, i: Operand, b: Operand, j: Operand) -> list[Operand]:
        def logic(op: str, p: Operand, q: Operand) -> Operand:
            return ctx.op(f"stablehlo.{op}", p, q, out=p.aval)

        a_nan, b_nan = (compare_operands(ctx, "NE", v, v) for v in (a, b))
        equal = logic("or", compare_operands(ctx, "EQ", a, b), logic("and", a_nan, b_nan))
        first = logic("and", equal, compare_operands(ctx, "LT", i, j))
        above = logic(
            "or",
            compare_operands(ctx, direction, a, b),
            logic("and", a_nan, ctx.op("stablehlo.not", b_nan, out=b_nan.aval)),
        )
        wins = logic("or", above, first)
        return [ctx.op("stablehlo.select", wins, p, q, out=p.aval) for p, q in ((a, b), (i, j))]

    return body


def _number_of(flat: Value, *, window: Window, shape: Ints) -> Value:
    """The number within its window of the element with each flat index."""
    a = aval_of(flat)
    number, pitch, step = zeros(a), 1, 1
    for d in reversed(range(a.ndim)):
        position = rem(div(flat, pitch), shape[d])
        position = add(mul(position, window.base_dilation[d]), window.padding[d][0])
        start = mul(iota(shape=a.shape, dtype=a.dtype, dimension=d), window.strides[d])
        within = div(sub(position, start), window.window_dilation[d])
        number = add(number, mul(within, step))
        pitch, step = pitch * shape[d], step * window.size[d]
    number = select(eq(flat, math.prod(shape)), zeros(a), number)
    return convert(number, dtype=dt.int32)


def _place_primitive(extreme: str, fun: Any, apply: Function) -> Primitive:
    return Primitive(
        f"reduce_window_arg{extreme}",
        traits=WINDOW.but(numpy=17, compile=80_000),
        shape=_place_shape(f"reduce_window_arg{extreme}"),
        reference=_place_reference(fun, lowest if extreme == "max" else highest),
        lower=_lower_place(extreme),
        jvp=no_tangent(apply),
        transpose=NOT_LINEAR,
        batch=_window_batch(apply),
    )


reduce_window_argmax_p: Primitive = _place_primitive(
    "max", np.max, lambda x, *, window: bind(reduce_window_argmax_p, x, window=window)
)
reduce_window_argmin_p: Primitive = _place_primitive(
    "min", np.min, lambda x, *, window: bind(reduce_window_argmin_p, x, window=window)
)

_EXTREMES = {
    "max": (reduce_window_max, reduce_window_argmax_p, lowest, "GT"),
    "min": (reduce_window_min, reduce_window_argmin_p, highest, "LT"),
}

# ---- window_gather, window_scatter ---------------------------------------------------------------
# Of a padded array and one place in each of its windows: the element there; and the transpose,
# what comes to each element from the windows whose place it is. Both are linear in the array.


def window_gather(x: Value, places: Value, *, window: Window) -> Value:
    """x's element at `places` (numbers within each window; int32) of every window."""
    return bind(window_gather_p, x, places, window=window)


def window_scatter(ct: Value, places: Value, *, shape: Ints, window: Window) -> Value:
    """An array of `shape` with each window's element of `ct` added at its place."""
    return bind(window_scatter_p, ct, places, shape=tuple(shape), window=window)


def _gather_shape(x: Aval, places: Aval, *, window: Window) -> Aval:
    _check_places("window_gather", x.shape, places, window)
    return x.with_shape(places.shape)


def _check_places(name: str, shape: Ints, places: Aval, window: Window) -> None:
    if window != window.unpadded():
        raise ValueError(f"{name} takes an array that is padded already, got {window}")
    if places.shape != window.places(shape) or places.dtype != dt.int32:
        raise TypeError(
            f"{name} takes int32 places of shape {window.places(shape)}, one for each "
            f"window of an array of shape {shape}, got {places}"
        )


def _flat_places(places: np.ndarray, shape: Ints, window: Window) -> np.ndarray:
    """The flat index in an array of `shape` of the place in each window."""
    offsets = np.array(list(window.offsets()), np.int64).reshape(window.count, len(shape))
    pitch = np.array([math.prod(shape[d + 1 :]) for d in range(len(shape))], np.int64)
    starts = np.zeros((), np.int64)
    for d, (n, s) in enumerate(zip(places.shape, window.strides)):
        at = np.arange(n) * s * pitch[d]
        starts = starts + at.reshape(-1, *(1,) * (len(shape) - d - 1))
    return starts + (offsets @ pitch)[places]


def _gather_reference(x: np.ndarray, places: np.ndarray, *, window: Window) -> np.ndarray:
    return np.ravel(x)[_flat_places(places, x.shape, window)].reshape(places.shape)


def _scatter_reference(ct: np.ndarray, places: np.ndarray, *, shape: Ints, window: Window) -> np.ndarray:
    out = np.zeros(math.prod(shape), accumulator(ct.dtype))
    np.add.at(out, _flat_places(places, shape, window).ravel(), ct.ravel().astype(out.dtype))
    return out.reshape(shape)


def _gather_lower(ctx: LowerContext, x: Operand, places: Operand, *, window: Window) -> Operand:
    if places.aval.size == 0:
        return ctx.full(x.aval.with_shape(places.aval.shape), 0)
    by = _gather_by_shifts if window.count <= UNROLLED else _gather_by_index
    return ctx.call(by, x, places, window=window)[0]


def _scatter_lower(ctx: LowerContext, ct: Operand, places: Operand, *, shape: Ints, window: Window) -> Operand:
    """By shifts where each element is in one window and they lie in rows, or on devices that write at once.

    ms on CPU, the maximum counted:              by shifts   by index
    16 x 64 x 32 x 32, 2 x 2, stride 2           1.2         0.7 (channels last: side by side)
    16 x 64 x 32 x 32, 3 x 3, stride 2           9.9         2.8 (channels last 9.6, 2.2)
    16 x 64 x 32 x 32, 3 x 3, stride 1           41          4.7
    8 x 32 x 56 x 56, 5 x 5, stride 3            29          2.3 (to compile: 1.9 s, 0.7 s)
    """
    if places.aval.size == 0:
        return ctx.full(ct.aval.with_shape(shape), 0)
    apart = window.size[-1] == 1 and all(n <= s for n, s in zip(window.reach, window.strides))
    if is_tiled(window) and ctx.platform == "cpu":
        return ctx.call(scatter_to_tiles, ct, places, shape=shape, window=window)[0]
    by_shifts = window.count <= UNROLLED and (apart or ctx.platform != "cpu")
    return ctx.call(_scatter_by_shifts if by_shifts else _scatter_by_index, ct, places, shape=shape, window=window)[0]


def _gather_by_shifts(x: Value, places: Value, *, window: Window) -> Value:
    out = zeros(aval_of(x).with_shape(aval_of(places).shape))
    for number, at in enumerate(window.offsets()):
        out = select(eq(places, number), taken(x, at, window), out)
    return out


def _index_by_iota(places: Value, shape: Ints, window: Window) -> Value:
    """_flat_places, with primitives."""
    dtype = dt.int32 if math.prod(shape) < 2**31 else dt.int64
    a = aval_of(places).with_dtype(dtype)
    places, flat, pitch = convert(places, dtype=dtype), zeros(a), 1
    for d in reversed(range(a.ndim)):
        flat = add(flat, mul(iota(shape=a.shape, dtype=dtype, dimension=d), window.strides[d] * pitch))
        if window.size[d] > 1:
            flat = add(flat, mul(rem(places, window.size[d]), window.window_dilation[d] * pitch))
            places = div(places, window.size[d])
        pitch *= shape[d]
    return flat


def _gather_by_index(x: Value, places: Value, *, window: Window) -> Value:
    a = aval_of(x)
    return take(reshape(x, shape=(a.size,)), _index_by_iota(places, a.shape, window), axis=0)


def _scatter_by_index(ct: Value, places: Value, *, shape: Ints, window: Window) -> Value:
    a, wide = aval_of(ct), accumulator(aval_of(ct).dtype)
    (index,) = optimization_barrier(_index_by_iota(places, shape, window))  # else it is computed in the scatter's loop
    index, ct = reshape(index, shape=(a.size,)), reshape(convert(ct, dtype=wide), shape=(a.size,))
    out = scatter_axis(zeros(aval((math.prod(shape),), wide)), index, ct, axis=0, combine="add")
    return convert(reshape(out, shape=shape), dtype=a.dtype)


def _scatter_by_shifts(ct: Value, places: Value, *, shape: Ints, window: Window) -> Value:
    """A sum of shifted arrays for each residue of positions modulo the strides, then interleaved.

    With holes of zeros between the cotangents instead, every shift is as large as the result and
    full of index arithmetic: 40 ms for 3 (32 x 64 x 32 x 32, window 3, stride 2).
    """
    a, wide = aval_of(ct), accumulator(aval_of(ct).dtype)
    grid = tuple(-(-n // s) for n, s in zip(shape, window.strides))
    parts: dict[Ints, Value] = {}
    for number, at in enumerate(window.offsets()):
        mine = convert(select(eq(places, number), ct, zeros(a)), dtype=wide)
        shift = [i // s for i, s in zip(at, window.strides)]
        mine = _placed(mine, shift, grid)
        residue = tuple(i % s for i, s in zip(at, window.strides))
        parts[residue] = add(parts[residue], mine) if residue in parts else mine
    return convert(interleaved(parts, shape, grid, window.strides, wide), dtype=a.dtype)


def _placed(x: Value, start: list[int], shape: Ints) -> Value:
    """x at `start` within zeros of `shape`; what sticks out is cut off."""
    a = aval_of(x)
    high = [n - i - m for n, i, m in zip(shape, start, a.shape)]
    return pad(x, constant(np.zeros((), a.dtype)), low=start, high=high)


def interleaved(parts: dict[Ints, Value], shape: Ints, grid: Ints, strides: Ints, dtype: np.dtype) -> Value:
    """The array of `shape` whose positions with each residue modulo the strides are a part."""
    residues = list(itertools.product(*map(range, strides)))
    if not parts:
        return zeros(aval(shape, dtype))
    blank = zeros(aval((1, *grid), dtype))
    stack = concatenate(*[reshape(parts[r], shape=(1, *grid)) if r in parts else blank for r in residues], dimension=0)
    n = len(shape)
    split = reshape(stack, shape=(*strides, *grid))
    order = [d for pair in zip(range(n, 2 * n), range(n)) for d in pair]
    whole = reshape(transpose(split, permutation=order), shape=tuple(m * s for m, s in zip(grid, strides)))
    return slice(whole, start=(0,) * n, limit=shape)


def _scatter_shape(ct: Aval, places: Aval, *, shape: Ints, window: Window) -> Aval:
    _check_places("window_scatter", shape, places, window)
    if ct.shape != places.shape:
        raise TypeError(f"window_scatter takes one element for each place, got {ct} and {places}")
    return ct.with_shape(shape)


def _scatter_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, shape: Ints, window: Window) -> Batched:
    to = next(d for d in dims if d is not None)
    ct, places = (move_batch_axis(axis, x, d, to) for x, d in zip(args, dims))
    return window_scatter(ct, places, shape=(*shape[:to], axis.size, *shape[to:]), window=window.with_batch(to)), to


def _gather_transpose(ct: Value, x: Value, places: Value, *, window: Window) -> Cotangents:
    return window_scatter(ct, places, shape=x.aval.shape, window=window), None


def _scatter_transpose(ct: Value, x: Value, places: Value, *, shape: Ints, window: Window) -> Cotangents:
    return window_gather(ct, places, window=window), None


# NumPy takes 3 ns for each place, and what it makes is filled with zeros first.
PLACES = WINDOW.but(numpy=1.4, work=lambda operands, results, params: results[0].size / 10 + 2 * operands[1].size)
window_gather_p = Primitive(
    "window_gather",
    traits=PLACES,
    shape=_gather_shape,
    reference=_gather_reference,
    lower=_gather_lower,
    jvp=jointly_linear(window_gather, (0,)),
    transpose=_gather_transpose,
    batch=_window_batch(window_gather),
)
window_scatter_p = Primitive(
    "window_scatter",
    traits=PLACES.but(compile=70_000),
    shape=_scatter_shape,
    reference=_scatter_reference,
    lower=_scatter_lower,
    jvp=jointly_linear(window_scatter, (0,)),
    transpose=_scatter_transpose,
    batch=_scatter_batch,
)
