"""torch.multiprocessing.spawn: the same function in several new processes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import sys
import traceback


class ProcessException(Exception):
    """A process ended badly.

    >>> from torch.multiprocessing.spawn import ProcessException
    >>> issubclass(torch.multiprocessing.ProcessRaisedException, ProcessException)
    True
    """

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised in a process; the message has its traceback.

    >>> issubclass(torch.multiprocessing.ProcessRaisedException, Exception)
    True
    """


class ProcessExitedException(ProcessException):
    """A process exited with a code or by a signal.

    >>> from torch.multiprocessing.spawn import ProcessException
    >>> issubclass(torch.multiprocessing.ProcessExitedException, ProcessException)
    True
    """

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, i: int, args: tuple, errors):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together.

    >>> import torch.multiprocessing as mp
    >>> context = mp.start_processes(print, nprocs=0, join=False, start_method="fork")
    >>> context.pids(), context.join()
    ([], True)
    """

    def __init__(self, processes, error_queues):
        self.processes, self.error_queues = processes, error_queues
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout=None, grace_period=None) -> bool:
        """Wait for processes; True when all have ended, an exception if one failed."""
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(self.sentinels, timeout=timeout)
        for sentinel in ready:
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                self._fail(i)
        return not self.sentinels

    def _fail(self, i: int):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        process = self.processes[i]
        if self.error_queues[i].empty():
            code = process.exitcode
            name = signal.Signals(-code).name if code < 0 else None
            how = f"terminated with signal {name}" if name else f"terminated with exit code {code}"
            raise ProcessExitedException(f"process {i} {how}", i, process.pid, code, name)
        text = self.error_queues[i].get()
        message = f"\n\n-- Process {i} terminated with the following error:\n{text}"
        raise ProcessRaisedException(message, i, process.pid)


SpawnContext = ProcessContext


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Call fn(i, *args) in nprocs new processes; waits for them unless join is False.

    >>> import torch.multiprocessing as mp
    >>> mp.start_processes(divmod, args=(2,), nprocs=0, start_method="fork")
    """
    context = multiprocessing.get_context(start_method)
    processes, queues = [], []
    for i in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, i, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        queues.append(queue)
    started = ProcessContext(processes, queues)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Call fn(i, *args) in nprocs new processes; waits for them unless join is False.

    Raises ProcessRaisedException if the function raises in one of them.

    >>> import torch.multiprocessing as mp
    >>> mp.spawn(divmod, args=(2,), nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
