"""scan: a loop of known length that carries values and maps over leading dimensions.

    scan *consts, *carry, *xs -> *carry, *ys
        params: body, a graph   consts + carry + slices of xs -> carry + slices of ys
                n_consts, n_carry, length, reverse

`consts` are the same in every step. The ys of a reversed scan are in the order of its xs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.graph import Graph, Node, dce, has_effect, memoised
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.primitive import Primitive
from ..core.trace import Traced, bind, evaluate, run, trace, trace_closed
from ..core.types import Batcheds, Cotangents, Dims, Function, Jvps, Tangents, Value
from ..primitives import add, zeros
from .batch import Axis, batch, move_batch_axis
from .jvp import jvp
from .linearize import Split, Splitter, partial_eval
from .nested import (
    CONTROL,
    Mask,
    avals_of,
    check_avals,
    fixpoint,
    is_linear,
    listed,
    merge,
    parts,
    pick,
    present,
    rearranged,
    sections,
    spread,
    unpick,
)
from .scan_dots import Deferred, defer_dots
from .scan_residuals import without_derived
from .transpose import transpose, transpose_mixed

WRONG_CARRY = "scan: the body returns another carry than it takes"
CARRY_ADVICE = "Let it return the carry's own shapes and dtypes: convert or broadcast the initial carry."

# ---- wrappers ------------------------------------------------------------------------------------


def scan(
    body: Function, init: Sequence[Value], xs: Sequence[Value], *, length: int | None = None, reverse: bool = False
) -> tuple[list[Any], list[Any]]:
    """(last carry, stacked ys) of body(carry, x) -> (carry, y) over the leading dimension of xs.

    All are sequences of values. `length` is needed only where there are no xs. What the body closes
    over is an operand of the loop.
    """
    init, xs = list(init), list(xs)
    length = _length(xs, length)
    carry, n = avals_of(init), len(init)

    def flat(*args: Value) -> list[Value]:
        new, ys = body(list(args[:n]), list(args[n:]))
        check_avals(WRONG_CARRY, avals_of(new), carry, CARRY_ADVICE)
        return [*new, *ys]

    slices = [a.with_shape(a.shape[1:]) for a in avals_of(xs)]
    graph, captures = trace(flat, [*carry, *slices], "body")
    own, caught = sections(n + len(xs), len(captures))
    graph = rearranged(graph, caught + own, range(len(graph.outputs)))
    outs = bind(
        scan_p, *captures, *init, *xs, body=graph, n_consts=len(captures), n_carry=n, length=length, reverse=reverse
    )
    return list(outs[:n]), list(outs[n:])


def _bind(operands: Sequence[Value], body: Graph, n_consts: int, n_carry: int, **params: Any) -> list[Value]:
    """A scan, without the operands that its body does not use."""
    body, used = _without_unused(body, n_consts, n_carry)
    return bind(scan_p, *pick(operands, used), body=body, n_consts=sum(used[:n_consts]), n_carry=n_carry, **params)


def _length(xs: Sequence[Value], length: int | None) -> int:
    shapes = [aval_of(x).shape for x in xs]
    if any(not s for s in shapes):
        raise ValueError(f"scan maps over leading dimensions, got a scalar among the xs: {listed(map(aval_of, xs))}")
    found = {s[0] for s in shapes} | ({length} if length is not None else set())
    if not found:
        raise ValueError("scan needs xs or length=..., got neither")
    if len(found) > 1:
        raise ValueError(
            f"scan: leading dimensions of xs and length disagree, {sorted(found)}; "
            f"xs are {listed(map(aval_of, xs))}, length={length}"
        )
    return int(found.pop())


def map_values(fun: Function, xs: Sequence[Value]) -> list[Value]:
    """fun(*slices) -> sequence, for each slice along the leading dimension in turn; stacked."""
    return scan(lambda carry, x: ([], fun(*x)), [], xs)[1]


# ---- shape ---------------------------------------------------------------------------------------


def stacked(a: Aval, length: int) -> Aval:
    """The aval of `length` of them, stacked in front."""
    return aval((length, *a.shape), a.dtype)


def _shape(*operands: Aval, body: Graph, n_consts: int, n_carry: int, length: int, reverse: bool) -> tuple[Aval, ...]:
    consts, carry, xs = parts(operands, n_consts, n_carry)
    want_consts, want_carry, want_xs = parts(body.in_avals, n_consts, n_carry)
    check_avals("scan: constants", consts, want_consts, "They are what the body takes.")
    check_avals("scan: initial carry", carry, want_carry, "It is what the body takes.")
    check_avals(
        "scan: xs",
        xs,
        [stacked(a, length) for a in want_xs],
        f"They are what the body takes, with a leading dimension of {length}.",
    )
    out_carry, ys = parts(body.out_avals, n_carry)
    check_avals(WRONG_CARRY, out_carry, carry, CARRY_ADVICE)
    return (*out_carry, *(stacked(a, length) for a in ys))


# ---- reference -----------------------------------------------------------------------------------


def _reference(
    *operands: np.ndarray, body: Graph, n_consts: int, n_carry: int, length: int, reverse: bool
) -> list[np.ndarray]:
    consts, carry, xs = parts(operands, n_consts, n_carry)
    ys = [np.zeros((length, *a.shape), a.dtype) for a in body.out_avals[n_carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        outs = evaluate(body, [*consts, *carry, *(x[i] for x in xs)])
        carry = outs[:n_carry]
        for stack, y in zip(ys, outs[n_carry:]):
            stack[i] = y
    return [*carry, *ys]


# ---- lowering ------------------------------------------------------------------------------------

MAX_INT32_ROUNDS = 2**31 - 1  # longer loops count in int64, which takes no longer but needs wider indices


def _counter(length: int) -> Aval:
    """What the rounds are counted in."""
    return aval((), dt.int32 if length <= MAX_INT32_ROUNDS else dt.int64)


def _lower(
    ctx: LowerContext, *operands: Operand, body: Graph, n_consts: int, n_carry: int, length: int, reverse: bool
) -> list[Operand]:
    consts, carry, xs = parts(operands, n_consts, n_carry)
    y_avals = [stacked(a, length) for a in body.out_avals[n_carry:]]
    if length == 0:
        return [*carry, *(ctx.full(a, 0) for a in y_avals)]
    if length == 1:
        return _lower_once(ctx, consts, carry, xs, body)
    counter = _counter(length)
    state = [ctx.full(counter, 0), *carry, *(ctx.full(a, 0) for a in y_avals)]
    avals = [s.aval for s in state]

    def step(c: LowerContext, count: Operand, *values: Operand) -> list[Operand]:
        carry, ys = parts(values, n_carry)
        at = c.op("stablehlo.subtract", c.full(counter, length - 1), count, out=counter) if reverse else count
        outs = c.graph(body, [*consts, *carry, *(_lower_slice(c, x, at) for x in xs)])
        ys = [_lower_update(c, stack, y, at) for stack, y in zip(ys, outs[n_carry:])]
        return [c.op("stablehlo.add", count, c.full(counter, 1), out=counter), *outs[:n_carry], *ys]

    regions = [ctx.region(avals, lambda c, count, *_: _less(c, count, length)), ctx.region(avals, step)]
    return ctx.op("stablehlo.while", *state, out=avals, regions=regions)[1:]


def _lower_once(
    ctx: LowerContext, consts: list[Operand], carry: list[Operand], xs: list[Operand], body: Graph
) -> list[Operand]:
    """A loop of one step: the step."""
    slices = [ctx.op("stablehlo.reshape", x, out=x.aval.with_shape(x.aval.shape[1:])) for x in xs]
    outs = ctx.graph(body, [*consts, *carry, *slices])
    return [*outs[: len(carry)], *(ctx.op("stablehlo.reshape", y, out=stacked(y.aval, 1)) for y in outs[len(carry) :])]


def _less(ctx: LowerContext, count: Operand, length: int) -> Operand:
    return ctx.op(
        "stablehlo.compare",
        count,
        ctx.full(count.aval, length),
        out=aval((), dt.bool_),
        attrs="comparison_direction = #stablehlo<comparison_direction LT>",
    )


def _start(ctx: LowerContext, array: Operand, at: Operand) -> list[Operand]:
    return [at, *[ctx.full(at.aval, 0)] * (array.aval.ndim - 1)] if array.aval.ndim > 1 else [at]


def _lower_slice(ctx: LowerContext, x: Operand, at: Operand) -> Operand:
    """x[at]"""
    rest = x.aval.shape[1:]
    row = ctx.op(
        "stablehlo.dynamic_slice",
        x,
        *_start(ctx, x, at),
        out=x.aval.with_shape((1, *rest)),
        attrs=f"slice_sizes = {dims_attr((1, *rest))}",
    )
    return ctx.op("stablehlo.reshape", row, out=x.aval.with_shape(rest))


def _lower_update(ctx: LowerContext, stack: Operand, y: Operand, at: Operand) -> Operand:
    """stack with y at [at]"""
    row = ctx.op("stablehlo.reshape", y, out=stacked(y.aval, 1))
    return ctx.op("stablehlo.dynamic_update_slice", stack, row, *_start(ctx, stack, at), out=stack.aval)


# ---- jvp -----------------------------------------------------------------------------------------


def _jvp(
    primals: Sequence[Value],
    tangents: Tangents,
    *,
    body: Graph,
    n_consts: int,
    n_carry: int,
    length: int,
    reverse: bool,
) -> Jvps:
    dual, mask, carry_mask, y_mask = _jvp_body(body, n_consts, n_carry, present(tangents))
    tangents = [zeros(p.aval) if t is None and m else t for p, t, m in zip(primals, tangents, mask)]
    consts, carry, xs = [
        [*p, *(t for t in ts if t is not None)]
        for p, ts in zip(parts(primals, n_consts, n_carry), parts(tangents, n_consts, n_carry))
    ]
    outs = bind(
        scan_p,
        *consts,
        *carry,
        *xs,
        body=dual,
        n_consts=len(consts),
        n_carry=len(carry),
        length=length,
        reverse=reverse,
    )
    new, new_dot, ys, ys_dot = parts(outs, n_carry, sum(carry_mask), len(y_mask))
    return [*new, *ys], spread(carry_mask + y_mask, new_dot + ys_dot)


@memoised
def _jvp_body(
    body: Graph, n_consts: int, n_carry: int, mask: Mask
) -> tuple[Graph, tuple[bool, ...], tuple[bool, ...], tuple[bool, ...]]:
    """(dual body in scan's order, mask of the operands, of the carries and of the ys)."""
    consts_mask, carry_mask, xs_mask = map(tuple, parts(mask, n_consts, n_carry))
    carry_mask = fixpoint(lambda m: jvp(body, (*consts_mask, *m, *xs_mask))[1][:n_carry], carry_mask)
    mask = (*consts_mask, *carry_mask, *xs_mask)
    n_ys = len(body.outputs) - n_carry
    dual, out_mask = jvp(body, mask, (*carry_mask, *(False,) * n_ys))
    c, k, x, dc, dk, dx = sections(n_consts, n_carry, len(xs_mask), *map(sum, (consts_mask, carry_mask, xs_mask)))
    y_mask = out_mask[n_carry:]
    out_k, out_y, out_dk, out_dy = sections(n_carry, n_ys, sum(carry_mask), sum(y_mask))
    dual = rearranged(dual, c + dc + k + dk + x + dx, out_k + out_dk + out_y + out_dy)
    return dual, mask, carry_mask, y_mask


# ---- partial evaluation --------------------------------------------------------------------------


def _partial_eval(split: Splitter, args: list[Traced], node: Node) -> list[Traced]:
    body, n_consts, n_carry, length, reverse = (
        node.params[k] for k in ("body", "n_consts", "n_carry", "length", "reverse")
    )
    halves = _split_body(body, n_consts, n_carry, tuple(not split.is_known(a) for a in args))
    unknown = halves.unknown
    consts, carry, xs = parts(
        unpick(args, unknown), unknown[:n_consts].count(False), unknown[n_consts : n_consts + n_carry].count(False)
    )
    outs, residuals = _run_known(split, halves, consts, carry, xs, length, reverse)
    invariant, per_step = unpick(residuals, halves.stacked), pick(residuals, halves.stacked)
    u_consts, u_carry, u_xs = (
        pick(a, m) for a, m in zip(parts(args, n_consts, n_carry), parts(unknown, n_consts, n_carry))
    )
    unknown_outs = split.add_unknown(
        scan_p,
        [*invariant, *u_consts, *u_carry, *per_step, *u_xs],
        body=halves.later,
        n_consts=len(invariant) + len(u_consts),
        n_carry=len(u_carry),
        length=length,
        reverse=reverse,
    )
    return merge(halves.out_unknown, unknown_outs, outs)


def _run_known(
    split: Splitter,
    halves: _Halves,
    consts: list[Traced],
    carry: list[Traced],
    xs: list[Traced],
    length: int,
    reverse: bool,
) -> tuple[list[Traced], list[Traced]]:
    """Write the known loop: its outputs, and the residuals of the unknown one."""
    before = split.known.inline(halves.before, consts if halves.hoists else [])
    n_invariant = len(before) - halves.hoisted
    loop_consts = [*before[n_invariant:], *([] if halves.hoists else consts)]
    operands = [*loop_consts, *carry, *xs]
    outs = split.add_known(
        scan_p,
        pick(operands, halves.used),
        body=halves.known,
        n_consts=sum(halves.used[: len(loop_consts)]),
        n_carry=len(carry),
        length=length,
        reverse=reverse,
    )
    n = halves.out_unknown.count(False)
    invariant, sources = iter(before[:n_invariant]), {"in": operands, "out": outs}
    residuals = [next(invariant) if s is None else sources[s[0]][s[1]] for s in halves.sources]
    return outs[:n], residuals


@dataclass(frozen=True, slots=True)
class _Halves:
    """A body split into two loops and what no step changes.

    before: known consts -> residuals that no step changes, consts of the known loop
    known:  the body of the known loop; of its operands those marked in `used`
    later:  the body of the unknown loop: invariant residuals, unknown consts, carry, residuals of
            each step, unknown xs
    `sources` says for each residual where it comes from: None is before, ("in", i) operand i of the
    known loop, ("out", i) its output i; `stacked` says which have a part for each step.
    """

    unknown: Mask
    out_unknown: Mask
    before: Graph
    hoisted: int
    hoists: bool
    known: Graph
    used: Mask
    sources: tuple[Any, ...]
    stacked: Mask
    later: Graph


@memoised
def _split_body(body: Graph, n_consts: int, n_carry: int, unknown: Mask) -> _Halves:
    consts, carry, xs = map(tuple, parts(unknown, n_consts, n_carry))
    carry = fixpoint(lambda m: partial_eval(body, (*consts, *m, *xs)).out_unknown[:n_carry], carry)
    unknown = (*consts, *carry, *xs)
    split = partial_eval(body, unknown, (*carry, *(False,) * (len(body.outputs) - n_carry)))
    split = without_derived(split, consts.count(False), consts.count(True))
    hoists, inner = _hoist(split, consts.count(False))
    loop_consts = len(inner.unknown.inputs) - carry.count(False) - xs.count(False)
    per_step = inner.out_unknown[split.known_outs :]
    graph, sources = _stacks(inner.unknown, split.known_outs, carry.count(False), loop_consts + carry.count(False))
    places = merge(per_step, sources, [None] * len(per_step))
    stacked = tuple(s is not None and (s[0] == "out" or s[1] >= loop_consts) for s in places)
    graph, used = _without_unused(graph, loop_consts, carry.count(False))
    later = _residuals_in_place(split.unknown, stacked, consts.count(True), carry.count(True))
    return _Halves(
        unknown, split.out_unknown, inner.known, inner.residuals, hoists, graph, used, tuple(places), stacked, later
    )


def _hoist(split: Split, n_consts: int) -> tuple[bool, Split]:
    """Split the known half again, at what depends on constants alone; not if it has effects."""
    hoists = not any(map(has_effect, split.known.nodes))
    rest = len(split.known.inputs) - n_consts
    return hoists, partial_eval(
        split.known, (not hoists,) * n_consts + (True,) * rest, (True,) * split.known_outs + (False,) * split.residuals
    )


def _stacks(graph: Graph, n_outs: int, n_carry: int, first_x: int) -> tuple[Graph, list[Any]]:
    """(graph whose residuals are each stacked once, where the stack of each residual is).

    A residual that is an x or a constant of the loop, or one of its ys, needs no stack of its own.
    """
    carry = range(first_x - n_carry, first_x)
    place = {s: ("in", i) for i, s in enumerate(graph.inputs) if i not in carry}
    outputs = list(graph.outputs[:n_outs])
    for i in range(n_carry, n_outs):
        place.setdefault(graph.outputs[i], ("out", i))
    for s in graph.outputs[n_outs:]:
        if s not in place:
            place[s] = ("out", len(outputs))
            outputs.append(s)
    graph_with = Graph(graph.name, graph.inputs, graph.nodes, outputs, graph.avals)
    return graph_with, [place[s] for s in graph.outputs[n_outs:]]


@memoised
def _without_unused(body: Graph, n_consts: int, n_carry: int) -> tuple[Graph, Mask]:
    """The body without the constants and xs that it does not use, and which inputs it keeps."""
    body = dce(body)
    used = set(body.outputs).union(*(node.inputs for node in body.nodes))
    kept = tuple(s in used or n_consts <= i < n_consts + n_carry for i, s in enumerate(body.inputs))
    return Graph(body.name, pick(body.inputs, kept), body.nodes, body.outputs, body.avals), kept


def _residuals_in_place(graph: Graph, stacked: Mask, n_consts: int, n_carry: int) -> Graph:
    """The unknown body with its residuals before its constants, or before its xs."""
    residuals, consts, carry, xs = parts(range(len(graph.inputs)), len(stacked), n_consts, n_carry)
    order = [*unpick(residuals, stacked), *consts, *carry, *pick(residuals, stacked), *xs]
    return rearranged(graph, order, range(len(graph.outputs)))


# ---- transpose -----------------------------------------------------------------------------------


def _transpose(
    cotangents: Tangents, *args: Value, body: Graph, n_consts: int, n_carry: int, length: int, reverse: bool
) -> Cotangents:
    linear = is_linear(args)
    simpler = _simpler(body, n_consts, n_carry, length, reverse, linear)
    if simpler is not None:
        return transpose_mixed(simpler, args, cotangents)
    back = _transpose_body(body, n_consts, n_carry, linear, present(cotangents))
    values = unpick(args, linear)
    consts, xs = parts(values, linear[:n_consts].count(False))
    xs = xs[len(xs) - linear[n_consts + n_carry :].count(False) :]  # without initial carries of zero
    ct_carry, ct_ys = parts(cotangents, n_carry)
    avals = [a.aval for a in args[n_consts : n_consts + n_carry]]
    ct_carry = [zeros(a) if c is None else c for c, a, m in zip(ct_carry, avals, back.carry_mask) if m]
    ct_ys = [c for c in ct_ys if c is not None]
    accumulators = [zeros(a) for a in back.accumulated]
    operands = [*consts, *ct_carry, *accumulators, *xs, *ct_ys]
    outs = _bind(
        operands, back.body, len(consts), len(ct_carry) + len(accumulators), length=length, reverse=not reverse
    )
    ct_carry, sums, ct_xs, stacks = parts(outs, len(ct_carry), len(accumulators), sum(back.xs_mask))
    ct_consts = back.deferred.finish(sums, [*xs, *ct_ys], stacks)
    return _in_place(linear, n_consts, n_carry, back, ct_consts, ct_carry, ct_xs)


def _in_place(
    linear: tuple[bool, ...],
    n_consts: int,
    n_carry: int,
    back: _Backward,
    ct_consts: list[Value],
    ct_carry: list[Value],
    ct_xs: list[Value],
) -> list[Value | None]:
    """One cotangent, or None, for each operand."""
    of_consts, of_carry, of_xs = parts(linear, n_consts, n_carry)
    of_carries = spread(back.carry_mask, ct_carry)
    return [
        *spread(of_consts, spread(back.consts_mask, ct_consts)),
        *(c if lin else None for c, lin in zip(of_carries, of_carry)),
        *spread(of_xs, spread(back.xs_mask, ct_xs)),
    ]


@memoised
def _simpler(
    body: Graph, n_consts: int, n_carry: int, length: int, reverse: bool, linear: tuple[bool, ...]
) -> Graph | None:
    """A graph of the same value whose scan is only linear, with nothing to do before the loop.

    None if this scan is so already. What the constants alone determine (a weight's transpose, or
    its conversion) is done before the loop, and its transpose after: only so are cotangents that
    come out of a dot in sight for `defer_dots`.
    """
    lc, lk, lx = map(tuple, parts(linear, n_consts, n_carry))
    carry = fixpoint(lambda m: partial_eval(body, (*lc, *m, *lx)).out_unknown[:n_carry], lk)
    params = dict(length=length, reverse=reverse)
    in_avals = _in_avals(body, n_consts + n_carry, length)
    if not all(carry):
        whole = dict(body=body, n_consts=n_consts, n_carry=n_carry, **params)
        return trace_closed(lambda *args: bind(scan_p, *args, **whole), in_avals, "scan")
    rest = len(body.inputs) - n_consts
    split = partial_eval(body, (False,) * n_consts + (True,) * rest, (True,) * len(body.outputs))
    if not split.known.nodes or any(map(has_effect, body.nodes)):
        return None

    def fun(*args: Value) -> list[Value]:
        consts = run(split.known, args[:n_consts])
        return bind(
            scan_p, *consts, *args[n_consts:], body=split.unknown, n_consts=len(consts), n_carry=n_carry, **params
        )

    return trace_closed(fun, in_avals, "scan")


def _in_avals(body: Graph, first_x: int, length: int) -> list[Aval]:
    return [stacked(a, length) if i >= first_x else a for i, a in enumerate(body.in_avals)]


@dataclass(frozen=True, slots=True)
class _Backward:
    """The body of a transposed scan, and which operands of the original have cotangents.

    consts, ct carry, accumulators, xs, ct ys -> ct carry, accumulators, ct xs, stacks to be dotted
    """

    body: Graph
    consts_mask: Mask
    carry_mask: Mask
    xs_mask: Mask
    accumulated: tuple[Aval, ...]
    deferred: Deferred


@memoised
def _transpose_body(body: Graph, n_consts: int, n_carry: int, linear: Mask, given: Mask) -> _Backward:
    lc, _, lx = parts(linear, n_consts, n_carry)
    linear = (*lc, *(True,) * n_carry, *lx)
    given_carry, given_ys = parts(given, n_carry)
    n = sum(lc)
    carry_mask = fixpoint(lambda m: transpose(body, linear, (*m, *given_ys))[1][n : n + n_carry], given_carry)
    want = (False,) * n + carry_mask + (False,) * sum(lx)
    back, mask = transpose(body, linear, (*carry_mask, *given_ys), want)
    consts_mask, _, xs_mask = map(tuple, parts(mask, n, n_carry))
    n_values, n_xs, n_back = lc.count(False), lx.count(False), sum(consts_mask)
    carry = range(n_values + n_xs, n_values + n_xs + sum(carry_mask))
    xs = [i for i in range(n_values, len(back.inputs)) if i not in carry]
    deferred, back = defer_dots(back, n_back, xs, carry)
    accumulated = back.out_avals[: deferred.n_accumulated]
    new = _accumulating(back, n_values, n_xs, sum(carry_mask), accumulated)
    return _Backward(new, consts_mask, carry_mask, xs_mask, accumulated, deferred)


def _accumulating(back: Graph, n_values: int, n_xs: int, n_carry: int, accumulated: tuple[Aval, ...]) -> Graph:
    """A body for the backward graph: it adds the cotangents of constants up."""
    n = len(accumulated)

    def fun(*args: Value) -> list[Value]:
        values, carry, sums, xs, ct_ys = parts(args, n_values, n_carry, n, n_xs)
        steps, carry, stacks = parts(run(back, [*values, *xs, *carry, *ct_ys]), n, n_carry)
        return [*carry, *map(add, sums, steps), *stacks]

    values, xs, carry, ct_ys = parts(back.in_avals, n_values, n_xs, n_carry)
    return trace_closed(fun, [*values, *carry, *accumulated, *xs, *ct_ys], back.name)


# ---- batch ---------------------------------------------------------------------------------------


def _batch(
    axis: Axis,
    args: Sequence[Value],
    dims: Dims,
    *,
    body: Graph,
    n_consts: int,
    n_carry: int,
    length: int,
    reverse: bool,
) -> Batcheds:
    consts, carry, xs = parts(args, n_consts, n_carry)
    const_dims, carry_dims, xs_dims = parts(dims, n_consts, n_carry)
    new, carry_mask, y_dims = _batch_body(body, n_carry, axis, tuple(const_dims), present(carry_dims), present(xs_dims))
    carry = [move_batch_axis(axis, x, d, 0) if m else x for x, d, m in zip(carry, carry_dims, carry_mask)]
    xs = [x if d is None else move_batch_axis(axis, x, d, 1) for x, d in zip(xs, xs_dims)]
    outs = bind(
        scan_p, *consts, *carry, *xs, body=new, n_consts=n_consts, n_carry=n_carry, length=length, reverse=reverse
    )
    return outs, [*(0 if m else None for m in carry_mask), *(None if d is None else d + 1 for d in y_dims)]


@memoised
def _batch_body(
    body: Graph, n_carry: int, axis: Axis, const_dims: tuple[int | None, ...], carry_mask: Mask, xs_mask: Mask
) -> tuple[Graph, tuple[bool, ...], tuple[int | None, ...]]:
    """(batched body, which carries are batched, batch dimension of each slice of the ys)."""

    def at_front(mask: tuple[bool, ...]) -> tuple[int | None, ...]:
        return tuple(0 if m else None for m in mask)

    def dims(mask: tuple[bool, ...]) -> tuple[int | None, ...]:
        return (*const_dims, *at_front(mask), *at_front(xs_mask))

    carry_mask = fixpoint(lambda m: present(batch(body, axis, dims(m))[1][:n_carry]), carry_mask)
    want = tuple(True if m else None for m in carry_mask) + (None,) * (len(body.outputs) - n_carry)
    new, out_dims = batch(body, axis, dims(carry_mask), want)
    return new, carry_mask, out_dims[n_carry:]


def _rounds(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """Microseconds that NumPy's tier spends on the rounds themselves: on a call of the body, and on each slice."""
    n_xs = len(operands) - params["n_consts"] - params["n_carry"]
    n_ys = len(results) - params["n_carry"]
    return params["length"] * (1.0 + 0.15 * (n_xs + n_ys))


scan_p = Primitive(
    "scan",
    traits=CONTROL.but(numpy=1000, work=_rounds),
    multiple=True,
    shape=_shape,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    partial_eval=_partial_eval,
    transpose=_transpose,
    batch=_batch,
)
