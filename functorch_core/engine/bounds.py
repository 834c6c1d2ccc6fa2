"""Indices within bounds: an index out of bounds is an error, now or when something is read next.

Indices whose numbers are there are looked at when they are used. Recorded ones get a flag that is
computed with them, one number, and looked at when a value is read next: nothing is computed
earlier for it, and nothing out of bounds goes unnoticed.

The flag is the greatest of the indices as an unsigned number, in which negative ones are huge; where
indices may count from the end, the size is added first.
"""

from __future__ import annotations

import atexit
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import primitives as p
from .. import xla
from ..core import dtypes as dt
from ..core.aval import Aval, HasAval
from ..core.trace import trace_closed
from ..core.types import Function
from . import value as values
from .ranges import range_of
from .recorder import hooks, is_internal, record
from .sources import line_of
from .units import Unit
from .value import Value, concrete, is_absent

HOST_SIZE = 1 << 20  # index buffers of more elements are checked where they are used, not here
MAX_PENDING = 32  # flags kept without anything being read; beyond, the oldest are looked at
LATE = (
    "found in what {what} was given, called at {line}; it was not computed yet then, so that "
    "the error comes when something is read"
)

_units: dict[tuple[Any, ...], Unit] = {}
pending: deque[Check] = deque()


class Check(NamedTuple):
    """A flag and what it means: an index is out of bounds if the flag is at least `limit`."""

    flag: Value
    limit: int
    shift: int
    failure: Callable[[int], Exception]
    what: str
    source: tuple[Any, ...]

    def look(self) -> None:
        """Raise if the flag says so."""
        worst = int(_host(concrete(self.flag)))
        if worst < self.limit:
            return
        index = (worst - self.shift + 2**63) % 2**64 - 2**63
        error = self.failure(index)
        error.add_note(LATE.format(what=self.what, line=line_of(self.source)))
        raise error


def check(
    index: Value,
    size: int,
    failure: Callable[[int], Exception],
    what: str,
    *,
    negative: bool = True,
    ignore: int | None = None,
) -> None:
    """Raise failure(i), now or when a value is read, unless every index i is below `size`, and at
    least 0, or -size if `negative`; an index of `ignore` is none."""
    if not index.aval.size or is_absent(index):
        return
    lowest = -size if negative else 0
    found: tuple[float, float] | None = extent_of(index, ignore)
    if found is not None:
        if found[0] < lowest or found[1] >= size:
            raise failure(_first_outside(index, lowest, size, ignore))
        return
    found = range_of(index, lambda v: extent_of(v, ignore) if v.aval.size <= HOST_SIZE else None)
    if found is None or found[0] < lowest or found[1] >= size:
        _check_later(index, size, failure, what, -lowest, ignore)


def extent_of(index: Value, ignore: int | None = None) -> tuple[int, int] | None:
    """The smallest and the greatest index where they are known on the host; remembered."""
    try:
        remembered, low, high = index.extent
        if remembered == ignore:
            return low, high
    except AttributeError:
        pass
    data = index.data if index.recording is None else None
    if data is None or not isinstance(data, np.ndarray) and not _readable(data, index.aval):
        return None
    array = _host(data)
    if not array.size:
        return 0, -1
    low, high = int(np.minimum.reduce(array, axis=None)), int(np.maximum.reduce(array, axis=None))
    if ignore is not None and (low <= ignore <= high):
        array = array[array != ignore]
        low, high = (int(array.min()), int(array.max())) if array.size else (0, -1)
    index.extent = ignore, low, high
    return low, high


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


def _first_outside(index: Value, lowest: int, size: int, ignore: int | None) -> int:
    array = _host(index.data).reshape(-1)
    outside = (array < lowest) | (array >= size)
    if ignore is not None:
        outside &= array != ignore
    return int(array[np.argmax(outside)])


# ---- recorded indices ----------------------------------------------------------------------------


def _check_later(index: Value, size: int, failure: Function, what: str, shift: int, ignore: int | None) -> None:
    flag = record(_unit(index.aval, shift, ignore), (index,))
    frame: Any = sys._getframe(2)  # of the user there is one
    while is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    found = Check(flag, size + shift, shift, failure, what, (frame.f_code, frame.f_lasti))
    recording = flag.recording
    if recording is not None:
        with recording.lock:
            if not recording.done:
                recording.checks.append(found)
                return
    pending.append(found)


def _unit(a: Aval, shift: int, ignore: int | None) -> Unit:
    unit = _units.get((a, shift, ignore))
    if unit is None:
        graph = trace_closed(lambda i: [_flag(i, shift, ignore)], [a], "check_index")
        unit = _units[a, shift, ignore] = Unit(graph, "check_index", False)
    return unit


def _flag(index: HasAval, shift: int, ignore: int | None) -> HasAval:
    shape = index.aval.shape
    wide = p.convert(index, dtype=dt.int64)
    if ignore is not None:
        ignored = p.eq(wide, p.full(shape, ignore, dt.int64))
        wide = p.select(ignored, p.full(shape, 0, dt.int64), wide)
    if shift:
        wide = p.add(wide, p.full(shape, shift, dt.int64))
    return p.reduce_max(p.bitcast(wide, dtype=dt.uint64), axes=tuple(range(len(shape))))


def computed(checks: list[Check]) -> None:
    """A flush has computed the flags of these checks: the next reading looks at them."""
    full = len(pending) >= MAX_PENDING
    if full:
        raise_if_outside()
    pending.extend(checks)


def raise_if_outside() -> None:
    """Raise for the oldest recorded index that turned out to be out of bounds.

    Those after it are not looked at: what they are computed from may follow from the first."""
    while pending:
        try:
            found = pending.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            found.look()
        except Exception:
            pending.clear()
            raise


# At the end of a program that reads nothing more, Python prints what a function here raises.
atexit.register(raise_if_outside)
values.checks_pending, values.raise_if_outside = pending, raise_if_outside
hooks.checked = computed
