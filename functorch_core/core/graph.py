"""Graph: the one intermediate representation. SSA over integer slots.

graph(a: float32[3], b: float32[3]):
    c: float32[3] = sin a
    d: float32[3] = mul c b
    return d
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .aval import Aval, aval_of
from .primitive import Primitive
from .types import ArrayLike, Function

SMALL = 16  # constants of at most so many elements are compared by value, larger ones by identity


class Literal:
    """A concrete array inside a graph: hashes by value if small, by identity if large."""

    __slots__ = ("value", "aval", "key")

    def __init__(self, value: ArrayLike) -> None:
        self.value, self.aval = value, aval_of(value)
        small = isinstance(value, (np.ndarray, np.generic)) and self.aval.size <= SMALL
        self.key = (self.aval.id, np.asarray(value).tobytes()) if small else (id(value),)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.key == other.key

    def __repr__(self) -> str:
        if self.aval.size <= 4 and isinstance(self.value, (np.ndarray, np.generic)):
            return str(self.value)
        return f"<{self.aval}>"


MAX_SLOTS = 1 << 14
_slots: dict[tuple[int, ...], tuple[int, ...]] = {}  # what nodes have as inputs and outputs, each once: a third of them


class Node:
    """One application of a primitive: slots in, slots out."""

    __slots__ = ("primitive", "inputs", "outputs", "params", "source")

    def __init__(
        self,
        primitive: Primitive,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        params: dict[str, Any],
        source: tuple[Any, ...] | None = None,
    ) -> None:
        if len(_slots) > MAX_SLOTS:
            _slots.clear()
        self.primitive, self.params, self.source = primitive, params, source
        self.inputs, self.outputs = _slots.setdefault(inputs, inputs), _slots.setdefault(outputs, outputs)


class Graph:
    """Inputs, nodes in order, outputs; `avals[slot]` is each slot's aval.

    Immutable by convention. `memo` holds what transforms derived from this very graph.
    """

    __slots__ = ("name", "inputs", "nodes", "outputs", "avals", "memo", "__weakref__")

    def __init__(
        self, name: str, inputs: Sequence[int], nodes: Sequence[Node], outputs: Sequence[int], avals: Sequence[Aval]
    ) -> None:
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.nodes, self.avals = tuple(nodes), tuple(avals)
        self.memo: dict[Any, Any] = {}

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        """The avals of the inputs."""
        return tuple(map(self.avals.__getitem__, self.inputs))

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        """The avals of the outputs."""
        return tuple(map(self.avals.__getitem__, self.outputs))

    def __repr__(self) -> str:
        return "\n".join(_lines(self, ""))

    def _repr_svg_(self) -> str:
        from .draw import svg

        return svg(self)


# ---- printing ----------------------------------------------------------------------------------


def slot_name(slot: int) -> str:
    """a, b, ..., z, ba, bb, ...: a readable name for a slot."""
    name = ""
    while True:
        slot, digit = divmod(slot, 26)
        name = chr(ord("a") + digit) + name
        if not slot:
            return name


def _lines(graph: Graph, indent: str) -> Iterable[str]:
    names = {s: slot_name(i) for i, s in enumerate(_slots_in_order(graph))}
    args = ", ".join(f"{names[s]}: {graph.avals[s]}" for s in graph.inputs)
    yield f"{indent}{graph.name}({args}):"
    for node in graph.nodes:
        yield from _node_lines(graph, node, names, indent + "    ")
    yield f"{indent}    return {', '.join(names[s] for s in graph.outputs)}"


def _node_lines(graph: Graph, node: Node, names: dict[int, str], indent: str) -> Iterator[str]:
    params = {k: v for k, v in node.params.items() if v is not None}
    inner = {k: v for k, v in params.items() if _graphs_in(v)}
    outs = ", ".join(f"{names[s]}: {graph.avals[s]}" for s in node.outputs)
    static = " ".join(f"{k}={_show(v)}" for k, v in params.items() if k not in inner)
    operands = " ".join(names[s] for s in node.inputs)
    yield f"{indent}{outs} = {node.primitive.name}{f'[{static}]' if static else ''} {operands}".rstrip()
    for key, value in inner.items():
        for sub in _graphs_in(value):
            yield f"{indent}    {key}:"
            yield from _lines(sub, indent + "        ")


def _show(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.name
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return repr(value)


def _graphs_in(value: Any) -> tuple[Graph, ...]:
    if isinstance(value, Graph):
        return (value,)
    if isinstance(value, tuple):
        return tuple(v for v in value if isinstance(v, Graph))
    return ()


def subgraphs(node: Node) -> tuple[Graph, ...]:
    """The graphs among a node's parameters, and in tuples of them."""
    found: tuple[Graph, ...] = ()
    for value in node.params.values():
        kind = value.__class__
        if kind is Graph:
            found += (value,)
        elif kind is tuple and (not value or value[0].__class__ is int):
            continue  # sizes, dimensions
        elif isinstance(value, tuple):
            found += tuple([x for x in value if x.__class__ is Graph])
    return found


def _slots_in_order(graph: Graph) -> Iterable[int]:
    yield from graph.inputs
    for node in graph.nodes:
        yield from node.outputs


# ---- what holds for every graph ------------------------------------------------------------------


def validate(graph: Graph) -> Graph:
    """The graph itself; ValueError if a slot is used before it is made, or a shape rule disagrees."""
    known = set(graph.inputs)
    if len(known) != len(graph.inputs):
        raise ValueError(f"{graph.name}: an input slot occurs twice")
    for i, node in enumerate(graph.nodes):
        _validate_node(graph, node, known, f"{graph.name}: node {i} ({node.primitive.name})")
        known.update(node.outputs)
    missing = [s for s in graph.outputs if s not in known]
    if missing:
        raise ValueError(f"{graph.name}: outputs {missing} are never made")
    return graph


def _validate_node(graph: Graph, node: Node, known: set[int], where: str) -> None:
    missing = [s for s in node.inputs if s not in known]
    if missing:
        raise ValueError(f"{where} uses slots {missing} before they are made")
    if known.intersection(node.outputs):
        raise ValueError(f"{where} makes a slot that exists already")
    expected = node.primitive.shape(*(graph.avals[s] for s in node.inputs), **node.params)
    expected = tuple(expected) if node.primitive.multiple else (expected,)
    found = tuple(graph.avals[s] for s in node.outputs)
    if expected != found:
        raise ValueError(f"{where} has outputs {found}, its shape rule says {expected}")
    for sub in subgraphs(node):
        validate(sub)


# ---- rewriting -----------------------------------------------------------------------------------


def dce(graph: Graph, keep: Sequence[bool] | None = None) -> Graph:
    """Without the nodes that no (kept) output needs; nodes with an effect stay."""
    outputs = [s for s, k in zip(graph.outputs, keep or [True] * len(graph.outputs)) if k]
    needed, nodes = set(outputs), []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs) or has_effect(node):
            nodes.append(node)
            needed.update(node.inputs)
    return Graph(graph.name, graph.inputs, nodes[::-1], outputs, graph.avals)


def has_effect(node: Node) -> bool:
    """Whether a node, or one inside its graphs, must run though nobody uses its result."""
    return node.primitive.effect or bool(node.params) and any(map(graph_has_effect, subgraphs(node)))


def graph_has_effect(graph: Graph) -> bool:
    """Whether the graph must run though nobody uses its outputs."""
    return any(map(has_effect, graph.nodes))


def used_inputs(graph: Graph) -> tuple[bool, ...]:
    """Which inputs some output or effect depends on."""
    slim = dce(graph)
    used = set(slim.outputs).union(*[node.inputs for node in slim.nodes])
    return tuple(map(used.__contains__, graph.inputs))


def cse(graph: Graph) -> Graph:
    """Equal nodes merged: the same primitive, parameters and inputs are computed once."""
    replaced: dict[int, int] = {}
    seen: dict[tuple[Any, ...], tuple[int, ...]] = {}
    nodes = []
    for node in graph.nodes:
        inputs = tuple(map(replaced.get, node.inputs, node.inputs))
        key = None if has_effect(node) else node_key(node, inputs)
        if key is not None and key in seen:
            replaced.update(zip(node.outputs, seen[key]))
            continue
        if key is not None:
            seen[key] = node.outputs
        same = inputs == node.inputs
        nodes.append(node if same else Node(node.primitive, inputs, node.outputs, node.params, node.source))
    outputs = list(map(replaced.get, graph.outputs, graph.outputs))
    return Graph(graph.name, graph.inputs, nodes, outputs, graph.avals)


def simplified(graph: Graph) -> Graph:
    """Without the nodes that no output needs, and with equal ones merged."""
    if "simplified" in graph.memo:
        return graph
    found = cse(dce(graph))
    found.memo["simplified"] = True
    return found


def inlined(graph: Graph, inner: Callable[[Node], Graph | None]) -> Graph:
    """With the nodes of inner(node), a graph of the same inputs and outputs, in place of the node."""
    inside_of = list(map(inner, graph.nodes))
    if not any(inside_of):
        return graph
    avals, nodes = list(graph.avals), []

    def copy(graph: Graph, inside_of: Iterable[Graph | None], slots: dict[int, int]) -> None:
        for node, inside in zip(graph.nodes, inside_of):
            inputs = tuple(slots[s] for s in node.inputs)
            if inside is not None:
                own = dict(zip(inside.inputs, inputs, strict=True))
                copy(inside, map(inner, inside.nodes), own)
                slots.update(zip(node.outputs, (own[s] for s in inside.outputs)))
                continue
            made = tuple(range(len(avals), len(avals) + len(node.outputs)))
            avals.extend(graph.avals[s] for s in node.outputs)
            slots.update(zip(node.outputs, made))
            nodes.append(Node(node.primitive, inputs, made, node.params, node.source))

    slots = {s: s for s in graph.inputs}
    copy(graph, inside_of, slots)
    return Graph(graph.name, graph.inputs, nodes, [slots[s] for s in graph.outputs], avals)


def opened(graph: Graph) -> Graph:
    """With what nodes compute whose derivative is the user's in place of these nodes."""
    return inlined(graph, primal_of)


def primal_of(node: Node) -> Graph | None:
    """The graph of what a node computes whose derivative is the user's."""
    primal = node.primitive.traits.primal
    return node.params[primal] if primal else None


def computed_by(node: Node) -> Graph | None:
    """The graph of what a node computes that differs from it in its derivative alone."""
    again = node.primitive.traits.again
    return node.params[again] if again else primal_of(node)


def node_key(node: Node, inputs: tuple[int, ...]) -> tuple[Any, ...] | None:
    """What two equal nodes share; None if a parameter cannot be hashed."""
    key = (node.primitive, inputs, tuple(sorted(node.params.items(), key=_first)))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _first(item: tuple[str, Any]) -> str:
    return item[0]


def memoised(transform: Function) -> Function:
    """Remember transform(graph, *static) on the graph itself."""

    def wrapped(graph: Graph, *static: Any) -> Any:
        key = (transform, *static)
        found = graph.memo.get(key)
        if found is None:
            found = graph.memo[key] = transform(graph, *static)
        return found

    wrapped.__doc__, wrapped.__name__ = transform.__doc__, transform.__name__
    wrapped.__wrapped__ = transform  # type: ignore[attr-defined]
    return wrapped


def forget(graph: Graph, *transforms: Function) -> None:
    """Let go of what these memoised transforms made of the graph, where it was a step to something else."""
    made = {transform.__wrapped__ for transform in transforms}  # type: ignore[attr-defined]
    for key in [key for key in graph.memo if key.__class__ is tuple and key[0] in made]:
        del graph.memo[key]
