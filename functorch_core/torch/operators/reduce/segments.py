"""torch.segment_reduce: sums, means and extremes over stretches of one dimension."""

from __future__ import annotations

import functools
import math

import numpy as np

from ....kernels.values import derived, like, p, where
from ...dispatch.op import composite, registry, torch_op
from ...dispatch.slots import Tensor
from ...tape.meta import is_readable
from ...tensors.base import wrap_dim
from ..index.gathering import scattered

# What a segment of nothing gives, and what a reduction starts from.
START = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
SCATTER = {"sum": "sum", "mean": "sum", "max": "amax", "min": "amin", "prod": "prod"}


@composite(method=False, aliases=("_segment_reduce",), node="SegmentReduceBackward0")
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reduce segments of a dimension, given by their lengths or by where they begin and end.

    >>> torch.segment_reduce(torch.tensor([1., 2., 3.]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 3.])
    """
    if reduce not in START:
        raise RuntimeError(f"segment_reduce: unsupported reduction '{reduce}'")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = wrap_dim(axis, data.ndim)
    given = lengths if offsets is None else offsets
    if given.ndim != axis + 1 or given.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): expected {list(data.shape[:axis])} rows of lengths "
            f"or offsets, but got a tensor of size {list(given.shape)}"
        )
    starts = offsets[..., :-1] if lengths is None else lengths.cumsum(-1) - lengths
    counts = offsets.diff(dim=-1) if lengths is None else lengths
    if lengths is not None and not unsafe and is_readable(lengths):
        _check_lengths(lengths._array(), data.shape[axis])
    return _reduced(data, reduce, _rows(starts, counts, data.shape[axis]), counts, axis, initial)


def _check_lengths(lengths: np.ndarray, n: int):
    if (lengths < 0).any() or (lengths.sum(-1) != n).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe."
        )


def _rows(starts, counts, n: int):
    """For each element its segment, or the number after the last."""
    place = registry["arange"](n, device=starts.device).unsqueeze(-1)
    first = starts.unsqueeze(-2)
    inside = (place >= first) & (place < first + counts.unsqueeze(-2))
    last = counts.shape[-1]
    if not last:
        return registry["zeros"]((*counts.shape[:-1], n), dtype=place.dtype, device=starts.device)
    found = inside.to(place.dtype).argmax(-1)
    return registry["where"](inside.any(-1), found, last)


@functools.cache
def _extreme_along(axis: int, how: str):
    """The extremes of elements by their rows. Those equal to it and the NaNs share a row's derivative."""

    def shared(t, data, rows, start, out):
        chosen = p.or_(p.eq(data, p.take_along_axis(out, rows, axis=axis)), p.ne(data, data))
        ones = p.convert(chosen, dtype=data.aval.dtype)
        counts = p.scatter_along_axis(p.zeros(out.aval), rows, ones, axis=axis, combine="add")
        share = where(chosen, p.div(ones, p.take_along_axis(counts, rows, axis=axis)), 0)
        return p.scatter_along_axis(p.zeros(out.aval), rows, p.mul(t, share), axis=axis, combine="add")

    return derived(shared)(lambda data, rows, start: scattered(start, rows, data, axis, how))


@torch_op(devices="any")
def _segment_extreme(input: Tensor, rows: Tensor, start: Tensor, axis, how):
    return _extreme_along(axis, how)(input, rows, like(start, input))


def _reduced(data, reduce: str, rows, counts, axis: int, initial):
    tail = (1,) * (data.ndim - axis - 1)
    shape = (*data.shape[:axis], counts.shape[-1] + 1, *data.shape[axis + 1 :])
    index = rows.reshape((*rows.shape, *tail)).expand(data.shape)
    start = START[reduce] if initial is None else initial
    whole = registry["full"](shape, start, dtype=data.dtype, device=data.device)
    if reduce in ("max", "min"):
        out = _segment_extreme.compute([data, index, whole, axis, SCATTER[reduce]])
    else:
        out = whole.scatter_reduce(axis, index, data, SCATTER[reduce], include_self=True)
    out = out.narrow(axis, 0, counts.shape[-1])
    if reduce != "mean":
        return out
    sizes = counts.reshape((*counts.shape, *tail))
    if initial is None:
        return out / sizes
    return registry["where"](sizes == 0, out, out / sizes.clamp(min=1))
