"""torch.distributed.rpc.functions: functions whose result comes later."""

from __future__ import annotations

import functools
from collections.abc import Callable

from .... import _missing


def async_execution(fn: Callable) -> Callable:
    """Let a function that is called by other workers give a Future: its result goes back when it is there, and the
    thread that ran the function takes the next call.

    >>> @torch.distributed.rpc.functions.async_execution
    ... def later():
    ...   return torch.futures.Future()
    >>> later().done()
    False
    """

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper._gives_future = True
    return wrapper


__getattr__ = _missing.getter(__name__)
