"""What a profile collects: the operators that are called, the nodes of backward passes, and marked ranges.

While one is taken, its Collector is `active.observer`. Operators are computed when they are called then, each
as a recording of its own, and waited for: else one would be told the time of a program, not of its ops.
Where no profile is taken, nobody asks, beyond the tests for None that ops make anyway.
"""

from __future__ import annotations

import contextlib
import functools
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
from ..library.called import SEVERAL, listed_operators, operator_of
from ..library.overloads import choose
from ..utils.flop_counter import flops_of
from .allocations import ENGINE, Memory
from .profiler_util import FunctionEvent
from .sketches import MOVES_NOTHING, Called, Sketch, chain_of, is_sketched, node_leaf, padded, sketched


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
        self.passed: FunctionEvent | None = None  # the last node of a backward pass
        self.known = False  # whether it is known what that is made of: what computes it here is not asked
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
        self.events = _in_order(self.events)

    # ---- what is told: of operators by dispatch/overrides.py, of nodes by tape/passes.py

    def takes(self, function: Callable) -> bool:
        """Whether a call of a function is an event, and not yet one."""
        if self.known or function is self.inside or threading.get_ident() != self.thread:
            return False
        return operator_of(function, {}) is not None or getattr(function, "__name__", "") in SEVERAL

    def call(self, function: Callable, args: Sequence, kwargs: dict):
        """Call an operator; an event."""
        before, names = listed_operators(function, args, kwargs)
        outer, self.inside = self.inside, function
        if outer is not None and self.open and self.open[-1].name == names[0]:
            try:  # the same by its other name: F.softmax and torch.softmax
                return function(*args, **kwargs)
            finally:
                self.inside = outer
        for name in before:
            self.mentions(name)
        event = self._begin(names[0], args, kwargs)
        try:
            if self.memory is not None:
                self.memory.meets(tree_leaves((args, kwargs)))
            told = self.outer is not None and self.outer.takes(function)
            self.known = names[0].endswith("_") or is_sketched(names[0], args, kwargs)
            result = self.outer.call(function, args, kwargs) if told else function(*args, **kwargs)
            self._wait(event, result)
        finally:
            self.inside, self.known = outer, False
            self._end(event)
        self._sketch(event, lambda a: a.operator(names[0], args, kwargs, result))
        for name in names[1:]:  # of a view of several steps, which take no time of their own here
            made = args[0] if name == "aten::to" else result
            self.mentions(name, *args[:1], result=made)
        return result

    def mentions(self, name: str, *args, result=None):
        """List an operator that PyTorch calls here, and that takes no time of its own."""
        if threading.get_ident() == self.thread:
            self._end(event := self._begin(name, args))
            self._sketch(event, lambda a: a.operator(name, args, {}, result))

    def node(self, name: str, apply: Callable, grads: Sequence, create_graph: bool):
        """Compute a node of a backward pass; two events, as in PyTorch."""
        if threading.get_ident() != self.thread:
            return apply(grads, create_graph)
        node = getattr(apply, "__self__", None)
        before = getattr(node_leaf(node), "_grad", None)
        with self.range(ENGINE + name) as outer, self.range(name, grads) as event:
            found = apply(grads, create_graph)
            self._wait(event, found)
        self._sketch(event, lambda a: a.node(name, node, grads, before), outer)
        for further in chain_of(node):
            with self.range(ENGINE + further) as outer, self.range(further) as event:
                pass
            self._sketch(event, functools.partial(Sketch.node, name=further, node=node, grads=grads), outer)
            if self.record_shapes and event.cpu_children:
                event.input_shapes = (event.cpu_children[0].input_shapes or [])[:1]
        self.passed = outer
        return found

    def accumulates(self, a: Tensor, b: Tensor):
        """The gradient that a node has made is added to another: by the node's event, as in PyTorch. What may be shared
        with others is not written to."""
        outer = self.passed
        if outer is None or threading.get_ident() != self.thread:
            return
        parts = [part.name.removeprefix("aten::") for part in outer.cpu_children[0].cpu_children]
        name = "aten::add" if not parts or parts[-1] in MOVES_NOTHING else "aten::add_"
        self._attribute(outer, [Called(name, [_shape(a), _shape(b), []])], outer.time_range.end)

    @contextlib.contextmanager
    def range(
        self, name: str, args: Sequence = (), is_user_annotation: bool = False, parts: Callable | None = None
    ) -> Iterator[FunctionEvent]:
        """Context: an event. `parts`: a function that calls on a Sketch, or with Parts, what PyTorch calls there."""
        event = self._begin(name, args)
        event.is_user_annotation = is_user_annotation
        sketch = sketched(parts) if parts is not None else None
        try:
            yield event
            flush("a range ends that is measured")
            if self.memory is not None:
                self.memory.range_ends(event)
        finally:
            self._end(event)
            if sketch is not None and not event.cpu_children:
                self._attribute(event, sketch.calls)

    # ---- events

    def _begin(self, name: str, args: Sequence, kwargs: dict | None = None) -> FunctionEvent:
        shapes = shapes_of(name, args, kwargs or {}) if self.record_shapes else None
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

    # ---- what PyTorch calls inside of an event

    def _sketch(self, event: FunctionEvent, parts: Callable[[Sketch], object], outer: FunctionEvent | None = None):
        """Give an event, and the one around it, the parts that PyTorch has there."""
        if event.cpu_children:  # which were seen
            return
        before, self.known = self.known, True
        sketch = sketched(parts)
        self.known = before
        whole = Called(event.name, [])
        whole.parts = sketch.calls
        self._attribute(event, sketch.calls, keeps=whole.keeper())
        if outer is not None:
            self._attribute(outer, sketch.after, event.time_range.end)

    def _attribute(
        self, event: FunctionEvent, calls: Sequence[Called], begin: float | None = None, keeps: Called | None = None
    ):
        """Make events of what an event is made of: those that compute share its time, and `keeps` has its memory."""
        span = event.time_range
        weight, at = sum([c.weight() for c in calls]), span.start if begin is None else begin
        for called in calls:
            share = (span.end - at if begin is not None else span.elapsed_us()) * called.weight() / max(weight, 1)
            end = span.end if share and called is calls[-1] else min(at + share, span.end)
            shapes = called.shapes if self.record_shapes else None
            part = FunctionEvent(
                len(self.events) + 1, called.name, self.thread, at, end, input_shapes=shapes, stack=event.stack
            )
            part.cpu_memory_usage = event.cpu_memory_usage if called is keeps else 0
            if event.flops and called.short in ("mm", "addmm", "bmm"):  # PyTorch counts those of products there
                part.flops, event.flops = event.flops, None
            event.append_cpu_child(part)
            part.set_cpu_parent(event)
            self.events.append(part)
            self._attribute(part, called.parts, keeps=called.keeper() if called is keeps else None)
            at = end

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
            data = getattr(value, "data", None)  # memory that others write to has none yet
            if isinstance(data, xla.Buffer):
                xla.block(data)
        if self.memory is not None:
            self.memory.results(event, found)


def _now() -> float:
    return time.perf_counter_ns() / 1000


def shapes_of(name: str, args: Sequence, kwargs: dict) -> list:
    """The shapes of an operator's arguments in the order of its schema, as PyTorch lists them."""
    short = name.removeprefix("aten::")
    if short != name:
        with contextlib.suppress(Exception):  # what is no call of the operator's own
            chosen = choose(short, args, kwargs)
            if chosen is not None:
                schema, given, named = chosen
                listed = [_shape(x) for x in given]
                rest = [_shape(named.get(a.name)) for a in schema.arguments[len(listed) :]]
                return listed + rest
    return padded(short, [_shape(x) for x in args])


def _shape(x) -> list:
    return list(x._read().aval.shape) if isinstance(x, Tensor) else []


def _in_order(events: Sequence[FunctionEvent]) -> list[FunctionEvent]:
    """Each event before what it is made of."""
    found: list[FunctionEvent] = []
    waiting = [e for e in reversed(events) if e.cpu_parent is None]
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(found[-1].cpu_children)
    return found


def _stack() -> list[str]:
    """The user's lines that are being executed, innermost first, as "file(line): function"."""
    lines, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) and code.co_filename != contextlib.__file__:
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
