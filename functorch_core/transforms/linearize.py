"""Partial evaluation: split a graph at the values that are not known yet.

    partial_eval(graph, unknown) -> known:   known inputs                -> known outputs, residuals
                                    unknown: residuals + unknown inputs  -> unknown outputs

Linearizing is this, applied to the graph of a jvp with the tangents unknown: what remains in the
second graph is linear in its unknown inputs.

A primitive that holds graphs may be split itself: its rule `partial_eval(splitter, args, node)`
gets the `Splitter`, writes into both halves and returns the node's outputs, each in one of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from ..core.graph import Graph, Node, cse, dce, memoised
from ..core.primitive import Primitive
from ..core.trace import Builder, Traced
from ..core.types import Value
from .jvp import copy_node, jvp


@dataclass(frozen=True, slots=True)
class Split:
    """The two halves; `out_unknown[i]` says which half makes output i."""

    known: Graph
    unknown: Graph
    out_unknown: tuple[bool, ...]
    residuals: int

    @property
    def known_outs(self) -> int:
        """How many outputs of `known` are outputs; its others are residuals."""
        return len(self.known.outputs) - self.residuals

    def forwarded(self) -> list[int | None]:
        """For each residual: which known input it is, None if it is computed."""
        place = {s: i for i, s in enumerate(self.known.inputs)}
        return [place.get(s) for s in self.known.outputs[self.known_outs :]]


class Splitter:
    """Writes the two halves of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known, self.unknown = Builder(f"known_{graph.name}"), Builder(f"unknown_{graph.name}")
        self.cheap: dict[int, tuple[Node, list[Any]]] = {}
        self.again: dict[int, Traced] = {}  # slot of a known value -> what the unknown half uses

    def is_known(self, x: Traced) -> bool:
        """Whether x is a value of the known half."""
        return x.builder is self.known

    def node(self, node: Node, args: list[Traced]) -> list[Traced]:
        """Write one node into the half it belongs to; its outputs."""
        if all(map(self.is_known, args)):
            outs = copy_node(self.known, self.graph, node, args)
            if node.primitive.traits.free:
                self.cheap[outs[0].slot] = node, args
            return outs
        if node.primitive.partial_eval is None:
            return self.copy_unknown(node, args)
        saved = self.known.source, self.unknown.source
        self.known.source = self.unknown.source = node.source
        outs = node.primitive.partial_eval(self, args, node)
        self.known.source, self.unknown.source = saved
        return outs

    def copy_unknown(self, node: Node, args: Sequence[Traced]) -> list[Traced]:
        """The node as it is, in the unknown half."""
        return copy_node(self.unknown, self.graph, node, list(map(self.residual, args)))

    def add_known(self, primitive: Primitive, args: Sequence[Traced], **params: Any) -> Any:
        """A new node in the known half."""
        return self.known.add(primitive, args, params)

    def add_unknown(self, primitive: Primitive, args: Sequence[Traced], **params: Any) -> Any:
        """A new node in the unknown half; known arguments become residuals."""
        return self.unknown.add(primitive, list(map(self.residual, args)), params)

    def residual(self, x: Traced) -> Traced:
        """The value as the unknown half sees it: kept by the known half, or made again."""
        if not self.is_known(x):
            return x
        if x.slot not in self.again:
            self.again[x.slot] = self._again(x)
        return self.again[x.slot]

    def _again(self, x: Traced) -> Traced:
        if x.slot not in self.cheap:
            return x  # lifting it into the unknown half captures it
        node, args = self.cheap[x.slot]
        return copy_node(self.unknown, self.graph, node, list(map(self.residual, args)))[0]


@memoised
def partial_eval(graph: Graph, unknown: tuple[bool, ...], force: tuple[bool, ...] | None = None) -> Split:
    """Split `graph`; outputs marked in `force` come from the unknown half in any case."""
    split = Splitter(graph := cse(graph))  # what is computed twice is kept once
    with split.known, split.unknown:
        env = {
            slot: (split.unknown if u else split.known).input(aval)
            for slot, aval, u in zip(graph.inputs, graph.in_avals, unknown, strict=True)
        }
        for node in graph.nodes:
            env.update(zip(node.outputs, split.node(node, [env[s] for s in node.inputs])))
        outs = [env[s] for s in graph.outputs]
        force = force or (False,) * len(outs)
        out_unknown = tuple(f or x.builder is split.unknown for f, x in zip(force, outs))
        unknown_outs = list(map(split.residual, compress(outs, out_unknown)))
        second = dce(residuals_first(split.unknown, unknown_outs))
        second, residuals = without_unused(second, list(split.unknown.captures))
        first = split.known.finish([*compress(outs, map(operator.not_, out_unknown)), *residuals])
    return Split(dce(first), second, out_unknown, len(residuals))


def residuals_first(builder: Builder, outputs: Sequence[Value]) -> Graph:
    """Finish a graph with its captured inputs before its own."""
    graph = builder.finish(outputs)
    own = len(builder.inputs)
    return Graph(graph.name, graph.inputs[own:] + graph.inputs[:own], graph.nodes, graph.outputs, graph.avals)


def without_unused(graph: Graph, residuals: list[Traced]) -> tuple[Graph, list[Traced]]:
    """The graph without the leading inputs (its residuals) that nothing uses, and those used."""
    used = set(graph.outputs).union(*(node.inputs for node in graph.nodes))
    n = len(residuals)
    kept = [s in used for s in graph.inputs[:n]]
    inputs = [s for s, k in zip(graph.inputs, kept) if k] + list(graph.inputs[n:])
    return (
        Graph(graph.name, inputs, graph.nodes, graph.outputs, graph.avals),
        [x for x, k in zip(residuals, kept) if k],
    )


@dataclass(frozen=True, slots=True)
class Linearized:
    """forward: primals -> outputs, residuals; linear: residuals + tangents -> tangents out.

    `out_mask` says which outputs have a tangent.
    """

    forward: Graph
    linear: Graph
    out_mask: tuple[bool, ...]
    residuals: int


@memoised
def linearize(graph: Graph, mask: tuple[bool, ...]) -> Linearized:
    """The derivative of `graph` by the inputs in `mask`, at a point that comes later."""
    dual, out_mask = jvp(graph, mask)
    outs = len(graph.outputs)
    split = partial_eval(
        dual, (False,) * len(graph.inputs) + (True,) * sum(mask), (False,) * outs + (True,) * sum(out_mask)
    )
    if any(split.out_unknown[:outs]):
        raise AssertionError(f"{graph.name}: an output depends on a tangent")
    return Linearized(split.known, split.unknown, out_mask, split.residuals)
