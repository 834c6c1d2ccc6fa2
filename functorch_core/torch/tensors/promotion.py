"""PyTorch's type promotion.

Three ranks of operands: tensors with dimensions, tensors without, Python numbers. A lower rank only
matters where its category (bool < integer < floating < complex) is higher than that of all ranks
above.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ... import primitives as p
from ...core import dtypes as dt
from ...core.aval import Aval, HasAval, aval_of
from ...kernels.conversion import wrapped
from ...ops import promotion as strict
from ...ops.promotion import broadcast_together
from ...ops.signature import SCALARS, Weak
from ..tensors.types import scalar_name
from . import types as _types

HALF = frozenset({dt.float16, dt.bfloat16})
_BAREBONES = frozenset({dt.uint16, dt.uint32, dt.uint64})
_UNSUPPORTED = "Promotion for {what} is not supported, attempted to promote {a} and {b}"


@functools.cache
def promote_dtypes(a: np.dtype, b: np.dtype) -> np.dtype:
    """torch.promote_types, on NumPy dtypes."""
    if a == b:
        return a
    if not dt.FLOAT8.isdisjoint((a, b)):
        raise RuntimeError(_UNSUPPORTED.format(what="Float8 Types", a=_name(a), b=_name(b)))
    if not _BAREBONES.isdisjoint((a, b)) and dt.FLOATING.isdisjoint((a, b)):
        raise RuntimeError(_UNSUPPORTED.format(what="uint16, uint32, uint64 types", a=_name(a), b=_name(b)))
    return dt.promote(a, b)


def _name(dtype: np.dtype) -> str:
    return scalar_name(dtype)


def scalar_dtype(kind: type) -> np.dtype:
    """The dtype a Python number of this type stands for."""
    if kind is bool:
        return dt.bool_
    if kind is int:
        return dt.int64
    return _types.defaults.dtype.numpy if kind is float else _types.complex_default()


def result_dtype(operands) -> np.dtype:
    """The NumPy dtype that values (or their avals) and numbers promote to, as torch.result_type."""
    ranks: list[np.dtype | None] = [None, None, None]
    for x in operands:
        if isinstance(x, Weak):
            rank, d = 2, scalar_dtype(x.kind)
        elif isinstance(x, SCALARS):
            rank, d = 2, scalar_dtype(type(x))
        else:
            a = x if isinstance(x, Aval) else aval_of(x)
            rank, d = (0 if a.ndim else 1), a.dtype
        ranks[rank] = d if ranks[rank] is None else promote_dtypes(ranks[rank], d)
    return combine_ranks(*ranks)


def combine_ranks(dim, zero, wrapped) -> np.dtype:
    """The dtype of the three ranks together; a lower rank matters only by a higher category."""
    return _combined(dim, _combined(zero, wrapped))


def _combined(higher, lower) -> np.dtype | None:
    """Of a rank and a lower one; complex keeps the precision of a floating tensor."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    category = dt.category(lower)
    if category <= dt.category(higher):
        return higher
    if higher not in dt.FLOATING:
        return promote_dtypes(higher, lower) if category < 3 else lower
    if higher in dt.FLOAT8:
        raise RuntimeError(f"Unknown Complex ScalarType for {_name(higher)}")
    return dt.complex_of(higher)


C_NAMES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
}


def overflow_of(dtype: np.dtype) -> str:
    """What is said of a number that the dtype does not have."""
    return f"value cannot be converted to type {C_NAMES.get(dtype.name, dtype.name)} without overflow"


def holds(dtype: np.dtype, number) -> bool:
    """Whether a Python number has a value in the dtype: none is rounded to infinity, wraps or loses its imaginary part.

    Integers without signs take negative ones, too, as C does. Complex numbers of half precision are not looked at:
    PyTorch rounds them to infinity (but where one element is filled).
    """
    if dtype == dt.complex32:
        return True
    if number.__class__ is complex:
        if dtype not in dt.COMPLEX:
            return dtype == dt.bool_ or not number.imag and holds(dtype, number.real)
        return all(holds(dtype, x) for x in (number.real, number.imag))
    if dtype in dt.INEXACT:
        return not float(dt.finfo(dtype).max) < abs(number) < math.inf
    if dtype not in dt.INTEGER:
        return True
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return (low or (0 if number.__class__ is float else -high)) <= number <= high


def check_held(dtype: np.dtype, number):
    """RuntimeError for a Python number that the dtype does not have."""
    if not holds(dtype, number):
        raise RuntimeError(overflow_of(dtype))


def _saturated(x):
    """Float32 as float8_e4m3fn, which has no infinity: what is too large is the largest."""
    limit = p.full(x.aval.shape, float(dt.finfo(dt.float8_e4m3fn).max), dt.float32)
    x = p.select(p.gt(x, limit), limit, x)
    return p.convert(p.select(p.lt(x, p.neg(limit)), p.neg(limit), x), dtype=dt.float8_e4m3fn)


def _nearest_power(x):
    """The size of float32 as float8_e8m0fnu, an exponent and nothing else, in integers: it has numbers that XLA takes
    for 0, and no 0."""
    bits = p.and_(p.bitcast(x, dtype=dt.uint32), 0x7FFFFFFF)
    below, half = [p.full(bits.aval.shape, n, dt.uint32) for n in ((1 << 22) - 1, 1 << 22)]
    half = p.select(p.lt(bits, 1 << 23), below, half)
    exponent = p.min(p.shift_right_logical(p.add(bits, half), 23), 255)
    return p.bitcast(p.convert(exponent, dtype=dt.uint8), dtype=dt.float8_e8m0fnu)


FITTED = {dt.float8_e4m3fn: _saturated, dt.float8_e8m0fnu: _nearest_power}  # others as primitives convert


def converted(x, dtype: np.dtype):
    """A value in this dtype; numbers that integers do not hold become what PyTorch makes of them."""
    found = aval_of(x).dtype
    if dtype in FITTED and found != dtype:
        return FITTED[dtype](p.convert(x, dtype=dt.float32))
    if not (dtype in dt.INTEGER and found in dt.INEXACT):
        return p.convert(x, dtype=dtype)
    if found in dt.COMPLEX:
        x = p.real(p.convert(x, dtype=dt.complex64) if found == dt.complex32 else x)
    return wrapped(x, dtype)


def cast(x, dtype: np.dtype):
    """An operand as a value of this dtype; integers that do not fit wrap, as in PyTorch."""
    if dtype in dt.INTEGER and isinstance(x, HasAval) and x.aval.dtype in dt.INEXACT:
        return converted(x, dtype)
    if dtype in FITTED:
        return converted(strict.cast(x, dt.float32), dtype) if aval_of(x).dtype != dtype else x
    if isinstance(x, int) and dtype in dt.INTEGER and -(2**63) <= x < 2**63:
        return p.constant(np.asarray(x, np.int64).astype(dtype))
    return strict.cast(x, dtype)


def promote(*operands, to_float: bool = False, name: str = "") -> list:
    """The operands in their common dtype and shape. `to_float`: integers become the default float."""
    dtype = result_dtype(operands)
    if to_float and dtype not in dt.INEXACT:
        dtype = _types.defaults.dtype.numpy
    return broadcast([cast(x, dtype) for x in operands])


BROADCAST_MESSAGE = "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {d}"


def broadcast(values: list) -> list:
    """The values broadcast together, with PyTorch's error."""
    try:
        return broadcast_together(values, "")
    except ValueError:
        raise RuntimeError(_explain([aval_of(v).shape for v in values])) from None


def _explain(shapes) -> str:
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(s)) + s for s in shapes]
    for d in reversed(range(ndim)):
        sizes = [s[d] for s in padded]
        different = [n for n in dict.fromkeys(sizes) if n != 1]
        if len(different) > 1:
            return BROADCAST_MESSAGE.format(a=different[0], b=different[1], d=d)
    return f"shapes {shapes} cannot be broadcast"
