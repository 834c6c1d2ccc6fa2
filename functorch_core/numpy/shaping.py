"""Shapes with NumPy's signatures: joining, splitting, inserting, turning."""

from __future__ import annotations

import builtins
import functools
import operator

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype, composed, with_signature
from ..array.creation import _number
from ..core import dtypes as dt
from ..core.explain import explaining
from ..engine import Value
from ..ops.promotion import broadcast_shapes as _broadcast_shapes
from ..ops.promotion import canonical_axis
from .elementwise import alike, as_array
from .padding import padded

function = functools.partial(composed, space="fc.numpy")

# Of both: NumPy's names of the parameters.
squeeze = with_signature(fc.squeeze, "a, axis=None")
expand_dims = with_signature(fc.expand_dims, "a, axis")
flip = with_signature(fc.flip, "m, axis=None")
moveaxis = with_signature(fc.moveaxis, "a, source, destination")
permute_dims = with_signature(fc.permute_dims, "a, /, axes")
tile = with_signature(fc.tile, "A, reps", reps="repetitions")
broadcast_to = with_signature(fc.broadcast_to, "array, shape")
tril = with_signature(fc.tril, "m, k=0")
triu = with_signature(fc.triu, "m, k=0")
repeat = with_signature(fc.repeat, "a, repeats, axis=None, *, total_repeat_length=None")
astype = with_signature(fc.astype, "x, dtype, /, *, copy=False, device=None")


def shape(a) -> tuple[int, ...]:
    """The shape of an array or a number.

    >>> import functorch_core.numpy as jnp
    >>> jnp.shape(jnp.zeros((2, 3)))
    (2, 3)
    """
    return tuple(a.shape) if hasattr(a, "shape") else np.shape(a)


def ndim(a) -> int:
    """The number of dimensions of an array or a number.

    >>> import functorch_core.numpy as jnp
    >>> jnp.ndim(jnp.zeros((2, 3)))
    2
    """
    return len(shape(a))


def size(a, axis=None) -> int:
    """The number of elements, or the size of an axis (of several: their product).

    >>> import functorch_core.numpy as jnp
    >>> jnp.size(jnp.zeros((2, 3))), jnp.size(jnp.zeros((2, 3)), 1)
    (6, 3)
    """
    sizes = shape(a)
    if axis is None:
        return int(np.prod(sizes, dtype=np.int64))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return int(np.prod([sizes[d] for d in axes], dtype=np.int64))


def iterable(y) -> bool:
    """Whether it can be iterated over.

    >>> import functorch_core.numpy as jnp
    >>> jnp.iterable(jnp.zeros(2)), jnp.iterable(3)
    (True, False)
    """
    return np.iterable(y) and not (hasattr(y, "ndim") and not y.ndim)


def broadcast_shapes(*shapes) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    >>> import functorch_core.numpy as jnp
    >>> jnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return _broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes])


@explaining
def broadcast_arrays(*args):
    """The arrays broadcast to their common shape.

    >>> import functorch_core.numpy as jnp
    >>> jnp.broadcast_arrays(jnp.asarray([1, 2]), 3)
    [Array([1, 2], dtype=int64), Array([3, 3], dtype=int64)]
    """
    return list(fc.broadcast_arrays(*map(as_array, args)))


@function("a")
def reshape(a, shape, order="C", *, copy=None):
    """The elements in another shape, of which one size may be -1. order="F" counts the first index fastest.

    >>> import functorch_core.numpy as jnp
    >>> jnp.reshape(jnp.arange(4), (2, 2), order="F")
    Array([[0, 2],
           [1, 3]], dtype=int64)
    """
    if order in ("C", None):
        return fc.reshape(a, shape)
    if order != "F":
        raise ValueError(f"reshape: order is 'C' or 'F', got {order!r}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return fc.transpose(fc.reshape(fc.transpose(a), sizes[::-1]))


@function("a")
def ravel(a, order="C"):
    """The elements in one dimension. order="F" counts the first index fastest.

    >>> import functorch_core.numpy as jnp
    >>> jnp.ravel(jnp.asarray([[1, 2], [3, 4]]), order="F")
    Array([1, 3, 2, 4], dtype=int64)
    """
    return reshape(as_array(a), (-1,), "C" if order in ("K", "A") else order)


@function("a")
def resize(a, new_shape):
    """The elements, repeated or cut, in a new shape.

    >>> import functorch_core.numpy as jnp
    >>> jnp.resize(jnp.asarray([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int64)
    """
    sizes = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    a = fc.ravel(as_array(a))
    wanted = int(np.prod(sizes, dtype=np.int64))
    if not a.size:
        return fc.zeros(sizes, dtype=a.dtype)
    return fc.reshape(fc.tile(a, (-(-wanted // a.size),))[:wanted], sizes)


@explaining
def roll(a, shift, axis=None):
    """The elements moved along an axis, those behind the end to its front.

    >>> import functorch_core.numpy as jnp
    >>> jnp.roll(jnp.asarray([1, 2, 3]), 1)
    Array([3, 1, 2], dtype=int64)
    """
    several = isinstance(shift, (list, tuple))
    if not any(isinstance(s, fc.Array) for s in (shift if several else (shift,))):
        return fc.roll(as_array(a), shift, axis=axis)
    shift = fc.stack([as_array(s) for s in shift]) if several else shift
    return _rolled_by(a, shift, tuple(axis) if isinstance(axis, (list, tuple)) else axis)


@function("a shift")
def _rolled_by(a, shift, axis):
    """roll by numbers that are data: one program for all of them."""
    if shift.dtype not in dt.INTEGER or shift.ndim > 1:
        raise TypeError(f"roll: shift is an integer or several of them, got {shift.aval}")
    if axis is None:
        return fc.reshape(_rolled_by(fc.ravel(a), shift, 0), a.shape)
    axes = [canonical_axis(d, a.ndim, "roll") for d in (axis if isinstance(axis, tuple) else (axis,))]
    together = _broadcast_shapes(shift.shape, (len(axes),), name="roll")
    for d, by in zip(np.broadcast_to(axes, together), fc.broadcast_to(shift.astype(dt.int64), together)):
        if n := a.shape[d]:
            a = fc.take(a, fc.remainder(fc.arange(n) - by, n), axis=int(d), mode="clip")
    return a


@function("a")
def rollaxis(a, axis, start=0):
    """The axis moved in front of `start`; moveaxis is easier to understand.

    >>> import functorch_core.numpy as jnp
    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    axis = canonical_axis(axis, a.ndim, "rollaxis")
    start = start + a.ndim if start < 0 else start
    return fc.moveaxis(a, axis, start - 1 if axis < start else start)


@function("m")
def rot90(m, k=1, axes=(0, 1)):
    """Turned by k quarters from the first axis towards the second.

    >>> import functorch_core.numpy as jnp
    >>> jnp.rot90(jnp.asarray([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int64)
    """
    first, second = (canonical_axis(d, m.ndim, "rot90") for d in axes)
    if first == second:
        raise ValueError(f"rot90: the axes are different ones, got {axes}")
    k %= 4
    if k == 2:
        return fc.flip(m, axis=(first, second))
    if not k:
        return m
    swapped = fc.swapaxes(m, first, second)
    return fc.flip(swapped, axis=first) if k == 1 else fc.flip(swapped, axis=second)


@function("m")
def fliplr(m):
    """The second axis reversed.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fliplr(jnp.asarray([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int64)
    """
    return fc.flip(m, axis=1)


@function("m")
def flipud(m):
    """The first axis reversed.

    >>> import functorch_core.numpy as jnp
    >>> jnp.flipud(jnp.asarray([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int64)
    """
    return fc.flip(m, axis=0)


# ---- at least so many dimensions -----------------------------------------------------------------


def _at_least(arys, change):
    out = [change(as_array(x)) for x in arys]
    return out[0] if len(out) == 1 else out


@explaining
def atleast_1d(*arys):
    """The arrays, numbers as arrays of one element.

    >>> import functorch_core.numpy as jnp
    >>> jnp.atleast_1d(3.)
    Array([3.], dtype=float32)
    """
    return _at_least(arys, lambda x: x if x.ndim else fc.reshape(x, (1,)))


@explaining
def atleast_2d(*arys):
    """The arrays with dimensions of size 1 in front, if they have fewer than two.

    >>> import functorch_core.numpy as jnp
    >>> jnp.atleast_2d(jnp.asarray([1, 2]))
    Array([[1, 2]], dtype=int64)
    """
    return _at_least(arys, lambda x: x if x.ndim > 1 else fc.reshape(x, (1, x.size)))


@explaining
def atleast_3d(*arys):
    """The arrays with dimensions of size 1 around, if they have fewer than three.

    >>> import functorch_core.numpy as jnp
    >>> jnp.atleast_3d(jnp.asarray([1, 2])).shape
    (1, 2, 1)
    """

    def three(x):
        if x.ndim > 2:
            return x
        return fc.reshape(x, (*x.shape, 1) if x.ndim == 2 else (1, x.size, 1))

    return _at_least(arys, three)


# ---- joining -------------------------------------------------------------------------------------


def _in_dtype(arrays, dtype):
    """The arrays of a sequence, in a dtype if one is given."""
    return [as_array(x) if dtype is None else as_dtype(x, dtype) for x in arrays]


@explaining
def concatenate(arrays, axis=0, dtype=None):
    """Arrays joined along an axis (None: flattened first), in the dtype they promote to.

    >>> import functorch_core.numpy as jnp
    >>> jnp.concatenate([jnp.asarray([1, 2]), jnp.asarray([3])])
    Array([1, 2, 3], dtype=int64)
    """
    return fc.concat(_in_dtype(arrays, dtype), axis=axis)


concat = with_signature(fc.concat, "arrays, /, *, axis=0")
unstack = with_signature(fc.unstack, "x, /, *, axis=0")


@explaining
def stack(arrays, axis=0, dtype=None):
    """Arrays of one shape joined along a new axis.

    >>> import functorch_core.numpy as jnp
    >>> jnp.stack([jnp.asarray([1, 2]), jnp.asarray([3, 4])], 1)
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return fc.stack(_in_dtype(arrays, dtype), axis=axis)


@explaining
def hstack(tup, dtype=None):
    """Arrays joined along the second axis (of vectors: the only one).

    >>> import functorch_core.numpy as jnp
    >>> jnp.hstack([jnp.asarray([1, 2]), jnp.asarray([3])])
    Array([1, 2, 3], dtype=int64)
    """
    arrays = _in_dtype(map(atleast_1d, tup), dtype)
    return fc.concat(arrays, axis=0 if arrays[0].ndim == 1 else 1)


@explaining
def vstack(tup, dtype=None):
    """Arrays joined as rows.

    >>> import functorch_core.numpy as jnp
    >>> jnp.vstack([jnp.asarray([1, 2]), jnp.asarray([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int64)
    """
    return fc.concat(_in_dtype(map(atleast_2d, tup), dtype), axis=0)


@explaining
def dstack(tup, dtype=None):
    """Arrays joined along the third axis.

    >>> import functorch_core.numpy as jnp
    >>> jnp.dstack([jnp.asarray([1, 2]), jnp.asarray([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int64)
    """
    return fc.concat(_in_dtype(map(atleast_3d, tup), dtype), axis=2)


@explaining
def column_stack(tup):
    """Vectors and matrices joined as columns.

    >>> import functorch_core.numpy as jnp
    >>> jnp.column_stack([jnp.asarray([1, 2]), jnp.asarray([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    arrays = [as_array(x) for x in tup]
    return fc.concat([fc.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in arrays], axis=1)


@explaining
def block(arrays):
    """An array of nested lists of blocks: the innermost joined along the last axis, and so on.

    >>> import functorch_core.numpy as jnp
    >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.ones((1, 3))]])
    Array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """
    depth = _depth(arrays)
    dimensions = builtins.max(depth, _most_dimensions(arrays))
    return _joined(arrays, depth, dimensions)


def _depth(x) -> int:
    return 1 + _depth(x[0]) if isinstance(x, list) and x else 0


def _most_dimensions(x) -> int:
    return builtins.max(map(_most_dimensions, x)) if isinstance(x, list) else ndim(x)


def _joined(x, depth: int, dimensions: int):
    if not isinstance(x, list):
        x = as_array(x)
        return fc.reshape(x, (1,) * (dimensions - x.ndim) + x.shape)
    return fc.concat([_joined(y, depth - 1, dimensions) for y in x], axis=-depth)


@explaining
def append(arr, values, axis=None):
    """The arrays joined along an axis (None: both flattened first).

    >>> import functorch_core.numpy as jnp
    >>> jnp.append(jnp.asarray([1, 2]), jnp.asarray([[3], [4]]))
    Array([1, 2, 3, 4], dtype=int64)
    """
    if axis is None:
        return fc.concat(list(map(fc.ravel, alike(arr, values))))
    return fc.concat(alike(arr, values), axis=axis)


# ---- splitting -----------------------------------------------------------------------------------


def _places(indices_or_sections):
    """Where to split: a number of parts, or indices as ints."""
    if hasattr(indices_or_sections, "__len__") and np.ndim(indices_or_sections):
        return [int(_number(i, "split")) for i in indices_or_sections]
    return operator.index(indices_or_sections)


@explaining
def split(ary, indices_or_sections, axis=0):
    """Parts along an axis: so many equal ones, or those between indices.

    >>> import functorch_core.numpy as jnp
    >>> jnp.split(jnp.arange(4), 2)
    [Array([0, 1], dtype=int64), Array([2, 3], dtype=int64)]
    """
    return list(fc.split(ary, _places(indices_or_sections), axis=axis))


@explaining
def array_split(ary, indices_or_sections, axis=0):
    """Parts along an axis as split makes them, but the number of parts need not divide the size.

    >>> import functorch_core.numpy as jnp
    >>> jnp.array_split(jnp.arange(5), 2)
    [Array([0, 1, 2], dtype=int64), Array([3, 4], dtype=int64)]
    """
    places = _places(indices_or_sections)
    if isinstance(places, int):
        n = ary.shape[axis]
        sizes = [n // places + (i < n % places) for i in range(places)]
        places = [int(v) for v in np.cumsum(sizes)[:-1]]
    return list(fc.split(ary, places, axis=axis))


@explaining
def hsplit(ary, indices_or_sections):
    """Parts along the second axis (of a vector: the only one).

    >>> import functorch_core.numpy as jnp
    >>> jnp.hsplit(jnp.arange(4), 2)
    [Array([0, 1], dtype=int64), Array([2, 3], dtype=int64)]
    """
    return split(ary, indices_or_sections, axis=0 if ary.ndim == 1 else 1)


@explaining
def vsplit(ary, indices_or_sections):
    """Parts along the first axis.

    >>> import functorch_core.numpy as jnp
    >>> len(jnp.vsplit(jnp.zeros((4, 2)), 2))
    2
    """
    return split(ary, indices_or_sections, axis=0)


@explaining
def dsplit(ary, indices_or_sections):
    """Parts along the third axis.

    >>> import functorch_core.numpy as jnp
    >>> jnp.dsplit(jnp.zeros((1, 2, 4)), 2)[0].shape
    (1, 2, 2)
    """
    return split(ary, indices_or_sections, axis=2)


# ---- inserting and deleting ----------------------------------------------------------------------


def _index_of(obj, n: int, name: str):
    """An index argument as NumPy's: what it names must be known."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    found = np.asarray(obj)  # of a traced one: ConcretizationError
    if found.dtype == bool:
        return np.flatnonzero(found)
    if found.size == 0:
        return found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices are integers, a slice or a mask, got {found.dtype.name}")
    if ((found < -n) | (found > n)).any():
        raise IndexError(f"{name}: index {found[(found < -n) | (found > n)][0]} is out of bounds for size {n}")
    return found


@explaining
def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """The array without what an index, a slice or a mask names along an axis (None: flattened).

    A traced index is one (or, with assume_unique_indices, several different ones).

    >>> import functorch_core.numpy as jnp
    >>> jnp.delete(jnp.asarray([1, 2, 3, 4]), jnp.asarray([0, 2]))
    Array([2, 4], dtype=int64)
    """
    arr = as_array(arr)
    if axis is None:
        arr, axis = fc.ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim, "delete")
    n = arr.shape[axis]
    if obj.__class__ is fc.Array and not _is_known(obj) and (obj.ndim == 0 or assume_unique_indices):
        return _without_traced(arr, fc.reshape(obj, (-1,)), axis)
    gone = _index_of(obj, n, "delete")
    if (gone == n).any():
        raise IndexError(f"delete: index {n} is out of bounds for size {n}")
    keep = np.delete(np.arange(n), gone)
    return fc.take(arr, fc.asarray(keep), axis=axis)


def _is_known(x) -> bool:
    return x._value.__class__ is Value


def _without_traced(arr, gone, axis: int):
    """arr without different traced indices: each that stays is moved by those gone before it."""
    n = arr.shape[axis]
    gone = fc.sort(fc.where(gone < 0, gone + n, gone)) - fc.arange(gone.size)
    places = fc.arange(n - gone.size)
    return fc.take(arr, places + (places[:, None] >= gone[None, :]).sum(axis=1), axis=axis)


@explaining
def insert(arr, obj, values, axis=None):
    """The array with values in front of the places that obj names along an axis (None: flattened).

    >>> import functorch_core.numpy as jnp
    >>> jnp.insert(jnp.asarray([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int64)
    """
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        arr, axis = fc.ravel(arr), 0
    axis = canonical_axis(axis, arr.ndim, "insert")
    n = arr.shape[axis]
    places = _index_of(obj, n, "insert")
    one = places.ndim == 0 or (places.size == 1 and not isinstance(obj, slice) and np.ndim(obj) == 0)
    values = values.astype(fc.result_type(arr.dtype))
    if one:
        if values.ndim == 0:
            values = fc.reshape(values, (1,) * arr.ndim)
        values = fc.moveaxis(fc.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape), 0, axis)
        count = values.shape[axis]
        places = np.full(count, int(places))
    else:
        places, count = places.ravel(), places.size
    sizes = [count if d == axis else m for d, m in enumerate(arr.shape)]
    values = fc.broadcast_to(values, tuple(sizes))
    places = np.where(places < 0, places + n, places)
    order = np.argsort(places, kind="stable")
    into = np.empty(count, np.int64)
    into[order] = places[order] + np.arange(count)
    rest = np.setdiff1d(np.arange(n + count), into)
    source = np.empty(n + count, np.int64)
    source[rest], source[into] = np.arange(n), n + np.arange(count)
    return fc.take(fc.concat([arr, values], axis=axis), fc.asarray(source), axis=axis)


@explaining
def trim_zeros(filt, trim="fb", axis=None):
    """An array without the zeros at its front ('f') and back ('b'), along one axis, several, or all (None).

    >>> import functorch_core.numpy as jnp
    >>> jnp.trim_zeros(jnp.asarray([0, 0, 1, 2, 0]))
    Array([1, 2], dtype=int64)
    """
    filt = as_array(filt)
    places, trim = np.nonzero(np.asarray(filt != 0)), trim.lower()
    axes = (
        range(filt.ndim) if axis is None else [canonical_axis(d, filt.ndim, "trim_zeros") for d in np.atleast_1d(axis)]
    )
    cuts = [slice(None)] * filt.ndim
    for d in axes:
        found = places[d]
        if not found.size:
            cuts[d] = slice(0)
            continue
        cuts[d] = slice(int(found.min()) if "f" in trim else 0, int(found.max()) + 1 if "b" in trim else None)
    return filt[tuple(cuts)]


# ---- padding -------------------------------------------------------------------------------------


@explaining
def pad(array, pad_width, mode="constant", **kwargs):
    """The array with a border: 'constant' (constant_values), 'edge', 'reflect', 'symmetric', 'wrap',
    'linear_ramp' (end_values), 'maximum', 'minimum', 'mean', 'median' (stat_length), 'empty', or a function.

    pad_width: a number, (before, after), or such a pair for each axis. reflect_type="odd" turns what 'reflect' and
    'symmetric' mirror upside down at the edge.

    >>> import functorch_core.numpy as jnp
    >>> jnp.pad(jnp.asarray([1., 2.]), (1, 2), "linear_ramp", end_values=0)
    Array([0., 1., 2., 1., 0.], dtype=float32)
    """
    return padded(as_array(array), pad_width, mode, kwargs)


@function("a")
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of a diagonal of two axes.

    >>> import functorch_core.numpy as jnp
    >>> jnp.trace(jnp.asarray([[1, 2], [3, 4]]))
    Array(5, dtype=int64)
    """
    return fc.linalg.trace(_last(a, axis1, axis2), offset=offset, dtype=dtype)


@function("a")
def diagonal(a, offset=0, axis1=0, axis2=1):
    """A diagonal of two axes, as the last dimension.

    >>> import functorch_core.numpy as jnp
    >>> jnp.diagonal(jnp.asarray([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int64)
    """
    return fc.linalg.diagonal(_last(a, axis1, axis2), offset=offset)


def _last(a, axis1: int, axis2: int):
    """a with two axes as the last ones."""
    first, second = (canonical_axis(d, a.ndim, "diagonal") for d in (axis1, axis2))
    rest = [d for d in range(a.ndim) if d not in (first, second)]
    return fc.permute_dims(a, (*rest, first, second))


@function("v")
def diagflat(v, k=0):
    """A matrix with the elements on its k-th diagonal.

    >>> import functorch_core.numpy as jnp
    >>> jnp.diagflat(jnp.asarray([[1, 2]]))
    Array([[1, 0],
           [0, 2]], dtype=int64)
    """
    return fc.diag(fc.ravel(as_array(v)), k)


@function("a prepend append")
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The n-th differences of neighbours along an axis.

    >>> import functorch_core.numpy as jnp
    >>> jnp.diff(jnp.asarray([1, 4, 9]), 2)
    Array([2], dtype=int64)
    """
    return fc.diff(a, prepend, append, axis=axis, n=n)


@function("ary to_end to_begin")
def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours of the flattened array, with something in front and behind.

    >>> import functorch_core.numpy as jnp
    >>> jnp.ediff1d(jnp.asarray([1, 4, 9]), to_end=0)
    Array([3, 5, 0], dtype=int64)
    """
    ary = fc.ravel(as_array(ary))
    parts = [fc.diff(ary)]
    if to_begin is not None:
        parts.insert(0, fc.ravel(as_array(to_begin)).astype(ary.dtype))
    if to_end is not None:
        parts.append(fc.ravel(as_array(to_end)).astype(ary.dtype))
    return fc.concat(parts)


def _bits(a):
    if a.dtype not in (dt.uint8, dt.bool_):
        raise TypeError(f"packbits and unpackbits take uint8 (packbits: bool, too), got {a.aval}")
    return a


@function("a")
def packbits(a, axis=None, bitorder="big"):
    """Eight booleans as a byte, along an axis (None: flattened), the last one filled with 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.packbits(jnp.asarray([True, False, True]))
    Array([160], dtype=uint8)
    """
    a = as_array(a)
    if a.dtype not in dt.INTEGER | {dt.bool_}:
        raise TypeError(f"packbits takes bools and integers, got {a.aval}; compare first: x != 0")
    a = (a != 0).astype(dt.uint8)
    if axis is None:
        a, axis = fc.ravel(a), 0
    a = fc.moveaxis(a, axis, -1)
    a = fc.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, -a.shape[-1] % 8)])
    a = fc.reshape(a, (*a.shape[:-1], -1, 8))
    powers = _powers(bitorder)
    return fc.moveaxis(fc.sum(a * powers, axis=-1).astype(dt.uint8), -1, axis)


def _powers(bitorder: str):
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder is 'big' or 'little', got {bitorder!r}")
    powers = np.array([128, 64, 32, 16, 8, 4, 2, 1], np.uint8)
    return fc.asarray(powers if bitorder == "big" else powers[::-1].copy())


@function("a")
def unpackbits(a, axis=None, count=None, bitorder="big"):
    """Bytes as eight bits each, along an axis (None: flattened); count: so many of them.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unpackbits(jnp.asarray([160], jnp.uint8))
    Array([1, 0, 1, 0, 0, 0, 0, 0], dtype=uint8)
    """
    a = _bits(as_array(a))
    if axis is None:
        a, axis = fc.ravel(a), 0
    a = fc.moveaxis(a, axis, -1)
    bits = ((a[..., None] & _powers(bitorder)) != 0).astype(dt.uint8)
    bits = fc.reshape(bits, (*a.shape[:-1], -1))
    if count is not None and count > bits.shape[-1]:
        bits = fc.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, count - bits.shape[-1])])
    return fc.moveaxis(bits[..., :count], -1, axis)


__all__ = [
    "append", "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate", "delete", "diagflat", "diagonal",
    "diff", "dsplit", "dstack", "ediff1d", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "insert",
    "iterable", "moveaxis", "ndim", "packbits", "pad", "permute_dims", "ravel", "repeat", "reshape", "resize",
    "roll", "rollaxis", "rot90", "shape", "size", "split", "squeeze", "stack", "tile", "trace", "tril",
    "trim_zeros", "triu", "unpackbits", "unstack", "vsplit", "vstack",
]  # fmt: skip
