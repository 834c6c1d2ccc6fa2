"""torch.fx.subgraph_rewriter: replacing parts of a graph by others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node, map_arg


class Match(NamedTuple):
    """A place where the pattern was found: its last node, and the nodes for the pattern's.

    >>> from torch.fx.subgraph_rewriter import replace_pattern
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> matches = replace_pattern(gm, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))
    >>> len(matches), gm(torch.zeros(2))
    (1, tensor([1.5000, 1.5000]))
    """

    anchor: Node
    nodes_map: dict[Node, Node]


def replace_pattern(
    gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule
) -> list[Match]:
    """Replace each occurrence of a program in a module's graph by another; the places.

    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> len(torch.fx.replace_pattern(module, lambda x: torch.relu(x), lambda x: torch.sigmoid(x)))
    1
    >>> module(torch.zeros(1))
    tensor([1.5000])
    """
    old, new = _graph_of(pattern), _graph_of(replacement)
    inputs = [n for n in old.nodes if n.op == "placeholder"]
    if len(inputs) != sum(n.op == "placeholder" for n in new.nodes):
        raise AssertionError("replace_pattern: pattern and replacement have different numbers of inputs")
    found: list[Match] = []
    taken: set[Node] = set()
    anchor = old.output_node().args[0]
    if not isinstance(anchor, Node):
        raise NotImplementedError("torch.fx.replace_pattern of a pattern with several outputs is not implemented")
    for node in gm.graph.nodes:
        nodes: dict[Node, Node] = {}
        if _matches(anchor, node, nodes, gm, pattern) and _is_closed(nodes, anchor) and not (taken & _inner(nodes)):
            found.append(Match(node, nodes))
            taken |= _inner(nodes)
    replaced: dict[Node, Node] = {}
    for match in found:
        _replace(gm, match, inputs, new, replaced)
    if isinstance(replacement, Module):
        for node in gm.graph.nodes:
            if node.op in ("get_attr", "call_module") and not _has(gm, node.target):
                _copy_attr(replacement, gm, node.target)
    gm.recompile()
    return found


def _graph_of(program) -> Graph:
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _has(module: Module, target: str) -> bool:
    for part in target.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _inner(nodes: dict[Node, Node]) -> set[Node]:
    return {n for p, n in nodes.items() if p.op != "placeholder"}


def _matches(pattern: Node, node: Node, nodes: dict, gm, owner) -> bool:
    """Whether a node and what it uses are as in the pattern; `nodes` is filled."""
    if pattern in nodes:
        return nodes[pattern] is node
    if pattern.op == "placeholder":
        nodes[pattern] = node
        return True
    if not _is_same_call(pattern, node, gm, owner):
        return False
    nodes[pattern] = node
    mine, others = [], []  # the nodes are compared one by one, the rest at once
    rest = [
        (map_arg(n.args, lambda x, into=into: into.append(x)), map_arg(n.kwargs, lambda x, into=into: into.append(x)))
        for n, into in ((pattern, mine), (node, others))
    ]
    return (
        rest[0] == rest[1]
        and len(mine) == len(others)
        and all(_matches(p, n, nodes, gm, owner) for p, n in zip(mine, others))
    )


def _is_same_call(pattern: Node, node: Node, gm, owner) -> bool:
    if pattern.op != node.op:
        return False
    if pattern.op == "call_module" and isinstance(owner, Module):
        return type(owner.get_submodule(pattern.target)) is type(gm.get_submodule(node.target))
    return pattern.target == node.target


def _is_closed(nodes: dict[Node, Node], anchor: Node) -> bool:
    """Whether nobody outside uses what is inside, but for the result."""
    inner = _inner(nodes)
    return all(set(n.users) <= inner for p, n in nodes.items() if p.op != "placeholder" and p is not anchor)


def _replace(gm: GraphModule, match: Match, inputs: list[Node], new: Graph, replaced: dict):
    values: dict[Node, Node] = {}
    for old_input, new_input in zip(inputs, (n for n in new.nodes if n.op == "placeholder")):
        value = match.nodes_map[old_input]
        values[new_input] = replaced.get(value, value)
    with gm.graph.inserting_before(match.anchor):
        result = gm.graph.graph_copy(new, values)
    match.anchor.replace_all_uses_with(result)
    replaced[match.anchor] = result
    for node in reversed(list(gm.graph.nodes)):
        if node in _inner(match.nodes_map) and not node.users:
            gm.graph.erase_node(node)
