"""jax.scipy.ndimage: images at coordinates."""

from __future__ import annotations

import functools
import itertools
import math

import functorch_core as fc

from ..array.compose import composed, missing_name
from ..core import dtypes as dt
from ..numpy.elementwise import floats

MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _moved(place, n: int, mode: str):
    """Indices moved into 0, ..., n - 1 as the mode says ('constant' ones stay)."""
    if mode == "nearest":
        return fc.clip(place, 0, n - 1)
    if mode == "wrap":
        return fc.remainder(place, n)
    if mode == "mirror":
        return n - 1 - fc.abs(fc.remainder(place, max(2 * (n - 1), 1)) - (n - 1))
    if mode == "reflect":
        turned = fc.remainder(place, 2 * n)
        return fc.where(turned < n, turned, 2 * n - 1 - turned)
    return place


def _neighbours(x, order: int):
    """[(index, weight), ...] of the elements that an interpolation of order 0 or 1 is of."""
    if order == 0:
        near = fc.floor(x + 0.5)
        return [(near.astype(dt.int64), fc.ones_like(x))]
    below = fc.floor(x)
    share = x - below
    first = below.astype(dt.int64)
    return [(first, 1 - share), (first + 1, share)]


@functools.partial(composed, space="fc.scipy.ndimage")("input coordinates[] cval")
def map_coordinates(input, coordinates, order, mode="constant", cval=0.0):
    """The array at coordinates, one array for each dimension, interpolated.

    order: 0 (nearest) or 1 (linear). mode says what is outside: 'constant' (cval), 'nearest', 'wrap',
    'mirror' or 'reflect'.

    >>> from functorch_core.scipy import ndimage
    >>> import functorch_core as fc
    >>> ndimage.map_coordinates(fc.asarray([0., 10., 20.]), [fc.asarray([0.5, 1.25])], order=1)
    Array([ 5. , 12.5], dtype=float32)
    """
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order={order} is not supported\n    It is 0 or 1.")
    if mode not in MODES:
        raise NotImplementedError(f"map_coordinates: mode={mode!r}\n    It is one of {', '.join(map(repr, MODES))}.")
    coordinates = list(coordinates)
    if len(coordinates) != input.ndim:
        raise ValueError(f"map_coordinates: {len(coordinates)} coordinates for {input.aval}")
    image = input if input.dtype in dt.INEXACT else floats(input)
    wide = dt.real_of(image.dtype)
    axes = [_neighbours(floats(x).astype(fc.result_type(floats(x), wide)), order) for x in coordinates]
    out = None
    for corner in itertools.product(*axes):
        at = [_moved(place, n, mode) for (place, _), n in zip(corner, input.shape)]
        weight = math.prod(w for _, w in corner)
        inside = [fc.clip(place, 0, n - 1) for place, n in zip(at, input.shape)]
        value = image[tuple(inside)]
        if mode == "constant":
            valid = functools.reduce(lambda a, b: a & b, [(p >= 0) & (p < n) for p, n in zip(at, input.shape)])
            value = fc.where(valid, value, cval)
        out = value * weight if out is None else out + value * weight
    if input.dtype in dt.INTEGER:
        out = fc.where(out < 0, fc.ceil(out - 0.5), fc.floor(out + 0.5))
    return out.astype(input.dtype)


__getattr__ = missing_name(
    "scipy.ndimage", {"convolve gaussian_filter uniform_filter": "Use functorch_core.scipy.signal.convolve."}
)

__all__ = ["map_coordinates"]
