"""Transpose a graph that is linear in some of its inputs; and vjp, which is linearize then this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from ..core.graph import Graph, Node, dce, memoised
from ..core.primitive import Linear
from ..core.trace import Builder, current, run
from ..core.types import Value
from ..primitives import add, zeros
from .jvp import copy_node
from .linearize import linearize, partial_eval


def transpose_values(
    graph: Graph, linear: Sequence[bool], args: Sequence[Value | None], cotangents: Sequence[Value | None]
) -> list[Value | None]:
    """Write the backward pass into the active trace: cotangents of the linear inputs.

    `args` holds the values of the other inputs (anything in the linear places).
    """
    builder: Any = current()  # whoever calls this is tracing
    env: dict[int, Any] = {s: x for s, lin, x in zip(graph.inputs, linear, args, strict=True) if not lin}
    ct: dict[int, Value] = {}
    nodes = _run_nonlinear(builder, graph, env)
    for slot, c in zip(graph.outputs, cotangents, strict=True):
        accumulate(ct, slot, c)
    for node in reversed(nodes):
        _transpose_node(builder, graph, node, env, ct)
    return [ct.get(s) for s, lin in zip(graph.inputs, linear) if lin]


def _run_nonlinear(builder: Builder, graph: Graph, env: dict[int, Value]) -> list[Node]:
    """Compute what depends on no linear input; the nodes that remain."""
    remaining = []
    for node in graph.nodes:
        if all(s in env for s in node.inputs):
            env.update(zip(node.outputs, copy_node(builder, graph, node, [env[s] for s in node.inputs])))
        else:
            remaining.append(node)
    return remaining


def _transpose_node(builder: Builder, graph: Graph, node: Node, env: dict[int, Value], ct: dict[int, Value]) -> None:
    cts = [ct.pop(s, None) for s in node.outputs]
    if all(c is None for c in cts):
        return
    args = [env[s] if s in env else Linear(graph.avals[s]) for s in node.inputs]
    saved, builder.source = builder.source, node.source
    rule = node.primitive.rule("transpose")
    outs = rule(cts if node.primitive.multiple else cts[0], *args, **node.params)
    builder.source = saved
    for slot, arg, c in zip(node.inputs, args, outs, strict=True):
        if isinstance(arg, Linear):
            accumulate(ct, slot, c)


def accumulate(ct: dict[int, Value], slot: int, c: Value | None) -> None:
    """Add a cotangent to what a slot has; None is zero."""
    if c is not None:
        ct[slot] = c if ct.get(slot) is None else add(ct[slot], c)


@memoised
def transpose(
    graph: Graph, linear: tuple[bool, ...], given: tuple[bool, ...], want: tuple[bool, ...] | None = None
) -> tuple[Graph, tuple[bool, ...]]:
    """(graph of non-linear inputs + given cotangents -> nonzero cotangents, mask of those).

    `given` says which outputs have a cotangent; the others' are zero. Linear inputs marked in
    `want` (one for each linear input) get a cotangent even where it is zero.
    """
    builder = Builder(f"transpose_{graph.name}")
    avals = list(compress(graph.in_avals, linear))
    with builder:
        args = [None if lin else builder.input(a) for a, lin in zip(graph.in_avals, linear)]
        cts = [builder.input(a) if g else None for a, g in zip(graph.out_avals, given)]
        out = transpose_values(graph, linear, args, cts)
        if want is not None:
            out = [zeros(a) if c is None and w else c for c, a, w in zip(out, avals, want)]
        new = builder.finish(tuple(c for c in out if c is not None))
    return dce(new), tuple(c is not None for c in out)


def transpose_mixed(graph: Graph, args: Sequence[Value], cotangents: Sequence[Value | None]) -> list[Value | None]:
    """Cotangents of a graph that computes non-linear things on the way: those first, then back.

    For the transpose rules of primitives that hold such a graph; one cotangent per argument.
    """
    linear = tuple(isinstance(a, Linear) for a in args)
    split = partial_eval(graph, linear, (True,) * len(graph.outputs))
    residuals = run(split.known, [a for a, lin in zip(args, linear) if not lin])
    mask = (False,) * len(residuals) + (True,) * sum(linear)
    found = iter(transpose_values(split.unknown, mask, [*residuals, *[None] * sum(linear)], cotangents))
    return [next(found) if lin else None for lin in linear]


@dataclass(frozen=True, slots=True)
class Vjp:
    """forward: inputs -> outputs, residuals; backward: residuals + cotangents -> gradients.

    Cotangents come for the outputs in `out_mask` only; there is one gradient for each input in
    the mask asked for, explicit zeros included.
    """

    forward: Graph
    backward: Graph
    out_mask: tuple[bool, ...]
    residuals: int


@memoised
def vjp(graph: Graph, mask: tuple[bool, ...]) -> Vjp:
    """Reverse mode by the inputs in `mask`."""
    lin = linearize(graph, mask)
    n = lin.residuals
    builder = Builder(f"backward_{graph.name}")
    wanted = list(compress(graph.in_avals, mask))
    with builder:
        residuals = [builder.input(a) for a in lin.linear.in_avals[:n]]
        cts = [builder.input(a) for a in lin.linear.out_avals]
        linear = (False,) * n + (True,) * sum(mask)
        grads = transpose_values(lin.linear, linear, residuals + [None] * len(wanted), cts)
        backward = builder.finish([zeros(a) if g is None else g for g, a in zip(grads, wanted)])
    return Vjp(lin.forward, dce(backward), lin.out_mask, n)
