"""Sorting, searching, sets and histograms with NumPy's signatures."""

from __future__ import annotations

import functools
import math

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype, composed, with_signature
from ..core import dtypes as dt
from ..core.explain import explaining
from ..ops.host import host_array, is_traced
from ..ops.promotion import canonical_axis
from ..ops.searching import UniqueAll, UniqueCounts, UniqueInverse
from .elementwise import alike, as_array, floats

function = functools.partial(composed, space="fc.numpy")

ONE_KIND = "{name}: kind and order are not supported; there is one way to sort, stable by default"

# ---- sorting -------------------------------------------------------------------------------------


def _refuse_kinds(name: str, kind, order):
    if kind is not None or order is not None:
        raise TypeError(ONE_KIND.format(name=name))


def _axis_or_flat(a, axis):
    """(a, axis): axis=None flattens."""
    return (fc.ravel(a), 0) if axis is None else (a, axis)


@function("a")
def sort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """The elements in order along an axis (None: flattened), NaN last.

    >>> import functorch_core.numpy as jnp
    >>> jnp.sort(jnp.asarray([3, 1, 2]))
    Array([1, 2, 3], dtype=int64)
    """
    _refuse_kinds("sort", kind, order)
    a, axis = _axis_or_flat(as_array(a), axis)
    return fc.sort(a, axis=axis, descending=descending, stable=stable)


@function("a")
def argsort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False, dtype=None):
    """The indices that put the elements in order along an axis (None: flattened).

    >>> import functorch_core.numpy as jnp
    >>> jnp.argsort(jnp.asarray([3, 1, 2]))
    Array([1, 2, 0], dtype=int64)
    """
    _refuse_kinds("argsort", kind, order)
    a, axis = _axis_or_flat(as_array(a), axis)
    out = fc.argsort(a, axis=axis, descending=descending, stable=stable)
    return out if dtype is None else out.astype(dtype)


@function("a")
def sort_complex(a):
    """The elements in order along the last axis, as complex numbers.

    >>> import functorch_core.numpy as jnp
    >>> jnp.sort_complex(jnp.asarray([2 + 1j, 1 + 2j, 1 + 1j]))
    Array([1.+1.j, 1.+2.j, 2.+1.j], dtype=complex64)
    """
    a = as_array(a)
    a = a if a.dtype in dt.COMPLEX else floats(a).astype(dt.complex_of(floats(a).dtype))
    place = _lexsorted([fc.imag(a), fc.real(a)], -1)
    return fc.take_along_axis(a, place, axis=-1)


@function("keys[]")
def lexsort(keys, axis=-1):
    """The indices that put several keys in order, of which the last counts first.

    >>> import functorch_core.numpy as jnp
    >>> jnp.lexsort([jnp.asarray([2, 1, 3]), jnp.asarray([1, 1, 0])])
    Array([2, 1, 0], dtype=int64)
    """
    return _lexsorted(list(keys), axis)


def _lexsorted(keys: list, axis: int):
    place = fc.argsort(keys[0], axis=axis, stable=True)
    for key in keys[1:]:
        again = fc.argsort(fc.take_along_axis(key, place, axis=axis), axis=axis, stable=True)
        place = fc.take_along_axis(place, again, axis=axis)
    return place


@function("a")
def partition(a, kth, axis=-1):
    """The elements with those less than the kth in front of it along an axis, the greater behind.

    >>> import functorch_core.numpy as jnp
    >>> jnp.partition(jnp.asarray([3, 1, 2]), 1)
    Array([1, 2, 3], dtype=int64)
    """
    a, axis = _axis_or_flat(as_array(a), axis)
    canonical_axis(kth, a.shape[axis], "partition")
    return fc.sort(a, axis=axis)


@function("a")
def argpartition(a, kth, axis=-1):
    """The indices that partition the elements; see partition.

    >>> import functorch_core.numpy as jnp
    >>> jnp.argpartition(jnp.asarray([3, 1, 2]), 1)
    Array([1, 2, 0], dtype=int64)
    """
    a, axis = _axis_or_flat(as_array(a), axis)
    canonical_axis(kth, a.shape[axis], "argpartition")
    return fc.argsort(a, axis=axis)


# ---- searching -----------------------------------------------------------------------------------


@function("a v sorter")
def searchsorted(a, v, side="left", sorter=None, *, method="scan"):
    """Where in the sorted vector a elements v belong: in front of equal ones, or behind ('right').

    >>> import functorch_core.numpy as jnp
    >>> jnp.searchsorted(jnp.asarray([1, 2, 3]), 2)
    Array(1, dtype=int64)
    """
    return fc.searchsorted(a, as_array(v), sorter, side=side)


@function("x bins")
def digitize(x, bins, right=False, *, method=None):
    """The number of the bin that each element is in, of bins between rising (or falling) edges.

    >>> import functorch_core.numpy as jnp
    >>> jnp.digitize(jnp.asarray([0.5, 1., 2.5]), jnp.asarray([0., 1., 2.]))
    Array([1, 2, 3], dtype=int64)
    """
    x, bins = as_array(x), as_array(bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: the edges have one dimension, got {bins.aval}")
    if not bins.size:
        return fc.zeros(x.shape, dtype=dt.DEFAULT_INT)
    dtype = fc.result_type(x, bins)
    x, bins = x.astype(dtype), bins.astype(dtype)
    side = "left" if right else "right"
    rising, falling = fc.searchsorted(bins, x, side=side), bins.size - fc.searchsorted(fc.flip(bins), x, side=side)
    return fc.where(bins[-1] >= bins[0], rising, falling)


nonzero_of = fc.nonzero


@explaining
def nonzero(a, *, size=None, fill_value=None):
    """The indices of the elements that are not 0, an array for each dimension.

    size: so many of them, which is needed in compiled functions, filled up with fill_value (0).

    >>> import functorch_core.numpy as jnp
    >>> jnp.nonzero(jnp.asarray([0, 3, 0, 4]))
    (Array([1, 3], dtype=int64),)
    """
    return nonzero_of(as_array(a), size=size, fill_value=0 if fill_value is None else fill_value)


@explaining
def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """x where the condition holds, y elsewhere; without both, the indices where it holds, as nonzero.

    >>> import functorch_core.numpy as jnp
    >>> jnp.where(jnp.asarray([True, False]), 1., 2.)
    Array([1., 2.], dtype=float32)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where takes both x and y, or none of them: jnp.where(condition, x, y)")
    return fc.where(condition, x, y)


# ---- sets ----------------------------------------------------------------------------------------


@explaining
def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    size=None,
    fill_value=None,
    sorted=True,
):
    """The different elements in order; with axis, the different slices along it.

    Also, if asked for, where each is first, which of them each element is, and how often they are
    there. size: so many, filled up with the least one (or fill_value), which compiled functions need.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unique(jnp.asarray([3, 1, 3]), return_counts=True)
    (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    ar = as_array(ar)
    rows, shape = _rows_of(ar, axis)
    found = _unique_known(rows, equal_nan) if size is None else _unique_sized(rows, size, equal_nan)
    first, inverse, counts, valid = found
    out = _restored(fc.take(rows, first, axis=0), ar, axis)
    if fill_value is not None and valid is not None:
        place = 0 if axis is None else canonical_axis(axis, ar.ndim, "unique")
        mask = fc.reshape(valid, [-1 if d == place else 1 for d in range(out.ndim)])
        out = fc.where(mask, out, as_dtype(fill_value, out.dtype))
    more = []
    if return_index:
        more.append(first)
    if return_inverse:
        more.append(fc.reshape(inverse, ar.shape if axis is None else shape))
    if return_counts:
        more.append(counts)
    return (out, *more) if more else out


def _rows_of(ar, axis):
    """(what is compared, as rows of a matrix; the shape of the inverse)."""
    if axis is None:
        return fc.reshape(ar, (-1, 1)), ar.shape
    moved = fc.moveaxis(ar, axis, 0)
    return fc.reshape(moved, (moved.shape[0], math.prod(moved.shape[1:]))), (moved.shape[0],)


def _restored(rows, ar, axis):
    """Rows as elements, or as slices along the axis."""
    if axis is None:
        return fc.reshape(rows, (-1,))
    axis = canonical_axis(axis, ar.ndim, "unique")
    rest = [n for d, n in enumerate(ar.shape) if d != axis]
    return fc.moveaxis(fc.reshape(rows, (rows.shape[0], *rest)), 0, axis)


def _sorted_rows(rows, equal_nan: bool):
    """(their order, whether each in it is different from the one before)."""
    columns = [rows[:, i] for i in reversed(range(rows.shape[1]))]
    order = _lexsorted(columns, 0) if columns else fc.arange(rows.shape[0])
    ranked = fc.take(rows, order, axis=0)
    before, after = ranked[:-1], ranked[1:]
    same = before == after
    if equal_nan and rows.dtype in dt.INEXACT:
        same = same | (fc.isnan(before) & fc.isnan(after))
    return order, fc.concat([fc.ones(min(rows.shape[0], 1), dtype=dt.bool_), ~fc.all(same, axis=1)])


def _unique_known(rows, equal_nan: bool):
    order, new = _sorted_rows(rows, equal_nan)
    if is_traced(new._value):  # which raises, with what to do
        host_array(new._value, "unique", "Say how many there are at most: jnp.unique(x, size=n)")
    places = fc.flatnonzero(new)
    inverse = fc.zeros(rows.shape[0], dtype=dt.int64).at[order].set(fc.cumsum(new) - 1)
    edges = fc.concat([places, fc.asarray([rows.shape[0]])])
    return fc.take(order, places, axis=0), inverse, fc.diff(edges), None


@composed("rows", space="fc.numpy")
def _unique_sized(rows, size, equal_nan):
    order, new = _sorted_rows(rows, equal_nan)
    edges = fc.nonzero(new, size=size + 1, fill_value=rows.shape[0])[0]  # one more: the end of the last one
    places = edges[:size]
    valid = places < rows.shape[0]
    number = fc.cumsum(new) - 1
    inverse = fc.zeros(rows.shape[0], dtype=dt.int64).at[order].set(number)
    first = fc.take(order, fc.where(valid, places, fc.zeros_like(places)), axis=0, mode="clip")
    return first, inverse, fc.diff(edges), valid


@explaining
def unique_values(x, /, *, size=None, fill_value=None):
    """The different elements in order.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unique_values(jnp.asarray([3, 1, 3]))
    Array([1, 3], dtype=int64)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


@explaining
def unique_counts(x, /, *, size=None, fill_value=None):
    """(values, counts): the different elements, and how often they are there.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unique_counts(jnp.asarray([3, 1, 3])).counts
    Array([1, 2], dtype=int64)
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


@explaining
def unique_inverse(x, /, *, size=None, fill_value=None):
    """(values, inverse_indices): the different elements, and which of them each element is.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unique_inverse(jnp.asarray([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int64)
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


@explaining
def unique_all(x, /, *, size=None, fill_value=None):
    """(values, indices, inverse_indices, counts) of the different elements.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unique_all(jnp.asarray([3, 1, 3])).indices
    Array([1, 0], dtype=int64)
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


@explaining
def union1d(ar1, ar2, *, size=None, fill_value=None):
    """The different elements of both, in order.

    >>> import functorch_core.numpy as jnp
    >>> jnp.union1d(jnp.asarray([3, 1]), jnp.asarray([2, 3]))
    Array([1, 2, 3], dtype=int64)
    """
    both = fc.concat(list(map(fc.ravel, alike(ar1, ar2))))
    return unique(both, size=size, fill_value=fill_value)


def _chosen(values, mask, size, fill_value, repeated: bool = False):
    """The elements of a vector that a mask names, so many if a size is given, filled up with 0 or the first one."""
    if size is None:
        return values[mask]
    places = fc.nonzero(mask, size=size, fill_value=values.size)[0]
    found = fc.take(values, places, axis=0, mode="clip") if values.size else fc.zeros(size, dtype=values.dtype)
    fill = fc.zeros((), dtype=values.dtype) if fill_value is None else as_dtype(fill_value, values.dtype)
    if repeated and fill_value is None and size:
        fill = fc.where(places[0] < values.size, found[0], fill)
    return fc.where(places < values.size, found, fill)


def _set_of(x, assume_unique: bool, size):
    """(the different elements of x in order, which of them are no filling)."""
    x = fc.ravel(as_array(x))
    if assume_unique or not x.size:
        return x, fc.ones(x.shape, dtype=dt.bool_)
    if size is None:
        found = unique(x)
        return found, fc.ones(found.shape, dtype=dt.bool_)
    x = fc.sort(x)
    return x, fc.concat([fc.ones(1, dtype=dt.bool_), x[1:] != x[:-1]])


@explaining
def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The different elements of the first that are not in the second.

    >>> import functorch_core.numpy as jnp
    >>> jnp.setdiff1d(jnp.asarray([3, 1, 2]), jnp.asarray([2]))
    Array([1, 3], dtype=int64)
    """
    found, valid = _set_of(ar1, assume_unique, size)
    return _chosen(found, valid & ~fc.isin(found, as_array(ar2)), size, fill_value)


@explaining
def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The different elements that are in one of the two alone.

    >>> import functorch_core.numpy as jnp
    >>> jnp.setxor1d(jnp.asarray([3, 1]), jnp.asarray([2, 3]))
    Array([1, 2], dtype=int64)
    """
    (a, in_a), (b, in_b) = (_set_of(x, assume_unique, size) for x in alike(ar1, ar2))
    a, b, in_a, in_b = a, b, in_a & ~fc.isin(a, b), in_b & ~fc.isin(b, a)
    both, mask = fc.concat([a, b]), fc.concat([in_a, in_b])
    order = fc.argsort(both)
    return _chosen(fc.take(both, order, axis=0), fc.take(mask, order, axis=0), size, fill_value, repeated=True)


@explaining
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None, fill_value=None):
    """The different elements that are in both; with return_indices, where they are first in each.

    >>> import functorch_core.numpy as jnp
    >>> jnp.intersect1d(jnp.asarray([3, 1, 2]), jnp.asarray([2, 3]))
    Array([2, 3], dtype=int64)
    """
    a, b = map(fc.ravel, alike(ar1, ar2))
    found, valid = _set_of(a, False, size)
    out = _chosen(found, valid & fc.isin(found, b), size, fill_value, repeated=True)
    if not return_indices:
        return out
    return out, _first_places(a, out), _first_places(b, out)


def _first_places(x, wanted):
    return fc.argmax((wanted[:, None] == x[None, :]).astype(dt.int32), axis=1)


# ---- histograms ----------------------------------------------------------------------------------


@explaining
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of so many bins of equal width, over `range` (what the elements cover).

    >>> import functorch_core.numpy as jnp
    >>> jnp.histogram_bin_edges(jnp.asarray([0., 1., 2.]), bins=2)
    Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram_bin_edges: bins={bins!r}\n    Give their number, or the edges.")
    if np.ndim(bins):
        return floats(as_array(bins)) if not isinstance(bins, list) else floats(fc.asarray(bins))
    a = floats(fc.ravel(as_array(a)))
    if range is None:
        low, high = (fc.min(a), fc.max(a)) if a.size else (fc.zeros((), dtype=a.dtype), fc.ones((), dtype=a.dtype))
    else:
        low, high = (as_dtype(v, a.dtype) for v in range)
    low, high = fc.where(low == high, low - 0.5, low), fc.where(low == high, high + 0.5, high)
    return fc.linspace(low, high, int(bins) + 1).astype(a.dtype).at[-1].set(high)


@explaining
def histogram(a, bins=10, range=None, weights=None, density=None):
    """(counts, edges): how many elements (or what weights) are in each bin; the last one is closed.

    >>> import functorch_core.numpy as jnp
    >>> jnp.histogram(jnp.asarray([0., 1., 1., 2.]), bins=2)
    (Array([1., 3.], dtype=float32), Array([0., 1., 2.], dtype=float32))
    """
    edges = histogram_bin_edges(a, bins, range)
    counts = _counted([fc.ravel(as_array(a))], [edges], weights)
    counts = counts.astype(edges.dtype) if weights is None or density else counts
    if density:
        counts = counts / fc.diff(edges) / fc.sum(counts)
    return counts, edges


def _counted(columns, edges, weights):
    """The counts in a grid of bins of the rows that columns of coordinates make."""
    sizes = [e.size - 1 for e in edges]
    place, inside = fc.zeros(columns[0].shape, dtype=dt.int64), fc.ones(columns[0].shape, dtype=dt.bool_)
    for column, edge, n in zip(columns, edges, sizes):
        column, edge = floats(column), edge.astype(fc.result_type(floats(column), edge))
        found = fc.searchsorted(edge, column.astype(edge.dtype), side="right") - 1
        found = fc.where(column == edge[-1], fc.full_like(found, n - 1), found)
        inside = inside & (found >= 0) & (found < n)
        place = place * n + fc.clip(found, 0, n - 1)
    weights = fc.ones_like(place) if weights is None else fc.ravel(as_array(weights))
    weights = fc.where(inside, weights, fc.zeros_like(weights))
    total = fc.zeros(int(np.prod(sizes)), dtype=weights.dtype).at[place].add(weights)
    return fc.reshape(total, sizes)


@explaining
def histogramdd(sample, bins=10, range=None, weights=None, density=None):
    """(counts, edges): of rows of coordinates [n, d], in a grid of bins.

    >>> import functorch_core.numpy as jnp
    >>> jnp.histogramdd(jnp.asarray([[0., 0.], [1., 1.]]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int64)
    """
    sample = fc.stack([as_array(x) for x in sample], axis=1) if isinstance(sample, (list, tuple)) else sample
    d = sample.shape[1]
    bins = [bins] * d if not np.ndim(bins) or isinstance(bins, str) else list(bins)
    if len(bins) != d:
        raise ValueError(f"histogramdd: {d} columns, but bins for {len(bins)}")
    ranges = [None] * d if range is None else list(range)
    edges = [histogram_bin_edges(sample[:, i], b, r) for i, (b, r) in enumerate(zip(bins, ranges))]
    counts = _counted([sample[:, i] for i, _ in enumerate(edges)], edges, weights)
    if density:
        counts = counts.astype(edges[0].dtype) / fc.sum(counts).astype(edges[0].dtype)
        for i, edge in enumerate(edges):
            counts = counts / fc.reshape(fc.diff(edge), [-1 if j == i else 1 for j in np.arange(d)])
    return counts, edges


@explaining
def histogram2d(x, y, bins=10, range=None, weights=None, density=None):
    """(counts, edges of x, edges of y): how many points are in each bin of a grid.

    >>> import functorch_core.numpy as jnp
    >>> jnp.histogram2d(jnp.asarray([0., 1.]), jnp.asarray([0., 1.]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int64)
    """
    if np.ndim(bins) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([as_array(x), as_array(y)], bins, range, weights, density)
    return counts, *edges


take_along_axis = with_signature(fc.take_along_axis, "arr, indices, axis=-1, mode=None, fill_value=None")

__all__ = [
    "argpartition", "argsort", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    "intersect1d", "lexsort", "nonzero", "partition", "searchsorted", "setdiff1d", "setxor1d", "sort",
    "sort_complex", "take_along_axis", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "where",
]  # fmt: skip
