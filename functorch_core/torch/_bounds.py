"""Checks that index tensors are within bounds.

Indices whose values are there are checked at once. Those that are only recorded are checked by a
flag that is computed with them, and looked at when something is read next: nothing waits for them,
and nothing out of bounds goes unnoticed.
"""
from __future__ import annotations

import weakref

import numpy as np

from .. import primitives as p
from .. import xla
from ..core.trace import trace_closed
from ..engine import Value
from ..engine.value import to_numpy
from ._apply import GraphOp, apply
from ._tensor_base import Tensor

OUTSIDE = "index {index} is out of bounds for dimension {dim} with size {size}"
LATE = ("index out of bounds for dimension {dim} with size {size} (found when a result was read: the "
        "index was not computed yet when {what} was called)")
MAX_PENDING = 32  # flags kept apart, each with its message; beyond, the oldest are read

pending: list[tuple[Value, str]] = []
_extents: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_checks: dict[tuple, GraphOp] = {}


def check(index: Tensor, size: int, dim: int, what: str, *, negative: bool = True,
          message: str = OUTSIDE, error=IndexError):
    """Raise `error`, now or when something is read, unless -size <= index < size (0 <= ...)."""
    if index._level is None:
        value = index._read()
        if value.recording is None and (value.data.__class__ is np.ndarray
                                        or xla.device_of(value.data).platform == "cpu"):
            low, high = _extent(value)
            lowest = -size if negative else 0
            if low < lowest or high >= size:
                raise error(message.format(index=low if low < lowest else high, dim=dim, size=size,
                                           what=what))
            return
    flag = apply(_check_op(index, negative), [index, size])
    pending.append((_at_bottom(flag), LATE.format(dim=dim, size=size, what=what)))
    if len(pending) > MAX_PENDING:
        raise_if_outside()


def _extent(value: Value) -> tuple[int, int]:
    """The smallest and the largest index; (0, -1) of none."""
    found = _extents.get(value)
    if found is None:
        array = to_numpy(value)
        found = (int(array.min()), int(array.max())) if array.size else (0, -1)
        _extents[value] = found
    return found


def _check_op(index: Tensor, negative: bool) -> GraphOp:
    a = index._aval
    op = _checks.get((a, negative))
    if op is None:
        op = _checks[a, negative] = GraphOp(
            trace_closed(lambda i, n: [_inside(i, n, negative)], [a, _INT], "check_index"),
            "check_index", False)
    return op


def _inside(index, size, negative: bool):
    index = p.convert(index, dtype=size.aval.dtype)
    size = p.broadcast_in_dim(size, shape=index.aval.shape, dims=())
    low = p.ge(index, p.neg(size) if negative else p.full(index.aval.shape, 0, index.aval.dtype))
    inside = p.and_(low, p.lt(index, size))
    return p.reduce_and(inside, axes=tuple(range(inside.aval.ndim)))


def _at_bottom(flag: Tensor) -> Value:
    """The flags of all examples, where the index was one of a batch."""
    while flag._level is not None:
        level = flag._level
        flag = level.inner if hasattr(level, "inner") else level.primal
    return flag._read()


def raise_if_outside():
    """IndexError if a recorded index turned out to be out of bounds."""
    found, pending[:] = list(pending), []
    for flag, message in found:
        if not to_numpy(flag).all():
            raise IndexError(message)


from ._views import INT as _INT  # last: views know the ops, which know this
