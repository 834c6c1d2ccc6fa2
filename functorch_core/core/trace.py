"""Tracing: run a Python function on stand-ins and write down what it does as a graph.

There is one kind of stand-in, `Traced`, and one thing that happens to it: the builder of the
innermost trace appends a node. Transforms are functions of finished graphs, so that nothing here
knows about derivatives or batches.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from .aval import Aval, aval_of
from .emulated import by_wider
from .errors import LEAK_MESSAGE, NOT_LINEAR_MESSAGE, LeakError
from .graph import Graph, Literal, Node
from .outside import AskedByEngine, Noting, surroundings
from .primitive import NOT_LINEAR, Linear, Primitive, Traits
from .reference import conform, reference_of
from .types import ArrayLike, Function
from .unknown import not_known, place_of

if TYPE_CHECKING:
    from .lowering import LowerContext, Operand


class _State(threading.local):
    builder: Builder | None = None
    scope = ""


state = _State()  # .builder: the innermost trace of this thread; .scope: the named scope, "layer/attention"


# Those of all threads: where there are none, `state` need not be asked (which costs 35 ns).
open_traces: set[Builder] = set()


class Traced(AskedByEngine):
    """A value of a graph being built: an aval and a slot, no data."""

    __slots__ = ("aval", "builder", "slot")

    def __init__(self, aval: Aval, builder: Builder, slot: int) -> None:
        self.aval, self.builder, self.slot = aval, builder, slot

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>"

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise not_known("np.asarray", self)

    def __bool__(self) -> bool:
        raise not_known("bool (an `if`, `while`, `and`)", self)


class Builder(Noting):
    """A graph under construction. Values of enclosing traces become captured inputs.

    `operands` are the values of the inputs where the graph is traced for them alone (an eager
    derivative): Python can then branch on what was computed from them, see value_of.
    """

    def __init__(self, name: str = "graph", operands: Sequence[Any] | None = None) -> None:
        self.name, self.open, self.operands = name, False, operands
        self.values: dict[int, object] = {}  # slot -> value, as far as value_of needed it
        self.parent: Builder | None = None
        self.avals: list[Aval] = []
        self.nodes: list[Node] = []
        self.inputs: list[int] = []
        self.captures: dict[Traced, int] = {}
        self.constants: dict[int, tuple[int, object]] = {}  # id of a concrete value -> slot, value
        self.ordered: tuple[Any, ...] = (None, 0)  # the last ordered callback's token, how many nodes till then
        self.source: tuple[Any, ...] | None = None  # set by transforms: the user's line of the original node
        self.entered: FrameType | None = None  # what made it the innermost one, and the user's line around that
        self.around: tuple[str, int, str] | None = None

    # -- the trace as a context: `with builder:` makes it the innermost one

    def __enter__(self) -> Self:
        self.entered, self.around = sys._getframe(1), None
        try:
            open_traces.add(self)
        except BaseException:  # Ctrl-C
            open_traces.discard(self)
            raise
        self.parent, state.builder, self.open = state.builder, self, True
        return self

    def __exit__(self, *exc: Any) -> None:
        state.builder, self.open, self.entered = self.parent, False, None
        open_traces.discard(self)

    # -- inputs and values from outside

    def new_slot(self, aval: Aval) -> int:
        """A fresh slot."""
        self.avals.append(aval)
        return len(self.avals) - 1

    def input(self, aval: Aval) -> Traced:
        """A further input."""
        slot = self.new_slot(aval)
        self.inputs.append(slot)
        return Traced(aval, self, slot)

    def lift(self, x: ArrayLike) -> int:
        """The slot of any value: ours, an enclosing trace's (captured), or a concrete one."""
        if x.__class__ is Traced:
            if x.builder is self:
                return x.slot
            if x in self.captures:
                return self.captures[x]
            if not x.builder.open:
                raise leaked(x)
            slot = self.captures[x] = self.new_slot(x.aval)
            return slot
        found = self.constants.get(id(x))
        if found is None:
            found = self.constants[id(x)] = (self._constant(x), x)
        return found[0]

    def _constant(self, x: ArrayLike) -> int:
        if isinstance(x, Linear):  # a transpose rule would multiply by what it is linear in
            raise TypeError(NOT_LINEAR_MESSAGE)
        literal = Literal(x)
        return self.append(constant_p, (), {"value": literal}, (literal.aval,), None)[0]

    # -- nodes

    def append(
        self,
        primitive: Primitive,
        inputs: tuple[int, ...],
        params: dict[str, Any],
        out_avals: Sequence[Aval],
        source: tuple[str, int, str] | None,
    ) -> tuple[int, ...]:
        """Write a node whose output avals are known; the slots of its outputs."""
        first = len(self.avals)
        self.avals.extend(out_avals)
        outputs = tuple(range(first, len(self.avals)))
        self.nodes.append(Node(primitive, inputs, outputs, params, source))
        return outputs

    def add(self, primitive: Primitive, args: Sequence[ArrayLike], params: dict[str, Any]) -> Any:
        """Write a node; the traced result, a list of them if the primitive is multiple."""
        inputs = tuple([a.slot if a.__class__ is Traced and a.builder is self else self.lift(a) for a in args])
        avals = self.avals
        out = primitive.shape(*[avals[s] for s in inputs], **params)
        source = self.source or self._user_source()
        if state.scope:
            source = (*(source or ("", 0, "")), state.scope)
        if primitive.multiple:
            slots = self.append(primitive, inputs, params, out, source)
            return [Traced(a, self, s) for a, s in zip(out, slots)]
        (slot,) = self.append(primitive, inputs, params, (out,), source)
        return Traced(out, self, slot)

    def _user_source(self) -> tuple[str, int, str] | None:
        """user_source(), of which the part around the trace is looked for once: 1.5 us of 2 a node less."""
        frame, entered = sys._getframe(2), self.entered
        while frame is not None and frame is not entered:
            code = frame.f_code
            if not _is_internal(code):
                return code.co_filename, frame.f_lineno, code.co_name
            frame = frame.f_back  # type: ignore[assignment]  # None at the end
        if frame is None:
            return None
        if self.around is None or not _is_internal(frame.f_code):
            self.around = source_of(frame)
        return self.around

    def inline(self, graph: Graph, args: Sequence[ArrayLike]) -> list[Traced]:
        """Copy a graph's nodes here, with `args` for its inputs; its outputs."""
        slots = dict(zip(graph.inputs, map(self.lift, args), strict=True))
        for node in graph.nodes:
            outs = self.append(
                node.primitive,
                tuple([slots[s] for s in node.inputs]),
                node.params,
                [graph.avals[s] for s in node.outputs],
                node.source,
            )
            slots.update(zip(node.outputs, outs))
        return [Traced(graph.avals[s], self, slots[s]) for s in graph.outputs]

    def value_of(self, x: Traced) -> Any:
        """What x, one of ours, is at the operands; None where they are not known."""
        if self.operands is None:
            return None
        known = {
            **dict(zip(self.inputs, self.operands)),
            **{slot: captured for captured, slot in self.captures.items()},
            **self.values,
        }
        for node in nodes_for(self.nodes, x.slot, known):
            args = [concrete(known[s]) for s in node.inputs]
            if any(a is None for a in args):
                return None
            with outside_traces():
                outs = bind(node.primitive, *args, **node.params)
            outs = dict(zip(node.outputs, outs if node.primitive.multiple else (outs,)))
            known.update(outs)
            self.values.update(outs)
        return concrete(known[x.slot])

    def finish(self, outputs: Sequence[ArrayLike]) -> Graph:
        """The graph: inputs in order, then the captured ones."""
        slots = [self.lift(x) for x in outputs]
        inputs = self.inputs + list(self.captures.values())
        return Graph(self.name, inputs, self.nodes, slots, self.avals)


def leaked(x: Traced) -> LeakError:
    """The error for a traced value of a trace that has ended: which it was, where it was made."""
    made = (n.source for n in x.builder.nodes if x.slot in n.outputs and n.source)
    place = next((f" at {s[0]}:{s[1]}" for s in made), "")
    fun, _ = x.builder.arguments or (None, None)
    name = getattr(fun, "__name__", x.builder.name)
    return LeakError(LEAK_MESSAGE.format(value=x, name=name, place=place or place_of(fun)))


def nodes_for(nodes: Sequence[Node], slot: int, known: Mapping[Any, Any]) -> list[Node]:
    """The nodes, in order, that make a slot from known ones."""
    needed, found = {slot}, []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs) and not known.keys() >= set(node.outputs):
            needed.update(node.inputs)
            found.append(node)
    return found[::-1]


def concrete(x: Any) -> Any:
    """The value of x: itself, or for a traced one what its trace knows; None if it knows nothing."""
    return x.builder.value_of(x) if x.__class__ is Traced else x


def current() -> Builder | None:
    """The innermost trace of this thread, or None."""
    return state.builder


class outside_traces:
    """Context: as if no trace were active (to compute something concrete inside a rule)."""

    def __enter__(self) -> None:
        self.saved, state.builder = state.builder, None

    def __exit__(self, *exc: Any) -> None:
        state.builder = self.saved


# ---- binding -------------------------------------------------------------------------------------


def bind(primitive: Primitive, *args: ArrayLike, **params: Any) -> Any:
    """Apply a primitive: write a node if a trace is active, otherwise compute."""
    builder = state.builder
    if builder is None:
        for param in params.values():
            if param.__class__ is Graph or param.__class__ is tuple:
                settle(param)
        return _eager.bind(primitive, args, params)
    return builder.add(primitive, args, params)


def settle(graph: Any) -> None:
    """Compute what a graph (or a tuple of them) closes over and is only recorded so far.

    The body of a loop that runs at once is no part of the recording that its constants wait in.
    """
    if graph.__class__ is tuple:
        for part in graph:
            settle(part)
    elif graph.__class__ is Graph and graph.memo.get("settled") is None:
        graph.memo["settled"] = True
        for node in graph.nodes:
            literal = node.params.get("value") if node.primitive is constant_p else None
            recording = getattr(getattr(literal, "value", None), "recording", None)
            if recording is not None:
                recording.flush("a loop closes over a value")
            for param in node.params.values():
                settle(param)


def run(graph: Graph, args: Sequence[ArrayLike]) -> list[Any]:
    """Apply a graph to values: inlined in the active trace, otherwise computed."""
    builder = state.builder
    if builder is None:
        if graph.memo.get("bodies settled") is None:
            graph.memo["bodies settled"] = True
            for node in graph.nodes:
                settle(tuple(node.params.values()))
        return _eager.run(graph, args)
    return builder.inline(graph, args)


class _ReferenceEngine:
    """Computes by the NumPy reference until the engine installs itself."""

    @staticmethod
    def bind(primitive: Any, args: Any, params: Any) -> Any:
        return evaluate_node(primitive, [np.asarray(a) for a in args], params)

    @staticmethod
    def run(graph: Graph, args: Any) -> Any:
        return evaluate(graph, args)


_eager = _ReferenceEngine


def set_engine(engine: Any) -> None:
    """Install what computes outside traces: an object with `bind` and `run`."""
    global _eager
    _eager = engine


def evaluate(graph: Graph, args: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of a graph by the NumPy reference rules, on host arrays."""
    if _watch is not None:
        return _evaluate_watched(graph, args, _watch)
    with np.errstate(all="ignore"):
        return reference_of(graph)([np.asarray(a) for a in args])


def _evaluate_watched(graph: Graph, args: Sequence[Any], watch: Function) -> list[np.ndarray]:
    graph = by_wider(graph)
    env = dict(zip(graph.inputs, map(np.asarray, args), strict=True))
    for node in graph.nodes:
        args = [env[s] for s in node.inputs]
        outs = evaluate_node(node.primitive, args, node.params)
        outs = outs if node.primitive.multiple else (outs,)
        watch(node, args, outs)
        env.update(zip(node.outputs, outs))
    return [env[s] for s in graph.outputs]


_watch: Function | None = None


@contextlib.contextmanager
def watching(watch: Function) -> Iterator[None]:
    """Context: evaluate calls watch(node, args, outs) for each node, those of inner graphs too."""
    global _watch
    saved, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = saved


def evaluate_node(primitive: Primitive, arrays: Sequence[np.ndarray], params: dict[Any, Any]) -> Any:
    """One primitive by its reference rule, with the aval its shape rule promises."""
    expected = primitive.shape(*map(aval_of, arrays), **params)
    with np.errstate(all="ignore"):
        out = primitive.rule("reference")(*arrays, **params)
    if primitive.multiple:
        return [conform(o, a) for o, a in zip(out, expected, strict=True)]
    return conform(out, expected)


# ---- tracing a function ----------------------------------------------------------------------------


def trace(
    fun: Function, in_avals: Sequence[Aval], name: str = "graph", operands: Any = None, noted: Any = None
) -> tuple[Graph, list[Any]]:
    """Trace fun(*traced) -> sequence of values. The graph, and the values it captured.

    The graph's inputs are `in_avals` in order, then one for each captured value of an enclosing
    trace: run it as run(graph, [*args, *captures]). `operands`, `noted`: see Builder.
    """
    builder = Builder(name, operands)
    with builder.noting(noted), surroundings.enter():
        return _finished(fun, in_avals, builder)


def _finished(fun: Function, in_avals: Sequence[Aval], builder: Builder) -> tuple[Graph, list[Any]]:
    graph = builder.finish(fun(*[builder.input(a) for a in in_avals]))
    return graph, list(builder.captures)


def trace_closed(fun: Function, in_avals: Sequence[Aval], name: str = "graph") -> Graph:
    """Trace a function of the library's that must not capture traced values (a rule, a lowering)."""
    builder = Builder(name)
    with builder.noting(None):
        graph, captures = _finished(fun, in_avals, builder)
    if captures:
        raise LeakError(
            f"`{name}` closes over {captures[0]}, a value of an enclosing trace.\n"
            "    Pass it as an argument instead: a rule is traced on its own."
        )
    return graph


# ---- where the user was ----------------------------------------------------------------------------

_PACKAGE = Path(__file__).resolve().parent.parent
INTERNAL = tuple(f"{p}/" for p in (_PACKAGE, *(_PACKAGE.parent / n for n in ("nn", "optim", "data"))))


class _Internal(dict[CodeType, bool]):
    """Whether code is this library's."""

    def __missing__(self, code: CodeType) -> bool:
        found = self[code] = code.co_filename.startswith(INTERNAL)
        return found


_is_internal = _Internal().__getitem__


def user_source() -> tuple[str, int, str] | None:
    """(file, line, function) of the innermost frame that is not this library's."""
    return source_of(sys._getframe(2))


def source_of(frame: FrameType | None) -> tuple[str, int, str] | None:
    """The same of a frame and those that called it."""
    while frame is not None:
        code = frame.f_code
        if not _is_internal(code):
            return code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back
    return None


# ---- constant ----------------------------------------------------------------------------------------
# A concrete array inside a graph. Large ones become parameters of the executable (see lowering).


def _constant_lower(ctx: LowerContext, *, value: Literal) -> Operand:
    return ctx.constant(value)


constant_p: Primitive = Primitive(
    "constant",
    traits=Traits(family="structure", numpy=0, free=True, carries=True),
    shape=lambda *, value: value.aval,
    reference=lambda *, value: np.asarray(value.value),
    lower=_constant_lower,
    jvp=lambda primals, tangents, *, value: (bind(constant_p, value=value), None),
    transpose=NOT_LINEAR,
    batch=lambda axis, args, dims, *, value: (bind(constant_p, value=value), None),
)
