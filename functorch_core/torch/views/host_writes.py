"""Writes to numbers at hand, in the memory where they are: a loop that writes element by element records nothing.

20,000 writes `x[i] = number` came to programs of 1,024 each, which took 2 s and 400 MB to compile; recorded, and then
computed with what else a turn of its loop has, `h[i] += 1` takes 23 us, in memory 7.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from ...core import dtypes as dt
from ...engine import Value, pending
from ...engine.again import NAMED
from ...engine.recorder import is_computed, leaves_nothing_out, note_loop
from ...engine.value import SMALL, at_hand, computed, kept_on_host
from ..tensors.base import Tensor
from .cells import Alias, is_apart, is_of_this_mode, root_of
from .lenses import KINDS
from .spread import part_of_array

EXACT = 1 << 53  # NumPy rounds integers beyond it to a float64 first; negative ones it does not wrap
IN_MEMORY = {d for d in dt.REAL if d.isbuiltin == 1} | {dt.bool_, dt.bfloat16}  # numbers are rounded there as by `cast`


def is_open(tensor: Tensor) -> bool:
    """Whether a write to a view changes nothing but numbers in memory: nothing is known to the tape, no element is
    there twice, and the numbers are those that it shows. To be asked while nothing is active."""
    alias = tensor._view
    if alias is None or tensor._ge is not None or alias.refuses is not None or alias.untracked or pending:
        return False
    cell = alias.cell
    if not alias.chain or cell.shared or cell.strided or not is_of_this_mode(tensor):
        return False
    for lens in alias.chain:
        kind = KINDS[lens.kind]
        if kind.overlapping or kind.other_numbers:
            return False
    origin = alias.root() if alias.source is None else root_of(alias.source)
    return origin is None or origin._ge is None and not origin._retains_grad


def number_at_hand(x: Tensor) -> np.ndarray | None:
    """The numbers of a tensor where they are computed, on the host and not stale."""
    view = x._view
    return None if view is not None and view.seen != view.cell.version else at_hand(x._value)


def is_free(tensor: Tensor) -> bool:
    """Whether a write changes nothing but numbers: of a tensor that is apart, or of a view that is open."""
    return is_apart(tensor) or is_open(tensor)


def written(tensor: Tensor, where: Any, number) -> bool:
    """Whether a number, or an array of the dtype, has been written to elements, NumPy's index, in a tensor's memory."""
    if is_apart(tensor):
        return written_apart(tensor, where, number)
    return is_open(tensor) and written_to_part(tensor, where, number)


def written_apart(tensor: Tensor, where: Any, number) -> bool:
    """`written` of a tensor that is apart: where its numbers are on the host, and nothing is recorded of which it could
    be a part."""
    old, alias = tensor._value, tensor._view
    if alias is not None and alias.seen != alias.cell.version or not _fits(number, old.aval.dtype):
        return False
    is_alone = getrefcount(old) == NAMED + (1 if alias is None else 2)
    data = _memory_of(old, is_alone, 0)
    if data is None:
        return False
    note_loop()
    if alias is None:
        tensor._own_version += 1
        data[where] = number
        tensor._value = computed(old.aval, data)
    else:
        cell = alias.cell
        cell.version += 1  # first: an interrupt between the two leaves no view that takes old numbers for new ones
        data[where] = number
        tensor._value = cell.value = computed(old.aval, data)
        alias.seen = cell.version
    return True


def written_to_part(tensor: Tensor, where: Any, number, shown: Value | None = None) -> bool:
    """The same of a view that is open; None: to all of it, which is `shown` then."""
    alias: Alias = tensor._view
    cell, own = alias.cell, tensor._value
    old, root = cell.value, alias.root()
    if not _fits(number, old.aval.dtype):
        return False
    holds = root is not None and not alias.skip and root._view.seen == cell.version  # the same value as the cell
    mine = at_hand(own) if alias.seen == cell.version else None
    shares = mine is not None and mine.base is not None and mine.base is at_hand(old)
    if shares and getrefcount(own) != NAMED + 1:
        return False
    is_alone = getrefcount(old) == NAMED + 1 + (holds and root._value is old)
    data = _memory_of(old, is_alone, int(shares))
    if data is None:
        return False
    note_loop()
    cell.version += 1  # as above
    shape, strides, offset = alias.layout()
    if where is None and not shape:
        data.reshape(-1)[offset] = number
    elif 0 not in shape:
        part_of_array(data, shape, strides, offset)[() if where is None else where] = number
    cell.value = computed(old.aval, data)
    if holds:
        root._value, root._view.seen = cell.value, cell.version
    if shown is not None:
        tensor._value, alias.seen = shown, cell.version
    elif shares and mine.base is data:
        alias.seen = cell.version
    alias.changed = alias.written = True
    return True


def _fits(number, dtype: np.dtype) -> bool:
    """Whether NumPy writes it as it is cast elsewhere."""
    if number.__class__ is np.ndarray:
        return number.dtype == dtype
    if number.__class__ is int and not (-EXACT if dtype.kind != "u" else 0) <= number <= EXACT:
        return False
    return dtype in IN_MEMORY


def _memory_of(value: Value, is_alone: bool, parts: int) -> np.ndarray | None:
    """The array of a value to be written to, if nobody else knows the value, and so many parts of the array; otherwise
    a copy of a small one."""
    data = kept_on_host(value) if leaves_nothing_out() and is_computed(value) else None
    if data is None:
        return None
    is_alone = is_alone and getrefcount(data) == NAMED + 1 + parts  # the value refers to it
    flags = data.flags  # refers to it, too
    if is_alone and flags.owndata and flags.carray:
        return data
    return None if data.nbytes >= SMALL else data.copy("C")
