"""Products given to oneDNN, with the transpositions around them, where the processor makes it quicker than XLA.

A product is rewritten with the transpositions of its operands, and with that of its result if nothing else uses it:
oneDNN reads and writes matrices as they lie, so that nothing is moved for `q @ k.mT`, for heads of attention, or for
the gradient of a weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..core import dtypes as dt
from ..core.graph import Graph, Node, dce, opened
from ..core.types import Ints
from ..primitives.dot import dot_general_p, free_dims
from ..primitives.dot_library import Indices, is_had, library_dot_p
from ..primitives.structure import transpose_p
from ..xla.onednn_matmul import is_quick, is_quick_in_stacks

# Multiplications from which a product is oneDNN's: a call of it wakes threads, 30 us. Of bfloat16 ...
MANY = 1_000_000
# ... and of stacks of float32 matrices (ms, XLA, oneDNN): 64 of 64 x 64 by 64 x 64 0.30, 0.12 to 0.17; 256 of them
# 1.29, 0.50 to 0.59; 64 of 256 x 32 by 32 x 256 2.1, 1.0 to 1.2; 48 of 64 x 32 by 32 x 64 0.11, 0.06 to 0.13.
MANY_IN_STACKS = 8_000_000


def by_library(graph: Graph) -> Graph:
    """The same function with its products by oneDNN; the graph itself if it has none that are quicker so."""
    return _rewritten(opened(graph)) if _has_products(graph) else graph


def _has_products(graph: Graph) -> bool:
    return any(_is_large(graph, n) or any(map(_has_products, _inner(n).values())) for n in graph.nodes)


def _is_large(graph: Graph, node: Node) -> bool:
    if node.primitive is not dot_general_p:
        return False
    x, contract = graph.avals[node.inputs[0]], node.params["contract"]
    if x.dtype == dt.bfloat16 and is_quick():
        many = MANY
    elif x.dtype == dt.float32 and _is_of_matrices(graph, node) and is_quick_in_stacks():
        many = MANY_IN_STACKS
    else:
        return False
    return graph.avals[node.outputs[0]].size * math.prod(x.shape[d] for d in contract[0]) >= many


def _is_of_matrices(graph: Graph, node: Node) -> bool:
    """Whether a product is one of two stacks of matrices, not of vectors."""
    params = node.params
    shapes = [graph.avals[slot].shape for slot in node.inputs]
    frees = [free_dims(len(shape), c, b) for shape, c, b in zip(shapes, params["contract"], params["batch"])]
    stack = math.prod(shapes[0][d] for d in params["batch"][0])
    return stack > 1 and all(math.prod(shape[d] for d in free) > 1 for shape, free in zip(shapes, frees))


def _inner(node: Node) -> dict[str, Graph]:
    """The graphs of loops and branches, by their parameters."""
    return {name: value for name, value in node.params.items() if value.__class__ is Graph}


def _rewritten(graph: Graph) -> Graph:
    avals = graph.avals
    maker = {slot: node for node in graph.nodes for slot in node.outputs}
    turned = _only_transposed(graph)
    nodes: list[Node] = []
    later: dict[int, Node] = {}  # products by the transposition of their result that computes them
    for node in graph.nodes:
        if _is_large(graph, node):
            for product in _ways(graph, node, maker, turned):
                x, y = product.inputs
                if is_had(avals[x], avals[y], **product.params):
                    later[product.outputs[0]] = product
                    break
            node = later.get(node.outputs[0], node)
        elif node.outputs and node.outputs[0] in later:
            node = later[node.outputs[0]]
        nodes.append(_with_inner(node))
    return dce(Graph(graph.name, graph.inputs, nodes, graph.outputs, avals))


def _with_inner(node: Node) -> Node:
    """The node, the products in its loops and branches by oneDNN, too."""
    new = {name: _rewritten(opened(g)) for name, g in _inner(node).items() if _has_products(g)}
    return Node(node.primitive, node.inputs, node.outputs, {**node.params, **new}, node.source) if new else node


def _only_transposed(graph: Graph) -> dict[int, Node]:
    """The slots of which nothing but one transposition makes use, and that."""
    users: dict[int, list[Node | None]] = {slot: [None] for slot in graph.outputs}
    for node in graph.nodes:
        for slot in node.inputs:
            users.setdefault(slot, []).append(node)
    alone = {slot: by[0] for slot, by in users.items() if len(by) == 1 and by[0] is not None}
    return {slot: node for slot, node in alone.items() if node.primitive is transpose_p}


def _ways(graph: Graph, node: Node, maker: dict[int, Node], turned: dict[int, Node]) -> Iterator[Node]:
    """The nodes that may stand for a product: with and without the transposition of its result, and of its operands."""
    x, y = node.inputs
    params = node.params
    plain = Indices.of_dot(graph.avals[x], graph.avals[y], params["contract"], params["batch"])
    of_x, of_y = _untransposed(x, plain.x, maker), _untransposed(y, plain.y, maker)
    results = [(node.outputs[0], plain.out)]
    after = turned.get(node.outputs[0])
    if after is not None:
        results.insert(0, (after.outputs[0], tuple(plain.out[d] for d in after.params["permutation"])))
    for slot, out in results:
        for a, indices_a in dict([of_x, (x, plain.x)]).items():
            for b, indices_b in dict([of_y, (y, plain.y)]).items():
                indices = Indices(indices_a, indices_b, out)
                yield Node(
                    library_dot_p, (a, b), (slot,), {"indices": indices, "out_dtype": params["out_dtype"]}, node.source
                )


def _untransposed(slot: int, indices: Ints, maker: dict[int, Node]) -> tuple[int, Ints]:
    """What an array was transposed from, and its indices."""
    while (node := maker.get(slot)) is not None and node.primitive is transpose_p:
        places = node.params["permutation"]
        indices = tuple(indices[places.index(d)] for d in range(len(places)))
        (slot,) = node.inputs
    return slot, indices
