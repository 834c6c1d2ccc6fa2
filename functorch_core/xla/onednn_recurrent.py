"""A recurrent layer in one direction by oneDNN, float32: of host arrays, and called inside compiled programs.

The weights are given as they are (gates, inputs), and brought into oneDNN's own order at each call. Where gradients are
wanted the layer keeps its gates and states for them in an order of oneDNN's.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import c_void_p as _P
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

from . import onednn
from .device import default_device
from .native_call import Job, Unsupported
from .onednn import Calls, ints, made_by, strides_of

# The weights are brought into their order at each call: for a few rows that takes longer than the layer. us, XLA's
# loop, this: LSTMs of 1 step, batch 1, 1,024 wide 407, 2,827; 4, 1, 512 284, 487; 35, 1, 512 1,172, 1,338; 1, 64, 256
# 273, 293; 12, 4, 512 2,014, 1,253; 24, 2, 512 2,877, 2,035. GRUs of 3, 16, 512 974, 1,820; 6, 8, 512 1,267, 959.
FEWEST_STEPS, SMALLEST_BATCH, FEWEST_ROWS = 4, 2, 48
HANDING_OVER, EACH_STEP, MACS_PER_MICROSECOND = 20.0, 4.0, 120_000.0
_INFERENCE, _TRAINING, _BACKWARD = 96, 64, 128
_FORWARDS, _BACKWARDS = 1, 2  # in what order the steps are taken
_OVERWRITE = 1  # gradients by the weights are not added to what is there
_SRC, _SRC_H, _SRC_C, _DST, _DST_H, _DST_C, _WEIGHTS, _RECURRENT, _BIAS = 1, 2, 3, 17, 18, 19, 33, 34, 41
_KEPT, _GRADIENT = 64, 128  # _GRADIENT | _SRC: the gradient by what is _SRC
_WEIGHTS_QUERY, _GRADIENTS_QUERY, _KEPT_QUERY = 131, 132, 135  # the input's weights, then the recurrent ones
_MARK = 1  # the mark that oneDNN has kept something

KINDS = ("inference", "training", "gradients", "whole_gradients")


class Cell(NamedTuple):
    """A step: the name of its primitive, how many gates, biases and states it has, and the multiplications by the
    recurrent weights from which it is worth two threads, which meet often in each."""

    primitive: str
    gates: int
    biases: int
    states: int
    many: int
    many_for_gradients: int


@dataclass(frozen=True)
class Recurrent:
    """A layer: x (time, batch, features), states (batch, hidden) each, weights (gates * hidden, features) and (gates *
    hidden, hidden), bias (biases * hidden) -> outputs (time, batch, hidden), last states but that of the outputs.

    'training' has two more results, bytes that are kept for the gradients and a mark that they are; 'gradients' takes
    operands, results, their cotangents, and what is kept, and makes the gradients by all operands. 'whole_gradients'
    has the same arrays, but takes no notice of what was kept.
    """

    cell: ClassVar[Cell]

    kind: str
    time: int
    batch: int
    features: int
    hidden: int
    reverse: bool

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Time, batch, features, hidden."""
        return self.time, self.batch, self.features, self.hidden

    def target(self) -> str:
        """The name of the custom call."""
        sizes = "_".join(map(str, (*self.sizes, int(self.reverse))))
        return f"onednn.{type(self).__name__.lower()}.{self.kind}.{sizes}"

    @classmethod
    def of_target(cls, target: str) -> Self:
        """What has this target."""
        kind, sizes = target.split(".")[2:]
        time, batch, features, hidden, reverse = map(int, sizes.split("_"))
        return cls(kind, time, batch, features, hidden, bool(reverse))

    def job(self) -> Job:
        """The calls that compute it. Raises Unsupported if oneDNN has no fast way."""
        return _job_of(self)

    def microseconds(self) -> float:
        """An estimate for two cores: a loop of idle ones takes less, of busy ones up to twice that."""
        work = self.time * self.batch * self.cell.gates * self.hidden * (self.features + self.hidden)
        passes = (1, 1, 2, 3)[KINDS.index(self.kind)]
        return HANDING_OVER + passes * (EACH_STEP * self.time + work / MACS_PER_MICROSECOND)

    def is_there(self) -> bool:
        """Whether oneDNN is quicker, in this process."""
        try:
            return self._is_large() and onednn.is_available() and bool(_job_of(self))
        except (Unsupported, MemoryError):
            return False

    def _is_large(self) -> bool:
        """Whether it makes up for threads that meet, and for copies of the weights."""
        if self.features == 0 or self.time < FEWEST_STEPS or self.batch < SMALLEST_BATCH:
            return False
        if self.time * self.batch < FEWEST_ROWS:
            return False
        many = self.cell.many if self.kind == KINDS[0] else self.cell.many_for_gradients
        return self.batch * self.cell.gates * self.hidden**2 >= many

    def for_gradients(self) -> tuple[Self, Self] | None:
        """Where gradients are wanted: what computes it and more, and what takes that. None if it is not there, or not
        for the device where things are computed."""
        calls = [replace(self, kind=kind) for kind in KINDS[1:]]
        if self.kind != KINDS[0] or default_device().platform != "cpu" or not all(call.is_there() for call in calls):
            return None
        return calls[0], calls[1]

    def kept(self) -> tuple[int, ...]:
        """The bytes of the further results of 'training', the last of which is 0 where another has computed it."""
        return (_kept_bytes(self), 1)

    def without_kept(self) -> Self | None:
        """What computes it where the mark is 0; None if it takes none."""
        return replace(self, kind="whole_gradients") if self.kind == "gradients" else None


class Lstm(Recurrent):
    """x, h, c, weights, bias -> outputs, last c; the gates are i, f, g, o, as in PyTorch."""

    # A busy machine, minima (ms, XLA's loop, this): 8 steps, batch 4, 16 wide 0.08, 0.17; 50, 1, 64 0.15, 0.90;
    # 100, 32, 64 5.0, 1.6; 32, 16, 128 2.1, 2.1 (1.2 and 0.4 on an idle one); 20, 64, 512 46, 27.
    cell = Cell("lstm", gates=4, biases=4, states=2, many=1 << 19, many_for_gradients=1 << 19)


class Gru(Recurrent):
    """x, h, weights, bias -> outputs; the gates are z, r, n (PyTorch's are r, z, n), the last bias is in n with h."""

    # us, XLA's loop, this: 8 steps, batch 4, 64 wide 89, 95; 8, 16, 64 180, 104; 16, 4, 128 260, 168; 32, 16, 128
    # 1,370, 424. With gradients: 16, 8, 128 643, 710; 50, 16, 64 943, 979; 32, 16, 128 1,752, 1,392.
    cell = Cell("lbr_gru", gates=3, biases=4, states=1, many=1 << 17, many_for_gradients=1 << 19)


@functools.lru_cache(maxsize=512)
def _job_of(what: Recurrent) -> Job:
    return made_by(lambda library: _Stepping(library, what).job())


@functools.lru_cache(maxsize=512)
def _kept_bytes(what: Recurrent) -> int:
    """How many bytes are kept for the gradients."""
    found: list[int] = []

    def ask(library: onednn._Library) -> Job:
        stepping = _Stepping(library, what)
        found.append(library.c.dnnl_memory_desc_get_size(stepping.kept_of(stepping.forward(_TRAINING))))
        return Job([], [], stepping.made)

    made_by(ask)
    return found[0]


class _Stepping(Calls):
    """The calls of a layer: reorders of the weights, primitives, reorders of gradients."""

    def __init__(self, library: onednn._Library, what: Recurrent) -> None:
        super().__init__(library)
        self.what, self.cell = what, what.cell
        time, batch, features, hidden = what.sizes
        self.x, self.out = self._dense(time, batch, features), self._dense(time, batch, hidden)
        self.state = self._dense(1, 1, batch, hidden)
        self.bias = self._dense(1, 1, self.cell.biases, hidden)
        self.given = [self._given(features), self._given(hidden)]
        self.any = [self._any(features), self._any(hidden)]
        self.states = [self.state] * self.cell.states
        self.operands = {_SRC: self.x, **dict(zip((_SRC_H, _SRC_C), self.states))}
        self.operands |= {_WEIGHTS: self.given[0], _RECURRENT: self.given[1], _BIAS: self.bias}
        self.results = {_DST: self.out, **dict(zip((_DST_C,), self.states[1:]))}

    def job(self) -> Job:
        """The job on the arrays that are named where it is described."""
        if self.what.kind == "inference":
            return self._inference()
        return self._training() if self.what.kind == "training" else self._gradients(self.what.kind == "gradients")

    def _inference(self) -> Job:
        memories, arrays = self._memories(self.operands | self.results)
        memories[_DST_H] = self.take(self.state)  # it is the output of the last step
        self._append(self.forward(_INFERENCE), memories)
        return Job(self.calls, arrays, self.made)

    def _training(self) -> Job:
        primitive, mark = self.forward(_TRAINING), self._bytes(1)
        memories, arrays = self._memories(self.operands | self.results | {_KEPT: self.kept_of(primitive), -_MARK: mark})
        marked = memories.pop(-_MARK)
        memories[_DST_H] = self.take(self.state)
        self._append(primitive, memories)
        one = (ctypes.c_uint8 * 1)(_MARK)
        self.made.arrays.append(one)
        self.reorder(mark, mark, self.memory(mark, ctypes.addressof(one)), marked)
        return Job(self.calls, arrays, self.made)

    def _gradients(self, kept: bool) -> Job:
        """`kept`: what the layer has kept is there, else it is computed once more."""
        forward = self.forward(_TRAINING)
        backward = self._backward(forward)
        wanted, kept_md = self.operands | self.results, self.kept_of(forward)
        results = {_GRADIENT | arg: md for arg, md in self.operands.items()}
        given = wanted | {_GRADIENT | arg: md for arg, md in self.results.items()}
        given |= {_KEPT: kept_md, -_MARK: self._bytes(1)}
        memories, arrays = self._memories(given | results)
        del memories[-_MARK]
        memories[_DST_H] = self.take(self.state)  # neither read, as it is the last output
        if not kept:
            memories[_KEPT] = self.take(kept_md)
            self._append(forward, {arg: memories[arg] for arg in (*wanted, _KEPT, _DST_H)})
        memories[_GRADIENT | _DST_H] = self._zeros(self.state)
        found = [(i, memories[_GRADIENT | arg]) for i, arg in enumerate((_WEIGHTS, _RECURRENT))]
        made = [_P(self.library.c.dnnl_primitive_desc_query_md(backward, _GRADIENTS_QUERY, i)) for i, _ in found]
        taken = [self.take(md) for md in made]
        memories |= {_GRADIENT | _WEIGHTS: taken[0], _GRADIENT | _RECURRENT: taken[1]}
        self._append(backward, memories)
        for (i, result), md, memory in zip(found, made, taken):
            self.reorder(md, self.given[i], memory, result)
        return Job(self.calls, arrays, self.made)

    # -- memory

    def _memories(self, places: dict[int, _P]) -> tuple[dict[int, _P], list[tuple[int, int]]]:
        memories = {arg: self.memory(md) for arg, md in places.items()}
        return memories, self.placed_later(list(memories.values()))

    def _zeros(self, md: _P) -> _P:
        zeros = (ctypes.c_uint8 * self.library.c.dnnl_memory_desc_get_size(md))()
        self.made.arrays.append(zeros)
        return self.memory(md, ctypes.addressof(zeros))

    # -- descriptors

    def _dense(self, *shape: int) -> _P:
        strides = strides_of(shape, tuple(range(len(shape))))
        return self.desc("memory_desc_create_with_strides", shape, ints(strides))

    def _bytes(self, n: int) -> _P:
        return self.desc("memory_desc_create_with_strides", (n,), ints((1,)), "uint8")

    def _given(self, inputs: int) -> _P:
        """Weights as they are given: (layer, direction, inputs, gate, output) by strides."""
        hidden, gates = self.what.hidden, self.cell.gates
        dims, size = (1, 1, inputs, gates, hidden), inputs * gates * hidden
        strides = (size, size, 1, hidden * inputs, inputs)
        return self.desc("memory_desc_create_with_strides", dims, ints(strides))

    def _any(self, inputs: int) -> _P:
        dims = (1, 1, inputs, self.cell.gates, self.what.hidden)
        return self.desc("memory_desc_create_with_tag", dims, onednn._TAG_ANY)

    def kept_of(self, primitive: _P) -> _P:
        """What a forward primitive keeps."""
        return _P(self.library.c.dnnl_primitive_desc_query_md(primitive, _KEPT_QUERY, 0))

    # -- primitives

    def forward(self, kind: int) -> _P:
        """The descriptor of the layer's primitive."""
        return self._created("forward", kind, self._arrays(), 0)

    def _backward(self, forward: _P) -> _P:
        return self._created("backward", _BACKWARD, [*self._arrays(), *self._arrays()], _OVERWRITE, forward)

    def _arrays(self) -> list[_P | None]:
        peephole_and_projection = [None, None] if self.cell.primitive == "lstm" else []
        return [self.x, *self.states, *self.any, *peephole_and_projection, self.bias, self.out, *self.states]

    def _created(self, way: str, kind: int, arrays: Sequence[_P | None], flags: int, *hint: _P) -> _P:
        made, order = self.made.new("primitive_desc"), _BACKWARDS if self.what.reverse else _FORWARDS
        create, engine = f"{self.cell.primitive}_{way}_primitive_desc_create", self.library.engine
        self.library(create, ctypes.byref(made), engine, kind, order, *arrays, flags, *hint, self.library.attributes)
        return made

    def _append(self, primitive: _P, memories: dict[int, _P]) -> None:
        """The weights in the order that oneDNN wants, then the primitive."""
        memories = dict(memories)
        for i, arg in enumerate((_WEIGHTS, _RECURRENT)):
            wanted = _P(self.library.c.dnnl_primitive_desc_query_md(primitive, _WEIGHTS_QUERY, i))
            if not self.library.c.dnnl_memory_desc_equal(wanted, self.given[i]):
                packed = self.take(wanted)
                self.reorder(self.given[i], wanted, memories[arg], packed)
                memories[arg] = packed
        self.append(primitive, list(memories.items()))


onednn.kinds["lstm"] = lambda target: Lstm.of_target(target).job()
onednn.kinds["gru"] = lambda target: Gru.of_target(target).job()
