"""The border modes of pad that fc.pad has not: by statistics, ramps, user's functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import functorch_core as fc

from ..core import dtypes as dt
from .functional import apply_along_axis
from .reductions import median

STATISTICS = ("maximum", "minimum", "mean", "median")
PLAIN = ("edge", "reflect", "symmetric", "wrap")
UNKNOWN = "pad: mode is 'constant', 'edge', 'linear_ramp', 'reflect', ..., or a function; got {mode!r}"


def pairs(value, ndim: int, name: str) -> list[tuple]:
    """(before, after) for each axis, of a number, a pair, or a pair for each axis."""
    found = np.asarray(value)
    if found.ndim == 2 and found.shape[0] == 1:
        found = found[0]
    try:
        found = np.broadcast_to(found if found.ndim != 1 or found.size != 1 else found[0], (ndim, 2))
    except ValueError:
        raise ValueError(f"pad: {name} is a number, a pair or a pair for each axis, got {value!r}") from None
    return [(a.item(), b.item()) for a, b in found]


def padded(x, pad_width, mode, options: dict):
    """See jnp.pad."""
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(d, pad_width.get(d - x.ndim, (0, 0))) for d in range(x.ndim)]
    widths = pairs(pad_width, x.ndim, "pad_width")
    if callable(mode):
        return _by_function(x, widths, mode, options)
    if mode == "empty":
        return fc.pad(x, widths)
    if mode == "constant":
        return _constant(x, widths, options.pop("constant_values", 0))
    if mode in PLAIN:
        kind = options.get("reflect_type", "even")
        if kind not in ("even", "odd"):
            raise ValueError(f"pad: reflect_type is 'even' or 'odd', got {kind!r}")
        if kind == "odd" and mode in ("reflect", "symmetric") and x.size:
            return _turned(x, widths, mode)
        return fc.pad(x, widths, mode)
    if mode == "linear_ramp":
        ends = pairs(options.get("end_values", 0), x.ndim, "end_values")
        return _along_axes(x, widths, lambda x, d, i, n: _ramp(x, d, i, n, ends[d][i]))
    if mode in STATISTICS:
        lengths = options.get("stat_length")
        lengths = [(None, None)] * x.ndim if lengths is None else pairs(lengths, x.ndim, "stat_length")
        return _along_axes(x, widths, lambda x, d, i, n: _statistic(x, d, i, n, mode, lengths[d][i]))
    raise ValueError(UNKNOWN.format(mode=mode))


def _turned(x, widths, mode: str):
    """x with borders that are point reflections of it at its edges: 2 * edge - x, again and again.

    Two reflections are a translation, by twice the distance of the edges and twice the difference of their elements.
    """
    repeated = mode == "symmetric"  # whether the edge is there twice
    for d, (before, after) in enumerate(widths):
        n = x.shape[d]
        first, last = _edge(x, d, 0, 1), _edge(x, d, 1, 1)
        turns, places = np.divmod(np.arange(-before, n + after), max(2 * (n if repeated else n - 1), 1))
        back, mirror = places >= n, 2 * n - (1 if repeated else 2)
        shape = [-1 if axis == d else 1 for axis in range(x.ndim)]
        found = fc.take(x, np.where(back, mirror - places, places), axis=d)
        found = fc.where(back.reshape(shape), 2 * last - found, found)
        x = found + 2 * (last - first) * fc.asarray(turns.reshape(shape)).astype(x.dtype)
    return x


def _constant(x, widths, values):
    if values.__class__ is fc.Array or np.ndim(values) == 0:
        return fc.pad(x, widths, constant_values=values)
    values = pairs(values, x.ndim, "constant_values")
    return _along_axes(x, widths, lambda x, d, i, n: fc.full(_sizes(x, d, n), values[d][i], dtype=x.dtype))


def _along_axes(x, widths, border):
    """x with border(x, axis, 0 before or 1 behind, width) on both sides, axis by axis."""
    for d, width in enumerate(widths):
        before, after = (border(x, d, i, n) for i, n in enumerate(width))
        x = fc.concat([before, x, after], axis=d)
    return x


def _sizes(x, axis: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:axis], n, *x.shape[axis + 1 :])


def _edge(x, axis: int, behind: int, length: int):
    part = slice(x.shape[axis] - length, None) if behind else slice(0, length)
    return x[(slice(None),) * axis + (part,)]


def _ramp(x, axis: int, behind: int, n: int, end):
    edge = _edge(x, axis, behind, 1).astype(dt.float64)
    steps = fc.arange(1.0, n + 1, dtype=dt.float64) if behind else fc.arange(float(n), 0, -1, dtype=dt.float64)
    steps = fc.reshape(steps, [-1 if d == axis else 1 for d in range(x.ndim)])
    out = edge + (end - edge) * steps / n
    return (fc.floor(out) if x.dtype in dt.INTEGER else out).astype(x.dtype)


def _statistic(x, axis: int, behind: int, n: int, mode: str, length):
    whole = x.shape[axis]
    part = _edge(x, axis, behind, whole if length is None else min(int(length), whole))
    reductions: dict[str, Callable] = {"maximum": fc.max, "minimum": fc.min, "mean": fc.mean, "median": median}
    reduce = reductions[mode]
    out = reduce(part, axis=axis, keepdims=True)
    if x.dtype in dt.INTEGER:
        out = fc.round(out) if mode in ("mean", "median") else out
    return fc.broadcast_to(out.astype(x.dtype), _sizes(x, axis, n))


def _by_function(x, widths, function, options: dict):
    """function(vector, widths, axis, options) -> vector, along each axis of the padded array."""
    x = fc.pad(x, widths)
    for axis, width in enumerate(widths):
        x = apply_along_axis(function, axis, x, width, axis, options)
    return x
