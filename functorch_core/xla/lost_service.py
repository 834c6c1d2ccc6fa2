"""What a process does when the runtime's service, which the process of rank 0 runs, has ended.

A thread of jaxlib's then calls the function that was given for this, with an argument that no type of Python stands
for: std::bad_cast. Without a function it is a fatal error. Either way C++ would end the process in the middle of what
it does, before it can say what failed. Here the thread stops instead, for good, with a lock of the client's: from then
on nothing may be asked of that.
"""

from __future__ import annotations

import ctypes
import functools
import signal
import threading
from typing import Any

_HANDLER = ctypes.CFUNCTYPE(None)
FAILED_CONVERSION = b"St8bad_cast"  # the name of std::bad_cast


class _Service:
    is_lost = False


def is_lost() -> bool:
    """Whether the service has ended, so that calls of its client would wait for ever."""
    return _Service.is_lost


@functools.lru_cache(maxsize=1)
def survive() -> Any:
    """Have the thread that cannot tell Python of the end stop, not the process. What has to be kept for it."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        set_terminate, current_type = library._ZSt13set_terminatePFvvE, library.__cxa_current_exception_type
    except (OSError, AttributeError):  # another C++ library than Linux's
        return None
    set_terminate.restype, set_terminate.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    current_type.restype = ctypes.c_void_p
    previous: list[Any] = []

    def terminated() -> None:
        on_its_thread = threading.current_thread() is not threading.main_thread()
        if on_its_thread and _name(current_type()) == FAILED_CONVERSION:
            _Service.is_lost = True
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            while True:
                _libc().pause()  # not time.sleep: a thread must not come back to Python when that has ended
        previous[0]()

    handler = _HANDLER(terminated)
    previous.append(_HANDLER(set_terminate(ctypes.cast(handler, ctypes.c_void_p))))
    return handler


@functools.lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _name(type_info: int | None) -> bytes:
    """The name in a std::type_info: its second word, after the table of functions."""
    if not type_info:
        return b""
    return ctypes.cast(type_info, ctypes.POINTER(ctypes.c_char_p))[1] or b""
