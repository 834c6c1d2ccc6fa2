"""From operations of values to functions of Arrays: unwrap, call, wrap."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.explain import MISTAKES, as_function, as_method, as_operator, otherwise, told
from ..core.trace import Traced, open_traces, state
from ..core.tree import boxes, content
from ..engine import Unit, Value, from_numpy, record
from ..engine.signatures import bounded, itself
from ..engine.written_out import record_pair_off_tape
from ..ops.op import Op, strong
from ..ops.places import declared_in
from ..ops.signature import Weak, fits
from .array import Array, _new, wrap

LIST_OPERAND = """{call}: unsupported operand: arrays and numbers are operands, a {kind} is none
    Convert it first: fc.asarray({other!r:.60})."""
NOT_AN_OPERAND = """{name} takes arrays and numbers, got {kind}: {value!r:.60}
    Convert it first: fc.asarray(...)."""
DOES_NOT_FIT = """{name}: the Python integer {value} does not fit {dtype}, the array's dtype.
    Convert the array to a wider dtype first: x.astype(fc.int64)."""

TWICE = "{name}() got multiple values for argument {argument!r}"
NOT_A_SEQUENCE = """{name} takes a sequence of arrays, got {kind}: {name}([x, y, ...])"""

# Parameters that are arrays, and that are sequences of them; all others are static.
ARRAYS = frozenset({"x", "x1", "x2", "indices", "key", "logits"})
SEQUENCES = frozenset({"arrays", "start_indices"})
PLAIN = (float, int, bool, complex, str, type(None), Value, Traced)


def operand(x, name: str):
    """What an operation gets for an array argument: a value, a number or None."""
    cls = x.__class__
    if cls is Array:
        try:
            return x._held
        except AttributeError:  # a buffer so far
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
    if cls in boxes:
        return operand(content(x), name)
    raise TypeError(getattr(cls, "not_an_operand", NOT_AN_OPERAND).format(name=name, kind=cls.__name__, value=x))


def operands(sequence, name: str):
    """What an operation gets for a sequence of arrays; an Array is a sequence of its parts."""
    if sequence.__class__ is Array and sequence.ndim:
        return [x._value for x in sequence]
    if not isinstance(sequence, (list, tuple)):
        raise TypeError(NOT_A_SEQUENCE.format(name=name, kind=type(sequence).__name__))
    return [operand(x, name) for x in sequence]


def has_narrow(args) -> bool:
    """Whether an array among them has less than a byte an element."""
    return any([x.aval.dtype in dt.SUB_BYTE for x in args if x.__class__ is Value or x.__class__ is Traced])


def check_integers(name: str, args):
    """OverflowError for a Python integer that the integer array it meets cannot hold."""
    dtypes = [x.aval.dtype for x in args if x.__class__ is Value or x.__class__ is Traced]
    if not dtypes:
        return
    dtype = functools.reduce(dt.promote, dtypes)
    if dtype not in dt.INTEGER:
        return
    info = dt.iinfo(dtype)
    for x in args:
        if x.__class__ is int and not info.min <= x <= info.max:
            raise OverflowError(DOES_NOT_FIT.format(name=name, value=x, dtype=dtype.name))


def wrap_result(out):
    """Values in tuples and named tuples as Arrays; lists as tuples."""
    if out.__class__ is Value or out.__class__ is Traced or out.__class__ is Weak:
        return wrap(out)
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*map(wrap_result, out))
    return tuple(map(wrap_result, out)) if isinstance(out, (list, tuple)) else out


def placed(space: str) -> dict[str, Callable]:
    """The functions of Arrays of the operations that are declared for a namespace, by their names in it."""
    return {name: public(operation) for name, operation in declared_in(space).items()}


@functools.cache
def public(operation: Op | Callable, name: str = "", write: Callable = as_function) -> Callable:
    """The function of Arrays of an operation, or of a plain function, of values.

    `name` and `write`: what its errors call it, see explain.
    """
    make = _public_op if isinstance(operation, Op) else _public_function
    call = make(operation, name, write)
    call.__module__ = "functorch_core"
    return call


def signature_of(own: inspect.Signature, names: tuple[str, ...]) -> tuple[inspect.Signature, dict[str, int]]:
    """(the public signature of an operation, the place of each array that may come by name)."""
    if not names:
        return own, {}
    parameters = list(own.parameters.values())
    for i, name in enumerate(names):
        parameters[i] = parameters[i].replace(name=name, kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature(parameters), {name: i for i, name in enumerate(names)}


def by_position(name: str, places: dict[str, int], given: tuple, keywords: dict) -> tuple[tuple, dict]:
    """A call whose arrays came by name, as one in which they come by position."""
    given, keywords = list(given), dict(keywords)
    for argument, place in places.items():
        if argument not in keywords:
            continue
        if place < len(given):
            raise TypeError(TWICE.format(name=name, argument=argument))
        if place == len(given):
            given.append(keywords.pop(argument))
    return tuple(given), keywords


def _public_op(operation: Op, called: str, write: Callable) -> Callable:
    name, scalars = operation.name, operation.scalars
    sequences = {
        i
        for i, p in enumerate(operation.__signature__.parameters.values())
        if p.name in SEQUENCES and p.kind is p.POSITIONAL_ONLY
    }
    signature, places = signature_of(operation.__signature__, operation.by_name)

    @functools.wraps(operation.fun)
    def call(*given, **keywords):
        try:
            if keywords and places:
                given, keywords = by_position(name, places, given, keywords)
            args, static = operation.bind(given, keywords)
            if sequences:
                args = [operands(a, name) if i in sequences else operand(a, name) for i, a in enumerate(args)]
            else:
                try:
                    args = [a._held if a.__class__ is Array else operand(a, name) for a in args]
                except AttributeError:
                    args = [operand(a, name) for a in args]
            if scalars:
                for a in args:
                    if a.__class__ is int and not 0 <= a < 2 and (not 0 <= a < 128 or has_narrow(args)):
                        check_integers(name, args)
            if state.builder is not None:
                return wrap_result(operation.inline(args, static))
            unit, args = operation.resolve(args, static)
        except MISTAKES as error:
            if keywords.get("out", call) is None:  # np.sum(x) calls x.sum(axis=None, out=None)
                return call(*given, **{k: v for k, v in keywords.items() if k != "out"})
            if write is as_method and (theirs := _as_numpy(name, signature, given, keywords)):
                return theirs(*given, **keywords)
            if (found := otherwise(call, given, keywords)) is not None:
                return found
            raise told(error, called or name, call.__doc__, given, keywords, write)
        out = record(unit, args, off_tape=True)
        if out.__class__ is list:
            return tuple([wrap(v) for v in out])
        return wrap(out)

    call.__signature__ = signature
    return call


def _as_numpy(name: str, signature: inspect.Signature, given: tuple, keywords: dict) -> Callable | None:
    """The function of fc.numpy for a method's call that only its signature fits: x.sum(where=mask), x.std(ddof=1)."""
    if _binds(signature, given, keywords):
        return None
    function = getattr(importlib.import_module("functorch_core.numpy"), name, None)
    return function if function and _binds(inspect.signature(function), given, keywords) else None


def _binds(signature: inspect.Signature, given: tuple, keywords: dict) -> bool:
    try:
        signature.bind(*given, **keywords)
    except TypeError:
        return False
    return True


def _public_function(function: Callable, called: str, write: Callable) -> Callable:
    name = function.__name__
    own = inspect.signature(function)
    parameters = own.parameters.values()
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    arrays = [p.name in ARRAYS for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    signature, places = signature_of(own, function.by_name)

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            if kwargs and places:
                args, kwargs = by_position(name, places, args, kwargs)
            values = [strong(operand(a, name)) if is_array else _value_of(a) for a, is_array in zip(args, arrays)]
            values += [strong(operand(a, name)) if variadic else a for a in args[len(arrays) :]]
            return wrap_result(function(*values, **{k: _value_of(v) for k, v in kwargs.items()}))
        except MISTAKES as error:
            if (found := otherwise(call, args, kwargs)) is not None:
                return found
            raise told(error, called or name, call.__doc__, args, kwargs, write)

    call.__signature__ = signature
    return call


def _value_of(x):
    """The value of an Array among static arguments; anything else as it is."""
    return strong(x._value) if x.__class__ is Array else x


# ---- operators -----------------------------------------------------------------------------------
# The hot path: a + b of two concrete arrays is a dictionary look-up and engine.record_pair_off_tape. A number
# is part of the key where it is part of the graph (x ** 2, x * -1), and a packed input otherwise.


def binary_operator(operation: Op, symbol: str, reflected: bool = False) -> Callable:
    """The method of a binary operator: self, other -> Array, or NotImplemented."""
    function = public(operation, symbol, as_operator)
    units: dict[tuple, Unit] = bounded({}, itself)

    def method(self, other):
        try:
            x = self._held
        except AttributeError:  # a buffer so far
            x = self._value
        if x.__class__ is not Value or open_traces and state.builder is not None:
            return call(self, other)
        cls = other.__class__
        if cls is Array:
            try:
                y = other._held
            except AttributeError:
                y = other._value
            unit = units.get((self.aval, other.aval))
            if unit is None or y.__class__ is not Value:
                return call(self, other)
            value = record_pair_off_tape(unit, x, y)
        elif cls is float or cls is int:
            unit, operands = units.get((self.aval, cls, other)), (x,)
            if unit is None:
                unit = units.get((self.aval, cls))
                operands = (other, x) if reflected else (x, other)
                if unit is None:
                    out = call(self, other)
                    remember_number(operation, units, x, operands, other)
                    return out
            value = record(unit, operands, off_tape=True)
        else:
            return call(self, other)
        out = _new(Array)
        out.aval, out._held = unit.out_aval, value
        return out

    def call(self, other):
        if not is_operand(other):
            if other.__class__ is list or other.__class__ is tuple:
                parts = [f"{other!r:.60}", str(self.aval)] if reflected else [str(self.aval), f"{other!r:.60}"]
                text = f" {symbol} ".join(parts)
                raise TypeError(LIST_OPERAND.format(call=text, other=other, kind=type(other).__name__))
            return NotImplemented
        out = function(other, self) if reflected else function(self, other)
        if other.__class__ is Array and state.builder is None and not reflected:
            x, y = self._value, other._value
            if x.__class__ is Value and y.__class__ is Value:
                units[x.aval, y.aval] = operation.resolve((x, y), {})[0]
        return out

    return _named(method, operation)


def remember_number(operation: Op, units: dict, x: Value, operands: tuple, other: int | float):
    """Keep the unit of a call with a number by what the hot path looks up, if that decides it."""
    if other.__class__ is int and (not fits(other) or x.aval.dtype in dt.INTEGER - {dt.int64}):
        return  # each is checked
    unit, found = operation.resolve(operands, {})
    if len(found) == 2:
        units[x.aval, other.__class__] = unit
    elif other or other.__class__ is int:  # 0.0 and -0.0 are one key
        units[x.aval, other.__class__, other] = unit


def unary_operator(operation: Op, symbol: str) -> Callable:
    """The method of a unary operator."""
    function = public(operation, symbol, as_operator)
    units: dict[Aval, Unit] = bounded({}, itself)

    def method(self):
        try:
            x = self._held
        except AttributeError:
            x = self._value
        unit = units.get(self.aval)
        if unit is None or x.__class__ is not Value or open_traces and state.builder is not None:
            out = function(self)
            if x.__class__ is Value:
                units[self.aval] = operation.resolve((x,), {})[0]
            return out
        return wrap(record(unit, (x,), off_tape=True))

    return _named(method, operation)


def is_operand(x) -> bool:
    """Whether an operator of Arrays takes x."""
    return x.__class__ is Array or isinstance(x, (bool, int, float, complex, np.ndarray, np.generic))


def _named(method, operation: Op):
    method.__name__, method.__doc__ = operation.name, f"See fc.{operation.name}."
    return method
