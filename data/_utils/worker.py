"""A DataLoader's worker process: it receives indices, and sends batches.

Messages to the worker are lists of tasks (number, index), or (RESUME, the seed that the pipes of
all workers share); messages from it are (number, kind, content), with kind BATCH, ERROR (content a
WorkerError), END (of an iterable dataset) or RESUMED. When either end of the channel is closed, the
worker ends.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...engine import at_once
from ...torch.compat.serialization.rebuilders import ExceptionWrapper
from ...torch.operators.random.seeds import manual_seed
from ..graph import PIPES
from ..graph_settings import apply_sharding, seeded
from .fetch import ITERABLE, create_fetcher
from .transport import Channel, pack

RESUME = "resume"
BATCH, ERROR, END, RESUMED = range(4)
MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between looks whether the other process lives


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is: see get_worker_info."""

    id: int
    num_workers: int
    seed: int
    dataset: object


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process its id, the number of workers, its seed and its copy of the dataset;
    None elsewhere.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


# ---- errors --------------------------------------------------------------------------------------


class _ReadableKeyError(str):
    """The message of a KeyError, which would print it as a literal."""

    def __repr__(self):
        return str(self)


class WorkerError(ExceptionWrapper):
    """An exception of another process, with its traceback as text."""

    def __init__(self, error: BaseException, where: str):
        super().__init__((type(error), error, error.__traceback__), where)

    def __reduce__(self):
        with contextlib.suppress(Exception):
            pickle.dumps(self.exc_type)
            return _restored, (self.exc_type, self.exc_type.__name__, self.exc_msg, self.where)
        return _restored, (RuntimeError, self.exc_type.__name__, self.exc_msg, self.where)

    def reraise(self):
        """Raise it here: the same type, if that can be made from a message."""
        name = getattr(self, "name", self.exc_type.__name__)
        message = f"Caught {name} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = _ReadableKeyError(message)
        try:
            error = self.exc_type(message)
        except Exception:
            error = RuntimeError(message)
        try:
            raise error
        finally:
            del error  # else this frame and the error would keep each other, and the loader, alive


def _restored(exc_type: type, name: str, exc_msg: str, where: str) -> WorkerError:
    error = WorkerError.__new__(WorkerError)
    error.exc_type, error.name, error.exc_msg, error.where = exc_type, name, exc_msg, where
    return error


# ---- the process ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """What a worker is to do."""

    kind: int
    dataset: object
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    init_fn: Callable | None
    base_seed: int
    num_workers: int
    shared_seed: int | None = None  # of pipes, the same in all workers
    id: int = 0
    world_size: int = 1  # how many processes have workers, and which of them has this one
    rank: int = 0

    def for_worker(self, worker_id: int) -> Job:
        """The same job for one of the workers."""
        return replace(self, id=worker_id)

    def prepare(self):
        """Tell pipes which part is this worker's, and call the user's function."""
        if isinstance(self.dataset, PIPES):
            apply_sharding(self.dataset, self.num_workers * self.world_size, self.id * self.world_size + self.rank)
        if self.init_fn is not None:
            self.init_fn(self.id)

    def fetcher(self):
        """A new reader of the dataset."""
        return create_fetcher(self.kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last)

    def seed(self):
        """Let random numbers be this worker's."""
        global _worker_info
        seed = self.base_seed + self.id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(numpy_seed(self.base_seed, self.id))
        _worker_info = WorkerInfo(self.id, self.num_workers, seed, self.dataset)

    @property
    def where(self) -> str:
        """How errors name the process."""
        return f"in DataLoader worker process {self.id}"


def run(job: Job | bytes, connection, inherited=()):
    """The main function of the process. `inherited`: what a forked process has of other workers."""
    for other in inherited:
        other.close()
    parent = os.getppid()
    try:
        if isinstance(job, bytes):
            job = pickle.loads(job)
        job.seed()
        with contextlib.closing(Channel(connection)) as channel:
            _Worker(job, channel, parent).serve()
    except (KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
        pass  # Ctrl-C, or the loader is gone


def numpy_seed(base_seed: int, worker_id: int) -> np.ndarray:
    """The seed of numpy.random in a worker: as PyTorch mixes it, which is NumPy's SeedSequence."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4)


def _generate_state(base_seed: int, worker_id: int) -> tuple:
    """The same as Python numbers, by PyTorch's name."""
    return tuple(numpy_seed(base_seed, worker_id).tolist())


class _Reader:
    """What a worker has read from, and how far it is."""

    def __init__(self, job: Job):
        self.job = job
        self.init_error, self.fetcher, self.ended = None, None, False

    def start(self):
        """Let the user's function prepare the process, and begin to read."""
        self.begin(self.job.prepare, self.job.shared_seed)

    def begin(self, prepare: Callable | None, shared_seed: int | None):
        """A new reader of the dataset; an error answers the first task."""
        self.ended = False
        try:
            if shared_seed is not None and isinstance(self.job.dataset, PIPES):
                seeded(self.job.dataset, shared_seed)
            if prepare is not None:
                prepare()
            self.fetcher = self.job.fetcher()
        except Exception as error:
            self.init_error = WorkerError(error, self.job.where)

    def read(self, index) -> tuple[int, object]:
        """(kind, content) of the answer to one task."""
        if self.init_error is not None:
            error, self.init_error = self.init_error, None
            return ERROR, error
        try:
            with at_once("a batch is read"):
                return BATCH, self.fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and self.job.kind == ITERABLE:
                self.ended = True
                return END, self.job.id
            return ERROR, WorkerError(error, self.job.where)


class _Worker(_Reader):
    """A worker of this library's loader."""

    def __init__(self, job: Job, channel: Channel, parent: int):
        super().__init__(job)
        self.channel, self.parent = channel, parent

    def serve(self):
        """Answer messages until the loader is gone."""
        self.start()
        while True:
            while not self.channel.connection.poll(MP_STATUS_CHECK_INTERVAL):
                if os.getppid() != self.parent:
                    return
            message = self.channel.receive()
            if message[0] == RESUME:
                self.resume(message[1])
                continue
            for number, index in message:
                self.answer(number, index)

    def resume(self, shared_seed: int | None):
        """Begin another pass over the dataset."""
        self.channel.send((None, RESUMED, self.job.id))
        self.begin(None, shared_seed)

    def answer(self, number: int, index):
        """Do one task. Nothing is said to tasks after the end of an iterable dataset."""
        if self.ended:
            return
        answer = number, *self.read(index)
        try:
            parts = pack(answer)
        except Exception as error:
            parts = pack((number, ERROR, WorkerError(error, self.job.where)))
        self.channel.send_parts(*parts)


# ---- workers of other loaders --------------------------------------------------------------------


class ManagerWatchdog:
    """Whether the process that started this one lives."""

    def __init__(self):
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self) -> bool:
        """Whether it does."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """What a worker answers at the end of its iterable dataset."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """What asks a worker to begin another pass over the dataset."""

    seed: int | None = None


def _worker_loop(
    dataset_kind,
    dataset,
    index_queue,
    data_queue,
    done_event,
    auto_collation,
    collate_fn,
    drop_last,
    base_seed,
    init_fn,
    worker_id,
    num_workers,
    persistent_workers,
    shared_seed,
):
    """The main function of a worker that takes tasks (number, index) from one queue and puts (number, batch) into
    another, until a task is None. Loaders of other packages start it; that of this library has `run`."""
    job = Job(
        dataset_kind,
        dataset,
        auto_collation,
        collate_fn,
        drop_last,
        init_fn,
        base_seed,
        num_workers,
        shared_seed,
        worker_id,
    )
    watchdog = ManagerWatchdog()
    with contextlib.suppress(KeyboardInterrupt):
        job.seed()
        reader = _Reader(job)
        reader.start()
        while watchdog.is_alive():
            try:
                task = index_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if task is None:
                break
            if isinstance(task, _ResumeIteration):
                data_queue.put((task, None))
                reader.begin(None, task.seed)
            elif not (done_event.is_set() or reader.ended):
                number, index = task
                kind, content = reader.read(index)
                data_queue.put((number, _IterableDatasetStopIteration(worker_id) if kind == END else content))
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
