"""complex32, which neither XLA nor NumPy's functions have: held as bits, computed in complex64.

A graph with complex32 in it is rewritten before it is lowered or run by NumPy: what computes takes
complex64, between conversions, so that of all primitives only `convert` knows what the bits mean.
Each result is rounded to complex32, whichever tier computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes as dt
from .aval import Aval
from .graph import Graph, Node, memoised, subgraphs
from .primitive import registry


def by_complex64(graph: Graph) -> Graph:
    """A graph that computes complex32 in complex64; the same one if it has none."""
    return _rewritten(graph) if dt.complex32 in {a.dtype for a in graph.avals} else graph


@memoised
def _rewritten(graph: Graph) -> Graph:
    """The old slots stay what they are; the complex64 forms of some have new ones."""
    avals = list(graph.avals)
    nodes: list[Node] = []
    wide: dict[int, int] = {}

    def new_slot(aval: Aval) -> int:
        avals.append(aval)
        return len(avals) - 1

    def widened(slot: int, source: Any) -> int:
        dtype = dt.wide(avals[slot].dtype)
        if dtype == avals[slot].dtype or slot in wide:
            return wide.get(slot, slot)
        wide[slot] = new_slot(avals[slot].with_dtype(dtype))
        nodes.append(_conversion(slot, wide[slot], dtype, source))
        return wide[slot]

    for node in graph.nodes:
        if _stays(node, {avals[s].dtype for s in (*node.inputs, *node.outputs)}):
            nodes.append(node)
            continue
        inputs = tuple([widened(s, node.source) for s in node.inputs])
        params = {k: _wide_parameter(v) for k, v in node.params.items()}
        made = node.primitive.shape(*[avals[s] for s in inputs], **params)
        made = made if node.primitive.multiple else (made,)
        outputs = tuple([s if a is avals[s] else new_slot(a) for s, a in zip(node.outputs, made, strict=True)])
        nodes.append(Node(node.primitive, inputs, outputs, params, node.source))
        nodes += [_conversion(own, s, avals[s].dtype, node.source) for own, s in zip(outputs, node.outputs) if own != s]
    return Graph(graph.name, graph.inputs, nodes, graph.outputs, avals)


def _stays(node: Node, dtypes: set[np.dtype]) -> bool:
    """Whether a node on values of these dtypes needs no rewriting. Graphs in it are rewritten when it
    lowers or runs them."""
    if dt.complex32 not in dtypes or subgraphs(node):
        return True
    if node.primitive is registry["convert"]:
        return dtypes == {dt.complex32, dt.complex64}
    return node.primitive.traits.carries


def _wide_parameter(value: Any) -> Any:
    return dt.complex64 if isinstance(value, np.dtype) and value == dt.complex32 else value


def _conversion(slot: int, result: int, dtype: np.dtype, source: Any) -> Node:
    return Node(registry["convert"], (slot,), (result,), {"dtype": dtype}, source)
