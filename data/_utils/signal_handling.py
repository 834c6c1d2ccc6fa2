"""Watching worker processes, for loaders that start their own: who started them, and whether one has failed."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from collections.abc import Iterable

KILLED = "DataLoader worker (pid {}) is killed by signal: {}. "
FAILED = (
    "DataLoader worker (pid {}) exited unexpectedly with exit code {}. Details are lost due "
    "to multiprocessing. Rerunning with num_workers=0 may give better error trace."
)
_workers: dict[int, tuple[int, ...]] = {}  # key of a loader -> its workers
_watching = False


def _set_worker_pids(key: int, pids: Iterable[int]):
    """Watch a loader's workers."""
    if key in _workers:
        raise ValueError("_set_worker_pids should be called only once for each loader")
    _workers[key] = tuple(pids)


def _remove_worker_pids(key: int):
    """Watch a loader's workers no more."""
    if key not in _workers:
        raise ValueError(f"Cannot find worker information for loader {key}")
    del _workers[key]


def _error_if_any_worker_fails():
    """RuntimeError if one that is watched was killed or has failed; its loader is then watched no more."""
    for key, pids in list(_workers.items()):
        for pid in pids:
            try:
                found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # somebody has asked already
                continue
            if found is None or (found.si_code == os.CLD_EXITED and found.si_status == 0):
                continue
            _workers[key] = ()
            if found.si_code == os.CLD_EXITED:
                raise RuntimeError(FAILED.format(pid, found.si_status))
            raise RuntimeError(KILLED.format(pid, signal.strsignal(found.si_status)))


def _set_SIGCHLD_handler():
    """Look at the workers whenever a child process ends, before the handler that was there."""
    global _watching
    if _watching or not hasattr(signal, "SIGCHLD") or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(number, frame):
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _watching = True


def _set_worker_signal_handlers():
    """In a worker: say where it was when it crashes, and end quietly when it is asked to."""
    faulthandler.enable()
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
