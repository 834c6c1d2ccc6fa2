"""Static estimates: what a graph costs to run by NumPy, to run compiled, and to compile.

They decide between tiers, so they must be functions of the graph alone, never of a clock. The
figures are microseconds on a 2-core machine, good to a factor of two, which is enough.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.graph import Graph, Node, subgraphs

# One NumPy call, or a view; elements a microsecond for elementwise work.
NUMPY_CALL, NUMPY_VIEW = 1.2, 0.4
NUMPY_ELEMENTS = 700
# One execution of a compiled program (packing numbers, handing over to another thread and back:
# 20 to 80 us more than by NumPy where the result is read at once), and a kernel in it.
EXECUTE, KERNEL = 50.0, 1.0
BUFFER = 1.0  # an input of a program, or a result
# Compiling: a program, and a node of it. What primitives cost besides, their traits say. An op that a program
# has a further time costs a part: 0.95 s for 657 ops of 24 kinds, where 24 once would be 0.4 s.
COMPILE_PROGRAM, COMPILE_NODE, AGAIN = 20_000.0, 1_500.0, 0.12
REFERENCE_LIMIT = 20_000.0  # microseconds; an op beyond this is compiled when cold, too


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
    """Microseconds that NumPy spends on the elements of one node."""
    traits, avals = node.primitive.traits, graph.avals
    if not traits.numpy:
        return 0.0
    elements = traits.work([avals[s] for s in node.inputs], [avals[s] for s in node.outputs], node.params)
    return elements * traits.numpy / NUMPY_ELEMENTS


def _compilation(graph: Graph, node: Node) -> float:
    """Microseconds that XLA spends on one node."""
    cost, avals = node.primitive.traits.compile, graph.avals
    if callable(cost):
        cost = cost([avals[s] for s in node.inputs], [avals[s] for s in node.outputs], node.params)
    return COMPILE_NODE + cost


def of_graph(graph: Graph) -> Cost:
    """The estimate of a graph; nodes of graphs inside it count, too."""
    reference = fused = compile_ = 0.0
    nodes = 0
    for node in graph.nodes:
        inner = [of_graph(g) for g in subgraphs(node)]
        traits, work = node.primitive.traits, _work(graph, node)
        repeat = node.params.get("length", traits.repeats)
        call = NUMPY_CALL if traits.numpy else NUMPY_VIEW
        reference += call + work + repeat * sum(c.reference for c in inner)
        fused += 0.3 * KERNEL + 0.2 * work + repeat * sum(c.fused for c in inner)
        compile_ += _compilation(graph, node) + sum(c.compile for c in inner)
        nodes += 1 + sum(c.nodes for c in inner)
    return Cost(reference, fused, compile_, nodes)
