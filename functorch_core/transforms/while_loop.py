"""while: a loop as long as a predicate of the carry holds.

    while *cond_consts, *body_consts, *carry -> *carry
        params: cond, a graph   cond_consts + carry -> bool scalar
                body, a graph   body_consts + carry -> carry
                n_cond, n_body  the numbers of those constants

It has forward mode and no reverse mode: how many steps there are to go back is not known. Loops of
known length are scans; `bounded_while` is a scan of a loop of unknown length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.graph import Graph, Node, memoised
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Primitive
from ..core.trace import Traced, bind, evaluate, run, trace, trace_closed
from ..core.types import ArrayLike, Batcheds, Dims, Function, Jvps, Tangents, Value
from ..primitives import add, and_, broadcast_in_dim, constant, lt, reduce_or, select, zeros
from .batch import Axis, batch, move_batch_axis
from .cond import cond as cond_of
from .jvp import jvp
from .linearize import Splitter, partial_eval
from .nested import (
    CONTROL,
    Mask,
    avals_of,
    check_avals,
    fixpoint,
    merge,
    parts,
    pick,
    present,
    rearranged,
    sections,
    spread,
    unpick,
)
from .scan import scan

REVERSE_MESSAGE = """reverse mode (grad, vjp) came to a while loop, whose number of steps is not
    known: what is needed to go back through it cannot be stored.
    wrong: fc.grad(lambda x: fc.while_loop(cond, body, x))
    right: fc.scan(body, x, length=n)              a known number of steps
           fc.fori_loop(0, n, body, x)             with n a Python int: it is a scan
           fc.while_loop(cond, body, x, max_steps=n)
Forward mode (jvp, jacfwd) works as it is."""

BOOL = aval((), dt.bool_)

# ---- wrappers ------------------------------------------------------------------------------------


def while_loop(cond: Function, body: Function, init: Sequence[Value]) -> list[Value]:
    """The carry after body(*carry) -> carry was applied for as long as cond(*carry) held.

    The carry is a sequence of values, the predicate a bool scalar. What the functions close over
    is an operand of the loop.
    """
    init = list(init)
    cond_graph, cond_caught = trace(lambda *carry: [cond(*carry)], avals_of(init), "cond")
    body_graph, body_caught = trace(body, avals_of(init), "body")
    n = len(init)
    caught_first = [_captures_first(g, n) for g in (cond_graph, body_graph)]
    return list(
        bind(
            while_p,
            *cond_caught,
            *body_caught,
            *init,
            cond=caught_first[0],
            body=caught_first[1],
            n_cond=len(cond_caught),
            n_body=len(body_caught),
        )
    )


def _captures_first(graph: Graph, own: int) -> Graph:
    first, caught = sections(own, len(graph.inputs) - own)
    return rearranged(graph, caught + first, range(len(graph.outputs)))


def bounded_while(cond: Function, body: Function, init: Sequence[Value], *, max_steps: int) -> list[Value]:
    """while_loop that ends after `max_steps` steps in any case, and so has reverse mode.

    A scan of max_steps steps, those after the end doing nothing.
    """

    def step(carry: list[Value], _: list[Any]) -> tuple[list[Value], list[Any]]:
        return cond_of(cond(*carry), body, lambda *same: list(same), carry), []

    return scan(step, init, [], length=max_steps)[0]


TOO_MANY = "fori_loop counts in int64, which does not hold what is between the bounds {lower} and {upper}"


def fori_loop(lower: ArrayLike, upper: ArrayLike, body: Function, init: Sequence[Value]) -> list[Value]:
    """The carry after body(i, *carry) -> carry for i = lower ... upper - 1.

    With Python ints for both bounds it is a scan, and has reverse mode; int32 or int64 scalars make
    it a while loop. i has the dtype of the bounds, int64 for Python ints.
    """
    if isinstance(lower, int) and isinstance(upper, int):

        def step(carry: list[Value], _: list[Any]) -> tuple[list[Value], list[Any]]:
            return [add(carry[0], 1), *body(*carry)], []

        for bound in (lower, upper, upper - lower):
            if not -(2**63) <= bound < 2**63:
                raise OverflowError(TOO_MANY.format(lower=lower, upper=upper))
        start = constant(np.int64(lower))
        return scan(step, [start, *init], [], length=max(upper - lower, 0))[0][1:]
    first, last = _bounds(lower, upper)
    return while_loop(
        lambda i, stop, *carry: lt(i, stop),
        lambda i, stop, *carry: [add(i, 1), stop, *body(i, *carry)],
        [first, last, *init],
    )[2:]


def _bounds(lower: ArrayLike, upper: ArrayLike) -> list[Any]:
    """Both bounds as values of the one dtype that the traced ones have."""
    given = next(b for b in (lower, upper) if not isinstance(b, int))
    dtype = aval_of(given).dtype
    return [constant(np.asarray(b, dtype)) if isinstance(b, int) else b for b in (lower, upper)]


# ---- shape, reference, lowering ------------------------------------------------------------------


def _shape(*operands: Aval, cond: Graph, body: Graph, n_cond: int, n_body: int) -> tuple[Aval, ...]:
    cond_consts, body_consts, carry = parts(operands, n_cond, n_body)
    check_avals(
        "while_loop: operands of the predicate", [*cond_consts, *carry], cond.in_avals, "They are what it takes."
    )
    check_avals("while_loop: operands of the body", [*body_consts, *carry], body.in_avals, "They are what it takes.")
    check_avals(
        "while_loop: the predicate",
        cond.out_avals,
        [BOOL],
        "Let it return one bool scalar: compare, and reduce with any() or all().",
    )
    check_avals(
        "while_loop: the body returns another carry than it takes",
        body.out_avals,
        carry,
        "Let it return the carry's own shapes and dtypes: convert or broadcast the initial carry.",
    )
    return tuple(carry)


def _reference(*operands: np.ndarray, cond: Graph, body: Graph, n_cond: int, n_body: int) -> list[np.ndarray]:
    cond_consts, body_consts, carry = parts(operands, n_cond, n_body)
    while evaluate(cond, [*cond_consts, *carry])[0]:
        carry = evaluate(body, [*body_consts, *carry])
    return carry


def _lower(ctx: LowerContext, *operands: Operand, cond: Graph, body: Graph, n_cond: int, n_body: int) -> list[Operand]:
    cond_consts, body_consts, carry = parts(operands, n_cond, n_body)
    avals = [x.aval for x in carry]
    regions = [
        ctx.region(avals, lambda c, *values: c.graph(cond, [*cond_consts, *values])),
        ctx.region(avals, lambda c, *values: c.graph(body, [*body_consts, *values])),
    ]
    return ctx.op("stablehlo.while", *carry, out=avals, regions=regions)


# ---- jvp -----------------------------------------------------------------------------------------


def _jvp(primals: Sequence[Value], tangents: Tangents, *, cond: Graph, body: Graph, n_cond: int, n_body: int) -> Jvps:
    _, const_dots, carry_dots = parts(tangents, n_cond, n_body)
    dual_cond, dual, mask = _jvp_graphs(body, cond, n_cond, n_body, present(const_dots), present(carry_dots))
    n = len(mask)
    carry = primals[n_cond + n_body :]
    dots = [zeros(x.aval) if t is None else t for x, t, m in zip(carry, carry_dots, mask) if m]
    consts = [t for t in const_dots if t is not None]
    outs = bind(
        while_p,
        *primals[: n_cond + n_body],
        *consts,
        *carry,
        *dots,
        cond=dual_cond,
        body=dual,
        n_cond=n_cond,
        n_body=n_body + len(consts),
    )
    return outs[:n], spread(mask, outs[n:])


@memoised
def _jvp_graphs(
    body: Graph, cond: Graph, n_cond: int, n_body: int, consts: Mask, carry: Mask
) -> tuple[Graph, Graph, tuple[bool, ...]]:
    """(predicate and body of carry + tangents, which carries get a tangent)."""
    carry = fixpoint(lambda m: jvp(body, consts + m)[1], carry)
    dual, _ = jvp(body, consts + carry, carry)
    c, k, dc, dk = sections(n_body, len(carry), sum(consts), sum(carry))
    dual = rearranged(dual, c + dc + k + dk, range(len(dual.outputs)))
    dots = [a for a, m in zip(body.out_avals, carry) if m]
    return _ignoring(cond, dots), dual, carry


def _ignoring(graph: Graph, more: Sequence[Aval]) -> Graph:
    """The graph with further inputs that it does not use."""
    slots = range(len(graph.avals), len(graph.avals) + len(more))
    return Graph(graph.name, [*graph.inputs, *slots], graph.nodes, graph.outputs, [*graph.avals, *more])


# ---- partial evaluation --------------------------------------------------------------------------


def _partial_eval(split: Splitter, args: list[Traced], node: Node) -> list[Traced]:
    """The known carry comes from a loop of its own; the whole loop is run again for the rest.

    The steps cannot be stored, so the loop of the unknown half computes the known carry too (and
    has its effects once more).
    """
    params = node.params
    n_cond, n_body = params["n_cond"], params["n_body"]
    unknown = tuple(not split.is_known(a) for a in args)
    in_cond, in_body, in_carry = map(tuple, parts(unknown, n_cond, n_body))
    carry = fixpoint(lambda m: partial_eval(params["body"], in_body + m).out_unknown, in_carry)
    if any(in_cond) or partial_eval(params["cond"], in_cond + carry).out_unknown[0] or all(carry):
        return split.copy_unknown(node, args)
    cond, body, kept = _known_graphs(params["body"], params["cond"], n_cond, in_body, carry)
    cond_consts, body_consts, values = parts(args, n_cond, n_body)
    known_consts = unpick(body_consts, in_body)
    known = split.add_known(
        while_p,
        [*cond_consts, *known_consts, *unpick(values, carry)],
        cond=cond,
        body=body,
        n_cond=n_cond,
        n_body=len(known_consts),
    )
    again = split.copy_unknown(node, args)
    return merge(carry, pick(again, carry), known)


@memoised
def _known_graphs(
    body: Graph, cond: Graph, n_cond: int, consts: Mask, carry: Mask
) -> tuple[Graph, Graph, tuple[bool, ...]]:
    """Predicate and body of the known carry alone."""
    split = partial_eval(body, consts + carry, carry)
    known = Graph(
        split.known.name,
        split.known.inputs,
        split.known.nodes,
        split.known.outputs[: split.known_outs],
        split.known.avals,
    )
    known_cond = partial_eval(cond, (False,) * n_cond + carry).known
    return known_cond, known, carry


# ---- transpose -----------------------------------------------------------------------------------


def _transpose(cotangents: Tangents, *args: Value, **params: Any) -> NoReturn:
    raise NotImplementedError(REVERSE_MESSAGE)


# ---- batch ---------------------------------------------------------------------------------------


def _batch(
    axis: Axis, args: Sequence[Value], dims: Dims, *, cond: Graph, body: Graph, n_cond: int, n_body: int
) -> Batcheds:
    cond_consts, body_consts, carry = parts(args, n_cond, n_body)
    cond_dims, body_dims, carry_dims = map(tuple, parts(dims, n_cond, n_body))
    mask = fixpoint(lambda m: _batched_carry(cond, body, axis, cond_dims, body_dims, m), present(carry_dims))
    carry = [move_batch_axis(axis, x, d, 0) if m else x for x, d, m in zip(carry, carry_dims, mask)]
    at_front = tuple(0 if m else None for m in mask)
    new_cond, (pred_dim,) = batch(cond, axis, cond_dims + at_front)
    new_body, _ = batch(body, axis, body_dims + at_front, at_front)
    if pred_dim is None:
        outs = bind(
            while_p, *cond_consts, *body_consts, *carry, cond=new_cond, body=new_body, n_cond=n_cond, n_body=n_body
        )
        return outs, list(at_front)
    new_cond, _ = batch(cond, axis, cond_dims + at_front, (0,))
    (pred,) = run(new_cond, [*cond_consts, *carry])
    any_pred, step = _each_stops(new_body, new_cond, n_cond, n_body)
    outs = bind(
        while_p, *cond_consts, *body_consts, pred, *carry, cond=any_pred, body=step, n_cond=0, n_body=n_cond + n_body
    )
    return outs[1:], list(at_front)


def _batched_carry(
    cond: Graph,
    body: Graph,
    axis: Axis,
    cond_dims: tuple[int | None, ...],
    body_dims: tuple[int | None, ...],
    mask: tuple[bool, ...],
) -> Mask:
    """Which carries are batched after a step: all, if the examples stop at different times."""
    at_front = tuple(0 if m else None for m in mask)
    if batch(cond, axis, cond_dims + at_front)[1][0] is not None:
        return (True,) * len(mask)
    return present(batch(body, axis, body_dims + at_front)[1])


@memoised
def _each_stops(body: Graph, cond: Graph, n_cond: int, n_body: int) -> tuple[Graph, ...]:
    """Predicate and body of a carry led by each example's predicate.

    The loop runs while any of them holds; an example whose own does not keeps its carry.
    """
    carry = body.in_avals[n_body:]
    pred = cond.out_avals[0]

    def step(*args: Value) -> list[Value]:
        cond_consts, body_consts, going, old = parts(args, n_cond, n_body, 1)
        new = run(body, [*body_consts, *old])
        new = [select(broadcast_in_dim(going[0], shape=x.shape, dims=(0,)), x, o) for x, o in zip(new, old)]
        return [and_(going[0], run(cond, [*cond_consts, *new])[0]), *new]

    consts = [*cond.in_avals[:n_cond], *body.in_avals[:n_body]]

    def any_going(going: Value, *_: Value) -> list[Value]:
        return [reduce_or(going, axes=(0,))]

    return (trace_closed(any_going, [pred, *carry], cond.name), trace_closed(step, [*consts, pred, *carry], body.name))


while_p = Primitive(
    "while",
    traits=CONTROL.but(repeats=10),
    multiple=True,
    shape=_shape,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    partial_eval=_partial_eval,
    transpose=_transpose,
    batch=_batch,
)
