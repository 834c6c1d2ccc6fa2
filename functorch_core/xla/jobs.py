"""Work on other threads, which an interrupt of those who wait for it cannot harm.

A signal's handler (Ctrl-C) runs on the main thread, between any two lines of Python. In the middle of
`Future` or `ThreadPoolExecutor` it leaves locks held or a worker that nobody will stop, so that the
program hangs at its end; these here are one lock, whose calls are C's.
"""

from __future__ import annotations

import _thread
import atexit
import os
from collections.abc import Callable
from typing import Any


class Job:
    """function(*args), on a thread of its own."""

    __slots__ = ("_ended", "_outcome")

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self._ended = _thread.allocate_lock()
        self._outcome: tuple[Any, BaseException | None] | None = None
        self._ended.acquire()
        _thread.start_new_thread(self._run, (function, args))

    def _run(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        _running.add(self)
        try:
            self._outcome = function(*args), None
        except BaseException as error:
            self._outcome = None, error
        finally:
            _running.discard(self)
            self._ended.release()

    def wait(self) -> None:
        """Until it has ended."""
        while self._outcome is None:  # one waiter after the other
            with self._ended:  # not acquire() and release(), between which Ctrl-C would leave the others waiting
                pass

    def result(self) -> Any:
        """What the function returned or raised; an interrupted wait can be taken up again."""
        self.wait()
        found, error = self._outcome  # type: ignore[misc]  # it has ended
        if error is not None:
            raise error
        return found


_running: set[Job] = set()


def _wait_for_all() -> None:
    """At the end: a thread in XLA must not find Python gone."""
    for job in list(_running):
        job.wait()


atexit.register(_wait_for_all)
os.register_at_fork(after_in_child=_running.clear)  # their threads are the parent's
