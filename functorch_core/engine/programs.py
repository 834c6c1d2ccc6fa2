"""Computing a recording: keys, plans and tiers.

A plan belongs to a key: the signature, which results are still referenced, which inputs nobody
needs any more. A key is computed op by op until it has been seen often enough that compiling it
pays; from then on as one fused program. Only sightings and static costs decide, never a clock.
"""

from __future__ import annotations

import atexit
import collections
import itertools
import math
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import xla
from ..core.aval import Aval, HasAval
from ..core.graph import Graph, simplified
from ..core.reference import Reference
from ..core.trace import Builder
from ..interrupts import is_interrupt
from ..locks import RLock
from ..primitives import reshape, slice
from ..xla.device import Device
from ..xla.jobs import Job
from . import cost, deferred, on_disk, signatures
from .again import FEW, NAMED, computed_again, data_at_hand, forget, note_first, remember, small_arrays
from .compiling import Program, ProgramInParts, compile_graph, compile_recording
from .errors import out_of_memory
from .families import Family, family_of
from .history import place_of, sequences
from .modes import log, settings
from .op_by_op import Schedule, run_on_host, run_schedule, run_units, schedule_of, spared
from .recorder import HELD, LONG, NOT_YET, OWN, SCALAR, Recording, hooks
from .stats import count
from .units import SCALAR_AVALS, Unit
from .value import SMALL, Poison, Value, concrete, has_data, live_results, placed, references

AnyProgram = Program | ProgramInParts

READ = "a value was read"
BRIEF = 100.0  # microseconds, estimated: who waits for a longer program leaves it his core
SHORT = 3000.0  # microseconds, estimated: a longer program gains little on the thread that waits for it
MAX_PLANS = 1024  # least recently used plans, with their programs, are forgotten beyond
MAX_PLAN_OPS = 1 << 15  # the same by recorded ops, of each of which a plan keeps some 6 KB
MAX_PROGRAM_OPS = 1 << 15  # the same for programs, by recorded ops: XLA keeps about 20 KB for one
DIRECT = 0.4  # compiled at once if programs for its ops would cost this much of its price
COPIES = 0.2  # of the time of a copy by NumPy, what a program takes for it; see Traits.compiled
FAMILIAR = 4  # from this sighting on, what NumPy computes is one function (0.1 ms an op to make: long ones later)
LEFT = 1 << 26  # bytes of results that ops run one by one leave in the heap, in blocks that do not suit their program
RARE, SMALL_PART = 1 / 16, 0.2  # of the recordings, and of their work, since a key was first seen
SOON, MAX_SOON = 275, 6  # what would be compiled within 275 sightings is at the sixth: in a loop's first ten steps
# Microseconds; where compiling takes longer, ops one by one must have taken a sixteenth of that before. What runs ten
# times (the gradient of a hidden Markov model, 0.43 s to compile, 1.6 ms op by op) is not compiled, nor is any training
# step of a network much later.
DEAR, SPENT = 150_000.0, 1 / 16
ONCE = 3.0  # what takes less than so many runs lose is compiled beside the first one, other things when they come again


class Plan:
    """How often a key was seen, at which sighting compiling starts and at which the program is needed,
    and the program once there is one."""

    __slots__ = (
        "sightings",
        "work",
        "reference",
        "began",
        "ops",
        "start",
        "threshold",
        "schedule",
        "on_host",
        "program",
        "job",
        "turn",
        "taints",
        "lines",
        "family",
        "first",
        "price",
        "note",
        "compiled_at",
        "read",
        "cut",
        "__weakref__",
    )

    def __init__(
        self,
        start: float,
        threshold: float,
        units: list[Unit],
        lines: list[Any],
        family: Family,
        read: bool,
        cut: bool,
        price: float,
        note: str | None,
    ) -> None:
        self.sightings, self.start, self.threshold, self.ops = 0, start, threshold, len(units)
        self.read, self.cut = read, cut  # whether its result was waited for, or it was too long, when it was first seen
        self.note = note  # by which the next process knows that its program is on the disk
        self.family, self.first, self.price = family, (start, threshold), price
        self.compiled_at = 0, 0  # the sightings of itself and of its family
        counts = collections.Counter(units).items()
        self.work = sum([n * u.cost.fused for u, n in counts])  # microseconds that its program takes, estimated
        finite = [n * u.cost.reference for u, n in counts if u.cost.reference < math.inf]
        self.reference = sum(finite)  # and its ops, one by one
        self.began = tuple(_done)
        self.schedule: Schedule | None = None  # how to compute it op by op
        self.on_host: Reference | None = None  # the same as one function of NumPy's
        self.program: AnyProgram | None = None
        self.job: Job | None = None  # compiles the program, if it is still to be had in `turn`
        self.turn: list[bool] = []
        self.taints: dict[Any, deferred.Taints] = {}
        self.lines = lines  # the sources of its first and last operation, when it was first seen


_plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
_lock = RLock()
_one_by_one = RLock()  # compilations in the background
_done = [0, 0.0]  # how many recordings were computed, and the microseconds of all, estimated
_ended = False


# ---- the key -----------------------------------------------------------------------------------------


def dead_inputs(recording: Recording) -> tuple[int, ...]:
    """The inputs whose buffers nobody will read again: they may be overwritten."""
    inputs = recording.inputs
    dead = []
    for i, n in enumerate(references(inputs)):
        if n == OWN and inputs[i].aval.nbytes >= SMALL:
            data = inputs[i].data
            # A host array is copied to the device first. + 1: the value's slot. A NumPy view would be one more.
            if isinstance(data, np.ndarray) or sys.getrefcount(data) == NAMED + 1:
                dead.append(i)
    return tuple(dead)


def device_of(recording: Recording) -> Device:
    """The device that the recording is for, or its inputs are on: an accelerator, if any is on one."""
    if recording.device is not None:
        return recording.device
    for value in recording.inputs:
        data = value.data
        if not isinstance(data, np.ndarray) and data.__class__ is not Poison:
            device = xla.device_of(data)
            if device.platform != "cpu":
                return device
    return xla.default_device()


# ---- computing -----------------------------------------------------------------------------------------


def compute(recording: Recording, why: str, tier: str | None = None) -> None:
    """Give every live result its data."""
    recording.running = NOT_YET
    data = small_arrays(recording.inputs) if recording.device is None else None
    small, few = data is not None, len(recording.values) <= FEW and not (recording.checks or recording.doubtful)
    if not small:
        if few and settings.direct and recording.device is None:
            data = data_at_hand(recording.inputs)
        if data is None:
            _require(recording.inputs)
    live = live_results(recording.values)
    note_first(recording, why == READ and small)
    short = few and data is not None
    try:
        if short and tier is None and computed_again(recording, live, data, small, why == READ):  # type: ignore[arg-type]
            return recording.use_again()
        if not live and not any(u.effect for u, _ in recording.calls()):
            return _forget(recording)
        plan = _compute(recording, live, why, tier or settings.tier, short)
    except Exception as error:
        if is_interrupt(error):
            raise
        deferred.abandon(recording)
        _poison(recording)
        if isinstance(error, MemoryError):
            raise out_of_memory(error) from error
        raise
    if recording.checks or recording.doubtful:
        deferred.settle(recording, live, None if plan is None else plan.taints)
    _forget(recording)


hooks.compute = compute


def _require(inputs: list[Value]) -> None:
    """Raise, before anything is lost, if an input is poisoned. (A function: no name lives on.)"""
    for value in inputs:
        if value.recording is not None and not has_data(value) or value.data.__class__ is Poison:
            concrete(value)


def _compute(recording: Recording, live: tuple[int, ...], why: str, tier: str, short: bool) -> Plan | None:
    """`short`: it may be remembered by what is quickly known of it (see `again`); no input may be overwritten."""
    if tier == "reference" and recording.device is None or xla.in_forked_child():
        run_units(recording, live, "reference", None)
        return None
    device = device_of(recording)
    donated = () if short else dead_inputs(recording)
    if tier in ("per-op", "immediate"):
        run_units(recording, live, "per-op", device)
        return None
    # Calls that were given up leave inputs that no call has: how many there are does not follow from the rest.
    key = (tuple(recording.signature), live, donated, device, len(recording.inputs))
    plan = _plans.get(key)
    if plan is None:
        plan = _new_plan(key, recording, why == READ, why == LONG)
    else:
        _plans.move_to_end(key)
    plan.sightings += 1
    plan.family.sightings += 1
    _done[0] += 1
    _done[1] += plan.reference if plan.program is None else plan.work
    if settings.log:
        log(
            f"flush ({why}): {len(recording.sources) // 2} ops, {len(live)} live, sighting "
            f"{plan.sightings} of key {hash(key) & 0xFFFFFFFF:08x}"
        )
    if plan.program is None and plan.job is None and plan.sightings >= plan.start:
        _ask_again(plan, recording, live)
    if plan.program is None and tier != "fused" and plan.sightings < plan.threshold:
        if plan.sightings >= plan.start:
            _start_compiling(plan, recording, live, donated, device, why == READ)
        if plan.on_host is not None and not settings.debug_nans:
            run_on_host(plan.on_host, plan.schedule, recording)  # type: ignore[arg-type]  # it came first
            if short and plan.on_host.run is not None:
                ops = plan.schedule.ops["reference_ops"]  # type: ignore[union-attr]
                remember((key[0], live, len(recording.inputs)), plan, device, plan.on_host.run, ops)
        else:
            _run_units(plan, recording, live, device)
        return plan
    try:
        program = plan.program or _join(plan, recording, live, donated, device, why == READ)
    except xla.CompileError:
        run_units(recording, live, "per-op", device)  # names the op that cannot be compiled
        raise
    if short:
        remember((key[0], live, len(recording.inputs)), plan, device, _run_again, 0)
    _run_fused(program, recording, live, why == READ and plan.work < BRIEF)
    count("donated", len(donated))
    return plan


def _run_again(plan: Plan, recording: Recording, live: tuple[int, ...], read: bool) -> None:
    """Run the program of a recording that `again` knows."""
    _done[0] += 1
    _done[1] += plan.work
    _run_fused(plan.program, recording, live, read and plan.work < BRIEF)  # type: ignore[arg-type]  # it has one


def _run_units(plan: Plan, recording: Recording, live: tuple[int, ...], device: Device) -> None:
    if plan.schedule is None:
        plan.schedule = schedule_of(recording, live, "cheapest", device)
    elif plan.sightings >= max(FAMILIAR, 2 * plan.ops) and plan.schedule.is_function:
        plan.on_host = Reference(graph_of(*_snapshot(recording), live, packed=False))
    run_schedule(plan.schedule, recording)


def _run_fused(program: AnyProgram, recording: Recording, live: tuple[int, ...], soon: bool) -> None:
    """Run; `soon`: the result is read at once, and will be there."""
    buffers = [
        v.data if v.data.__class__ is xla.Buffer else placed(v, v.data, program.device) for v in recording.inputs
    ]
    if recording.floats:
        buffers.append(xla.put(np.array(recording.floats, np.float64), program.device, owned=True))
    if recording.ints:
        buffers.append(xla.put(np.array(recording.ints, np.int64), program.device, owned=True))
    found: list[Any] = []
    try:
        recording.running = live, program, buffers, found
        program.run_into(buffers, found)
        _store(recording, live, program.results(found[0], buffers))
        recording.running = None
        count("fused_runs")
        if soon and found[0]:
            xla.await_awake(found[0][-1])
        _bound_queue(found[0])
        if recording.held >= HELD:
            xla.wait_for_the_one_before()
    except BaseException:
        recording.running = None
        if found:  # Ctrl-C: the inputs may be overwritten by now, so that the results are kept
            _store(recording, live, program.results(found[0], buffers))
            deferred.settle(recording, live)
            _forget(recording)
        raise


def _finish(recording: Recording) -> None:
    """In the midst of computing it give the results their data, if nothing has been run yet, or the program has."""
    if recording.running is NOT_YET:
        copy = recording.copied()
        if not (recording.checks or recording.doubtful or any([unit.effect for unit, _ in copy.calls()])):
            compute(copy, "what computes it was interrupted", "reference")
        return
    live, program, buffers, found = recording.running  # type: ignore[misc]  # it is asked for what has begun
    if found:
        _store(recording, live, program.results(found[0], buffers))


hooks.finish = _finish


def _store(recording: Recording, live: tuple[int, ...], results: list[Any]) -> None:
    values = recording.values
    for slot, result in zip(live, results, strict=True):
        value = values[slot]
        value.data, value.recording = result, None


MAX_IN_FLIGHT = 16  # programs that may wait for execution: more would only hold memory
_started = itertools.count(1)


def _bound_queue(outs: list[Any]) -> None:
    """Let the device catch up with Python every MAX_IN_FLIGHT programs. (Holding on to results of
    earlier programs, to wait for those, would keep them from being donated.)"""
    if outs and next(_started) % MAX_IN_FLIGHT == 0:
        xla.block(outs[-1])  # of a program in parts the first may be overwritten


def _forget(recording: Recording) -> None:
    """Break the references that would keep inputs and dead results alive."""
    recording.inputs, recording.input_slots, recording.values = [], {}, []
    recording.sources, recording.signature, recording.checks = [], [], []


def _poison(recording: Recording) -> None:
    """After a failure: results without data raise when they are read, naming the cause."""
    cause: Any = sys.exc_info()[1]
    for value in recording.values:
        if value.recording is not None:
            value.data, value.recording = Poison(cause, str(cause).split("\n")[0]), None
    _forget(recording)


# ---- plans ---------------------------------------------------------------------------------------------


def _new_plan(
    key: tuple[tuple[Any, ...], tuple[int, ...], tuple[int, ...], Device, int],
    recording: Recording,
    read: bool,
    cut: bool,
) -> Plan:
    """`cut`: it ended because it was long. It is a loop's that nobody reads, of which a sighting is many turns: it must
    have lost all of its price before it is compiled, as such loops often run once."""
    units = [unit for unit, _ in recording.calls()]
    family = family_of(key[0], key[1])
    start, threshold = _when(units, recording, key[1], read, rare=cut, expected=family.expected())
    price = price_of(units)
    note = on_disk.note_of(units, key[1], price) if start < math.inf else None
    if threshold > 1.0 and on_disk.has_program(note):
        start, threshold = 1.0, 1.0
    if start > 2.0:
        start, threshold = _after(start, threshold, min(family.patience(), 1.0))
    elif threshold > 1.0 and _makes_its_own(recording, key[1]):
        start, threshold = max(2.0, start), max(3.0, threshold)
    plan = Plan(start, threshold, units, _ends(recording), family, read, cut, price, note)
    family.add(plan)
    count("plans")
    with _lock:
        plan = _plans.setdefault(key, plan)
        _forget_old_plans()
    return plan


def _makes_its_own(recording: Recording, live: tuple[int, ...]) -> bool:
    """Whether it begins with results of nothing, half as many as it leaves, as where a model is made: what comes next
    is another recording, which has those for its inputs."""
    made = 0
    for unit, codes in recording.calls():
        if any([SCALAR < code < 0 for code in codes]):
            break
        made += len(unit.out_avals)
    return made < len(recording.values) and 2 * made >= len(live)


def _when(
    units: list[Unit],
    recording: Recording,
    live: tuple[int, ...],
    read: bool,
    passing: int = 0,
    rare: bool = False,
    expected: float = math.inf,
) -> tuple[float, float]:
    if recording.device is not None:
        return _when_elsewhere(units)
    buffers, numbers = len(live) + len(recording.inputs), len(recording.floats) + len(recording.ints)
    size = sum([recording.values[slot].aval.nbytes for slot in live])
    return threshold_of(units, buffers, numbers, spared(recording, live), passing, rare, size, read, expected)


def _when_elsewhere(units: list[Unit]) -> tuple[float, float]:
    """Where NumPy computes nothing: at once if most of its ops were to be compiled one by one otherwise, else as soon
    as it comes again; never for a single op, which has its own program."""
    if len(units) == 1:
        return math.inf, math.inf
    cold = sum([cost.COMPILE_PROGRAM + u.cost.compile for u in set(units) if not u.has_program])
    return (1.0, 1.0) if cold > DIRECT * price_of(units) else (2.0, 3.0)


def _after(start: float, threshold: float, patience: float) -> tuple[float, float]:
    """The sightings at which compiling starts and ends, where it takes so many times as many."""
    return max(2.0, start * patience), max(3.0, threshold * patience)


def _ask_again(plan: Plan, recording: Recording, live: tuple[int, ...]) -> None:
    """Before it is compiled: put it off if too many of its inputs come from NumPy, each time other ones, if it is
    rare (the last batch of an epoch), or if programs of its family were not worth what they cost.

    What makes the inputs may be compiled soon, so that it is asked again after as many sightings.
    """
    passing = _passing_arrays(recording, live)
    others, work = _done[0] - plan.began[0], _done[1] - plan.began[1]
    rare = plan.cut or plan.sightings < RARE * others and plan.sightings * plan.reference < SMALL_PART * work
    patience = plan.family.patience() if plan.first[0] > 1.0 else 1.0
    expected = plan.family.expected()
    if not (passing or rare or patience > 1.0 or expected < math.inf):
        return
    units = [unit for unit, _ in recording.calls()]
    start, threshold = _when(units, recording, live, plan.read, passing, rare, expected)
    if patience > 1.0 and not rare:  # at most until all of its price is lost
        later, last = _after(start, threshold, patience), _when(units, recording, live, plan.read, passing, True)
        start, threshold = min(later[0], last[0]), min(later[1], last[1])
    if plan.sightings < start:
        again = 2 * plan.sightings
        plan.start, plan.threshold = (start, threshold) if start <= again else (again, again + 1)


def _passing_arrays(recording: Recording, live: tuple[int, ...]) -> int:
    """How many inputs are host arrays that nobody else holds, and that the last sighting is unlikely to have made: of
    the shape and dtype of no result (what an optimizer goes on from is the result of its last step)."""
    counts = references(recording.inputs)
    alone = [n == OWN and isinstance(v.data, np.ndarray) for n, v in zip(counts, recording.inputs, strict=True)]
    passing = collections.Counter([v.aval for v, is_alone in zip(recording.inputs, alone) if is_alone])
    return (passing - collections.Counter([recording.values[slot].aval for slot in live])).total()


def _forget_old_plans() -> None:
    while len(_plans) > MAX_PLANS:
        _forget_oldest()
    if len(_plans) % 16 == 0:  # to add them up takes 20 us
        ops = sum([plan.ops for _, plan in _known_plans()])
        while ops > MAX_PLAN_OPS and len(_plans) > 1:
            ops -= _forget_oldest().ops


def _forget_oldest() -> Plan:
    key, plan = _plans.popitem(last=False)
    forget((key[0], key[1], key[4]))
    return plan


def _known_plans() -> list[tuple[Any, Plan]]:
    while True:
        try:
            return list(_plans.items())
        except RuntimeError:  # another thread found one meanwhile, which is now the last
            continue


def _units_in_use() -> set[Unit]:
    """The units in the keys of plans."""
    return {x for key, _ in _known_plans() for x in key[0] if x.__class__ is Unit}


signatures.hooks.in_use = _units_in_use


def _ends(recording: Recording) -> list[Any]:
    return recording.sources[:2] + recording.sources[-2:]


def threshold_of(
    units: list[Unit],
    buffers: int = 0,
    numbers: int = 0,
    in_place: float = 0.0,
    passing: int = 0,
    rare: bool = False,
    size: int = 0,
    read: bool = False,
    expected: float = math.inf,
) -> tuple[float, float]:
    """At which sightings a recording of these units, with so many inputs and results and packed numbers, starts to be
    compiled and must be: infinite if it never pays. `in_place`: copies that the ops' time has and nobody makes;
    `passing`: the inputs that nobody else holds, and that are other ones at each sighting; `size`: the results' bytes;
    `read`: the results are waited for.

    The quicker a program is than its ops, the less of its price must have been lost: 1/16 of it where it
    takes a quarter of the time, 1/4 where it takes half. Where it takes more than half, the ops go on
    beside the compiler, for as many sightings as take twice as long; elsewhere the last one waits. Of what is `rare`,
    one of many lengths say, or is not `expected` often enough to earn its price, all of that must have been lost: an
    early compilation would be one of as many.
    """
    counts = collections.Counter(units).items()  # of few, each often
    reference = sum([n * u.cost.reference for u, n in counts]) - in_place
    fused = sum([n * u.cost.fused for u, n in counts]) - COPIES * in_place
    execute, byte = (cost.EXECUTE_READ, cost.BYTE_READ) if read and fused < SHORT else (cost.EXECUTE, cost.BYTE)
    fused += execute + cost.BUFFER * buffers + byte * size + cost.PASSING * passing
    if reference <= fused:
        return math.inf, math.inf
    if reference == math.inf:
        return 1.0, 1.0
    price = price_of(units) + cost.COMPILE_NUMBER * numbers
    if _cold_compilation(units) > DIRECT * price:
        return 1.0, 1.0
    rare = rare or expected * (reference - fused) < price
    gain, beside = reference / fused, 2 * price / reference
    needed = price / ((reference - fused) * (1 if rare else gain**2))
    if needed <= SOON and not rare:
        soon = MAX_SOON if price < DEAR else max(float(MAX_SOON), SPENT * price / reference)
        least = 2.0 if price < ONCE * (reference - fused) else 3.0
        needed = min(max(least, needed), soon)
        return needed - 1, needed
    return (needed, needed + beside) if gain < 2 else (max(needed / 2, needed - beside), needed)


def price_of(units: list[Unit]) -> float:
    """What it costs to compile a program of these units."""
    costs = [(u.cost.compile, n) for u, n in collections.Counter(units).items()]
    return cost.COMPILE_PROGRAM + sum([each * (1.0 + cost.AGAIN * (n - 1)) for each, n in costs])


def _cold_compilation(units: list[Unit]) -> float:
    """What it would cost to compile those ops on their own that are too dear for NumPy."""
    dear = {u for u in units if not u.cost.suits_numpy and not u.has_program}
    return sum(cost.COMPILE_PROGRAM + u.cost.compile for u in dear)


def _start_compiling(
    plan: Plan, recording: Recording, live: tuple[int, ...], donated: tuple[int, ...], device: Device, read: bool
) -> None:
    """Compile in the background; the sighting that needs the program waits for it."""
    if plan.job is None and not settings.fail_on_recompile:
        plan.turn = [True]
        plan.job = Job(
            _compile_in_turn, plan.turn, *_to_compile(recording, live, donated, device, read and plan.work < SHORT)
        )


def _compile_in_turn(turn: list[bool], *args: Any) -> AnyProgram | None:
    """The program, unless it is needed, or Python ends, before its turn has come."""
    with _one_by_one:
        return _compile(*args) if _taken(turn) else None


def _taken(turn: list[bool]) -> bool:
    """Whether the turn to compile is the caller's: one of two threads gets it."""
    try:
        return turn.pop() and not _ended
    except IndexError:
        return False


def _end() -> None:
    global _ended
    _ended = True


# Registered after `jobs`, and so called before it waits for those that run.
atexit.register(_end)


def _snapshot(recording: Recording) -> tuple[list[tuple[Unit, list[Any]]], list[Aval], int, int]:
    return (list(recording.calls()), [v.aval for v in recording.inputs], len(recording.floats), len(recording.ints))


def _to_compile(
    recording: Recording, live: tuple[int, ...], donated: tuple[int, ...], device: Device, here: bool
) -> Any:
    """The arguments of `_compile`. `here`: the program is to run on the thread that reads its results."""
    return (*_snapshot(recording), live, donated, device, recording.sources[:], here)


def _join(
    plan: Plan, recording: Recording, live: tuple[int, ...], donated: tuple[int, ...], device: Device, read: bool
) -> AnyProgram:
    job = plan.job
    if job is not None and _taken(plan.turn):  # it waits for others, which nobody needs yet
        job = plan.job = None
    try:
        here = read and plan.work < SHORT
        program = _compile(*_to_compile(recording, live, donated, device, here)) if job is None else job.result()
    except Exception as error:
        if not is_interrupt(error):  # after one it stays, to be waited for once more
            plan.job = None
        raise
    if plan.schedule is not None and sum(value.aval.nbytes for value in recording.values) >= LEFT:
        xla.trim_memory()
    plan.job = plan.schedule = plan.on_host = None
    plan.program, plan.compiled_at = program, (plan.sightings, plan.family.sightings)
    on_disk.leave(plan.note)
    _forget_old_programs()
    return program


def _forget_old_programs() -> None:
    """Keep the programs that were run last: loops of ever other lengths compile ever other ones."""
    with _lock:
        plans = list(_plans.values())
    held = [plan for plan in plans if plan.program is not None]
    surplus = sum([plan.ops for plan in held]) - MAX_PROGRAM_OPS
    for plan in held[:-1]:
        if surplus <= 0:
            break
        plan.program, surplus = None, surplus - plan.ops


def _compile(
    calls: list[tuple[Unit, list[int]]],
    avals: list[Aval],
    floats: int,
    ints: int,
    live: tuple[int, ...],
    donated: tuple[int, ...],
    device: Device,
    sources: list[Any],
    here: bool,
) -> AnyProgram:
    graph = graph_of(calls, avals, floats, ints, live)
    return compile_recording(
        graph,
        device,
        donated,
        name=f"recording_of_{len(calls)}_ops",
        why=sequences.why([unit for unit, _ in calls], sources),
        place=place_of(sources),
        on_this_thread=here,
    )


def graph_of(
    calls: list[tuple[Unit, list[int]]],
    avals: list[Aval],
    floats: int,
    ints: int,
    live: tuple[int, ...],
    packed: bool = True,
) -> Graph:
    """The recorded calls as one graph; its scalars are unpacked from two vectors, or inputs."""
    builder = Builder("recording")
    take = _unpack if packed else _each
    with builder:
        inputs = [builder.input(a) for a in avals]
        scalars = {SCALAR: iter(take(builder, float, floats)), SCALAR - 1: iter(take(builder, int, ints))}
        values: list[Any] = []
        for unit, codes in calls:
            values += builder.inline(
                unit.graph,
                [values[c] if c >= 0 else next(scalars[c]) if c <= SCALAR else inputs[-1 - c] for c in codes],
            )
        graph = builder.finish([values[s] for s in live])
    return simplified(graph)


def _unpack(builder: Builder, kind: type, n: int) -> Sequence[HasAval]:
    if not n:
        return []
    vector = builder.input(SCALAR_AVALS[kind].with_shape((n,)))
    return [reshape(slice(vector, start=(i,), limit=(i + 1,)), shape=()) for i in range(n)]


def _each(builder: Builder, kind: type, n: int) -> Sequence[HasAval]:
    return [builder.input(SCALAR_AVALS[kind]) for _ in range(n)]


def compile_unit(unit: Unit, device: Device) -> Program:
    """The per-op program of a unit."""
    return compile_graph(
        unit.graph,
        device,
        name=unit.name,
        why="an operation of its own",
        fast=unit.cost.nodes < 64 and device.platform == "cpu",
    )
