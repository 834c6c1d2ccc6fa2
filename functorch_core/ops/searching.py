"""Finding and ordering: extremes, sorting, places, sets."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.trace import state
from ..engine import Value, check_bounds, from_numpy
from ..kernels import order as kernels
from ..kernels.indexing import nonzero_places
from ..kernels.values import kept
from ..primitives import cumulative, sorting
from .declaring import check
from .host import host_array, is_traced
from .manipulation import ravel, stack
from .op import lift, op
from .places import exposed
from .promotion import broadcast_shapes, broadcast_to, canonical_axis, cast, result_dtype

SIZE_ADVICE = "Give the number of them: fc.{name}(x, size=n); or choose with fc.where(condition, x, y)"
SET_ADVICE = "Sets have no static size; compute them outside of the transformed function"


# ---- the places of extremes ----------------------------------------------------------------------


def _extreme_place(x, axis, keepdims, name: str, apply):
    a = aval_of(x)
    check(name, x, dt.ORDERED)
    if a.size == 0 and (axis is None or a.shape[canonical_axis(axis, a.ndim, name)] == 0):
        raise ValueError(f"{name}(x, axis={axis}) of {a}: there is no element to choose from")
    if axis is None:
        return kept(apply(p.reshape(x, shape=(a.size,)), axis=0), x, range(a.ndim), keepdims)
    axis = canonical_axis(axis, a.ndim, name)
    return kept(apply(x, axis=axis), x, (axis,), keepdims)


@op("fc", "Array")
def argmax(x, /, axis=None, keepdims=False):
    """The index of the greatest element along `axis` (None: of the flattened array), an int64.

    The first where several are equal; of NaN the first. ValueError for no elements.

    >>> import functorch_core as fc
    >>> fc.argmax(fc.asarray([1., 3., 2.]))
    Array(1, dtype=int64)
    """
    return _extreme_place(x, axis, keepdims, "argmax", p.argmax)


@op("fc", "Array")
def argmin(x, /, axis=None, keepdims=False):
    """The index of the least element along `axis` (None: of the flattened array), an int64.

    >>> import functorch_core as fc
    >>> fc.argmin(fc.asarray([1., 3., 2.]))
    Array(0, dtype=int64)
    """
    return _extreme_place(x, axis, keepdims, "argmin", p.argmin)


# ---- taking --------------------------------------------------------------------------------------


def check_indices(indices, size: int, name: str, mode, axis):
    """IndexError, perhaps later, if indices that are not traced are out of bounds and no mode says
    what to do with them."""
    if mode is not None or is_traced(indices):
        return
    if aval_of(indices).dtype.kind not in "iu":
        raise TypeError(f"{name}: indices are integers, got {aval_of(indices)}")
    value = indices if isinstance(indices, Value) else from_numpy(np.asarray(indices))
    check_bounds(
        value,
        size,
        lambda found: IndexError(f"{name}: index {found} is out of bounds for axis {axis} of size {size}"),
        name,
    )


def _from_front(indices, size: int):
    indices = p.convert(indices, dtype=dt.int64)
    return p.wrap_negative(indices, size)


def _gather_mode(mode) -> str:
    modes = {None: "clip", "clip": "clip", "fill": "fill", "promise_in_bounds": "promise_in_bounds"}
    if mode not in modes:
        raise ValueError(f"mode is None, 'clip', 'fill' or 'promise_in_bounds', got {mode!r}")
    return modes[mode]


@op
def _take(x, indices, /, *, axis, mode, fill_value):
    size = aval_of(x).shape[axis]
    return p.take(x, _from_front(indices, size), axis=axis, mode=mode, fill_value=fill_value)


@exposed("fc")
def take(x, indices, /, *, axis=None, mode=None, fill_value=None):
    """x at integer indices along `axis`, whose dimension gives way to those of the indices.

    Negative indices count from the end. Out of bounds, concrete indices are an IndexError and
    traced ones are clipped; or by mode: 'clip', or 'fill' with fill_value (NaN by default).

    >>> import functorch_core as fc
    >>> fc.take(fc.asarray([10., 20., 30.]), fc.asarray([2, 0]))
    Array([30., 10.], dtype=float32)
    """
    if axis is None:
        if aval_of(x).ndim != 1:
            x = ravel(x)
        axis = 0
    axis = canonical_axis(axis, aval_of(x).ndim, "take")
    check_indices(indices, aval_of(x).shape[axis], "take", mode, axis)
    return _take(x, indices, axis=axis, mode=_gather_mode(mode), fill_value=fill_value)


@op
def _take_along_axis(x, indices, /, *, axis, mode, fill_value):
    a, i = aval_of(x), aval_of(indices)

    def at_axis(shape, n):
        return shape[:axis] + (n,) + shape[axis + 1 :]

    shape = broadcast_shapes(at_axis(a.shape, 1), at_axis(i.shape, 1), name="take_along_axis")
    x = broadcast_to(x, at_axis(shape, a.shape[axis]))
    indices = broadcast_to(indices, at_axis(shape, i.shape[axis]))
    return p.take_along_axis(x, _from_front(indices, a.shape[axis]), axis=axis, mode=mode, fill_value=fill_value)


@exposed("fc")
def take_along_axis(x, indices, /, *, axis=-1, mode=None, fill_value=None):
    """For every line of x along `axis` its elements at a line of indices, as argsort gives them.

    The other dimensions are broadcast. Out of bounds: see take.

    >>> import functorch_core as fc
    >>> x = fc.asarray([[3., 1.], [2., 5.]])
    >>> fc.take_along_axis(x, fc.argsort(x), axis=-1)
    Array([[1., 3.],
           [2., 5.]], dtype=float32)
    """
    a, i = aval_of(x), aval_of(indices)
    if a.ndim != i.ndim:
        raise ValueError(f"take_along_axis takes indices of as many dimensions as x, got {i} for {a}")
    axis = canonical_axis(axis, a.ndim, "take_along_axis")
    check_indices(indices, a.shape[axis], "take_along_axis", mode, axis)
    return _take_along_axis(x, indices, axis=axis, mode=_gather_mode(mode), fill_value=fill_value)


# ---- sorting -------------------------------------------------------------------------------------


@op("fc")
def sort(x, /, *, axis=-1, descending=False, stable=True):
    """x sorted along `axis`; NaN comes last (first if descending).

    >>> import functorch_core as fc
    >>> fc.sort(fc.asarray([3., 1., 2.]))
    Array([1., 2., 3.], dtype=float32)
    """
    axis = canonical_axis(axis, aval_of(x).ndim, "sort")
    return sorting.sort(x, dimension=axis, descending=bool(descending), stable=bool(stable))[0]


@op("fc")
def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The int64 indices that sort x along `axis`; equal elements stay in order.

    >>> import functorch_core as fc
    >>> fc.argsort(fc.asarray([3., 1., 2.]))
    Array([1, 2, 0], dtype=int64)
    """
    axis = canonical_axis(axis, aval_of(x).ndim, "argsort")
    return sorting.argsort(x, dimension=axis, descending=bool(descending), stable=bool(stable))


class TopK(NamedTuple):
    """The k greatest (or least) elements, in order, and their indices."""

    values: object
    indices: object


@op
def _top_k(x, /, *, k, axis, largest):
    a = aval_of(x)
    axis = canonical_axis(axis, a.ndim, "top_k")
    if not 0 <= k <= a.shape[axis]:
        raise ValueError(f"top_k: k={k} of {a.shape[axis]} elements along axis {axis} of {a}")
    return kernels.top_k(x, k, axis, bool(largest))


@exposed("fc", names="operand k")
def top_k(x, k, /, *, axis=-1, largest=True):
    """The k greatest (or least) elements along `axis`, in order, and their int64 indices.

    Equal elements come by index. Returns TopK(values, indices). ValueError if there are fewer.

    >>> import functorch_core as fc
    >>> fc.top_k(fc.asarray([3., 1., 2.]), 2).values
    Array([3., 2.], dtype=float32)
    """
    return TopK(*_top_k(x, k=operator.index(k), axis=axis, largest=largest))


@op("fc", arrays=("sorter",))
def searchsorted(x1, x2, /, sorter=None, *, side="left"):
    """Where each element of x2 would be inserted into the sorted 1-d x1, an int64.

    side='left': in front of equal elements, 'right': behind. sorter: indices that sort x1.

    >>> import functorch_core as fc
    >>> fc.searchsorted(fc.asarray([1, 3, 5]), fc.asarray([3, 4]))
    Array([1, 2], dtype=int64)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', got {side!r}")
    if aval_of(x1).ndim != 1:
        raise ValueError(f"searchsorted takes a sorted array of one dimension, got {aval_of(x1)}")
    if sorter is not None:
        x1 = p.take(x1, sorter, axis=0)
    shape = aval_of(x2).shape
    x1, x2 = cast_both(x1, x2)
    flat = p.reshape(x2, shape=(aval_of(x2).size,))
    found = kernels.insertion_place(x1, flat, _nan_last(p.lt if side == "left" else p.le), side == "right")
    return p.reshape(found, shape=shape)


@functools.cache
def _nan_last(before: Callable) -> Callable:
    """The order of p.lt or p.le with NaN behind all numbers, as NumPy's; PyTorch's puts all before it."""

    def apply(element, value):
        if aval_of(value).dtype not in dt.FLOATING:
            return before(element, value)
        last, number = p.ne(value, value), p.eq(element, element)
        return p.or_(before(element, value), last if before is p.le else p.and_(last, number))

    return apply


def cast_both(x1, x2):
    """Two arrays in their common dtype."""
    dtype = result_dtype((x1, x2))
    return cast(x1, dtype), cast(x2, dtype)


# ---- places --------------------------------------------------------------------------------------


@op
def _nonzero_sized(x, *fills, size):
    """The first `size` places: those whose running count is at or below each place's number."""
    a = aval_of(x)
    flat = p.reshape(p.convert(x, dtype=dt.bool_), shape=(a.size,))
    seen = cumulative.cumsum(p.convert(flat, dtype=dt.int64), axis=0)
    wanted = p.iota(shape=(size,), dtype=dt.int64, dimension=0)
    at = kernels.insertion_place(seen, wanted, p.le, True)
    total = p.reshape(p.slice(seen, start=(a.size - 1,), limit=(a.size,)), shape=())
    exists = p.lt(wanted, p.broadcast_in_dim(total, shape=(size,), dims=()))
    out = []
    for d in range(a.ndim):
        stride = math.prod(a.shape[d + 1 :])
        place = p.rem(p.div(at, stride), a.shape[d])
        fill = p.broadcast_in_dim(p.convert(fills[d % len(fills)], dtype=dt.int64), shape=(size,), dims=())
        out.append(p.select(exists, place, fill))
    return out


@exposed("fc", "Array")
def nonzero(x, /, *, size=None, fill_value=0):
    """The places of elements that are not 0: a tuple of int64 arrays, one for each dimension.

    How many there are depends on the data; under tracing give `size`: the first so many, the rest
    `fill_value`. ValueError for a 0-d array.

    >>> import functorch_core as fc
    >>> fc.nonzero(fc.asarray([0, 3, 0, 4]))
    (Array([1, 3], dtype=int64),)
    """
    a = aval_of(x)
    if not a.ndim:
        raise ValueError("nonzero of a 0-d array; reshape it to (1,) first")
    if size is None:
        places = nonzero_places(host_array(x, "nonzero", SIZE_ADVICE.format(name="nonzero")))
        return tuple(map(as_result, places))
    fills = [_number(f) for f in (fill_value if isinstance(fill_value, (tuple, list)) else [fill_value])]
    if not a.size:
        return tuple(broadcast_to(fills[d % len(fills)], (operator.index(size),)) for d in range(a.ndim))
    return tuple(_nonzero_sized(x, *fills, size=operator.index(size)))


@exposed("fc", names="a")
def argwhere(x, /, *, size=None, fill_value=None):
    """The places of elements that are not 0, a row of indices each: see nonzero.

    >>> import functorch_core as fc
    >>> fc.argwhere(fc.asarray([[0, 3], [4, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int64)
    """
    fill_value = 0 if fill_value is None else fill_value
    if not aval_of(x).ndim:  # of no dimensions: one row without numbers, or none
        n = int(host_array(x, "argwhere", SIZE_ADVICE.format(name="argwhere")) != 0) if size is None else size
        return as_result(np.zeros((n, 0), np.int64))
    return stack(list(nonzero(x, size=size, fill_value=fill_value)), axis=1)


@exposed("fc", names="a")
def flatnonzero(x, /, *, size=None, fill_value=None):
    """The places of elements that are not 0 in the flattened array: see nonzero.

    >>> import functorch_core as fc
    >>> fc.flatnonzero(fc.asarray([[0, 3], [4, 0]]))
    Array([1, 2], dtype=int64)
    """
    return nonzero(ravel(x), size=size, fill_value=0 if fill_value is None else fill_value)[0]


def _number(x):
    """A number, or an array of one, known or traced, as a value."""
    x = getattr(x, "_value", x)
    return x if isinstance(x, Value) or is_traced(x) else as_result(np.asarray(x, np.int64))


def as_result(array: np.ndarray):
    """A host array as a value: a constant of the active trace, or an engine value."""
    if state.builder is not None:
        return lift(array)
    return from_numpy(np.ascontiguousarray(array).reshape(array.shape))  # 0-d would become 1-d


# ---- sets ----------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """Distinct values, their first indices, where each element is among them, their counts."""

    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCounts(NamedTuple):
    """Distinct values and how often they occur."""

    values: object
    counts: object


class UniqueInverse(NamedTuple):
    """Distinct values and where each element is among them."""

    values: object
    inverse_indices: object


def _unique(x, name: str) -> UniqueAll:
    host = host_array(x, name, SET_ADVICE)
    narrow = host.dtype.kind == "V"
    found = np.unique(
        host.astype(np.float32) if narrow else host,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )
    values, indices, inverse, counts = found
    if narrow:
        values = values.astype(host.dtype)
    return UniqueAll(*map(as_result, (values, indices, inverse.reshape(host.shape), counts)))


@exposed("fc")
def unique_all(x, /):
    """The distinct elements, sorted, with their first indices, inverse indices and counts.

    NaNs are all distinct. Their number depends on the data: not for traced arrays.

    >>> import functorch_core as fc
    >>> fc.unique_all(fc.asarray([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int64)
    """
    return _unique(x, "unique_all")


@exposed("fc")
def unique_counts(x, /):
    """The distinct elements, sorted, and how often each occurs; see unique_all.

    >>> import functorch_core as fc
    >>> fc.unique_counts(fc.asarray([3, 1, 3])).counts
    Array([1, 2], dtype=int64)
    """
    found = _unique(x, "unique_counts")
    return UniqueCounts(found.values, found.counts)


@exposed("fc")
def unique_inverse(x, /):
    """The distinct elements, sorted, and which of them each element is; see unique_all.

    >>> import functorch_core as fc
    >>> fc.unique_inverse(fc.asarray([3, 1, 3])).values
    Array([1, 3], dtype=int64)
    """
    found = _unique(x, "unique_inverse")
    return UniqueInverse(found.values, found.inverse_indices)


@exposed("fc")
def unique_values(x, /):
    """The distinct elements, sorted; see unique_all.

    >>> import functorch_core as fc
    >>> fc.unique_values(fc.asarray([3, 1, 3]))
    Array([1, 3], dtype=int64)
    """
    return _unique(x, "unique_values").values


@op("fc", names="element test_elements")
def isin(x1, x2, /, assume_unique=False, invert=False, *, method="auto"):
    """Whether each element of x1 is equal to one of x2.

    `assume_unique` and `method` are JAX's hints; all pairs are compared in any case.

    >>> import functorch_core as fc
    >>> fc.isin(fc.asarray([1, 2, 3]), fc.asarray([2, 4]))
    Array([False,  True, False], dtype=bool)
    """
    x1, x2 = cast_both(x1, x2)
    found = kernels.isin(x1, x2)
    return p.not_(found) if invert else found


@exposed("fc", names="x")
def bincount(x, /, weights=None, minlength=0, *, length=None):
    """How often (or with which sum of weights) each of 0, ..., length - 1 occurs in x.

    `length` is one more than the greatest number, at least minlength, by default, and has to be
    given where x is traced. With a length, negative numbers are counted as 0, and others outside left out, as in JAX.

    >>> import functorch_core as fc
    >>> fc.bincount(fc.asarray([0, 2, 2]), length=4)
    Array([1, 0, 2, 0], dtype=int64)
    """
    if aval_of(x).dtype not in dt.INTEGER:
        raise TypeError(f"bincount counts integers, got {aval_of(x)}; x.astype(fc.int64)")
    if aval_of(x).ndim != 1 or (weights is not None and np.shape(weights) != aval_of(x).shape):
        about = "" if weights is None else f" and weights of its shape, {np.shape(weights)}"
        raise ValueError(f"bincount takes a vector{about}, got {aval_of(x)}; fc.ravel(x) is one")
    if length is None:
        numbers = host_array(x, "bincount", "Say how many bins there are: fc.bincount(x, length=n)")
        length = max(int(numbers.max()) + 1 if numbers.size else 0, minlength)
        if numbers.size and numbers.min() < 0:
            raise ValueError("bincount: x has negative numbers; with length=n they are counted as 0")
    return _bincount(x, weights, length=length)


@op
def _bincount(x, weights, /, *, length):
    n = aval_of(x).size
    x = p.convert(p.reshape(x, shape=(n,)), dtype=dt.int64)
    x = p.max(x, p.full((n,), 0, dt.int64))
    ones = p.full((n,), 1, dt.int64) if weights is None else p.reshape(weights, shape=(n,))
    start = p.full((length,), 0, aval_of(ones).dtype)
    return p.scatter_axis(start, x, ones, axis=0, combine="add")


__all__ = [  # what it has in fc, for static tools
    "argmax", "argmin", "argsort", "argwhere", "bincount", "flatnonzero", "isin", "nonzero", "searchsorted", "sort",
    "take", "take_along_axis", "top_k", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
