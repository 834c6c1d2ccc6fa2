"""Iterating with worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import warnings
from collections import deque
from dataclasses import dataclass, field
from pickle import PicklingError

from .. import engine
from ..core.warn import warn
from ._iterating import BaseIterator
from ._utils.signal_handling import FAILED, KILLED
from ._utils.transport import Channel, dumps
from ._utils.worker import BATCH, END, RESUME, RESUMED, Job, run

MAX_IN_FLIGHT = 64  # tasks sent to a worker and unanswered: so few always fit into a pipe
GRACE = 5.0  # seconds that workers have to end by themselves
EXITED = "DataLoader worker (pid(s) {}) exited unexpectedly"
NOT_PICKLABLE = (
    "Got pickle error when attempting to start a worker Process. This might be "
    "because the worker Process arguments are not picklable. Python 3.14+ changed the "
    "multiprocessing start method in non-Mac POSIX platforms to 'forkserver', which "
    "requires the worker Process arguments to be picklable. You can also try "
    "multiprocessing.set_start_method('fork')."
)


def context_of(given):
    """The multiprocessing context: the given one, the one the user has set, fork on Linux.

    Python's default (from 3.14 on forkserver) is not the user's choice: whoever makes a lock puts it in force.
    """
    if given is not None:
        return given
    chosen = multiprocessing.get_start_method(allow_none=True)
    default = multiprocessing.get_all_start_methods()[0]
    if chosen in (None, default) and sys.platform == "linux":
        chosen = "fork"
    return multiprocessing.get_context(chosen)


@dataclass(eq=False)
class Worker:
    """A worker process, and what it has to do."""

    id: int
    process: object
    channel: Channel
    active: bool = True  # it may get tasks: its dataset has not ended
    tasks: int = 0  # given and not yet handed to the user
    in_flight: int = 0  # sent and not yet answered
    backlog: deque = field(default_factory=deque)  # given and not yet sent

    def give(self, number: int, index):
        """Another task."""
        self.tasks += 1
        self.backlog.append((number, index))

    def send_backlog(self):
        """Send as many tasks as may be under way."""
        n = min(len(self.backlog), MAX_IN_FLIGHT - self.in_flight)
        if n > 0:
            self.in_flight += n
            try:
                self.channel.send([self.backlog.popleft() for _ in range(n)])
            except OSError:
                pass  # it is dead, which waiting for it will find


class _MultiProcessingDataLoaderIter(BaseIterator):
    """Batches by worker processes, in the order of the sampler (or as they come).

    Tasks have running numbers, `_send_idx` the next to give and `_rcvd_idx` the next to hand out.
    """

    def __init__(self, loader):
        super().__init__(loader)
        self._owner, self._shutdown, self._crew = os.getpid(), False, []
        self._prefetch_factor, self._in_order = loader.prefetch_factor, loader.in_order
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        job = self._job(loader.worker_init_fn)
        context = context_of(loader.multiprocessing_context)
        engine.flush("a DataLoader starts its workers")  # they would compute it again, each
        try:
            for i in range(self._num_workers):
                self._crew.append(self._start(context, job.for_worker(i)))
        except BaseException:
            self._shutdown_workers()
            raise
        self._reset(loader, first_iter=True)

    def _start(self, context, job: Job) -> Worker:
        mine, its = context.Pipe(duplex=True)
        if context.get_start_method() == "fork":
            args = job, its, [mine, *(w.channel for w in self._crew)]
        else:
            args = dumps(job), its
        process = context.Process(target=run, args=args, daemon=True)
        with warnings.catch_warnings():
            # Python warns of forks beside threads. The child never touches what XLA's threads use.
            warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
            try:
                process.start()
            except (TypeError, AttributeError, PicklingError):
                warn(NOT_PICKLABLE)
                raise
        its.close()  # so that the end of the process is the end of the file
        return Worker(job.id, process, Channel(mine))

    def _reset(self, loader, first_iter: bool = False):
        super()._reset(loader, first_iter)
        self._send_idx = self._rcvd_idx = self._outstanding = 0
        self._given: dict[int, Worker] = {}  # number -> who has the task
        self._arrived: dict[int, tuple] = {}  # number -> (kind, content)
        self._cycle = itertools.cycle(self._crew)
        if not first_iter:
            self._resume_workers()
        for worker in self._crew:
            worker.active, worker.tasks, worker.in_flight = True, 0, 0
        self._filling = True  # the first tasks are one message for each worker
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()
        self._filling = False
        for worker in self._crew:
            worker.send_backlog()

    @property
    def _workers(self) -> list:
        """The processes, by PyTorch's name."""
        return [worker.process for worker in self._crew]

    def _resume_workers(self):
        for worker in self._crew:
            worker.backlog.clear()
            worker.channel.send((RESUME, self._shared_seed))
        missing = len(self._crew)
        while missing:
            _, (_, kind, _) = self._receive()
            missing -= kind == RESUMED  # anything else is of the pass before

    # ---- tasks

    def _try_put_index(self):
        """Give the next task to the worker whose turn it is, if there is one."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        for worker in itertools.islice(self._cycle, self._num_workers):
            if worker.active and (self._in_order or worker.tasks < self._fair_share()):
                break
        else:
            return
        worker.give(self._send_idx, index)
        self._given[self._send_idx] = worker
        self._outstanding += 1
        self._send_idx += 1
        if not self._filling:
            worker.send_backlog()

    def _fair_share(self) -> int:
        return self._prefetch_factor * self._num_workers // sum(w.active for w in self._crew)

    def _next_data(self):
        while True:
            self._skip_ended()
            if self._rcvd_idx == self._send_idx:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._rcvd_idx in self._arrived:
                return self._hand_out(self._rcvd_idx)
            worker, (number, kind, content) = self._receive()
            worker.in_flight -= 1
            worker.send_backlog()
            self._outstanding -= 1
            if kind == END:
                self._end(worker)
                continue
            self._arrived[number] = kind, content
            if number == self._rcvd_idx or not self._in_order:
                return self._hand_out(number)

    def _skip_ended(self):
        """Pass over tasks that are done, or will not be since their worker's dataset has ended."""
        while self._rcvd_idx < self._send_idx:
            worker = self._given.get(self._rcvd_idx)
            if worker is not None and (worker.active or self._rcvd_idx in self._arrived):
                return
            self._given.pop(self._rcvd_idx, None)
            self._rcvd_idx += 1

    def _end(self, worker: Worker):
        """The worker's part of an iterable dataset has ended; others may go on."""
        worker.active = False
        if not self._persistent_workers:
            worker.channel.close()
        self._try_put_index()

    def _hand_out(self, number: int):
        kind, content = self._arrived.pop(number)
        self._given.pop(number).tasks -= 1
        if number == self._rcvd_idx:
            self._rcvd_idx += 1
        self._try_put_index()
        if kind != BATCH:
            content.reraise()
        return content

    # ---- messages

    def _receive(self) -> tuple[Worker, tuple]:
        """The next message of any worker, and whose it is."""
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            waiting = {w.channel.connection: w for w in self._crew if self._is_open(w)}
            ends = {w.process.sentinel: w for w in waiting.values()}
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            ready = multiprocessing.connection.wait([*waiting, *ends], left)
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            for connection in ready:  # what a dead worker has sent before comes first
                if connection in waiting:
                    try:
                        return waiting[connection], waiting[connection].channel.receive()
                    except (EOFError, OSError) as error:
                        self._raise_dead([waiting[connection]], error)
            self._raise_dead([ends[s] for s in ready if s in ends], None)

    def _is_open(self, worker: Worker) -> bool:
        return not worker.channel.connection.closed

    def _raise_dead(self, workers: list[Worker], error):
        """RuntimeError for workers that have ended though nobody asked them to."""
        for worker in workers:
            worker.process.join(GRACE)
        codes = [(w.process.pid, w.process.exitcode) for w in workers]
        pid, code = codes[0]
        if code is not None and code < 0:
            error = RuntimeError(KILLED.format(pid, signal.strsignal(-code)))
        elif code:
            error = RuntimeError(FAILED.format(pid, code))
        self._shutdown_workers()
        raise RuntimeError(EXITED.format(", ".join(str(pid) for pid, _ in codes))) from error

    # ---- the end

    def _shutdown_workers(self):
        """End all workers: by closing the channels, after the grace time by force."""
        if self._shutdown or self._owner != os.getpid():
            return
        self._shutdown = True
        for worker in self._crew:
            worker.channel.close()
        deadline = time.monotonic() + GRACE
        for worker in self._crew:
            worker.process.join(max(deadline - time.monotonic(), 0))
        for end in ("terminate", "kill"):
            for worker in self._crew:
                if worker.process.is_alive():
                    getattr(worker.process, end)()
                    worker.process.join(GRACE)

    def __del__(self):
        if getattr(self, "_crew", None):
            self._shutdown_workers()


__all__ = ["_MultiProcessingDataLoaderIter", "context_of"]
