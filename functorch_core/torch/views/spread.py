"""Views that show the elements of a small memory many times: expanded ones, windows that overlap.

What they show is not kept while they live, as other values are, but derived where it is used: a recording then
computes what is used of it, and NumPy reads it where it lies. All windows of 1,000 of 300,000 numbers would take
1.2 GB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...engine import Value, is_absent, to_numpy
from ...engine.recorder import computes_at_once
from ...engine.value import live
from ..tensors.active import active
from ..tensors.base import Tensor

SPREAD = -2  # what the alias of such a view has seen: no version
MUCH, TIMES = 1 << 24, 4  # bytes; of less, or not so many times as many as in memory, a copy is as good


def is_spread(tensor: Tensor, kinds: Sequence) -> bool:
    """Whether a view through lenses of these kinds is such a one: not one with a history, whose value that keeps."""
    cell, value = tensor._view.cell, tensor._value
    if not any([kind.overlapping for kind in kinds]) or any([kind.other_numbers for kind in kinds]):
        return False
    if tensor._ge is not None or cell.shared or cell.strided or computes_at_once() or active.levels is not None:
        return False
    if value.__class__ is not Value or is_absent(value) or tensor.device.type != "cpu":
        return False
    return value.aval.nbytes >= TIMES * cell.value.aval.nbytes


def keep_nowhere(tensor: Tensor):
    """Let a view be derived anew whenever it is used."""
    alias = tensor._view
    alias.seen, tensor._value = SPREAD, live(tensor._value.aval, partial(_elements, alias))


def _elements(alias) -> np.ndarray:
    return part_of_array(to_numpy(alias.cell.value), *alias.layout())


def part_of_array(whole: np.ndarray, shape, strides, offset: int) -> np.ndarray:
    """The elements at a layout of a contiguous array."""
    n = whole.itemsize
    return np.ndarray(shape, whole.dtype, whole, offset * n, tuple([stride * n for stride in strides]))
