"""Large programs in two parts, of which the second compiles when the compiler has given back the first one's memory.

XLA keeps 1.8 MB for each of a program's loops until all are machine code, 240 MB for a training step of a small
vision transformer; half of them are its optimizer's. Behind the last product of matrices there are only gradients,
which are written in any case, to be cut through: that step needs 405 MB for 482 to 523, takes as long (8.0 to 8.2 s for
300 of them, 7.9 to 8.2 in one part), and as long to compile.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.graph import Graph, Node, subgraphs

WORTH = 500  # nodes of a part: 40 loops
PRODUCTS = frozenset(("dot", "convolution"))


class Parts(NamedTuple):
    """Two graphs that compute one: the second is given values of `inputs + first's results`, by their places, and the
    whole's results are found in `inputs + first's results + second's results`."""

    first: Graph
    second: Graph
    taken: tuple[int, ...]
    given: tuple[int, ...]


def parts_of(graph: Graph) -> Parts | None:
    """The graph cut behind its last product of matrices; None if a part would be small."""
    if len(graph.nodes) < 2 * WORTH:
        return None
    ends = [i + 1 for i, node in enumerate(graph.nodes) if _has_product(node)]
    if not ends or not WORTH <= ends[-1] <= len(graph.nodes) - WORTH:
        return None
    return _cut(graph, ends[-1])


def _has_product(node: Node) -> bool:
    return node.primitive.traits.family in PRODUCTS or any(_has_product(n) for g in subgraphs(node) for n in g.nodes)


def _cut(graph: Graph, end: int) -> Parts:
    """The first `end` nodes, and the others."""
    before, after = graph.nodes[:end], graph.nodes[end:]
    used = {s for node in after for s in node.inputs}
    crossing = [s for node in before for s in node.outputs if s in used or s in set(graph.outputs)]
    there = (*graph.inputs, *crossing)
    inputs = [s for s in there if s in used]
    made = {s for node in after for s in node.outputs}
    results = [s for s in dict.fromkeys(graph.outputs) if s in made]
    places = {s: i for i, s in enumerate((*there, *results))}
    return Parts(
        Graph(f"{graph.name}_begun", graph.inputs, before, crossing, graph.avals),
        Graph(f"{graph.name}_ended", inputs, after, results, graph.avals),
        tuple([places[s] for s in inputs]),
        tuple([places[s] for s in graph.outputs]),
    )
