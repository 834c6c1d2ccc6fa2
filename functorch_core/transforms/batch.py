"""Batching: a graph that does what the original does, for a whole axis of inputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Graph, Node, memoised, subgraphs
from ..core.trace import Builder, current
from ..core.types import Value
from ..primitives.batching import Axis, move_batch_axis
from .jvp import copy_node

__all__ = ["Axis", "batch", "batch_values", "move_batch_axis"]


def batch_values(
    graph: Graph, axis: Axis, args: Sequence[Value], dims: Sequence[int | None]
) -> tuple[list[Any], list[Any]]:
    """Write the batched graph into the active trace: outputs and their batch dimensions."""
    builder: Any = current()  # whoever calls this is tracing
    env = dict(zip(graph.inputs, args, strict=True))
    where = dict(zip(graph.inputs, dims, strict=True))
    for node in graph.nodes:
        values, node_dims = [env[s] for s in node.inputs], [where[s] for s in node.inputs]
        if all(d is None for d in node_dims) and not _sees_axis(node, axis):
            outs = copy_node(builder, graph, node, values)
            out_dims = [None] * len(outs)
        else:
            saved, builder.source = builder.source, node.source
            outs, out_dims = node.primitive.rule("batch")(axis, values, node_dims, **node.params)
            builder.source = saved
            if not node.primitive.multiple:
                outs, out_dims = [outs], [out_dims]
        env.update(zip(node.outputs, outs, strict=True))
        where.update(zip(node.outputs, out_dims, strict=True))
    return [env[s] for s in graph.outputs], [where[s] for s in graph.outputs]


def _sees_axis(node: Node, axis: Axis) -> bool:
    """Whether a node without batched inputs depends on the axis all the same (axis_index)."""
    if axis.name is None:
        return False
    return node.params.get("axis_name") == axis.name or any(
        _sees_axis(n, axis) for g in subgraphs(node) for n in g.nodes
    )


@memoised
def batch(
    graph: Graph, axis: Axis, dims: tuple[int | None, ...], out: tuple[Any, ...] | None = None
) -> tuple[Graph, tuple[int | None, ...]]:
    """(batched graph, batch dimension of each output).

    `dims[i]` is the batch dimension of input i, None if it has none. `out[i]`: an int moves (or
    broadcasts) output i to that batch dimension; True makes it batched at 0; None lets it be.
    """
    builder = Builder(f"batch_{graph.name}")
    with builder:
        args = [
            builder.input(a if d is None else a.with_shape(a.shape[:d] + (axis.size,) + a.shape[d:]))
            for a, d in zip(graph.in_avals, dims)
        ]
        outs, out_dims = batch_values(graph, axis, args, dims)
        if out is not None:
            want = [0 if w is True else (d if w is None or w is False else w) for w, d in zip(out, out_dims)]
            outs = [x if w == d else move_batch_axis(axis, x, d, w) for x, d, w in zip(outs, out_dims, want)]
            out_dims = want
        new = builder.finish(outs)
    return new, tuple(out_dims)
