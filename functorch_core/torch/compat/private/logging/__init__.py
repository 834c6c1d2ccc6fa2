"""torch._logging: PyTorch's switches for what its compiler logs. Nothing is compiled as there: they have no effect."""

from __future__ import annotations

import functools as _functools
import logging as _logging

from .... import _missing

__all__ = ["LazyString", "getArtifactLogger", "set_logs", "trace_structured", "warning_once"]


class LazyString:
    """Text that is made when it is written."""

    def __init__(self, func, *args, **kwargs):
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self):
        return self.func(*self.args, **self.kwargs)


def getArtifactLogger(module_qname: str, artifact_name: str) -> _logging.Logger:
    """The logger of one kind of message of a module."""
    return _logging.getLogger(f"{module_qname}.__{artifact_name}")


def set_logs(**levels):
    """Levels of parts of PyTorch's compiler: no effect."""


def trace_structured(name: str, *args, **kwargs):
    """A record of a compilation: no effect."""


@_functools.cache
def warning_once(logger_obj: _logging.Logger, *args, **kwargs):
    """logger_obj.warning(...), the first time."""
    logger_obj.warning(*args, **kwargs)


__getattr__ = _missing.getter(__name__, ("scribe",))
