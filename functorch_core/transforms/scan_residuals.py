"""Residuals of a loop that follow from others of the same step.

A residual of a loop is a stack: memory for every step, a loop that fills it, one that writes each part and one that
reads it, each a program of its own to XLA. What is a view of another residual, or one or two cheap elementwise
operations behind some, is made again in the step that uses it: the permutation of an LU decomposition as a column, its
triangles, the absolute values of its diagonal. Of the 20 stacks of a Kalman filter's gradient 4 go.
"""

from __future__ import annotations

from collections.abc import Collection

from ..core.graph import Graph, Node, has_effect
from ..core.trace import Builder, Traced
from ..primitives.dot import dot_general_p
from .jvp import copy_node
from .linearize import Split

MOST = 3  # operations that are done again for a residual
DEAR = 1.0  # nanoseconds an element by NumPy; dearer operations are not done again


def without_derived(split: Split, n_consts: int, n_unknown: int) -> Split:
    """The same halves of a loop's body with fewer residuals; the known half begins with `n_consts` constants, the other
    has `n_unknown` behind its residuals.

    What meets an unknown constant in a dot stays: its stack is what a dot after the transposed loop is taken of (see
    scan_dots).
    """
    known, n = split.known, split.known_outs
    residuals = known.outputs[n:]
    fixed = _unchanging(known, n_consts)
    stacked = _of_late_dots(split, n_unknown)
    plans: dict[int, list[Node]] = {}
    makers = {node.outputs[0]: node for node in known.nodes if _is_cheap(node)}
    for slot, there in zip(residuals, split.unknown.inputs):
        plan = None if there in stacked or slot in fixed else _plan(slot, makers, {*residuals, *fixed} - {slot})
        if plan:
            plans[slot] = plan
    if not plans:
        return split
    again = {node for plan in plans.values() for node in plan}
    nodes = [node for node in known.nodes if node in again]
    read = {s for node in nodes for s in node.inputs} - {s for node in nodes for s in node.outputs}
    kept = [s for s in dict.fromkeys(residuals) if s not in plans]
    kept += sorted(read.difference(kept))
    first = Graph(known.name, known.inputs, known.nodes, [*known.outputs[:n], *kept], known.avals)
    return Split(first, _second(split, nodes, kept), split.out_unknown, len(kept))


def _unchanging(graph: Graph, n_consts: int) -> Collection[int]:
    """The slots of what no step changes."""
    found = set(graph.inputs[:n_consts])
    for node in graph.nodes:
        if found.issuperset(node.inputs) and not has_effect(node):
            found.update(node.outputs)
    return found


def _of_late_dots(split: Split, n_unknown: int) -> Collection[int]:
    """The slots of the unknown half that are multiplied by what follows from its constants alone."""
    unknown, n = split.unknown, split.residuals
    fixed, found = set(unknown.inputs[n : n + n_unknown]), set[int]()
    for node in unknown.nodes:
        if fixed.issuperset(node.inputs):
            fixed.update(node.outputs)
        elif node.primitive is dot_general_p and not fixed.isdisjoint(node.inputs):
            found.update(node.inputs)
    return found


def _is_cheap(node: Node) -> bool:
    traits = node.primitive.traits
    cheap = traits.elementwise and traits.numpy < DEAR or traits.family == "structure" and not traits.numpy
    return cheap and len(node.outputs) == 1 and not node.primitive.effect


def _plan(slot: int, makers: dict[int, Node], there: Collection[int]) -> list[Node] | None:
    """The nodes that make a value of those that are there; None if it takes too many, or dear ones."""
    plan: list[Node] = []
    wanted = [slot]
    while wanted:
        node = makers.get(wanted.pop())
        if node is None:
            return None
        if node not in plan:
            plan.append(node)
        if len(plan) > MOST:
            return None
        wanted += [s for s in node.inputs if s not in there]
    return plan


def _second(split: Split, nodes: list[Node], kept: list[int]) -> Graph:
    """The unknown half of these residuals, with the nodes that make the others."""
    known, unknown, n = split.known, split.unknown, split.residuals
    builder = Builder(unknown.name)
    with builder:
        env: dict[int, Traced] = {s: builder.input(known.avals[s]) for s in kept}
        for node in nodes:
            env.update(zip(node.outputs, copy_node(builder, known, node, [env[s] for s in node.inputs])))
        own = [builder.input(a) for a in unknown.in_avals[n:]]
        args = [env[s] for s in known.outputs[split.known_outs :]]
        return builder.finish(builder.inline(unknown, [*args, *own]))
