"""The state of checks that are made while a program runs: which one failed first, and by what.

A state is (age, number): -1 while none has failed; else how many checks came after the first that
failed, and the number that failed it. One small array says it of any number of checks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR, Primitive, Reason, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Function, Value
from .arithmetic import add, sub
from .comparison import ge, select
from .convert import bitcast
from .declare import no_tangent
from .slicing import slice
from .structure import broadcast_in_dim, constant, full, reshape

FINE = np.array([-1, 0])


def note_failure(state: Value, worst: Value, *, limit: int, shift: int) -> Value:
    """The state after a further check, which fails if `worst` (uint64) is at least `limit`; what
    failed it is worst - shift."""
    return bind(note_failure_p, state, worst, limit=limit, shift=shift)


def _shape(state: Aval, worst: Aval, *, limit: int, shift: int) -> Aval:
    if state.shape != (2,) or state.dtype != dt.int64 or worst.shape or worst.dtype != dt.uint64:
        raise TypeError(f"note_failure takes int64[2] and uint64[], got {state} and {worst}")
    return state


def _at(state: Aval, worst: Aval, *, limit: int, shift: int) -> Function:
    def noted(state: np.ndarray, worst: Any) -> np.ndarray:
        if state[0] >= 0:
            return state + [1, 0]
        number = int(worst)
        return np.array([0, (number - shift + 2**63) % 2**64 - 2**63]) if number >= limit else state

    return noted


@specialised(_at)
def _reference(state: np.ndarray, worst: np.ndarray, *, limit: int, shift: int) -> np.ndarray:
    return _at(state, worst, limit=limit, shift=shift)(state, worst)  # type: ignore[arg-type]  # unused there


def _lower(ctx: LowerContext, state: Operand, worst: Operand, *, limit: int, shift: int) -> Operand:
    return ctx.call(_noted, state, worst, limit=limit, shift=shift)[0]


def _noted(state: Value, worst: Value, *, limit: int, shift: int) -> Value:
    fails = ge(worst, full((), limit, dt.uint64))
    number = sub(bitcast(worst, dtype=dt.int64), full((), shift, dt.int64))
    # elementwise throughout, so that it is one kernel: with a concatenation it is three
    is_age = constant(np.array([True, False]))
    here = select(is_age, full((2,), 0, dt.int64), broadcast_in_dim(number, shape=(2,), dims=()))
    if_fine = select(broadcast_in_dim(fails, shape=(2,), dims=()), here, constant(FINE))
    age = broadcast_in_dim(reshape(slice(state, start=(0,), limit=(1,)), shape=()), shape=(2,), dims=())
    failed_before = ge(age, full((2,), 0, dt.int64))
    return select(failed_before, add(state, constant(np.array([1, 0]))), if_fine)


note_failure_p = Primitive(
    "note_failure",
    traits=Traits(family="structure"),
    shape=_shape,
    reference=_reference,
    lower=_lower,
    jvp=no_tangent(note_failure),
    transpose=NOT_LINEAR,
    batch=Reason("it is recorded outside of transforms, for all examples of a batch together"),
)
