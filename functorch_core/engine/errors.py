"""Errors of the engine."""

from __future__ import annotations

import math


class DeferredError(RuntimeError):
    """A recorded operation failed when it was computed; the message has the line that recorded it.

    >>> issubclass(fc.engine.DeferredError, RuntimeError)
    True
    """


class OutOfMemory(RuntimeError, MemoryError):
    """More memory was asked for than there is: a RuntimeError to programs written for PyTorch, a
    MemoryError to those written for NumPy."""


class RecompileError(RuntimeError):
    """Something was compiled inside `fail_on_recompile()`.

    >>> issubclass(fc.engine.RecompileError, RuntimeError)
    True
    """


POISONED = (
    "this value was never computed: {operation}, which it depends on, failed.\n"
    "    The first error is the cause of this one; values computed before it are intact."
)
TOO_LARGE = (
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes, for an "
    "array of shape {shape} and dtype {dtype}. Error code 12 (Cannot allocate memory)"
)


def out_of_memory(error: MemoryError) -> RuntimeError:
    """The error to raise for one of NumPy's or a device's; it names the size, if that does."""
    if isinstance(error, RuntimeError):
        return error
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return OutOfMemory(str(error) or "cannot allocate memory")
    return OutOfMemory(TOO_LARGE.format(nbytes=math.prod(shape) * dtype.itemsize, shape=shape, dtype=dtype))
