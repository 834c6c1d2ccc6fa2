"""Remainders of a division, with the sign of what is divided, and quotients of floats rounded down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.reference import specialised
from ..core.types import Function, Value
from .arithmetic import abs, add, div, integer_division, mul, neg, round, sub, trunc
from .bitwise import and_, not_, shift_right_logical, xor
from .comparison import eq, ge, lt, ne, select
from .convert import bitcast, convert, with_sign_of
from .declare import ELEMENTWISE, binary, elementwise_lower, quick_lower, same_dtype
from .host_remainders import EXACT, FEW, WHOLE, float32_floors, float32_remainders
from .reductions import reduce_or
from .structure import zeros


def _rem_at(x: Aval, y: Aval) -> Function | None:
    if x.dtype.kind in "iu":
        return lambda x, y: integer_division(x, y)[1]
    return None if x.dtype == dt.float32 and x.size >= FEW else np.fmod


@specialised(_rem_at)
def _rem_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        return integer_division(x, y)[1]
    return float32_remainders(x, y) if x.dtype == dt.float32 and x.size >= FEW else np.fmod(x, y)


def _quick(x: Value, y: Value) -> Value:
    """In float64, as `host_remainders`. A quotient that XLA rounds down to less than a whole number, as by a
    reciprocal, leaves a remainder of y, one that it rounds up a negative one."""
    size, step = (convert(abs(a), dtype=dt.float64) for a in (x, y))
    rest = sub(size, mul(trunc(div(size, step)), step))
    rest = select(lt(rest, zeros(rest.aval)), add(rest, step), rest)
    rest = select(ge(rest, step), sub(rest, step), rest)
    return with_sign_of(convert(rest, dtype=dt.float32), x)


def _has_quotients_from(least: float) -> Function:
    """Whether there are any so large, infinities or NaN."""

    def odd(x: Value, y: Value) -> Value:
        usual = and_(lt(abs(div(x, y)), least), lt(abs(y), np.inf))
        return reduce_or(not_(usual), axes=tuple(range(x.ndim)))

    return odd


def _work(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """NumPy calls C's function for each number of other floats."""
    return results[0].size * (8 if operands[0].dtype in dt.FLOATING - {dt.float32} else 1)


def _rem_by_divisor(t: Value, out: Value, x: Value, y: Value) -> Value:
    """-t trunc(x / y); the exact quotient is (x - out) / y, up to rounding."""
    return mul(t, neg(round(div(sub(x, out), y))))


rem = binary(
    "rem",
    # XLA calls C's function for each number: 262,144 take 3.1 ms, by the quick way 0.2.
    quick_lower(elementwise_lower("stablehlo.remainder", same_dtype), _quick, _has_quotients_from(EXACT / 2)),
    _rem_reference,
    dtypes=dt.REAL,
    what="real",
    derivatives=(lambda t, out, x, y: t, _rem_by_divisor),
    traits=ELEMENTWISE.but(numpy=1.6, work=_work, compiled=0.5),
)


# ---- quotients rounded down --------------------------------------------------------------------------


def _floor_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return float32_floors(x, y) if x.dtype == dt.float32 and x.size >= FEW else np.floor_divide(x, y)


def _floor_by_remainder(x: Value, y: Value) -> Value:
    """(x - r) / y is a whole number up to rounding, where floor(x / y) may be off by one."""
    rest, quotient = rem(x, y), div(x, y)
    whole = div(sub(x, rest), y)
    below = and_(and_(ne(rest, 0), ne(y, 0)), xor(lt(rest, 0), lt(y, 0)))
    whole = round(select(below, sub(whole, 1), whole))
    return select(eq(y, 0), quotient, select(eq(whole, 0), mul(quotient, 0), whole))


def _quick_floor(x: Value, y: Value) -> Value:
    """By sizes in float64, mended as in `_quick`; all without choices, of which LLVM makes branches."""
    size, step = (convert(abs(a), dtype=dt.float64) for a in (x, y))
    whole = trunc(div(size, step))
    rest = sub(size, mul(whole, step))
    under, over = (convert(far, dtype=dt.float64) for far in (lt(rest, zeros(rest.aval)), ge(rest, step)))
    is_whole = convert(and_(ne(rest, zeros(rest.aval)), ne(rest, step)), dtype=dt.int32)
    negative = shift_right_logical(xor(*[bitcast(a, dtype=dt.int32) for a in (x, y)]), 31)
    sign = convert(sub(1, mul(negative, 2)), dtype=dt.float32)
    floor = convert(add(sub(whole, under), over), dtype=dt.float32)
    return mul(add(floor, convert(and_(is_whole, negative), dtype=dt.float32)), sign)


floor_div = binary(
    "floor_div",
    # us for 512 x 512: 200 by the quick way, 780 with the remainder.
    quick_lower(lambda ctx, x, y: ctx.call(_floor_by_remainder, x, y)[0], _quick_floor, _has_quotients_from(WHOLE)),
    _floor_reference,
    dtypes=dt.FLOATING,
    what="floating",
    traits=ELEMENTWISE.but(numpy=1.6, work=_work, compiled=0.5),
)
