"""Making arrays: filled, counting, grids, triangles."""

from __future__ import annotations

import math
import operator

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.trace import Traced
from ..core.unknown import origin
from ..primitives import linalg_matrices as m
from .op import op
from .promotion import canonical_axis, cast, promote, result_dtype
from .signature import Weak


def canonical_shape(shape, name: str) -> tuple[int, ...]:
    """A shape of an int or a sequence of ints; TypeError or ValueError otherwise."""
    items = (shape,) if hasattr(shape, "__index__") and not isinstance(shape, tuple) else shape
    try:
        sizes = tuple(n.__index__() for n in items)
    except (TypeError, AttributeError):
        raise TypeError(_not_a_shape(shape, items, name)) from None
    if any(n < 0 for n in sizes):
        raise ValueError(f"{name}: the sizes of a shape are not negative, got {sizes}")
    return sizes


TRACED_SHAPE = """
    A traced number has no value yet, and every shape of a compiled program is fixed.
    wrong: fc.jit(lambda n: fc.zeros(n))(3)
    right: fc.jit(lambda n: fc.zeros(n), static_argnums=0)(3)    or take it of a shape: fc.zeros(x.shape[0])"""


def _not_a_shape(shape, items, name: str) -> str:
    text = f"{name}: a shape is an int or a sequence of ints, got {shape!r:.60}"
    parts = items if isinstance(items, (tuple, list)) else (shape,)
    traced = [n for n in parts if getattr(n, "_value", n).__class__ in (Traced, Weak)]
    return text + origin(traced[0]) + TRACED_SHAPE if traced else text


# ---- filled --------------------------------------------------------------------------------------


@op("array.creation")
def zeros(*, shape, dtype=None):
    """An array of zeros, float32 by default.

    >>> import functorch_core as fc
    >>> fc.zeros((2, 2))
    Array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    return p.full(canonical_shape(shape, "zeros"), 0, dt.canonical(dtype or float))


@op("array.creation")
def ones(*, shape, dtype=None):
    """An array of ones, float32 by default.

    >>> import functorch_core as fc
    >>> fc.ones((2, 2))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return p.full(canonical_shape(shape, "ones"), 1, dt.canonical(dtype or float))


@op("array.creation", scalars=True)
def full(fill_value, /, *, shape, dtype=None):
    """An array of one repeated number; its dtype is the number's by default.

    >>> import functorch_core as fc
    >>> fc.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int64)
    """
    shape = canonical_shape(shape, "full")
    dtype = result_dtype((fill_value,)) if dtype is None else dt.canonical(dtype)
    value = cast(fill_value, dtype)
    start = len(shape) - aval_of(value).ndim
    if start < 0:
        raise ValueError(f"full: a fill_value {aval_of(value)} does not fit shape {shape}")
    return p.broadcast_in_dim(value, shape=shape, dims=tuple(range(start, len(shape))))


@op("array.creation")
def zeros_like(x, /, *, dtype=None, shape=None):
    """Zeros of the shape and dtype of x.

    >>> import functorch_core as fc
    >>> fc.zeros_like(fc.asarray([1, 2]))
    Array([0, 0], dtype=int64)
    """
    return _constant_like(x, 0, dtype, shape)


@op("array.creation")
def ones_like(x, /, *, dtype=None, shape=None):
    """Ones of the shape and dtype of x.

    >>> import functorch_core as fc
    >>> fc.ones_like(fc.asarray([1, 2]))
    Array([1, 1], dtype=int64)
    """
    return _constant_like(x, 1, dtype, shape)


def _constant_like(x, value, dtype, shape):
    a = aval_of(x)
    shape = a.shape if shape is None else canonical_shape(shape, "zeros_like, ones_like")
    return p.full(shape, value, a.dtype if dtype is None else dt.canonical(dtype))


@op("array.creation", scalars=True, arrays=("fill_value",))
def full_like(x, /, fill_value, *, dtype=None, shape=None):
    """An array of one repeated number, of the shape and dtype of x.

    >>> import functorch_core as fc
    >>> fc.full_like(fc.asarray([1, 2]), 7)
    Array([7, 7], dtype=int64)
    """
    x = cast(x, result_dtype((x,)))
    a = aval_of(x)
    return full.fun(fill_value, shape=a.shape if shape is None else shape, dtype=dtype or a.dtype)


# ---- counting ------------------------------------------------------------------------------------


def arange_array(start, stop, step, dtype) -> np.ndarray:
    """The elements of arange as a NumPy array."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: the step is not 0")
    kinds = [dt.of_scalar(v) if isinstance(v, (bool, int, float)) else np.asarray(v).dtype for v in (start, stop, step)]
    dtype = (
        dt.canonical(dtype)
        if dtype is not None
        else (dt.DEFAULT_INT if all(k in dt.INTEGER | {dt.bool_} for k in kinds) else dt.DEFAULT_FLOAT)
    )
    count = max(0, math.ceil((stop - start) / step))
    wide = np.float64
    if dtype in dt.INTEGER:  # the step is an integer then, too, so that all distances are equal
        start, step, wide = int(start), int(step), np.int64
    return (start + np.arange(count).astype(wide) * step).astype(dtype)


def linspace_array(start, stop, num: int, dtype, endpoint: bool) -> np.ndarray:
    """The elements of linspace as a NumPy array."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"linspace: the number of elements is not negative, got {num}")
    wide = complex if isinstance(start, complex) or isinstance(stop, complex) else float
    dtype = dt.canonical(wide if dtype is None else dtype)
    spaced = np.linspace(wide(start), wide(stop), num, endpoint)
    return (np.floor(spaced) if dtype in dt.INTEGER else spaced).astype(dtype)


@op("array.creation", scalars=True)
def linspace(start, stop, /, *, num, dtype=None, endpoint=True, axis=0):
    """linspace between arrays: `num` of them along a new axis."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"linspace: the number of elements is not negative, got {num}")
    start, stop = promote(start, stop, name="linspace", to_inexact=True)
    a = aval_of(start)
    axis = canonical_axis(axis, a.ndim + 1, "linspace")
    shape = (*a.shape[:axis], num, *a.shape[axis:])
    wide = dt.promote(a.dtype, dt.float64)  # 3 / 5 of 25 are 15 then, once they are rounded
    steps = p.convert(p.iota(shape=shape, dtype=dt.int64, dimension=axis), dtype=wide)
    t = p.div(steps, p.full(shape, max(num - 1 if endpoint else num, 1), wide))
    kept = tuple(d for d in range(a.ndim + 1) if d != axis)
    start, stop = (p.broadcast_in_dim(p.convert(x, dtype=wide), shape=shape, dims=kept) for x in (start, stop))
    out = p.add(p.mul(start, p.sub(p.full(shape, 1, wide), t)), p.mul(stop, t))
    dtype = a.dtype if dtype is None else dt.canonical(dtype)
    return p.convert(p.floor(out) if dtype in dt.INTEGER else out, dtype=dtype)


@op("array.creation")
def eye(*, n_rows, n_cols=None, k=0, dtype=None):
    """Ones on the k-th diagonal (above the main one if positive), zeros elsewhere.

    >>> import functorch_core as fc
    >>> fc.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    n_cols = n_rows if n_cols is None else n_cols
    shape = canonical_shape((n_rows, n_cols), "eye")
    if not math.prod(shape):
        return p.full(shape, 0, dt.canonical(dtype or float))
    ahead = p.sub(p.iota(shape=shape, dtype=dt.int64, dimension=1), p.iota(shape=shape, dtype=dt.int64, dimension=0))
    return p.convert(p.eq(ahead, m.within(k, shape)), dtype=dt.canonical(dtype or float))


@op("fc")
def meshgrid(*arrays, indexing="xy"):
    """Coordinate arrays of a grid with these axes, each 1-d; the first two swapped for 'xy'.

    Returns a tuple of arrays, one for each axis. ValueError for arrays of more dimensions.

    >>> import functorch_core as fc
    >>> fc.meshgrid(fc.asarray([1, 2]), fc.asarray([3, 4]))[0]
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    if any(aval_of(a).ndim > 1 for a in arrays):
        raise ValueError("meshgrid takes arrays of one dimension, got " + ", ".join(str(aval_of(a)) for a in arrays))
    sizes = [aval_of(a).size for a in arrays]
    where = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        where[:2] = [1, 0]
    shape = tuple(sizes[i] for i in where)
    return [
        p.broadcast_in_dim(p.reshape(a, shape=(n,)), shape=shape, dims=(where.index(i),))
        for i, (a, n) in enumerate(zip(arrays, sizes))
    ]


# ---- triangles -----------------------------------------------------------------------------------


def _matrices(x, name: str):
    if aval_of(x).ndim < 2:
        raise ValueError(f"{name} takes matrices, arrays of 2 or more dimensions, got {aval_of(x)}")
    return x


@op("fc")
def tril(x, /, *, k=0):
    """The matrices' lower triangles: zero above the k-th diagonal.

    ValueError for fewer than 2 dimensions.

    >>> import functorch_core as fc
    >>> fc.tril(fc.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return m.lower_triangle(_matrices(x, "tril"), k)


@op("fc")
def triu(x, /, *, k=0):
    """The matrices' upper triangles: zero below the k-th diagonal.

    ValueError for fewer than 2 dimensions.

    >>> import functorch_core as fc
    >>> fc.triu(fc.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    return m.upper_triangle(_matrices(x, "triu"), k)


__all__ = [  # what it has in fc, for static tools
    "meshgrid", "tril", "triu",
]  # fmt: skip
