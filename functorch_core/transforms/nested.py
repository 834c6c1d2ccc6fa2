"""What the primitives that hold graphs share: masks over operands, fixpoints, graphs of graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..core.aval import Aval, aval_of
from ..core.graph import Graph
from ..core.primitive import Linear, Traits
from ..core.types import ArrayLike, Value

Mask = tuple[bool, ...]
CONTROL = Traits(family="control", numpy=70, expensive=True)
T = TypeVar("T")

# ---- lists under masks ---------------------------------------------------------------------------


def parts(values: Iterable[T], *sizes: int) -> list[list[T]]:
    """Consecutive parts of these sizes, and the rest."""
    rest, out = list(values), []
    for n in sizes:
        out.append(rest[:n])
        rest = rest[n:]
    return [*out, rest]


def pick(values: Iterable[T], mask: Iterable[bool]) -> list[T]:
    """The values where the mask holds."""
    return [x for x, m in zip(values, mask, strict=True) if m]


def unpick(values: Iterable[T], mask: Iterable[bool]) -> list[T]:
    """The values where the mask does not hold."""
    return [x for x, m in zip(values, mask, strict=True) if not m]


def merge(mask: Iterable[bool], chosen: Iterable[T], others: Iterable[T]) -> list[T]:
    """The inverse of pick and unpick: the next of `chosen` under the mask, else of `others`."""
    chosen, others = iter(chosen), iter(others)
    return [next(chosen) if m else next(others) for m in mask]


def spread(mask: Iterable[bool], chosen: Iterable[T]) -> list[T | None]:
    """The next of `chosen` where the mask holds, None elsewhere."""
    chosen = iter(chosen)
    return [next(chosen) if m else None for m in mask]


def present(values: Iterable[object]) -> Mask:
    """Which values are not None."""
    return tuple(x is not None for x in values)


def is_linear(args: Iterable[object]) -> Mask:
    """Which arguments of a transpose rule are linear ones."""
    return tuple(isinstance(a, Linear) for a in args)


def either(*masks: Mask) -> Mask:
    """Elementwise or."""
    return tuple(map(any, zip(*masks, strict=True)))


def fixpoint(step: Callable[[Mask], Iterable[bool]], mask: Iterable[bool]) -> Mask:
    """The least mask from `mask` on that step(mask) adds nothing to: a loop's carry in the end."""
    mask = tuple(mask)
    while True:
        grown = either(mask, tuple(step(mask)))
        if grown == mask:
            return mask
        mask = grown


# ---- graphs made of graphs -----------------------------------------------------------------------


def rearranged(graph: Graph, inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
    """The graph with its inputs (a permutation) and outputs (a choice) in this order."""
    return Graph(
        graph.name, [graph.inputs[i] for i in inputs], graph.nodes, [graph.outputs[i] for i in outputs], graph.avals
    )


def sections(*sizes: int) -> list[list[int]]:
    """Consecutive index ranges: sections(2, 1) is [[0, 1], [2]]."""
    return parts(range(sum(sizes)), *sizes)[:-1]


def avals_of(values: Iterable[ArrayLike]) -> list[Aval]:
    """The aval of each."""
    return [aval_of(x) for x in values]


def join_captures(graphs: Sequence[tuple[Graph, list[Any]]], own: int) -> tuple[list[Graph], list[Any]]:
    """Give graphs with `own` equal inputs and different captured ones equal inputs throughout."""
    joined = list(dict.fromkeys(x for _, captures in graphs for x in captures))
    return [_with_captures(g, own, captures, joined) for g, captures in graphs], joined


def _with_captures(graph: Graph, own: int, captures: Sequence[Value], joined: Sequence[Value]) -> Graph:
    slots = dict(zip(captures, graph.inputs[own:], strict=True))
    avals = list(graph.avals)
    for x in joined:
        if x not in slots:
            slots[x] = len(avals)
            avals.append(x.aval)
    inputs = [*graph.inputs[:own], *(slots[x] for x in joined)]
    return Graph(graph.name, inputs, graph.nodes, graph.outputs, avals)


def listed(values: Iterable[Aval]) -> str:
    """float32[3], int32[]: avals in a message."""
    return ", ".join(map(str, values)) or "nothing"


def check_avals(what: str, found: Sequence[Aval], expected: Sequence[Aval], advice: str) -> None:
    """TypeError unless two lists of avals agree."""
    if tuple(found) != tuple(expected):
        raise TypeError(f"{what}: expected {listed(expected)}; got {listed(found)}. {advice}")
