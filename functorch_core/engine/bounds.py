"""Indices within bounds: an index out of bounds is an error, now or when something is read next.

Indices whose numbers are there, or are parts of such in another order, are looked at when they are
used. Others get a check that is computed with them (see `deferred`): nothing is computed earlier
for it, and nothing out of bounds goes unnoticed.

A check looks at the greatest of the indices as an unsigned number, in which negative ones are huge;
where indices may count from the end, the size is added first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import primitives as p
from .. import xla
from ..core import dtypes as dt
from ..core.aval import Aval, HasAval
from ..core.trace import Traced
from .deferred import Check, check_later, check_unit
from .ranges import moved, range_of
from .recorder import users_call
from .value import ABSENT, SHARDED, Value, kept_on_host

FEW = 16  # indices that Python compares, in 0.4 us for the 3 of two calls of NumPy
HOST_SIZE = 1 << 20  # index buffers of more elements are checked where they are used, not here


def check(
    index: Value,
    size: int,
    failure: Callable[[int], Exception],
    what: str,
    *,
    negative: bool = True,
    ignore: int | None = None,
    watched: Value | None = None,
    results: Sequence[Value] = (),
) -> None:
    """Raise failure(i), now or when a value is read, unless every index i is below `size`, and at
    least 0, or -size if `negative`; an index of `ignore` is none.

    If it fails when a value is read, what depends on it cannot be read, then or later: what is
    computed after this call from the indices, or from what they were computed from, `watched`; and
    what was computed from them before, the `results`.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> index = engine.from_numpy(np.array([0, 3]))
    >>> engine.check_bounds(index, 3, lambda i: IndexError(f"{i} is out of range"), "an index")
    Traceback (most recent call last):
    IndexError: 3 is out of range
    """
    if not index.aval.size or _is_elsewhere(index) or isinstance(index, Traced):  # in a trace they are clipped
        return
    lowest = -size if negative else 0
    found: tuple[float, float] | None = extent_of(index, ignore)
    if found is not None:
        if found[0] < lowest or found[1] >= size:
            _look(_host(index.data), lowest, size, failure, ignore)
        return
    found = range_of(index, lambda v: extent_of(v, ignore) if v.aval.size <= HOST_SIZE else None)
    if found is not None and found[0] >= lowest and found[1] < size:
        return
    array = None if found is None else moved(index, known)
    if array is None:
        unit = check_unit(_worst(-lowest, ignore), index.aval, size - lowest, -lowest)
        check_later(unit, index, Check(failure, what, users_call()), watched, results)
    else:
        _look(array, lowest, size, failure, ignore)


def _is_elsewhere(value: Value) -> bool:
    """Whether a value has no data, or has them on several devices, whose programs clip indices."""
    return value.recording is ABSENT or value.recording is SHARDED


def check_nonzero(value: Value, failure: Callable[[int], Exception], what: str, watched: Value | None = None) -> None:
    """Raise failure(0), now or when a value is read, if an integer is zero, or a truth is false; see `check`."""
    if not value.aval.size or _is_elsewhere(value) or isinstance(value, Traced):
        return
    found = extent_of(value)
    if found is None:
        check_later(check_unit(_has_zero, value.aval, 1, 0), value, Check(failure, what, users_call()), watched)
    elif found[0] <= 0 <= found[1] and not _host(value.data).all():
        raise failure(0)


def _has_zero(value: HasAval) -> HasAval:
    truths = value.aval.dtype == dt.bool_
    zeros = p.not_(value) if truths else p.eq(value, p.full(value.aval.shape, 0, value.aval.dtype))
    return p.convert(p.reduce_or(zeros, axes=tuple(range(value.aval.ndim))), dtype=dt.uint64)


def extent_of(index: Value, ignore: int | None = None) -> tuple[int, int] | None:
    """The smallest and the greatest index where they are known on the host; remembered.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.extent_of(engine.from_numpy(np.array([4, 1, 2])))
    (1, 4)
    """
    try:
        remembered, low, high = index.extent
        if remembered == ignore:
            return low, high
    except AttributeError:
        pass
    array = known(index)
    if array is None:
        return None
    if not array.size:
        return 0, -1
    if array.size <= FEW:
        numbers = array.ravel().tolist()
        low, high = min(numbers), max(numbers)
    else:
        low, high = int(np.minimum.reduce(array, axis=None)), int(np.maximum.reduce(array, axis=None))
    if ignore is not None and (low <= ignore <= high):
        array = array[array != ignore]
        low, high = (int(array.min()), int(array.max())) if array.size else (0, -1)
    index.extent = ignore, low, high
    return low, high


def below(value: Value, n: int) -> Value:
    """A value of whose integers it is known, without looking, that they are from 0 to n - 1."""
    value.extent = None, 0, n - 1
    return value


def _host(data: Any) -> np.ndarray:
    return data if isinstance(data, np.ndarray) else xla.to_numpy(data)


def _readable(data: Any, aval: Aval) -> bool:
    """Whether a buffer is on the host, computed and not large."""
    return (
        data.__class__ is xla.Buffer
        and aval.size <= HOST_SIZE
        and xla.device_of(data).platform == "cpu"
        and data.is_ready()
    )


def known(value: Value) -> np.ndarray | None:
    """The numbers, where they are known on the host."""
    data = value.data if value.recording is None else None
    if data is None or not isinstance(data, np.ndarray) and not _readable(data, value.aval):
        return None
    kept = kept_on_host(value)
    return _host(data) if kept is None else kept


def _look(array: np.ndarray, lowest: int, size: int, failure: Callable[[int], Exception], ignore: int | None) -> None:
    """Raise failure(i) of the first index that is not within bounds."""
    array = array.reshape(-1)
    outside = (array < lowest) | (array >= size)
    if ignore is not None:
        outside &= array != ignore
    if outside.any():
        raise failure(int(array[np.argmax(outside)]))


# ---- recorded indices ----------------------------------------------------------------------------


@functools.cache
def _worst(shift: int, ignore: int | None) -> Callable[[HasAval], HasAval]:
    """What a check of indices looks at."""

    def worst(index: HasAval) -> HasAval:
        shape = index.aval.shape
        wide = p.convert(index, dtype=dt.int64)
        if ignore is not None:
            ignored = p.eq(wide, p.full(shape, ignore, dt.int64))
            wide = p.select(ignored, p.full(shape, 0, dt.int64), wide)
        if shift:
            wide = p.add(wide, p.full(shape, shift, dt.int64))
        return p.reduce_max(p.bitcast(wide, dtype=dt.uint64), axes=tuple(range(len(shape))))

    return worst
