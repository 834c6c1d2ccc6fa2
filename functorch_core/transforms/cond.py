"""cond: one of several graphs, chosen by an index.

    cond index, *operands          params: branches, graphs of the same inputs and outputs

The index, an int32, is clamped to 0 ... n - 1. With a batched index there is no one branch to take:
all are computed, with all effects they have, and each example selects its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.graph import Graph, Node, memoised
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Primitive
from ..core.trace import Traced, bind, evaluate, run, trace, trace_closed
from ..core.types import Batcheds, Cotangents, Dims, Function, Jvps, Tangents, Value
from ..primitives import broadcast_in_dim, constant, convert, eq, ge, le, select, zeros
from .batch import Axis, batch, move_batch_axis
from .custom import stop_gradient
from .jvp import jvp
from .linearize import Split, Splitter, partial_eval
from .nested import (
    CONTROL,
    avals_of,
    check_avals,
    either,
    is_linear,
    join_captures,
    listed,
    merge,
    pick,
    present,
    spread,
)
from .transpose import transpose

Branches = tuple[Graph, ...]

# ---- wrappers ------------------------------------------------------------------------------------


def switch(index: Value, branches: Sequence[Function], operands: Sequence[Value]) -> list[Value]:
    """branches[index](*operands), each a function of values that returns a sequence of values.

    The index is an int32 scalar, clamped. All branches return the same shapes and dtypes.
    """
    if not branches:
        raise ValueError("switch needs at least one branch, got none")
    operands = list(operands)
    traced = [trace(fun, avals_of(operands), f"branch_{i}") for i, fun in enumerate(branches)]
    graphs, captures = join_captures(traced, len(operands))
    return list(bind(cond_p, index, *operands, *captures, branches=tuple(graphs)))


def cond(pred: Value, true_fun: Function, false_fun: Function, operands: Sequence[Value]) -> list[Value]:
    """true_fun(*operands) where the bool scalar `pred` holds, else false_fun(*operands)."""
    if aval_of(pred) is not aval((), dt.bool_):
        raise TypeError(
            f"cond takes a bool scalar as its predicate, got {aval_of(pred)}; "
            "compare first (x > 0), and reduce with any() or all()"
        )
    return switch(convert(pred, dtype=dt.int32), (false_fun, true_fun), operands)


# ---- shape, reference, lowering ------------------------------------------------------------------


def _shape(index: Aval, *operands: Aval, branches: tuple[Graph, ...]) -> tuple[Aval, ...]:
    if index is not aval((), dt.int32):
        raise TypeError(f"cond takes an int32 scalar as its index, got {index}; convert it first")
    for i, branch in enumerate(branches):
        check_avals(
            f"cond: branch {i} takes {listed(branch.in_avals)}",
            operands,
            branch.in_avals,
            "Pass every branch the same operands.",
        )
        check_avals(
            f"cond: branch {i} returns something else than branch 0",
            branch.out_avals,
            branches[0].out_avals,
            "Let all branches return equal shapes and dtypes: broadcast and convert inside them.",
        )
    return branches[0].out_avals


def _reference(index: np.ndarray, *operands: np.ndarray, branches: tuple[Graph, ...]) -> list[np.ndarray]:
    return evaluate(branches[np.clip(index, 0, len(branches) - 1)], operands)


def _lower(ctx: LowerContext, index: Operand, *operands: Operand, branches: tuple[Graph, ...]) -> list[Operand]:
    if len(branches) == 1:
        return ctx.graph(branches[0], operands)
    # XLA takes the last branch for an index out of range on either side.
    index = ctx.op("stablehlo.maximum", index, ctx.full(index.aval, 0), out=index.aval)
    regions = [ctx.region((), lambda c, branch=branch: c.graph(branch, operands)) for branch in branches]
    return ctx.op("stablehlo.case", index, out=branches[0].out_avals, regions=regions)


# ---- jvp -----------------------------------------------------------------------------------------


def _jvp(primals: Sequence[Value], tangents: Tangents, *, branches: tuple[Graph, ...]) -> Jvps:
    mask = present(tangents[1:])
    out_mask = either(*(jvp(b, mask)[1] for b in branches))
    duals = tuple(jvp(b, mask, out_mask)[0] for b in branches)
    outs = bind(cond_p, *primals, *pick(tangents[1:], mask), branches=duals)
    n = len(out_mask)
    return outs[:n], spread(out_mask, outs[n:])


# ---- partial evaluation --------------------------------------------------------------------------


def _partial_eval(split: Splitter, args: list[Traced], node: Node) -> list[Traced]:
    index, *operands = args
    if not split.is_known(index):
        return split.copy_unknown(node, args)
    unknown = tuple(not split.is_known(x) for x in operands)
    first, *rest = node.params["branches"]
    known, later, out_unknown, kept = _split_branches(first, tuple(rest), unknown)
    known_args = [x for x, u in zip(operands, unknown) if not u]
    outs = split.add_known(cond_p, [index, *known_args], branches=known)
    n = len(out_unknown) - sum(out_unknown)
    known_outs, residuals = outs[:n], outs[n:]
    unknown_outs = split.add_unknown(
        cond_p, [index, *(known_args[i] for i in kept), *residuals, *pick(operands, unknown)], branches=later
    )
    return merge(out_unknown, unknown_outs, known_outs)


@memoised
def _split_branches(
    first: Graph, rest: Branches, unknown: tuple[bool, ...]
) -> tuple[tuple[Graph, ...], tuple[Graph, ...], tuple[bool, ...], list[int]]:
    """(known branches, unknown branches, out_unknown, known inputs the unknown branches take)."""
    branches = (first, *rest)
    out_unknown = either(*(partial_eval(b, unknown).out_unknown for b in branches))
    splits = [partial_eval(b, unknown, out_unknown) for b in branches]
    kept = sorted({i for s in splits for i in s.forwarded() if i is not None})
    avals, places = _join_residuals(splits)
    known = tuple(_known_branch(s, avals, p) for s, p in zip(splits, places))
    later = tuple(_unknown_branch(s, avals, p, kept) for s, p in zip(splits, places))
    return known, later, out_unknown, kept


def _join_residuals(splits: Sequence[Split]) -> tuple[list[Aval], list[list[int | None]]]:
    """(avals of the joint residuals, the place of each branch's residuals among them).

    Branches share a place where the avals are equal: only one of them is taken. Residuals that are
    inputs of the branch have no place, they are passed on from outside.
    """
    joint: list[Aval] = []
    places: list[list[int | None]] = []
    for s in splits:
        free = list(range(len(joint)))
        mine: list[int | None] = []
        for a, forwarded in zip(s.known.out_avals[s.known_outs :], s.forwarded()):
            place = None
            if forwarded is None:
                place = next((i for i in free if joint[i] is a), len(joint))
                joint.append(a) if place == len(joint) else free.remove(place)
            mine.append(place)
        places.append(mine)
    return joint, places


def _known_branch(s: Split, avals: list[Aval], places: list[int | None]) -> Graph:
    def fun(*known: Value) -> list[Value]:
        outs = run(s.known, known)
        residuals: dict[int | None, Any] = dict(zip(places, outs[s.known_outs :]))
        return outs[: s.known_outs] + [residuals[i] if i in residuals else zeros(a) for i, a in enumerate(avals)]

    return trace_closed(fun, s.known.in_avals, s.known.name)


def _unknown_branch(s: Split, avals: list[Aval], places: list[int | None], kept: list[int]) -> Graph:
    def fun(*args: Value) -> list[Value]:
        passed: dict[int | None, Value] = dict(zip(kept, args))
        joint = args[len(kept) : len(kept) + len(avals)]
        residuals = [passed[f] if p is None else joint[p] for f, p in zip(s.forwarded(), places)]
        return run(s.unknown, [*residuals, *args[len(kept) + len(avals) :]])

    in_avals = [s.known.in_avals[i] for i in kept] + avals + list(s.unknown.in_avals[s.residuals :])
    return trace_closed(fun, in_avals, s.unknown.name)


# ---- transpose -----------------------------------------------------------------------------------


def _transpose(cotangents: Tangents, index: Value, *operands: Value, branches: tuple[Graph, ...]) -> Cotangents:
    linear, given = is_linear(operands), present(cotangents)
    mask = either(*(transpose(b, linear, given)[1] for b in branches))
    backward = tuple(transpose(b, linear, given, mask)[0] for b in branches)
    values = [x for x, lin in zip(operands, linear) if not lin]
    outs = bind(cond_p, index, *values, *pick(cotangents, given), branches=backward)
    return [None, *spread(linear, spread(mask, outs))]


# ---- batch ---------------------------------------------------------------------------------------


def _batch(axis: Axis, args: Sequence[Value], dims: Dims, *, branches: tuple[Graph, ...]) -> Batcheds:
    index, *operands = args
    at, *dims = dims
    dims = tuple(dims)
    if at is not None:
        return _select_branch(axis, index, operands, dims, branches)
    out_dims = [batch(b, axis, dims)[1] for b in branches]
    batched = tuple(any(d is not None for d in ds) for ds in zip(*out_dims))
    want = tuple(True if b else None for b in batched)
    new = tuple(batch(b, axis, dims, want)[0] for b in branches)
    return bind(cond_p, index, *operands, branches=new), [0 if b else None for b in batched]


def _select_branch(
    axis: Axis, index: Value, operands: list[Value], dims: tuple[int | None, ...], branches: tuple[Graph, ...]
) -> tuple[list[Value], list[int]]:
    """Every branch for all examples, then a choice for each example."""
    want = (0,) * len(branches[0].outputs)
    last = len(branches) - 1
    outs: list[Any] = []
    for i, branch in enumerate(branches):
        taken = _takes(index, i, last)
        mine = [_guard(axis, taken, x, d) for x, d in zip(operands, dims)]
        mine_dims = tuple(0 if d is not None else None for d in dims)
        found = run(batch(branch, axis, mine_dims, want)[0], mine)
        outs = found if not i else [select(_widen(taken, x), x, other) for x, other in zip(found, outs)]
    return outs, list(want)


def _takes(index: Value, i: int, last: int) -> Value:
    """Which examples take branch i: the first also takes all before it, the last all after it."""
    compare = le if i == 0 else ge if i == last else eq
    return compare(index, broadcast_in_dim(constant(np.int32(i)), shape=index.shape, dims=()))


def _widen(pred: Value, x: Value) -> Value:
    return broadcast_in_dim(pred, shape=x.shape, dims=(0,))


def _guard(axis: Axis, taken: Value, x: Value, dim: int | None) -> Value:
    """x at batch dimension 0, cut off from derivatives in the examples that go elsewhere.

    Their derivative is multiplied by zero at the end, and zero times an infinite one is NaN.
    """
    if dim is None or x.dtype not in dt.INEXACT:
        return x if dim is None else move_batch_axis(axis, x, dim, 0)
    x = move_batch_axis(axis, x, dim, 0)
    return select(_widen(taken, x), x, stop_gradient(x))


cond_p = Primitive(
    "cond",
    traits=CONTROL,
    multiple=True,
    shape=_shape,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    partial_eval=_partial_eval,
    transpose=_transpose,
    batch=_batch,
)
