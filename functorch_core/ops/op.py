"""How an operation is declared, and what happens when it is called.

    @op
    def softmax(x, /, axis=-1): ...

Positional-only parameters are arrays (or None, or a sequence of arrays); all others are static.
Called outside of a trace, the function is traced once for each signature, and the result, one
unit however many primitives it has, is recorded. Inside a trace it simply runs.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import numpy as np

from ..core import dtypes as dt
from ..core.graph import cse, dce
from ..core.trace import Builder, Traced, state as trace_state
from ..engine import Unit, Value, record
from ..engine.units import SCALAR_AVALS
from ..primitives import constant

SCALARS = (bool, int, float, complex)
# Scalars that are written into the graph, where they simplify; all others are packed inputs, so
# that a changing one (a learning rate) compiles nothing.
LITERALS = frozenset({-1, 1, 2, 0.5, -1.0, 1.0, 2.0})


class Weak:
    """A Python number that is an input of the graph: it takes the dtype of what it meets."""

    __slots__ = ("value", "kind")

    def __init__(self, value: Traced, kind: type):
        self.value, self.kind = value, kind


class Op:
    """A declared operation; call it with values, get values."""

    __slots__ = ("fun", "name", "scalars", "n_arrays", "names", "units", "effect", "__doc__",
                 "__signature__", "__wrapped__", "__dict__")

    def __init__(self, fun: Callable, scalars: bool = False, name: str | None = None):
        self.fun, self.name, self.scalars = fun, name or fun.__name__, scalars
        self.__doc__, self.__wrapped__ = fun.__doc__, fun
        self.__signature__ = inspect.signature(fun)
        kinds = [(p.name, p.kind) for p in self.__signature__.parameters.values()]
        self.n_arrays = sum(kind is inspect.Parameter.POSITIONAL_ONLY for _, kind in kinds)
        self.names = [name for name, kind in kinds][self.n_arrays:]
        self.units: dict[tuple, Unit] = {}

    def __repr__(self):
        return f"<op {self.name}{self.__signature__}>"

    def __call__(self, *args, **static):
        if len(args) > self.n_arrays:
            static.update(zip(self.names, args[self.n_arrays:]))
            args = args[:self.n_arrays]
        if trace_state.builder is not None:
            return self.inline(args, static)
        operands: list = []
        key = tuple([self._describe(x, operands) for x in args])
        if static:
            key = (key, *static.items())
        try:
            unit = self.units.get(key)
        except TypeError:  # a list among the static arguments
            static = {k: freeze(v) for k, v in static.items()}
            key = (key[0], *static.items())
            unit = self.units.get(key)
        if unit is None:
            unit = self.units[key] = self._trace(args, static)
        return record(unit, operands)

    def _describe(self, x, operands: list):
        """This argument's part of the signature; its data are appended to `operands`."""
        cls = x.__class__
        if cls is Value:
            operands.append(x)
            return x.aval.id
        if cls is float or cls is int:
            if not self.scalars or x in LITERALS or is_literal_zero(x) or not fits(x):
                return cls, x, math.copysign(1, x)
            operands.append(x)
            return cls
        if cls is list or cls is tuple:
            return tuple([self._describe(y, operands) for y in x])
        if isinstance(x, (np.ndarray, np.generic)):
            from ..engine.recorder import as_value
            return self._describe(as_value(x), operands)
        if x is None or isinstance(x, SCALARS):
            return cls, x
        if isinstance(x, Traced):
            from ..engine.recorder import as_value
            as_value(x)  # raises: a traced value outside of its trace
        raise TypeError(f"{self.name} takes arrays and numbers, got {cls.__name__}; "
                        "convert it first, for example with fc.asarray")

    def inline(self, args, static):
        """Run the function in the active trace."""
        if not self.scalars:
            args = [lift(x) for x in args]
        return self.fun(*args, **{k: freeze(v) for k, v in static.items()})

    def _trace(self, args, static) -> Unit:
        builder = Builder(self.name)
        with builder:
            out = self.fun(*[self._placeholder(builder, x) for x in args], **static)
            multiple = isinstance(out, (list, tuple))
            graph = builder.finish(out if multiple else [out])
        return Unit(cse(dce(graph)), self.name, multiple)

    def _placeholder(self, builder: Builder, x):
        cls = x.__class__
        if cls is Value:
            return builder.input(x.aval)
        if cls is list or cls is tuple:
            return [self._placeholder(builder, y) for y in x]
        if isinstance(x, (np.ndarray, np.generic)):
            return builder.input(_aval_of(x))
        if isinstance(x, SCALARS):
            if not self.scalars:
                return lift(x)
            if (cls is float or cls is int) and fits(x) and not (
                    x in LITERALS or is_literal_zero(x)):
                return Weak(builder.input(SCALAR_AVALS[cls]), cls)
        return x


def op(fun: Callable | None = None, *, scalars: bool = False):
    """Declare an operation. `scalars`: the function takes Python numbers as they are (promote())."""
    if fun is None:
        return lambda f: Op(f, scalars)
    return Op(fun, scalars)


def _aval_of(x):
    from ..core.aval import aval_of
    return aval_of(x)


def is_literal_zero(x) -> bool:
    """Whether x is 0 or 0.0, not -0.0."""
    return x == 0 and math.copysign(1, x) > 0


def fits(x) -> bool:
    """Whether a Python number can be packed: ints within 64 bits."""
    return x.__class__ is float or -2**63 <= x < 2**63


def freeze(x):
    """Lists as tuples, so that a static argument can be a key."""
    return tuple(freeze(y) for y in x) if isinstance(x, (list, tuple)) else x


def lift(x):
    """Python numbers and NumPy arrays as values of the active trace; anything else as it is."""
    if isinstance(x, SCALARS):
        return constant(np.asarray(x, dt.of_scalar(x)))
    if isinstance(x, (np.ndarray, np.generic)):
        return constant(np.array(x))
    return [lift(y) for y in x] if isinstance(x, (list, tuple)) else x
