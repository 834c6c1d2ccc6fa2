"""Numbers of views that can be had without computing what is recorded: parts of a host array that is computed.

A view is recorded when it is made, as the ops that follow may be of one program with it. Who reads it, `x[i][j].item()`
or `row.tolist()`, needs no program for that, nor what else is recorded.
"""

from __future__ import annotations

import numpy as np

from ...engine import Value, value
from ...engine.value import kept_on_host
from ..tensors.base import Tensor
from .cells import Alias
from .lenses import KINDS
from .spread import SPREAD, part_of_array


def array_at_hand(x: Value) -> np.ndarray | None:
    """The array of a value that is computed and on the host."""
    return kept_on_host(x) if x.recording is None else None


def whole_of(alias: Alias) -> np.ndarray | None:
    """The array of a cell in which what an alias shows are the elements at its layout; None where it is not at hand."""
    cell = alias.cell
    if cell.shared or not alias.chain or cell.value.recording is not None:  # mostly that
        return None
    if (
        cell.strided
        or alias.seen not in (cell.version, SPREAD)
        or any([KINDS[lens.kind].other_numbers for lens in alias.chain])
    ):
        return None
    return array_at_hand(cell.value)


def _whole_of_recorded(tensor: Tensor) -> np.ndarray | None:
    """The same for a tensor whose value is recorded, while nobody waits for the end of a check."""
    view = tensor._view
    if view is None or value.checks_pending or tensor._value.recording is None:
        return None
    return whole_of(view)


def element_at_hand(tensor: Tensor):
    """The one element of a tensor as a Python number; None where it is not at hand."""
    whole = _whole_of_recorded(tensor)
    return None if whole is None else whole.item(tensor._view.layout()[2])


def part_at_hand(tensor: Tensor) -> np.ndarray | None:
    """The elements of a tensor, a part of an array; None where they are not at hand."""
    whole = _whole_of_recorded(tensor)
    if whole is None:
        return None
    shape, strides, offset = tensor._view.layout()
    if 0 in shape:  # whose offset may be none in the memory
        return np.empty(shape, whole.dtype)
    return part_of_array(whole, shape, strides, offset)
