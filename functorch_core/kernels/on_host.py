"""What oneDNN computes of large host arrays, where an op is run alone: see xla/onednn_forward.py."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.primitive import Way
from ..core.reference import contiguous
from ..xla import onednn_forward
from ..xla.onednn import is_available

LEAST = 1 << 16  # elements: handing over takes as long as NumPy's passes over 20,000
HANDING_OVER = 15.0  # microseconds


def _way(what: onednn_forward.Described, operands: Sequence[Aval], results: Sequence[Aval], each: float) -> Way | None:
    """`each`: nanoseconds an element of the first operand."""
    x = operands[0]
    if x.size < LEAST or any(a.dtype != dt.float32 for a in operands) or not is_available():
        return None
    job = onednn_forward.job_of(what)
    if job is None:
        return None

    def run(*arrays: np.ndarray) -> list[np.ndarray] | None:
        if not is_available():  # a forked process
            return None
        inputs = [contiguous(np.asarray(a)) for a in arrays]
        outs = [np.empty(a.shape, a.dtype) for a in results]
        job(*[a.ctypes.data for a in (*inputs, *outs)])
        return outs

    return Way(run, HANDING_OVER + each * 1e-3 * x.size)


@functools.cache
def rows(weighted: bool, biased: bool, epsilon: float) -> Callable[..., Way | None]:
    """For rows of a matrix normalised: 2,048 x 256 0.09 ms, both cores busy."""

    def on_host(x: Aval, *vectors: Aval) -> Way | None:
        statistics = x.with_shape(x.shape[:1])
        what = onednn_forward.Rows(x.shape[0], x.shape[1], weighted, biased, epsilon)
        return _way(what, [x, *vectors], [x, statistics, statistics], 0.1)

    return on_host


@functools.cache
def groups(number: int, weighted: bool, biased: bool, epsilon: float) -> Callable[..., Way | None]:
    """For groups of channels normalised: 16 x 64 x 32 x 32 0.16 ms, both cores busy."""

    def on_host(x: Aval, *vectors: Aval) -> Way | None:
        n, c = x.shape[:2]
        statistics = x.with_shape((n, number))
        places = x.size // (n * c) if x.size else 0
        what = onednn_forward.Groups(n, number, c, places, weighted, biased, epsilon)
        return _way(what, [x, *vectors], [x, statistics, statistics], 0.14)

    return on_host
