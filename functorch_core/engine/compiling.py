"""Graphs to executables: lowering, options, the cause of a compilation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from .. import xla
from ..core.graph import Graph, opened, subgraphs
from ..core.lowering import Lowered, lower
from ..core.trace import outside_traces
from ..xla.device import Device
from ..xla.executable import Executable
from .cost import work_of
from .donation import aliases
from .errors import RecompileError
from .history import callers_line, compiled
from .layout import channels_last
from .loops import computed_once, overwriting
from .modes import log, settings
from .parts import parts_of
from .products import by_library
from .progress import compiling
from .value import Value, to_buffer


class Program:
    """An executable, its hidden constant inputs, and where each result comes from.

    `outputs[i]` is the executable's output for result i; -1 - k says that result i is input k
    itself, which XLA would only copy.
    """

    __slots__ = ("executable", "run", "hoisted", "outputs", "device")

    def __init__(self, executable: Executable, hoisted: list[Any], outputs: tuple[int, ...] | None) -> None:
        self.executable, self.run, self.device = executable, executable.run, executable.device
        self.hoisted, self.outputs = hoisted, outputs

    def __call__(self, buffers: list[Any]) -> list[Any]:
        """Run on buffers of the right avals and device; a buffer for each result."""
        outs = self.run(buffers + self.hoisted if self.hoisted else buffers)
        return self.results(outs, buffers)

    def run_into(self, buffers: list[Any], found: list[Any]) -> None:
        """Run; append the executable's outputs to `found` in one step (see Executable.run_into)."""
        self.executable.run_into(buffers + self.hoisted if self.hoisted else buffers, found)

    def results(self, outs: list[Any], buffers: list[Any]) -> list[Any]:
        """A buffer for each result, of the executable's outputs and the inputs."""
        if self.outputs is None:
            return outs
        return [outs[i] if i >= 0 else buffers[-1 - i] for i in self.outputs]

    @property
    def executables(self) -> list[Executable]:
        """What it runs, in order."""
        return [self.executable]


class ProgramInParts:
    """Two programs, one after the other, in the place of one (see parts).

    The first overwrites none of its inputs: until the second runs nothing has happened, should it be interrupted.
    """

    __slots__ = ("first", "second", "taken", "given", "device")

    def __init__(self, first: Program, second: Program, taken: tuple[int, ...], given: tuple[int, ...]) -> None:
        self.first, self.second, self.device = first, second, first.device
        self.taken, self.given = taken, given

    def __call__(self, buffers: list[Any]) -> list[Any]:
        """Run on buffers of the right avals and device; a buffer for each result."""
        found: list[Any] = []
        self.run_into(buffers, found)
        return self.results(found[0], buffers)

    def run_into(self, buffers: list[Any], found: list[Any]) -> None:
        """Run; append what both gave to `found` in one step (see Executable.run_into)."""
        begun = self.first(buffers)
        there = buffers + begun
        self.second.executable.run_into([there[i] for i in self.taken] + self.second.hoisted, found, begun)

    def results(self, outs: list[Any], buffers: list[Any]) -> list[Any]:
        """A buffer for each result, of what both gave and the inputs."""
        there = buffers + outs
        return [there[i] for i in self.given]

    @property
    def executables(self) -> list[Executable]:
        """What it runs, in order."""
        return [self.first.executable, self.second.executable]


def compile_recording(
    graph: Graph, device: Device, donate: Sequence[int], *, name: str, why: str, place: str, on_this_thread: bool
) -> Program | ProgramInParts:
    """Compile what was recorded, as `compile_graph` does; a large program for the CPU in two parts, and quickly what
    computes little."""
    said: dict[str, Any] = {"why": why, "place": place, "on_this_thread": on_this_thread}
    on_cpu = device.platform == "cpu"
    parts = parts_of(graph) if on_cpu else None
    if parts is None:
        return compile_graph(graph, device, donate=donate, name=name, fast=on_cpu and computes_little(graph), **said)
    free = {graph.inputs[i] for i in donate}.union(parts.first.outputs).difference(graph.outputs)
    first = compile_graph(parts.first, device, name=f"{name}_begun", **said)
    donate = [i for i, slot in enumerate(parts.second.inputs) if slot in free]
    second = compile_graph(parts.second, device, donate=donate, name=f"{name}_ended", **said)
    return ProgramInParts(first, second, parts.taken, parts.given)


def compile_graph(
    graph: Graph,
    device: Device,
    *,
    donate: Sequence[int] = (),
    name: str = "",
    why: str = "",
    place: str = "",
    fast: bool = False,
    asked: bool = False,
    on_this_thread: bool = False,
) -> Program:
    """Compile a graph for a device. `fast` spends little on optimisation.

    `donate` are inputs nobody else needs; `asked`: because the user said so (see donation), who calls
    the program often (fc.jit). `place`: the user's lines whose operations it has, if not the one that is executed.
    `on_this_thread`: it runs on the thread that calls it (see `xla.compile`).
    """
    if settings.fail_on_recompile:
        raise RecompileError(f"compiling {name or graph.name} inside fail_on_recompile(): {why}")
    began = time.perf_counter()
    slim, outputs = without_passing_through(graph)
    passed = {-1 - i for i in outputs or () if i < 0}
    alias = aliases(slim, [k for k in donate if k not in passed], asked)
    with outside_traces():
        laid = by_library(computed_once(channels_last(slim, asked), alias)) if device.platform == "cpu" else slim
        lowered = lower(laid, device.platform, alias, features=_features_of(laid, asked))
        hoisted = [to_buffer(v) if isinstance(v, Value) else xla.put(v, device) for v in lowered.hoisted]
    log(f"compile {name or graph.name}: {len(graph.nodes)} nodes; {why}")
    with compiling(name or graph.name, len(graph.nodes)):
        features = lowered.features | ({"donated"} if _wants_emitters(slim, alias) else set())
        if len(slim.nodes) > MOST_NODES:  # the roots are an optimizer's
            features -= {"distance"}
        executable = compile_lowered(lowered, device, features, fast, on_this_thread)
    compiled(name or graph.name, len(graph.nodes), why, place or callers_line(), began, executable.from_disk_cache)
    return Program(executable, hoisted, outputs)


LONG = 512  # nodes
# Microseconds that NumPy spends on the elements of a node. Code that is not optimised takes five times as long; to
# record a call, of some three nodes, takes 2 to 3.
LITTLE = 0.05
LOOPS = frozenset("elementwise transcendental convert structure index reduction".split())  # what XLA writes as loops


def computes_little(graph: Graph) -> bool:
    """Whether it is long, and what it computes takes less time than recording it, however it is compiled."""
    if len(graph.nodes) < LONG:
        return False
    flat = opened(graph)
    if not all([node.primitive.traits.family in LOOPS for node in flat.nodes]):
        return False
    return sum([work_of(flat, node) for node in flat.nodes]) < LITTLE * len(flat.nodes)


WIDE = 64  # elements of a row; in shorter ones loops of wide vectors hardly begin


BRIEF = 10_000_000  # bytes in and out: one core takes 100 us
MANY = 1 << 15  # transcendental functions; 3 ns each
# Nodes of a program that has emitters for them, or for a few donated arrays: they keep 1.8 MB a loop until all are
# compiled. A neural ODE of 3,900 took 430 MB for 275, and 10.5 ms of processor time a step for 11.5.
MOST_NODES, FEW_DONATED = 3_000, 1 << 20


def _features_of(graph: Graph, asked: bool) -> list[str]:
    """What the options of a program depend on beside what its operations say."""
    features = ["brief"] if _is_brief(graph) else []
    if asked:  # by fc.jit
        features += ["jit"] if _has_wide_rows(graph) else ["jit", "narrow"]
    elif len(graph.nodes) <= MOST_NODES and overwriting(graph) >= MANY:
        features.append("in_place")
    return features


def _wants_emitters(graph: Graph, alias: Mapping[int, int]) -> bool:
    """Whether the loops that write over donated inputs are worth emitters for the whole program."""
    donated = sum([graph.avals[graph.inputs[i]].nbytes for i in alias])
    return donated > 0 and (donated > FEW_DONATED or len(graph.nodes) <= MOST_NODES)


def _is_brief(graph: Graph) -> bool:
    """Whether it does little more than to read and write a few megabytes."""
    ends = sum(graph.avals[slot].nbytes for slot in (*graph.inputs, *graph.outputs))
    return ends <= BRIEF and _goes_through_memory(graph)


def _goes_through_memory(graph: Graph) -> bool:
    """Whether it moves elements, and computes with each no more than a few instructions."""
    return all(
        node.primitive.traits.family in ("elementwise", "structure", "index", "custom")
        and all(map(_goes_through_memory, subgraphs(node)))
        for node in graph.nodes
    )


def _has_wide_rows(graph: Graph) -> bool:
    """Whether a transcendental function is computed of long rows, be it within a loop."""
    for node in graph.nodes:
        if node.primitive.traits.family == "transcendental" and graph.avals[node.outputs[0]].shape[-1:] >= (WIDE,):
            return True
        if any(map(_has_wide_rows, subgraphs(node))):
            return True
    return False


def compile_lowered(
    lowered: Lowered, device: Device, features: frozenset[str], fast: bool = False, on_this_thread: bool = False
) -> Executable:
    """Compile a lowered module with the options that its features ask for."""
    options: Mapping[str, object] = {}
    if device.platform == "cpu":
        options = xla.choose_options(features, fast)
    callbacks = [xla.Callback(fun, outs) for fun, outs in lowered.callbacks]
    return xla.compile(
        lowered.text,
        inputs=lowered.inputs,
        outputs=lowered.outputs,
        device=device,
        options=options,
        callbacks=callbacks,
        name=lowered.name,
        on_this_thread=on_this_thread,
    )


def without_passing_through(graph: Graph) -> tuple[Graph, tuple[int, ...] | None]:
    """The graph without outputs that are inputs or repeated, and where each result comes from."""
    inputs = {slot: k for k, slot in enumerate(graph.inputs)}
    kept = list(dict.fromkeys(s for s in graph.outputs if s not in inputs))
    if len(kept) == len(graph.outputs):
        return graph, None
    where = {slot: i for i, slot in enumerate(kept)}
    outputs = tuple(where[s] if s in where else -1 - inputs[s] for s in graph.outputs)
    return Graph(graph.name, graph.inputs, graph.nodes, kept, graph.avals), outputs
