"""Checks inside of programs, and the transform that makes values of their failures.

    check pred, *args -> ()    params: site, what is said if not all of pred hold
                                       batched, how many leading dimensions of pred the args have, too

`Checker` computes a graph and beside it a failure: the number of the first site that failed (0: none
did), and the arguments that each site's message shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.graph import Graph, Node, subgraphs
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Primitive
from ..core.trace import bind, run
from ..core.types import Batcheds, Dims, Function, Jvps, Tangents, Value
from ..primitives import (
    and_,
    argmax,
    broadcast_in_dim,
    constant,
    convert,
    eq,
    full,
    gt,
    lt,
    ne,
    not_,
    or_,
    reduce_max,
    reduce_min,
    reduce_or,
    reshape,
    select,
    take,
)
from .batch import Axis, move_batch_axis
from .callback import CALLBACK
from .cond import switch
from .nested import parts, present
from .scan import scan
from .while_loop import while_loop

NOT_FUNCTIONAL = """a check inside of a compiled function has nobody to tell: its failure is a value.
    wrong: fc.jit(f)(x)
    right: err, out = fc.jit(checkify.checkify(f))(x); err.throw()"""
NO = aval((), dt.int32)


class Site:
    """A place of a check: its message, a format of its arguments, and where it stands."""

    def __init__(self, message: str, kind: str, names: Sequence[str] = (), optional: bool = False):
        self.message, self.kind, self.names, self.optional = message, kind, tuple(names), optional

    def text(self, args: Sequence[Any]) -> str:
        """The message with its arguments, the last of which have names."""
        n = len(args) - len(self.names)
        return self.message.format(*args[:n], **dict(zip(self.names, args[n:])))


class CheckFailed(ValueError):
    """A check that did not hold."""


# ---- the primitive -------------------------------------------------------------------------------


def check(pred: Value, args: Sequence[Value], site: Site) -> None:
    """Say that all of pred hold; what does not is told by whoever functionalises the program."""
    bind(check_p, pred, *args, site=site, batched=0)


def _reference(pred: np.ndarray, *args: np.ndarray, site: Site, batched: int) -> tuple[()]:
    if not site.optional and not pred.all():
        first = np.unravel_index(int(np.argmin(pred)), pred.shape)[:batched]
        raise CheckFailed(site.text([a[first] for a in args]))
    return ()


def _lower(ctx: LowerContext, *args: Operand, site: Site, batched: int) -> list[Operand]:
    if not site.optional:
        raise ValueError(NOT_FUNCTIONAL)
    return []


def _jvp(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvps:
    return bind(check_p, *primals, **params), []


def _batch(axis: Axis, args: Sequence[Value], dims: Dims, *, site: Site, batched: int) -> Batcheds:
    args = [
        move_batch_axis(axis, x, d, 0) if b else broadcast_in_dim(x, shape=(axis.size, *x.shape), dims=_after(x))
        for x, d, b in zip(args, dims, present(dims))
    ]
    return bind(check_p, *args, site=site, batched=batched + 1), []


def _after(x: Value) -> tuple[int, ...]:
    return tuple(range(1, aval_of(x).ndim + 1))


check_p = Primitive(
    "check",
    traits=CALLBACK,
    multiple=True,
    effect=True,
    shape=lambda pred, *args, site, batched: (),
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    transpose=NOT_LINEAR,
    batch=_batch,
)

# ---- what goes wrong by itself -------------------------------------------------------------------


def _any(pred: Value) -> Value:
    return reduce_or(pred, axes=tuple(range(aval_of(pred).ndim)))


def _nan(node: Node, args: Sequence[Value], outs: Sequence[Value]) -> Value | None:
    found = [_any(ne(x, x)) for x in outs if aval_of(x).dtype in dt.INEXACT]
    return None if not found else _either(found)


def _either(found: list[Value]) -> Value:
    out = found[0]
    for other in found[1:]:
        out = or_(out, other)
    return out


def _division(node: Node, args: Sequence[Value], outs: Sequence[Value]) -> Value | None:
    return _any(eq(args[1], full(aval_of(args[1]).shape, 0, aval_of(args[1]).dtype)))


def _index(node: Node, args: Sequence[Value], outs: Sequence[Value]) -> Value | None:
    """Whether a slice that is read or written begins before its array or ends behind it."""
    operand, limits = aval_of(args[0]), _limits(node, args)
    found = []
    for place, dimension, size in limits:
        if not aval_of(place).size:
            continue
        axes = tuple(range(aval_of(place).ndim))
        low, high = (convert(f(place, axes=axes), dtype=dt.int64) for f in (reduce_min, reduce_max))
        last = full((), operand.shape[dimension] - size, dt.int64)
        found.append(or_(lt(low, full((), 0, dt.int64)), gt(high, last)))
    return _either(found) if found else None


def _limits(node: Node, args: Sequence[Value]) -> list[tuple[Value, int, int]]:
    """(starts, dimension, size of what is taken) of each dimension that is indexed."""
    name, params = node.primitive.name, node.params
    if name.startswith("dynamic"):
        given = aval_of(args[1]).shape if name == "dynamic_update_slice" else params["sizes"]
        starts = args[2:] if name == "dynamic_update_slice" else args[1:]
        return [(s, d, n) for d, (s, n) in enumerate(zip(starts, given)) if n < aval_of(args[0]).shape[d]]
    dims = params["start_index_map"] if name == "gather" else params["scatter_dims_to_operand_dims"]
    last = aval_of(args[1]).ndim - 1
    out = []
    for i, dimension in enumerate(dims):
        if name == "gather":
            size = params["slice_sizes"][dimension]
        elif dimension in params["inserted_window_dims"]:
            size = 1
        else:
            continue
        out.append((take(args[1], constant(np.int64(i)), axis=last), dimension, size))
    return out


AUTOMATIC: dict[str, tuple[str, Function, Function]] = {
    "div": ("division by zero", _division, lambda name: name in ("div", "rem")),
    "index": (
        "out-of-bounds indexing for array of shape {shape}",
        _index,
        lambda name: name in ("gather", "dynamic_slice", "dynamic_update_slice") or name.startswith("scatter"),
    ),
    "nan": ("nan generated by primitive: {name}.", _nan, lambda name: True),
}


def _automatic(graph: Graph, node: Node, kinds: frozenset[str]) -> list[tuple[Site, Function]]:
    out = []
    for kind, (message, failed, concerns) in AUTOMATIC.items():
        name = node.primitive.name
        if kind not in kinds or not concerns(name) or name == "constant":
            continue
        if kind == "nan" and not any(graph.avals[s].dtype in dt.INEXACT for s in node.outputs):
            continue
        shape = graph.avals[node.inputs[0]].shape if node.inputs else ()
        text = message.format(name=name, shape=shape)
        if node.source:
            text += "\n    at {}:{} in {}".format(*node.source)
        out.append((Site(text.replace("{", "{{").replace("}", "}}"), kind), failed))
    return out


# ---- the transform -------------------------------------------------------------------------------


class Checker:
    """Computes a graph, and which of its checks of these kinds failed first.

    A failure is a list of values: the number of the site, and the arguments of every site.
    """

    def __init__(self, graph: Graph, kinds: frozenset[str]):
        self.kinds = kinds
        self.sites: list[Site] = []
        self.avals: list[tuple[Aval, ...]] = []  # of the arguments of each site
        self.number: dict[tuple[int, int], int] = {}  # (node, which of its sites) -> 1, 2, ...
        self.failures: dict[int, list[Any]] = {}
        self.inside: set[int] = set()  # nodes whose graphs have sites
        self._collect(graph)

    def _collect(self, graph: Graph) -> None:
        for node in graph.nodes:
            before = len(self.sites)
            for inner in subgraphs(node):
                self._collect(inner)
            if len(self.sites) > before:
                self.inside.add(id(node))
            elif node.primitive is check_p:
                if node.params["site"].kind in self.kinds:
                    batched = node.params["batched"]
                    args = [graph.avals[s] for s in node.inputs[1:]]
                    self._add(node, 0, node.params["site"], [a.with_shape(a.shape[batched:]) for a in args])
            else:
                found = _automatic(graph, node, self.kinds)
                self.failures[id(node)] = [failed for _, failed in found]
                for i, (site, _) in enumerate(found):
                    self._add(node, i, site, [])

    def _add(self, node: Node, i: int, site: Site, avals: Sequence[Aval]) -> None:
        if (id(node), i) not in self.number:
            self.sites.append(site)
            self.avals.append(tuple(avals))
            self.number[id(node), i] = len(self.sites)

    def start(self) -> list[Value]:
        """No failure."""
        return [full((), 0, dt.int32), *[full(a.shape, 0, a.dtype) for avals in self.avals for a in avals]]

    def run(self, graph: Graph, args: Sequence[Value], state: list[Value]) -> tuple[list[Value], list[Value]]:
        """(the graph's outputs, the failure)."""
        env = dict(zip(graph.inputs, args, strict=True))
        for node in graph.nodes:
            given = [env[s] for s in node.inputs]
            if node.primitive is check_p:
                state = self._checked(node, given, state)
                continue
            if id(node) in self.inside:
                outs, state = self._nested(node, given, state)
            else:
                outs = bind(node.primitive, *given, **node.params)
                outs = list(outs) if node.primitive.multiple else [outs]
                for i, failed in enumerate(self.failures.get(id(node), ())):
                    bad: Value | None = failed(node, given, outs)
                    state = state if bad is None else self._noted(self.number[id(node), i], bad, [], state)
            env.update(zip(node.outputs, outs))
        return [env[s] for s in graph.outputs], state

    def _checked(self, node: Node, given: list[Value], state: list[Value]) -> list[Value]:
        number = self.number.get((id(node), 0))
        if number is None:
            return state
        pred, *args = given
        shape = aval_of(pred).shape[: node.params["batched"]]
        if shape:  # the arguments of the first example that fails
            whole = tuple(range(len(shape), aval_of(pred).ndim))
            size = int(np.prod(shape))
            first = argmax(reshape(reduce_or(not_(pred), axes=whole), shape=(size,)), axis=0)
            args = [take(reshape(x, shape=(size, *x.shape[len(shape) :])), first, axis=0) for x in args]
        return self._noted(number, _any(not_(pred)), args, state)

    def _noted(self, number: int, bad: Value, args: Sequence[Value], state: list[Value]) -> list[Value]:
        """The failure after a check: the first one stays."""
        code, *kept = state
        now = and_(bad, eq(code, full((), 0, dt.int32)))
        begin = sum(map(len, self.avals[: number - 1]))
        for i, x in enumerate(args, begin):
            where = broadcast_in_dim(now, shape=aval_of(x).shape, dims=())
            kept[i] = select(where, x, kept[i])
        return [select(now, full((), number, dt.int32), code), *kept]

    # -- graphs inside of nodes

    def _nested(self, node: Node, given: list[Value], state: list[Value]) -> tuple[list[Value], list[Value]]:
        how = getattr(self, f"_in_{node.primitive.name}", None)
        if how is not None:
            return how(node, given, state)
        for inner in subgraphs(node):  # a function with a rule of its own, a checkpoint: the function itself
            if inner.in_avals == tuple(map(aval_of, given)):
                return self.run(inner, given, state)
        raise NotImplementedError(f"checkify: checks inside of {node.primitive.name}")

    def _in_scan(self, node: Node, given: list[Value], state: list[Value]) -> tuple[list[Value], list[Value]]:
        n, params = len(state), node.params
        consts, carry, xs = parts(given, params["n_consts"], params["n_carry"])

        def step(carry: list[Value], x: list[Value]) -> tuple[list[Value], list[Value]]:
            outs, failed = self.run(params["body"], [*consts, *carry[n:], *x], carry[:n])
            return [*failed, *outs[: params["n_carry"]]], outs[params["n_carry"] :]

        last, ys = scan(step, [*state, *carry], xs, length=params["length"], reverse=params["reverse"])
        return [*last[n:], *ys], last[:n]

    def _in_while(self, node: Node, given: list[Value], state: list[Value]) -> tuple[list[Value], list[Value]]:
        n, params = len(state), node.params
        of_cond, of_body, carry = parts(given, params["n_cond"], params["n_body"])

        def holds(*carry: Value) -> Value:
            return run(params["cond"], [*of_cond, *carry[n:]])[0]

        def step(*carry: Value) -> list[Value]:
            failed = self.run(params["cond"], [*of_cond, *carry[n:]], list(carry[:n]))[1]
            outs, failed = self.run(params["body"], [*of_body, *carry[n:]], failed)
            return [*failed, *outs]

        last = while_loop(holds, step, [*state, *carry])
        return last[n:], self.run(params["cond"], [*of_cond, *last[n:]], last[:n])[1]

    def _in_cond(self, node: Node, given: list[Value], state: list[Value]) -> tuple[list[Value], list[Value]]:
        index, *operands = given
        n = len(state)

        def branch(graph: Graph) -> Any:
            def call(*args: Value) -> list[Value]:
                outs, failed = self.run(graph, args[n:], list(args[:n]))
                return [*failed, *outs]

            return call

        outs = switch(index, [branch(g) for g in node.params["branches"]], [*state, *operands])
        return outs[n:], outs[:n]
