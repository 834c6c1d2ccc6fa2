"""The lock of all that threads share: `with` neither misses it nor keeps it when Ctrl-C comes."""

from __future__ import annotations

import _thread  # threading.RLock() asks which: 0.05 us of a flush
import sys

if sys.version_info < (3, 14):
    RLock = _thread.RLock
else:

    class RLock(_thread.RLock):  # type: ignore[misc]  # it is not final
        """From Python 3.14 on `with` calls `__enter__` as anything else is called: after a function in C Python looks
        for signals, before the block has begun, and the lock stayed taken for good. After one in Python it does not,
        nor after a step of an iterator, by which this one acquires (0.1 us more). `__exit__` stays the one in C."""

        __slots__ = ()

        def __enter__(self) -> bool:  # type: ignore[override]
            [taken] = map(self.acquire, (True,))
            return taken
