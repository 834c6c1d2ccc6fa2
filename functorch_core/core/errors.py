"""The errors of tracing and transforming, each with what to do next."""

from __future__ import annotations


class TracingError(TypeError):
    """A traced value was used where only a concrete one can be."""


class ConcretizationError(TracingError):
    """A traced value's number was asked for: `if x`, `int(x)`, `np.asarray(x)`."""


class LeakError(TracingError):
    """A traced value was used after its trace had ended, or in another thread."""


class InconclusiveDimensionOperation(Exception):  # noqa: N818  the name is JAX's
    """A size by name (see fc.export.symbolic_shape) was compared, or its number asked for."""


class AxisError(IndexError, ValueError):
    """An axis that an array does not have: an IndexError as in PyTorch, a ValueError as in JAX, both as in NumPy."""


class KeyReuseError(RuntimeError):
    """A typed key was used twice, in fc.debug_key_reuse."""


LEAK_MESSAGE = """{value}, made while tracing `{name}`{place}, was used after that trace had ended.
    wrong: kept.append(x) inside the traced function, then kept[0] + 1 outside
    right: return x from the traced function (auxiliary outputs: has_aux=True)"""

NOT_LINEAR_MESSAGE = """linear_transpose: the function is not linear in its arguments together.
    wrong: fc.linear_transpose(lambda x: x * x, x)
    right: fc.linear_transpose(lambda x: 3 * x, x)
    The derivative at a point is linear: fc.linearize(f, x), or fc.vjp(f, x) for its transpose."""

MISSING_RULE_MESSAGE = "`{name}` has no {rule} rule: {reason}"
