"""What the bodies of ops share: the vocabulary of kernels, numbers that are operands, PyTorch's checks."""

from __future__ import annotations

import numpy as np

from ...kernels.values import *  # noqa: F403
from ...kernels.values import aval_of, dt, p
from ..dispatch.refusals import NOT_IMPLEMENTED as NOT_IMPLEMENTED
from ..tensors import types as _types
from ..tensors.base import wrap_dim as wrap_dim
from ..tensors.promotion import broadcast as broadcast
from ..tensors.promotion import cast
from ..tensors.types import scalar_name


def scalar(x, number):
    """A Python number, or one that is an input of the graph, in the shape and dtype of x."""
    a = aval_of(x)
    return p.broadcast_in_dim(cast(number, a.dtype), shape=a.shape, dims=())


def floated(x, dtype=None):
    """x in a dtype given by its torch name; integers stay."""
    wanted = _types.numpy_dtype(dtype, aval_of(x).dtype)
    return x if wanted == aval_of(x).dtype else p.convert(x, dtype=wanted)


def require(x, allowed, kernel: str):
    """NotImplementedError unless x's dtype is among those a kernel is defined for."""
    if aval_of(x).dtype not in allowed:
        raise NotImplementedError(NOT_IMPLEMENTED.format(kernel=kernel, dtype=name_of(x)))


def require_floating(kernel: str, x, complex: bool = False):
    """NotImplementedError, as PyTorch's kernels give it, for integers (and complex numbers)."""
    require(x, dt.INEXACT if complex else dt.FLOATING, kernel)


_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(x) -> str:
    """The C++ name of a value's dtype."""
    return c_type(aval_of(x).dtype)


def c_type(dtype: np.dtype) -> str:
    """The C++ name of a dtype."""
    return _C_NAMES.get(dtype.name, dtype.name)


def require_same_dtype(x, y, message="expected m1 and m2 to have the same dtype, but got: {x} != {y}", named=c_name):
    """RuntimeError unless two operands agree."""
    if aval_of(x).dtype != aval_of(y).dtype:
        raise RuntimeError(message.format(x=named(x), y=named(y)))


def name_of(x) -> str:
    """Float, Long, ..."""
    return scalar_name(aval_of(x).dtype)
