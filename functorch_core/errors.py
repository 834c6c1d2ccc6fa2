"""jax.errors: the errors of this library under the names that JAX gives them.

Where JAX tells several apart, one class stands for all: `except errors.TracerBoolConversionError`
catches what asks for a traced number in any way.
"""

from __future__ import annotations

from .array.compose import missing_name
from .core.errors import ConcretizationError, InconclusiveDimensionOperation, KeyReuseError, LeakError, TracingError
from .xla.errors import XLAError

JAXTypeError = TracingError
JAXIndexError = IndexError
JaxprTypeError = TypeError
JaxRuntimeError = XLAError
ConcretizationTypeError = ConcretizationError
NonConcreteBooleanIndexError = ConcretizationError
TracerArrayConversionError = ConcretizationError
TracerBoolConversionError = ConcretizationError
TracerIntegerConversionError = ConcretizationError
UnexpectedTracerError = LeakError


__getattr__ = missing_name("errors", {})

__all__ = [
    "ConcretizationTypeError", "InconclusiveDimensionOperation", "JAXIndexError", "JAXTypeError", "JaxRuntimeError",
    "JaxprTypeError", "KeyReuseError", "NonConcreteBooleanIndexError", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
]  # fmt: skip
