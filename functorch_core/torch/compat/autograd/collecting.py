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
from collections.abc import Callable, Iterator, Sequence

from .... import xla
from ....core.tree import leaves
from ....engine import flush
from ....engine.recorder import hooks
from ....tracebacks import OURS
from ...dispatch.op import Composite, TorchOp
from ...dispatch.overrides import MEMBERS, USERS_MEMBERS, observed
from ...operators.index.indexing import getitem, setitem
from ...tensors.active import active
from ...tensors.base import Tensor
from ..library.aten import OF_NN, table
from ..utils.flop_counter import flops_of
from .profiler_util import FunctionEvent

ENGINE = "autograd::engine::evaluate_function: "
NAMES = {torch_name: aten for aten, torch_name in OF_NN.items() if aten != "nll_loss2d"}  # of torch.nn.functional
# Where functions of these namespaces live, here and by PyTorch's names.
LINALG = ("functorch_core.torch.operators.linalg.", "torch.linalg", "torch._C._linalg")
NN = ("functorch_core.torch.operators.nn.", "torch.nn.functional", "torch._C._nn")
# Functions and methods that call an operator of another name, or none.
CALLS: dict[str, str | None] = dict.fromkeys(
    "bfloat16 bool byte char cpu cuda double float half int long short".split(), "to"
)
CALLS |= {"tensor": "lift_fresh", "contiguous": None}
# What methods of tensors do outside of operators.
UNLISTED = frozenset({*MEMBERS, *USERS_MEMBERS}) - {"item", "detach", "detach_"}


def operator_of(function: Callable, kwargs: dict) -> str | None:
    """PyTorch's operator behind a function or a method of tensors; None if it is none."""
    name = getattr(function, "__name__", "")
    if function is getitem or function is setitem:
        return name
    if name in CALLS:
        return CALLS[name]
    if not isinstance(function, (TorchOp, Composite)):
        home = getattr(function, "__module__", None) or ""
        if home.startswith(LINALG):
            name = f"linalg_{name.removeprefix('linalg_')}"
        elif home.startswith(NN):
            name = NAMES.get(name, name) + ("_" if kwargs.get("inplace") else "")
        elif name in UNLISTED or not getattr(function, "__qualname__", "").startswith("Tensor."):
            return None
    return name if name in table() else None


def indexing_operators(index, value=None) -> list[str]:
    """The operators that PyTorch calls for x[index], or for x[index] = value."""
    names, advanced = [], False
    for part in index if isinstance(index, tuple) else (index,):
        if part is None:
            names.append("unsqueeze")
        elif isinstance(part, slice):
            names += ["slice"] if part != slice(None) else []
        elif isinstance(part, int) and not isinstance(part, bool):
            names.append("select")
        elif part is not Ellipsis:
            advanced = True
    if value is None:
        return [*names, "index"] if advanced else names or ["alias"]
    if advanced:
        return [*names, "index_put_"]
    return [*names, "copy_" if isinstance(value, Tensor) and value.dim() else "fill_"]


class Collector:
    """Collects the events of the thread that makes it, from `start` to `stop`."""

    def __init__(self, record_shapes: bool = False, with_stack: bool = False, with_flops: bool = False):
        self.record_shapes, self.with_stack, self.with_flops = record_shapes or with_flops, with_stack, with_flops
        self.thread, self.events = threading.get_ident(), []
        self.open: list[FunctionEvent] = []
        self.inside: Callable | None = None  # the operator that is being called

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
        names = [operator_of(function, kwargs)]
        if function is getitem:
            names = indexing_operators(args[1])
        elif function is setitem:
            names = indexing_operators(args[1], args[2])
        event = self._begin(f"aten::{names[0]}", args)
        outer, self.inside = self.inside, function
        try:
            result = function(*args, **kwargs)
            event.cpu_memory_usage += _wait(result, args)
        finally:
            self.inside = outer
            self._end(event)
        for name in names[1:]:  # of a view of several steps, which take no time of their own here
            self._end(self._begin(f"aten::{name}", args))
        return result

    def node(self, name: str, apply: Callable, grads: Sequence, create_graph: bool):
        """Compute a node of a backward pass; two events, as in PyTorch."""
        if threading.get_ident() != self.thread:
            return apply(grads, create_graph)
        with self.range(ENGINE + name), self.range(name, grads) as event:
            found = apply(grads, create_graph)
            event.cpu_memory_usage += _wait(found, grads)
            return found

    @contextlib.contextmanager
    def range(self, name: str, args: Sequence = (), is_user_annotation: bool = False) -> Iterator[FunctionEvent]:
        """Context: an event."""
        event = self._begin(name, args)
        event.is_user_annotation = is_user_annotation
        try:
            yield event
            flush("a range ends that is measured")
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
        if self.with_flops and self.open and threading.get_ident() == self.thread:
            flops = sum([flops_of(unit) for unit, _ in recording.calls()])
            self.open[-1].flops = (self.open[-1].flops or 0) + flops
        return self._compute(recording, why, tier)


def _now() -> float:
    return time.perf_counter_ns() / 1000


def _shape(x) -> list:
    if isinstance(x, Tensor):
        return list(x._read().aval.shape)
    return [_shape(y) for y in x if isinstance(y, Tensor)] if isinstance(x, (tuple, list)) else []


def _wait(result, args: Sequence) -> int:
    """Wait until a result is computed; how many bytes of it are new."""
    flush("an operator is measured")
    given, taken = {id(x) for x in args}, 0
    for x in leaves(result) if isinstance(result, (tuple, list)) else (result,):
        value = x._value if isinstance(x, Tensor) and id(x) not in given else None
        if value is None or getattr(x, "_level", None) is not None:
            continue  # no tensor, a view, or what was given
        data = value.data
        if isinstance(data, xla.Buffer):
            xla.block(data)
        if x._view is None:
            taken += value.aval.nbytes
    return taken


def _stack() -> list[str]:
    """The user's lines that are being executed, innermost first, as "file(line): function"."""
    lines, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) and code.co_filename != contextlib.__file__:
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
