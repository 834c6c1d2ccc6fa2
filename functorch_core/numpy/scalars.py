"""The scalar types of the namespace: dtypes that can be called, and the abstract classes of NumPy's."""

from __future__ import annotations

import builtins

import numpy as np

import functorch_core as fc

from ..array.keys import KeyDtype, extended, prng_key
from ..core import dtypes as dt
from ..core.explain import explaining


class ScalarType:
    """A dtype that makes arrays when it is called, as jax.numpy.float32 does.

    It is a dtype wherever one is expected, and equal to it.

    >>> import functorch_core.numpy as jnp
    >>> jnp.float32(3)
    Array(3., dtype=float32)
    >>> jnp.zeros(2, jnp.int8).dtype == jnp.int8
    True
    """

    __slots__ = ("dtype",)

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def __call__(self, x=0):
        return fc.asarray(x, dtype=self.dtype)

    @property
    def type(self) -> type:
        """The scalar class of NumPy's."""
        return self.dtype.type

    @property
    def name(self) -> str:
        """The dtype's name."""
        return self.dtype.name

    __name__ = name

    def __eq__(self, other):
        try:
            return self.dtype == dt.canonical(other)
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        return f"functorch_core.numpy.{self.dtype.name}"


bool_ = ScalarType(dt.bool_)
int8, int16, int32, int64 = map(ScalarType, (dt.int8, dt.int16, dt.int32, dt.int64))
uint8, uint16, uint32, uint64 = map(ScalarType, (dt.uint8, dt.uint16, dt.uint32, dt.uint64))
float16, bfloat16, float32, float64 = map(ScalarType, (dt.float16, dt.bfloat16, dt.float32, dt.float64))
complex64, complex128 = map(ScalarType, (dt.complex64, dt.complex128))
float8_e4m3fn, float8_e4m3fnuz = map(ScalarType, (dt.float8_e4m3fn, dt.float8_e4m3fnuz))
float8_e5m2, float8_e5m2fnuz = map(ScalarType, (dt.float8_e5m2, dt.float8_e5m2fnuz))
float8_e8m0fnu = ScalarType(dt.float8_e8m0fnu)
float8_e3m4, float8_e4m3 = map(ScalarType, (dt.float8_e3m4, dt.float8_e4m3))
float8_e4m3b11fnuz, float4_e2m1fn = map(ScalarType, (dt.float8_e4m3b11fnuz, dt.float4_e2m1fn))
int2, int4, uint2, uint4 = map(ScalarType, (dt.int2, dt.int4, dt.uint2, dt.uint4))
bool = bool_
int_, uint = int64, uint64
float_, complex_ = float32, complex64  # the dtypes of Python's numbers here
single, double, csingle, cdouble = float32, float64, complex64, complex128

from numpy import (  # noqa: E402  # the classes that dtypes are asked about
    character,
    complexfloating,
    dtype,
    flexible,
    floating,
    generic,
    inexact,
    integer,
    number,
    object_,
    signedinteger,
    unsignedinteger,
)

FLOATS = (floating, inexact, number, generic)


@explaining
def issubdtype(arg1, arg2) -> builtins.bool:
    """Whether a dtype is another one, or of an abstract class: jnp.floating, jnp.integer, ...

    bfloat16 and the float8 dtypes are floating.

    >>> import functorch_core.numpy as jnp
    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    if isinstance(arg1, KeyDtype) or isinstance(arg2, KeyDtype) or arg2 in (extended, prng_key):
        kind = arg1.type if isinstance(arg1, KeyDtype) else arg1
        return arg1 == arg2 or (isinstance(kind, type) and isinstance(arg2, type) and issubclass(kind, arg2))
    if isinstance(arg1, type) and issubclass(arg1, np.generic) and arg1.__module__ == "numpy":
        if not isinstance(arg2, ScalarType):
            return builtins.bool(np.issubdtype(arg1, arg2))
    dtype = dt.canonical(arg1)
    if isinstance(arg2, type) and issubclass(arg2, np.generic) and arg2.__module__ == "numpy":
        if dtype in dt.FLOATING and dtype.kind == "V" or dtype == dt.bfloat16:
            return arg2 in FLOATS
        if dtype in dt.SUB_BYTE:
            return builtins.bool(np.issubdtype(dt.EMULATED[dtype], arg2))
        return builtins.bool(np.issubdtype(dtype, arg2))
    return dtype == dt.canonical(arg2)


def isscalar(element) -> builtins.bool:
    """Whether it is a number, or an array without dimensions.

    >>> import functorch_core.numpy as jnp
    >>> jnp.isscalar(2.5), jnp.isscalar(jnp.zeros(2))
    (True, False)
    """
    if element.__class__ is fc.Array or isinstance(element, np.ndarray):
        return element.ndim == 0
    return np.isscalar(element)


__all__ = [
    "bfloat16", "bool", "bool_", "cdouble", "character", "complex128", "complex64", "complex_", "complexfloating",
    "csingle", "double", "dtype", "flexible", "float16", "float32", "float4_e2m1fn", "float64", "float8_e3m4",
    "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float_", "floating", "generic", "inexact", "int16", "int2", "int32", "int4", "int64", "int8",
    "int_", "integer", "isscalar", "issubdtype", "number", "object_", "signedinteger", "single", "uint", "uint16",
    "uint2", "uint32", "uint4", "uint64", "uint8", "unsignedinteger",
]  # fmt: skip
