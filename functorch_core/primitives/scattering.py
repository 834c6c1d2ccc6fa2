"""Writing at computed places: the scatter family, and the helpers that most callers want."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Linear, Primitive, Reason, Traits
from ..core.reference import contiguous, specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Jvp, Tangents, Value
from .arithmetic import add, div, mul
from .batching import Axis, all_at_front
from .bitwise import and_
from .comparison import eq, ge, lt, select
from .convert import convert
from .declare import check_dtype, jointly_linear
from .indexing import check_along, gather, index_vectors, other_dims, take
from .reductions import reshape_operand
from .structure import full, iota, reshape, transpose, zeros
from .windows import Windows, check_mode, clipped, ints, inverse, moved_inside, rows_of, shift, wide_indices


def _written(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """The updates, and a copy of what they are written into."""
    return operands[2].size + operands[0].size / 30


def _compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """XLA writes single numbers one after the other, in half of NumPy's time, and so it does with those of windows that
    lie across the memory, in four times as much."""
    dropped, window = params["inserted_window_dims"], params["update_window_dims"]
    if not window:
        return 0.5
    return 4.0 if operands[0].ndim - 1 in dropped else 0.2


SCATTER = Traits(
    family="scatter", numpy=2.5, work=_written, compiled=_compiled, compile=40_000, expensive=True, updates=True
)

# ---- scatter -------------------------------------------------------------------------------------
# One primitive for each way to combine; they share every rule but the derivative.


def scatter(
    operand: Value,
    indices: Value,
    updates: Value,
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    operand_batching_dims: Sequence[int] = (),
    scatter_indices_batching_dims: Sequence[int] = (),
    mode: str = "drop",
    unique: bool = False,
    combine: str = "set",
) -> Value:
    """`operand` with `updates` combined into the windows at `indices` (XLA's scatter).

    combine: 'set' (of several updates of an element the last in index order stays), 'add', 'mul',
    'min' or 'max'. Windows out of bounds: left out ('drop'), moved inside ('clip'), or absent
    ('promise_in_bounds'). `unique` promises that no element is updated twice.
    """
    if combine not in SCATTERS:
        raise ValueError(f"scatter takes combine {', '.join(SCATTERS)}, got {combine!r}")
    check_mode("scatter", mode, ("drop", "clip", "promise_in_bounds"))
    return bind(
        SCATTERS[combine],
        operand,
        indices,
        updates,
        update_window_dims=tuple(update_window_dims),
        inserted_window_dims=tuple(inserted_window_dims),
        scatter_dims_to_operand_dims=tuple(scatter_dims_to_operand_dims),
        operand_batching_dims=tuple(operand_batching_dims),
        scatter_indices_batching_dims=tuple(scatter_indices_batching_dims),
        mode=mode,
        unique=unique,
    )


def _scatter_windows(
    operand: np.ndarray | Aval,
    updates: np.ndarray | Aval,
    *,
    update_window_dims: Ints,
    inserted_window_dims: Ints,
    scatter_dims_to_operand_dims: Ints,
    operand_batching_dims: Ints,
    scatter_indices_batching_dims: Ints,
    **_: Any,
) -> Windows:
    left_out = (*inserted_window_dims, *operand_batching_dims)
    taken = (updates.shape[d] for d in update_window_dims if d < updates.ndim)
    sizes = tuple(1 if d in left_out else next(taken, 0) for d in range(operand.ndim))
    return Windows(
        operand.shape,
        sizes,
        scatter_dims_to_operand_dims,
        inserted_window_dims,
        update_window_dims,
        operand_batching_dims,
        scatter_indices_batching_dims,
    )


def _scatter_shape(name: str, allowed: frozenset[np.dtype], what: str) -> Function:
    def rule(operand: Aval, indices: Aval, updates: Aval, **params: Any) -> Aval:
        check_dtype(name, operand, allowed, what)
        w = _scatter_windows(operand, updates, **params)
        w.check(name, operand, indices)
        if updates.dtype != operand.dtype:
            raise TypeError(
                f"{name} (primitive) takes operand and updates of one dtype, got "
                f"{operand} and {updates}; convert the updates first"
            )
        wanted = w.outer_shape(indices.shape[:-1])
        if updates.shape != wanted:
            raise ValueError(
                f"{name} into {operand} at {indices} takes updates of shape {wanted}, got {updates}; got {w}"
            )
        return operand

    return rule


def _scatter_reference(put: Function) -> Function:
    @specialised(functools.partial(_scatter_rows_at, put))
    def rule(
        operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, mode: str, unique: bool, **params: Any
    ) -> np.ndarray:
        rows = rows_of(_scatter_windows(operand, updates, **params), indices.ndim)
        places, inside = rows.places(indices, clip=mode != "drop")
        updates = contiguous(updates.transpose(rows.outer)).reshape(places.shape + rows.row)
        if inside is not None and not inside.all():
            places, updates = places[inside], updates[inside]
        view = operand.transpose(rows.order)
        out = view.copy() if view.flags.c_contiguous else contiguous(view)
        out = out.reshape((math.prod(rows.numbered), *rows.row))
        put(out, places.reshape(-1), updates.reshape((places.size, *rows.row)))
        out = out.reshape(rows.numbered + rows.row)
        return out.transpose(inverse(rows.order))

    return rule


def _scatter_rows_at(
    put: Function, operand: Aval, indices: Aval, updates: Aval, *, mode: str, unique: bool, **params: Any
) -> Function | None:
    """Of one index for each row of the first dimension: 3 us for 10."""
    w = _scatter_windows(operand, updates, **params)
    rows = rows_of(w, indices.ndim)
    if indices.dtype == dt.uint64 or w.index_map != (0,) or rows.offsets is not None or rows.batches:
        return None
    if rows.order != tuple(range(operand.ndim)) or rows.outer != tuple(range(updates.ndim)) or rows.strides[0] != 1:
        return None
    limit, n, row, shape = int(rows.limits[0]), math.prod(indices.shape), rows.row, operand.shape
    table = (math.prod(rows.numbered), *row)

    def run(x: np.ndarray, i: np.ndarray, updates: np.ndarray) -> np.ndarray:
        first, updates = i.reshape(n).astype(np.int64, copy=False), updates.reshape((n, *row))
        places = moved_inside(first, limit)
        if mode == "drop" and places is not first:
            inside = places == first
            if not inside.all():
                places, updates = places[inside], updates[inside]
        out = x.copy().reshape(table)
        put(out, places, updates)
        return out.reshape(shape)

    return run


def _scatter_lower(body: Function) -> Function:
    def rule(
        ctx: LowerContext,
        operand: Operand,
        indices: Operand,
        updates: Operand,
        *,
        mode: str,
        unique: bool,
        **params: Any,
    ) -> Operand:
        ctx.root.features.add("scatter")
        w = _scatter_windows(operand.aval, updates.aval, **params)
        indices = wide_indices(ctx, indices)
        if mode == "clip":
            indices = clipped(ctx, indices, w)
        shape = operand.aval.shape
        if ctx.platform == "cpu" and _is_along(w, indices.aval):
            (indices,) = ctx.call(_flat_indices, indices, shape=shape, axis=w.index_map[0], check=mode == "drop")
            size = operand.aval.size
            operand, updates = (reshape_operand(ctx, x, (x.aval.size,)) for x in (operand, updates))
            w = Windows((size,), (1,), (0,), (0,), (), (), ())
        if not w.index_map:  # XLA of jaxlib 0.11.2 makes one update of all
            (indices,) = ctx.call(_all_first, indices)
            operand = reshape_operand(ctx, operand, (1, *shape))
            w = w._replace(
                shape=(1, *shape),
                sizes=(1, *w.sizes),
                index_map=(0,),
                dropped=(0, *shift(w.dropped)),
                operand_batch=shift(w.operand_batch),
            )
        numbers = (
            f"update_window_dims = {ints(w.window_dims)}, "
            f"inserted_window_dims = {ints(w.dropped)}, "
            f"input_batching_dims = {ints(w.operand_batch)}, "
            f"scatter_indices_batching_dims = {ints(w.indices_batch)}, "
            f"scatter_dims_to_operand_dims = {ints(w.index_map)}, "
            f"index_vector_dim = {indices.aval.ndim - 1}"
        )
        scalar = operand.aval.with_shape(())
        out = ctx.op(
            "stablehlo.scatter",
            operand,
            indices,
            updates,
            out=operand.aval,
            attrs=f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, unique_indices = {str(unique).lower()}",
            regions=[ctx.region((scalar, scalar), body)],
        )
        return out if out.aval.shape == shape else reshape_operand(ctx, out, shape)

    return rule


def _all_first(indices: Value) -> Value:
    """The index 0 for each of empty ones."""
    return full((*aval_of(indices).shape[:-1], 1), 0, dt.int32)


def _is_along(w: Windows, indices: Aval) -> bool:
    """Whether single elements go to places along one dimension: which XLA is quicker at in a vector.

    Into 8 x 16 x 1024 four times as many: 1.36 ms, and 0.31 by flat indices (without emitters 2.4 and 0.74).
    """
    others = other_dims(len(w.shape), w.index_map[0]) if len(w.index_map) == 1 else ()
    return bool(others) and w.operand_batch == w.indices_batch == others and indices.ndim == len(w.shape) + 1


def _flat_indices(indices: Value, *, shape: Ints, axis: int, check: bool) -> Value:
    """The places in a flat array of `shape` of indices along one of its dimensions; beyond its end if they are out of
    bounds, which is looked for with `check`."""
    size, places = math.prod(shape), aval_of(indices).shape[:-1]
    i = reshape(indices, shape=places)
    dtype = dt.int32 if size < 2**31 - 1 else dt.int64
    flat = full(places, 0, dtype)
    for d in range(len(shape)):
        at = convert(i, dtype=dtype) if d == axis else iota(shape=places, dtype=dtype, dimension=d)
        flat = add(flat, mul(at, math.prod(shape[d + 1 :])))
    if check:
        flat = select(and_(ge(i, 0), lt(i, shape[axis])), flat, full(places, size, dtype))
    return reshape(flat, shape=(math.prod(places), 1))


def _scatter_batch(combine: str) -> Function:
    def rule(
        axis: Axis,
        args: Sequence[Value],
        dims: Dims,
        *,
        update_window_dims: Ints,
        inserted_window_dims: Ints,
        scatter_dims_to_operand_dims: Ints,
        operand_batching_dims: Ints,
        scatter_indices_batching_dims: Ints,
        **params: Any,
    ) -> Batched:
        if dims[1] is None:
            indices = args[1]
            operand, updates = all_at_front(axis, args[::2], dims[::2])
            update_window_dims, operand_batching_dims = ((0, *shift(update_window_dims)), shift(operand_batching_dims))
        else:
            operand, indices, updates = all_at_front(axis, args, dims)
            update_window_dims = shift(update_window_dims)
            operand_batching_dims = (0, *shift(operand_batching_dims))
            scatter_indices_batching_dims = (0, *shift(scatter_indices_batching_dims))
        return scatter(
            operand,
            indices,
            updates,
            update_window_dims=update_window_dims,
            inserted_window_dims=shift(inserted_window_dims),
            scatter_dims_to_operand_dims=shift(scatter_dims_to_operand_dims),
            operand_batching_dims=operand_batching_dims,
            scatter_indices_batching_dims=scatter_indices_batching_dims,
            combine=combine,
            **params,
        ), 0

    return rule


def _gather_updates(
    operand: Value, indices: Value, updates: Aval, *, mode: str, unique: bool, fill_value: int = 0, **params: Any
) -> Value:
    """What stands in the operand's windows, in the shape of the updates."""
    w = _scatter_windows(aval_of(operand), updates, **params)
    return gather(
        operand,
        indices,
        offset_dims=w.window_dims,
        collapsed_slice_dims=w.dropped,
        start_index_map=w.index_map,
        slice_sizes=w.sizes,
        operand_batching_dims=w.operand_batch,
        start_indices_batching_dims=w.indices_batch,
        mode="fill" if mode == "drop" else mode,
        fill_value=fill_value,
    )


# -- set: jointly linear in operand and updates, even where updates meet, as the last one stays


def _update_ids(updates: Aval, window_dims: Ints) -> Value:
    """Distinct int64 numbers for the elements of the updates, increasing in index order."""
    scatter_dims = tuple(i for i in range(updates.ndim) if i not in window_dims)
    order = scatter_dims + tuple(window_dims)
    flat = iota(shape=(updates.size,), dtype=dt.int64)
    ids = reshape(flat, shape=tuple(updates.shape[i] for i in order))
    return transpose(ids, permutation=inverse(order))


def _last_ids(operand: Aval, indices: Value, ids: Value, **params: Any) -> Value:
    """For each element of the operand the id of the last update it gets, -1 if none."""
    return scatter(full(operand.shape, -1, dt.int64), indices, ids, combine="max", **params)


def _scatter_set_transpose(
    ct: Value, operand: Value, indices: Value, updates: Value, *, unique: bool, **params: Any
) -> Cotangents:
    update_aval = aval_of(updates) if not isinstance(updates, Linear) else updates.aval
    ct_operand = ct_updates = None
    if isinstance(operand, Linear):
        ct_operand = scatter(ct, indices, zeros(update_aval), unique=unique, **params)
    if isinstance(updates, Linear):
        ct_updates = _gather_updates(ct, indices, update_aval, unique=unique, **params)
        if not unique:
            ids = _update_ids(update_aval, params["update_window_dims"])
            last = _last_ids(aval_of(ct), indices, ids, unique=False, **params)
            stays = eq(ids, _gather_updates(last, indices, update_aval, unique=False, fill_value=-1, **params))
            ct_updates = select(stays, ct_updates, zeros(update_aval))
    return ct_operand, None, ct_updates


def _scatter_set_cuda(
    ctx: LowerContext, operand: Operand, indices: Operand, updates: Operand, *, unique: bool, **params: Any
) -> Operand:
    """On a GPU updates run in any order: pick each element's last one first, by its id."""
    if unique:
        return _scatter_set_lower(ctx, operand, indices, updates, unique=unique, **params)
    return ctx.call(_scatter_last, operand, indices, updates, **params)[0]


def _scatter_last(operand: Value, indices: Value, updates: Value, **params: Any) -> Value:
    """scatter 'set' as a maximum of ids, a gather by them, and a selection."""
    a, window_dims = aval_of(updates), params["update_window_dims"]
    if not a.size:
        return operand
    last = _last_ids(aval_of(operand), indices, _update_ids(a, window_dims), unique=False, **params)
    order = tuple(i for i in range(a.ndim) if i not in window_dims) + window_dims
    flat = reshape(transpose(updates, permutation=order), shape=(a.size,))
    taken = take(flat, last, axis=0, mode="clip")  # where no update came, any will do
    return select(lt(last, 0), operand, taken)


# -- add, mul, min, max


def _scatter_add_transpose(ct: Value, operand: Value, indices: Value, updates: Value, **params: Any) -> Cotangents:
    ct_updates = None
    if isinstance(updates, Linear):
        ct_updates = _gather_updates(ct, indices, updates.aval, **params)
    return ct if isinstance(operand, Linear) else None, None, ct_updates


def _scatter_mul_jvp(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvp:
    operand, indices, updates = primals
    t_operand, _, t_updates = tangents
    out, tangent = scatter(*primals, combine="mul", **params), None
    if t_operand is not None:
        tangent = scatter(t_operand, indices, updates, combine="mul", **params)
    if t_updates is not None:
        if not params["unique"]:
            raise NotImplementedError(
                "the derivative of scatter 'mul' by its updates needs unique=True: of several "
                "factors of one element each one's derivative is the product of the others"
            )
        factor = _gather_updates(operand, indices, aval_of(updates), **params)
        base = zeros(aval_of(operand)) if tangent is None else tangent
        tangent = scatter(base, indices, mul(factor, t_updates), combine="add", **params)
    return out, tangent


def _scatter_mul_transpose(ct: Value, operand: Value, indices: Value, updates: Value, **params: Any) -> Cotangents:
    if isinstance(updates, Linear):
        raise NotImplementedError("scatter 'mul' is transposed in its operand only")
    return scatter(ct, indices, updates, combine="mul", **params), None, None


def _scatter_extremum_jvp(combine: str) -> Function:
    """The tangent of each maximum (minimum) is the mean of those of the elements that attain it."""

    def rule(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvp:
        operand, indices, updates = primals
        out = scatter(*primals, combine=combine, **params)
        here = eq(operand, out)
        there = eq(updates, _gather_updates(out, indices, aval_of(updates), **params))

        def total(of_operand: Value, of_updates: Value) -> Value:
            kept = select(here, of_operand, zeros(aval_of(operand)))
            added = select(there, of_updates, zeros(aval_of(updates)))
            return scatter(kept, indices, added, combine="add", **params)

        ones = (full(aval_of(x).shape, 1, aval_of(x).dtype) for x in (operand, updates))
        moved = (zeros(aval_of(x)) if t is None else t for x, t in ((operand, tangents[0]), (updates, tangents[2])))
        return out, div(total(*moved), total(*ones))

    return rule


# -- the five


def _put(out: np.ndarray, places: np.ndarray, updates: np.ndarray) -> None:
    out[places] = updates


ROW = 4  # numbers; of shorter rows one number is combined after the other, each in 2.5 ns
MANY = 1 << 12  # numbers; fewer NumPy combines as quickly
LONG_ROW = 256  # numbers; NumPy combines two such rows in the time that it takes to be called


def _at(ufunc: np.ufunc) -> Function:
    """Combine rows of updates with those of a table at places, which may be equal, in their order.

    NumPy takes 6 to 9 ns for each number of a row. What comes first to its row is combined at once, then what comes
    second, and so on, as long as this is much; us by NumPy and like this: 300 rows of 512 to 512 places 974 and 97,
    2,048 rows of 128 to 1,000 places 1,715 and 223, all to one place 880 and 182.
    """

    def put(table: np.ndarray, places: np.ndarray, updates: np.ndarray) -> None:
        row = math.prod(updates.shape[1:])
        if updates.ndim == 1 or updates.size < MANY:
            return ufunc.at(table, places, updates)
        table, updates = table.reshape(len(table), row), updates.reshape(len(places), row)
        left = _in_rounds(ufunc, table, places, updates) if row >= ROW else np.arange(len(places))
        if row < LONG_ROW:
            numbers = (places[left, None] * row + np.arange(row)).reshape(-1)
            return ufunc.at(table.reshape(-1), numbers, updates[left].reshape(-1))
        for k in left.tolist():
            old = table[places[k]]
            ufunc(old, updates[k], out=old)

    return put


def _in_rounds(ufunc: np.ufunc, table: np.ndarray, places: np.ndarray, updates: np.ndarray) -> np.ndarray:
    """Combine what comes first to its place, and so on; returns which updates are left."""
    left, first = np.arange(len(places)), np.empty(len(table), np.int64)
    while len(left):
        at = places[left]
        first[at[::-1]] = left[::-1]  # the last that is written stays
        comes_first = first[at] == left
        now = left[comes_first]
        if len(now) * updates.shape[1] < ROW * (len(left) + 256):
            return left
        rows = places[now]
        table[rows] = ufunc(table[rows], updates if len(now) == len(updates) else updates[now])
        left = left[~comes_first]
    return left


def _combine_with(hlo: str) -> Function:
    return lambda ctx, old, new: ctx.op(hlo, old, new, out=old.aval)


def _scatter_primitive(
    combine: str,
    put: Function,
    body: Function,
    allowed: frozenset[np.dtype],
    what: str,
    *,
    jvp: Function | None = None,
    transpose: Function | Reason,
    lower_on: dict[str, Function] | None = None,
    traits: Traits = SCATTER,
) -> Primitive:
    name = f"scatter_{combine}"

    def apply(*args: Value, **params: Any) -> Value:
        return scatter(*args, combine=combine, **params)

    return Primitive(
        name,
        traits=traits,
        shape=_scatter_shape(name, allowed, what),
        reference=_scatter_reference(put),
        lower=_scatter_lower(body),
        lower_on=lower_on,
        jvp=jvp or jointly_linear(apply, operands=(0, 2)),
        transpose=transpose,
        batch=_scatter_batch(combine),
    )


def _keep_new(ctx: LowerContext, old: Operand, new: Operand) -> Operand:
    return new


_scatter_set_lower = _scatter_lower(_keep_new)

SCATTERS = {
    "set": _scatter_primitive(
        "set",
        _put,
        _keep_new,
        dt.ALL,
        "any",
        transpose=_scatter_set_transpose,
        lower_on={"cuda": _scatter_set_cuda},
        traits=SCATTER.but(numpy=0.8, compiled=1.0, conjugates=True, carries=True),
    ),
    "add": _scatter_primitive(
        "add",
        _at(np.add),
        _combine_with("stablehlo.add"),
        dt.ALL,
        "numeric or bool",
        transpose=_scatter_add_transpose,
        traits=SCATTER.but(conjugates=True),
    ),
    "mul": _scatter_primitive(
        "mul",
        _at(np.multiply),
        _combine_with("stablehlo.multiply"),
        dt.ALL,
        "numeric or bool",
        jvp=_scatter_mul_jvp,
        transpose=_scatter_mul_transpose,
    ),
    "min": _scatter_primitive(
        "min",
        _at(np.minimum),
        _combine_with("stablehlo.minimum"),
        dt.ORDERED,
        "real or bool",
        jvp=_scatter_extremum_jvp("min"),
        transpose=NOT_LINEAR,
    ),
    "max": _scatter_primitive(
        "max",
        _at(np.maximum),
        _combine_with("stablehlo.maximum"),
        dt.ORDERED,
        "real or bool",
        jvp=_scatter_extremum_jvp("max"),
        transpose=NOT_LINEAR,
    ),
}

# ---- along one axis: what most callers want ------------------------------------------------------


def scatter_axis(
    x: Value,
    indices: Value,
    updates: Value,
    *,
    axis: int,
    combine: str = "set",
    mode: str = "drop",
    unique: bool = False,
) -> Value:
    """The mirror of take: `updates`, of take's shape, combined into x at `indices` along `axis`."""
    a, i = aval_of(x), aval_of(indices)
    if not a.shape[axis] or not aval_of(updates).size:
        return x
    window = tuple(d if d < axis else d - 1 + i.ndim for d in range(a.ndim) if d != axis)
    return scatter(
        x,
        index_vectors(indices),
        updates,
        update_window_dims=window,
        inserted_window_dims=(axis,),
        scatter_dims_to_operand_dims=(axis,),
        combine=combine,
        mode=mode,
        unique=unique,
    )


def scatter_along_axis(
    x: Value,
    indices: Value,
    updates: Value,
    *,
    axis: int,
    combine: str = "set",
    mode: str = "drop",
    unique: bool = False,
) -> Value:
    """The mirror of take_along_axis: `updates`, of the indices' shape, combined into x."""
    a, i = aval_of(x), aval_of(indices)
    check_along("scatter_along_axis", a, i, axis)
    if not a.shape[axis] or not i.size:
        return x
    others = other_dims(a.ndim, axis)
    return scatter(
        x,
        index_vectors(indices),
        updates,
        update_window_dims=(),
        inserted_window_dims=(axis,),
        scatter_dims_to_operand_dims=(axis,),
        operand_batching_dims=others,
        scatter_indices_batching_dims=others,
        combine=combine,
        mode=mode,
        unique=unique,
    )
