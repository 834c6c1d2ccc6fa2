"""Functions of Arrays that are one operation: written with other functions, traced once for each signature.

    @composed("y x", space="fc.numpy")
    def trapezoid(y, x=None, dx=1.0, axis=-1): ...

The parameters named in front are arrays, numbers, None, or sequences of them; the others are static.
The namespaces of JAX's names (functorch_core.numpy, .lax, .scipy, ...) are written in this way: a
call records one unit, however many operations the function calls, and inside a trace it simply runs.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence

from ..core import dtypes as dt
from ..core.explain import MISTAKES, as_function, otherwise, told
from ..core.trace import Traced, state
from ..engine import Value, record
from ..ops.op import Op
from ..ops.promotion import cast, result_dtype
from ..ops.signature import Weak
from .array import Array, as_value, wrap
from .expose import operand, wrap_result

VALUES = (Value, Traced, Weak)
NO_NAME = """{module} has no {name!r}. {advice}"""
NEAR = "It has {near}."


def composed(arrays: str, *, space: str, inexact: bool = False) -> Callable[[Callable], Callable]:
    """A decorator: the function becomes one operation of the parameters named in `arrays`.

    arrays: "x y"; "xs[]" is a sequence of arrays.
    inexact: these come as Arrays of one floating (or complex) dtype, what they promote to.
    space: the namespace that errors name it with.
    """

    def decorate(fun: Callable) -> Callable:
        return _composed(fun, tuple(arrays.split()), space, inexact)

    return decorate


def _composed(fun: Callable, names: tuple[str, ...], space: str, inexact: bool) -> Callable:
    signature = inspect.signature(fun)
    bind = _binder(signature)

    sequences = {name[:-2] for name in names if name.endswith("[]")}
    sequences |= {p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL}
    names = tuple(name.removesuffix("[]") for name in names)

    def body(*values, **static):
        given = dict(zip(names, map(_wrapped, values)))
        return _unwrapped(_called(fun, signature, {**(_promoted(given) if inexact else given), **static}))

    operation = Op(body, scalars=True, name=fun.__name__)

    @functools.wraps(fun)
    def call(*args, **kwargs):
        try:
            bound = bind(args, kwargs)
            values = [(_operands if n in sequences else operand)(bound.pop(n), fun.__name__) for n in names]
            if state.builder is not None:
                return wrap_result(operation.inline(values, bound))
            unit, operands = operation.resolve(values, bound)
        except MISTAKES as error:
            if (found := otherwise(call, args, kwargs)) is not None:
                return found
            raise told(error, fun.__name__, fun.__doc__, args, kwargs, as_function, space)
        return wrap_result(record(unit, operands))

    return call


def _binder(signature: inspect.Signature) -> Callable:
    """(args, kwargs) -> all arguments by name, with defaults; of wrong ones Python's TypeError."""
    parameters = list(signature.parameters.values())
    variadic = any(p.kind is p.VAR_POSITIONAL or p.kind is p.VAR_KEYWORD for p in parameters)
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    only = {p.name for p in parameters if p.kind is p.POSITIONAL_ONLY}
    defaults = {p.name: p.default for p in parameters}

    def bind(args: tuple, kwargs: dict) -> dict:
        n = len(args)
        if variadic or n > len(positional) or (kwargs and not _fits(kwargs, n)):
            return _bound(signature, args, kwargs)
        found = {**defaults, **dict(zip(positional, args)), **kwargs}
        if n < len(positional) and inspect.Parameter.empty in map(type_or_value, found.values()):
            return _bound(signature, args, kwargs)
        return found

    def _fits(kwargs: dict, n: int) -> bool:
        return kwargs.keys() <= defaults.keys() and not kwargs.keys() & ({*positional[:n]} | only)

    return bind


def type_or_value(x):
    """x if it is a class (that of parameters without default), so that arrays are not compared."""
    return x if isinstance(x, type) else None


def _bound(signature: inspect.Signature, args: tuple, kwargs: dict) -> dict:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{error}; the parameters are {signature}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _called(fun: Callable, signature: inspect.Signature, given: dict):
    """fun with all its arguments, given by name."""
    positional: list = []
    keywords = {}
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            keywords[p.name] = given[p.name]
        elif p.kind is p.VAR_POSITIONAL:
            positional += given[p.name]
        else:
            positional.append(given[p.name])
    return fun(*positional, **keywords)


def _operands(x, name: str):
    """What an operation gets for a sequence of arrays (also a nested one, or one array)."""
    return [_operands(y, name) for y in x] if isinstance(x, (list, tuple)) else operand(x, name)


def _wrapped(x):
    """A value as an Array; numbers and None as they are; sequences as lists."""
    if isinstance(x, VALUES):
        return wrap(x)
    return [_wrapped(y) for y in x] if isinstance(x, (list, tuple)) else x


def _unwrapped(out):
    """Arrays (and numbers) as values, tuples of them as lists."""
    if isinstance(out, (list, tuple)):
        return [_unwrapped(x) for x in out]
    return as_value(out)


def _promoted(given: dict) -> dict:
    """The arguments as Arrays of the floating dtype that they promote to."""
    arrays = {name: x for name, x in given.items() if x is not None}
    return {**given, **dict(zip(arrays, promoted(*arrays.values())))}


def promoted(*arrays) -> list[Array]:
    """Arrays and numbers as Arrays of one floating or complex dtype; shapes stay.

    >>> import functorch_core as fc
    >>> from functorch_core.array.compose import promoted
    >>> promoted(fc.asarray([1, 2]), 0.5)
    [Array([1., 2.], dtype=float32), Array(0.5, dtype=float32)]
    """
    values = [operand(x, "the operation") for x in arrays]
    dtype = result_dtype(values)
    if dtype not in dt.INEXACT:
        dtype = dt.DEFAULT_FLOAT
    return [wrap(as_value(cast(v, dtype))) for v in values]


def with_signature(function: Callable, signature: str, **renamed: str) -> Callable:
    """A function of the library under the signature that JAX gives it: with_signature(fc.flip, "m, axis=None").

    Its positional-only parameters are the first of the signature, in their order; the others have
    their names, but for `renamed` (new="old"). Documentation and errors are the function's own.
    """
    new = inspect.signature(eval(f"lambda {signature}: None"))
    bind = _binder(new)
    theirs = inspect.signature(function).parameters.values()
    count = sum(p.kind is p.POSITIONAL_ONLY for p in theirs) or sum(p.default is p.empty for p in theirs)
    arrays = list(new.parameters)[:count]
    others = [(name, renamed.get(name, name)) for name in list(new.parameters)[count:]]

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            if not kwargs and len(args) == count and plain:
                return function(*args)
            bound = bind(args, kwargs)
            return function(*[bound[name] for name in arrays], **{old: bound[name] for name, old in others})
        except MISTAKES:
            if (found := otherwise(call, args, kwargs)) is not None:
                return found
            raise

    defaults = {p.name: p.default for p in theirs}
    plain = all(new.parameters[n].default == defaults.get(old) for n, old in others)
    call.__signature__ = new
    return call


def of_arrays(primitive: Callable) -> Callable:
    """A primitive (or a kernel) as a function of Arrays, to be called in composed functions."""

    def call(*arrays, **params):
        return wrap_result(primitive(*map(as_value, arrays), **params))

    return call


def as_dtype(x, dtype) -> Array:
    """An array or a number as an Array of a dtype; of a Python number no digit is lost.

    >>> import functorch_core as fc
    >>> from functorch_core.array.compose import as_dtype
    >>> as_dtype(0.1, fc.float64)
    Array(0.1, dtype=float64)
    """
    return wrap(as_value(cast(operand(x, "the operation"), dt.canonical(dtype))))


# ---- modules of names ----------------------------------------------------------------------------


def missing_name(module: str, instead: dict[str, str], near: Sequence[str] = ()) -> Callable:
    """The __getattr__ of a namespace: a name that JAX or NumPy has says what to use instead.

    `instead`: advice by name ("a b": the same for several).
    """
    advice = {name: text for names, text in instead.items() for name in names.split()}

    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        found = advice.get(name) or _similar(module, name)
        raise AttributeError(NO_NAME.format(module=f"functorch_core.{module}", name=name, advice=found).rstrip())

    return __getattr__


def _similar(module: str, name: str) -> str:
    import difflib  # when there is an error

    names = dir(importlib.import_module(f"functorch_core.{module}"))
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 3)
    return NEAR.format(near=", ".join(near)) if near else ""
