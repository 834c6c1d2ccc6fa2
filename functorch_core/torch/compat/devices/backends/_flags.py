"""Flags that are kept and change nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable


class Flags:
    """An object of flags; unknown ones are AttributeErrors."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise AttributeError(f"unknown flag {name!r}; there are {', '.join(self.__dict__)}")
        self.__dict__[name] = value


def context_of(namespace: dict, names: str) -> Callable:
    """A context manager `flags(**values)` for the flags of a module."""

    @contextlib.contextmanager
    def flags(*args, **values):
        """Context: other values for the module's flags, which come back at its end.

        >>> with torch.backends.cudnn.flags(enabled=False):
        ...   torch.backends.cudnn.enabled
        False
        """
        values = {**dict(zip(names.split(), args)), **values}
        saved = {name: namespace[name] for name in values if name in namespace}
        namespace.update({name: values[name] for name in saved})
        try:
            yield
        finally:
            namespace.update(saved)

    return flags


def answer(value, doc: str, name: str) -> Callable:
    """A function without parameters that returns a value; `name` is its own in torch.backends."""

    def function():
        return value

    shown = "" if value is None else f"\n    {value}"
    function.__doc__ = f"{doc}\n\n    >>> torch.backends.{name}(){shown}\n    "
    return function
