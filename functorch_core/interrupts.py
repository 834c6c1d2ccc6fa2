"""Telling an interrupt from a mistake.

A signal's handler runs between any two instructions of Python, and what it raises is raised there: where a call that
was seen before is tried, and would be made in another way if that failed, or in the midst of a computation. A mistake
is said by the other way, and leaves results that cannot be read; what was interrupted can be taken up again, and an
interrupt that is taken for a mistake is lost.
"""

from __future__ import annotations

import signal
from types import CodeType
from typing import Any


def is_interrupt(error: BaseException) -> bool:
    """Whether nothing has failed: the error is no Exception (Ctrl-C), or a signal's handler has raised it.

    >>> from functorch_core.interrupts import is_interrupt
    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(ValueError("wrong"))
    (True, False)
    """
    if not isinstance(error, Exception):
        return True
    trace, handlers = error.__traceback__, _handlers()
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def _handlers() -> set[CodeType | None]:
    """The code of all handlers of signals that are written in Python."""
    found = map(signal.getsignal, signal.valid_signals())
    return {_code_of(handler) for handler in found if callable(handler)} - {None}


def _code_of(handler: Any) -> CodeType | None:
    handler = getattr(handler, "func", handler)  # of a functools.partial
    handler = getattr(handler, "__func__", handler)  # of a method
    code = getattr(handler if hasattr(handler, "__code__") else type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
