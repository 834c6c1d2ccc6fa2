"""Bitwise operations on ints and bools: and_ to not_, shifts, bit counts."""

from __future__ import annotations

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.reference import specialised
from ..core.types import Function
from .declare import BROADCASTING, binary, unary

BITS = dt.INTEGER | {dt.bool_}
WHOLE_BYTES = dt.INTEGER - dt.SUB_BYTE  # what looks at the upper bits: int4 is computed in int8

# ---- logic ---------------------------------------------------------------------------------------

and_ = binary("and", "stablehlo.and", np.bitwise_and, dtypes=BITS, what="int or bool", traits=BROADCASTING)
or_ = binary("or", "stablehlo.or", np.bitwise_or, dtypes=BITS, what="int or bool", traits=BROADCASTING)
xor = binary("xor", "stablehlo.xor", np.bitwise_xor, dtypes=BITS, what="int or bool", traits=BROADCASTING)
not_ = unary("not", "stablehlo.not", np.invert, dtypes=BITS, what="int or bool")

# ---- shifts --------------------------------------------------------------------------------------
# By the number of bits or more (negative amounts count as such): nothing remains but zeros, or
# copies of the sign for the arithmetic shift. So it is in NumPy, which looks at each amount as XLA does
# (tests/primitives/test_elementwise.py): to leave out what is not in range took 380 us of 512 x 512 int64 for 42.


def _unsigned(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).view(f"u{x.dtype.itemsize}")


def _shift_right_as(kind: str) -> Function:
    """The NumPy reference of a shift to the right of integers of this kind, "u" or "i", whatever they are."""

    def at(x: Aval, y: Aval) -> Function:
        dtype, seen = x.dtype, np.dtype(f"{kind}{x.dtype.itemsize}")
        if dtype == seen:
            return np.right_shift
        return lambda x, y: np.right_shift(x.view(seen), y.view(seen)).view(dtype)

    @specialised(at)
    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        seen = np.dtype(f"{kind}{x.dtype.itemsize}")
        return np.right_shift(np.asarray(x).view(seen), np.asarray(y).view(seen)).view(x.dtype)

    return rule


shift_left = binary("shift_left", "stablehlo.shift_left", np.left_shift, dtypes=dt.INTEGER, what="int")
shift_right_logical = binary(
    "shift_right_logical",
    "stablehlo.shift_right_logical",
    _shift_right_as("u"),
    dtypes=WHOLE_BYTES,
    what="int of a byte or more",
)
shift_right_arithmetic = binary(
    "shift_right_arithmetic", "stablehlo.shift_right_arithmetic", _shift_right_as("i"), dtypes=dt.INTEGER, what="int"
)

# ---- counts --------------------------------------------------------------------------------------


def _clz_reference(x: np.ndarray) -> np.ndarray:
    """Smear the highest bit downwards, then count the zeros that remain above."""
    bits = _unsigned(x)
    shift, width = 1, 8 * x.dtype.itemsize
    while shift < width:
        bits = bits | (bits >> np.asarray(shift, bits.dtype))
        shift *= 2
    return (width - np.bitwise_count(bits)).astype(x.dtype)


population_count = unary(
    "population_count",
    "stablehlo.popcnt",
    lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype),
    dtypes=WHOLE_BYTES,
    what="int of a byte or more",
)
clz = unary("clz", "stablehlo.count_leading_zeros", _clz_reference, dtypes=WHOLE_BYTES, what="int of a byte or more")
