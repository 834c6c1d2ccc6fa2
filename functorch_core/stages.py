"""jax.stages: the classes of what fc.jit makes, for annotations and isinstance."""

from __future__ import annotations

from .array.compose import missing_name
from .array.jit import Compiled, Jitted, Lowered, TracedStage

Wrapped, Traced = Jitted, TracedStage

__getattr__ = missing_name(
    "stages",
    {
        "ArgInfo": "lowered.in_avals are the shapes and dtypes.",
        "CompilerOptions": "Options of the compiler are a dict.",
    },
)
__all__ = ["Compiled", "Lowered", "Traced", "Wrapped"]
