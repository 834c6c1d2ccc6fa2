"""torch.distributed.elastic.timer.local_timer: timers of processes of one machine, told through a queue."""

from __future__ import annotations

import os
import queue
import signal
import time
from typing import Any

from .api import RequestQueue, TimerClient, TimerRequest, TimersByScope, TimerServer


def ended(pid: int, by: int) -> bool:
    """Send a process a signal; whether that was possible, or the process is gone.

    >>> import os
    >>> from torch.distributed.elastic.timer.local_timer import ended
    >>> ended(os.getpid(), 0)
    True
    """
    try:
        os.kill(pid, by)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return True


class LocalTimerClient(TimerClient):
    """Tells a LocalTimerServer of this process's timers, through a queue of multiprocessing.

    >>> import multiprocessing
    >>> from torch.distributed.elastic.timer import LocalTimerClient
    >>> requests = multiprocessing.SimpleQueue()
    >>> LocalTimerClient(requests).release("a step")
    >>> requests.get().scope_id
    'a step'
    """

    def __init__(self, mp_queue: Any):
        self._queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Set a timer."""
        self._queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        """Take a timer back."""
        self._queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """Requests in a queue of multiprocessing.

    >>> import multiprocessing
    >>> from torch.distributed.elastic.timer.local_timer import MultiprocessingRequestQueue
    >>> MultiprocessingRequestQueue(multiprocessing.Queue()).get(1, timeout=0.01)
    []
    """

    def __init__(self, mp_queue: Any):
        self._queue = mp_queue

    def size(self) -> int:
        """How many requests wait."""
        return self._queue.qsize()

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """Up to so many requests, waiting for the seconds of the timeout at most."""
        found: list[TimerRequest] = []
        until = time.monotonic() + timeout
        while len(found) < size:
            try:
                found.append(self._queue.get(timeout=max(0.0, until - time.monotonic())))
            except queue.Empty:
                break
        return found


class LocalTimerServer(TimersByScope, TimerServer):
    """Ends processes of this machine whose timers are over, by SIGKILL.

    >>> import multiprocessing
    >>> from torch.distributed.elastic.timer import LocalTimerServer
    >>> server = LocalTimerServer(multiprocessing.Queue(), max_interval=0.01)
    >>> server.start()
    >>> server.stop()
    """

    def __init__(self, mp_queue: Any, max_interval: float = 60, daemon: bool = True):
        TimersByScope.__init__(self)
        TimerServer.__init__(self, MultiprocessingRequestQueue(mp_queue), max_interval, daemon)

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        """Set timers, or take them back."""
        for request in timer_requests:
            self.keep(request.worker_id, request)

    def _reap_worker(self, worker_id: int) -> bool:
        return ended(worker_id, signal.SIGKILL)
