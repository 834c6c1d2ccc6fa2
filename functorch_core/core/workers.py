"""Threads that help the one that computes host arrays.

NumPy gives the interpreter's lock up while it computes an array, so that two threads of Python compute at once. Who
wants it back while the other has it sleeps for 50 us: pieces in steps of 20 to 60 us take 0.65 of one thread's time, in
steps of 15 us 0.8, of 8 us more than by one. So this is for what has few and long ones.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import functools
import itertools
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from ..xla import blas
from .quiet import quiet

MOST = 4  # threads: what each does with the lock held the others wait for


def threads_wanted() -> int:
    """How many threads compute at once."""
    return min(blas.threads_wanted(), MOST)


class _Work:
    """function(i) for each i below n, by whoever asks for the next."""

    def __init__(self, function: Callable[[int], None], n: int) -> None:
        self.function, self.n = function, n
        self.errors: list[BaseException] = []
        self._next, self._ended = itertools.count(), itertools.count(1)
        self._done = _thread.allocate_lock()
        self._done.acquire()

    def help(self) -> None:
        """Compute what nobody has begun."""
        for i in self._next:
            if i >= self.n:
                return
            try:
                if not self.errors:
                    self.function(i)
            except BaseException as error:
                self.errors.append(error)
            if next(self._ended) == self.n:
                self._done.release()

    def wait(self) -> None:
        """Until all is computed; raises what was raised first."""
        self._done.acquire()
        if self.errors:
            raise self.errors[0]


_waiting: queue.SimpleQueue[_Work] = queue.SimpleQueue()
_helpers: list[int] = []  # the system's numbers of the threads
_apart_from = -1  # the core that they keep off


def _serve(waiting: queue.SimpleQueue[_Work], begun: Any) -> None:
    _helpers.append(threading.get_native_id())
    begun.release()
    while True:
        quiet.call(waiting.get().help)


def _keep_apart() -> None:
    """Have helpers run on other cores than this thread: where Linux does not know that cores share a cache, as on many
    virtual machines, it wakes a thread on the core of the one that wakes it, and both take turns there (a step of a
    transformer's layer in 7.0 ms for 6.0, in every other process).
    """
    global _apart_from
    core = _sched_getcpu()()
    if core == _apart_from:
        return
    others = os.sched_getaffinity(0) - {core}
    for helper in _helpers if others else ():
        with contextlib.suppress(OSError):
            os.sched_setaffinity(helper, others)
    _apart_from = core


@functools.cache
def _sched_getcpu() -> Callable[[], int]:
    try:
        return ctypes.PyDLL(None).sched_getcpu
    except (OSError, AttributeError):
        return lambda: -1


def compute(function: Callable[[int], None], n: int) -> None:
    """function(i) for each i below n, in any order, on this thread and others. What nobody has begun this thread does
    itself: if the others are busy it waits for no more than what they have begun."""
    helpers = min(threads_wanted(), n) - 1
    if helpers < 1:
        for i in range(n):
            function(i)
        return
    work = _Work(function, n)
    _start(helpers)
    _keep_apart()
    with blas.one_thread_each():
        for _ in range(helpers):
            _waiting.put(work)
        work.help()
        work.wait()


def _start(helpers: int) -> None:
    global _apart_from
    while len(_helpers) < helpers:
        begun = _thread.allocate_lock()
        begun.acquire()
        _thread.start_new_thread(_serve, (_waiting, begun))
        begun.acquire()
        _apart_from = -1


def _forget() -> None:
    """In a forked child: its parent's threads are not there."""
    global _helpers, _waiting
    _helpers, _waiting = [], queue.SimpleQueue()


os.register_at_fork(after_in_child=_forget)
