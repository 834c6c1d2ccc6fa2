"""torch._prims_common: questions about dtypes that PyTorch's references and its tests ask."""

from __future__ import annotations

from .... import _missing
from ....tensors import types


def corresponding_complex_dtype(dtype: types.dtype) -> types.dtype:
    """The complex dtype whose parts have a floating dtype.

    >>> corresponding_complex_dtype(torch.float64)
    torch.complex128
    """
    return dtype.to_complex()


def corresponding_real_dtype(dtype: types.dtype) -> types.dtype:
    """The dtype of the parts of a complex one."""
    return dtype.to_real()


def is_boolean_dtype(dtype: types.dtype) -> bool:
    """Whether it is torch.bool."""
    return dtype.name == "bool"


def is_integer_dtype(dtype: types.dtype) -> bool:
    """Whether it has integers; not torch.bool."""
    return dtype_to_type(dtype) is int


def is_float_dtype(dtype: types.dtype) -> bool:
    """Whether it has real numbers that are no integers."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: types.dtype) -> bool:
    """Whether it has complex numbers."""
    return dtype.is_complex


def dtype_to_type(dtype: types.dtype) -> type:
    """Python's class of numbers for a dtype."""
    if dtype.is_complex:
        return complex
    if dtype.is_floating_point:
        return float
    return bool if is_boolean_dtype(dtype) else int


__getattr__ = _missing.getter(__name__, ("wrappers",))
