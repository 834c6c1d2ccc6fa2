"""Which result takes over the memory of which input.

XLA would choose by shape alone, and copies the input first if the result it chose is written before
the input's last use (a gradient in the place of its weights: 1 ms for 4 MB). A result that is computed
from the input elementwise, or is the input with some elements changed, can be written in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.graph import Graph, Node


def aliases(graph: Graph, donated: Sequence[int], asked: bool = False) -> dict[int, int]:
    """Input -> output that may be written over it; each at most once.

    `asked`: the user wants these inputs donated; then any result of the same aval will do.
    """
    found: dict[int, int] = {}
    taken: set[int] = set()
    out_avals = graph.out_avals
    for i in donated:
        slot = graph.inputs[i]
        aval = graph.avals[slot]
        candidates = [o for o, a in enumerate(out_avals) if a is aval and o not in taken]
        best = next((o for o in candidates if _updates(graph, graph.outputs[o], slot)), None)
        if best is None and asked and candidates:
            best = candidates[0]
        if best is not None:
            found[i] = best
            taken.add(best)
    return found


def _updates(graph: Graph, output: int, source: int) -> bool:
    """Whether the output is computed from the source through operations alone that need no element of it
    after writing that place."""
    maker = _makers(graph)
    aval, seen, stack = graph.avals[source], set(), [output]
    while stack:
        slot = stack.pop()
        if slot == source:
            return True
        node = maker.get(slot)
        if slot in seen or node is None:
            continue
        seen.add(slot)
        traits = node.primitive.traits
        if traits.elementwise:
            stack += [s for s in node.inputs if graph.avals[s].shape == aval.shape]
        elif traits.updates:
            stack.append(node.inputs[0])
        elif traits.primal:
            inner, place = node.params[traits.primal], node.outputs.index(slot)
            stack += [s for s, given in zip(node.inputs, inner.inputs) if _updates(inner, inner.outputs[place], given)]
    return False


def _makers(graph: Graph) -> dict[int, Node]:
    found = graph.memo.get("makers")
    if found is None:
        found = graph.memo["makers"] = {s: n for n in graph.nodes for s in n.outputs}
    return found
