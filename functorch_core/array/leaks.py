"""Traced values that outlive their trace, found when it ends; see fc.checking_leaks."""

from __future__ import annotations

import gc
from collections.abc import Callable

from ..core.errors import LeakError
from ..core.trace import Traced, leaked

checked = False


def _dead() -> list[Traced]:
    """The values of traces that have ended."""
    return [x for x in gc.get_objects() if type(x) is Traced and not x.builder.open]


def watching(trace: Callable, *args):
    """trace(*args); LeakError if a value of a trace that ended meanwhile is still held by something."""
    gc.collect()
    before = set(map(id, _dead()))
    result = trace(*args)
    gc.collect()
    for x in _dead():
        if id(x) not in before:
            error: LeakError = leaked(x)
            raise error
    return result
