"""A function whose batching is the user's.

custom_vmap *args, *captures -> *outs   params: graph, rule, n_args

Its derivative is that of the function, without the rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.graph import Graph
from ..core.primitive import NOT_LINEAR, Primitive, Traits
from ..core.trace import bind, evaluate, trace
from ..core.types import Batcheds, Dims, Function, Jvps, Tangents, Value
from .batch import Axis, move_batch_axis
from .jvp import jvp_values
from .nested import avals_of, present

CLOSES_OVER = """`{name}` has a vmap rule of its own and closes over a value that is mapped, which the rule
    would not see. Pass it as an argument instead."""


def custom_vmap(fun: Function, rule: Function, args: Sequence[Value], name: str) -> list[Value]:
    """fun(*args), a sequence of values, whose batched form is the rule's.

    rule(size, batched, args) -> (outs, which of them are batched), with batch dimensions in front.
    """
    graph, captures = trace(fun, avals_of(args), name)
    return list(bind(custom_vmap_p, *args, *captures, graph=graph, rule=rule, n_args=len(args)))


def _reference(*args: np.ndarray, graph: Graph, rule: Function, n_args: int) -> list[np.ndarray]:
    return evaluate(graph, args)


def _jvp(primals: Sequence[Value], tangents: Tangents, *, graph: Graph, rule: Function, n_args: int) -> Jvps:
    return jvp_values(graph, primals, tangents)


def _batch(axis: Axis, args: Sequence[Value], dims: Dims, *, graph: Graph, rule: Function, n_args: int) -> Batcheds:
    if any(present(dims[n_args:])):
        raise NotImplementedError(CLOSES_OVER.format(name=graph.name))
    batched = present(dims[:n_args])
    given = [move_batch_axis(axis, x, d, 0) if b else x for x, d, b in zip(args, dims, batched)]
    outs, which = rule(axis.size, batched, given)
    return outs, [0 if b else None for b in which]


custom_vmap_p = Primitive(
    "custom_vmap",
    traits=Traits(family="custom", primal="graph"),
    multiple=True,
    shape=lambda *avals, graph, rule, n_args: graph.out_avals,
    reference=_reference,
    lower=lambda ctx, *args, graph, rule, n_args: ctx.graph(graph, args),
    jvp=_jvp,
    transpose=NOT_LINEAR,
    batch=_batch,
)
