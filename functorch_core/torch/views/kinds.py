"""The kinds of views: what each shows of its base, how it writes to it, what it does to strides."""

from __future__ import annotations

import functools
import math

import numpy as np

from ... import primitives as p
from ...core import dtypes as dt
from ...kernels import on_host
from ...kernels.values import derived, iota_along
from ...transforms.linear_map import linear_map
from .lenses import besides, over, view_kind
from .strides import contiguous_strides, view_strides

# ---- the same elements in the same order ---------------------------------------------------------


def _reshape_layout(shape, strides, offset, new_shape):
    strides = view_strides(shape, strides, new_shape)
    return new_shape, strides or contiguous_strides(new_shape), offset


view_kind(
    "alias",
    get=lambda x: x,
    put=lambda base, new: new,
    layout=lambda shape, strides, offset: (shape, strides, offset),
    whole=True,
)

view_kind(
    "view",
    get=lambda x, shape: p.reshape(x, shape=shape),
    put=lambda base, new, shape: p.reshape(new, shape=base.aval.shape),
    layout=_reshape_layout,
    host=lambda array, shape: array.reshape(shape),
    whole=True,
)


def without(shape, dims) -> tuple[int, ...]:
    """A tuple without the elements at some places."""
    return tuple(n for i, n in enumerate(shape) if i not in dims)


# `how` is the number of PyTorch's overload, which names the node: SqueezeBackward0, 1 or 2.
view_kind(
    "squeeze",
    get=lambda x, dims, how: p.reshape(x, shape=without(x.aval.shape, dims)),
    put=lambda base, new, dims, how: p.reshape(new, shape=base.aval.shape),
    layout=lambda shape, strides, offset, dims, how: (without(shape, dims), without(strides, dims), offset),
    host=lambda array, dims, how: array.squeeze(dims),
    node=lambda dims, how: f"SqueezeBackward{how}" if how else "squeeze",
    whole=True,
)


def _unsqueeze_layout(shape, strides, offset, dim):
    stride = shape[dim] * strides[dim] if dim < len(shape) else 1
    return shape[:dim] + (1,) + shape[dim:], strides[:dim] + (stride,) + strides[dim:], offset


def _unsqueezed(array, dim):
    return array.reshape((*array.shape[:dim], 1, *array.shape[dim:]))


view_kind(
    "unsqueeze",
    get=lambda x, dim: p.reshape(x, shape=x.aval.shape[:dim] + (1,) + x.aval.shape[dim:]),
    put=lambda base, new, dim: p.reshape(new, shape=base.aval.shape),
    layout=_unsqueeze_layout,
    host=_unsqueezed,
    whole=True,
)

# ---- the same elements in another order ----------------------------------------------------------


def inverse(order) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return tuple(out)


for _name in ("permute", "transpose", "t"):
    view_kind(
        _name,
        get=lambda x, order: p.transpose(x, permutation=order),
        put=lambda base, new, order: p.transpose(new, permutation=inverse(order)),
        layout=lambda shape, strides, offset, order: (
            tuple(shape[i] for i in order),
            tuple(strides[i] for i in order),
            offset,
        ),
        host=np.ndarray.transpose,
        whole=True,
        permuting=True,
    )

# ---- a part of the elements: integers, slices and None -------------------------------------------
# The spec has for each dimension of the base (start, size, step, whether the dimension stays); a
# start of None is one of the lens's ints. `news` are the new dimensions: the place of each in the
# result, and the dimension of the base that comes next.


def box_get(x, spec, news, *ints):
    """The part of x."""
    starts = _starts(spec, ints)
    spans = tuple((n - 1) * step + 1 if n else 0 for _, n, step, _ in spec)
    steps = tuple(step for _, _, step, _ in spec)
    if ints:
        x = p.dynamic_slice(x, *map(_int64, starts), sizes=spans)
        starts = (0,) * len(spec)
    if any(starts) or spans != x.aval.shape or any(s != 1 for s in steps):
        x = p.slice(x, start=tuple(starts), strides=steps, limit=tuple(s + n for s, n in zip(starts, spans)))
    return p.reshape(x, shape=_box_shape(spec, news))


def _starts(spec, ints) -> tuple:
    ints = iter(ints)
    return tuple(next(ints) if start is None else start for start, _, _, _ in spec)


def _int64(i):
    return p.constant(np.int64(i)) if isinstance(i, int) else i


def _box_shape(spec, news) -> tuple[int, ...]:
    shape = [n for _, n, _, stays in spec if stays]
    for place, _ in news:
        shape.insert(place, 1)
    return tuple(shape)


def box_put(base, new, spec, news, *ints):
    """The base with another part."""
    if not new.aval.size:
        return besides(base, new)
    sizes = tuple(n for _, n, _, _ in spec)
    new = p.reshape(new, shape=sizes)
    starts = [_int64(s) for s in _starts(spec, ints)]
    if any(step != 1 for _, _, step, _ in spec):
        new = _between_old(base, new, spec, starts)
    if new.aval.shape == base.aval.shape:
        return over(base, new)
    return p.dynamic_update_slice(base, new, *starts)


def _between_old(base, new, spec, starts):
    """The window of the base with every step-th element new."""
    spans = tuple((n - 1) * step + 1 for _, n, step, _ in spec)
    inner = tuple(step - 1 if n > 1 else 0 for _, n, step, _ in spec)
    zero = (0,) * len(spec)
    old = p.dynamic_slice(base, *starts, sizes=spans)
    spaced = p.pad(new, p.full((), 0, new.aval.dtype), low=zero, high=zero, interior=inner)
    here = p.pad(
        p.full(new.aval.shape, True, dt.bool_), p.full((), False, dt.bool_), low=zero, high=zero, interior=inner
    )
    return p.select(here, spaced, old)


def box_layout(shape, strides, offset, spec, news, *ints):
    """Shape, strides and offset of a part."""
    sizes, steps, given = [], [], iter(ints)
    for (start, n, step, stays), stride in zip(spec, strides):
        offset += (next(given) if start is None else start) * stride
        if stays:
            sizes.append(n)
            steps.append(stride * step)
    for place, dim in news:
        steps.insert(place, shape[dim] * strides[dim] if dim < len(shape) else 1)
        sizes.insert(place, 1)
    return tuple(sizes), tuple(steps), offset


def _last_step(spec, news) -> str:
    """What PyTorch does last to get there, which names the node."""
    if news and not any(not stays for *_, stays in spec):
        return "unsqueeze"
    for start, _, _, stays in reversed(spec):
        if not stays:
            return "select"
        if start != 0:
            return "slice"
    return "slice"


view_kind("index", get=box_get, put=box_put, layout=box_layout, node=_last_step)
for _name in ("select", "slice", "split", "split_with_sizes", "unbind"):
    _several = _name not in ("select", "slice")
    view_kind(_name, get=box_get, put=box_put, layout=box_layout, several=_several)


def part_of_dim(shape, dim: int, start, size: int, step: int = 1, stays: bool = True) -> tuple:
    """The spec of a part along one dimension, whole in the others."""
    return tuple((start, size, step, stays) if d == dim else (0, n, 1, True) for d, n in enumerate(shape))


# ---- some elements several times -----------------------------------------------------------------


def _expand_layout(shape, strides, offset, new_shape):
    if not shape:
        return new_shape, (0,) * len(new_shape), offset
    lead = len(new_shape) - len(shape)
    moved = tuple(0 if n == 1 and m != 1 else s for n, m, s in zip(shape, new_shape[lead:], strides))
    added = []
    for n in reversed(new_shape[:lead]):  # a new dimension of size 1 continues its right neighbour
        right = (*added[::-1], *moved)
        size = new_shape[len(new_shape) - len(right)] if right else 1
        added.append(size * right[0] if n == 1 and right else 1 if n == 1 else 0)
    return new_shape, (*added[::-1], *moved), offset


view_kind(
    "expand",
    get=lambda x, shape: p.broadcast_in_dim(x, shape=shape, dims=tuple(range(len(shape) - x.aval.ndim, len(shape)))),
    layout=_expand_layout,
    overlapping=True,
)


PARTS = 16  # of a window, at most, if windows are put together from slices


def _unfold_get(x, dim, size, step):
    shape = x.aval.shape
    n, common = (shape[dim] - size) // step + 1, math.gcd(size, step)

    def windows(x):
        if 0 < size <= PARTS * common:
            return _windows(x, dim, n, size // common, step // common, common)
        return _windows_by_places(x, dim, n, size, step)

    def host(array):
        return on_host.strided(array, *_unfold_layout(shape, array.strides, 0, dim, size, step)[:2])

    in_short_rows = n * size * x.aval.size // shape[dim] if size < PARTS and shape[dim] else 0
    return _seen_on_host(windows, host, in_short_rows)(x)


def _seen_on_host(get, host, in_short_rows: int = 0):
    """A getter of what `host` shows of an array in its own memory, where the primitives of `get` would copy it."""
    return derived(lambda t, x, out: get(t), on_host=on_host.seen(host, in_short_rows))(get)


def _windows_by_places(x, dim, n: int, size: int, step: int):
    shape, places = x.aval.shape, p.reshape(_places_shown((n, size), (step, 1), 0), shape=(n * size,))
    taken = p.take(x, places, axis=dim, mode="promise_in_bounds")
    taken = p.reshape(taken, shape=shape[:dim] + (n, size) + shape[dim + 1 :])
    order = [i for i in range(taken.aval.ndim) if i != dim + 1] + [dim + 1]
    return p.transpose(taken, permutation=tuple(order))


WRITTEN_DOWN = 1 << 16  # places; more are computed where they are needed: of 10,000 x 10,000 they would take 800 MB


def _places_shown(size, stride, offset):
    """The places of elements at these strides, as a value."""
    if math.prod(size) <= WRITTEN_DOWN:
        return p.constant(_places(size, stride, offset))
    places = p.full(size, offset, dt.int64)
    for d, s in enumerate(stride):
        places = p.add(places, p.mul(iota_along(size, d), p.full(size, s, dt.int64)))
    return places


def _windows(x, dim, n: int, size: int, step: int, length: int):
    """n windows of `size` parts each, `step` parts apart: each part of all windows is a slice of the array of parts.

    251 of 256 numbers, 64 apart, of 4 rows: 0.17 ms, 0.29 by a gather, and the gradient is no scatter.
    """
    shape, count = x.aval.shape, (n - 1) * step + size
    x = p.slice_in_dim(x, start=0, limit=count * length, dimension=dim)
    x = p.reshape(x, shape=(*shape[:dim], count, length, *shape[dim + 1 :]))
    last = x.aval.ndim - 1
    x = p.transpose(x, permutation=tuple(i for i in range(last + 1) if i != dim + 1) + (dim + 1,))
    limit = (n - 1) * step + 1
    parts = [p.slice_in_dim(x, start=i, limit=i + limit, stride=step, dimension=dim) for i in range(size)]
    return parts[0] if size == 1 else p.concatenate(*parts, dimension=last)


def _unfold_layout(shape, strides, offset, dim, size, step):
    n = (shape[dim] - size) // step + 1
    return (
        shape[:dim] + (n,) + shape[dim + 1 :] + (size,),
        strides[:dim] + (strides[dim] * step,) + strides[dim + 1 :] + (strides[dim],),
        offset,
    )


view_kind("unfold", get=_unfold_get, layout=_unfold_layout, overlapping=True, permuting=True)


@functools.lru_cache(64)
def strided_places(size, stride, offset, shape, strides, start) -> np.ndarray:
    """For elements at places of the storage, their places in a tensor of this layout (-1: none)."""
    places = _places(size, stride, offset)
    if start == 0 and strides == contiguous_strides(shape):
        inside = places < math.prod(shape)
        return np.where(inside, places, -1).reshape(-1)
    mine = _places(shape, strides, start).reshape(-1)
    where = np.full(max(int(places.max(initial=0)), int(mine.max(initial=0))) + 1, -1, np.int64)
    where[mine] = np.arange(mine.size)
    return where[places.reshape(-1)]


def _places(size, stride, offset) -> np.ndarray:
    places = np.full(size, offset, np.int64)
    for d, (n, s) in enumerate(zip(size, stride)):
        along = [1] * len(size)
        along[d] = n
        places += (np.arange(n) * s).reshape(along)
    return places


def _as_strided_get(x, size, stride, offset, shape, strides, start):
    flat = p.reshape(x, shape=(x.aval.size,))
    if not math.prod(size):
        return p.reshape(p.slice(flat, start=(0,), limit=(0,)), shape=size)
    last = offset + sum([(n - 1) * s for n, s in zip(size, stride)])
    if start == 0 and strides == contiguous_strides(shape) and last < x.aval.size:

        def host(array):
            return on_host.strided(array[offset:], size, tuple([s * array.strides[0] for s in stride]))

        return _seen_on_host(lambda flat: _taken(flat, _places_shown(size, stride, offset), size), host)(flat)
    return _taken(flat, p.constant(strided_places(size, stride, offset, shape, strides, start)), size)


def _taken(flat, places, size):
    places = p.reshape(places, shape=(places.aval.size,))
    return p.reshape(p.take(flat, places, axis=0, mode="promise_in_bounds"), shape=size)


view_kind(
    "as_strided",
    get=_as_strided_get,
    layout=lambda shape, strides, offset, size, stride, start, *base: (size, stride, start),
    overlapping=True,
    permuting=True,
)

# ---- diagonals -----------------------------------------------------------------------------------


def _diagonal_get(x, offset, dim1, dim2):
    def host(array):
        return array.diagonal(offset, dim1, dim2)

    return _seen_on_host(lambda x: _diagonal(x, offset, dim1, dim2), host)(x)


def _diagonal(x, offset, dim1, dim2):
    rest = [i for i in range(x.aval.ndim) if i not in (dim1, dim2)]
    x = p.transpose(x, permutation=(*rest, dim1, dim2))
    lead, (rows, cols) = x.aval.shape[:-2], x.aval.shape[-2:]
    n = diagonal_length(rows, cols, offset)
    first = max(offset, 0) - cols * min(offset, 0)
    flat = p.reshape(x, shape=(*lead, rows * cols))
    if n == 0:
        return p.slice_in_dim(flat, start=0, limit=0, dimension=len(lead))
    return p.slice_in_dim(
        flat, start=first, limit=first + (n - 1) * (cols + 1) + 1, stride=cols + 1, dimension=len(lead)
    )


def diagonal_length(rows: int, cols: int, offset: int) -> int:
    """The number of elements of a diagonal."""
    return max(0, min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols))


def _diagonal_layout(shape, strides, start, offset, dim1, dim2):
    rest = [i for i in range(len(shape)) if i not in (dim1, dim2)]
    n = diagonal_length(shape[dim1], shape[dim2], offset)
    if n:
        start += max(offset, 0) * strides[dim2] - min(offset, 0) * strides[dim1]
    return (
        tuple(shape[i] for i in rest) + (n,),
        tuple(strides[i] for i in rest) + (strides[dim1] + strides[dim2],),
        start,
    )


view_kind("diagonal", get=_diagonal_get, layout=_diagonal_layout, permuting=True)

# ---- other dtypes --------------------------------------------------------------------------------

view_kind(
    "real",
    get=lambda x: p.real(x),
    put=lambda base, new: p.complex(new, p.imag(base)),
    layout=lambda shape, strides, offset: (shape, tuple(2 * s for s in strides), 2 * offset),
    bits=lambda conj, neg: (False, neg),
)
view_kind(
    "imag",
    get=lambda x: p.imag(x),
    put=lambda base, new: p.complex(p.real(base), new),
    layout=lambda shape, strides, offset: (shape, tuple(2 * s for s in strides), 2 * offset + 1),
    bits=lambda conj, neg: (False, conj != neg),
)

# ---- the same memory, other numbers --------------------------------------------------------------

for _name, _of, _bits in (
    ("conj", p.conj, lambda conj, neg: (not conj, neg)),
    ("neg_view", p.neg, lambda conj, neg: (conj, not neg)),
):
    view_kind(
        _name,
        get=_of,
        put=lambda base, new, of=_of: of(new),
        layout=lambda shape, strides, offset: (shape, strides, offset),
        whole=True,
        bits=_bits,
    )


def _tangent_as_real(t, x, out):
    return linear_map(as_real, lambda ct: [p.conj(as_complex(ct))], [t], [])


def _tangent_as_complex(t, x, out):
    return linear_map(as_complex, lambda ct: [as_real(p.conj(ct))], [t], [])


@derived(_tangent_as_real, on_host=on_host.parts)
def as_real(x):
    """Complex numbers as pairs along a new last dimension."""
    parts = [p.expand_dims(part, dims=(x.aval.ndim,)) for part in (p.real(x), p.imag(x))]
    return p.concatenate(*parts, dimension=x.aval.ndim)


@derived(_tangent_as_complex, on_host=on_host.of_parts)
def as_complex(x):
    """Pairs along the last dimension as complex numbers."""
    last = x.aval.ndim - 1
    parts = [
        p.reshape(p.slice_in_dim(x, start=i, limit=i + 1, dimension=last), shape=x.aval.shape[:-1]) for i in (0, 1)
    ]
    return p.complex(*parts)


view_kind(
    "view_as_real",
    get=as_real,
    put=lambda base, new: as_complex(new),
    layout=lambda shape, strides, offset: (shape + (2,), tuple(2 * s for s in strides) + (1,), 2 * offset),
    whole=True,
    reinterprets=True,
)
view_kind(
    "view_as_complex",
    get=as_complex,
    put=lambda base, new: as_real(new),
    layout=lambda shape, strides, offset: (shape[:-1], tuple(s // 2 for s in strides[:-1]), offset // 2),
    whole=True,
    reinterprets=True,
)


def reinterpret(x, dtype: np.dtype):
    """The bits of x as another dtype; the last dimension grows or shrinks with the item size."""
    if x.aval.dtype == dtype:
        return x
    if not x.aval.shape:  # complex numbers have two parts, in a dimension
        return p.reshape(reinterpret(p.reshape(x, shape=(1,)), dtype), shape=())
    x = _plain(x)
    plain = dt.real_of(dtype) if dtype != dt.bool_ else dt.uint8
    wide, narrow = x.aval.dtype.itemsize, plain.itemsize
    lead, last = x.aval.shape[:-1], x.aval.shape[-1:]
    if wide < narrow:
        x = p.reshape(x, shape=(*lead, last[0] * wide // narrow, narrow // wide))
    x = p.bitcast(x, dtype=plain)
    if wide > narrow:
        x = p.reshape(x, shape=(*lead, (last[0] if last else 1) * wide // narrow))
    if dtype == dt.bool_:
        return p.ne(x, 0)
    if dtype in dt.COMPLEX:
        return as_complex(p.reshape(x, shape=(*x.aval.shape[:-1], x.aval.shape[-1] // 2, 2)))
    return x


def _plain(x):
    """Bools as bytes, complex numbers as twice as many real ones."""
    if x.aval.dtype == dt.bool_:
        return p.convert(x, dtype=dt.uint8)
    if x.aval.dtype not in dt.COMPLEX:
        return x
    return p.reshape(as_real(x), shape=(*x.aval.shape[:-1], 2 * (x.aval.shape[-1:] or (1,))[0]))


def _reinterpret_layout(shape, strides, offset, dtype, itemsize):
    if itemsize == dtype.itemsize:
        return shape, strides, offset

    def scaled(n):
        return n * itemsize // dtype.itemsize

    return (*shape[:-1], scaled(shape[-1])), (*map(scaled, strides[:-1]), 1), scaled(offset)


view_kind(
    "view_dtype",
    get=lambda x, dtype, itemsize: reinterpret(x, dtype),
    put=lambda base, new, dtype, itemsize: reinterpret(new, base.aval.dtype),
    layout=_reinterpret_layout,
    node=lambda dtype, itemsize: "view",
    whole=True,
    reinterprets=True,
)
