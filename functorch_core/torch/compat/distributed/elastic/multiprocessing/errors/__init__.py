"""torch.distributed.elastic.multiprocessing.errors: how a process tells the one that started it why it failed.

torchrun names a file in $TORCHELASTIC_ERROR_FILE; a function decorated with `record` writes its exception there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = "TORCHELASTIC_ERROR_FILE"
NOTHING = "<NONE>"
NOT_AVAILABLE = "<N/A>"


class ErrorHandler:
    """Writes an exception to $TORCHELASTIC_ERROR_FILE, if it is set.

    >>> from torch.distributed.elastic.multiprocessing.errors import ErrorHandler
    >>> ErrorHandler().record_exception(ValueError("no"))  # there is no such file
    """

    def initialize(self):
        """Called before the function."""

    def record_exception(self, e: BaseException):
        """Write an exception, with its traceback."""
        path = os.environ.get(FILE)
        if not path:
            return
        stack = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        extra = {"py_callstack": stack, "timestamp": str(int(time.time()))}
        data = {"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": extra}}
        written = Path(f"{path}.{os.getpid()}")
        written.write_text(json.dumps(data))
        written.replace(path)  # in one step


def get_error_handler() -> ErrorHandler:
    """What `record` uses.

    >>> from torch.distributed.elastic.multiprocessing.errors import get_error_handler
    >>> type(get_error_handler()).__name__
    'ErrorHandler'
    """
    return ErrorHandler()


@dataclass
class ProcessFailure:
    """A process that failed: its exit status (below 0: the signal that ended it), and what it wrote.

    >>> from torch.distributed.elastic.multiprocessing.errors import ProcessFailure
    >>> failure = ProcessFailure(local_rank=0, pid=123, exitcode=-9, error_file="")
    >>> failure.signal_name(), failure.message
    ('SIGKILL', 'Signal 9 (SIGKILL) received by PID 123')
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Any = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self):
        self.error_file_data, self.message = {"message": NOTHING}, ""
        self.timestamp = int(time.time())
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            self.error_file_data = json.loads(Path(self.error_file).read_text())
            self.message = self.error_file_data["message"]
            self.timestamp = int(self.message["extraInfo"]["timestamp"])
        if self.error_file_data["message"] == NOTHING:
            self.error_file = NOT_AVAILABLE
            self.message = f"Process failed with exitcode {self.exitcode}"
            if self.exitcode < 0:
                self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"

    def signal_name(self) -> str:
        """The name of the signal that ended it."""
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else NOT_AVAILABLE

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.timestamp))

    def _text(self, index: int, rank: int) -> str:
        trace = self.message
        if isinstance(trace, dict):
            trace = trace.get("extraInfo", {}).get("py_callstack", trace.get("message"))
            trace = trace.replace("\n", "\n  ")
        how = f"({self.signal_name()})" if self.exitcode < 0 else ""
        return (
            f"[{index}]:\n  time      : {self.timestamp_isoformat()}\n  host      : {socket.getfqdn()}\n"
            f"  rank      : {rank} (local_rank: {self.local_rank})\n"
            f"  exitcode  : {self.exitcode} (pid: {self.pid}) {how}\n"
            f"  error_file: {self.error_file}\n  traceback : {trace}"
        )


class ChildFailedError(Exception):
    """Processes failed: `failures`, by rank, and `name`, what they ran.

    >>> from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
    >>> error = ChildFailedError("train.py", {0: ProcessFailure(0, 123, 1, "")})
    >>> error.get_first_failure()[0], "train.py FAILED" in str(error)
    (0, True)
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]):
        if not failures:
            raise AssertionError("ChildFailedError is made of at least one failure")
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(the rank, the failure) that was first."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boundary_delim: str = "=", section_delim: str = "-") -> str:
        """The failures as text, the first one last."""
        first, root = self.get_first_failure()
        ranks = list(self.failures)
        others = [self.failures[r]._text(i, r) for i, r in enumerate(ranks) if r != first]
        cause = root._text(ranks.index(first), first)
        lines = [f"{self.name} FAILED", *others, cause]
        width = min(max(len(line) for text in lines for line in text.splitlines()), 60)
        section, boundary = section_delim * width, boundary_delim * width
        return "\n".join(
            ["", boundary, f"{self.name} FAILED", section, "Failures:", *(others or ["  <NO_OTHER_FAILURES>"])]
            + [section, "Root Cause (first observed failure):", cause, boundary]
        )


def record(fn: Callable, error_handler: ErrorHandler | None = None) -> Callable:
    """Decorates the main function of a program that torchrun starts: its exception is told to torchrun, and raised.

    >>> from torch.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...   return 1
    >>> main()
    1
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args, **kwargs):
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:  # a program may end so when all is well
            if error.code not in (None, 0):
                handler.record_exception(error)
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file == NOT_AVAILABLE:
                handler.record_exception(error)
            elif os.environ.get(FILE):
                Path(os.environ[FILE]).write_text(json.dumps(failure.error_file_data))
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded
