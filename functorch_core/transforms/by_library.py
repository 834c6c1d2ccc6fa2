"""A graph that a library computes as a whole, where there is the library.

    by_library *args -> *outs      params: graph, call (a LibraryCall)

Batches are those of the graph, as if it had been written where the node stands; so is the lowering for platforms,
meshes and processes that the library is not for. Gradients are the library's if it has them: the node's results are
followed by what it keeps, and the tangents are a `linear_map` whose transpose is another node. Its graph computes the
gradients from the operands alone, and all other derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import primitives as p
from .. import xla
from ..core import dtypes as dt
from ..core.aval import Aval, aval
from ..core.graph import Graph, memoised
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Primitive, Reason, Traits, Way
from ..core.reference import by_way, contiguous, specialised
from ..core.trace import bind, evaluate, run, trace, trace_closed
from ..core.types import Batcheds, Dims, Function, Jvps, Tangents, Value
from ..xla import onednn
from .batch import Axis, batch_values
from .jvp import instantiate, jvp, jvp_values
from .linear_map import linear_map_p
from .nested import avals_of, parts, pick
from .transpose import vjp


class LibraryCall(Protocol):
    """What a library computes; compares by what it is."""

    def is_there(self) -> bool:
        """Whether this process can call it."""

    def target(self) -> str:
        """The custom call's name."""

    def job(self) -> Any:
        """What runs it, on the addresses of operands and results."""

    def microseconds(self) -> float:
        """An estimate."""

    def for_gradients(self) -> tuple[LibraryCall, LibraryCall] | None:
        """What computes it and `kept` results more, and the gradients by all operands of (operands, results,
        cotangents); None if the library has no gradients of it."""

    def kept(self) -> tuple[int, ...]:
        """Where gradients are wanted: how many bytes the further results have. The last is 0 if there is nothing in
        them, as another than the library has computed them."""

    def without_kept(self) -> LibraryCall | None:
        """Gradients that take no notice of what was kept; None if it is not gradients with them."""


def by_library(fun: Function, args: Sequence[Value], call: LibraryCall) -> list[Value]:
    """fun(*args), a list of values, which `call` computes of the same arrays in the order of their dimensions."""
    graph, captures = trace(fun, avals_of(args), type(call).__name__.lower())
    if captures:
        raise TypeError(f"{call} closes over {captures[0]}; pass it as an argument")
    return list(bind(by_library_p, *args, graph=graph, call=call))


# ---- reference


def _way(params: Mapping[str, Any]) -> Way | None:
    graph, call = params["graph"], params["call"]
    if not call.is_there():
        return None

    without, n = call.without_kept(), _mark_at(graph)

    def run(*arrays: np.ndarray) -> list[np.ndarray] | None:
        if not onednn.is_available():  # a forked process
            return None
        inputs = [contiguous(np.asarray(a)) for a in arrays]
        outs = [np.empty(a.shape, a.dtype) for a in graph.out_avals]
        now = call if without is None or inputs[n][0] else without
        now.job().on(*inputs, *outs)
        return outs

    return Way(run, call.microseconds(), in_programs=onednn.IN_PROGRAMS)


def _reference_at(*avals: Aval, graph: Graph, call: LibraryCall) -> Function:
    return by_way(_way({"graph": graph, "call": call}), graph)


@specialised(_reference_at)
def _reference(*args: Any, graph: Graph, call: LibraryCall) -> list[np.ndarray]:
    return evaluate(graph, args)


# ---- lowering


def _lower_cpu(ctx: LowerContext, *args: Operand, graph: Graph, call: LibraryCall) -> list[Operand]:
    """A custom call; XLA's partitioner cannot divide one."""
    portable = ctx.root.meshes or "portable" in ctx.root.features
    if portable or not call.is_there() or not onednn.may_register(call.target()):
        return ctx.graph(graph, args)
    ctx.root.features.add("onednn")
    without = call.without_kept()
    if without is None:
        return _custom_call(ctx, args, graph, call)
    if not onednn.may_register(without.target()):
        return ctx.graph(graph, args)
    mark = ctx.op("stablehlo.reshape", args[_mark_at(graph)], out=aval((), dt.uint8))
    index = ctx.op("stablehlo.convert", mark, out=aval((), dt.int32))
    branches = [ctx.region((), lambda c, made=made: _custom_call(c, args, graph, made)) for made in (without, call)]
    return ctx.op("stablehlo.case", index, out=graph.out_avals, regions=branches)


def _custom_call(ctx: LowerContext, args: Sequence[Operand], graph: Graph, call: LibraryCall) -> list[Operand]:
    outs = graph.out_avals
    text, names = xla.custom_call_text(
        call.target(),
        args,
        [a.aval for a in args],
        outs,
        result=ctx.fresh(),
        operand_matrices=[False] * len(args),
        result_matrices=[False] * len(outs),
    )
    ctx.lines.append(text + ctx.location)
    return [Operand(name, aval) for name, aval in zip(names, outs)]


# ---- gradients


class _Gradients(NamedTuple):
    """The graphs of a node where gradients are wanted, and what the library calls for two of them."""

    training: Graph  # operands -> results, kept
    tangents: Graph  # tangents of operands, operands, results, kept -> tangents of results
    cotangents: Graph  # cotangents of results, operands, results, kept -> those of operands: one node
    call: LibraryCall


@memoised
def _gradients(graph: Graph, call: LibraryCall) -> _Gradients | None:
    found = call.for_gradients()
    if found is None:
        return None
    training, gradients = found
    operands, results = graph.in_avals, graph.out_avals
    kept = [aval((n,), dt.uint8) for n in training.kept()]
    n, m, everything = len(operands), len(results), [*operands, *results, *kept]

    def fallback(*values: Value) -> list[Value]:  # operands, results, cotangents, kept
        pullback = vjp(graph, (True,) * n)
        known, cotangents = values[:n], pick(values[n + m : n + 2 * m], pullback.out_mask)
        residuals = run(pullback.forward, known)[m:]
        return run(pullback.backward, [*residuals, *cotangents])

    back = trace_closed(fallback, [*operands, *results, *results, *kept], "gradients")

    def tangents(*values: Value) -> list[Value]:
        dual, _ = jvp(graph, (True,) * n, (True,) * m)
        return run(dual, [*values[n : 2 * n], *values[:n]])[m:]

    def cotangents(*values: Value) -> list[Value]:
        given, known, rest = parts(values, m, n + m)
        return bind(by_library_p, *known, *given, *rest, graph=back, call=gradients)

    return _Gradients(
        trace_closed(lambda *values: [*run(graph, values), *map(p.zeros, kept)], operands, "training"),
        trace_closed(tangents, [*operands, *everything], "tangents"),
        trace_closed(cotangents, [*results, *everything], "cotangents"),
        training,
    )


def _mark_at(graph: Graph) -> int:
    """Which operand of gradients is the mark that something is in what was kept."""
    return len(graph.inputs) - 1


# ---- derivatives, batches


def _jvp(primals: Sequence[Value], tangents: Tangents, *, graph: Graph, call: LibraryCall) -> Jvps:
    graphs = _gradients(graph, call)
    if graphs is None:
        return jvp_values(graph, primals, tangents)
    n, m = len(primals), len(graph.outputs)
    results = bind(by_library_p, *primals, graph=graphs.training, call=graphs.call)
    filled: list[Any] = instantiate(tangents, primals, [True] * n)
    dots = bind(
        linear_map_p, *filled, *primals, *results,
        forward=graphs.tangents, backward=graphs.cotangents, n=n, both=False,
    )  # fmt: skip
    return results[:m], dots


def _batch(axis: Axis, args: Sequence[Value], dims: Dims, *, graph: Graph, call: LibraryCall) -> Batcheds:
    return batch_values(graph, axis, args, dims)


by_library_p = Primitive(
    "by_library",
    traits=Traits(family="custom", whole=_way, expensive=True),
    multiple=True,
    shape=lambda *avals, graph, call: graph.out_avals,
    reference=_reference,
    lower=lambda ctx, *args, graph, call: ctx.graph(graph, args),
    lower_on={"cpu": _lower_cpu},
    jvp=_jvp,
    transpose=Reason("what libraries compute is not linear"),
    batch=_batch,
)
