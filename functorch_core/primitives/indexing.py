"""Reading at computed places: gather, and the helpers that most callers want."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.primitive import Primitive, Traits, largest
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Jvp, Tangents, Value
from .batching import Axis, move_batch_axis
from .structure import expand_dims, full, zeros
from .windows import Rows, Windows, check_mode, inside_bounds, ints, inverse, moved_inside, rows_of, shift, wide_indices

# ---- gather --------------------------------------------------------------------------------------


def gather(
    operand: Value,
    indices: Value,
    *,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    start_index_map: Sequence[int],
    slice_sizes: Sequence[int],
    operand_batching_dims: Sequence[int] = (),
    start_indices_batching_dims: Sequence[int] = (),
    mode: str = "clip",
    fill_value: float | None = None,
) -> Value:
    """The windows of `operand` at `indices` (XLA's gather, index_vector_dim last).

    Windows out of bounds: moved inside ('clip'), replaced by `fill_value` ('fill'; by default NaN,
    the smallest signed, largest unsigned integer, True), or absent ('promise_in_bounds').
    """
    check_mode("gather", mode, ("clip", "fill", "promise_in_bounds"))
    if mode != "fill" or fill_value != fill_value:  # NaN is the default, and not equal to itself
        fill_value = None
    return bind(
        gather_p,
        operand,
        indices,
        offset_dims=tuple(offset_dims),
        collapsed_slice_dims=tuple(collapsed_slice_dims),
        start_index_map=tuple(start_index_map),
        slice_sizes=tuple(slice_sizes),
        operand_batching_dims=tuple(operand_batching_dims),
        start_indices_batching_dims=tuple(start_indices_batching_dims),
        mode=mode,
        fill_value=fill_value,
    )


def _gather_windows(
    operand: np.ndarray | Aval,
    *,
    offset_dims: Ints,
    collapsed_slice_dims: Ints,
    start_index_map: Ints,
    slice_sizes: Ints,
    operand_batching_dims: Ints,
    start_indices_batching_dims: Ints,
    **_: Any,
) -> Windows:
    return Windows(
        operand.shape,
        slice_sizes,
        start_index_map,
        collapsed_slice_dims,
        offset_dims,
        operand_batching_dims,
        start_indices_batching_dims,
    )


def default_fill(dtype: np.dtype) -> float:
    """What an element out of bounds reads as: NaN, smallest signed, largest unsigned, True."""
    if dtype in dt.INEXACT:
        return np.nan
    if dtype == dt.bool_:
        return True
    return dt.iinfo(dtype).min if dtype in dt.SIGNED else dt.iinfo(dtype).max


def _gather_shape(operand: Aval, indices: Aval, **params: Any) -> Aval:
    w = _gather_windows(operand, **params)
    w.check("gather", operand, indices)
    return aval(w.outer_shape(indices.shape[:-1]), operand.dtype)


def _gather_at(operand: Aval, indices: Aval, *, mode: str, fill_value: float | None, **params: Any) -> Function | None:
    """Of windows that are one row: what does not depend on the indices, once."""
    w = _gather_windows(operand, **params)
    rows = rows_of(w, indices.ndim)
    if indices.dtype == dt.uint64 or not w.index_map or rows.offsets is not None:
        return None
    fill = default_fill(operand.dtype) if fill_value is None else fill_value
    if len(w.index_map) > 1:
        return _at_vectors(operand, indices, rows, fill if mode == "fill" else None)
    limit, stride = int(rows.limits[0]), int(rows.strides[0])
    if w.index_map[0] and _is_take(w, indices.ndim - 1):
        return _take_along(w.index_map[0], limit, np.asarray(fill).astype(operand.dtype) if mode == "fill" else None)
    lines = rows.lines(indices.ndim - 1)
    table = (math.prod(rows.numbered), *rows.row)
    as_table = None if rows.order == tuple(range(operand.ndim)) else rows.order
    shape, order = indices.shape[:-1] + rows.kept, inverse(rows.outer)
    stays = order == tuple(range(len(shape)))

    def clipped(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Of rows as they are numbered: NumPy clips."""
        x = x.reshape(table) if as_table is None else x.transpose(as_table).reshape(table)
        out = np.asarray(x.take(i[..., 0].astype(np.int64, copy=False), axis=0, mode="clip")).reshape(shape)
        return out if stays else out.transpose(order)

    if mode != "fill" and stride == 1 and lines is None and limit == table[0] - 1:
        return clipped

    def run(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        starts = i[..., 0].astype(np.int64, copy=False)
        places = inside = moved_inside(starts, limit)
        if stride != 1:
            places = places * stride
        if lines is not None:
            places = places + lines
        x = x.reshape(table) if as_table is None else x.transpose(as_table).reshape(table)
        out = np.asarray(x.take(places, axis=0))  # of one number: a scalar, which is not written to
        if mode == "fill" and inside is not starts and not (inside == starts).all():
            out[inside != starts] = np.asarray(fill).astype(operand.dtype)
        out = out.reshape(shape)
        return out if stays else out.transpose(order)

    return run


def _at_vectors(operand: Aval, indices: Aval, rows: Rows, fill: float | None) -> Function:
    """Of index vectors with several components, one after the other: four of two 2.6 us, as a matrix of them 5.2."""
    lines, order = rows.lines(indices.ndim - 1), inverse(rows.outer)
    components = list(zip(range(indices.shape[-1]), rows.limits.tolist(), rows.strides.tolist()))
    filled = None if fill is None else np.asarray(fill).astype(operand.dtype)
    shape = indices.shape[:-1] + rows.kept

    def run(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        places: Any = lines
        i, outside = i.astype(np.int64, copy=False), None
        for k, limit, stride in components:
            starts = i[..., k]
            inside = moved_inside(starts, limit)
            if filled is not None and inside is not starts:
                outside = inside != starts if outside is None else outside | (inside != starts)
            first = inside if stride == 1 else inside * stride
            places = first if places is None else places + first
        out = np.asarray(rows.view(x).take(places, axis=0))
        if outside is not None:
            out[outside] = filled
        return out.reshape(shape).transpose(order)

    return run


def _is_take(w: Windows, indices_ndim: int) -> bool:
    """Whether the indices' dimensions take the place of the one that is indexed, as in NumPy's take."""
    (axis,) = w.index_map
    others = [d for d in range(len(w.shape)) if d != axis]
    return w.dropped == w.index_map and w.window_dims == tuple([d + (indices_ndim - 1) * (d > axis) for d in others])


def _take_along(axis: int, limit: int, fill: np.ndarray | None) -> Function:
    """NumPy's take along any axis but the first: 300 of 512 columns of 512 numbers 72 us, 520 as rows of what is
    transposed and back."""
    before = (slice(None),) * axis

    def run(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        starts = i[..., 0].astype(np.int64, copy=False)
        out = x.take(starts, axis=axis, mode="clip")
        if fill is not None:
            inside = moved_inside(starts, limit)
            if inside is not starts and not (inside == starts).all():
                out[(*before, inside != starts)] = fill
        return out

    return run


@specialised(_gather_at)
def _gather_reference(
    operand: np.ndarray, indices: np.ndarray, *, mode: str, fill_value: float | None, **params: Any
) -> np.ndarray:
    rows = rows_of(_gather_windows(operand, **params), indices.ndim)
    places, inside = rows.places(indices, clip=mode != "fill")
    out = np.asarray(rows.view(operand).take(places, axis=0))
    if inside is not None:
        fill = default_fill(operand.dtype) if fill_value is None else fill_value
        out[~inside] = np.asarray(fill).astype(operand.dtype)
    return out.reshape(indices.shape[:-1] + rows.kept).transpose(inverse(rows.outer))


def _gather_lower(
    ctx: LowerContext, operand: Operand, indices: Operand, *, mode: str, fill_value: float | None, **params: Any
) -> Operand:
    w = _gather_windows(operand.aval, **params)
    out = operand.aval.with_shape(w.outer_shape(indices.aval.shape[:-1]))
    indices = wide_indices(ctx, indices)
    if "barrier" in ctx.root.features:
        ctx.root.features.add("sampled")
    numbers = (
        f"offset_dims = {ints(w.window_dims)}, collapsed_slice_dims = {ints(w.dropped)}, "
        f"operand_batching_dims = {ints(w.operand_batch)}, "
        f"start_indices_batching_dims = {ints(w.indices_batch)}, "
        f"start_index_map = {ints(w.index_map)}, "
        f"index_vector_dim = {indices.aval.ndim - 1}"
    )
    found = ctx.op(
        "stablehlo.gather",
        operand,
        indices,
        out=out,
        attrs=f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {dims_attr(w.sizes)}",
    )
    if mode != "fill":
        return found
    fill = default_fill(out.dtype) if fill_value is None else fill_value
    inside = ctx.op(
        "stablehlo.broadcast_in_dim",
        inside_bounds(ctx, indices, w),
        out=out.with_dtype(dt.bool_),
        attrs=f"broadcast_dimensions = {dims_attr(w.scatter_dims(out.ndim))}",
    )
    return ctx.op("stablehlo.select", inside, found, ctx.full(out, fill), out=out)


def _gather_jvp(primals: Sequence[Value], tangents: Tangents, *, fill_value: float | None, **params: Any) -> Jvp:
    out = gather(*primals, fill_value=fill_value, **params)
    if tangents[0] is None:
        return out, None
    return out, gather(tangents[0], primals[1], fill_value=0, **params)


def _gather_transpose(
    ct: Value,
    operand: Value,
    indices: Value,
    *,
    offset_dims: Ints,
    collapsed_slice_dims: Ints,
    start_index_map: Ints,
    operand_batching_dims: Ints,
    start_indices_batching_dims: Ints,
    mode: str,
    **_: Any,
) -> Cotangents:
    from .scattering import scatter

    return scatter(
        zeros(operand.aval),
        indices,
        ct,
        update_window_dims=offset_dims,
        inserted_window_dims=collapsed_slice_dims,
        scatter_dims_to_operand_dims=start_index_map,
        operand_batching_dims=operand_batching_dims,
        scatter_indices_batching_dims=start_indices_batching_dims,
        mode="drop" if mode == "fill" else mode,
        combine="add",
    ), None


def _gather_batch(
    axis: Axis,
    args: Sequence[Value],
    dims: Dims,
    *,
    offset_dims: Ints,
    collapsed_slice_dims: Ints,
    start_index_map: Ints,
    slice_sizes: Ints,
    operand_batching_dims: Ints,
    start_indices_batching_dims: Ints,
    **params: Any,
) -> Batched:
    in_operand, in_indices = (d is not None for d in dims)
    operand, indices = (x if d is None else move_batch_axis(axis, x, d, 0) for x, d in zip(args, dims))
    offset_dims = shift(offset_dims)
    if in_operand:
        collapsed_slice_dims, start_index_map = shift(collapsed_slice_dims), shift(start_index_map)
        operand_batching_dims = shift(operand_batching_dims)
        slice_sizes = (1 if in_indices else axis.size, *slice_sizes)
        if not in_indices:
            offset_dims = (0, *offset_dims)
    if in_indices:
        start_indices_batching_dims = shift(start_indices_batching_dims)
    if in_operand and in_indices:
        operand_batching_dims = (0, *operand_batching_dims)
        start_indices_batching_dims = (0, *start_indices_batching_dims)
    return gather(
        operand,
        indices,
        offset_dims=offset_dims,
        collapsed_slice_dims=collapsed_slice_dims,
        start_index_map=start_index_map,
        slice_sizes=slice_sizes,
        operand_batching_dims=operand_batching_dims,
        start_indices_batching_dims=start_indices_batching_dims,
        **params,
    ), 0


def _read(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """What is read, not the whole table: each element by itself, or rows, which take a tenth."""
    count = largest(operands[1:], results, params)
    return count if math.prod(params["slice_sizes"]) < ROW else count / 10


def _compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """XLA copies a row as elements: 2,048 rows of 128 47 us for NumPy's 30, 4,096 of 512 1.4 ms for 0.5."""
    return 0.2 if math.prod(params["slice_sizes"]) < ROW else 1.5


ROW = 16  # elements that are read as one

gather_p = Primitive(
    "gather",
    traits=Traits(
        family="index", numpy=1.4, work=_read, compiled=_compiled, conjugates=True, carries=True, sizes=("slice_sizes",)
    ),
    shape=_gather_shape,
    reference=_gather_reference,
    lower=_gather_lower,
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=_gather_batch,
)
# ---- along one axis: what most callers want ------------------------------------------------------


def wrap_negative(indices: Value, size: int) -> Value:
    """Indices that count from the end (-1 is the last of `size`) as ones that count from 0."""
    from . import add, lt, select

    if aval_of(indices).dtype in dt.UNSIGNED:
        return indices
    return select(lt(indices, 0), add(indices, size), indices)


def index_vectors(indices: Value) -> Value:
    """The indices with the index vector's dimension, of size 1, at the end."""
    return expand_dims(indices, dims=(aval_of(indices).ndim,))


def take(x: Value, indices: Value, *, axis: int, mode: str = "clip", fill_value: float | None = None) -> Value:
    """x at `indices` (of any shape) along `axis`: shape[:axis] + indices.shape + shape[axis+1:]."""
    a, i = aval_of(x), aval_of(indices)
    shape = a.shape[:axis] + i.shape + a.shape[axis + 1 :]
    if not a.shape[axis]:
        return _take_from_nothing("take", a.with_shape(shape), mode, fill_value)
    offset = tuple(d if d < axis else d - 1 + i.ndim for d in range(a.ndim) if d != axis)
    return gather(
        x,
        index_vectors(indices),
        offset_dims=offset,
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        slice_sizes=_one_at(a.shape, axis),
        mode=mode,
        fill_value=fill_value,
    )


def _one_at(shape: Ints, axis: int) -> Ints:
    return shape[:axis] + (1,) + shape[axis + 1 :]


def _take_from_nothing(name: str, out: Aval, mode: str, fill_value: float | None) -> Value:
    """The result of taking along an axis of size 0, where no window of size 1 fits."""
    if out.size and mode != "fill":
        raise IndexError(f"{name}: cannot take {out} from an axis of size 0")
    return full(out.shape, default_fill(out.dtype) if fill_value is None else fill_value, out.dtype)


def other_dims(ndim: int, axis: int) -> Ints:
    """All dimensions but one."""
    return tuple(d for d in range(ndim) if d != axis)


def take_along_axis(
    x: Value, indices: Value, *, axis: int, mode: str = "clip", fill_value: float | None = None
) -> Value:
    """out[..., i, ...] = x[..., indices[..., i, ...], ...]; the other dimensions are equal."""
    a, i = aval_of(x), aval_of(indices)
    check_along("take_along_axis", a, i, axis)
    if not a.shape[axis] or not i.size:
        return _take_from_nothing("take_along_axis", a.with_shape(i.shape), mode, fill_value)
    others = other_dims(a.ndim, axis)
    return gather(
        x,
        index_vectors(indices),
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        slice_sizes=(1,) * a.ndim,
        operand_batching_dims=others,
        start_indices_batching_dims=others,
        mode=mode,
        fill_value=fill_value,
    )


def check_along(name: str, a: Aval, indices: Aval, axis: int) -> None:
    """ValueError unless the indices agree with an aval in all dimensions but `axis`."""
    if a.ndim != indices.ndim or _one_at(a.shape, axis) != _one_at(indices.shape, axis):
        raise ValueError(
            f"{name} along {axis} takes indices that agree with {a} in the other dimensions, got {indices}"
        )
