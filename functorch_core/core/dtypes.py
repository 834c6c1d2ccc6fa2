"""The dtypes the library knows, their categories, and how they promote."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

# ---- the dtypes, by category ------------------------------------------------------------------

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(np.dtype, ("float16", "float32", "float64"))
bfloat16 = np.dtype(ml_dtypes.bfloat16)
complex32 = np.dtype(ml_dtypes.complex32)
complex64, complex128 = map(np.dtype, ("complex64", "complex128"))
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = np.dtype(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = np.dtype(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = np.dtype(ml_dtypes.float8_e8m0fnu)
float8_e3m4 = np.dtype(ml_dtypes.float8_e3m4)
float8_e4m3 = np.dtype(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = np.dtype(ml_dtypes.float8_e4m3b11fnuz)
float4_e2m1fn = np.dtype(ml_dtypes.float4_e2m1fn)
int2, int4, uint2, uint4 = map(np.dtype, (ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4))

SIGNED = frozenset({int2, int4, int8, int16, int32, int64})
UNSIGNED = frozenset({uint2, uint4, uint8, uint16, uint32, uint64})
SUB_BYTE = frozenset({int2, int4, uint2, uint4, float4_e2m1fn})  # NumPy gives each element a byte
INTEGER = SIGNED | UNSIGNED
FLOAT8 = frozenset({float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu})
FLOAT8 |= {float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float4_e2m1fn}  # of eight bits or fewer
FLOATING = FLOAT8 | {float16, bfloat16, float32, float64}
COMPLEX = frozenset({complex32, complex64, complex128})
INEXACT = FLOATING | COMPLEX
REAL = INTEGER | FLOATING
NUMERIC = INTEGER | INEXACT
ORDERED = REAL | {bool_}
ALL = NUMERIC | {bool_}

# float32 and int64 are the dtypes of Python literals, as in PyTorch; nothing is narrowed.
DEFAULT_FLOAT, DEFAULT_INT, DEFAULT_COMPLEX = float32, int64, complex64

REAL_OF = MappingProxyType({complex32: float16, complex64: float32, complex128: float64})
COMPLEX_OF = MappingProxyType(
    {
        float16: complex32,
        bfloat16: complex64,
        float32: complex64,
        float64: complex128,
        complex32: complex32,
        complex64: complex64,
        complex128: complex128,
    }
)

# What is too narrow to compute in, and where it is computed instead.
WIDE_OF = MappingProxyType(
    {complex32: complex64, float16: float32, bfloat16: float32, **dict.fromkeys(FLOAT8, float32)}
)


# What is held in memory alone, and computed in another dtype (core/emulated.py): XLA has no complex32, and of
# the others few operations.
EMULATED: MappingProxyType[np.dtype, np.dtype] = MappingProxyType(
    {
        complex32: complex64,
        **dict.fromkeys((float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float4_e2m1fn), float32),
        **dict.fromkeys((int2, int4), int8),
        **dict.fromkeys((uint2, uint4), uint8),
    }
)


class DtypeError(TypeError):
    """A primitive does not take operands of this dtype; None: of dtypes that differ."""

    def __init__(self, message: str, dtype: np.dtype | None = None):
        super().__init__(message)
        self.dtype = dtype


def canonical(dtype: Any) -> np.dtype:
    """The NumPy dtype for a dtype, a scalar type or a name; TypeError if the library lacks it."""
    if dtype is bool:
        return bool_
    if dtype is int:
        return DEFAULT_INT
    if dtype is float:
        return DEFAULT_FLOAT
    if dtype is complex:
        return DEFAULT_COMPLEX
    if isinstance(dtype, str) and hasattr(ml_dtypes, dtype):
        dtype = getattr(ml_dtypes, dtype)
    try:
        result = np.dtype(dtype)
    except TypeError:
        result = None
    if result is None or result not in ALL:
        raise TypeError(f"{dtype!r} is not a dtype of this library; it has " + ", ".join(sorted(d.name for d in ALL)))
    return result


def real_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part: float32 for complex64; real dtypes stay."""
    return REAL_OF.get(dtype, dtype)


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype whose parts hold this floating dtype."""
    return COMPLEX_OF[dtype]


def wide(dtype: np.dtype) -> np.dtype:
    """The dtype that sums and the like are computed in: float32 for narrower floats."""
    return WIDE_OF.get(dtype, dtype)


def of_scalar(value: complex) -> np.dtype:
    """The default dtype of a Python scalar: bool, int64, float32 or complex64."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return DEFAULT_INT if -(2**63) <= value < 2**63 else uint64
    if isinstance(value, float):
        return DEFAULT_FLOAT
    if isinstance(value, complex):
        return DEFAULT_COMPLEX
    raise TypeError(f"expected a Python bool, int, float or complex, got {type(value).__name__}")


# ---- promotion ---------------------------------------------------------------------------------


def category(dtype: np.dtype) -> int:
    """0 bool, 1 integer, 2 floating, 3 complex: a higher category wins a promotion."""
    if dtype in INTEGER:
        return 1
    if dtype in FLOATING:
        return 2
    return 3 if dtype in COMPLEX else 0


def _promote_integers(a: np.dtype, b: np.dtype) -> np.dtype:
    if {a, b} & SUB_BYTE:
        if (a in SIGNED) == (b in SIGNED):
            return a if iinfo(a).bits >= iinfo(b).bits else b
        narrow, other = (a, b) if a in SUB_BYTE else (b, a)  # int8 holds them all
        return other if other == int8 else _promote_integers(int8, other if other not in SUB_BYTE else int8)
    if (a in SIGNED) == (b in SIGNED):
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned.itemsize == 8:  # no integer holds both; the float default, as JAX
        return DEFAULT_FLOAT
    return np.dtype(f"int{unsigned.itemsize * 16}")


def _promote_floats(a: np.dtype, b: np.dtype) -> np.dtype:
    if {a, b} & {float4_e2m1fn}:
        return a if b == float4_e2m1fn else b
    if a.itemsize == b.itemsize:  # float16 with bfloat16, or two float8 kinds: neither holds both
        return float32 if a.itemsize == 2 else bfloat16
    return a if a.itemsize > b.itemsize else b


@functools.cache
def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype both promote to: the higher category, the wider within one."""
    if a == b:
        return a
    ca, cb = category(a), category(b)
    if ca < cb:
        a, b, ca, cb = b, a, cb, ca
    if ca == 3:
        return a if cb < 2 else complex_of(promote(real_of(a), real_of(b)))
    if ca != cb:
        return a
    return _promote_integers(a, b) if ca == 1 else _promote_floats(a, b)


@functools.cache
def promote_scalar(dtype: np.dtype, kind: type) -> np.dtype:
    """The dtype of an array of `dtype` meeting a Python scalar: the scalar is weak."""
    scalar = {bool: bool_, int: DEFAULT_INT, float: DEFAULT_FLOAT, complex: DEFAULT_COMPLEX}[kind]
    if category(scalar) <= category(dtype):
        return dtype
    return promote(dtype, scalar) if kind is complex else scalar  # of float16: complex64, as JAX


def finfo(dtype: np.dtype) -> Any:
    """ml_dtypes' finfo, which also knows bfloat16 and float8; complex gives its parts'."""
    return ml_dtypes.finfo(real_of(np.dtype(dtype)))  # type: ignore[no-untyped-call]  # its stubs have none


def iinfo(dtype: np.dtype) -> Any:
    """ml_dtypes' iinfo, which also knows int4 and its kin."""
    return ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]  # its stubs have none
