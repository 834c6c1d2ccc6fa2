"""What every error of an array function tells: the call, and a call that works."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np

from ..core.trace import Traced
from ..engine import Value
from .array import Array

MISTAKES = (TypeError, ValueError, IndexError, OverflowError, NotImplementedError)

THE_CALL = "\n    The call was {name}({arguments})."
EXAMPLE = "\n    A call that works: {example}"


def shown(x, length: int = 40) -> str:
    """An argument in a message: arrays as float32[3], the rest as Python writes it, cut."""
    if isinstance(x, (Array, Value, Traced)):
        return str(x.aval)
    if isinstance(x, np.ndarray):
        return f"np.{x.dtype.name}[{','.join(map(str, x.shape))}]"
    if isinstance(x, (list, tuple)) and len(x) < 6:
        inner = ", ".join(map(shown, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' * (len(x) == 1)})"
    if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)):
        return f"fc.{np.dtype(x).name}"
    text = repr(x)
    return text if len(text) <= length else f"{text[:length - 4]} ..."


def explained(error: Exception, name: str, doc: str | None, args: tuple, kwargs: dict) -> Exception:
    """The error with the call in its message, and an example unless it gives advice itself.

    Of functions that call each other the outermost, which the user called, is shown.
    """
    if (getattr(error, "__notes__", None) or len(error.args) != 1
            or not isinstance(error.args[0], str)):
        return error
    message = getattr(error, "_told", error.args[0])
    arguments = ", ".join([*map(shown, args), *(f"{k}={shown(v)}" for k, v in kwargs.items())])
    name, example = example_of(name, doc)
    advice = EXAMPLE.format(example=example) if example and "\n" not in message else ""
    error.args = (message + THE_CALL.format(name=name, arguments=arguments) + advice,)
    error._told = message
    return error


def example_of(name: str, doc: str | None) -> tuple[str, str]:
    """(the name with its namespace, the first call of it) in a docstring's examples."""
    found = re.search(rf"^\s*>>> (.*\b(fc\.(?:\w+\.)*{re.escape(name)})\(.*)$", doc or "", re.M)
    if not found:
        return f"fc.{name}", ""
    line = found[1].strip()
    return found[2], line if line.count("(") == line.count(")") else ""


def explaining(function: Callable, name: str = "") -> Callable:
    """The function, whose errors tell how it was called."""
    name = name or function.__name__

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except MISTAKES as error:
            raise explained(error, name, function.__doc__, args, kwargs)
    return call
