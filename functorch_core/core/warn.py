"""Warnings that name the user's line, however deep in this library they are given."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from .explain import is_users


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """warnings.warn at the innermost line that is the user's. (Python 3.11 can only count frames, of
    which there are more or fewer between as a function is called through a module, a method or an op.)"""
    caller = sys._getframe(1)
    frame: FrameType | None = caller
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    names, line = (frame or caller).f_globals, (frame or caller).f_lineno
    file, registry = (frame or caller).f_code.co_filename, names.setdefault("__warningregistry__", {})
    module = names.get("__name__") or "<string>"  # code run by exec or eval has none; with None nothing is said
    warnings.warn_explicit(message, category, file, line, module, registry)


class _Once:
    """What warn_once has said; with `always` it says it each time."""

    def __init__(self) -> None:
        self.said: set[str] = set()
        self.always = False


once = _Once()


def warn_once(message: str, category: type[Warning] = UserWarning, key: str | None = None) -> None:
    """warn, in a process the first time only; of messages with one `key` the first one."""
    if once.always or (key or message) not in once.said:
        once.said.add(key or message)
        warn(message, category)
