"""Dtypes as the Array API asks about them, and the namespace's description of itself."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core.explain import explaining
from ..ops.promotion import result_dtype
from .expose import operand

KINDS = {
    "bool": frozenset({dt.bool_}),
    "signed integer": dt.SIGNED,
    "unsigned integer": dt.UNSIGNED,
    "integral": dt.INTEGER,
    "real floating": dt.FLOATING,
    "complex floating": dt.COMPLEX,
    "numeric": dt.NUMERIC,
}


class FloatInfo(NamedTuple):
    """The limits of a floating dtype (of a complex one's parts)."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


class IntInfo(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def _dtype_of(x) -> np.dtype:
    return x.dtype if isinstance(getattr(x, "dtype", None), np.dtype) and not isinstance(x, type) else dt.canonical(x)


@explaining
def finfo(type, /) -> FloatInfo:
    """The limits of a floating or complex dtype, or of an array's. TypeError for others.

    >>> import functorch_core as fc
    >>> fc.finfo(fc.float32).bits
    32
    """
    dtype = dt.real_of(_dtype_of(type))
    if dtype not in dt.FLOATING:
        raise TypeError(f"finfo takes a floating or complex dtype, got {dtype.name}; see fc.iinfo")
    info = dt.finfo(dtype)
    return FloatInfo(
        int(info.bits), float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), dtype
    )


@explaining
def iinfo(type, /) -> IntInfo:
    """The limits of an integer dtype, or of an array's. TypeError for others.

    >>> import functorch_core as fc
    >>> fc.iinfo(fc.int8).max
    127
    """
    dtype = _dtype_of(type)
    if dtype not in dt.INTEGER:
        raise ValueError(f"iinfo takes an integer dtype, got {dtype.name}; see fc.finfo")
    info = dt.iinfo(dtype)
    return IntInfo(info.bits, int(info.max), int(info.min), dtype)


@explaining
def isdtype(dtype, kind) -> bool:
    """Whether a dtype is of a kind: another dtype, 'bool', 'signed integer', 'unsigned integer',
    'integral', 'real floating', 'complex floating', 'numeric', or one of a tuple of these.

    >>> import functorch_core as fc
    >>> fc.isdtype(fc.int8, "integral")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    dtype = dt.canonical(dtype)
    if isinstance(kind, str) and kind in KINDS:
        return dtype in KINDS[kind]
    if isinstance(kind, str):
        raise ValueError(f"isdtype: kind is a dtype, or one of {', '.join(map(repr, KINDS))}; got {kind!r}")
    return dtype == dt.canonical(kind)


@explaining
def result_type(*arrays_and_dtypes) -> np.dtype:
    """The dtype that arrays, dtypes and Python numbers (which are weak) promote to.

    >>> import functorch_core as fc
    >>> fc.result_type(fc.int32, fc.float16, 1.5).name
    'float16'
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type takes at least one array or dtype")
    operands = [np.empty((), dt.canonical(x)) if _is_dtype(x) else operand(x, "result_type") for x in arrays_and_dtypes]
    return result_dtype(operands)


def _is_dtype(x) -> bool:
    """Also jnp.float32, a function that converts and has a dtype."""
    return isinstance(x, (np.dtype, str, type)) or callable(x) and isinstance(getattr(x, "dtype", None), np.dtype)


@explaining
def promote_types(type1, type2) -> np.dtype:
    """The dtype that two dtypes promote to.

    >>> import functorch_core as fc
    >>> fc.promote_types(fc.int8, fc.uint8).name
    'int16'
    """
    return dt.promote(dt.canonical(type1), dt.canonical(type2))


@explaining
def can_cast(from_, to, /) -> bool:
    """Whether promotion turns one dtype (or an array's) into another.

    >>> import functorch_core as fc
    >>> fc.can_cast(fc.float32, fc.int32)
    False
    """
    to = dt.canonical(to)
    return dt.promote(_dtype_of(from_), to) == to


@functools.cache
def __array_namespace_info__() -> NamespaceInfo:
    """The namespace's capabilities, default dtypes and devices, as the Array API defines them.

    >>> import functorch_core as fc
    >>> fc.__array_namespace_info__().default_dtypes()["real floating"].name
    'float32'
    """
    return NamespaceInfo()


class NamespaceInfo:
    """See __array_namespace_info__."""

    def capabilities(self) -> dict:
        """What the namespace can do; the number of dimensions is not limited."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        """The device of new arrays."""
        return xla.default_device()

    def devices(self) -> list:
        """All devices."""
        return list(xla.devices())

    def default_dtypes(self, *, device=None) -> dict:
        """The dtypes of Python numbers and of indices."""
        return {
            "real floating": dt.DEFAULT_FLOAT,
            "complex floating": dt.DEFAULT_COMPLEX,
            "integral": dt.DEFAULT_INT,
            "indexing": dt.DEFAULT_INT,
        }

    def dtypes(self, *, device=None, kind=None) -> dict:
        """The dtypes by name, of a kind if one is given."""
        standard = [
            d
            for d in sorted(dt.ALL, key=lambda d: d.name)
            if d not in dt.FLOAT8 | dt.SUB_BYTE and d not in (dt.float16, dt.bfloat16, dt.complex32)
        ]
        return {d.name: d for d in standard if kind is None or isdtype(d, kind)}
