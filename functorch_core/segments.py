"""jax.ops: sums, products, minima and maxima of the elements with the same number."""

from __future__ import annotations

import numpy as np

import functorch_core as fc

from .core.explain import explaining

SHAPES = """segment_{name}: data are {data}, segment_ids {ids}: each element of data has one id
    The shape of segment_ids is that of data, or of its first dimensions."""
BUCKETS = "segment_{name}: bucket_size={size} splits the work up, which changes nothing here: leave it out"


def _segments(name: str, start, word: str):
    def call(
        data,
        segment_ids,
        num_segments=None,
        indices_are_sorted=False,
        unique_indices=False,
        bucket_size=None,
        mode=None,
    ):
        if bucket_size is not None:
            raise NotImplementedError(BUCKETS.format(name=name, size=bucket_size))
        data, segment_ids = fc.asarray(data), fc.asarray(segment_ids)
        if data.shape[: segment_ids.ndim] != segment_ids.shape:
            raise ValueError(SHAPES.format(name=name, data=data.aval, ids=segment_ids.aval))
        if num_segments is None:
            num_segments = int(fc.max(segment_ids)) + 1 if segment_ids.size else 0
        first = fc.full((int(num_segments), *data.shape[segment_ids.ndim :]), start(data.dtype), dtype=data.dtype)
        ids = fc.where(segment_ids < 0, num_segments, segment_ids)  # those below 0 are left out, too
        return getattr(first.at[ids], {"sum": "add", "prod": "multiply"}.get(name, name))(data, mode=mode or "drop")

    call.__name__ = call.__qualname__ = f"segment_{name}"
    call.__doc__ = f"""{word} of the elements of data (along its first dimensions) whose segment_ids are equal.

    num_segments: how many there are (max(segment_ids) + 1); has to be given under fc.jit. Ids outside are left out.

    >>> import functorch_core as fc
    >>> fc.ops.segment_{name}(fc.asarray([1., 2., 3.]), fc.asarray([0, 0, 1]), num_segments=2)
    Array([{ {"sum": 3, "prod": 2, "min": 1, "max": 2}[name] }., 3.], dtype=float32)
    """
    return explaining(call, space="fc.ops")


def _least(dtype) -> object:
    if fc.isdtype(dtype, "bool"):
        return False
    return -fc.inf if fc.isdtype(dtype, "real floating") else int(np.iinfo(dtype).min)


def _greatest(dtype) -> object:
    if fc.isdtype(dtype, "bool"):
        return True
    return fc.inf if fc.isdtype(dtype, "real floating") else int(np.iinfo(dtype).max)


segment_sum = _segments("sum", lambda dtype: 0, "The sums")
segment_prod = _segments("prod", lambda dtype: 1, "The products")
segment_max = _segments("max", _least, "The maxima")
segment_min = _segments("min", _greatest, "The minima")

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
