"""Taking and putting, choosing and selecting, with NumPy's signatures."""

from __future__ import annotations

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype
from ..core import dtypes as dt
from ..core.explain import explaining
from ..ops.promotion import canonical_axis
from .elementwise import as_array
from .order import _chosen

IN_PLACE = """{name}: arrays are immutable
    wrong: jnp.{name}(x, ...)                right: x = jnp.{name}(x, ..., inplace=False)"""


def _not_in_place(name: str, inplace: bool):
    if inplace:
        raise ValueError(IN_PLACE.format(name=name))


# ---- taking --------------------------------------------------------------------------------------


@explaining
def take(a, indices, axis=None, mode=None, unique_indices=False, indices_are_sorted=False, fill_value=None):
    """The elements (along an axis: the slices) at indices.

    mode says what is out of bounds: 'fill' gives fill_value (NaN), 'wrap' counts on, 'clip' gives the nearest,
    and does not count from the end: of negative indices the first.

    >>> import functorch_core.numpy as jnp
    >>> jnp.take(jnp.asarray([1., 2., 3.]), jnp.asarray([0, 2]))
    Array([1., 3.], dtype=float32)
    """
    a, indices = as_array(a), as_array(indices)
    if mode == "wrap":
        n = a.size if axis is None else a.shape[axis]
        indices, mode = fc.remainder(indices, n), "clip"
    elif mode == "clip":
        indices = fc.maximum(indices, 0)
    return fc.take(a, indices, axis=axis, mode=mode, fill_value=fill_value)


@explaining
def compress(condition, a, axis=None, *, size=None, fill_value=0):
    """The slices along an axis (None: flattened) where a vector of conditions holds.

    >>> import functorch_core.numpy as jnp
    >>> jnp.compress(jnp.asarray([True, False, True]), jnp.asarray([1, 2, 3]))
    Array([1, 3], dtype=int64)
    """
    a, condition = as_array(a), as_array(condition).astype(dt.bool_)
    if condition.ndim != 1:
        raise ValueError(f"compress: the condition has one dimension, got {condition.aval}")
    if axis is None:
        a, axis = fc.ravel(a), 0
    a = fc.moveaxis(a, axis, 0)[: condition.size]
    if size is None:
        return fc.moveaxis(a[condition], 0, axis)
    places = fc.nonzero(condition, size=size, fill_value=condition.size)[0]
    found = fc.take(a, places, axis=0, mode="clip")
    mask = fc.reshape(places < condition.size, (-1,) + (1,) * (a.ndim - 1))
    return fc.moveaxis(fc.where(mask, found, as_dtype(fill_value, a.dtype)), 0, axis)


@explaining
def extract(condition, arr, *, size=None, fill_value=0):
    """The elements where a condition holds, both flattened; those beyond the shorter one are left out.

    >>> import functorch_core.numpy as jnp
    >>> jnp.extract(jnp.asarray([True, False, True]), jnp.asarray([1, 2, 3]))
    Array([1, 3], dtype=int64)
    """
    condition, arr = fc.ravel(as_array(condition).astype(dt.bool_)), fc.ravel(as_array(arr))
    n = min(condition.size, arr.size)
    return _chosen(arr[:n], condition[:n], size, fill_value)


@explaining
def choose(a, choices, mode="raise"):
    """From each element's array of choices, the element at its place.

    mode: 'raise' (an IndexError for a number without array, which must be known), 'wrap' or 'clip'.

    >>> import functorch_core.numpy as jnp
    >>> jnp.choose(jnp.asarray([0, 1]), [jnp.asarray([1, 2]), jnp.asarray([3, 4])])
    Array([1, 4], dtype=int64)
    """
    a = as_array(a)
    stacked = fc.stack(list(fc.broadcast_arrays(*[as_array(c) for c in choices])), axis=0)
    n = stacked.shape[0]
    if mode == "raise":
        known = np.asarray(a)
        if ((known < 0) | (known >= n)).any():
            raise IndexError(f"choose: there are {n} choices, and a number not among 0, ..., {n - 1}")
    a = fc.remainder(a, n) if mode == "wrap" else fc.clip(a, 0, n - 1)
    shape = np.broadcast_shapes(a.shape, stacked.shape[1:])
    stacked = fc.broadcast_to(
        fc.reshape(stacked, (n, *(1,) * (len(shape) + 1 - stacked.ndim), *stacked.shape[1:])), (n, *shape)
    )
    return fc.take_along_axis(stacked, fc.broadcast_to(a, shape)[None], axis=0, mode="clip")[0]


@explaining
def select(condlist, choicelist, default=0):
    """Elementwise the choice of the first condition that holds, or `default`.

    >>> import functorch_core.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.select([x < 1, x < 3], [x, 10 * x], default=-1)
    Array([ 0, 10, 20, -1], dtype=int64)
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices; there are as many of each")
    dtype = fc.result_type(*choicelist, default)
    out = as_dtype(default, dtype)
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        out = fc.where(condition, as_dtype(choice, dtype), out)
    return out


@explaining
def piecewise(x, condlist, funclist, *args, **kw):
    """The function (or number) of the last condition that holds, of each element; one function more is the default.

    >>> import functorch_core.numpy as jnp
    >>> x = jnp.asarray([-1., 2.])
    >>> jnp.piecewise(x, [x < 0, x >= 0], [lambda x: -x, 10.])
    Array([ 1., 10.], dtype=float32)
    """
    x = as_array(x)
    conditions = [as_array(c) for c in (condlist if isinstance(condlist, (list, tuple)) else list(as_array(condlist)))]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise: {len(conditions)} conditions for {len(functions)} functions; as many, or one more"
        )
    value = functions.pop()
    out = _of(value, x, args, kw)
    for condition, function in zip(conditions, functions):
        out = fc.where(condition, _of(function, x, args, kw), out)
    return out


def _of(function, x, args, kw):
    found = function(x, *args, **kw) if callable(function) else function
    return fc.broadcast_to(as_dtype(found, x.dtype), x.shape)


# ---- putting -------------------------------------------------------------------------------------


@explaining
def put(a, ind, v, mode=None, *, inplace=True):
    """The array with v, repeated as needed, at flat indices; inplace=False is needed.

    mode: 'clip' (the default here) or 'wrap' for indices out of bounds.

    >>> import functorch_core.numpy as jnp
    >>> jnp.put(jnp.zeros(3), jnp.asarray([0, 2]), 5., inplace=False)
    Array([5., 0., 5.], dtype=float32)
    """
    _not_in_place("put", inplace)
    a, ind, v = as_array(a), fc.ravel(as_array(ind)), fc.ravel(as_array(v))
    if not ind.size or not v.size:
        return a
    v = fc.tile(v, (-(-ind.size // v.size),))[: ind.size].astype(a.dtype)
    ind = fc.remainder(ind, a.size) if mode == "wrap" else ind
    out = fc.ravel(a).at[ind].set(v, mode="clip" if mode == "clip" else None)
    return fc.reshape(out, a.shape)


@explaining
def put_along_axis(arr, indices, values, axis, inplace=True, *, mode=None):
    """The array with values at indices along an axis; inplace=False is needed.

    >>> import functorch_core.numpy as jnp
    >>> jnp.put_along_axis(jnp.zeros((2, 2)), jnp.asarray([[0], [1]]), 5., 1, inplace=False)
    Array([[5., 0.],
           [0., 5.]], dtype=float32)
    """
    _not_in_place("put_along_axis", inplace)
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        flat = put_along_axis(fc.ravel(arr), fc.ravel(indices), values, 0, False, mode=mode)
        return fc.reshape(flat, arr.shape)
    axis = canonical_axis(axis, arr.ndim, "put_along_axis")
    places = [
        fc.reshape(fc.arange(n), [-1 if e == d else 1 for e, _ in enumerate(arr.shape)])
        for d, n in enumerate(indices.shape)
    ]
    places[axis] = indices
    return arr.at[tuple(places)].set(as_dtype(values, arr.dtype), mode=mode)


@explaining
def place(arr, mask, vals, *, inplace=True):
    """The array with vals, one after the other and again, where a mask holds; inplace=False is needed.

    >>> import functorch_core.numpy as jnp
    >>> jnp.place(jnp.zeros(3), jnp.asarray([True, False, True]), jnp.asarray([1., 2.]), inplace=False)
    Array([1., 0., 2.], dtype=float32)
    """
    _not_in_place("place", inplace)
    arr, mask, vals = as_array(arr), as_array(mask).astype(dt.bool_), fc.ravel(as_array(vals))
    if mask.size != arr.size:
        raise ValueError(f"place: the mask, {mask.aval}, has not as many elements as the array, {arr.aval}")
    if not vals.size:
        return arr
    flat = fc.ravel(mask)
    number = fc.remainder(fc.cumsum(flat) - 1, vals.size)
    out = fc.where(flat, fc.take(vals, number, axis=0, mode="clip").astype(arr.dtype), fc.ravel(arr))
    return fc.reshape(out, arr.shape)


@explaining
def fill_diagonal(a, val, wrap=False, *, inplace=True):
    """The array with val on its diagonal; inplace=False is needed.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5., inplace=False)
    Array([[5., 0.],
           [0., 5.]], dtype=float32)
    """
    _not_in_place("fill_diagonal", inplace)
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported\n    Fill the parts of a tall matrix.")
    a, val = as_array(a), fc.ravel(as_array(val))
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError(f"fill_diagonal takes two dimensions, or several of one size; got {a.aval}")
    n = min(a.shape)
    val = fc.tile(val, (-(-n // val.size),))[:n].astype(a.dtype) if val.size > 1 else val[0].astype(a.dtype)
    return a.at[(fc.arange(n),) * a.ndim].set(val)


# ---- flat indices --------------------------------------------------------------------------------


@explaining
def unravel_index(indices, shape):
    """Flat indices as one index for each dimension.

    >>> import functorch_core.numpy as jnp
    >>> jnp.unravel_index(5, (2, 3))
    (Array(1, dtype=int64), Array(2, dtype=int64))
    """
    indices = as_array(indices)
    if indices.dtype not in dt.INTEGER:
        raise TypeError(f"unravel_index takes integers, got {indices.aval}")
    sizes = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    total = int(np.prod(sizes, dtype=np.int64))
    indices = fc.clip(fc.where(indices < 0, indices + total, indices), 0, max(total - 1, 0))
    out = []
    for n in reversed(sizes):
        out.append(fc.remainder(indices, n))
        indices = indices // n
    return tuple(reversed(out))


@explaining
def ravel_multi_index(multi_index, dims, mode="raise", order="C", *, dtype=None):
    """An index for each dimension as flat indices.

    mode says what is out of bounds: 'raise' (known indices alone), 'wrap' or 'clip'.

    >>> import functorch_core.numpy as jnp
    >>> jnp.ravel_multi_index((1, 2), (2, 3))
    Array(5, dtype=int64)
    """
    places = [as_array(i) for i in multi_index]
    if len(places) != len(dims):
        raise ValueError(f"ravel_multi_index: {len(places)} indices for {len(dims)} dimensions")
    pairs = list(zip(places, dims))
    if mode == "raise":
        for i, n in pairs:
            known = np.asarray(i)
            if ((known < 0) | (known >= n)).any():
                raise ValueError(f"ravel_multi_index: an index is not in 0, ..., {n - 1}")
    else:
        pairs = [(fc.remainder(i, n) if mode == "wrap" else fc.clip(i, 0, n - 1), n) for i, n in pairs]
    out = fc.zeros((), dtype=dt.DEFAULT_INT)
    for i, n in pairs if order == "C" else reversed(pairs):
        out = out * n + i
    return out if dtype is None else out.astype(dtype)


__all__ = [
    "choose", "compress", "extract", "fill_diagonal", "piecewise", "place", "put", "put_along_axis",
    "ravel_multi_index", "select", "take", "unravel_index",
]  # fmt: skip
