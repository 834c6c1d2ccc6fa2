"""Units: what the recorder records. A unit is an op at one signature: a graph and an id.

However many primitives an op is composed of, it is one unit, one entry of a recording.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from ..core.aval import Aval, aval
from ..core.graph import Graph, graph_has_effect, simplified
from ..core.primitive import Primitive
from ..core.reference import Reference, reference_of, updating
from ..core.trace import Builder
from ..core.types import Function
from ..locks import RLock
from ..xla.device import Device
from . import cost, signatures
from .compiling import Program

_ids = itertools.count()
# By the kind of an op, how often recordings of few ops that began with such a one were read; see `again.note_first`.
alone: dict[tuple[Any, ...], int] = {}

# The avals in which Python scalars come as operands: the widest of their kind, cast in the graph.
SCALAR_AVALS = {int: aval((), np.dtype("int64")), float: aval((), np.dtype("float64"))}


class Overwriting(NamedTuple):
    """An op by NumPy in the memory of an operand: of which, how, and the microseconds of a copy that it spares."""

    operand: int
    reference: Reference
    spared: float


def _overwriting(graph: Graph) -> Overwriting | bool:
    found = updating(graph)
    if found is None:
        return False
    node, operand = found
    return Overwriting(operand, Reference(graph, into=node), cost.work_of(graph, node))


class Unit:
    """A graph that is recorded as one entry. `multiple`: its results come as a list.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> from functorch_core.core.primitive import registry
    >>> x = engine.from_numpy(np.ones(2, np.float32))
    >>> engine.unit_of_primitive(registry["neg"], {}, (x.aval,))
    neg(float32[2])
    """

    __slots__ = (
        "id",
        "graph",
        "name",
        "n_inputs",
        "out_avals",
        "out_aval",
        "multiple",
        "effect",
        "kind",
        "gives_number",
        "is_cheap",
        "ranges",
        "at_once",
        "_cost",
        "_program",
        "_reference",
        "_overwriting",
        "_outline",
    )

    def __init__(self, graph: Graph, name: str, multiple: bool) -> None:
        self.id = next(_ids)
        self.graph, self.name, self.multiple = graph, name, multiple
        self.n_inputs, self.out_avals = len(graph.inputs), graph.out_avals
        self.out_aval: Any = self.out_avals[0] if self.out_avals else None  # asked of units of one result
        self.effect = graph_has_effect(graph)
        self.kind = name, *[(a.dtype, a.ndim) for a in graph.in_avals]
        self.gives_number = 0 < self.n_inputs and not multiple and [a.shape for a in self.out_avals] == [()]
        self.is_cheap: bool | None = None  # whether NumPy computes it in no time, if somebody has asked
        self._cost: cost.Cost | None = None
        self._program: Program | None = None
        self._reference: Reference | None = None
        self._overwriting: Overwriting | bool | None = None
        self._outline = ""
        self.ranges: list[Any] | None = None
        self.at_once: Function | None = None
        signatures.made_one()

    def __repr__(self) -> str:
        result = "" if self.n_inputs else f" -> {', '.join(map(str, self.out_avals))}"
        return f"{self.name}({', '.join(map(str, self.graph.in_avals))}){result}"

    @property
    def outline(self) -> str:
        """What it is, in short: the same in every process, and of few others."""
        if not self._outline:
            self._outline = f"{self!r} {len(self.graph.nodes)}"
        return self._outline

    @property
    def cost(self) -> cost.Cost:
        """The static estimate of the graph's work."""
        if self._cost is None:
            self._cost = cost.of_graph(self.graph)
        return self._cost

    @property
    def reference(self) -> Reference:
        """The graph as NumPy runs it."""
        if self._reference is None:
            self._reference = reference_of(self.graph)
        return self._reference

    @property
    def overwriting(self) -> Overwriting | None:
        """How NumPy computes it in the memory of an operand; None if it cannot."""
        if self._overwriting is None:
            self._overwriting = _overwriting(self.graph)
        return self._overwriting or None  # type: ignore[return-value]  # False: it was looked for

    @property
    def has_program(self) -> bool:
        """Whether it has been compiled on its own."""
        return self._program is not None

    def program(self, device: Device) -> Program:
        """The unit's own executable (the per-op tier)."""
        from .programs import compile_unit

        if self._program is None or self._program.device is not device:
            self._program = compile_unit(self, device)
        return self._program


_units: dict[tuple[Any, ...], Unit] = signatures.bounded({}, signatures.itself)
_lock = RLock()


def unit_of_primitive(primitive: Primitive, params: dict[str, Any], avals: tuple[Aval, ...]) -> Unit:
    """The unit of one primitive at these avals.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> from functorch_core.core.primitive import registry
    >>> x = engine.from_numpy(np.ones(2, np.float32))
    >>> engine.unit_of_primitive(registry["add"], {}, (x.aval, x.aval)).out_aval.shape
    (2,)
    """
    try:
        key: Any = (primitive, tuple(params.items()), avals)
        found = _units.get(key)
    except TypeError:  # a parameter that cannot be hashed: no reuse
        key = found = None
    if found is None:
        found = Unit(_graph_of_primitive(primitive, params, avals), primitive.name, primitive.multiple)
        if key is not None:
            with _lock:
                found = _units.setdefault(key, found)
    return found


def _graph_of_primitive(primitive: Primitive, params: dict[str, Any], avals: tuple[Aval, ...]) -> Graph:
    builder = Builder(primitive.name)
    with builder:
        out = builder.add(primitive, [builder.input(a) for a in avals], params)
        return builder.finish(out if primitive.multiple else [out])


def unit_of_graph(graph: Graph, name: str = "", multiple: bool = True) -> Unit:
    """The unit of a graph, remembered on the graph.

    >>> import numpy as np
    >>> from functorch_core import engine, primitives
    >>> from functorch_core.core.trace import Builder
    >>> x, builder = engine.from_numpy(np.ones(2)), Builder("double")
    >>> with builder:
    ...   a = builder.input(x.aval)
    ...   graph = builder.finish([primitives.add(a, a)])
    >>> engine.unit_of_graph(graph)
    double(float64[2])
    """
    found = graph.memo.get("unit")
    if found is None or found.multiple != multiple:
        clean = simplified(graph)
        found = graph.memo["unit"] = Unit(clean, name or graph.name, multiple)
    return found
