"""Dtypes that are held in memory and computed in a wider one: complex32, int4, float4_e2m1fn and their kin.

A graph with one of `dtypes.EMULATED` in it is rewritten before it is lowered or run by NumPy: what computes takes
the wider dtype (complex64, int8, float32), between conversions, so that of all primitives only `convert` knows what
the bits mean. Each result is rounded (integers: wrapped), whichever tier computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes as dt
from .aval import Aval
from .graph import Graph, Node, memoised, subgraphs
from .primitive import registry


def by_wider(graph: Graph) -> Graph:
    """A graph that computes what is emulated in the wider dtype; the same one if there is nothing of it."""
    return graph if dt.EMULATED.keys().isdisjoint([a.dtype for a in graph.avals]) else _rewritten(graph)


@memoised
def _rewritten(graph: Graph) -> Graph:
    """The old slots stay what they are; the wider forms of some have new ones."""
    avals = list(graph.avals)
    nodes: list[Node] = []
    wide: dict[int, int] = {}

    def new_slot(aval: Aval) -> int:
        avals.append(aval)
        return len(avals) - 1

    def widened(slot: int, source: Any) -> int:
        own = avals[slot].dtype
        dtype = dt.EMULATED.get(own, dt.wide(own))  # float16, too: the parts of a complex32
        if dtype == own or slot in wide:
            return wide.get(slot, slot)
        wide[slot] = new_slot(avals[slot].with_dtype(dtype))
        nodes.append(_conversion(slot, wide[slot], dtype, source))
        return wide[slot]

    for node in graph.nodes:
        if _stays(node, {avals[s].dtype for s in (*node.inputs, *node.outputs)}):
            nodes.append(node)
            continue
        inputs = tuple([widened(s, node.source) for s in node.inputs])
        params = {k: _wide_parameter(v, node) for k, v in node.params.items()}
        made = node.primitive.shape(*[avals[s] for s in inputs], **params)
        made = made if node.primitive.multiple else (made,)
        outputs = tuple([s if a is avals[s] else new_slot(a) for s, a in zip(node.outputs, made, strict=True)])
        nodes.append(Node(node.primitive, inputs, outputs, params, node.source))
        nodes += [_conversion(own, s, avals[s].dtype, node.source) for own, s in zip(outputs, node.outputs) if own != s]
    return Graph(graph.name, graph.inputs, nodes, graph.outputs, avals)


def _stays(node: Node, dtypes: set[np.dtype]) -> bool:
    """Whether a node on values of these dtypes needs no rewriting. Graphs in it are rewritten when it
    lowers or runs them."""
    if dt.EMULATED.keys().isdisjoint(dtypes) or subgraphs(node):
        return True
    if node.primitive is registry["convert"]:  # complex32 is known to that of complex64 alone
        return dt.complex32 not in dtypes or dtypes == {dt.complex32, dt.complex64}
    return node.primitive.traits.carries or node.primitive is registry["bitcast"]


def _wide_parameter(value: Any, node: Node) -> Any:
    if not isinstance(value, np.dtype) or (node.primitive is registry["convert"] and value != dt.complex32):
        return value
    return dt.EMULATED.get(value, value)


def _conversion(slot: int, result: int, dtype: np.dtype, source: Any) -> Node:
    return Node(registry["convert"], (slot,), (result,), {"dtype": dtype}, source)
