"""Static estimates: what a graph costs to run by NumPy, to run compiled, and to compile.

They decide between tiers, so they must be functions of the graph alone, never of a clock. The
figures are microseconds on a 2-core machine, good to a factor of two, which is enough.
"""
from __future__ import annotations

import math
from typing import NamedTuple

from ..core.graph import Graph, Node, has_effect as node_has_effect, subgraphs

# One NumPy call; elements a microsecond for elementwise work; multiply-adds a microsecond of a dot.
NUMPY_CALL = 1.5
NUMPY_ELEMENTS = 700
DOT_FLOPS = 30_000
# One execution of a compiled program, a kernel in it, and compiling: a program, a node of it.
EXECUTE, KERNEL = 4., 1.
COMPILE_PROGRAM, COMPILE_NODE = 15_000., 600.
# Families whose reference is far slower than elementwise work: relative cost of an element.
SLOW = {"convolution": 60., "linalg": 40., "special": 30., "window": 20., "control": 50.,
        "sort": 15., "index": 4., "random": 30., "cumulative": 3.}


class Cost(NamedTuple):
    """Microseconds: by NumPy, compiled, to compile; and the number of nodes."""

    reference: float
    fused: float
    compile: float
    nodes: int


def _work(graph: Graph, node: Node) -> float:
    """Elements handled, or their equivalent, by one node."""
    avals = [graph.avals[s] for s in (*node.inputs, *node.outputs)]
    elements = max((a.size for a in avals), default=1)
    if node.primitive.name == "dot_general":
        return _dot_flops(graph, node) / DOT_FLOPS * NUMPY_ELEMENTS
    if node.primitive.name == "conv":
        return elements * SLOW["convolution"]
    return elements * SLOW.get(node.primitive.family, 1.)


def _dot_flops(graph: Graph, node: Node) -> float:
    x, y = (graph.avals[s] for s in node.inputs)
    out = graph.avals[node.outputs[0]]
    contracted = math.prod(x.shape[d] for d in node.params["contract"][0])
    return float(out.size) * contracted if y.size else 0.


def of_graph(graph: Graph) -> Cost:
    """The estimate of a graph; nodes of graphs inside it count, too."""
    reference = fused = 0.
    nodes = 0
    for node in graph.nodes:
        inner = [of_graph(g) for g in subgraphs(node)]
        repeat = node.params.get("length", 10 if node.primitive.name == "while" else 1)
        work = _work(graph, node) / NUMPY_ELEMENTS
        reference += NUMPY_CALL + work + repeat * sum(c.reference for c in inner)
        fused += 0.3 * KERNEL + 0.2 * work + repeat * sum(c.fused for c in inner)
        nodes += 1 + sum(c.nodes for c in inner)
    return Cost(reference, fused, COMPILE_NODE * nodes, nodes)


def has_effect(graph: Graph) -> bool:
    """Whether the graph must run though nobody uses its outputs."""
    return any(node_has_effect(n) for n in graph.nodes)
