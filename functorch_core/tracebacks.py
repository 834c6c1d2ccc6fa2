"""Tracebacks that end at the user's line: this library's frames are not shown.

FUNCTORCH_TRACEBACK=1 in the environment shows them all.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

from .core.trace import INTERNAL

OURS = (*INTERNAL, "<functorch_core")  # the latter are functions that are written at run time
NOTE = "(frames of functorch_core are hidden; FUNCTORCH_TRACEBACK=1 shows them)"
_previous = None


def filtered(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without this library's frames; all of it, if nothing else would remain."""
    frames = []
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    kept = [f for f in frames if not f.tb_frame.f_code.co_filename.startswith(OURS)]
    out = None
    for f in reversed(kept or frames):
        out = TracebackType(out, f.tb_frame, f.tb_lasti, f.tb_lineno)
    return out


def hide(error: BaseException) -> BaseException:
    """The error, and what caused it, with filtered tracebacks and a note that says so."""
    seen = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        before = current.__traceback__
        after = filtered(before)
        if _length(after) != _length(before):
            current.__traceback__ = after
            if NOTE not in getattr(current, "__notes__", ()):
                current.add_note(NOTE)
        current = current.__cause__ or current.__context__
    return error


def _length(tb: TracebackType | None) -> int:
    n = 0
    while tb is not None:
        n, tb = n + 1, tb.tb_next
    return n


def _hook(kind, error, tb):
    error.__traceback__ = tb
    hide(error)
    _previous(kind, error, error.__traceback__)


def _in_notebook(shell, kind, error, tb, tb_offset=None):
    hide(error)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)


def install():
    """Filter what Python, or IPython where it runs, prints for an uncaught exception."""
    global _previous
    if _previous is not None or os.environ.get("FUNCTORCH_TRACEBACK"):
        return
    _previous, sys.excepthook = sys.excepthook, _hook
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _in_notebook)
