"""linear_map: a linear map whose transpose is given, where it is not that of what computes it.

    linear_map  *linear, *rest -> *outs    params: forward, backward, n, both

`forward` is a graph of the n linear operands and the others; `backward` one of the cotangents of
the outs and the others, to those of the linear operands. Forward mode goes through `forward`. Gradients
of gradients are those of the backward graph's own nodes, or with `both` the forward graph again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import primitives as p
from ..core.graph import Graph
from ..core.primitive import Primitive, Traits
from ..core.reference import reference_of, specialised
from ..core.trace import bind, evaluate, run, trace_closed
from ..core.types import Batcheds, Cotangents, Dims, Function, Jvps, Tangents, Value
from ..primitives.batching import move_batch_axis
from .batch import Axis, batch
from .jvp import instantiate, jvp_values
from .nested import avals_of, is_linear, parts


def linear_map(
    forward: Function, backward: Function, linear: Sequence[Any], rest: Sequence[Any] = (), both: bool = False
) -> Any:
    """forward(*linear, *rest), one value, which is transposed by backward(cotangent, *rest): a
    sequence of cotangents of the linear operands; with `both` that is transposed by forward."""
    avals, others = avals_of(linear), avals_of(rest)
    there = trace_closed(lambda *v: [forward(*v)], [*avals, *others], "linear_map")
    back = trace_closed(lambda *v: list(backward(*v)), [there.out_avals[0], *others], "transposed")
    return bind(linear_map_p, *linear, *rest, forward=there, backward=back, n=len(avals), both=both)[0]


def _jvp(primals: Sequence[Value], tangents: Tangents, *, forward: Graph, **params: Any) -> Jvps:
    n = params["n"]
    (moved, rest_tangents), rest = parts(tangents, n), primals[n:]
    outs = bind(linear_map_p, *primals, forward=forward, **params)
    dots: Sequence[Value | None] = [None] * len(outs)
    if any(t is not None for t in moved):
        filled: list[Any] = instantiate(moved, primals[:n], [True] * n)
        dots = bind(linear_map_p, *filled, *rest, forward=forward, **params)
    if any(t is not None for t in rest_tangents):
        further = jvp_values(forward, primals, [*[None] * n, *rest_tangents])[1]
        dots = [a if b is None else b if a is None else p.add(a, b) for a, b in zip(dots, further)]
    return outs, list(dots)


def _transpose(cotangents: Tangents, *args: Value, forward: Graph, backward: Graph, n: int, both: bool) -> Cotangents:
    cotangents = [p.zeros(a) if c is None else c for c, a in zip(cotangents, forward.out_avals)]
    rest = args[n:]
    found = (
        bind(linear_map_p, *cotangents, *rest, forward=backward, backward=forward, n=len(cotangents), both=True)
        if both
        else run(backward, [*cotangents, *rest])
    )
    return [*(c if is_in else None for c, is_in in zip(found, is_linear(args[:n]))), *[None] * len(rest)]


def _batch(
    axis: Axis, args: Sequence[Value], dims: Dims, *, forward: Graph, backward: Graph, n: int, both: bool
) -> Batcheds:
    linear = [move_batch_axis(axis, x, d, 0) for x, d in zip(args[:n], dims[:n])]
    rest, m = tuple(dims[n:]), len(forward.outputs)
    there = batch(forward, axis, ((0,) * n + rest), (0,) * m)[0]
    back = batch(backward, axis, ((0,) * m + rest), (0,) * n)[0]
    outs = bind(linear_map_p, *linear, *args[n:], forward=there, backward=back, n=n, both=both)
    return outs, [0] * m


@specialised(lambda *avals, forward, **params: lambda *args: reference_of(forward)(args))
def _reference(*args: Any, forward: Graph, **params: Any) -> list[np.ndarray]:
    return evaluate(forward, args)


linear_map_p = Primitive(
    "linear_map",
    traits=Traits(family="custom", primal="forward"),
    multiple=True,
    shape=lambda *avals, forward, **params: forward.out_avals,
    reference=_reference,
    lower=lambda ctx, *args, forward, **params: ctx.graph(forward, args),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)
