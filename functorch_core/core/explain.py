"""What every error tells: the call as written, what was expected and came, and what to do next.

One mechanism for functions of arrays, operators, methods, x[index] and transforms: where an error
leaves the library towards the user's code, the call that the user made is put into its message.
Nothing of this costs anything until there is an error.
"""

from __future__ import annotations

import functools
import re
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..annotations import lenient_signature
from .aval import Aval
from .trace import INTERNAL
from .types import Function

MISTAKES = (TypeError, ValueError, IndexError, OverflowError, NotImplementedError, NameError, AttributeError)

THE_CALL = "\n    The call was {call}."
THE_FUNCTION = "\n    The function is {name}{signature}."
EXAMPLE = "\n    A call that works: {example}"

NOT_A_FUNCTION = """a function was expected, got {value!r:.60} ({kind}).
    wrong: fc.grad(f(x))       right: fc.grad(f)(x)
    wrong: fc.cond(p, x, y)    right: fc.cond(p, lambda: x, lambda: y)  or  fc.where(p, x, y)"""

# Where errors come from that are about the call: this library and what it computes with.
OURS = (*INTERNAL, f"{Path(np.__file__).parent}/", "<functorch_core", "<frozen")
LATE = "/opt_einsum/"  # imported where it is first needed
STDLIB, PACKAGES = (f"{sysconfig.get_path('stdlib')}/", "<frozen"), "/site-packages/"
SHOWN: dict[type, Function] = {}  # how other faces' classes are shown in a call


# ---- values in messages --------------------------------------------------------------------------


def shown(x: Any, length: int = 40) -> str:
    """An argument in a message: arrays as float32[3], functions by name, the rest cut."""
    if getattr(x, "aval", None).__class__ is Aval:
        return str(x.aval)
    for cls, show in SHOWN.items():
        if isinstance(x, cls):
            return show(x)
    if isinstance(x, np.ndarray):
        return f"np.{x.dtype.name}[{','.join(map(str, x.shape))}]"
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple) and len(x) < 6:
        inner = ", ".join(map(shown, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' * (len(x) == 1)})"
    if type(x) is dict and len(x) < 6:
        return "{" + ", ".join(f"{k!r}: {shown(v)}" for k, v in x.items()) + "}"
    if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)):
        return f"fc.{np.dtype(x).name}"
    if isinstance(x, slice):
        ends = ("" if v is None else shown(v) for v in (x.start, x.stop))
        return ":".join(ends) + ("" if x.step is None else f":{shown(x.step)}")
    if x is ...:
        return "..."
    if callable(x) and hasattr(x, "__name__"):
        return x.__name__
    text = repr(x)
    return text if len(text) <= length else f"{text[: length - 4]} ..."


def arguments_of(args: Any, kwargs: Any) -> str:
    """What stands between the parentheses of a call."""
    return ", ".join([*map(shown, args), *(f"{k}={shown(v)}" for k, v in kwargs.items())])


# ---- calls as they were written ------------------------------------------------------------------


def as_function(name: str, args: Any, kwargs: Any) -> str:
    """fc.sum(float32[3], axis=3); the name is written with its namespace."""
    return f"{name}({arguments_of(args, kwargs)})"


def as_called(name: str, args: Any, kwargs: Any) -> str:
    """As as_function, of a name that is written as it is."""
    return as_function(name, args, kwargs)


def as_method(name: str, args: Any, kwargs: Any) -> str:
    """float32[3].sum(axis=3)"""
    return f"{shown(args[0])}.{name}({arguments_of(args[1:], kwargs)})"


def as_operator(symbol: str, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> str:
    """float32[3] + float32[2], or -bool[3]"""
    if len(args) == 1:
        return f"{symbol}{shown(args[0])}"
    return f"{shown(args[0])} {symbol} {shown(args[1])}"


def as_index(x: Any, index: Any, after: str = "") -> str:
    """float32[3][5], and what stands behind it."""
    index = ", ".join(map(shown, index)) if isinstance(index, tuple) and index else shown(index)
    return f"{shown(x)}{after}[{index}]"


def name_of(fun: Function) -> str:
    """The name a function is known by in messages and graphs; TypeError if it is none."""
    if not callable(fun):
        raise TypeError(NOT_A_FUNCTION.format(value=fun, kind=type(fun).__name__))
    return getattr(fun, "__name__", None) or type(fun).__name__


# ---- explaining ----------------------------------------------------------------------------------


def explained(error: Exception, write: Callable[[], str], example: str = "", fun: Function | None = None) -> Exception:
    """The error with the call in its message, and an example unless it gives advice itself.

    `fun`: the user's function, whose signature is told in place of an example.

    Of the library's functions that call each other the outermost, which the user called, is shown.
    What came from the user's own code, or from a call in it, stays as it is.
    """
    if (
        getattr(error, "__notes__", None)
        or len(error.args) != 1
        or not isinstance(error.args[0], str)
        or through_user_code(error.__traceback__)
    ):
        return error
    message = getattr(error, "_told", error.args[0])
    error._example = example = example or getattr(error, "_example", "")  # type: ignore[attr-defined]  # ours
    advice = EXAMPLE.format(example=example) if example and "\n" not in message else ""
    if fun is not None and not example and "\n" not in message:
        advice = signature_of(fun)
    error.args = (message + THE_CALL.format(call=write()) + advice,)
    error._told = message  # type: ignore[attr-defined]  # ours
    return error


def signature_of(fun: Function) -> str:
    """What a message says of a function that was called wrongly."""
    try:
        return THE_FUNCTION.format(name=name_of(fun), signature=lenient_signature(fun))
    except (TypeError, ValueError):  # a builtin that does not tell
        return ""


def through_user_code(tb: TracebackType | None) -> bool:
    """Whether some frame below the one that caught the error is not ours."""
    tb = tb.tb_next if tb is not None else None
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if not file.startswith(OURS) and LATE not in file:
            return True
        tb = tb.tb_next
    return False


def is_users(file: str) -> bool:
    """Whether code is neither this library's nor Python's own."""
    return not file.startswith(OURS) and (not file.startswith(STDLIB) or PACKAGES in file)


def example_of(name: str, doc: str | None, space: str = "fc") -> tuple[str, str]:
    """(the name with its namespace, the first call of it) in a docstring's examples."""
    found = re.search(rf"^\s*>>> (.*\b(fc\.(?:\w+\.)*{re.escape(name)})\(.*)$", doc or "", re.M)
    if not found:
        return f"{space}.{name}", ""
    line = found[1].strip()
    return found[2], line if line.count("(") == line.count(")") else ""


def told(
    error: Exception,
    name: str,
    doc: str | None,
    args: tuple[Any, ...],
    kwargs: dict[Any, Any],
    write: Function = as_function,
    space: str = "fc",
) -> Exception:
    """The error of a call of a documented function, method or operator; see explained."""
    full, example = example_of(name, doc, space)
    name = full if write is as_function else name
    return explained(error, lambda: write(name, args, kwargs), example)


def explaining(function: Function, name: str = "", write: Function = as_function, space: str = "fc") -> Function:
    """The function, whose errors tell how it was called; `space` is the namespace it is in."""
    name = name or function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MISTAKES as error:
            if (found := otherwise(call, args, kwargs)) is not None:
                return found
            raise told(error, name, function.__doc__, args, kwargs, write, space)

    return call


def otherwise(call: Function, args: Any, kwargs: Any) -> Any:
    """What a failed call gives by the rule that the class of an argument has for it, `otherwise(call, args, kwargs)`;
    None if there is none. Calls that succeed pay nothing for it."""
    for x in (*args, *kwargs.values()):
        for y in x if isinstance(x, (list, tuple)) else (x,):
            rule = getattr(type(y), "otherwise", None)
            if rule is not None:
                return rule(call, args, kwargs)
    return None


def result_of(transform: Function, fun: Function, **given: Any) -> Function:
    """A decorator of the function that a transform makes of fun, whose errors tell both calls.

    `given` are the transform's other parameters; those with their default value are not shown.
    TypeError unless fun can be called.
    """
    name_of(fun)

    def decorate(wrapped: Function) -> Function:
        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return wrapped(*args, **kwargs)
            except MISTAKES as error:
                raise explained(error, lambda: written(transform, fun, given, args, kwargs), fun=fun)

        return call

    return decorate


def written(transform: Function, fun: Function, given: dict[Any, Any], args: Any, kwargs: Any) -> str:
    """fc.vmap(f, in_axes=1)(float32[3])"""
    parameters = lenient_signature(transform).parameters
    options = {k: v for k, v in given.items() if repr(v) != repr(parameters[k].default)}
    made = as_function(f"fc.{transform.__name__}", (fun,), options)
    return as_function(made, args, kwargs)
