"""What is known of integers before they are computed: argmax of n elements is in [0, n - 1], and what
a unit only moves is in the range of its operands.

Indices that cannot be out of bounds need no check.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.aval import Aval
from ..core.graph import Graph, Node
from ..core.primitive import Primitive
from ..core.trace import constant_p
from ..core.types import Function
from ..primitives.convert import convert_p
from ..primitives.extremes import argmax_p, argmin_p
from ..primitives.sorting import sort_p, top_k_p
from ..primitives.structure import iota_p
from .recorder import SCALAR, Recording
from .value import Value, has_data

MAX_OPERANDS, MAX_DEPTH = 4, 3  # beyond, a check is cheaper than to look for a range


class Range(NamedTuple):
    """Integers from `low` to `high`, and elements of the graph's inputs of these numbers."""

    low: float = np.inf
    high: float = -np.inf
    inputs: frozenset[int] = frozenset()

    def union(self, other: Range) -> Range:
        """What is in one or in the other."""
        return Range(min(self.low, other.low), max(self.high, other.high), self.inputs | other.inputs)


def range_of(value: Value, known: Function, depth: int = 0) -> tuple[float, float] | None:
    """(lowest, highest) of a value; None if unknown. known(value) says it of computed ones."""
    recording: Any = value.recording  # not ABSENT: bounds.check has looked
    if has_data(value):
        return known(value)
    with recording.lock:  # another thread may be about to flush it
        return _range_of_recorded(value, recording, known, depth)


def _range_of_recorded(value: Value, recording: Recording, known: Function, depth: int) -> tuple[float, float] | None:
    maker = recording.maker(value.slot)
    if maker is None:
        return known(value)
    unit, first, position = maker
    if unit.ranges is None:
        unit.ranges = ranges_of_graph(unit.graph)
    found = unit.ranges[value.slot - first]
    if found is None or depth == MAX_DEPTH or len(found.inputs) > MAX_OPERANDS:
        return None
    low, high = found.low, found.high
    for i in found.inputs:
        operand = recording.value_at(recording.signature[position + 1 + i])
        inner = None if operand is None else range_of(operand, known, depth + 1)
        if inner is None:
            return None
        low, high = min(low, inner[0]), max(high, inner[1])
    return low, high


def moved(value: Value, known: Function, depth: int = 0) -> np.ndarray | None:
    """The numbers of a value that is made of parts of known ones, by NumPy: known(value) gives
    these, or None. To be called of a value that has a range."""
    if has_data(value):
        return known(value)
    recording: Any = value.recording
    with recording.lock:
        maker = recording.maker(value.slot)
        if maker is None or depth == MAX_DEPTH:
            return None
        unit, first, position = maker
        codes = recording.signature[position + 1 : position + 1 + unit.n_inputs]
        if unit.effect or any([code <= SCALAR for code in codes]):
            return None
        arrays = [moved(recording.value_at(code), known, depth + 1) for code in codes]
        if any([a is None for a in arrays]):
            return None
        return unit.reference(arrays)[value.slot - first]


def ranges_of_graph(graph: Graph) -> list[Range | None]:
    """What is known of a graph's outputs; None for nothing."""
    env: dict[int, Range | None] = {
        s: Range(inputs=frozenset([i])) for i, s in enumerate(graph.inputs) if graph.avals[s].dtype.kind in "iu"
    }
    for node in graph.nodes:
        found = _ranges(node, [env.get(s) for s in node.inputs], [graph.avals[s] for s in node.inputs])
        env.update(zip(node.outputs, found))
    return [env.get(s) for s in graph.outputs]


def _ranges(node: Node, operands: list[Range | None], avals: list[Aval]) -> list[Range | None]:
    rule, moves = _RULES.get(node.primitive), node.primitive.traits.moves
    if rule is not None:
        return rule(operands, avals, **node.params)
    return [_union(operands[moves])] if moves is not None else [None] * len(node.outputs)


def _below(n: int) -> Range:
    return Range(0, n - 1)


def _union(ranges: list[Range | None]) -> Range | None:
    total: Range | None = Range()
    for r in ranges:
        total = None if r is None or total is None else total.union(r)
    return total


def _of_constant(value: np.ndarray) -> Range | None:
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "iu":
        return None
    return Range(int(value.min()), int(value.max())) if value.size else Range()


def _converted(found: Range | None, source: Any, dtype: np.dtype) -> Range | None:
    """The range after a conversion; None where a number might not survive it."""
    if found is None or dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    fits = info.min <= found.low and found.high <= info.max
    return found if fits and (not found.inputs or np.can_cast(source, dtype)) else None


_RULES: dict[Primitive, Function] = {
    constant_p: lambda operands, avals, *, value: [_of_constant(value.value)],
    iota_p: lambda operands, avals, *, shape, dimension, **params: [_below(shape[dimension])],
    argmax_p: lambda operands, avals, *, axis, **params: [_below(avals[0].shape[axis])],
    argmin_p: lambda operands, avals, *, axis, **params: [_below(avals[0].shape[axis])],
    top_k_p: lambda operands, avals, **params: [None, _below(avals[0].shape[-1])],
    sort_p: lambda operands, avals, **params: operands,  # each operand in another order
    convert_p: lambda operands, avals, *, dtype: [_converted(operands[0], avals[0].dtype, dtype)],
}
