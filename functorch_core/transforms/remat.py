"""remat: a graph whose intermediate values are computed again for its derivative, not kept.

    remat *args -> *outs      params: graph, policy, differentiated, on_host

`policy(primitive, *avals, **params)` says which values the forward pass may keep all the same; a
loop or a cond inside is one such value. Once it is transposed the node is marked `differentiated`: an
optimization barrier over its operands then keeps XLA from finding out that the forward pass has
computed the same, and from keeping that. `on_host` may know what computes the graph of host arrays, or its gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..core.aval import Aval
from ..core.graph import Graph, Node, dce, memoised
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Linear, Primitive, Way
from ..core.reference import by_way, specialised
from ..core.trace import Traced, bind, evaluate, run, trace, trace_closed
from ..core.types import Batcheds, Cotangents, Dims, Function, Jvps, Tangents, Value
from ..primitives.convolution import conv_p
from ..primitives.dot import dot_general_p
from ..primitives.structure import name_p
from .batch import Axis, batch
from .jvp import jvp
from .linearize import Split, Splitter, partial_eval
from .nested import CONTROL, Mask, avals_of, is_linear, merge, pick, present, spread, unpick
from .transpose import transpose_mixed

# ---- policies ------------------------------------------------------------------------------------


def everything_saveable(*_: Aval | Primitive, **__: Any) -> bool:
    """Keep every value: as without remat."""
    return True


def nothing_saveable(*_: Aval | Primitive, **__: Any) -> bool:
    """Keep nothing but the arguments: the least memory."""
    return False


def dots_saveable(prim: Primitive, *args: Aval, **params: Any) -> bool:
    """Keep the results of matrix products and convolutions, compute the rest again."""
    return prim in (dot_general_p, conv_p)


def dots_with_no_batch_dims_saveable(prim: Primitive, *args: Aval, **params: Any) -> bool:
    """Keep the results of matrix products without batch dimensions: those with weights, mostly."""
    return prim is dot_general_p and not params["batch"][0]


class _ByName:
    """A policy that looks at the names that checkpoint_name has given; equal for equal names."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and self.names == other.names

    def __hash__(self) -> int:
        return hash((self.__class__, self.names))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, sorted(self.names)))})"


class save_only_these_names(_ByName):
    """A policy that keeps the values marked by `name`, under one of these names."""

    def __init__(self, *names_which_can_be_saved: str) -> None:
        super().__init__(*names_which_can_be_saved)

    def __call__(self, prim: Primitive, *args: Aval, **params: Any) -> bool:
        return prim is name_p and params["name"] in self.names


class save_any_names_but_these(_ByName):
    """A policy that keeps the values marked by `name`, but not under one of these names."""

    def __init__(self, *names_not_to_save: str) -> None:
        super().__init__(*names_not_to_save)

    def __call__(self, prim: Primitive, *args: Aval, **params: Any) -> bool:
        return prim is name_p and params["name"] not in self.names


class save_anything_except_these_names(_ByName):
    """A policy that keeps all values but those marked by `name` under one of these names."""

    def __init__(self, *names_not_to_save: str) -> None:
        super().__init__(*names_not_to_save)

    def __call__(self, prim: Primitive, *args: Aval, **params: Any) -> bool:
        return prim is not name_p or params["name"] not in self.names


@dataclass(frozen=True)
class save_from_both_policies:
    """A policy that keeps what one of two policies keeps."""

    policy_1: Function
    policy_2: Function

    def __call__(self, prim: Primitive, *args: Aval, **params: Any) -> bool:
        return self.policy_1(prim, *args, **params) or self.policy_2(prim, *args, **params)


# ---- on the host ---------------------------------------------------------------------------------


class OnHost(Protocol):
    """What computes host arrays quicker than NumPy does node by node; compares by what it is."""

    def way(self, operands: Sequence[Aval], results: Sequence[Aval]) -> Way | None:
        """How arrays of these avals are computed; None if they are not for it."""

    def gradients(self, wanted: Mask) -> OnHost | None:
        """What computes, of the operands and the cotangents of all results, those of the operands that are wanted."""


class _Tangents(NamedTuple):
    """Of which operands there are tangents: on its way from a function to its gradients."""

    of: OnHost
    mask: Mask

    def way(self, operands: Sequence[Aval], results: Sequence[Aval]) -> Way | None:
        """Nobody computes tangents."""
        return None

    def gradients(self, wanted: Mask) -> OnHost | None:
        """Of second order there is nothing."""
        return None


def _way(params: Mapping[str, Any]) -> Way | None:
    on_host, graph = params["on_host"], params["graph"]
    return on_host and on_host.way(graph.in_avals, graph.out_avals)


def _reference_at(*avals: Aval, graph: Graph, **params: Any) -> Function:
    return by_way(_way({"graph": graph, **params}), graph)


# ---- wrapper -------------------------------------------------------------------------------------


def remat(
    fun: Function, args: Sequence[Value], *, policy: Function = nothing_saveable, on_host: OnHost | None = None
) -> list[Value]:
    """fun(*args), a sequence of values; its derivative computes again what `policy` does not keep.

    What the function closes over counts among its arguments. `on_host` computes the same of host arrays.
    """
    if not callable(policy):
        raise TypeError(
            f"remat takes a policy(prim, *avals, **params) -> bool, got {policy!r}; see "
            "fc.checkpoint_policies: everything, nothing, dots, named('a', 'b')"
        )
    graph, captures = trace(fun, avals_of(args), getattr(fun, "__name__", "function"))
    on_host = None if captures else on_host
    return list(bind(remat_p, *args, *captures, graph=graph, policy=policy, differentiated=False, on_host=on_host))


# ---- shape, reference, lowering ------------------------------------------------------------------


def _shape(*avals: Aval, graph: Graph, **params: Any) -> tuple[Aval, ...]:
    if tuple(avals) != graph.in_avals:
        raise TypeError(f"remat of a graph of {graph.in_avals}, got {avals}")
    return graph.out_avals


def _lower(ctx: LowerContext, *operands: Operand, graph: Graph, differentiated: bool, **params: Any) -> list[Operand]:
    if differentiated and operands:
        ctx.root.features.add("barrier")  # on CPU a barrier holds only with an option of its own
        held = ctx.op("stablehlo.optimization_barrier", *operands, out=[x.aval for x in operands])
        return ctx.graph(graph, held)
    return ctx.graph(graph, operands)


# ---- jvp, batch ----------------------------------------------------------------------------------


def _jvp(primals: Sequence[Value], tangents: Tangents, *, graph: Graph, on_host: OnHost | None, **params: Any) -> Jvps:
    mask = present(tangents)
    dual, out_mask = jvp(graph, mask)
    on_host = on_host and _Tangents(on_host, mask)
    outs = bind(remat_p, *primals, *pick(tangents, mask), graph=dual, on_host=on_host, **params)
    n = len(out_mask)
    return outs[:n], spread(out_mask, outs[n:])


def _batch(axis: Axis, args: Sequence[Value], dims: Dims, *, graph: Graph, on_host: Any, **params: Any) -> Batcheds:
    new, out_dims = batch(graph, axis, tuple(dims))
    outs = bind(remat_p, *args, graph=new, on_host=None, **params)
    return outs, list(out_dims)


# ---- partial evaluation --------------------------------------------------------------------------


def _partial_eval(split: Splitter, args: list[Traced], node: Node) -> list[Traced]:
    """Known outputs are computed as ever; the rest stays one node that makes residuals again."""
    graph, policy = node.params["graph"], node.params["policy"]
    unknown = tuple(not split.is_known(a) for a in args)
    known, later, needed, out_unknown = _split_graph(graph, unknown, policy)
    known_args = unpick(args, unknown)
    outs = split.known.inline(known, known_args)
    n = out_unknown.count(False)
    # What tangents are computed of is still all operands, in their order.
    is_plain = all(needed) and len(outs) == n and unknown == tuple(sorted(unknown))
    unknown_outs = split.add_unknown(
        node.primitive,
        [*pick(known_args, needed), *outs[n:], *pick(args, unknown)],
        graph=later,
        policy=policy,
        differentiated=node.params["differentiated"],
        on_host=node.params["on_host"] if is_plain else None,
    )
    return merge(out_unknown, unknown_outs, outs[:n])


@memoised
def _split_graph(
    graph: Graph, unknown: tuple[bool, ...], policy: Function
) -> tuple[Graph, Graph, tuple[bool, ...], tuple[bool, ...]]:
    """(known graph with what it keeps, unknown graph of that, the known inputs it needs, ...).

    The unknown graph: needed known inputs, kept values, unknown inputs -> unknown outputs.
    """
    s = partial_eval(graph, unknown)
    inputs, kept, again = _walk_back(s, policy)
    needed = tuple(slot in inputs for slot in s.known.inputs)
    known = Graph(s.known.name, s.known.inputs, s.known.nodes, [*s.known.outputs[: s.known_outs], *kept], s.known.avals)
    sources = [*pick(s.known.inputs, needed), *kept]
    residuals = Graph("recomputed", sources, again, s.known.outputs[s.known_outs :], s.known.avals)

    def later(*args: Value) -> list[Value]:
        return run(s.unknown, [*run(residuals, args[: len(sources)]), *args[len(sources) :]])

    in_avals = [*residuals.in_avals, *s.unknown.in_avals[s.residuals :]]
    return dce(known), trace_closed(later, in_avals, graph.name), needed, s.out_unknown


def _walk_back(s: Split, policy: Function) -> tuple[set[int], list[int], list[Node]]:
    """From the residuals: (known inputs they come from, slots to keep, nodes to run again)."""
    wanted = set(s.known.outputs[s.known_outs :])
    kept: list[int] = []
    again: list[Node] = []
    for node in reversed(s.known.nodes):
        if not wanted.intersection(node.outputs):
            continue
        if policy(node.primitive, *[s.known.avals[i] for i in node.inputs], **node.params):
            kept.extend(slot for slot in node.outputs if slot in wanted)
        else:
            again.append(node)
            wanted.update(node.inputs)
    return wanted.intersection(s.known.inputs), kept, again[::-1]


# ---- transpose -----------------------------------------------------------------------------------


def _transpose(
    cotangents: Tangents, *args: Value, graph: Graph, policy: Function, differentiated: bool, on_host: OnHost | None
) -> Cotangents:
    linear, given = is_linear(args), present(cotangents)
    back, mask = _backward(graph, linear, given)
    operands = [*unpick(args, linear), *pick(cotangents, given)]
    of_all = isinstance(on_host, _Tangents) and linear.count(False) == len(on_host.mask) and all(given) and all(mask)
    on_host = on_host.of.gradients(on_host.mask) if of_all else None  # type: ignore[union-attr]
    outs = bind(remat_p, *operands, graph=back, policy=policy, differentiated=True, on_host=on_host)
    return spread(linear, spread(mask, outs))


@memoised
def _backward(graph: Graph, linear: tuple[bool, ...], given: tuple[bool, ...]) -> tuple[Graph, tuple[bool, ...]]:
    """(graph of the other inputs + given cotangents -> cotangents, which inputs have one)."""
    found = []

    def fun(*args: Value) -> list[Value]:
        values, cts = args[: linear.count(False)], args[linear.count(False) :]
        operands = merge(linear, (Linear(a) for a in pick(graph.in_avals, linear)), values)
        out = pick(transpose_mixed(graph, operands, spread(given, cts)), linear)
        found.append(present(out))
        return [c for c in out if c is not None]

    in_avals = [*unpick(graph.in_avals, linear), *pick(graph.out_avals, given)]
    back = trace_closed(fun, in_avals, f"transpose_{graph.name}")
    return back, found[0]


remat_p = Primitive(
    "remat",
    traits=CONTROL.but(numpy=0, again="graph", whole=_way),  # it costs what its graph costs
    multiple=True,
    shape=_shape,
    reference=specialised(_reference_at)(lambda *args, graph, **params: evaluate(graph, args)),
    lower=_lower,
    jvp=_jvp,
    partial_eval=_partial_eval,
    transpose=_transpose,
    batch=_batch,
)
