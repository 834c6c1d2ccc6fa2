"""What is known of integers before they are computed: argmax of n elements is in [0, n - 1], and what
a unit only moves is in the range of its operands.

Indices that cannot be out of bounds need no check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.graph import Graph, Node
from .recorder import Recording
from .value import Value

MAX_OPERANDS, MAX_DEPTH = 4, 3  # beyond, a check is cheaper than to look for a range

# Their elements are elements of these operands (None: of all).
MOVES = {
    "reshape": (0,),
    "broadcast_in_dim": (0,),
    "transpose": (0,),
    "reverse": (0,),
    "slice": (0,),
    "copy": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "concatenate": None,
    "select": (1, 2),
    "reduce_min": (0,),
    "reduce_max": (0,),
    "stop_gradient": (0,),
}


class Range(NamedTuple):
    """Integers from `low` to `high`, and elements of the graph's inputs of these numbers."""

    low: float = np.inf
    high: float = -np.inf
    inputs: frozenset[int] = frozenset()

    def union(self, other: Range) -> Range:
        """What is in one or in the other."""
        return Range(min(self.low, other.low), max(self.high, other.high), self.inputs | other.inputs)


def range_of(value: Value, known: Callable, depth: int = 0) -> tuple[float, float] | None:
    """(lowest, highest) of a value; None if unknown. known(value) says it of computed ones."""
    recording = value.recording
    if recording is None:
        return known(value)
    with recording.lock:  # another thread may be about to flush it
        return _range_of_recorded(value, recording, known, depth)


def _range_of_recorded(value: Value, recording: Recording, known: Callable, depth: int):
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


def ranges_of_graph(graph: Graph) -> list[Range | None]:
    """What is known of a graph's outputs; None for nothing."""
    env: dict[int, Range | None] = {
        s: Range(inputs=frozenset([i])) for i, s in enumerate(graph.inputs) if graph.avals[s].dtype.kind in "iu"
    }
    for node in graph.nodes:
        found = _ranges(node, [env.get(s) for s in node.inputs], [graph.avals[s] for s in node.inputs])
        env.update(zip(node.outputs, found))
    return [env.get(s) for s in graph.outputs]


def _ranges(node: Node, operands: list, avals: list) -> list[Range | None]:
    name, params = node.primitive.name, node.params
    if name in MOVES:
        which = MOVES[name]
        return [_union(operands if which is None else [operands[i] for i in which])]
    if name == "constant":
        return [_of_constant(params["value"].value)]
    if name == "iota":
        return [_below(params["shape"][params["dimension"]])]
    if name in ("argmax", "argmin"):
        return [_below(avals[0].shape[params["axis"]])]
    if name == "top_k":
        return [None, _below(avals[0].shape[-1])]
    if name == "sort":
        return operands  # each operand in another order
    if name == "convert":
        return [_converted(operands[0], avals[0].dtype, params["dtype"])]
    return [None] * len(node.outputs)


def _below(n: int) -> Range:
    return Range(0, n - 1)


def _union(ranges: list) -> Range | None:
    total: Range | None = Range()
    for r in ranges:
        total = None if r is None or total is None else total.union(r)
    return total


def _of_constant(value) -> Range | None:
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "iu":
        return None
    return Range(int(value.min()), int(value.max())) if value.size else Range()


def _converted(found: Range | None, source, dtype) -> Range | None:
    """The range after a conversion; None where a number might not survive it."""
    if found is None or dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    fits = info.min <= found.low and found.high <= info.max
    return found if fits and (not found.inputs or np.can_cast(source, dtype)) else None
