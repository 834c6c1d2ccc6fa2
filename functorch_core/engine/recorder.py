"""The recorder: append what is called to a flat signature, compute when a value is needed.

A recording is a list: for each op its unit, then one integer an operand: the slot of an earlier
result (>= 0), or -1 - i for input i of the recording. The signature, with which
results are still referenced and which inputs are not, is the key of what to run.
"""

from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import xla
from ..core.graph import Graph
from ..core.outside import InTrace
from ..core.primitive import Primitive
from ..core.trace import INTERNAL, Traced, constant_p, leaked, set_engine
from ..core.trace import state as trace_state
from ..core.types import ArrayLike, Function
from ..interrupts import is_interrupt
from ..locks import RLock
from ..xla.buffers import deleted_message
from ..xla.device import Device, default_changes, further
from ..xla.errors import ExecutionError
from .modes import settings, tier_changes
from .stats import count
from .units import SCALAR_AVALS, Unit, alone, unit_of_primitive
from .value import (
    ALONE,
    IN_THE_MIDST,
    SMALL,
    InMemory,
    NoData,
    OnDevice,
    OnMesh,
    Sharded,
    Unverified,
    Value,
    absent,
    copied_to,
    from_numpy,
    live_results,
    now,
    references,
)

if TYPE_CHECKING:
    from .deferred import Chain, Recorded

MAX_OPS = 1024  # results; a recording is cut here, see `period`
MAX_IN_PASS = 4 * MAX_OPS  # in a backward pass
# The body of a loop that is a program of its own: so many results, of so many elements. Smaller ones are better off
# together, as each program costs 30 us; of larger ones many would only be dearer to compile.
BODY_RESULTS, BODY_ELEMENTS = 64, 1 << 18
LOOK, LOOKS = 256, 8  # results after which a recording is searched for such a loop; how often, in vain
# Bytes that computing a recording would give free, of inputs of more elements: with as many it is cut. What nobody
# reads may need them, as views of large tensors that are dropped.
HELD, LARGE = 64 << 20, 1 << 14
OWN = ALONE + 1  # the count of an input that only its recording refers to: by a list, and by a key
SCALAR = -1 << 40  # marks a Python float operand in a signature; SCALAR - 1 an int
# Of loops over elements: numbers, or small rows, that are written, so that more are to be expected; calls between two
# such writes; readings of recordings that begin with a kind of op.
MANY, IN_LOOP, OFTEN = 16, 64, 8
_getframe = sys._getframe


NOT_YET = ()
LONG = "the recording is long"


class _State(threading.local):
    recording: Recording | None = None
    spare: Recording | None = None  # an empty one, for what is recorded next
    device: Device | None = None  # of the recording, None for the default one: that of the last call's operands
    home: Device | None = None  # where calls of nothing, of numbers and of the host's arrays go; see `recording_for`
    limit = LOOK
    looks = LOOKS
    body: list[int] = []  # the units of the loop whose turns are programs of their own
    in_loop = 0  # so many calls after an element was written in memory are taken for those of a loop over elements
    at_once: Function | None = None  # computes a call instead of recording it; see at_once

    def __init__(self) -> None:
        self.set_aside: dict[Device | None, Recording] = {}  # the recordings for other devices


_state = _State()


class _Hooks:
    """What a flush calls, set by `programs` and `deferred`, which know this module; finish(recording), which gives the
    results of a flush their data in the midst of it; brief(unit, operands), which computes a call that is brief of what
    is at hand; from_memory(unit, operands), which computes calls of which some operands are live, or copies these;
    on_mesh(unit, operands), which computes those of which some lie on several devices; and without_data(unit,
    operands), which looks at calls of which some operands have no data."""

    compute: Function
    finish: Function
    checked: Function
    brief: Function
    from_memory: Function
    on_mesh: Function
    without_data: Function | None = None


hooks = _Hooks()


def refuse_deleted(value: Value) -> None:
    """ExecutionError for a value whose memory is gone; what else is recorded stays as it is."""
    data = getattr(value, "data", None)
    if isinstance(data, xla.Buffer) and data.is_deleted():
        raise ExecutionError(deleted_message(data))


class Recording:
    """Ops called but not computed yet, of one thread.

    >>> import numpy as np
    >>> from functorch_core import engine, primitives
    >>> value = primitives.add(engine.from_numpy(np.ones(2)), engine.from_numpy(np.ones(2)))
    >>> isinstance(value.recording, engine.Recording)
    True
    """

    __slots__ = (
        "signature inputs input_slots floats ints values device sources code checks states doubtful "
        "makers walked lock busy running limit done frozen held enough heavy elements"
    ).split()

    def __init__(self, limit: int, device: Device | None = None) -> None:
        self.signature: list[Any] = []  # units and integers
        self.device = device  # where it will be computed; None: on the default one
        self.inputs: list[Value] = []
        self.input_slots: dict[Value, int] = {}
        self.floats: list[float] = []
        self.ints: list[int] = []
        self.values: list[Value] = []  # every result, in slot order
        self.sources: list[Any] = []  # for each op: code, instruction of the user's call
        self.code: Any = None  # of the user's last call: what it is need not be looked at again
        # See deferred: the checks recorded here; chain -> what the last left, its ordinal; whether an input may be bad.
        self.checks: list[Recorded] = []
        self.states: dict[Chain, tuple[Value, int]] = {}
        self.doubtful = False
        self.makers: list[tuple[Any, ...]] = []  # of the results in signature[:walked]
        self.walked = 0
        self.lock = RLock()
        # In the midst of recording a call; and of computing: NOT_YET begun, or what `programs` needs to end it. A
        # signal's handler, or a `__del__` that the garbage collector calls, may come there and compute.
        self.busy = False
        self.running: tuple[Any, ...] | None = None
        self.limit, self.done = limit, False
        self.frozen: Recording | None = None  # its contents, flushed by another thread
        # Bytes of large inputs; with how many they are looked at; whether too many are its own.
        self.held, self.enough, self.heavy = 0, HELD, False
        self.elements = 0  # numbers written to elements; see `compute_after_many`

    def input(self, value: Value) -> int:
        """The signature's integer for a value from outside."""
        other = value.recording
        if other is not None:
            other.enter(self, value)
        slot = self.input_slots.get(value)
        if slot is None:
            if settings.donates:
                refuse_deleted(value)
            if further and _device_of_data(value) is not self.device:
                raise OnDevice
            self.inputs.append(value)
            slot = self.input_slots[value] = -len(self.inputs)
            if value.aval.size > LARGE:
                self._weigh(value)
        return slot

    def _weigh(self, value: Value) -> None:
        """Of a large input: the recording ends with this call if it is all that keeps HELD bytes more in memory than
        its results will take, as those of an optimizer's step do that its parameters had."""
        self.held += value.aval.nbytes
        if self.held >= self.enough:
            own = [v.aval.nbytes for v, n in zip(self.inputs, references(self.inputs)) if n == OWN]
            free = sum(own) - sum([self.values[slot].aval.nbytes for slot in live_results(self.values)])
            self.enough = self.held + max(HELD - free, HELD // 4)
            if free >= HELD:
                self.heavy, self.limit = True, 0

    def enter(self, into: Recording, value: Value) -> None:
        """A result of this recording is to be an operand of another thread's, or of one for another device."""
        if into.device is not self.device:
            raise OnDevice
        self.flush("a value crossed threads")
        if value.recording is self:
            raise RuntimeError(IN_THE_MIDST)
        if value.recording.__class__ is Unverified:
            value.recording.enter(into, value)

    def scalar(self, x: Any) -> int:
        """The signature's integer for a Python number, which is packed beside the inputs."""
        if x.__class__ is float:
            self.floats.append(x)
            return SCALAR
        if x.__class__ is Traced:
            raise InTrace
        self.ints.append(x)
        return SCALAR - 1

    def takes_nothing(self) -> bool:
        """Whether no recorded call has an operand."""
        return 2 * len(self.signature) == len(self.sources)

    def calls(self) -> Iterator[tuple[Unit, list[int]]]:
        """The recorded calls: unit, and an integer for each of its operands."""
        signature, position = self.signature, 0
        while position < len(signature):
            unit = signature[position]
            end = position + 1 + unit.n_inputs
            yield unit, signature[position + 1 : end]
            position = end

    def maker(self, slot: int) -> tuple[Unit, int, int] | None:
        """The unit that makes a result, the slot of that unit's first result, and where in the
        signature it is called."""
        if self.done:
            return None
        makers, signature, position = self.makers, self.signature, self.walked
        while slot >= len(makers) and position < len(signature):
            unit = signature[position]
            makers += [(unit, len(makers), position)] * len(unit.out_avals)
            position += 1 + unit.n_inputs
        self.walked = position
        return makers[slot]

    def value_at(self, code: int) -> Value | None:
        """The operand that an integer of the signature stands for; None for a Python number."""
        if code <= SCALAR:
            return None
        return self.values[code] if code >= 0 else self.inputs[-1 - code]

    def flush(self, why: str = "", tier: str | None = None) -> None:
        """Compute everything recorded, by a tier if one is named; live values then have data."""
        with self.lock:  # acquire() before a `try` is 0.08 us less, and between the two Ctrl-C leaves it taken
            try:
                if not self.done:
                    self._flush(why, tier)
                elif (self.frozen or self).running is not None:  # by what this has interrupted
                    hooks.finish(self.frozen or self)
            except BaseException as error:
                if self.done and is_interrupt(error):  # what is not computed yet can be when it is read
                    self.done = not (self.frozen or self).signature
                raise

    def _flush(self, why: str, tier: str | None) -> None:
        self.done, self.limit = True, 0
        work, collects = self._taken(), gc.isenabled()
        if work.signature:
            count("flushes")
            try:
                gc.disable()  # a `__del__` might read what is computed here
                hooks.compute(work, why, tier)
            finally:
                if collects:
                    gc.enable()
            if work.states:
                hooks.checked(work)
                work.states = {}

    def _taken(self) -> Recording:
        """What is to be computed: this, into which the thread records no more, or a copy of another thread's."""
        if _state.recording is self:
            _state.recording = None
            if not self.busy:
                return self
        if further and _state.set_aside.get(self.device) is self:
            return _state.set_aside.pop(self.device)
        return self.frozen or self._freeze()

    def use_again(self) -> None:
        """Be empty, and this thread's next recording once more: to make another takes 0.5 us."""
        for held in (self.signature, self.sources, self.values, self.inputs, self.input_slots):
            held.clear()
        if self.floats or self.ints:
            self.floats, self.ints = [], []
        if self.walked:
            self.makers, self.walked = [], 0
        if self.held:
            self.held, self.enough, self.heavy = 0, HELD, False
        self.elements = 0
        if self.done and _state.recording is None and _state.at_once is None and _state.device is self.device:
            _state.spare = self

    def _freeze(self) -> Recording:
        """The finished calls, where the thread that records here cannot reach them. It may be in
        the middle of a call: it will find that the recording is done, and record that call again."""
        frozen = self.copied()
        frozen.checks, frozen.states, frozen.doubtful = self.checks, self.states, self.doubtful
        frozen.drop_unfinished_call()
        self.frozen, self.checks, self.states = frozen, [], {}  # at once: an interrupt before has lost nothing
        for held in (self.values, self.inputs, self.input_slots):  # who refers to a value counts
            held.clear()
        return frozen

    def copied(self) -> Recording:
        """The same calls, without checks."""
        copy = Recording(0, self.device)
        copy.values = self.values[:]  # first: what there is a value for, the others have too
        copy.signature, copy.sources = self.signature[:], self.sources[:]
        copy.floats, copy.ints = self.floats[:], self.ints[:]
        copy.inputs, copy.input_slots = self.inputs[:], self.input_slots.copy()
        return copy

    def forget_unfinished_call(self) -> None:
        """After an interrupt in the middle of recording a call."""
        self.busy = False
        with self.lock:
            if not self.done:
                self.drop_unfinished_call()

    def drop_unfinished_call(self) -> None:
        """Forget the last call if its results are not all there."""
        results = position = calls = 0
        scalars = [0, 0]
        for unit, codes in self.calls():
            n = results + len(unit.out_avals)
            if n > len(self.values) or len(codes) < unit.n_inputs:
                break
            results, position, calls = n, position + 1 + len(codes), calls + 1
            for code in codes:
                if code <= SCALAR:
                    scalars[SCALAR - code] += 1
        self.signature = self.signature[:position]
        for kept, n in (
            (self.sources, 2 * calls),
            (self.values, results),
            (self.floats, scalars[0]),
            (self.ints, scalars[1]),
        ):
            del kept[n:]


def start() -> Recording:
    """This thread's next recording."""
    limit = 1 if settings.tier == "immediate" else _state.limit
    _state.recording = Recording(limit, _state.device)
    return _state.recording


def begun(unit: Unit, operands: Sequence[ArrayLike]) -> tuple[Recording | None, Any]:
    """Where nothing is recorded: a new recording and None, or None and the result of a call that was computed."""
    if _state.at_once is not None and _state.device is None:
        result = _state.at_once(unit, operands)
        if result is not None:
            return None, result
    return _spare() or start(), None


def begun_or_brief(unit: Unit, operands: Sequence[ArrayLike]) -> tuple[Recording | None, Any]:
    """The same of a call off the tape, which is computed, too, if it is cheap, of what is at hand, and gives a number,
    is one of a loop over elements, or begins recordings as were often read (`again.note_first`)."""
    if unit.gives_number or _state.in_loop > 0 or alone.get(unit.kind, 0) >= OFTEN:
        _state.in_loop -= 1
        result = hooks.brief(unit, operands) if _state.at_once is None and _state.device is None else None
        if result is not None:
            return None, result
    return begun(unit, operands)


def _spare() -> Recording | None:
    """The recording that was computed last, to be used again."""
    recording, _state.spare = _state.spare, None
    if recording is None or not recording.done or recording.device is not _state.device or settings.tier == "immediate":
        return None
    recording.done, recording.limit, _state.recording = False, _state.limit, recording
    return recording


def set_at_once(compute: Function | None) -> None:
    """What this thread calls, instead of recording, while nothing is recorded: compute(unit,
    operands), which gives the result, or None for what is to be recorded."""
    _drop_empty()
    _state.at_once = compute


def in_use() -> tuple[Recording | None, Function | None]:
    """What this thread records into, and what it calls instead: see `set_recording` and `set_at_once`."""
    return _state.recording, _state.at_once


def _drop_empty() -> None:
    """Let the next call begin a recording: how, may have changed."""
    if _state.recording is not None and not _state.recording.signature:
        _state.recording = None


tier_changes.append(_drop_empty)


def set_recording(recording: Recording | None) -> None:
    """What this thread records into; a new one, when it is needed, for None."""
    _state.recording = recording


def computes_at_once() -> bool:
    """Whether this thread computes small ops when they are called."""
    return _state.at_once is not None


def leaves_nothing_out() -> bool:
    """Whether what is done now, on the host and unseen by who watches ops, is what would be recorded: nothing is, of
    which it could be a part, but calls without operands, as those that make zeros."""
    recording = _state.recording
    nothing = (recording is None or recording.takes_nothing()) and _state.at_once is None
    return nothing and settings.tier == "auto" and not settings.debug_nans


def is_computed(value: Value) -> bool:
    """Whether a value is computed: of a few numbers, where nothing is recorded but calls without operands, as those
    that make zeros, these are computed now, so that a loop that goes through them finds them at hand."""
    recording = value.recording
    if recording.__class__ is Recording and recording is _state.recording and value.aval.nbytes < SMALL:
        if recording.takes_nothing() and settings.tier == "auto":
            recording.flush("an element of what was made is wanted")
    return value.recording is None


def note_loop() -> None:
    """Note that an element was written in memory."""
    _state.in_loop = IN_LOOP


def compute_after_many() -> None:
    """After a recorded write of a number, or to a part of a small tensor: compute what is recorded, if there were many
    such writes, so that further ones go to the memory. Ten rounds of zeros(1000) and 1,000 writes: 0.05 s for 5, of
    which XLA had most."""
    recording = _state.recording
    if recording is not None and settings.tier == "auto":
        recording.elements += 1
        if recording.elements >= MANY:
            recording.flush("numbers are written one by one")
            note_loop()


def record(unit: Unit, operands: Sequence[ArrayLike], inner: int = 1, off_tape: bool = False) -> Any:
    """Append a call; a new value for its result, a list of them if the unit is `multiple`. The first `inner` callers
    are known to be the library's (0.1 us each). Off the tape it may be computed at once (`at_once.brief`).

    >>> from functorch_core import core, engine
    >>> x = engine.absent(core.aval.aval((2, 3), core.dtypes.float32))  # of no data
    >>> engine.record(engine.unit_of_primitive(core.primitive.registry["neg"], {}, (x.aval,)), [x]).aval
    float32[2,3]
    """
    recording = turn_home() if further and not any([x.__class__ is Value for x in operands]) else _state.recording
    if recording is None or recording.busy:
        recording, result = (begun_or_brief if off_tape else begun)(unit, operands)
        if recording is None:
            return result
    try:
        recording.busy = True
        call: list[Any] = [unit]
        for x in operands:
            if x.__class__ is Value:
                call.append(x.slot if x.recording is recording else recording.input(x))
            else:
                call.append(recording.scalar(x))
        recording.signature += call
        frame: Any = _getframe(inner)  # of the user there is one
        while True:  # no condition at its end: see tests/test_interrupts.py
            code = frame.f_code
            if code is recording.code or not is_internal(code.co_filename):
                break
            frame = frame.f_back
        recording.code = code
        recording.sources += (code, frame.f_lasti)
        values = recording.values
        if unit.multiple:
            result = []
            for a in unit.out_avals:
                value = Value()
                value.aval, value.recording, value.slot = a, recording, len(values)
                values.append(value)
                result.append(value)
        else:
            result = Value()
            result.aval, result.recording, result.slot = unit.out_aval, recording, len(values)
            values.append(result)
        recording.busy = False
    except UNRECORDED as why:
        return elsewhere(why, recording, unit, operands, call)
    except BaseException:  # Ctrl-C, or an operand that could not be computed
        recording.forget_unfinished_call()
        raise
    return result if len(values) < recording.limit else full(recording, unit, operands, result)


def _without_data(unit: Unit, operands: Sequence[ArrayLike]) -> Any:
    """Of operands without data: the results have none either."""
    if unit.effect:
        raise NoData(f"{unit.name}: not possible of tensors without data")
    if hooks.without_data is not None:
        hooks.without_data(unit, operands)
    return list(map(absent, unit.out_avals)) if unit.multiple else absent(unit.out_aval)


def _from_memory(unit: Unit, operands: Sequence[ArrayLike]) -> Any:
    """Of operands that lie in memory that others write to."""
    result = hooks.from_memory(unit, operands)
    return record(unit, list(map(now, operands))) if result is None else result


def _on_device(unit: Unit, operands: Sequence[ArrayLike]) -> Any:
    """Of operands of which some lie on another device than this thread records for: recorded for that, as is what comes
    after it. The others are copied there (PyTorch raises unless they are numbers)."""
    places = {place_of(x) for x in operands if x.__class__ is Value} - {None}
    if len(places) > 1:
        raise RuntimeError(APART.format(*sorted(map(repr, places))))
    device = places.pop() if places else _state.home
    _turn_to(device)
    return record(unit, [_moved(x, device) for x in operands])


APART = "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"


def place_of(value: Value) -> Device | None:
    """The device that a value lies on, or will be computed on; None for the default one, the host, and if traced."""
    recording = value.recording
    if recording.__class__ is Recording:
        return recording.device
    return None if value.__class__ is not Value or recording.__class__ is Sharded else _device_of_data(value)


def _device_of_data(value: Value) -> Device | None:
    data = getattr(value, "data", None)  # those that lie in memory have none
    if data.__class__ is not xla.Buffer:
        return None
    device = xla.device_of(data)
    return None if device is xla.default_device() else device


def _moved(x: Any, device: Device | None) -> Any:
    """An operand where it can be recorded for a device."""
    if x.__class__ is not Value or x.recording.__class__ is Sharded:
        return x
    if place_of(x) is device and (x.recording in (None, _state.recording) or x.recording.__class__ is Unverified):
        return x
    return copied_to(now(x), device or xla.default_device())


class recording_for:
    """Context: this thread records for a device, None for the default one, unless operands lie on another."""

    __slots__ = ("device", "before")

    def __init__(self, device: Device | None) -> None:
        self.device = device

    def __enter__(self) -> None:
        self.before, _state.home = _state.home, self.device

    def __exit__(self, *_: object) -> None:
        _state.home = self.before


def turn_home() -> Recording | None:
    """The recording of a call that no operand gives a place."""
    _turn_to(_state.home)
    return _state.recording


def _turn_to(device: Device | None) -> None:
    """Set this thread's recording aside, and go on with the one for a device."""
    if device is _state.device:
        return
    if _state.recording is not None:
        _state.set_aside[_state.device] = _state.recording
    _state.device, _state.recording = device, _state.set_aside.pop(device, None)


def _on_mesh(unit: Unit, operands: Sequence[ArrayLike]) -> Any:
    """Of operands that lie on several devices."""
    return hooks.on_mesh(unit, operands)


def _in_trace(unit: Unit, operands: Sequence[ArrayLike]) -> Any:
    """Of traced operands: the results are traced, too."""
    builder = trace_state.builder
    if builder is None:
        raise leaked(next(x for x in operands if x.__class__ is Traced))
    outs = builder.inline(unit.graph, [_traceable(x) for x in operands])
    return outs if unit.multiple else outs[0]


def _traceable(x: Any) -> Any:
    """An operand as a trace takes it: a Python number as it is packed, a recorded value computed."""
    if x.__class__ in SCALAR_AVALS:
        return np.asarray(x, SCALAR_AVALS[x.__class__].dtype)
    x = now(x)
    if x.__class__ is Value and x.recording.__class__ is Recording:
        x.recording.flush("a trace closes over a value")
    return x


# What an operand raises that is not recorded -> what gives the results instead.
_ELSEWHERE: dict[type[Exception], Function] = {
    NoData: _without_data,
    InMemory: _from_memory,
    OnDevice: _on_device,
    OnMesh: _on_mesh,
    InTrace: _in_trace,
}
UNRECORDED = tuple(_ELSEWHERE)


def elsewhere(
    why: Exception, recording: Recording, unit: Unit, operands: Sequence[ArrayLike], call: Sequence[int] = ()
) -> Any:
    """The results of a call that turned out to be none for a recording. Its Python numbers, packed in the order of
    the call, go again."""
    recording.busy = False
    for code in call[1:]:
        if code <= SCALAR:
            (recording.floats if code == SCALAR else recording.ints).pop()
    return _ELSEWHERE[why.__class__](unit, operands)


class _Internal(dict[str, bool]):
    """Whether a file is this library's, so that an error can name the user's line."""

    def __missing__(self, filename: str) -> bool:
        found = self[filename] = filename.startswith(INTERNAL)
        return found


is_internal = _Internal().__getitem__


def users_call() -> tuple[types.CodeType, int]:
    """Where the user's code is that has called the library: code, and the instruction in it."""
    frame: Any = _getframe(1)
    while is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def full(recording: Recording, unit: Unit, operands: Sequence[ArrayLike], result: Value | list[Value]) -> Any:
    """The result of a call that filled its recording, or came too late for it."""
    if recording.done:  # another thread has flushed it meanwhile, perhaps without this call
        _state.recording = None
        return record(unit, operands)
    _cut(recording)
    return result


def _cut(recording: Recording) -> None:
    """Flush a long recording; the next is cut at a multiple of the period found in this one."""
    if settings.tier == "immediate":
        recording.flush("immediate mode")
        return
    with recording.lock:
        if not recording.done and (recording.heavy or _is_at_its_end(recording)):
            count("cut_recordings")
            recording.flush(LONG)


def let_grow() -> tuple[Recording, int] | None:
    """Before a backward pass: this thread's recording, if it is not long, is not cut within the pass. What is cut there
    has to hand all that forward has kept to the next program (600 arrays of a neural ODE, 2 ms of its step)."""
    recording = _state.recording
    if recording is None or recording.limit <= 1 or len(recording.values) >= MAX_OPS:
        return None
    limit, recording.limit = recording.limit, MAX_IN_PASS
    return recording, limit


def has_grown(recording: Recording, limit: int) -> None:
    """After it: the recording is cut where it would have been; if it has become longer, behind an optimizer's step."""
    n = len(recording.values)
    if not recording.done:
        recording.limit = limit if n < MAX_OPS else n + MAX_OPS // 4


def make_room(n: int) -> None:
    """Before a call of n results that take the places of its operands: it does not end the recording. Who calls holds
    the operands until it has put the results there, and what is held is not overwritten: of a model of 124 million
    parameters the step of Adam, whose recording was cut by it, needed 5.1 GB for 3.1."""
    recording = _state.recording
    if recording is None and _state.at_once is None:
        recording = start()
    if recording is not None and recording.limit > 1:
        recording.limit = max(recording.limit, len(recording.values) + n + 1)


def _is_at_its_end(recording: Recording) -> bool:
    """Whether a recording is cut here, and where those after it are; if not, where this one is."""
    units = [unit for unit, _ in recording.calls()]
    ids = [unit.id for unit in units]
    if _is_rotation(ids, _state.body):
        return True
    p, recorded = period(ids), len(recording.values)
    body = units[-p:] if p else []
    results = sum(len(unit.out_avals) for unit in body)
    if results >= BODY_RESULTS and sum(a.size for unit in body for a in unit.out_avals) >= BODY_ELEMENTS:
        _state.body, _state.limit = ids[-p:], results
        recording.limit = -(-recorded // results) * results  # at the end of a turn, if it began with one
        return recorded >= min(recording.limit, MAX_OPS)
    if recorded >= MAX_OPS // 2:  # no multiple of a shorter period is less
        _state.limit = MAX_OPS // results * results if 0 < results <= MAX_OPS else MAX_OPS
        return True
    _state.looks -= 1
    _state.body, _state.limit, recording.limit = [], LOOK if _state.looks > 0 else MAX_OPS, MAX_OPS
    return False


def _is_rotation(ids: list[int], body: list[int]) -> bool:
    """Whether these are a loop's body, begun anywhere.

    >>> from functorch_core.engine.recorder import _is_rotation
    >>> _is_rotation([3, 1, 2], [1, 2, 3]), _is_rotation([3, 2, 1], [1, 2, 3]), _is_rotation([], [])
    (True, False, False)
    """
    if len(ids) != len(body) or not ids:
        return False
    return any(ids == [*body[i:], *body[:i]] for i, first in enumerate(body) if first == ids[0])


def period(ids: Sequence[int]) -> int:
    """The shortest period of the sequence's tail (at least half of it), or 0.

    A loop that observes nothing repeats its ops; cutting at multiples of their number makes every
    later recording the same.
    """
    tail = list(ids)[::-1]
    border = [0] * len(tail)  # the prefix function of Knuth, Morris and Pratt
    best = 0
    for i in range(1, len(tail)):
        k = border[i - 1]
        while k and tail[i] != tail[k]:
            k = border[k - 1]
        border[i] = k + 1 if tail[i] == tail[k] else 0
        candidate = i + 1 - border[i]
        if i + 1 >= len(tail) // 2 and border[i] >= candidate:
            best = candidate
    return best


def flush(why: str = "asked for", tier: str | None = None) -> None:
    """Compute what this thread has recorded; by one tier, if it is known which is best.

    >>> import functorch_core as fc
    >>> y = fc.ones(3) + 1
    >>> fc.engine.flush()
    """
    if _state.recording is not None:
        _state.recording.flush(why, tier)
    for recording in list(_state.set_aside.values()):
        recording.flush(why, tier)


# ---- what core.trace calls outside of traces -------------------------------------------------------


def as_value(x: ArrayLike) -> Value:
    """A value of whatever a primitive may be given: a value, or a NumPy array (copied)."""
    if x.__class__ is Value:
        return x
    if isinstance(x, Traced):
        raise leaked(x)
    return from_numpy(np.array(x))


def bind(primitive: Primitive, args: Sequence[ArrayLike], params: dict[str, Any]) -> Any:
    """Record one primitive."""
    if primitive is constant_p:
        return as_value(params["value"].value)
    values = [as_value(a) for a in args]
    unit = unit_of_primitive(primitive, params, tuple([v.aval for v in values]))
    result = record(unit, values)
    if unit.effect:
        flush("an effect is due")
    return result


def run_graph(graph: Graph, args: Sequence[Any]) -> list[Value]:
    """Record a graph node by node: its parts recur, where it as a whole may be new.

    >>> import numpy as np
    >>> from functorch_core import engine, primitives
    >>> from functorch_core.core.trace import Builder
    >>> x, builder = engine.from_numpy(np.ones(2)), Builder("double")
    >>> with builder:
    ...   a = builder.input(x.aval)
    ...   graph = builder.finish([primitives.add(a, a)])
    >>> [engine.to_numpy(out) for out in engine.run_graph(graph, [x])]
    [array([2., 2.])]
    """
    env = dict(zip(graph.inputs, map(as_value, args), strict=True))
    for node in graph.nodes:
        outs = bind(node.primitive, [env[s] for s in node.inputs], node.params)
        env.update(zip(node.outputs, outs if node.primitive.multiple else (outs,)))
    return [env[s] for s in graph.outputs]


set_engine(sys.modules[__name__])
default_changes.append(flush)  # what is recorded for the default device is computed by the one that it meant
run = run_graph
