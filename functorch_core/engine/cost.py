"""Static estimates: what a graph costs to run by NumPy, to run compiled, and to compile.

They decide between tiers, so they must be functions of the graph alone, never of a clock. The
figures are microseconds on a 2-core machine, good to a factor of two, which is enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..core.graph import Graph, Node, has_effect as node_has_effect, subgraphs

# One NumPy call, or a view; elements a microsecond for elementwise work; multiply-adds a
# microsecond of a dot.
NUMPY_CALL, NUMPY_VIEW = 1.5, 0.5
NUMPY_ELEMENTS = 700
DOT_FLOPS = 30_000
# One execution of a compiled program (packing numbers, handing over to another thread and back:
# 20 to 80 us more than by NumPy where the result is read at once), and a kernel in it.
EXECUTE, KERNEL = 50.0, 1.0
# Compiling: a program, a node of it, and what a node of some kinds costs besides.
COMPILE_PROGRAM, COMPILE_NODE = 20_000.0, 1_500.0
COMPILE_MORE = {
    "conv": 120_000.0,
    "dot_general": 15_000.0,
    "sort": 60_000.0,
    "fft": 30_000.0,
    "reduce_window_max": 60_000.0,
    "reduce_window_min": 60_000.0,
    "window_scatter": 200_000.0,
}
COMPILE_REDUCTION = 8_000.0
REFERENCE_LIMIT = 20_000.0  # microseconds; an op beyond this is compiled when cold, too
# Families whose reference is far slower than elementwise work: relative cost of an element.
SLOW = {
    "convolution": 60.0,
    "linalg": 40.0,
    "special": 30.0,
    "window": 20.0,
    "control": 50.0,
    "sort": 15.0,
    "index": 4.0,
    "random": 30.0,
    "cumulative": 3.0,
}
# NumPy's views, which touch no element; what is read through them is counted where it is read.
VIEWS = frozenset(
    {
        "reshape",
        "broadcast_in_dim",
        "transpose",
        "reverse",
        "slice",
        "dynamic_slice",
        "stop_gradient",
        "constant",
        "name",
        "optimization_barrier",
    }
)
# They read as many elements of their first operand as their result has, whatever its size.
READS_PART = frozenset({"gather", "window_gather"})


class Cost(NamedTuple):
    """Microseconds: by NumPy, compiled, to compile; and the number of nodes."""

    reference: float
    fused: float
    compile: float
    nodes: int

    @property
    def suits_numpy(self) -> bool:
        """Whether NumPy is quick enough for an op that is not compiled yet."""
        return self.reference < REFERENCE_LIMIT


def _work(graph: Graph, node: Node) -> float:
    """Elements handled, or their equivalent, by one node."""
    name = node.primitive.name
    if name in VIEWS:
        return 0.0
    operands = node.inputs[1:] if name in READS_PART else node.inputs
    elements = max((graph.avals[s].size for s in (*operands, *node.outputs)), default=1)
    if name == "dot_general":
        return _dot_flops(graph, node) / DOT_FLOPS * NUMPY_ELEMENTS
    return elements * SLOW.get(node.primitive.family, 1.0)


def _dot_flops(graph: Graph, node: Node) -> float:
    x, y = (graph.avals[s] for s in node.inputs)
    out = graph.avals[node.outputs[0]]
    contracted = math.prod(x.shape[d] for d in node.params["contract"][0])
    return float(out.size) * contracted if y.size else 0.0


def _compile_more(node: Node) -> float:
    """What compiling a node of this kind costs beyond an ordinary one."""
    if node.primitive.family == "reduction":
        return COMPILE_REDUCTION
    return COMPILE_MORE.get(node.primitive.name, 0.0)


def of_graph(graph: Graph) -> Cost:
    """The estimate of a graph; nodes of graphs inside it count, too."""
    reference = fused = compile_ = 0.0
    nodes = 0
    for node in graph.nodes:
        inner = [of_graph(g) for g in subgraphs(node)]
        repeat = node.params.get("length", 10 if node.primitive.name == "while" else 1)
        work = _work(graph, node) / NUMPY_ELEMENTS
        call = NUMPY_VIEW if node.primitive.name in VIEWS else NUMPY_CALL
        reference += call + work + repeat * sum(c.reference for c in inner)
        fused += 0.3 * KERNEL + 0.2 * work + repeat * sum(c.fused for c in inner)
        compile_ += COMPILE_NODE + _compile_more(node) + sum(c.compile for c in inner)
        nodes += 1 + sum(c.nodes for c in inner)
    return Cost(reference, fused, compile_, nodes)


def has_effect(graph: Graph) -> bool:
    """Whether the graph must run though nobody uses its outputs."""
    return any(node_has_effect(n) for n in graph.nodes)
