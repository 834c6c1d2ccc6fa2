"""Nodes of the tape, and what an op's node knows: how its backward is computed.

A node keeps no residuals of its own making if it can: its backward is a graph of the op's inputs,
its outputs and the cotangents, in which cheap intermediate values are computed again (in a fused
program that costs nothing). That graph is itself an op, so gradients of gradients need no further
machinery. Only where recomputing would be expensive (a product, a factorisation, a loop) are the
intermediate values kept, and the inputs with them for higher orders.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...core import dtypes as dt
from ...core.graph import Graph, dce, forget, memoised, simplified, used_inputs
from ...core.graph import Node as GraphNode
from ...core.trace import Builder
from ...engine import Unit, Value, record
from ...engine.written_out import recorder_of
from ...primitives import conj, zeros
from ...transforms.jvp import copy_node, jvp
from ...transforms.linearize import linearize
from ...transforms.sizes import resized
from ...transforms.transpose import vjp
from ..tensors.types import Size, of_numpy
from .conjugation import Conjugated
from .modes import state

sequence = itertools.count()


class Way(NamedTuple):
    """How gradients come of some cotangents: each is one of these (`route`), or `record` records `unit`, whose results
    are the gradients, or those in `places`; None stands for no gradient."""

    route: tuple[int | None, ...] | None
    unit: Unit | None
    record: Callable | None
    places: tuple[int | None, ...] | None


WRITTEN_OUT = 16  # values and results up to which recording is written out for so many: 0.06 ms each to compile


@functools.lru_cache(256)
def recorder_of_several(n: int, results: int) -> Callable:
    """A function of a unit, n values and the place of the user's call: record() of these."""
    return recorder_of(n, None, results=results) if n + results <= WRITTEN_OUT else _record_many


def _record_many(unit: Unit, *given) -> list[Value]:
    return record(unit, given[:-2])


class Taped:
    """How an op's graph is differentiated by the inputs in `mask`.

    forward: inputs -> outputs, kept values. backward: saved inputs, saved outputs, kept values,
    cotangents -> gradients, one for each input in the mask. `checked` are the saved inputs whose
    version counts: those that the first derivative needs.
    """

    __slots__ = (
        "graph",
        "mask",
        "forward",
        "n_out",
        "saved_inputs",
        "saved_outputs",
        "n_kept",
        "checked",
        "out_mask",
        "node_name",
        "_backward",
        "_units",
        "ways",
        "ops",
    )

    def __init__(self, graph: Graph, mask: tuple[bool, ...], name: str, multiple: bool):
        self.graph, self.mask, self.n_out = graph, mask, len(graph.outputs)
        derived = resized(graph, mask, lambda: _derived(graph, mask))
        self.out_mask, self.n_kept, self._backward = derived.out_mask, derived.n_kept, derived.backward
        self.saved_inputs, self.checked = derived.saved_inputs, derived.checked
        self.saved_outputs = derived.saved_outputs
        self.forward = Unit(derived.forward, name, multiple or bool(self.n_kept))
        self._units: dict[tuple, tuple[Graph, Unit]] = {}
        self.ways: dict[tuple, Way] = {}
        self.ops: dict = {}  # what `_apply` and `_levels` derive from this, as ops

    def backward(self, given: tuple[bool, ...]) -> tuple[Graph, Unit]:
        """The backward graph, and its unit, where these outputs have a cotangent."""
        found = self._units.get(given)
        if found is None:
            graph = self._backward if all(given) else simplified(_with_zeros(self._backward, given))
            found = self._units[given] = graph, Unit(graph, f"{self.forward.name}_backward", True)
        return found

    def units(self) -> list[Unit]:
        """The units that are recorded of it."""
        found = [self.forward, *[unit for _, unit in self._units.values()]]
        for op in self.ops.values():
            found += op.units()
        return found

    def way(self, given: tuple[bool, ...]) -> Way:
        """How gradients come of the cotangents that are given: found in `ways` from then on."""
        found = self.ways[given] = self._find_way(given)
        return found

    def _find_way(self, given: tuple[bool, ...]) -> Way:
        if True not in given:
            return Way((None,) * len(self.mask), None, None, None)
        graph, unit = self.backward(given)
        cotangents = graph.inputs[len(graph.inputs) - sum(given) :]
        wanted = [i for i, m in enumerate(self.mask) if m]
        passed = dict(zip(cotangents, [i for i, g in enumerate(given) if g]))
        if all([s in passed for s in graph.outputs]):  # as those of a sum are
            route = dict(zip(wanted, [passed[s] for s in graph.outputs]))
            return Way(tuple([route.get(i) for i in range(len(self.mask))]), None, None, None)
        known = (True,) * len(wanted) if all(given) else reached(graph, cotangents)
        found = {i: k for k, (i, r) in enumerate(zip(wanted, known)) if r}
        places = tuple([found.get(i) for i in range(len(self.mask))])
        same = places == tuple(range(len(places)))
        return Way(None, unit, recorder_of_several(unit.n_inputs, len(unit.out_avals)), None if same else places)

    @property
    def second_order(self) -> Graph:
        """inputs, cotangents -> gradients, everything in between computed again."""
        return second_order(self.graph, self.mask)


class Derived(NamedTuple):
    """How a graph is differentiated: see `Taped`."""

    forward: Graph
    backward: Graph
    out_mask: tuple[bool, ...]
    n_kept: int
    saved_inputs: tuple[int, ...]
    checked: tuple[int, ...]
    saved_outputs: tuple[int, ...]


def _derived(graph: Graph, mask: tuple[bool, ...]) -> Derived:
    v = vjp(graph, mask)
    kept, full = _recomputing(graph, v)
    n_in, n_out = len(graph.inputs), len(graph.outputs)
    used = used_inputs(full)
    saved_inputs = checked = tuple(i for i in range(n_in) if used[i])
    saved_outputs = tuple(i for i in range(n_out) if used[n_in + i])
    forward = graph
    if kept:
        outputs = v.forward.outputs[:n_out] + kept
        forward = Graph(graph.name, v.forward.inputs, v.forward.nodes, outputs, v.forward.avals)
        saved_inputs = tuple(range(n_in))  # for higher orders
    given = [*saved_inputs, *(n_in + i for i in saved_outputs), *range(n_in + n_out, len(full.inputs))]
    forget(graph, vjp, linearize, jvp)  # half of what a new size of an op would keep
    backward = simplified(_select(full, given))
    return Derived(simplified(forward), backward, v.out_mask, len(kept), saved_inputs, checked, saved_outputs)


def reached(graph: Graph, inputs: Sequence[int]) -> tuple[bool, ...]:
    """Which outputs of a graph depend on some of these inputs: on empty ones all, as nothing is computed of those."""
    if any([graph.avals[s].size == 0 for s in inputs]):
        return (True,) * len(graph.outputs)
    known = set(inputs)
    for node in graph.nodes:
        if not known.isdisjoint(node.inputs):
            known.update(node.outputs)
    return tuple([s in known for s in graph.outputs])


def _recomputing(graph: Graph, v) -> tuple[tuple[int, ...], Graph]:
    """(slots of residuals that are kept, graph of inputs + outputs + kept + cts -> gradients)."""
    residual_slots = v.forward.outputs[len(graph.outputs) :]
    out_slots = v.forward.outputs[: len(graph.outputs)]
    known = set(v.forward.inputs) | set(out_slots)
    maker = {s: node for node in v.forward.nodes for s in node.outputs}
    kept: dict[int, None] = {}
    for slot in residual_slots:
        _keep_expensive(slot, maker, known, kept)
    builder = Builder(f"{graph.name}_backward")
    with builder:
        env = {s: builder.input(v.forward.avals[s]) for s in v.forward.inputs}
        outs = [builder.input(v.forward.avals[s]) for s in out_slots]
        for s, x in zip(out_slots, outs):
            env.setdefault(s, x)
        env.update({s: builder.input(v.forward.avals[s]) for s in kept})
        cts = [builder.input(v.forward.avals[s]) for s in out_slots]
        residuals = [_again(s, maker, env, builder, v.forward) for s in residual_slots]
        grads = _inline_conjugated(builder, v, residuals, cts)
        full = builder.finish(grads)
    return tuple(kept), dce(full)


def _keep_expensive(slot: int, maker: dict[int, GraphNode], known: set, kept: dict):
    """Mark the values that `slot` needs and that are too dear to compute again."""
    if slot in known or slot in kept:
        return
    node = maker[slot]
    if node.primitive.traits.expensive or node.primitive.effect:
        kept[slot] = None
        return
    for s in node.inputs:
        _keep_expensive(s, maker, known, kept)


def _again(slot: int, maker, env: dict, builder: Builder, forward: Graph):
    """The value of a forward slot inside the backward graph, computed again where it must be."""
    if slot not in env:
        node = maker[slot]
        args = [_again(s, maker, env, builder, forward) for s in node.inputs]
        env.update(zip(node.outputs, copy_node(builder, forward, node, args)))
    return env[slot]


def _inline_conjugated(builder: Builder, v, residuals: Sequence, cts: Sequence) -> list:
    """The backward graph, in PyTorch's convention: gradients of complex values are conjugates."""
    given = [c for c, m in zip(cts, v.out_mask) if m]
    if any(a.dtype in dt.COMPLEX for a in (*v.backward.in_avals, *v.backward.out_avals)):
        return Conjugated(builder, v.backward).run(residuals, given)
    return builder.inline(v.backward, [*residuals, *given])


def conjugate(x):
    """The complex conjugate; real values stay."""
    return conj(x) if x.aval.dtype in dt.COMPLEX else x


def _select(graph: Graph, positions: Sequence[int]) -> Graph:
    """The graph with only these inputs, in this order; the others are not used."""
    return Graph(graph.name, [graph.inputs[i] for i in positions], graph.nodes, graph.outputs, graph.avals)


def _with_zeros(graph: Graph, given: tuple[bool, ...]) -> Graph:
    """The graph with zeros for the trailing cotangent inputs that are not given."""
    if all(given):
        return graph
    n = len(graph.inputs) - len(given)
    builder = Builder(graph.name)
    with builder:
        args = [builder.input(a) for a in graph.in_avals[:n]]
        args += [builder.input(a) if g else zeros(a) for a, g in zip(graph.in_avals[n:], given)]
        return builder.finish(builder.inline(graph, args))


@memoised
def second_order(graph: Graph, mask: tuple[bool, ...]) -> Graph:
    """inputs + cotangents -> gradients, in PyTorch's convention, as one graph."""
    v = vjp(graph, mask)
    builder = Builder(f"{graph.name}_backward")
    with builder:
        args = [builder.input(a) for a in graph.in_avals]
        cts = [builder.input(a) for a in graph.out_avals]
        outs = builder.inline(v.forward, args)
        return simplified(builder.finish(_inline_conjugated(builder, v, outs[len(graph.outputs) :], cts)))


class Extras:
    """What few nodes have: hooks, tensors that retain their gradient, the user's notes, and further
    nodes that were looked at (`_node_chains`)."""

    __slots__ = ("chain", "pre_hooks", "hooks", "tensor_hooks", "retained", "metadata")

    def __init__(self):
        self.chain = None
        self.pre_hooks, self.hooks, self.metadata = {}, {}, {}
        self.tensor_hooks: dict[int, dict] = {}
        self.retained = weakref.WeakValueDictionary()  # output index -> tensor


class Node:
    """A step of the tape: one applied op, with edges to what made its inputs.

    `edges[i]` is (node, index of that node's output) for differentiable input i. Subclasses
    compute `apply`.
    """

    __slots__ = ("edges", "n_outputs", "sequence", "extras", "__weakref__")
    followed = True  # whether a gradient that arrives goes anywhere: see `accumulate.Unfollowed`
    lost: str | None = None  # why there is no telling what the history is: see `accumulate.Lost`
    of_values: Callable | None = None  # apply() of cotangents that are values, where there is one: see OpNode

    def __init__(self, edges, n_outputs: int = 1):
        self.edges, self.n_outputs = edges, n_outputs
        self.sequence, self.extras = next(sequence), None

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __lt__(self, other):
        """No node goes before another whose number it has, in the queue of a pass."""
        return False

    @property
    def created(self) -> int:
        """The number of nodes that were there when this one was made."""
        return self.sequence

    def check_followed(self):
        """RuntimeError if there is no telling what the history is."""

    def name(self) -> str:
        """The name of the kind of node: AddBackward0."""
        return type(self).__name__

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """The gradients of the inputs, one for each edge, of those of the outputs (None: zero)."""
        raise NotImplementedError(f"{self.name()} has no backward")

    def __call__(self, *grads):
        """The gradients of the inputs, of those of the outputs."""
        found = self.apply(self.padded(grads), state.enabled)
        return found[0] if len(found) == 1 else tuple(found)

    def padded(self, grads: tuple) -> list:
        """Gradients for all outputs: None for those at the end that are not given."""
        if not 0 < len(grads) <= self.n_outputs:
            raise TypeError(f"expected {self.n_outputs} arguments, got {len(grads)} instead")
        return [*grads, *[None] * (self.n_outputs - len(grads))]

    @property
    def next_functions(self) -> tuple:
        """((node, index), ...) of the inputs; (None, 0) where none is needed."""
        return shown_edges(self.edges)

    def output_aval(self, index: int):
        """The aval of an output; None where the node does not know it."""
        return None

    @property
    def _input_metadata(self) -> list:
        """Shape, dtype and device of the gradients that arrive, under PyTorch's name."""
        avals = [self.output_aval(i) for i in range(self.n_outputs)]
        return [None if a is None else InputMetadata(a) for a in avals]

    def extra(self) -> Extras:
        """Hooks and notes, to be added to."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    @property
    def metadata(self) -> dict:
        """A dict for the user's notes."""
        return self.extra().metadata

    def register_hook(self, hook):
        """Call hook(grad_inputs, grad_outputs) when the node has computed."""
        return Handle(self.extra().hooks, hook)

    def register_prehook(self, hook):
        """Call hook(grad_outputs) before the node computes."""
        return Handle(self.extra().pre_hooks, hook)

    def hooks_of_output(self, index: int) -> dict:
        """The tensor hooks of output `index`, in order of registration."""
        return self.extra().tensor_hooks.setdefault(index, {})

    def retain(self, index: int, tensor):
        """Give the gradient of output `index` to a tensor that retains it."""
        self.extra().retained[index] = tensor

    def release(self):
        """Free what backward needs."""

    def forget(self, tensor, new):
        """An in-place op put the output `new` of this node into `tensor`."""

    def _register_hook_dict(self, tensor_hooks: dict):
        """Hooks of output 0, as old code registers them."""
        self.hooks_of_output(0).update(tensor_hooks)

    def _sequence_nr(self) -> int:
        return self.sequence

    def _set_sequence_nr(self, number: int):
        """Let a pass come by the node as if it had been made at another time: greater numbers first."""
        self.sequence = number


class Underivable(Node):
    """The step of an op that has no derivative, computed outside of recordings: a backward pass says so."""

    __slots__ = ()
    op: str

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """NotImplementedError."""
        raise NotImplementedError(f"the derivative for '{self.op}' is not implemented.")


@functools.cache
def _underivable(op: str, name: str) -> type[Underivable]:
    return type(name, (Underivable,), {"__slots__": (), "__module__": "torch.autograd", "op": op})


def say_underivable(op: str, name: str, x, made):
    """Put what an op made of x on the tape if x is, under a node of this name; the derivative is missing."""
    if state.enabled and x._ge is not None:
        made._ge = _underivable(op, name)((x._ge,)), 0


def shown_edges(edges: Sequence) -> tuple:
    """Edges as next_functions has them: (None, 0) where no gradient goes."""
    return tuple([(None, 0) if e is None or not e[0].followed else e for e in edges])


class InputMetadata:
    """What PyTorch's nodes tell of a gradient that arrives."""

    __module__ = "torch._C._autograd"
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, aval):
        self.shape, self.dtype = Size(aval.shape), of_numpy(aval.dtype)


class Packed:
    """A saved tensor in the hands of the user's hooks."""

    __slots__ = ("packed", "unpack_hook", "aval")

    def __init__(self, packed, unpack_hook, aval):
        self.packed, self.unpack_hook, self.aval = packed, unpack_hook, aval

    def value(self):
        """The value of the unpacked tensor, in the shape and dtype that was saved."""
        tensor, wanted = self.unpack(), self.aval
        if tensor._aval is not wanted:
            tensor = tensor.detach().expand(wanted.shape)
            if tensor._aval.dtype != wanted.dtype:
                tensor = tensor.to(of_numpy(wanted.dtype))
        return tensor._read()

    def unpack(self):
        """The tensor, by the unpack hook; TypeError if it returns something else."""
        tensor = self.unpack_hook(self.packed)
        if not hasattr(tensor, "_read"):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got "
                f"result of type {type(tensor).__name__}"
            )
        return tensor


class Handle:
    """What register_hook returns: remove() takes the hook away."""

    __slots__ = ("hooks", "id", "__weakref__")
    _ids = itertools.count()

    def __init__(self, hooks: dict, hook, prepend: bool = False):
        self.hooks, self.id = hooks, next(self._ids)
        others = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(others)

    def remove(self):
        """Take the hook away."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()
