"""Indices that are known at sight: what they are known by, x[mask] at once, and x[index] = value recorded at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....core.aval import Aval
from ....core.trace import trace_closed
from ....engine import from_numpy, is_absent
from ....engine.recorder import compute_after_many, record
from ....engine.signatures import bounded
from ....engine.units import SCALAR_AVALS
from ....engine.value import SMALL
from ....kernels.values import expanded
from ....ops.signature import fits
from ...dispatch.op import PLAIN
from ...tape.apply import GraphOp, without_history
from ...tape.modes import state
from ...tensors.active import active
from ...tensors.base import Tensor, from_array
from ...tensors.promotion import cast, holds
from ...views.cells import is_apart, is_on_tape, overwrite
from ...views.host_writes import is_free, number_at_hand, written
from ...views.lenses import INT, STATIC_ENDS, Lens, is_static_index, put_values
from ...views.seen import MOST, filled, places, where_of

# ---- whether anything is active ------------------------------------------------------------------


def is_plain_with(*args) -> bool:
    """Whether x[index] of these, a tensor, the index and what may be written, means what it always does: while there
    are tensors on the meta device, and with autocast, where neither is a tensor but the first, which has data."""
    return active.places_plain and not is_absent(args[0]._value) and not any([isinstance(x, Tensor) for x in args[1:]])


# ---- what an index is known by -------------------------------------------------------------------

BOUNDS = frozenset({int, type(None)})
# In a key: an integer whose number is none of the lens's parameters but varies (see `is_static`), or with its length a
# slice that reaches neither end of a long dimension. Elsewhere the numbers are part of the key.
INSIDE = object()
JUST_INT = {int}


def at_sight(index, shape: tuple[int, ...]) -> tuple:
    """What an index of numbers, slices of numbers, None and `...` is known by, and the numbers that this leaves
    open; (None, ()) for others."""
    cls = index.__class__
    if cls is int:
        n = shape[0] if shape else 0
        i = index + n if index < 0 else index
        return (INSIDE, (i,)) if 0 <= i < n and not is_static_index(index, n, 0) else (index, ())
    if cls is slice and shape and shape[0] <= STATIC_ENDS:  # as below
        start, stop, step = index.start, index.stop, index.step
        plain = start.__class__ in BOUNDS and stop.__class__ in BOUNDS and step.__class__ in BOUNDS
        return ((start, stop, step),) if plain else None, ()
    parts, ints, dim = [], [], 0
    for x in index if cls is tuple else (index,):
        cls = x.__class__
        n = shape[dim] if 0 <= dim < len(shape) else 0
        if cls is slice:
            start, stop, step = x.start, x.stop, x.step
            if start.__class__ not in BOUNDS or stop.__class__ not in BOUNDS or step.__class__ not in BOUNDS:
                return None, ()
            part = start, stop, step
            if n > STATIC_ENDS and start and stop and step is None and 0 < start < stop < n:
                part = INSIDE, stop - start
                ints.append(start)
            parts.append(part)
        elif cls is int or cls in PLAIN and active.plain and _is_number(x):
            x = x if cls is int else int(x.item())
            i = x + n if x < 0 else x
            if 0 < i < n - 1 or 0 <= i < n and not is_static_index(x, n, dim):
                ints.append(i)
                x = INSIDE
            parts.append(x)
        elif x is None:
            parts.append(None)
            continue
        elif x is Ellipsis and Ellipsis not in parts:
            parts.append(x)
            dim = len(shape) - (sum([y is not None for y in index[len(parts) :]]) if index is not x else 0)
            continue
        else:
            return None, ()
        dim += 1
    return tuple(parts), tuple(ints)


def listed(index):
    """A list of Python's integers as an index tensor whose bounds are known; other things as they are."""
    if index.__class__ is not list or set(map(type, index)) != JUST_INT:
        return index
    low, high = min(index), max(index)
    if not -(2**63) <= low <= high < 2**63:
        return index
    made = from_array(np.array(index, np.int64))
    made._value.extent = None, low, high
    return made


def _is_number(x: Tensor) -> bool:
    """Whether a tensor as an index stands for the number it holds."""
    a = x._value.aval
    return not a.shape and (a.dtype == dt.int64 or a.dtype == dt.int32)


def where_true(self, mask: Tensor) -> Tensor | None:
    """x[mask], if x is in order and on no tape: its shape follows from the elements of the mask, so that it is computed
    at once, and not traced for each number of them."""
    a, b = self._value.aval, mask._value.aval
    if b.dtype != dt.bool_ or not b.shape or b.shape != a.shape[: len(b.shape)] or state.enabled and is_on_tape(self):
        return None
    if self._strides is not None or self._view is not None and self._view.is_permuted() or self.device.type != "cpu":
        return None
    return without_history(from_numpy(self._array()[mask._array()]))


# ---- writes --------------------------------------------------------------------------------------


class Write(NamedTuple):
    """What x[index] = value was found to be: the op that gives the whole after it, the ints of its lens, where among
    them those that vary are, and if it is a number to which elements it goes (see `seen.where_of`)."""

    op: GraphOp
    ints: tuple[int, ...]
    open: tuple[int, ...]
    where: Callable | None


# By the avals of what is written to and of what is written (of a number its class) and the index; None after the first
# such call, as many come but once.
_writes: dict[tuple, Write | None] = bounded({}, lambda known: [] if known is None else known.op.units())


def write_again(tensor: Tensor, index, value) -> bool:
    """Whether x[index] = value was seen before, and has happened. Nothing is active, and the tensor is plain."""
    if index.__class__ in PLAIN and index._value.aval.shape:
        return _fill_at_mask(tensor, index, value)
    a = tensor._value.aval
    key, ints = at_sight(index, a.shape)
    b = None if key is None or not _is_beside(tensor, value) else _aval_of(value, a)
    known = None if b is None else _writes.get((a, key, b))
    if known is None:
        return False
    op, own, open_places, where = known
    if ints:
        own = filled(own, open_places, ints)
    number = value if value.__class__ not in PLAIN else number_at_hand(value)
    if where is not None and number is not None and written(tensor, where(own), number):
        return True
    if not is_apart(tensor):
        return False
    if value.__class__ in PLAIN:
        value = value._value if value._view is None else value._view.read(value)
    elif value.__class__ is bool:
        value = int(value)
    old = tensor._value if tensor._view is None else tensor._view.read(tensor)
    made = record(op.unit, (old, value, *own), 3)
    overwrite(tensor, made)
    if where is not None and (b.__class__ is not Aval or not b.shape or a.nbytes < SMALL):
        compute_after_many()
    return True


def write_at_hand(tensor: Tensor, lens: Lens, value) -> bool:
    """Whether a number has been written where a lens shows a plain tensor, in memory, at the first such call: to trace
    what it means takes 40 us, which a loop over slices of other lengths pays each time. Nothing is active."""
    a = tensor._value.aval
    b = _aval_of(value, a) if _is_beside(tensor, value) else None
    if b is None or b.__class__ is Aval and b.shape:
        return False
    number, where = number_at_hand(value) if b.__class__ is Aval else value, where_of(lens, a)
    return number is not None and where is not None and written(tensor, where(lens.ints), number)


def _fill_at_mask(x, mask: Tensor, value) -> bool:
    """Whether x[mask] = number has happened: of a mask for every element, where nothing else is to be looked at."""
    a, b = x._value.aval, mask._value.aval
    if b.dtype is not dt.bool_ or a.dtype is b.dtype or a.shape != b.shape or not a.shape or not is_apart(x):
        return False
    if value.__class__ not in (float, int) or a.dtype not in FILLED or _aval_of(value, a) is None:
        return False
    overwrite(x, x.masked_fill(mask, value)._value)
    return True


def remember_write(tensor: Tensor, index, value, lens_at: Callable):
    """After a call: how to do it the next time, if it is as simple as most are; lens_at(shape, index) is its lens."""
    a = tensor._value.aval
    key, ints = at_sight(index, a.shape)
    b = None if key is None or not _is_beside(tensor, value) else _aval_of(value, a)
    if b is None or not is_free(tensor):
        return
    if (a, key, b) not in _writes:
        if len(_writes) >= MOST:
            _writes.clear()
        _writes[a, key, b] = None
        return
    lens = lens_at(a.shape, index)
    open_places = None if lens is None else places(ints, lens.ints)
    if open_places is not None:
        writer = _writer(lens.static, a, b if b.__class__ is Aval else SCALAR_AVALS[b])
        where = where_of(lens, a)
        if b.__class__ is Aval and b.shape and where is not None and lens.params[1]:
            where = None  # the part has dimensions that NumPy's index does not make
        _writes[a, key, b] = Write(writer, lens.ints, open_places, where)


def _is_beside(tensor: Tensor, value) -> bool:
    """Whether what is written is on no tape, and shares no memory with the tensor."""
    if value.__class__ not in PLAIN:
        return True
    alias, view = tensor._view, value._view
    if value is tensor or (value._ge is not None or view is not None and is_on_tape(value)) and state.enabled:
        return False
    if view is None or alias is None or view.cell is not alias.cell:
        return True
    return not value._value.aval.shape and number_at_hand(value) is not None  # that of one element at most


def _aval_of(value, a: Aval) -> Aval | type | None:
    """What is written: a tensor's aval if it has the dtype of what is written to, the class of a number that fits."""
    cls = value.__class__
    if cls in PLAIN:
        found = value._value.aval
        return found if found.dtype == a.dtype else None
    if cls is float and a.dtype in dt.FLOATING or cls in INTS and a.dtype in SURELY and fits(value):
        bound = SURELY[a.dtype]
        return INTS.get(cls, cls) if -bound <= value <= bound or holds(a.dtype, value) else None
    return None


MAX_HALF = float(dt.finfo(dt.float16).max)
INTS = {int: int, bool: int}  # the class of number that one counts as
# By dtype, up to which absolute value it has all numbers, or is taken to.
SURELY = dict.fromkeys((*dt.FLOATING, dt.bool_), MAX_HALF)
SURELY |= {d: min(MAX_HALF, dt.iinfo(d).max) for d in dt.INTEGER - dt.EMULATED.keys()}
FILLED = dt.FLOATING | {dt.int64}


@functools.lru_cache(1024)
def _writer(static: tuple, a: Aval, b: Aval) -> GraphOp:
    """The op (base, new, *ints) -> base after new, or a number, was put where a lens shows it."""

    def written(x, y, *ints):
        return [put_values(x, lambda part: _fitted(y, part), static, ints)]

    graph = trace_closed(written, [a, b, *[INT] * static[2]], "CopySlices")
    return GraphOp(graph, "CopySlices", False)


def _fitted(y, part: Aval):
    """A value in the dtype and shape of a part; leading dimensions of one element may be more than that has."""
    surplus = max(y.aval.ndim - part.ndim, 0)
    return expanded(cast(p.reshape(y, shape=y.aval.shape[surplus:]), part.dtype), part.shape)
