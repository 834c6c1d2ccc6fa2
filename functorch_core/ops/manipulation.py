"""Shapes: reshaping, permuting, joining, splitting, repeating, padding."""

from __future__ import annotations

import math

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels.shapes import repeated, rolled, stacked, tiled
from .creation import canonical_shape
from .host import host_array, is_traced
from .op import op
from .places import exposed
from .promotion import broadcast_to as broadcast_value
from .promotion import broadcast_together, canonical_axes, canonical_axis, cast, result_dtype

RESHAPE = """{name}(x, {wanted}): x has {size} elements (shape {shape}), the new shape {product}.
    One size may be -1: it is then computed."""


def ints(values, name: str) -> tuple[int, ...]:
    """A tuple of ints of an int or a sequence."""
    values = (values,) if hasattr(values, "__index__") else values
    return tuple(v.__index__() for v in values)


# ---- dtype ---------------------------------------------------------------------------------------


@op("fc", "Array")
def astype(x, /, dtype, *, copy=True, device=None):
    """x converted to a dtype; floats to integers truncate and saturate, complex to real drops.

    >>> import functorch_core as fc
    >>> fc.astype(fc.asarray([1.7, -1.7]), fc.int32)
    Array([ 1, -1], dtype=int32)
    """
    return p.convert(x, dtype=dt.canonical(dtype))


@op("fc", "Array as view")
def view_as(x, /, dtype):
    """The same bits as another dtype: as bytes, of another size along the last dimension.

    Of bools 1 is True, and so is what is not 0.

    >>> import functorch_core as fc
    >>> fc.view_as(fc.asarray([1.]), fc.uint32)
    Array([1065353216], dtype=uint32)
    """
    dtype, a = dt.canonical(dtype), aval_of(x)
    if a.dtype == dt.bool_ != dtype:
        return view_as.fun(p.convert(x, dtype=dt.uint8), dtype)
    if dtype == dt.bool_:
        return p.ne(view_as.fun(x, dt.uint8), 0)
    wide, narrow = a.dtype.itemsize, dtype.itemsize
    if wide < narrow:
        if not a.ndim or a.shape[-1] % (narrow // wide):
            raise ValueError(f"view_as {dtype.name}: the last dimension of {a} is not a multiple of {narrow // wide}")
        split = a.shape[:-1] + (a.shape[-1] * wide // narrow, narrow // wide)
        return p.bitcast(p.reshape(x, shape=split), dtype=dtype)
    out = p.bitcast(x, dtype=dtype)
    if wide == narrow or not a.ndim:
        return out
    return p.reshape(out, shape=a.shape[:-1] + (a.shape[-1] * wide // narrow,))


@op
def _duplicate(x, /):
    """The same numbers in memory of its own."""
    return p.copy(x)


# ---- shape ---------------------------------------------------------------------------------------


def resolve_shape(shape, size: int, old, name: str = "reshape") -> tuple[int, ...]:
    """The shape with its -1 computed; ValueError if the number of elements differs."""
    shape = ints(shape, name)
    known = math.prod(n for n in shape if n != -1)
    if shape.count(-1) == 1 and known and size % known == 0:
        shape = tuple(size // known if n == -1 else n for n in shape)
    if shape.count(-1) or min(shape, default=0) < 0 or math.prod(shape) != size:
        product = (
            "has several -1"
            if shape.count(-1) > 1
            else (f"has {known}, which does not divide it" if -1 in shape else f"has {known}")
        )
        raise ValueError(RESHAPE.format(name=name, wanted=shape, size=size, shape=tuple(old), product=product))
    return shape


@op("fc")
def reshape(x, /, shape, *, copy=None):
    """The same elements, in row-major order, under another shape; one size may be -1.

    ValueError if the number of elements differs.

    >>> import functorch_core as fc
    >>> fc.reshape(fc.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int64)
    """
    a = aval_of(x)
    return p.reshape(x, shape=resolve_shape(shape, a.size, a.shape))


@op("fc", "Array", "Array as flatten", names="a")
def ravel(x, /):
    """The elements in one dimension, in row-major order.

    >>> import functorch_core as fc
    >>> fc.ravel(fc.ones((2, 2)))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return p.reshape(x, shape=(aval_of(x).size,))


@op("fc")
def expand_dims(x, /, axis=0):
    """x with a new dimension of size 1 at `axis` of the result (several, if it is a sequence).

    IndexError for an axis out of range.

    >>> import functorch_core as fc
    >>> fc.expand_dims(fc.asarray([1, 2]), axis=1).shape
    (2, 1)
    """
    n = 1 if hasattr(axis, "__index__") else len(axis)
    axes = canonical_axes(axis, aval_of(x).ndim + n, "expand_dims")
    return p.expand_dims(x, dims=axes)


@op("fc", "Array")
def squeeze(x, /, axis=None):
    """x without the dimensions `axis` (all of size 1, by default), each of size 1.

    ValueError for a dimension of another size.

    >>> import functorch_core as fc
    >>> fc.squeeze(fc.ones((1, 3)), axis=0).shape
    (3,)
    """
    shape = aval_of(x).shape
    if axis is None:
        axis = tuple(d for d, n in enumerate(shape) if n == 1)
    axes = canonical_axes(axis, len(shape), "squeeze") if axis != () else ()
    if any(shape[d] != 1 for d in axes):
        raise ValueError(f"squeeze: cannot remove axis {axis} of an array of shape {shape}; only dimensions of size 1")
    return p.squeeze(x, dims=axes)


@op("fc")
def flatten(x, /, start_axis=0, end_axis=-1):
    """x with the dimensions from start_axis to end_axis (included) made one.

    >>> import functorch_core as fc
    >>> fc.flatten(fc.ones((2, 3, 4)), 1).shape
    (2, 12)
    """
    shape = aval_of(x).shape
    if not shape:
        return p.reshape(x, shape=(1,))
    first, last = (canonical_axis(d, len(shape), "flatten") for d in (start_axis, end_axis))
    if first > last:
        raise ValueError(f"flatten: start_axis {start_axis} is behind end_axis {end_axis}")
    size = math.prod(shape[first : last + 1])
    return p.reshape(x, shape=shape[:first] + (size,) + shape[last + 1 :])


@op("fc")
def broadcast_to(x, /, shape):
    """x repeated to a shape that it broadcasts to. ValueError if it does not.

    >>> import functorch_core as fc
    >>> fc.broadcast_to(fc.asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    shape = canonical_shape(shape, "broadcast_to")
    a = aval_of(x)
    aligned = shape[len(shape) - a.ndim :] if len(shape) >= a.ndim else None
    if aligned is None or any(n not in (1, m) for n, m in zip(a.shape, aligned)):
        raise ValueError(
            f"broadcast_to: {a} does not broadcast to shape {shape}: each dimension, from the last, must be equal or 1"
        )
    return broadcast_value(x, shape)


@op("fc")
def broadcast_arrays(*arrays):
    """The arrays, each broadcast to their common shape.

    >>> import functorch_core as fc
    >>> [x.shape for x in fc.broadcast_arrays(fc.ones((2, 1)), fc.ones(3))]
    [(2, 3), (2, 3)]
    """
    return broadcast_together(arrays, "broadcast_arrays") if arrays else []


# ---- order of dimensions and elements ------------------------------------------------------------


@op("fc")
def permute_dims(x, /, axes):
    """x with its dimensions in another order: dimension i of the result is axes[i] of x.

    >>> import functorch_core as fc
    >>> fc.permute_dims(fc.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    ndim = aval_of(x).ndim
    order = tuple(canonical_axis(a, ndim, "permute_dims") for a in ints(axes, "permute_dims"))
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"permute_dims: axes {axes} are not a permutation of the {ndim} dimensions of {aval_of(x)}")
    return p.transpose(x, permutation=order)


@op("fc", "fc.linalg")
def matrix_transpose(x, /):
    """The matrices (the last two dimensions) transposed. ValueError for fewer than 2 dimensions.

    >>> import functorch_core as fc
    >>> fc.matrix_transpose(fc.asarray([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int64)

    >>> fc.ones((4, 2, 3)).mT.shape
    (4, 3, 2)
    """
    ndim = aval_of(x).ndim
    if ndim < 2:
        raise ValueError(f"matrix_transpose takes 2 or more dimensions, got {aval_of(x)}")
    return p.transpose(x, permutation=(*range(ndim - 2), ndim - 1, ndim - 2))


@op("fc", names="a")
def transpose(x, /, axes=None):
    """x with its dimensions in reverse order, or in that of `axes`; see permute_dims.

    >>> import functorch_core as fc
    >>> fc.transpose(fc.ones((2, 3, 4))).shape
    (4, 3, 2)

    >>> fc.ones((2, 3)).T.shape
    (3, 2)
    """
    if axes is not None:
        return permute_dims.fun(x, axes)
    return p.transpose(x, permutation=tuple(range(aval_of(x).ndim))[::-1])


@op("fc", "Array", names="a")
def swapaxes(x, /, axis1, axis2):
    """x with two dimensions exchanged.

    >>> import functorch_core as fc
    >>> fc.swapaxes(fc.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    ndim = aval_of(x).ndim
    order = list(range(ndim))
    a, b = (canonical_axis(d, ndim, "swapaxes") for d in (axis1, axis2))
    order[a], order[b] = b, a
    return p.transpose(x, permutation=tuple(order))


@op
def _moveaxis(x, /, *, source, destination):
    ndim = aval_of(x).ndim
    source = [canonical_axis(d, ndim, "moveaxis") for d in ints(source, "moveaxis")]
    destination = [canonical_axis(d, ndim, "moveaxis") for d in ints(destination, "moveaxis")]
    if len(set(source)) != len(source) or len(set(destination)) != len(source) or (len(source) != len(destination)):
        raise ValueError(f"moveaxis: source {source} and destination {destination} must be equally many distinct axes")
    order = [d for d in range(ndim) if d not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return p.transpose(x, permutation=tuple(order))


@exposed("fc")
def moveaxis(x, source, destination, /):
    """x with the dimensions `source` moved to the places `destination`, the others in order.

    >>> import functorch_core as fc
    >>> fc.moveaxis(fc.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _moveaxis(x, source=source, destination=destination)


@op("fc")
def flip(x, /, *, axis=None):
    """The elements in reverse order along `axis` (an int, several, or None for all).

    >>> import functorch_core as fc
    >>> fc.flip(fc.asarray([1, 2, 3]))
    Array([3, 2, 1], dtype=int64)
    """
    ndim = aval_of(x).ndim
    return p.reverse(x, dims=canonical_axes(axis, ndim, "flip") if ndim else ())


@op("fc")
def roll(x, /, shift, *, axis=None):
    """The elements moved by `shift` places along `axis`; what leaves at the end enters in front.

    shift and axis may be sequences; axis=None rolls the flattened array.

    >>> import functorch_core as fc
    >>> fc.roll(fc.asarray([1, 2, 3]), 1)
    Array([3, 1, 2], dtype=int64)
    """
    a = aval_of(x)
    if axis is None:
        flat = p.reshape(x, shape=(a.size,))
        for s in ints(shift, "roll"):
            flat = rolled(flat, s, 0)
        return p.reshape(flat, shape=a.shape)
    shifts, axes = ints(shift, "roll"), ints(axis, "roll")
    shifts, axes = (shifts * len(axes) if len(shifts) == 1 else shifts, axes * len(shifts) if len(axes) == 1 else axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for s, d in zip(shifts, axes):
        x = rolled(x, s, canonical_axis(d, a.ndim, "roll"))
    return x


# ---- joining -------------------------------------------------------------------------------------


def _as_one_dtype(arrays, name: str) -> list:
    if not arrays:
        raise ValueError(f"{name} takes at least one array, got none")
    dtype = result_dtype(arrays)
    return [cast(x, dtype) for x in arrays]


@op("fc")
def concat(arrays, /, *, axis=0):
    """The arrays one after the other along `axis` (axis=None: each flattened first).

    They agree in the other dimensions and are promoted to one dtype. ValueError otherwise.

    >>> import functorch_core as fc
    >>> fc.concat([fc.asarray([1, 2]), fc.asarray([3.])])
    Array([1., 2., 3.], dtype=float32)
    """
    arrays = _as_one_dtype(arrays, "concat")
    if axis is None:
        arrays, axis = [p.reshape(x, shape=(aval_of(x).size,)) for x in arrays], 0
    avals = [aval_of(x) for x in arrays]
    axis = canonical_axis(axis, avals[0].ndim, "concat")

    def others(a):
        return a.shape[:axis] + a.shape[axis + 1 :]

    if any(a.ndim != avals[0].ndim or others(a) != others(avals[0]) for a in avals):
        raise ValueError(
            f"concat along axis {axis} takes arrays that agree in the other "
            f"dimensions, got shapes {', '.join(str(a.shape) for a in avals)}"
        )
    return p.concatenate(*arrays, dimension=axis)


@op("fc")
def stack(arrays, /, *, axis=0):
    """Arrays of one shape joined along a new dimension, `axis` of the result.

    >>> import functorch_core as fc
    >>> fc.stack([fc.asarray([1, 2]), fc.asarray([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int64)
    """
    arrays = _as_one_dtype(arrays, "stack")
    shapes = [aval_of(x).shape for x in arrays]
    if any(s != shapes[0] for s in shapes):
        raise ValueError(f"stack takes arrays of one shape, got {', '.join(map(str, shapes))}")
    axis = canonical_axis(axis, len(shapes[0]) + 1, "stack")
    return stacked(arrays, axis)


@op("fc")
def unstack(x, /, *, axis=0):
    """The parts of x along `axis`, a tuple of arrays without that dimension.

    >>> import functorch_core as fc
    >>> fc.unstack(fc.asarray([[1, 2], [3, 4]]))[1]
    Array([3, 4], dtype=int64)
    """
    return p.unstack(x, dimension=canonical_axis(axis, aval_of(x).ndim, "unstack"))


@op("fc")
def split(x, /, indices_or_sections, *, axis=0):
    """x cut along `axis` into so many equal parts, or at these indices; a tuple of arrays.

    ValueError if the parts would not be equal.

    >>> import functorch_core as fc
    >>> fc.split(fc.arange(5), [2])
    (Array([0, 1], dtype=int64), Array([2, 3, 4], dtype=int64))
    """
    a = aval_of(x)
    axis = canonical_axis(axis, a.ndim, "split")
    size = a.shape[axis]
    if hasattr(indices_or_sections, "__index__"):
        n = indices_or_sections.__index__()
        if n < 1 or size % n:
            raise ValueError(
                f"split: {size} elements along axis {axis} of {a} do not make {n} equal parts; give indices instead"
            )
        cuts = tuple(range(0, size + 1, size // n)) if size else (0,) * (n + 1)
    else:
        places = [slice(None, i).indices(size)[1] for i in ints(indices_or_sections, "split")]
        cuts = (0, *places, size)
    return [p.slice_in_dim(x, start=b, limit=max(b, e), dimension=axis) for b, e in zip(cuts, cuts[1:])]


@op("fc")
def tile(x, /, repetitions):
    """x repeated as a whole, repetitions[i] times along dimension i (from the last).

    >>> import functorch_core as fc
    >>> fc.tile(fc.asarray([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int64)
    """
    times = canonical_shape(repetitions, "tile")
    return tiled(x, (1,) * (aval_of(x).ndim - len(times)) + times)


@op
def _repeat_equally(x, /, *, repeats, axis):
    return repeated(x, repeats, axis)


@op
def _repeat_each(x, places, /, *, axis):
    return p.take(x, places, axis=axis)


@op
def _repeat_traced(x, repeats, /, *, axis, total):
    """Which element stands at each place: how many running totals are at or below it."""
    ends = p.cumsum(p.convert(repeats, dtype=dt.int64), axis=0)
    n = aval_of(ends).size
    places = p.iota(shape=(total, n), dtype=dt.int64, dimension=0)
    below = p.ge(places, p.broadcast_in_dim(ends, shape=(total, n), dims=(1,)))
    which = p.reduce_sum(p.convert(below, dtype=dt.int64), axes=(1,))
    return p.take(x, which, axis=axis, mode="clip")


@exposed("fc")
def repeat(x, repeats, /, *, axis=None, total_repeat_length=None):
    """Each element repeated along `axis` (None: flattened first), so often or each its own number.

    Under tracing an array of repeats needs total_repeat_length, the static size of the result.
    ValueError for negative repeats.

    >>> import functorch_core as fc
    >>> fc.repeat(fc.asarray([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int64)
    """
    if axis is None:
        x, axis = ravel(x), 0
    a = aval_of(x)
    axis = canonical_axis(axis, a.ndim, "repeat")
    if is_traced(repeats) or total_repeat_length is not None:
        if total_repeat_length is None:
            host_array(repeats, "repeat", "pass total_repeat_length=, the size of the result")
        repeats = broadcast_to(repeats, (a.shape[axis],))
        return _repeat_traced(x, repeats, axis=axis, total=int(total_repeat_length))
    counts = np.asarray(repeats)
    if (counts < 0).any() or counts.ndim > 1:
        raise ValueError("repeat: repeats is an int or a 1-d array of them, none negative")
    if counts.size == 1:
        return _repeat_equally(x, repeats=int(counts.reshape(())), axis=axis)
    if counts.size != a.shape[axis]:
        raise ValueError(f"repeat: {counts.size} repeats for {a.shape[axis]} elements along axis {axis} of {a}")
    places = np.repeat(np.arange(a.shape[axis]), counts)
    return _repeat_each(x, places, axis=axis)


# ---- padding -------------------------------------------------------------------------------------


def _pad_widths(pad_width, ndim: int) -> tuple[tuple[int, int], ...]:
    widths = np.asarray(pad_width)
    try:
        if widths.dtype.kind not in "iu":
            raise ValueError
        widths = np.broadcast_to(widths, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"pad: pad_width is an int, (before, after) or one pair for each of the "
            f"{ndim} dimensions, got {pad_width!r:.60}"
        ) from None
    if (widths < 0).any():
        raise ValueError(f"pad: widths are not negative, got {pad_width!r:.60}")
    return tuple((int(a), int(b)) for a, b in widths)


@op(scalars=True, arrays=())
def _pad_constant(x, value, /, *, widths):
    value = cast(value, aval_of(x).dtype)
    return p.pad(x, value, low=tuple(w[0] for w in widths), high=tuple(w[1] for w in widths))


PAD_PLACES = {
    "edge": lambda i, n: np.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "reflect": lambda i, n: (n - 1) - np.abs(i % max(2 * n - 2, 1) - (n - 1)),
    "symmetric": lambda i, n: np.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n)),
}


@exposed("fc", names="array pad_width")
def pad(x, pad_width, /, mode="constant", *, constant_values=0):
    """x with elements around it: pad_width is an int, (before, after), or a pair a dimension.

    mode: 'constant' (constant_values), 'edge', 'reflect', 'symmetric' or 'wrap', as in NumPy.
    ValueError for negative widths or another mode.

    >>> import functorch_core as fc
    >>> fc.pad(fc.asarray([1, 2, 3]), (1, 2))
    Array([0, 1, 2, 3, 0, 0], dtype=int64)
    """
    a = aval_of(x)
    widths = _pad_widths(pad_width, a.ndim)
    if mode == "constant":
        return _pad_constant(x, constant_values, widths=widths)
    if mode not in PAD_PLACES:
        raise ValueError(f"pad: mode is 'constant', {', '.join(map(repr, PAD_PLACES))}; got {mode!r}")
    for axis, (before, after) in enumerate(widths):
        n = a.shape[axis]
        if before or after:
            if not n:
                raise ValueError(f"pad: cannot pad the empty axis {axis} of {a} by mode {mode!r}")
            places = PAD_PLACES[mode](np.arange(-before, n + after), n)
            x = _repeat_each(x, places, axis=axis)
    return x


# ---- parts at computed places --------------------------------------------------------------------


def _starts(x, start_indices, negative: bool) -> list:
    """Starts as int64; with `negative`, those below 0 count from the end of their dimension."""
    starts = [p.convert(s, dtype=dt.int64) for s in start_indices]
    if not negative:
        return starts
    return [p.select(p.lt(s, 0), p.add(s, n), s) for s, n in zip(starts, aval_of(x).shape)] + (
        starts[aval_of(x).ndim :]
    )


@op("fc", names="operand start_indices")
def dynamic_slice(x, start_indices, /, slice_sizes, *, allow_negative_indices=True):
    """The part of x of shape slice_sizes at start_indices (one 0-d int a dimension).

    Negative starts count from the end (unless allow_negative_indices is False); all are moved so
    that the part lies inside. They may be traced; the sizes are static.

    >>> import functorch_core as fc
    >>> fc.dynamic_slice(fc.arange(5), (fc.asarray(3),), (2,))
    Array([3, 4], dtype=int64)
    """
    starts = _starts(x, start_indices, allow_negative_indices)
    return p.dynamic_slice(x, *starts, sizes=canonical_shape(slice_sizes, "dynamic_slice"))


@op("fc", names="operand update start_indices")
def dynamic_update_slice(x, update, start_indices, /, *, allow_negative_indices=True):
    """x with `update` at start_indices (one 0-d int a dimension); see dynamic_slice.

    >>> import functorch_core as fc
    >>> fc.dynamic_update_slice(fc.arange(4), fc.asarray([9, 9]), (1,))
    Array([0, 9, 9, 3], dtype=int64)
    """
    starts = _starts(x, start_indices, allow_negative_indices)
    return p.dynamic_update_slice(x, cast(update, aval_of(x).dtype), *starts)


__all__ = [  # what it has in fc, for static tools
    "astype", "broadcast_arrays", "broadcast_to", "concat", "dynamic_slice", "dynamic_update_slice", "expand_dims",
    "flatten", "flip", "matrix_transpose", "moveaxis", "pad", "permute_dims", "ravel", "repeat", "reshape", "roll",
    "split", "squeeze", "stack", "swapaxes", "tile", "transpose", "unstack", "view_as",
]  # fmt: skip
