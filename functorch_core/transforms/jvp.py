"""Forward mode: a graph that computes outputs and their directional derivatives.

A tangent that is None is zero and costs nothing; nodes none of whose inputs have a tangent are
copied as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Graph, Node, memoised
from ..core.trace import Builder, Traced, current
from ..core.types import Value
from ..primitives import zeros


def jvp_values(graph: Graph, primals: Sequence[Value], tangents: Sequence[Value | None]) -> tuple[list[Any], list[Any]]:
    """Write outputs and tangents of `graph` into the active trace."""
    builder: Any = current()  # whoever calls this is tracing
    env = dict(zip(graph.inputs, primals, strict=True))
    dot = dict(zip(graph.inputs, tangents, strict=True))
    for node in graph.nodes:
        outs, tangents_out = _node(
            builder, graph, node, [env[s] for s in node.inputs], [dot.get(s) for s in node.inputs]
        )
        env.update(zip(node.outputs, outs, strict=True))
        dot.update(zip(node.outputs, tangents_out, strict=True))
    return [env[s] for s in graph.outputs], [dot.get(s) for s in graph.outputs]


def _node(
    builder: Builder, graph: Graph, node: Node, primals: list[Value], tangents: list[Value | None]
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    primitive = node.primitive
    if all(t is None for t in tangents):
        return copy_node(builder, graph, node, primals), [None] * len(node.outputs)
    saved, builder.source = builder.source, node.source
    outs, tangents_out = primitive.rule("jvp")(primals, tangents, **node.params)
    builder.source = saved
    return (outs, tangents_out) if primitive.multiple else ([outs], [tangents_out])


def copy_node(builder: Builder, graph: Graph, node: Node, args: Sequence[Value]) -> list[Traced]:
    """The same node in another graph; its avals are known, so no shape rule runs."""
    avals = [graph.avals[s] for s in node.outputs]
    slots = builder.append(node.primitive, tuple([builder.lift(a) for a in args]), node.params, avals, node.source)
    return [Traced(a, builder, s) for a, s in zip(avals, slots)]


def instantiate(tangents: Sequence[Value | None], likes: Sequence[Value], which: Sequence[bool]) -> list[Value | None]:
    """Tangents with explicit zeros where `which` asks for them."""
    return [zeros(like.aval) if t is None and w else t for t, like, w in zip(tangents, likes, which, strict=True)]


@memoised
def jvp(graph: Graph, mask: tuple[bool, ...], want: tuple[bool, ...] | None = None) -> tuple[Graph, tuple[bool, ...]]:
    """(graph of primals + masked tangents -> outputs + nonzero tangents, mask of those tangents).

    Outputs marked in `want` get a tangent even where it is zero.
    """
    builder = Builder(f"jvp_{graph.name}")
    with builder:
        primals = [builder.input(a) for a in graph.in_avals]
        tangents = [builder.input(a) if m else None for a, m in zip(graph.in_avals, mask, strict=True)]
        outs, dots = jvp_values(graph, primals, tangents)
        if want is not None:
            dots = instantiate(dots, outs, want)
        new = builder.finish([*outs, *(t for t in dots if t is not None)])
    return new, tuple(t is not None for t in dots)
