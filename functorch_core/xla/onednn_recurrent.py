"""A layer of an LSTM in one direction by oneDNN, float32: of host arrays, and called inside compiled programs.

The weights are given as they are (gates, inputs), and brought into oneDNN's own order at each call.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_void_p as _P
from typing import NamedTuple

from . import onednn
from .native_call import Job, Unsupported
from .onednn import Calls, ints, made_by, strides_of

# Multiplications of a step by the recurrent weights from which it is worth two threads, which meet often in each.
# A busy machine, minima (ms, XLA's loop, this): 8 steps, batch 4, 16 wide 0.08, 0.17; 50, 1, 64 0.15, 0.90; 100, 32, 64
# 5.0, 1.6; 32, 16, 128 2.1, 2.1 (1.2 and 0.4 on an idle one); 20, 64, 512 46, 27.
MANY = 1 << 19
HANDING_OVER, EACH_STEP, MACS_PER_MICROSECOND = 20.0, 4.0, 120_000.0
_INFERENCE, _FORWARDS, _BACKWARDS = 96, 1, 2  # in what order the steps are taken
_GATES = 4  # i, f, g, o, as in PyTorch
_SRC, _SRC_H, _SRC_C, _DST, _DST_H, _DST_C, _WEIGHTS, _RECURRENT, _BIAS = 1, 2, 3, 17, 18, 19, 33, 34, 41
_WEIGHTS_QUERY = 131  # the input's, then the recurrent ones


class Lstm(NamedTuple):
    """x (time, batch, features), h and c (batch, hidden), weights (4 * hidden, features) and (4 * hidden, hidden),
    bias (4 * hidden) -> outputs (time, batch, hidden), last c."""

    time: int
    batch: int
    features: int
    hidden: int
    reverse: bool

    def target(self) -> str:
        """The name of the custom call."""
        return f"onednn.lstm.{'_'.join(str(int(field)) for field in self)}"

    @classmethod
    def of_target(cls, target: str) -> Lstm:
        """What has this target."""
        time, batch, features, hidden, reverse = map(int, target.rsplit(".", 1)[1].split("_"))
        return cls(time, batch, features, hidden, bool(reverse))

    def job(self) -> Job:
        """The calls that compute it. Raises Unsupported if oneDNN has no fast way."""
        return _job_of(self)

    def microseconds(self) -> float:
        """An estimate for two cores: a loop of idle ones takes less, of busy ones up to twice that."""
        work = self.time * self.batch * _GATES * self.hidden * (self.features + self.hidden)
        return HANDING_OVER + EACH_STEP * self.time + work / MACS_PER_MICROSECOND

    def is_there(self) -> bool:
        """Whether oneDNN is quicker, in this process."""
        if 0 in self[:4] or self.batch * _GATES * self.hidden**2 < MANY:
            return False
        try:
            return onednn.is_available() and bool(_job_of(self))
        except (Unsupported, MemoryError):
            return False


@functools.lru_cache(maxsize=512)
def _job_of(what: Lstm) -> Job:
    return made_by(lambda library: _Stepping(library, what).job())


class _Stepping(Calls):
    """The calls of a layer: reorders of the weights, the primitive."""

    def __init__(self, library: onednn._Library, what: Lstm) -> None:
        super().__init__(library)
        self.what = what

    def _dense(self, *shape: int) -> _P:
        strides = strides_of(shape, tuple(range(len(shape))))
        return self.desc("memory_desc_create_with_strides", shape, ints(strides))

    def job(self) -> Job:
        """The job on the arrays that are named where it is described."""
        time, batch, features, hidden, _ = self.what
        x, out = self._dense(time, batch, features), self._dense(time, batch, hidden)
        state = self._dense(1, 1, batch, hidden)
        bias = self._dense(1, 1, _GATES, hidden)
        given = [self._given(features), self._given(hidden)]
        primitive = self._primitive(x, state, bias, out)
        places = [(_SRC, x), (_SRC_H, state), (_SRC_C, state), (_WEIGHTS, given[0]), (_RECURRENT, given[1])]
        places += [(_BIAS, bias), (_DST, out), (_DST_C, state)]
        memories = {arg: self.memory(md) for arg, md in places}
        arrays = self.placed_later(list(memories.values()))
        for i, arg in enumerate((_WEIGHTS, _RECURRENT)):
            memories[arg] = self._packed(primitive, i, given[i], memories[arg])
        memories[_DST_H] = self.take(state)  # it is the output of the last step
        self.append(primitive, list(memories.items()))
        return Job(self.calls, arrays, self.made)

    def _given(self, inputs: int) -> _P:
        """Weights as they are given: (layer, direction, inputs, gate, output) by strides."""
        hidden = self.what.hidden
        dims, size = (1, 1, inputs, _GATES, hidden), inputs * _GATES * hidden
        strides = (size, size, 1, hidden * inputs, inputs)
        return self.desc("memory_desc_create_with_strides", dims, ints(strides))

    def _any(self, inputs: int) -> _P:
        return self.desc("memory_desc_create_with_tag", (1, 1, inputs, _GATES, self.what.hidden), onednn._TAG_ANY)

    def _primitive(self, x: _P, state: _P, bias: _P, out: _P) -> _P:
        weights, recurrent = self._any(self.what.features), self._any(self.what.hidden)
        made, order = self.made.new("primitive_desc"), _BACKWARDS if self.what.reverse else _FORWARDS
        arrays = x, state, state, weights, recurrent, None, None, bias, out, state, state
        create = "lstm_forward_primitive_desc_create"
        self.library(
            create, ctypes.byref(made), self.library.engine, _INFERENCE, order, *arrays, 0, self.library.attributes
        )
        return self.quick(made)

    def _packed(self, primitive: _P, index: int, md: _P, memory: _P) -> _P:
        """Weights in the order that oneDNN wants."""
        wanted = _P(self.library.c.dnnl_primitive_desc_query_md(primitive, _WEIGHTS_QUERY, index))
        if self.library.c.dnnl_memory_desc_equal(wanted, md):
            return memory
        packed = self.take(wanted)
        self.reorder(md, wanted, memory, packed)
        return packed


onednn.kinds["lstm"] = lambda target: Lstm.of_target(target).job()
