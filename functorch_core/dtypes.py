"""jax.dtypes: questions about dtypes. 64 bits are always on, so that none is narrowed."""

from __future__ import annotations

import numpy as np

import functorch_core as fc
from functorch_core import finfo, iinfo

from .array.compose import missing_name
from .array.keys import extended, prng_key
from .core import dtypes as dt
from .numpy.scalars import bfloat16
from .numpy.scalars import issubdtype as _issubdtype

float0 = np.dtype([("float0", np.void, 0)])  # the dtype of tangents of integers, in JAX; here they are float32
TypePromotionError = TypeError


def issubdtype(a, b) -> bool:
    """Whether a dtype is another one, or of an abstract class: numpy.floating, numpy.integer, ...

    >>> from functorch_core import dtypes
    >>> import numpy as np
    >>> dtypes.issubdtype(dtypes.bfloat16, np.floating)
    True
    """
    return _issubdtype(a, b)


def canonicalize_dtype(dtype, allow_extended_dtype=False) -> np.dtype:
    """The NumPy dtype of a dtype, a scalar class or a name.

    >>> from functorch_core import dtypes
    >>> dtypes.canonicalize_dtype(float).name
    'float32'
    """
    return dt.canonical(dtype)


def result_type(*args, return_weak_type_flag=False):
    """The dtype that arrays, dtypes and Python numbers promote to; with the flag, whether all are numbers.

    >>> from functorch_core import dtypes
    >>> dtypes.result_type(1, 2.5).name
    'float32'
    """
    found = fc.result_type(*args)
    weak = all(isinstance(x, (bool, int, float, complex)) for x in args)
    return (found, weak) if return_weak_type_flag else found


def itemsize_bits(dtype) -> int:
    """The number of bits of an element.

    >>> from functorch_core import dtypes
    >>> dtypes.itemsize_bits("float16")
    16
    """
    return dt.canonical(dtype).itemsize * 8


def scalar_type_of(x) -> type:
    """The Python class of numbers that stands for the elements of x.

    >>> from functorch_core import dtypes
    >>> dtypes.scalar_type_of(2.5)
    <class 'float'>
    """
    return (bool, int, float, complex)[dt.category(fc.result_type(x))]


__getattr__ = missing_name("dtypes", {})

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype",
    "itemsize_bits", "prng_key", "result_type", "scalar_type_of",
]  # fmt: skip
