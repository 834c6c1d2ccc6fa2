"""jax.dlpack: arrays shared with other libraries."""

from __future__ import annotations

import functorch_core as fc

from .core import dtypes as dt
from .core.explain import explaining

# DLPack has no complex32 and no float8 that all libraries agree on.
SUPPORTED = dt.ALL - dt.FLOAT8 - {dt.complex32}


@explaining
def from_dlpack(external_array, device=None, copy=None):
    """An Array of another library's array, through DLPack; see fc.from_dlpack.

    >>> from functorch_core import dlpack
    >>> import numpy as np
    >>> dlpack.from_dlpack(np.arange(3))
    Array([0, 1, 2], dtype=int64)
    """
    return fc.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype) -> bool:
    """Whether arrays of a dtype can be shared through DLPack.

    >>> from functorch_core import dlpack
    >>> dlpack.is_supported_dtype("float32")
    True
    """
    try:
        return dt.canonical(dtype) in SUPPORTED
    except TypeError:
        return False


__all__ = ["from_dlpack", "is_supported_dtype"]
