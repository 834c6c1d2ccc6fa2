"""Programs for several devices: graphs whose inputs lie on a mesh, compiled once for each way in which they lie.

What is called eagerly on an array that lies on several devices is computed when it is called, as one such program:
it is not recorded with others. Inside fc.jit whole functions are (array/sharding.py).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import primitives as p
from .. import xla
from ..core.aval import aval, aval_of
from ..core.graph import Graph
from ..core.lowering import lower
from ..core.trace import Builder, outside_traces
from .compiling import without_passing_through
from .errors import RecompileError
from .history import callers_line, compiled
from .modes import log, settings
from .recorder import hooks
from .units import SCALAR_AVALS, Unit
from .value import SHARDED, Value, concrete, from_numpy, from_sharded, to_numpy

Shardings = tuple[xla.NamedSharding | None, ...]
DIFFERENT = "an operation of arrays on different devices: {first} and {other}; move one with fc.device_put"


class Program:
    """A graph compiled for a mesh: its executable, its constants, and where each result comes from."""

    def __init__(
        self, executable: xla.MeshProgram, hoisted: list[Any], ins: Shardings, outputs: tuple[int, ...] | None
    ) -> None:
        self.executable, self.hoisted, self.in_shardings, self.outputs = executable, hoisted, ins, outputs

    def __call__(self, buffers: list[Any]) -> list[Any]:
        """A buffer for each result, of buffers that lie as `in_shardings` say."""
        outs = self.executable(buffers + self.hoisted)
        return outs if self.outputs is None else [outs[i] if i >= 0 else buffers[-1 - i] for i in self.outputs]


def compile_for_mesh(
    graph: Graph,
    mesh: xla.Mesh,
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    why: str = "",
    uneven: bool = False,
) -> Program:
    """Compile a graph for the devices of a mesh; a sharding for each input, and one or None for each output.

    With `uneven` sizes may be no multiples of the parts: such buffers are stored with padding. ValueError without.
    """
    if settings.fail_on_recompile:
        raise RecompileError(f"compiling {graph.name} inside fail_on_recompile(): {why}")
    results = graph.out_avals  # as they are without padding
    if uneven:
        graph = _of_stored(graph, in_shardings, out_shardings)
    for a, sharding in zip((*graph.in_avals, *graph.out_avals), (*in_shardings, *out_shardings)):
        if sharding is not None:
            sharding.check(a.shape, f"program {graph.name}")
    slim, outputs = graph, None
    if all(s is None for s in out_shardings):
        slim, outputs = without_passing_through(graph)
        out_shardings = [None] * len(slim.outputs)
    platform, began = mesh.devices.flat[0].platform, time.perf_counter()
    with outside_traces():
        lowered = lower(slim, platform, mesh=mesh, in_shardings=in_shardings, out_shardings=out_shardings)
    if lowered.callbacks:
        raise NotImplementedError(f"{graph.name}: a program for several devices cannot call Python back")
    log(f"compile {graph.name} for {mesh.size} devices: {len(graph.nodes)} nodes; {why}")
    executable = xla.compile_for_mesh(
        lowered.text,
        mesh=mesh,
        outputs=lowered.outputs if outputs is not None else results,
        out_shardings=out_shardings,
        options=xla.choose_options(lowered.features) if platform == "cpu" else {},
        name=lowered.name,
    )
    compiled(graph.name, len(graph.nodes), why, callers_line(), began, from_disk=False)
    whole = xla.NamedSharding(mesh, xla.PartitionSpec())
    hoisted = [xla.put_sharded(to_numpy(v) if isinstance(v, Value) else np.asarray(v), whole) for v in lowered.hoisted]
    return Program(executable, hoisted, tuple(in_shardings), outputs)


def _of_stored(graph: Graph, ins: Sequence[Any], outs: Sequence[Any]) -> Graph:
    """The graph of what is stored: inputs whose padding is cut off first, outputs that get one."""
    pairs = [*zip(graph.in_avals, ins), *zip(graph.out_avals, outs)]
    if all(s is None or s.padded(a.shape) == a.shape for a, s in pairs):
        return graph
    with outside_traces(), Builder(graph.name) as builder:
        stored = [builder.input(aval(s.padded(a.shape), a.dtype)) for a, s in zip(graph.in_avals, ins)]
        args = [p.slice(x, start=(0,) * a.ndim, limit=a.shape) for x, a in zip(stored, graph.in_avals)]
        found = []
        for x, s in zip(builder.inline(graph, args), outs):
            shape = aval_of(x).shape
            high = [0] * len(shape) if s is None else [m - n for m, n in zip(s.padded(shape), shape)]
            zero = p.zeros(aval((), aval_of(x).dtype))
            found.append(p.pad(x, zero, low=(0,) * len(shape), high=high))
        return builder.finish(found)


# ---- values --------------------------------------------------------------------------------------


def sharding_of(value: Value) -> xla.NamedSharding | None:
    """How a value lies on several devices; None for one that does not."""
    return xla.sharding_of(value.data) if value.recording is SHARDED else None


def mesh_of(values: Sequence[Value]) -> xla.Mesh | None:
    """The mesh that some of the values lie on; ValueError if there are several, of different devices."""
    found = None
    for value in values:
        sharding = sharding_of(value)
        if sharding is None:
            continue
        if found is not None and list(found.devices.flat) != list(sharding.mesh.devices.flat):
            raise ValueError(DIFFERENT.format(first=found, other=sharding.mesh))
        found = found or sharding.mesh
    return found


def laid(value: Value, sharding: xla.NamedSharding) -> Any:
    """The value's buffer, lying as a sharding says."""
    found = sharding_of(value)
    if found is not None:
        if found.is_equivalent_to(sharding, value.aval.ndim):
            return value.data
        if list(found.mesh.devices.flat) == list(sharding.mesh.devices.flat):
            (moved,) = _mover(value.aval, found, sharding)([value.data])
            return moved
    concrete(value)
    return xla.put_sharded(to_numpy(value), sharding)


@functools.lru_cache(maxsize=1024)
def _mover(a: Any, found: xla.NamedSharding, wanted: xla.NamedSharding) -> Program:
    """The program that does nothing but lay an array otherwise."""
    return compile_for_mesh(Graph("move", [0], [], [0], [a]), wanted.mesh, [found], [wanted], "an array is moved", True)


def moved(value: Value, sharding: xla.NamedSharding) -> Value:
    """The value, lying as a sharding says."""
    return from_sharded(laid(value, sharding))


def all_moved(values: Sequence[Value], shardings: Sequence[xla.NamedSharding]) -> list[Value]:
    """Values that lie on one mesh, each lying as its sharding says; one program for all."""
    found = tuple([sharding_of(v) for v in values])
    program = _mover_of_all(tuple([v.aval for v in values]), found, tuple(shardings))
    return [from_sharded(b) for b in program([v.data for v in values])]


@functools.lru_cache(maxsize=1024)
def _mover_of_all(avals: tuple[Any, ...], found: Shardings, wanted: Shardings) -> Program:
    places = list(range(len(avals)))
    assert wanted[0] is not None
    return compile_for_mesh(Graph("move", places, [], places, list(avals)), wanted[0].mesh, found, wanted, "FSDP", True)


def all_summed(values: Sequence[Value], shardings: Sequence[xla.NamedSharding]) -> list[Value]:
    """The sums along the first dimension of values that lie on one mesh, as the shardings say; one program."""
    found = tuple([sharding_of(v) for v in values])
    program = _summer(tuple([v.aval for v in values]), found, tuple(shardings))
    return [from_sharded(b) for b in program([v.data for v in values])]


@functools.lru_cache(maxsize=1024)
def _summer(avals: tuple[Any, ...], found: Shardings, wanted: Shardings) -> Program:
    with outside_traces(), Builder("sum") as builder:
        graph = builder.finish([p.reduce_sum(builder.input(a), axes=(0,)) for a in avals])
    assert wanted[0] is not None
    return compile_for_mesh(graph, wanted[0].mesh, found, wanted, "FSDP", True)


def run(unit: Unit, operands: Sequence[Any], olds: Sequence[int | None] = ()) -> Any:
    """The results of a call of which some operands lie on several devices: these devices compute it. Result number i
    is to lie as operand olds[i] does, over which it is written."""
    values = [
        x if isinstance(x, Value) else from_numpy(np.asarray(x, SCALAR_AVALS[x.__class__].dtype)) for x in operands
    ]
    mesh = mesh_of(values)
    assert mesh is not None
    whole = xla.NamedSharding(mesh, xla.PartitionSpec())
    shardings = tuple([sharding_of(v) or whole for v in values])
    wanted = tuple([None if i is None else shardings[i] for i in olds]) or _as_uneven(unit, values, shardings)
    program = _program_of(unit, mesh, shardings, wanted)
    outs = [from_sharded(b) for b in program([laid(v, s) for v, s in zip(values, shardings)])]
    return outs if unit.multiple else outs[0]


@functools.lru_cache(maxsize=4096)
def _program_of(unit: Unit, mesh: xla.Mesh, shardings: Shardings, wanted: Shardings) -> Program:
    graph = unit.graph
    outs = wanted or (None,) * len(graph.outputs)
    return compile_for_mesh(graph, mesh, shardings, outs, "called on several devices", True)


def _as_uneven(unit: Unit, values: Sequence[Value], shardings: Shardings) -> Shardings:
    """For results of the shape of an operand whose sizes are no multiples of its parts: to lie as that. XLA divides no
    such result by itself."""
    found = {v.aval.shape: s for v, s in zip(values, shardings) if s and s.padded(v.aval.shape) != v.aval.shape}
    return tuple([found.get(a.shape) for a in unit.graph.out_avals]) if found else ()


def by_mesh(values: Sequence[Value]) -> list[list[int]]:
    """The numbers of the values that lie on the same devices."""
    found: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        sharding = sharding_of(value)
        found.setdefault(None if sharding is None else sharding.mesh, []).append(i)
    return list(found.values())


hooks.on_mesh = run
