"""A graph that a library computes as a whole, where there is the library and nothing is differentiated.

    by_library *args -> *outs      params: graph, call (a LibraryCall)

Derivatives and batches are those of the graph, as if it had been written where the node stands; so is the
lowering for platforms, meshes and processes that the library is not for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from .. import xla
from ..core.aval import Aval
from ..core.graph import Graph
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Primitive, Reason, Traits, Way
from ..core.reference import contiguous, reference_of, specialised
from ..core.trace import bind, evaluate, trace
from ..core.types import Batcheds, Dims, Function, Jvps, Tangents, Value
from ..xla import onednn
from .batch import Axis, batch_values
from .jvp import jvp_values
from .nested import avals_of


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

    def run(*arrays: np.ndarray) -> list[np.ndarray] | None:
        if not onednn.is_available():  # a forked process
            return None
        inputs = [contiguous(np.asarray(a)) for a in arrays]
        outs = [np.empty(a.shape, a.dtype) for a in graph.out_avals]
        call.job()(*[a.ctypes.data for a in (*inputs, *outs)])
        return outs

    return Way(run, call.microseconds(), in_programs=True)


def _reference_at(*avals: Aval, graph: Graph, call: LibraryCall) -> Function:
    way = _way({"graph": graph, "call": call})
    if way is None:
        return lambda *args: reference_of(graph)(args)
    return lambda *args: way.run(*args) or reference_of(graph)(args)


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


# ---- derivatives, batches


def _jvp(primals: Sequence[Value], tangents: Tangents, *, graph: Graph, call: LibraryCall) -> Jvps:
    return jvp_values(graph, primals, tangents)


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
