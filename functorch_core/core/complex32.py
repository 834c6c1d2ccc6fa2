"""complex32, which neither XLA nor NumPy's functions have: held as bits, computed in complex64.

A graph with complex32 in it is rewritten before it is lowered or run by NumPy: what computes takes
complex64, between conversions, so that of all primitives only `convert` knows what the bits mean.
Each result is rounded to complex32, whichever tier computes it.
"""

from __future__ import annotations

import numpy as np

from . import dtypes as dt
from .graph import Graph, Node, memoised, subgraphs
from .primitive import registry

# What moves elements without looking at them, or calls somebody who takes them as they are. What
# holds graphs does, too: those are rewritten when it lowers or runs them.
MOVING = frozenset({"gather", "scatter_set", "select"})
MOVING_FAMILIES = frozenset({"callback", "structure"})


def by_complex64(graph: Graph) -> Graph:
    """A graph that computes complex32 in complex64; the same one if it has none."""
    return _rewritten(graph) if dt.complex32 in {a.dtype for a in graph.avals} else graph


@memoised
def _rewritten(graph: Graph) -> Graph:
    """The old slots stay what they are; the complex64 forms of some have new ones."""
    avals, nodes, wide = list(graph.avals), [], {}

    def new_slot(aval) -> int:
        avals.append(aval)
        return len(avals) - 1

    def widened(slot: int, source) -> int:
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


def _stays(node: Node, dtypes: set) -> bool:
    """Whether a node on values of these dtypes needs no rewriting."""
    if dt.complex32 not in dtypes or subgraphs(node):
        return True
    name, family = node.primitive.name, node.primitive.family
    if name == "convert":
        return dtypes == {dt.complex32, dt.complex64}
    return name in MOVING or family in MOVING_FAMILIES and name != "iota"


def _wide_parameter(value):
    return dt.complex64 if isinstance(value, np.dtype) and value == dt.complex32 else value


def _conversion(slot: int, result: int, dtype: np.dtype, source) -> Node:
    return Node(registry["convert"], (slot,), (result,), {"dtype": dtype}, source)
