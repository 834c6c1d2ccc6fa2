"""NumPy dtypes and their MLIR spelling: element types, tensor types, exact constants."""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

# NumPy name -> MLIR element type. Signless `iN` is MLIR's signed integer, `uiN` the unsigned one.
_ELEMENT_TYPES = {
    "bool": "i1",
    # ---- integers
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    # ---- floats and complex
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "complex32": "ui32",  # XLA has no such type: the bits of both halves, the real one low
    # ---- ml_dtypes: one byte an element in memory, also where fewer bits count
    "bfloat16": "bf16",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
    "int4": "i4",
    "uint4": "ui4",
    "int2": "i2",
    "uint2": "ui2",
}
_SUB_BYTE = frozenset({"float4_e2m1fn", "int4", "uint4", "int2", "uint2"})
# Of one or two bytes, without a letter in Python's buffer protocol.
UNNAMED = frozenset(
    np.dtype(getattr(ml_dtypes, name)) for name in _ELEMENT_TYPES if name.startswith(("bfloat16", "float8"))
)
_STORED_AS = {np.dtype(ml_dtypes.complex32): np.dtype(np.uint32)}

# From this many elements on, a constant is printed as one hexadecimal string: shorter and quicker
# to parse than a list of literals.
_HEX_BLOB_FROM = 64


@cache
def element_type(dtype: type[Any] | np.dtype | str) -> str:
    """MLIR element type of a NumPy dtype: 'f32', 'ui8', 'i1', 'complex<f32>', 'bf16', 'f8E4M3FN'.

    Raises TypeError for a dtype XLA does not have.
    """
    dtype = np.dtype(dtype)
    try:
        return _ELEMENT_TYPES[dtype.name]
    except KeyError:
        raise TypeError(f"dtype {dtype} has no XLA type; expected one of {', '.join(_ELEMENT_TYPES)}") from None


def stored_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which a device holds elements of this one: uint32 for complex32, else itself."""
    return _STORED_AS.get(dtype, dtype)


@lru_cache(maxsize=4096)
def mlir_type(shape: tuple[int, ...], dtype: np.dtype | str) -> str:
    """MLIR tensor type: `mlir_type((2, 3), 'float32')` is 'tensor<2x3xf32>'."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type(dtype)}>"


# ---- constants -----------------------------------------------------------------------------------


def constant(array: np.ndarray) -> str:
    """The attribute `dense<...>` of an array, without its type; exact for every dtype.

    One element if all are equal bit by bit (MLIR calls it a splat), so write
    ``f"stablehlo.constant {constant(x)} : {mlir_type(x.shape, x.dtype)}"``.
    """
    array = np.asarray(array)
    return f"dense<{_payload(array.view(stored_dtype(array.dtype)))}>"


def _payload(array: np.ndarray) -> str:
    kind = element_type(array.dtype)
    if array.size == 0:
        return ""
    if _is_uniform(array):
        return _literal(array.reshape(-1)[0], kind)
    if array.size >= _HEX_BLOB_FROM and kind != "i1" and array.dtype.name not in _SUB_BYTE:
        little_endian = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        return f'"0x{little_endian.tobytes().hex().upper()}"'
    return _nested(array, kind)


def _is_uniform(array: np.ndarray) -> bool:
    """Whether all elements have the same bits; == would equate -0.0 with 0.0 and part NaNs."""
    flat = np.ascontiguousarray(array).reshape(-1)
    rows = flat.view(np.uint8).reshape(flat.size, -1)
    return bool((rows == rows[0]).all())


def _nested(array: np.ndarray, kind: str) -> str:
    if array.ndim == 0:
        return _literal(array[()], kind)
    return f"[{', '.join(_nested(row, kind) for row in array)}]"


def _literal(value: np.ndarray, kind: str) -> str:
    if kind == "i1":
        return "true" if value else "false"
    if kind.startswith("complex"):
        return f"({_float_literal(value.real)}, {_float_literal(value.imag)})"
    if kind.lstrip("u").startswith("i"):
        return str(int(value))
    return _float_literal(value)


def _float_literal(value: np.ndarray) -> str:
    """A float as a decimal that reads back exactly, or as its bits where no decimal does."""
    number = float(value)
    if not math.isfinite(number):
        bits = np.asarray(value).tobytes()[::-1].hex().upper()
        return f"0x{bits}"
    text = repr(number)
    # MLIR wants a point before the exponent: 1e-05 is not a literal, 1.0e-05 is.
    return text if "." in text else re.sub("e", ".0e", text)
