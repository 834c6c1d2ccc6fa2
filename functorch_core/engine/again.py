"""Short recordings that were computed before, computed again.

A loop that reads a number in each round flushes a few ops each time, with a key that was seen before. What the plans
say of it (see `programs`), a function of NumPy's or a program, is looked up by what is quickly known of a recording,
and the recording is used again: to read the sum of a few numbers takes 3.5 us instead of 5.5.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .. import xla
from ..core.quiet import quiet
from ..core.reference import contiguous
from ..core.types import Function
from ..interrupts import is_interrupt
from ..xla.device import Device
from .modes import settings
from .recorder import OWN, Recording
from .stats import counters
from .units import alone
from .value import SMALL, Value, arrays_of, references

FEW = 64  # results
FEW_OPS, LATE = 4, -64  # of a recording; readings that do not count after a longer one
ASK = 15  # at each 16th sighting the plans are asked, which keep those that were used last
Short = tuple[tuple[Any, ...], tuple[int, ...], int]

# By signature, live results and number of inputs: the plan, the device, NumPy's function of the arrays and how many ops
# it computes, or what runs the plan's program, run(plan, recording, live, read), and 0.
_known: dict[Short, tuple[Any, Device, Function, int]] = {}


def _of_variable() -> int:
    value = Value()
    return sys.getrefcount(value)


NAMED = _of_variable()  # the count of an object that only a variable refers to: 2, without the argument's (3.14) 1


def small_arrays(inputs: list[Value]) -> list[Any] | None:
    """The data of inputs that are computed, on the host, and too small to be worth overwriting; None of others."""
    arrays: list[Any] = []
    for value in inputs:
        array = value.data if value.recording is None else None
        if array.__class__ is xla.Buffer:
            array = getattr(value, "host", None)
        if array.__class__ is not np.ndarray or array.nbytes >= SMALL:
            return None
        arrays.append(array)
    return arrays


def data_at_hand(inputs: list[Value]) -> list[Any] | None:
    """The data of inputs that are computed, arrays or buffers of the default device, and that somebody else refers to,
    so that they are not overwritten; None of others."""
    counts = references(inputs)
    device, found = xla.default_device(), []
    for value, n in zip(inputs, counts):
        data = value.data if value.recording is None else None
        if data.__class__ is not np.ndarray and (data.__class__ is not xla.Buffer or xla.device_of(data) is not device):
            return None
        if n <= OWN and value.aval.nbytes >= SMALL:
            return None
        found.append(data)
    return found


def remember(short: Short, plan: Any, device: Device, run: Function, ops: int) -> None:
    """Note that the plan's recordings are computed by a function of NumPy's, or by a program (`ops`: 0)."""
    _known[short] = plan, device, run, ops


def forget(short: Short) -> None:
    """Note that its plan is there no more, or computes it otherwise."""
    _known.pop(short, None)


def note_first(recording: Recording, read: bool) -> None:
    """Note with what kind of op a recording began. Where recordings of few ops began with it and were read, and that
    often, such an op is computed at once if it is cheap (`at_once.brief`), but not for long after a recording of more,
    whose program it could be a part of."""
    kind = recording.signature[0].kind
    if len(recording.sources) > 2 * FEW_OPS:
        alone[kind] = LATE
    elif read:
        alone[kind] = alone.get(kind, 0) + 1


def computed_again(recording: Recording, live: tuple[int, ...], data: list[Any], small: bool, read: bool) -> bool:
    """Whether a recording without checks was known, whose inputs are small arrays or at hand, and its live results have
    their data. `read`: one of them is read now."""
    known = _known.get((tuple(recording.signature), live, len(data)))
    if known is None or not settings.direct or settings.tier != "auto" or settings.log:
        return False
    plan, device, run, ops = known
    sighting = plan.sightings + 1
    if not sighting & ASK or xla.default_device() is not device:
        return False
    if not ops:
        if plan.program is None:
            return False
        plan.sightings = sighting
        run(plan, recording, live, read)
        return True
    if sighting >= plan.start or plan.on_host is None:
        return False
    arrays: list[Any] = data if small else arrays_of(recording.inputs)
    if recording.floats:
        arrays += map(np.float64, recording.floats)
    if recording.ints:
        arrays += map(np.int64, recording.ints)
    recording.running = None
    try:
        results = quiet.call(run, *arrays)
    except Exception as error:
        if is_interrupt(error):
            raise
        return False  # which op it was is found out by the plan
    plan.sightings = sighting
    counters["reference_ops"] += ops
    values = recording.values
    for slot, array in zip(live, results):
        value = values[slot]
        value.data = array if not array.ndim or array.flags.c_contiguous else contiguous(array)
        value.recording = None
    return True
