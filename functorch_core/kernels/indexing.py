"""Reading and writing at index arrays."""

from __future__ import annotations

import numpy as np

from .values import aval_of, p


def gathered(x, arrays, dims, place: int, mode: str, fill_value=None):
    """x at index arrays of one shape, one for each of dims; their dimensions stand at `place` of the result."""
    return p.gather(
        x,
        _vectors(arrays),
        offset_dims=_other_dims(x, arrays, dims, place),
        collapsed_slice_dims=dims,
        start_index_map=dims,
        slice_sizes=tuple(1 if d in dims else n for d, n in enumerate(aval_of(x).shape)),
        mode=mode,
        fill_value=fill_value,
    )


def scattered(x, arrays, values, dims, place: int, **how):
    """x with values, of the shape that `gathered` gives, at index arrays."""
    window = _other_dims(x, arrays, dims, place)
    dropped = dict(inserted_window_dims=dims, scatter_dims_to_operand_dims=dims)
    return p.scatter(x, _vectors(arrays), values, update_window_dims=window, **dropped, **how)


def _vectors(arrays):
    last = aval_of(arrays[0]).ndim
    return p.concatenate(*[p.expand_dims(a, dims=(last,)) for a in arrays], dimension=last)


def _other_dims(x, arrays, dims, place: int) -> tuple[int, ...]:
    """The dimensions of the result that are x's."""
    added = aval_of(arrays[0]).ndim
    return tuple(d if d < place else d + added for d in range(aval_of(x).ndim - len(dims)))


def nonzero_places(array: np.ndarray) -> tuple[np.ndarray, ...]:
    """As np.nonzero, which walks through the dimensions element by element: of 512 x 512 0.3 ms for 1.4."""
    if array.ndim < 2 or not array.flags.c_contiguous:
        return np.nonzero(array)
    rest, places = np.flatnonzero(array), []
    for size in reversed(array.shape[1:]):
        rest, place = np.divmod(rest, size)
        places.append(place)
    return rest, *reversed(places)
