"""Elements in other places: rolled, tiled, stacked, on diagonals, in triangles."""

from __future__ import annotations

from .values import aval_of, dt, iota_along, like, p, spread, zero


def rolled(x, shift: int, axis: int):
    """x with its elements `shift` places further along an axis; what goes over the end comes back."""
    n = aval_of(x).shape[axis]
    if not n or not shift % n:
        return x
    at = n - shift % n
    parts = [p.slice_in_dim(x, start=a, limit=b, dimension=axis) for a, b in ((at, n), (0, at))]
    return p.concatenate(*parts, dimension=axis)


def tiled(x, times):
    """x repeated along each of len(times) dimensions, the leading ones new."""
    shape = (1,) * (len(times) - aval_of(x).ndim) + aval_of(x).shape
    split = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
    out = p.broadcast_in_dim(p.reshape(x, shape=shape), shape=split, dims=tuple(range(1, 2 * len(shape), 2)))
    return p.reshape(out, shape=tuple(t * n for t, n in zip(times, shape, strict=True)))


def repeated(x, times: int, axis: int):
    """Each element of x `times` times in a row along an axis."""
    shape = aval_of(x).shape
    out = spread(x, (*shape[: axis + 1], times, *shape[axis + 1 :]), (axis + 1,))
    return p.reshape(out, shape=(*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))


def stacked(parts, axis: int):
    """Values of one shape and dtype along a new axis."""
    shape = aval_of(parts[0]).shape
    if axis == len(shape):
        return p.stack(*parts, dimension=axis)
    # One operation afterwards for one on each of them before.
    return p.reshape(p.concatenate(*parts, dimension=axis), shape=(*shape[:axis], len(parts), *shape[axis:]))


def unit_slice(x, i: int, axis: int):
    """x at index i of an axis, which goes."""
    return p.squeeze(p.slice_in_dim(x, start=i, limit=i + 1, dimension=axis), dims=(axis,))


def differences(x, n: int, axis: int):
    """n times: each element's difference to the next, of bools whether they differ."""
    for _ in range(min(n, aval_of(x).shape[axis])):
        size = aval_of(x).shape[axis]
        late = p.slice_in_dim(x, start=min(1, size), limit=size, dimension=axis)
        early = p.slice_in_dim(x, start=0, limit=max(size - 1, 0), dimension=axis)
        x = p.xor(late, early) if aval_of(x).dtype == dt.bool_ else p.sub(late, early)
    return x


def diagonal(x, offset: int = 0):
    """The diagonals of the last two dimensions."""
    a = aval_of(x)
    rows, columns = a.shape[-2:]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    if not count:
        return p.full(a.shape[:-2] + (0,), 0, a.dtype)
    flat = p.reshape(x, shape=a.shape[:-2] + (rows * columns,))
    # The elements stand columns + 1 apart: a strided slice, which fuses, where a gather may not.
    first = max(offset, 0) - min(offset, 0) * columns
    last = first + (count - 1) * (columns + 1) + 1
    return p.slice_in_dim(flat, start=first, limit=last, stride=columns + 1, dimension=a.ndim - 2)


def as_diagonal(x, offset: int = 0):
    """Square matrices with the last dimension on their offset-th diagonal."""
    *lead, n = aval_of(x).shape
    size = n + abs(offset)
    if not n:
        return p.full((*lead, size, size), 0, aval_of(x).dtype)
    none, first = (0,) * len(lead), max(offset, 0) - size * min(offset, 0)
    high = size * size - first - (n - 1) * (size + 1) - 1
    flat = p.pad(x, zero(aval_of(x).dtype), low=(*none, first), interior=(*none, size), high=(*none, high))
    return p.reshape(flat, shape=(*lead, size, size))


def one_hot(x, n: int, axis: int, dtype):
    """A new axis of n places, with 1 at the index that x says."""
    shape = aval_of(x).shape
    shape = (*shape[:axis], n, *shape[axis:])
    if 0 in shape:
        return p.full(shape, 0, dtype)
    x = x if aval_of(x).dtype in dt.FLOATING else p.convert(x, dtype=dt.int64)  # 0.9 is no index
    places = like(iota_along(shape, axis), x)
    return p.convert(p.eq(places, spread(x, shape, (axis,))), dtype=dtype)
