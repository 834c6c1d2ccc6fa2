"""torch.distributed.elastic.timer.api: what timers are, whatever they are told through."""

from __future__ import annotations

import abc
import contextlib
import inspect
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ......core.warn import warn

NOT_CONFIGURED = "Configure timer client before using countdown timers."
NOT_ENDED = "elastic.timer: the worker {worker} could not be ended; its timers {scopes} are over"


@dataclass
class TimerRequest:
    """A timer that a worker sets; with an expiration time that is negative one that it takes back.

    >>> from torch.distributed.elastic.timer import TimerRequest
    >>> TimerRequest(1, "a step", -1) == TimerRequest(1, "a step", -1)
    True
    """

    worker_id: Any
    scope_id: str
    expiration_time: float


class TimerClient(abc.ABC):
    """What a worker tells a server by.

    >>> from torch.distributed.elastic.timer import LocalTimerClient, TimerClient
    >>> issubclass(LocalTimerClient, TimerClient)
    True
    """

    @abc.abstractmethod
    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Set a timer."""

    @abc.abstractmethod
    def release(self, scope_id: str) -> None:
        """Take a timer back."""


class RequestQueue(abc.ABC):
    """Where a server finds requests.

    >>> from torch.distributed.elastic.timer.api import RequestQueue
    >>> sorted(RequestQueue.__abstractmethods__)
    ['get', 'size']
    """

    @abc.abstractmethod
    def size(self) -> int:
        """How many requests wait."""

    @abc.abstractmethod
    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """Up to so many requests, waiting for the seconds of the timeout at most."""


class TimerServer(abc.ABC):
    """Looks after timers every `max_interval` seconds, in a thread, and ends workers whose time is over.

    >>> from torch.distributed.elastic.timer import LocalTimerServer, TimerServer
    >>> issubclass(LocalTimerServer, TimerServer)
    True
    """

    def __init__(self, request_queue: RequestQueue, max_interval: float, daemon: bool = True):
        self._request_queue, self._max_interval, self._daemon = request_queue, max_interval, daemon
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @abc.abstractmethod
    def register_timers(self, timer_requests: list) -> None:
        """Set timers, or take them back."""

    @abc.abstractmethod
    def clear_timers(self, worker_ids: set) -> None:
        """Forget the timers of workers."""

    @abc.abstractmethod
    def get_expired_timers(self, deadline: float) -> dict[Any, list]:
        """The timers that are over at a time, by worker."""

    @abc.abstractmethod
    def _reap_worker(self, worker_id: Any) -> bool:
        """End a worker; whether it has ended."""

    def _run_watchdog(self) -> None:
        """Take what requests there are, and end the workers whose time is over."""
        requests = self._request_queue.get(max(1, self._request_queue.size()), self._max_interval)
        self.register_timers(requests)
        ended = set()
        for worker, timers in self.get_expired_timers(time.time()).items():
            if self._reap_worker(worker):
                ended.add(worker)
            else:
                warn(NOT_ENDED.format(worker=worker, scopes=[t.scope_id for t in timers]))
        self.clear_timers(ended)

    def _watch(self) -> None:
        while not self._stopped.is_set():
            self._run_watchdog()

    def start(self) -> None:
        """Begin to look after timers."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, daemon=self._daemon)
        self._thread.start()

    def stop(self) -> None:
        """Look after them no more."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(self._max_interval + 5)
            self._thread = None


class TimersByScope:
    """The timers that are set: a part of servers.

    >>> from torch.distributed.elastic.timer.api import TimersByScope
    >>> TimersByScope().clear_timers({1})
    """

    def __init__(self) -> None:
        self._timers: dict[tuple[Any, str], Any] = {}

    def keep(self, worker_id: Any, request: Any) -> None:
        """Set a timer of a worker, or take it back."""
        key = worker_id, request.scope_id
        if request.expiration_time < 0:
            self._timers.pop(key, None)
        else:
            self._timers[key] = request

    def clear_timers(self, worker_ids: set) -> None:
        """Forget the timers of workers."""
        for key in [k for k in self._timers if k[0] in worker_ids]:
            del self._timers[key]

    def get_expired_timers(self, deadline: float) -> dict[Any, list]:
        """The timers that are over at a time, by worker."""
        found: dict[Any, list] = {}
        for (worker, _), request in self._timers.items():
            if request.expiration_time <= deadline:
                found.setdefault(worker, []).append(request)
        return found


_configured: list[TimerClient] = []


def configure(timer_client: TimerClient) -> None:
    """Say by what this process tells of its timers; before `expires`.

    >>> import multiprocessing
    >>> from torch.distributed.elastic import timer
    >>> timer.configure(timer.LocalTimerClient(multiprocessing.SimpleQueue()))
    """
    _configured[:] = [timer_client]


@contextlib.contextmanager
def expires(after: float, scope: str | None = None, client: TimerClient | None = None) -> Iterator[None]:
    """Context: if it takes longer than so many seconds, the process is ended. RuntimeError before `configure`.

    >>> import multiprocessing
    >>> from torch.distributed.elastic import timer
    >>> timer.configure(timer.LocalTimerClient(multiprocessing.SimpleQueue()))
    >>> with timer.expires(after=60): torch.ones(2).sum()
    tensor(2.)
    """
    if client is None:
        if not _configured:
            raise RuntimeError(NOT_CONFIGURED)
        client = _configured[0]
    if scope is None:
        caller: Sequence[inspect.FrameInfo] = inspect.stack(0)
        scope = f"{caller[2].filename}#{caller[2].lineno}"
    client.acquire(scope, time.time() + after)
    try:
        yield
    finally:
        client.release(scope)
