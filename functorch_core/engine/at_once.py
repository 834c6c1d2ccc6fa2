"""Small ops computed by NumPy when they are called: for code whose results are wanted at once and
which is not the same often enough to be worth keys and programs, as the samples of a dataset.

What is not small, not on the host, or has an effect, is recorded as elsewhere.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import xla
from ..core.aval import Aval, aval
from ..core.graph import Graph, subgraphs
from ..core.quiet import quiet
from .modes import settings
from .op_by_op import freeze
from .recorder import flush, set_at_once
from .units import Unit
from .value import Value, concrete

LIMIT = 2_000.  # microseconds by NumPy; dearer ops are recorded


@contextlib.contextmanager
def at_once(why: str) -> Iterator[None]:
    """Context: this thread computes small ops when they are called. What was recorded before is
    computed on entry, what else is recorded at the end."""
    flush(f"before {why}")
    numpy = settings.tier in ("auto", "reference") and not settings.debug_nans
    before = set_at_once(compute if numpy else None)
    try:
        yield
        flush(f"after {why}")
    finally:
        set_at_once(before)


def compute(unit: Unit, operands: Sequence):
    """The result as the recorder gives it, but computed; None if the op is to be recorded."""
    run = unit.at_once or _prepared(unit)
    if run is None or not operands and not _default_is_host():
        return None
    arrays = []
    for x in operands:
        if x.__class__ is not Value:
            arrays.append(np.float64(x) if x.__class__ is float else np.int64(x))
        elif x.recording is None and x.data.__class__ is np.ndarray:
            arrays.append(x.data)
        else:
            data = _on_host(x)
            if data is None:
                return None
            arrays.append(data)
    return _run(unit, run, arrays)


def run_again(unit: Unit, arrays: Sequence) -> Value | None:
    """The only result of a unit that has run before, of NumPy arrays and numbers; else None."""
    run = unit.at_once
    return None if run is None or unit.multiple or not arrays else _run(unit, run, arrays)


def _run(unit: Unit, run: Callable, arrays: Sequence) -> Value | list[Value]:
    try:
        outs = quiet.call(run, *arrays)
    except Exception as error:
        error.add_note(f"in {unit}")
        raise
    if unit.multiple:
        return list(map(_computed, unit.out_avals, outs))
    return _computed(unit.out_aval, outs[0])


def _computed(a: Aval, array: np.ndarray) -> Value:
    value = Value()
    value.aval, value.recording = a, None
    value.data = freeze(array)
    return value


def _prepared(unit: Unit) -> Callable | None:
    """How NumPy computes a unit; None if it is not to."""
    if unit.cost.reference >= LIMIT or unit.effect or _calls_back(unit.graph):
        return None
    unit.at_once = unit.reference.run
    return unit.at_once or (lambda *arrays: unit.reference(arrays))


def _calls_back(graph: Graph) -> bool:
    """Whether it calls the user's code, which may warn, and compute at once itself."""
    return any(node.primitive.family == "callback" or any(map(_calls_back, subgraphs(node)))
               for node in graph.nodes)


def value_of(array: np.ndarray) -> Value:
    """A value of an array that nobody writes to any more."""
    return _computed(aval(array.shape, array.dtype), array)


def host_array(value: Value) -> np.ndarray | None:
    """The data as an array; None if they are on an accelerator."""
    if value.recording is None and value.data.__class__ is np.ndarray:
        return value.data
    return _on_host(value)


def _on_host(value: Value) -> np.ndarray | None:
    """The data as an array; None if they are on an accelerator."""
    data = concrete(value)
    if data.__class__ is np.ndarray:
        return data
    return xla.to_numpy(data) if xla.device_of(data).platform == "cpu" else None


def _default_is_host() -> bool:
    return xla.in_forked_child() or xla.default_device().platform == "cpu"
