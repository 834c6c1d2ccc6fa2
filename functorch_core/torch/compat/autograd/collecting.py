"""What a profile collects: the operators that are called, the nodes of backward passes, and marked ranges.

While one is taken, its Collector is `active.observer`. Operators are computed when they are called then, each
as a recording of its own, and waited for: else one would be told the time of a program, not of its ops.
Where no profile is taken, nobody asks, beyond the tests for None that ops make anyway.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

from .... import xla
from ....engine import flush
from ....engine.recorder import hooks
from ....tracebacks import OURS
from ...dispatch.overrides import observed
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.pytree import tree_leaves
from ..library.called import called_operators, operator_of
from ..utils.flop_counter import flops_of
from .allocations import ENGINE, Memory
from .profiler_util import FunctionEvent


class Collector:
    """Collects the events of the thread that makes it, from `start` to `stop`."""

    def __init__(
        self,
        record_shapes: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
    ):
        self.record_shapes, self.with_stack, self.with_flops = record_shapes or with_flops, with_stack, with_flops
        self.thread, self.events = threading.get_ident(), []
        self.open: list[FunctionEvent] = []
        self.inside: Callable | None = None  # the operator that is being called
        self.memory = Memory(self._changed, self.open) if profile_memory else None

    def start(self):
        """Collect from now on; what was called before is computed first."""
        flush("a profile begins")
        self.outer, self._compute = active.observer, hooks.compute
        hooks.compute = self._counting
        active.observer = self
        observed(True)
        self.begun = _now()

    def stop(self):
        """Collect no more; what was called has been computed."""
        flush("a profile ends")
        self.ended = _now()
        if self.memory is not None:
            self.memory.close()
        hooks.compute, active.observer = self._compute, self.outer
        observed(False)

    # ---- what is told: of operators by dispatch/overrides.py, of nodes by tape/passes.py

    def takes(self, function: Callable) -> bool:
        """Whether a call of a function is an event, and not yet one."""
        if function is self.inside or threading.get_ident() != self.thread:
            return False
        return operator_of(function, {}) is not None

    def call(self, function: Callable, args: Sequence, kwargs: dict):
        """Call an operator; an event."""
        names = called_operators(function, args, kwargs)
        outer, self.inside = self.inside, function
        if outer is not None and self.open and self.open[-1].name == names[0]:
            try:  # the same by its other name: F.softmax and torch.softmax
                return function(*args, **kwargs)
            finally:
                self.inside = outer
        event = self._begin(names[0], args)
        try:
            if self.memory is not None:
                self.memory.meets(tree_leaves((args, kwargs)))
            told = self.outer is not None and self.outer.takes(function)
            result = self.outer.call(function, args, kwargs) if told else function(*args, **kwargs)
            self._wait(event, result)
        finally:
            self.inside = outer
            self._end(event)
        for name in names[1:]:  # of a view of several steps, which take no time of their own here
            self._end(self._begin(name, args))
        return result

    def node(self, name: str, apply: Callable, grads: Sequence, create_graph: bool):
        """Compute a node of a backward pass; two events, as in PyTorch."""
        if threading.get_ident() != self.thread:
            return apply(grads, create_graph)
        with self.range(ENGINE + name), self.range(name, grads) as event:
            found = apply(grads, create_graph)
            self._wait(event, found)
            return found

    @contextlib.contextmanager
    def range(self, name: str, args: Sequence = (), is_user_annotation: bool = False) -> Iterator[FunctionEvent]:
        """Context: an event."""
        event = self._begin(name, args)
        event.is_user_annotation = is_user_annotation
        try:
            yield event
            flush("a range ends that is measured")
            if self.memory is not None:
                self.memory.range_ends(event)
        finally:
            self._end(event)

    # ---- events

    def _begin(self, name: str, args: Sequence) -> FunctionEvent:
        shapes = [_shape(x) for x in args] if self.record_shapes else None
        stack = _stack() if self.with_stack else None
        event = FunctionEvent(len(self.events) + 1, name, self.thread, _now(), 0.0, input_shapes=shapes, stack=stack)
        if self.open:
            self.open[-1].append_cpu_child(event)
            event.set_cpu_parent(self.open[-1])
        self.events.append(event)
        self.open.append(event)
        return event

    def _end(self, event: FunctionEvent):
        event.time_range.end = _now()
        event.cpu_memory_usage += sum([c.cpu_memory_usage for c in event.cpu_children])
        while self.open and self.open.pop() is not event:  # ranges need not be nested
            pass

    def _counting(self, recording, why, tier):
        mine = threading.get_ident() == self.thread
        if self.with_flops and self.open and mine:
            flops = sum([flops_of(unit) for unit, _ in recording.calls()])
            self.open[-1].flops = (self.open[-1].flops or 0) + flops
        if self.memory is None or not mine:
            return self._compute(recording, why, tier)
        made = list(map(weakref.ref, recording.values))  # no references that would keep them alive
        self._compute(recording, why, tier)
        self.memory.made(made)

    def _changed(self, nbytes: int):
        """Memory was taken or freed, perhaps between events."""
        if self.open:
            self.open[-1].cpu_memory_usage += nbytes
        else:
            now = _now()
            event = FunctionEvent(len(self.events) + 1, "[memory]", self.thread, now, now, cpu_memory_usage=nbytes)
            self.events.append(event)

    def _wait(self, event: FunctionEvent, result):
        """Wait until the results of an event are computed."""
        flush("an operator is measured")
        found = [x for x in tree_leaves(result) if isinstance(x, Tensor) and getattr(x, "_level", None) is None]
        for x in found:
            value = x._value
            if value is not None and isinstance(value.data, xla.Buffer):
                xla.block(value.data)
        if self.memory is not None:
            self.memory.results(event, found)


def _now() -> float:
    return time.perf_counter_ns() / 1000


def _shape(x) -> list:
    if isinstance(x, Tensor):
        return list(x._read().aval.shape)
    return [_shape(y) for y in x if isinstance(y, Tensor)] if isinstance(x, (tuple, list)) else []


def _stack() -> list[str]:
    """The user's lines that are being executed, innermost first, as "file(line): function"."""
    lines, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) and code.co_filename != contextlib.__file__:
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
