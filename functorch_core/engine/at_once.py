"""Small ops computed by NumPy when they are called: for code whose results are wanted at once and
which is not the same often enough to be worth keys and programs, as the samples of a dataset.

What is not small, not on the host, or has an effect, is recorded as elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import xla
from ..core.aval import Aval, aval
from ..core.quiet import quiet
from ..core.reference import contiguous
from ..core.trace import Traced
from ..core.types import Function
from .modes import settings
from .op_by_op import calls_back, freeze
from .recorder import flush, hooks, in_use, set_at_once, set_recording
from .units import Unit
from .value import Live, Value, at_hand, concrete, is_absent

NUMBERS: dict[type, Function] = {float: np.float64, int: np.int64, bool: np.int64}
LIMIT = 2_000.0  # microseconds by NumPy; dearer ops are recorded


@contextlib.contextmanager
def at_once(why: str) -> Iterator[None]:
    """Context: this thread computes small ops when they are called. What was recorded before is
    computed on entry, what else is recorded at the end.

    >>> from functorch_core import torch
    >>> with fc.engine.at_once("an example"):
    ...   x = torch.ones(2) + 1
    >>> x
    tensor([2., 2.])
    """
    flush(f"before {why}")
    _, before = in_use()
    try:
        set_at_once(compute if _by_numpy() else None)
        yield
        flush(f"after {why}")
    finally:
        set_at_once(before)


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Context: the same, beside a recording that goes on afterwards; for looks at data that are there
    already.

    >>> from functorch_core import engine
    >>> with engine.aside():
    ...   y = fc.ones(2) + 1
    >>> y
    Array([2., 2.], dtype=float32)
    """
    recording, before = in_use()
    try:
        set_recording(None)
        set_at_once(compute if _by_numpy() else None)
        yield
        flush("beside a recording")
    finally:
        set_at_once(before)
        set_recording(recording)


def _by_numpy() -> bool:
    return settings.tier in ("auto", "reference") and not settings.debug_nans


def compute(unit: Unit, operands: Sequence[Any]) -> Value | list[Value] | None:
    """The result as the recorder gives it, but computed; None if the op is to be recorded."""
    if unit.at_once is None and not _prepare(unit) or not operands and not _default_is_host():
        return None
    x = operands[0] if operands else None
    if x.__class__ is Value and x.recording is None and x.data.__class__ is np.ndarray:
        if len(operands) == 1:  # the common cases, 0.3 us quicker than the loop below
            return run(unit, (x.data,))
        if len(operands) == 2:
            y = operands[1]
            if y.__class__ is float:
                return run(unit, (x.data, np.float64(y)))
            if y.__class__ is Value and y.recording is None and y.data.__class__ is np.ndarray:
                return run(unit, (x.data, y.data))
    try:
        return run(unit, [_on_host(x) if x.__class__ is Value else NUMBERS[x.__class__](x) for x in operands])
    except Elsewhere:
        return None


def run(unit: Unit, arrays: Sequence[Any], function: Function | None = None) -> Value | list[Value]:
    """The result of a unit that is computed at once, of NumPy arrays and numbers."""
    try:
        outs: Any = quiet.call(function or unit.at_once, *arrays)  # type: ignore[arg-type]  # one of them is there
    except Exception as error:
        error.add_note(f"in {unit}")
        raise
    if unit.multiple:
        return list(map(computed, unit.out_avals, outs))
    value, array = Value(), outs[0]  # as `computed` does: this is the hot path
    value.aval, value.recording = unit.out_aval, None
    value.data = array if array.flags.c_contiguous else contiguous(array)
    return value


def computed(a: Aval, array: np.ndarray) -> Value:
    """A value of this aval, of an array that nobody writes to any more."""
    value = Value()
    value.aval, value.recording = a, None
    value.data = freeze(array)
    return value


SHORT = 10.0  # microseconds by NumPy


def brief(unit: Unit, operands: Sequence[Any]) -> Value | list[Value] | None:
    """What an op gives of arrays and numbers at hand, while nothing is recorded of which it could be a part; None if it
    is to be recorded. Loops over elements are made of such: recorded, each of their turns was computed by itself in the
    end, as nobody knows that the next one is like it until it is."""
    if not unit.is_cheap and not _is_cheap(unit) or not settings.direct or settings.tier != "auto":
        return None
    arrays = []
    for x in operands:
        if x.__class__ is Value:
            if x.recording is not None:
                return None
            array = x.data
            if array.__class__ is not np.ndarray:
                array = at_hand(x)
                if array is None:
                    return None
            arrays.append(array)
        elif x.__class__ is Traced:
            return None
        else:
            arrays.append(NUMBERS[x.__class__](x))
    try:
        return run(unit, arrays)
    except RuntimeError as error:
        if str(error).startswith("cannot enter context"):  # by a `__del__` or a signal's handler, in the midst of one
            return None
        raise


def _is_cheap(unit: Unit) -> bool:
    if unit.is_cheap is None:
        unit.is_cheap = unit.cost.reference < SHORT and (unit.at_once is not None or _prepare(unit))
    return unit.is_cheap


hooks.brief = brief

COPIED = 8_000.0  # bytes in a microsecond


def from_memory(unit: Unit, operands: Sequence[Any]) -> Value | list[Value] | None:
    """The result of an op on values in memory that others write to: by NumPy, if that is quicker than
    to copy the memory, as a few rows of a large table are. Otherwise None: they are to be copied, also where the result
    is as large and may be written there: what others have written meanwhile is found by the copy."""
    where = [x.recording for x in operands if x.__class__ is Value and x.recording.__class__ is Live]
    arrays = [x.look() for x in where]
    read = sum([x.nbytes for x in arrays])
    cheap = unit.cost.reference < read / COPIED and sum([a.nbytes for a in unit.out_avals]) < read
    if cheap and _by_numpy() and not unit.effect and not calls_back(unit.graph):
        with contextlib.suppress(Elsewhere):
            return _apart(run(unit, list(map(_in_place, operands)), _numpy_of(unit)), arrays)
    return None


def _in_place(x: Any) -> Any:
    """The array of an operand, of a live one the memory itself."""
    if x.__class__ is not Value:
        return NUMBERS[x.__class__](x)
    return x.recording.look() if x.recording.__class__ is Live else _on_host(x)


def _apart(result: Value | list[Value], arrays: Sequence[np.ndarray]) -> Value | list[Value]:
    """The result, without parts of these arrays in it."""
    for value in [result] if isinstance(result, Value) else result:
        if any([np.may_share_memory(value.data, x) for x in arrays]):
            value.data = value.data.copy()
    return result


hooks.from_memory = from_memory


def _prepare(unit: Unit) -> bool:
    """Let NumPy compute a unit from now on; False if it is not to."""
    if unit.cost.reference >= LIMIT or unit.effect or calls_back(unit.graph):
        return False
    unit.at_once = _numpy_of(unit)
    return True


def _numpy_of(unit: Unit) -> Function:
    return unit.reference.run or (lambda *arrays: _run_first(unit, arrays))


def _run_first(unit: Unit, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The first run, which makes the function of the further ones."""
    outs = unit.reference(arrays)
    if unit.at_once is not None:
        unit.at_once = unit.reference.run
    return outs


def value_of(array: np.ndarray) -> Value:
    """A value of an array that nobody writes to any more."""
    return computed(aval(array.shape, array.dtype), array)


class Elsewhere(Exception):
    """The data of an operand are on an accelerator, or nowhere."""


def _traced(x: Traced) -> NoReturn:
    raise Elsewhere


NUMBERS[Traced] = _traced


def host_array(value: Value) -> np.ndarray | None:
    """The data as an array; None if they are on an accelerator, or nowhere."""
    try:
        return _on_host(value)
    except Elsewhere:
        return None


def _on_host(value: Value) -> np.ndarray:
    if is_absent(value):
        raise Elsewhere
    data = concrete(value)
    if data.__class__ is np.ndarray:
        return data
    if xla.device_of(data).platform != "cpu":
        raise Elsewhere
    return xla.to_numpy(data)


def _default_is_host() -> bool:
    return xla.in_forked_child() or xla.default_device().platform == "cpu"
