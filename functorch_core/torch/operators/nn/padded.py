"""Sequences of several lengths as one tensor, of numbers that are on the host, as a batch of a data set's are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core import dtypes as dt
from ...dispatch.op import PLAIN
from ...tape.modes import state
from ...tensors.active import active
from ...tensors.base import Tensor, from_array
from ...tensors.promotion import holds
from ...views.at_hand import array_at_hand, part_at_hand
from ...views.cells import is_on_tape

HELD = (*dt.FLOATING, dt.int64, dt.int32)


def padded_at_once(sequences: Sequence[Tensor], batch_first: bool, number: float, side: str) -> Tensor | None:
    """The sequences with a number before or behind them, (T, B, ...) or (B, T, ...): 64 in 60 us, for 460 by joining
    each with its padding. None where that is to be: they are not computed, on the tape, or of several dtypes."""
    arrays: list[np.ndarray] = []
    for x in sequences if active.plain else ():
        array = _array_of(x)
        if array is None or arrays and (array.dtype != arrays[0].dtype or array.shape[1:] != arrays[0].shape[1:]):
            return None
        arrays.append(array)
    if not arrays or arrays[0].dtype not in HELD or not holds(arrays[0].dtype, number):
        return None
    longest = max(map(len, arrays))
    lead = (len(arrays), longest) if batch_first else (longest, len(arrays))
    out = np.full(lead + arrays[0].shape[1:], number, arrays[0].dtype)
    rows = out if batch_first else out.swapaxes(0, 1)
    for row, array in zip(rows, arrays):
        if side == "right":
            row[: len(array)] = array
        else:
            row[longest - len(array) :] = array
    return from_array(out)


def _array_of(x: Tensor) -> np.ndarray | None:
    """A tensor's numbers, if they are on the host and it is on no tape."""
    if x.__class__ not in PLAIN or x._level is not None or not x._value.aval.shape or state.enabled and is_on_tape(x):
        return None
    view = x._view
    if view is not None and view.cell.shared:
        return x._array_now()
    array = array_at_hand(x._value if view is None else view.read(x))
    return part_at_hand(x) if array is None else array
