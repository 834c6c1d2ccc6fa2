"""torch.distributed.elastic.timer.file_based_local_timer: timers told through a named pipe, by whatever program."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal as signals
from collections.abc import Callable
from typing import Any

from .api import RequestQueue, TimerClient, TimersByScope, TimerServer
from .local_timer import ended

NO_SERVER = "Could not send the FileTimerRequest because FileTimerServer is not available."


class FileTimerRequest:
    """A timer of a process: when it is over, the process gets the signal.

    >>> from torch.distributed.elastic.timer import FileTimerRequest
    >>> FileTimerRequest(1, "a step", 5.0, signal=9).to_json()
    '{"version": 1, "pid": 1, "scope_id": "a step", "expiration_time": 5.0, "signal": 9}'
    """

    def __init__(self, worker_pid: int, scope_id: str, expiration_time: float, signal: int = 0):
        self.version, self.worker_pid, self.scope_id = 1, worker_pid, scope_id
        self.expiration_time, self.signal = expiration_time, signal

    def __eq__(self, other):
        return isinstance(other, FileTimerRequest) and self.__dict__ == other.__dict__

    __hash__ = None

    def to_json(self) -> str:
        """The request as a line of the pipe."""
        told = {"version": self.version, "pid": self.worker_pid, "scope_id": self.scope_id}
        return json.dumps({**told, "expiration_time": self.expiration_time, "signal": self.signal})


class FileTimerClient(TimerClient):
    """Tells a FileTimerServer of this process's timers; BrokenPipeError if there is none at the path.

    >>> from torch.distributed.elastic.timer import FileTimerClient
    >>> FileTimerClient("/nowhere").release("a step")
    Traceback (most recent call last):
    BrokenPipeError: Could not send the FileTimerRequest because FileTimerServer is not available.
    """

    def __init__(self, file_path: str, signal: int = signals.SIGKILL):
        self._path, self.signal = file_path, int(signal)

    def _send(self, request: FileTimerRequest) -> None:
        try:
            pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)  # fails if nobody reads
        except OSError:
            raise BrokenPipeError(NO_SERVER) from None
        with os.fdopen(pipe, "w") as file:
            file.write(f"{request.to_json()}\n")  # at once, as it is shorter than PIPE_BUF

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Set a timer."""
        self._send(FileTimerRequest(os.getpid(), scope_id, expiration_time, self.signal))

    def release(self, scope_id: str) -> None:
        """Take a timer back."""
        self._send(FileTimerRequest(os.getpid(), scope_id, -1, 0))


class _Pipe(RequestQueue):
    """Requests in a named pipe."""

    def __init__(self, path: str):
        self.path, self._rest = path, b""
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        os.mkfifo(path)
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # also written to by itself, so that it never ends

    def size(self) -> int:
        """As many as there are."""
        return 1 << 16

    def get(self, size: int, timeout: float) -> list[FileTimerRequest]:
        """The requests that have come, waiting for the seconds of the timeout if there are none."""
        if not select.select([self._pipe], [], [], timeout)[0]:
            return []
        *lines, self._rest = (self._rest + os.read(self._pipe, 1 << 16)).split(b"\n")
        told = [json.loads(line) for line in lines if line]
        return [FileTimerRequest(t["pid"], t["scope_id"], t["expiration_time"], t["signal"]) for t in told]

    def close(self) -> None:
        """Take the pipe away."""
        os.close(self._pipe)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path)


class FileTimerServer(TimersByScope, TimerServer):
    """Sends processes whose timers are over the signal they asked for. It makes a named pipe at the path.

    log_event(name, request) is called when a process was ended.

    >>> import os, tempfile
    >>> from torch.distributed.elastic.timer import FileTimerClient, FileTimerServer
    >>> path = os.path.join(tempfile.mkdtemp(), "timers")
    >>> server = FileTimerServer(path, "a run", max_interval=0.01)
    >>> server.start()
    >>> FileTimerClient(path).release("a step")
    >>> server.stop()
    """

    def __init__(
        self,
        file_path: str,
        run_id: str,
        max_interval: float = 10,
        daemon: bool = True,
        log_event: Callable[[str, FileTimerRequest | None], None] | None = None,
    ):
        TimersByScope.__init__(self)
        self._pipe = _Pipe(file_path)
        TimerServer.__init__(self, self._pipe, max_interval, daemon)
        self.run_id, self._log_event = run_id, log_event

    def register_timers(self, timer_requests: list[FileTimerRequest]) -> None:
        """Set timers, or take them back."""
        for request in timer_requests:
            self.keep(request.worker_pid, request)

    def _reap_worker(self, worker_id: Any) -> bool:
        timers = [r for (pid, _), r in self._timers.items() if pid == worker_id and r.signal > 0]
        if not timers:
            return True  # it asked for nothing
        request = min(timers, key=lambda r: r.expiration_time)
        done = ended(worker_id, request.signal)
        if done and self._log_event is not None:
            self._log_event("kill worker process", request)
        return done

    def stop(self) -> None:
        """Look after timers no more, and take the pipe away."""
        super().stop()
        self._pipe.close()
