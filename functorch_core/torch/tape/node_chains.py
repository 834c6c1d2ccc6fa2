"""What PyTorch's graph looks like where it makes several nodes of what is one op here.

An op declares them as a text, which may be a function of the call's arguments (`@torch_op(node=...)`):

    AddmmBackward0(bias, input, TBackward0(weight))     "Addmm0(bias, input, T0(weight))"

The first node is the op's own. A lower-case name is the edge of that argument, none if it is no
tensor that requires grad; `-` is an edge that is never there; `#1` after a node means its second
output. The same text is the same node. Nothing is made of it until somebody reads `next_functions`:
the nodes made then are there to be looked at. The pass that computes gradients goes through the
op's own node only.
"""

from __future__ import annotations

import functools
import re


def chain_of_box(spec, news) -> str | None:
    """PyTorch takes the parts of an index x[0, :, 1:, None] one after the other."""
    steps, news = [], [dim for _, dim in news]
    for dim, (start, _, step, stays) in enumerate(spec):
        steps += ["Unsqueeze0"] * news.count(dim)
        if not stays:
            steps.append("Select0")
        elif start != 0 or step != 1:
            steps.append("Slice0")
    steps += ["Unsqueeze0"] * news.count(len(spec))
    if len(steps) < 2:
        return None
    return functools.reduce(lambda inner, name: f"{name}({inner})", steps, "input")


# ---- making the nodes ----------------------------------------------------------------------------

_TOKEN = re.compile(r"[A-Za-z_]\w*|[(),#-]|\d+")


@functools.lru_cache(1024)
def parsed(text: str):
    """A text as a tree: None, the name of an argument, or (name of the class, trees, output)."""
    tokens = _TOKEN.findall(text)

    def tree(at: int):
        word = tokens[at]
        if word == "-":
            return None, at + 1
        if at + 1 == len(tokens) or tokens[at + 1] != "(":
            return word, at + 1
        children = []
        at += 1
        while tokens[at] != ")":
            child, at = tree(at + 1)
            children.append(child)
        at, output = at + 1, 0
        if at < len(tokens) and tokens[at] == "#":
            at, output = at + 2, int(tokens[at + 1])
        return (f"{word[:-1]}Backward{word[-1]}", tuple(children), output), at

    return tree(0)[0]


def edges_of_chain(text: str, edge_of) -> list:
    """The edges of the outermost node of a text; `edge_of` gives those of the arguments."""
    made: dict = {}
    return [_edge(child, edge_of, made) for child in parsed(text)[1]]


def _edge(tree, edge_of, made: dict):
    if tree is None:
        return None
    if isinstance(tree, str):
        return edge_of(tree)
    name, children, output = tree
    if (name, children) not in made:
        edges = [_edge(child, edge_of, made) for child in children]
        made[name, children] = None if all(e is None for e in edges) else _shown(name, edges)
    node = made[name, children]
    return None if node is None else (node, output)


def _shown(name: str, edges: list):
    from .apply import node_class_of

    cls = node_class_of(name)
    node = cls.__new__(cls)
    node.show(edges)
    return node
