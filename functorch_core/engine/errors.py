"""Errors of the engine."""
from __future__ import annotations


class DeferredError(RuntimeError):
    """A recorded operation failed when it was computed; the message has the line that recorded it."""


class RecompileError(RuntimeError):
    """Something was compiled inside `fail_on_recompile()`."""


POISONED = ("this value was never computed: {operation}, which it depends on, failed.\n"
            "    The first error is the cause of this one; values computed before it are intact.")
