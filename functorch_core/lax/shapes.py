"""jax.lax's functions of shapes: broadcasting, slicing, joining, padding."""

from __future__ import annotations

import functools
import operator

import numpy as np

import functorch_core as fc

from .. import primitives as p
from ..array.compose import as_dtype, composed, of_arrays, with_signature
from ..core.explain import explaining
from ..numpy import creation
from ..numpy.elementwise import as_array
from ..numpy.shaping import broadcast_shapes  # noqa: F401
from ..ops.promotion import canonical_axis

function = functools.partial(composed, space="fc.lax")

squeeze = with_signature(fc.squeeze, "array, dimensions", dimensions="axis")
tile = with_signature(fc.tile, "operand, reps", reps="repetitions")
transpose = with_signature(fc.permute_dims, "operand, permutation", permutation="axes")
stack = with_signature(fc.stack, "operands, axis=0")
unstack = with_signature(fc.unstack, "x, axis=0")
dynamic_slice, dynamic_update_slice = fc.dynamic_slice, fc.dynamic_update_slice


def dtype(x) -> np.dtype:
    """The dtype of an array or a number.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.dtype(1.).name
    'float32'
    """
    return fc.result_type(x)


@explaining
def empty(shape, dtype):
    """An array without particular elements: zeros.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.empty((2,), fc.float32).shape
    (2,)
    """
    return fc.empty(shape, dtype)


@explaining
def full(shape, fill_value, dtype=None, *, sharding=None):
    """An array of one repeated number.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.full((2,), 7.)
    Array([7., 7.], dtype=float32)
    """
    return creation.full(shape, fill_value, dtype)


@explaining
def full_like(x, fill_value, dtype=None, shape=None, sharding=None):
    """An array like x (its shape and dtype, unless others are given) of one repeated number.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.full_like(fc.zeros(2), 7.)
    Array([7., 7.], dtype=float32)
    """
    return creation.full_like(x, fill_value, dtype, shape)


@explaining
def iota(dtype, size):
    """0, 1, ..., size - 1 in a dtype.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.iota(fc.float32, 3)
    Array([0., 1., 2.], dtype=float32)
    """
    return fc.arange(size, dtype=dtype)


@explaining
def broadcasted_iota(dtype, shape, dimension):
    """The index along a dimension, of each element of an array of a shape.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.broadcasted_iota(fc.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    sizes = [1] * len(shape)
    sizes[dimension] = shape[dimension]
    return fc.broadcast_to(fc.reshape(fc.arange(shape[dimension], dtype=dtype), sizes), tuple(shape))


@function("operand")
def broadcast(operand, sizes):
    """The array repeated along new dimensions in front.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.broadcast(fc.asarray([1, 2]), (2,))
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    operand = as_array(operand)
    return fc.broadcast_to(operand, (*sizes, *operand.shape))


@function("operand")
def broadcast_in_dim(operand, shape, broadcast_dimensions):
    """The array in a shape, whose dimensions `broadcast_dimensions` are its own, in any order.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.broadcast_in_dim(fc.asarray([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int64)
    """
    dims = tuple(broadcast_dimensions)
    if len(set(dims)) == len(dims) == as_array(operand).ndim and list(dims) != sorted(dims):
        order = sorted(range(len(dims)), key=dims.__getitem__)
        operand, dims = fc.permute_dims(operand, order), tuple(sorted(dims))
    return of_arrays(p.broadcast_in_dim)(operand, shape=tuple(shape), dims=dims)


@function("arr like_arr")
def broadcast_like(arr, like_arr):
    """The array broadcast to the shape of another.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.broadcast_like(1., fc.zeros(2))
    Array([1., 1.], dtype=float32)
    """
    return fc.broadcast_to(arr, as_array(like_arr).shape)


@function("x")
def broadcast_to_rank(x, rank):
    """The array with dimensions of size 1 in front, so that it has `rank`.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.broadcast_to_rank(fc.zeros(2), 3).shape
    (1, 1, 2)
    """
    x = as_array(x)
    return fc.reshape(x, (1,) * (rank - x.ndim) + x.shape)


@function("operand")
def collapse(operand, start_dimension, stop_dimension=None):
    """The dimensions from start to stop (the end) as one.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.collapse(fc.zeros((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    start, stop, _ = slice_(start_dimension, stop_dimension).indices(operand.ndim)
    if start >= stop:
        raise ValueError(f"collapse: no dimension is from {start} to {stop}")
    size = int(np.prod(operand.shape[start:stop], dtype=np.int64))
    return fc.reshape(operand, (*operand.shape[:start], size, *operand.shape[stop:]))


slice_ = slice


@function("operands[]")
def concatenate(operands, dimension):
    """Arrays joined along a dimension.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.concatenate([fc.asarray([1]), fc.asarray([2, 3])], 0)
    Array([1, 2, 3], dtype=int64)
    """
    return fc.concat(list(operands), axis=dimension)


@function("array")
def expand_dims(array, dimensions):
    """The array with dimensions of size 1 where the result has `dimensions`.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.expand_dims(fc.zeros(2), (0, 2)).shape
    (1, 2, 1)
    """
    return fc.expand_dims(array, axis=tuple(dimensions)) if tuple(dimensions) else array


@function("operand")
def reshape(operand, new_sizes, dimensions=None):
    """The elements in another shape; `dimensions` are the order in which they are read.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.reshape(fc.arange(4), (2, 2))
    Array([[0, 1],
           [2, 3]], dtype=int64)
    """
    if dimensions is not None:
        operand = fc.permute_dims(operand, tuple(dimensions))
    return fc.reshape(operand, tuple(new_sizes))


@function("operand")
def rev(operand, dimensions):
    """The array with dimensions reversed.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.rev(fc.asarray([1, 2, 3]), (0,))
    Array([3, 2, 1], dtype=int64)
    """
    return fc.flip(operand, axis=tuple(dimensions)) if tuple(dimensions) else operand


@function("operand")
def split(operand, sizes, axis=0):
    """Parts of given sizes along an axis.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.split(fc.arange(3), (1, 2))
    (Array([0], dtype=int64), Array([1, 2], dtype=int64))
    """
    axis = canonical_axis(axis, operand.ndim, "split")
    if sum(sizes) != operand.shape[axis]:
        raise ValueError(f"split: the sizes {tuple(sizes)} do not add up to {operand.shape[axis]}")
    return tuple(fc.split(operand, [int(n) for n in np.cumsum(sizes)[:-1]], axis=axis))


# ---- slices --------------------------------------------------------------------------------------


@function("operand")
def slice(operand, start_indices, limit_indices, strides=None):
    """The elements from start to limit in each dimension, every stride-th.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.slice(fc.arange(6), (1,), (6,), (2,))
    Array([1, 3, 5], dtype=int64)
    """
    start, limit = tuple(map(int, start_indices)), tuple(map(int, limit_indices))
    steps = None if strides is None else tuple(map(int, strides))
    return of_arrays(p.slice)(operand, start=start, limit=limit, strides=steps)


@function("operand")
def slice_in_dim(operand, start_index, limit_index, stride=1, axis=0):
    """The elements from start to limit along an axis; None, and numbers below 0, as Python has them.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.slice_in_dim(fc.arange(6), 1, -1)
    Array([1, 2, 3, 4], dtype=int64)
    """
    axis = canonical_axis(axis, operand.ndim, "slice_in_dim")
    n = operand.shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = n if limit_index is None else operator.index(limit_index)
    start, limit = start + n * (start < 0), limit + n * (limit < 0)
    return of_arrays(p.slice_in_dim)(operand, start=start, limit=limit, stride=int(stride), dimension=axis)


@function("operand")
def index_in_dim(operand, index, axis=0, keepdims=True):
    """The slice at an index along an axis.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.index_in_dim(fc.arange(3), 1)
    Array([1], dtype=int64)
    """
    axis = canonical_axis(axis, operand.ndim, "index_in_dim")
    n, index = operand.shape[axis], operator.index(index)
    if not -n <= index < n:
        raise IndexError(f"index_in_dim: index {index} is out of bounds for axis {axis} of size {n}")
    out = fc.take(operand, fc.asarray([index % n]), axis=axis)
    return out if keepdims else fc.squeeze(out, axis=axis)


def _at_axis(start_index, axis: int, ndim: int) -> list:
    """The start of a slice along one axis, of all others 0."""
    starts: list = [0] * ndim
    starts[axis] = start_index
    return starts


@function("operand start_index")
def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0, *, allow_negative_indices=True):
    """slice_size elements from start_index along an axis, which is moved so that they are inside.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.dynamic_slice_in_dim(fc.arange(6), 4, 3)
    Array([3, 4, 5], dtype=int64)
    """
    axis = canonical_axis(axis, operand.ndim, "dynamic_slice_in_dim")
    sizes = [slice_size if d == axis else n for d, n in enumerate(operand.shape)]
    starts = _at_axis(start_index, axis, operand.ndim)
    return fc.dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@function("operand index")
def dynamic_index_in_dim(operand, index, axis=0, keepdims=True, *, allow_negative_indices=True):
    """The slice at an index along an axis.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.dynamic_index_in_dim(fc.arange(6), 4)
    Array([4], dtype=int64)
    """
    axis = canonical_axis(axis, operand.ndim, "dynamic_index_in_dim")
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else fc.squeeze(out, axis=axis)


@function("operand update start_index")
def dynamic_update_slice_in_dim(operand, update, start_index, axis, *, allow_negative_indices=True):
    """The array with an update from start_index along an axis.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.dynamic_update_slice_in_dim(fc.zeros(4), fc.ones(2), 1, 0)
    Array([0., 1., 1., 0.], dtype=float32)
    """
    axis = canonical_axis(axis, operand.ndim, "dynamic_update_slice_in_dim")
    starts = _at_axis(start_index, axis, operand.ndim)
    return fc.dynamic_update_slice(operand, update, starts, allow_negative_indices=allow_negative_indices)


@function("operand update index")
def dynamic_update_index_in_dim(operand, update, index, axis, *, allow_negative_indices=True):
    """The array with an update as the slice at an index along an axis.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.dynamic_update_index_in_dim(fc.zeros(3), 5., 1, 0)
    Array([0., 5., 0.], dtype=float32)
    """
    axis = canonical_axis(axis, operand.ndim, "dynamic_update_index_in_dim")
    update = as_array(update)
    if update.ndim < operand.ndim:
        update = fc.expand_dims(update, axis=axis)
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)


@function("operand padding_value")
def pad(operand, padding_value, padding_config):
    """The array with (before, after, between neighbours) so many padding values in each dimension.

    Below 0, before and after take elements away.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.pad(fc.asarray([1., 2.]), 0., [(1, 0, 1)])
    Array([0., 1., 0., 2.], dtype=float32)
    """
    low, high, interior = zip(*padding_config) if len(padding_config) else ((), (), ())
    value = as_dtype(padding_value, operand.dtype)
    return of_arrays(p.pad)(operand, value, low=low, high=high, interior=interior)


@explaining
def shape_as_value(shape):
    """A shape as an array.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.shape_as_value((2, 3))
    Array([2, 3], dtype=int64)
    """
    return fc.asarray(np.array(shape, np.int64))


@function("src idxs[]")
def index_take(src, idxs, axes):
    """The slices at several indices at once, along axes; one for each element of the index vectors.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.index_take(fc.arange(6).reshape(2, 3), (fc.asarray([0, 1]), fc.asarray([2, 0])), (0, 1))
    Array([2, 3], dtype=int64)
    """
    at = [slice_(None)] * src.ndim
    for axis, index in zip(axes, idxs):
        n = src.shape[axis]
        at[axis] = fc.clip(fc.where(index < 0, index + n, index), 0, n - 1)
    return src[tuple(at)]


@explaining
def optimization_barrier(operand, /):
    """operand, a pytree, which the compiler does not move computations across.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.optimization_barrier(fc.asarray(1.))
    Array(1., dtype=float32)
    """
    leaves, structure = fc.tree.flatten(operand)
    return structure.unflatten(_barrier(leaves)) if leaves else operand


@function("leaves[]")
def _barrier(leaves):
    return of_arrays(p.optimization_barrier)(*map(as_array, leaves))


__all__ = [
    "broadcast", "broadcast_in_dim", "broadcast_like", "broadcast_shapes", "broadcast_to_rank", "broadcasted_iota",
    "collapse", "concatenate", "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim", "empty", "expand_dims",
    "full", "full_like", "index_in_dim", "index_take", "iota", "optimization_barrier", "pad", "reshape", "rev",
    "shape_as_value", "slice", "slice_in_dim", "split", "squeeze", "stack", "tile", "transpose", "unstack",
]  # fmt: skip
