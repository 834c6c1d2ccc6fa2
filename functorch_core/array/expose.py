"""From operations of values to functions of Arrays: unwrap, call, wrap."""
from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..core import dtypes as dt
from ..core.trace import Traced, state
from ..engine import Value, from_numpy, record
from ..ops.op import Op
from .array import Array, _new, wrap

NOT_AN_OPERAND = """{name} takes arrays and numbers, got {kind}: {value!r:.60}
    Convert it first: fc.asarray(...)."""
DOES_NOT_FIT = """{name}: the Python integer {value} does not fit {dtype}, the dtype of the array it meets.
    Convert the array to a wider dtype first: x.astype(fc.int64)."""

PLAIN = (float, int, bool, complex, str, type(None), Value, Traced)


def operand(x, name: str):
    """What an operation gets for an argument: a value, a number, None, or a sequence of them."""
    cls = x.__class__
    if cls is Array:
        return x._value
    if cls in PLAIN:
        return x
    if isinstance(x, (float, complex)):  # np.float64 is a Python float, and as weak as one
        return float(x) if isinstance(x, float) else complex(x)
    if isinstance(x, (np.ndarray, np.generic)):
        dt.canonical(x.dtype)
        return from_numpy(np.array(x))
    if isinstance(x, int):
        return int(x)
    if isinstance(x, (list, tuple)):
        return [operand(y, name) for y in x]
    raise TypeError(NOT_AN_OPERAND.format(name=name, kind=cls.__name__, value=x))


def check_integers(name: str, args):
    """OverflowError for a Python integer that the integer array it meets cannot hold."""
    dtypes = [x.aval.dtype for x in args if x.__class__ is Value or x.__class__ is Traced]
    if not dtypes:
        return
    dtype = functools.reduce(dt.promote, dtypes)
    if dtype not in dt.INTEGER:
        return
    info = np.iinfo(dtype)
    for x in args:
        if x.__class__ is int and not info.min <= x <= info.max:
            raise OverflowError(DOES_NOT_FIT.format(name=name, value=x, dtype=dtype.name))


def wrap_result(out):
    """Values in tuples and named tuples as Arrays; lists as tuples."""
    if out.__class__ is Value or out.__class__ is Traced:
        return wrap(out)
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*map(wrap_result, out))
    return tuple(map(wrap_result, out)) if isinstance(out, (list, tuple)) else out


def public(operation: Op | Callable) -> Callable:
    """The function of Arrays of an operation, or of a plain function, of values."""
    return _public_op(operation) if isinstance(operation, Op) else _public_function(operation)


def _public_op(operation: Op) -> Callable:
    name, scalars = operation.name, operation.scalars

    @functools.wraps(operation.fun)
    def call(*args, **static):
        args, static = operation.bind(args, static)
        args = [a._value if a.__class__ is Array else operand(a, name) for a in args]
        if scalars:
            for a in args:
                if a.__class__ is int and not 0 <= a < 128:
                    check_integers(name, args)
        if state.builder is not None:
            return wrap_result(operation.inline(args, static))
        out = record(*operation.resolve(args, static))
        if out.__class__ is list:
            return tuple([wrap(v) for v in out])
        return wrap(out)
    call.__module__ = "functorch_core"
    return call


def _public_function(function: Callable) -> Callable:
    name = function.__name__

    @functools.wraps(function)
    def call(*args, **kwargs):
        args = [operand(a, name) for a in args]
        kwargs = {k: v._value if v.__class__ is Array else v for k, v in kwargs.items()}
        return wrap_result(function(*args, **kwargs))
    call.__module__ = "functorch_core"
    return call


# ---- operators -----------------------------------------------------------------------------------
# The hot path: a + b of two concrete arrays is a dictionary look-up and engine.record.


def binary_operator(operation: Op | Callable, literals: frozenset) -> Callable:
    """The method of a binary operator: self, other -> Array, or NotImplemented."""
    function = public(operation)
    units: dict[tuple, object] = {}

    def method(self, other):
        x, cls = self._value, other.__class__
        if cls is Array:
            y = other._value
            if x.__class__ is Value and y.__class__ is Value and state.builder is None:
                unit = units.get((x.aval.id, y.aval.id))
                if unit is None:
                    return first_call(self, other)
                out = _new(Array)
                out._value = record(unit, (x, y))
                return out
            return function(self, other)
        if cls is float or cls is int:
            if x.__class__ is Value and state.builder is None:
                if other in literals:
                    unit, operands = units.get((x.aval.id, cls, other)), (x,)
                elif other:
                    unit, operands = units.get((x.aval.id, cls)), (x, other)
                else:
                    return function(self, other)
                if unit is None or cls is int and not -2**63 <= other < 2**63:
                    return first_call(self, other)
                out = _new(Array)
                out._value = record(unit, operands)
                return out
            return function(self, other)
        return function(self, other) if is_operand(other) else NotImplemented

    def first_call(self, other):
        """Remember the unit; not where each call is to be checked."""
        out = function(self, other)
        if isinstance(operation, Op):
            remember(operation, units, self._value, other, literals)
        return out
    return _named(method, operation)


def remember(operation: Op, units: dict, x: Value, other, literals: frozenset):
    """Keep the unit of a call by what the hot path can look up."""
    y = other._value if other.__class__ is Array else other
    unit, operands = operation.resolve([x, y], {})
    if y.__class__ is Value:
        units[x.aval.id, y.aval.id] = unit
    elif y in literals:
        if len(operands) == 1:
            units[x.aval.id, y.__class__, y] = unit
    elif len(operands) == 2 and (y.__class__ is float or x.aval.dtype not in dt.INTEGER
                                 or x.aval.dtype == dt.int64):
        units[x.aval.id, y.__class__] = unit


def reflected_operator(operation: Op | Callable) -> Callable:
    """The method of a reflected binary operator: other op self."""
    function = public(operation)

    def method(self, other):
        return function(other, self) if is_operand(other) else NotImplemented
    return _named(method, operation)


def unary_operator(operation: Op) -> Callable:
    """The method of a unary operator."""
    function = public(operation)

    def method(self):
        return function(self)
    return _named(method, operation)


def is_operand(x) -> bool:
    """Whether an operator of Arrays takes x."""
    return isinstance(x, (Array, bool, int, float, complex, np.ndarray, np.generic))


def _named(method, operation):
    name = operation.name if isinstance(operation, Op) else operation.__name__
    method.__name__, method.__doc__ = name, f"See fc.{name}."
    return method


__all__ = ["binary_operator", "operand", "public", "reflected_operator", "unary_operator",
           "wrap_result"]
