"""Recordings computed op by op: cold keys, forked children, tiers that are forced.

What to call, on what, and what is needed no more, is written down once for a key: a schedule.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import xla
from ..core.graph import Graph, subgraphs
from ..core.quiet import quiet
from ..core.reference import Reference, contiguous
from ..core.types import Function
from ..interrupts import is_interrupt
from ..xla.device import Device
from . import nans
from .modes import settings
from .recorder import SCALAR, Recording
from .sources import note
from .stats import count
from .units import Unit
from .value import Value, arrays_of

MAX_SCHEDULES = 1024
SHORT = 64  # calls; of longer schedules making a function of them would cost milliseconds
COPIED = 20.0  # microseconds of copies that a function may make where a schedule writes in place
LIVE, UNUSED = sys.maxsize, -1


class Call(NamedTuple):
    """One op: run([env[i] for i in args]) are the values of env[first:first + n]."""

    run: Function
    args: tuple[int, ...]
    first: int
    n: int
    frees: tuple[int, ...]  # places whose values nobody needs after it
    position: int  # which of the recorded calls it is
    unit: Unit


_call = partial(tuple.__new__, Call)  # a third of what Call(...) takes


class Schedule(NamedTuple):
    """The calls of a recording that compute what is live. Its env holds inputs, numbers, results."""

    calls: list[Call]
    live: list[tuple[int, int]]  # (slot, place)
    first_result: int
    n_results: int
    on_host: bool  # all by NumPy
    ops: dict[str, int]  # what to count
    spared: float  # see `spared`

    @property
    def is_function(self) -> bool:
        """Whether it can be one function: all by NumPy, short, without effects and the user's
        code."""
        return (
            self.on_host
            and len(self.calls) <= SHORT
            and self.spared < COPIED
            and not any(c.unit.effect or calls_back(c.unit.graph) for c in self.calls)
        )


_schedules: OrderedDict[tuple[Any, ...], Schedule] = OrderedDict()


def run_units(recording: Recording, live: tuple[int, ...], tier: str, device: Device | None) -> None:
    """Compute op by op: tier 'reference', 'per-op', or 'cheapest' of both for each op."""
    key = tuple(recording.signature), live, tier, device, len(recording.inputs)
    schedule = _schedules.get(key)
    if schedule is None:
        schedule = _schedules[key] = schedule_of(recording, live, tier, device)
        if len(_schedules) > MAX_SCHEDULES:
            _schedules.popitem(last=False)
    run_schedule(schedule, recording)


def run_on_host(whole: Reference, schedule: Schedule, recording: Recording) -> None:
    """Compute what a schedule computes by NumPy's way of the whole graph."""
    recording.running = None
    try:
        results = quiet.call(whole.run or whole.first, *_inputs(recording, True))
    except Exception as error:
        if is_interrupt(error):
            raise
        return run_schedule(schedule, recording)
    count("reference_ops", schedule.ops["reference_ops"])
    values = recording.values
    for (slot, _), array in zip(schedule.live, results):
        value = values[slot]
        value.data = array if array.flags.c_contiguous else contiguous(array)
        value.recording = None


def _inputs(recording: Recording, on_host: bool) -> list[Any]:
    """What is computed with: the inputs' data, then the Python numbers."""
    env: list[Any] = arrays_of(recording.inputs) if on_host else [v.data for v in recording.inputs]
    if recording.floats:
        env += map(np.float64, recording.floats)
    if recording.ints:
        env += map(np.int64, recording.ints)
    return env


def run_schedule(schedule: Schedule, recording: Recording) -> None:
    """Compute; name the op that fails. What was computed before it is kept."""
    env = _inputs(recording, schedule.on_host)
    env += [None] * schedule.n_results
    for name, n in schedule.ops.items():
        count(name, n)
    call: Any = None  # the one that fails
    recording.running = None
    try:
        with np.errstate(all="ignore"):
            for call in schedule.calls:
                run, args, first, n, frees, position, unit = call
                outs = run([env[i] for i in args])
                if n == 1:
                    env[first] = outs[0]
                else:
                    env[first : first + n] = outs
                if settings.debug_nans:
                    nans.check(
                        unit.graph,
                        unit.name,
                        [_as_array(env[i]) for i in args],
                        outs,
                        recording.sources[2 * position : 2 * position + 2],
                    )
                outs = None  # env alone holds them: see HOLDERS
                for i in frees:
                    env[i] = None
    except Exception as error:
        if is_interrupt(error):
            raise
        note(error, call.unit, recording.sources[2 * call.position : 2 * call.position + 2])
        _keep([(s, i) for s, i in schedule.live if i < call.first], env, recording.values)
        raise
    _keep(schedule.live, env, recording.values)


def _keep(live: list[tuple[int, int]], env: list[Any], values: list[Value]) -> None:
    for slot, place in live:
        value, data = values[slot], env[place]
        value.data, value.recording = data if data.__class__ is xla.Buffer else freeze(data), None


def freeze(array: np.ndarray) -> np.ndarray:
    """A contiguous array; reference rules may return broadcast views of their inputs."""
    return array if array.flags.c_contiguous else contiguous(array)


# ---- schedules -----------------------------------------------------------------------------------


def schedule_of(recording: Recording, live: tuple[int, ...], tier: str, device: Device | None) -> Schedule:
    """The schedule of a recording."""
    calls = list(recording.calls())
    last = _last_uses(calls, live, len(recording.values))
    numbers = {SCALAR: len(recording.inputs), SCALAR - 1: len(recording.inputs) + len(recording.floats)}
    base = numbers[SCALAR - 1] + len(recording.ints)
    units = {unit for unit, _ in calls}
    on_host = {unit: tier == "reference" or tier == "cheapest" and _by_numpy(unit, device) for unit in units}
    all_on_host = all(on_host.values())
    runs: dict[Unit, Function] = {}
    in_place: dict[Unit, Function] = {}
    found: list[Call] = []
    slot, not_copied, by_numpy = 0, 0.0, 0
    for i, (unit, codes) in enumerate(calls):
        args = []
        for c in codes:
            if c >= 0:
                args.append(base + c)
            elif c > SCALAR:
                args.append(-1 - c)
            else:
                args.append(numbers[c])
                numbers[c] += 1
        n = len(unit.out_avals)
        if unit.effect or (last[slot] if n == 1 else max(last[slot : slot + n], default=UNUSED)) != UNUSED:
            frees = [base + c for c in codes if c >= 0 and last[c] == i]
            run = runs.get(unit) or runs.setdefault(unit, _runner(unit, on_host[unit], all_on_host, device))
            if on_host[unit]:
                by_numpy += 1
                overwriting = unit.overwriting
                if overwriting is not None and _overwrites(unit, codes, last, i):
                    run = in_place.get(unit) or in_place.setdefault(unit, _overwriting(unit, run))
                    not_copied += overwriting.spared
            given_up = tuple(set(frees) if len(frees) > 1 else frees)
            found.append(_call((run, tuple(args), base + slot, n, given_up, i, unit)))
        slot += n
    ops = {"reference_ops": by_numpy, "op_runs": len(found) - by_numpy}
    counted, kept = {k: v for k, v in ops.items() if v}, [(s, base + s) for s in live]
    return Schedule(found, kept, base, slot, all_on_host, counted, not_copied)


def calls_back(graph: Graph) -> bool:
    """Whether it calls the user's code, which may warn, and compute at once itself."""
    return any(node.primitive.traits.calls_back or any(map(calls_back, subgraphs(node))) for node in graph.nodes)


def _by_numpy(unit: Unit, device: Any) -> bool:
    """Whether NumPy is quick enough: a function of the unit alone."""
    return device.platform == "cpu" and unit.cost.suits_numpy and device is xla.default_device()


def _runner(unit: Unit, on_host: bool, all_on_host: bool, device: Any) -> Function:
    if not on_host:
        return lambda args: unit.program(device)([_as_buffer(a, device) for a in args])
    if all_on_host:
        return unit.reference
    return lambda args: unit.reference([_as_array(a) for a in args])


def spared(recording: Recording, live: tuple[int, ...]) -> float:
    """Microseconds of copies that NumPy need not make because it writes in place; an estimate."""
    calls = list(recording.calls())
    if not any([unit.overwriting for unit in {unit for unit, _ in calls}]):
        return 0.0
    last = _last_uses(calls, live, len(recording.values))
    return sum([c[0].overwriting.spared for i, c in enumerate(calls) if _overwrites(*c, last, i)])  # type: ignore


def _overwrites(unit: Unit, codes: list[int], last: list[int], i: int) -> bool:
    """Whether the i-th call may write over an operand: a result of the recording that nobody needs after it."""
    found = unit.overwriting
    if found is None:
        return False
    code = codes[found.operand]
    return code >= 0 and last[code] == i and codes.count(code) == 1


def _overwriting(unit: Unit, otherwise: Function) -> Function:
    """What computes a call in the memory of an operand, where only the env and the arguments have a part in it."""
    operand, reference, _ = unit.overwriting  # type: ignore[misc]  # it has one

    def run(args: list[Any]) -> Any:
        if settings.debug_nans or _holders(args[operand]) > HOLDERS or not _is_own(args[operand]):
            return otherwise(args)
        return reference([_as_array(a) for a in args])

    return run


def _is_own(x: Any) -> bool:
    return x.__class__ is np.ndarray and x.flags.owndata and x.flags.writeable


def _holders(x: Any) -> int:
    return sys.getrefcount(x)


def _of_one(env: list[Any]) -> int:
    args = [env[0]]
    return _holders(args[0])


HOLDERS = _of_one([np.empty(1)])  # of an array that only the env and the arguments of a call refer to


def _last_uses(calls: list[tuple[Unit, list[int]]], live: tuple[int, ...], n_values: int) -> list[int]:
    """For each result the index of the last call that needs it: LIVE if it outlives the flush,
    UNUSED if no call that is computed needs it."""
    last = [UNUSED] * n_values
    for slot in live:
        last[slot] = LIVE
    slot = n_values
    for i in reversed(range(len(calls))):
        unit, codes = calls[i]
        n = len(unit.out_avals)
        slot -= n
        if unit.effect or (last[slot] if n == 1 else max(last[slot : slot + n], default=UNUSED)) != UNUSED:
            for c in codes:
                if c >= 0 and last[c] == UNUSED:
                    last[c] = i
    return last


def _as_array(x: Any) -> Any:
    return x if isinstance(x, (np.ndarray, np.generic)) else xla.to_numpy(x)


def _as_buffer(x: Any, device: Device) -> Any:
    return xla.put(x, device) if isinstance(x, (np.ndarray, np.generic)) else x
