"""torch.distributed.elastic.agent.server.api: what an agent does with its workers, whoever starts them.

The machines meet by a rendezvous, workers get their ranks, and the agent looks at them until all have ended well; when
one fails all are started again, as often as the specification says. When a machine waits to be taken in, be it a new
one or one whose workers have failed, the others start theirs again with it, as often as that happens.
"""

from __future__ import annotations

import abc
import contextlib
import enum
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....stores import Store
from ...events import Event, EventSource, record
from ...metrics import prof, put_metric
from ...multiprocessing.errors import ProcessFailure
from ...rendezvous.api import RendezvousError, RendezvousGracefulExitError, RendezvousHandler, RendezvousInfo

DEFAULT_ROLE = "default"
STORE_ERRORS = RendezvousError, RuntimeError, OSError, EOFError
END_PAUSE = 0.05  # seconds between two looks whether other machines have ended
log = logging.getLogger(__name__)


class WorkerState(str, enum.Enum):  # noqa: UP042  its str is that of PyTorch's
    """How the workers of a group are.

    >>> from torch.distributed.elastic.agent.server import WorkerState
    >>> WorkerState.is_running(WorkerState.HEALTHY), WorkerState.is_running(WorkerState.FAILED)
    (True, False)
    """

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state: WorkerState) -> bool:
        """Whether the workers run."""
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


@dataclass
class WorkerSpec:
    """What workers of one role on one machine run: a function or a program, with its arguments.

    >>> from torch.distributed.elastic.agent.server import WorkerSpec
    >>> WorkerSpec("trainer", 2, rdzv_handler=None, entrypoint=print).get_entrypoint_name()
    'print'
    """

    role: str
    local_world_size: int
    rdzv_handler: RendezvousHandler
    fn: Callable | None = None
    entrypoint: Callable | str | None = None
    args: tuple = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_port: int | None = None
    master_addr: str | None = None
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False

    def __post_init__(self):
        if self.local_world_size <= 0 or self.monitor_interval <= 0:
            raise AssertionError("WorkerSpec: local_world_size and monitor_interval are greater than 0")
        self.entrypoint = self.fn or self.entrypoint
        if not self.entrypoint:
            raise AssertionError("WorkerSpec: an entrypoint is needed")

    def get_entrypoint_name(self) -> str:
        """The name of the function or program."""
        return self.entrypoint if isinstance(self.entrypoint, str) else self.entrypoint.__qualname__


class Worker:
    """A worker: its ranks.

    >>> from torch.distributed.elastic.agent.server import Worker
    >>> Worker(local_rank=1, global_rank=5).global_rank
    5
    """

    __slots__ = ["id", "local_rank", "global_rank", "role_rank", "world_size", "role_world_size"]

    def __init__(
        self,
        local_rank: int,
        global_rank: int = -1,
        role_rank: int = -1,
        world_size: int = -1,
        role_world_size: int = -1,
    ):
        self.id: Any = None
        self.local_rank, self.global_rank, self.role_rank = local_rank, global_rank, role_rank
        self.world_size, self.role_world_size = world_size, role_world_size

    def __repr__(self) -> str:
        return "; ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)


class WorkerGroup:
    """The workers of a machine.

    >>> from torch.distributed.elastic.agent.server import WorkerGroup, WorkerSpec
    >>> len(WorkerGroup(WorkerSpec("trainer", 2, rdzv_handler=None, entrypoint=print)).workers)
    2
    """

    __slots__ = ["spec", "workers", "store", "group_rank", "group_world_size", "state", "master_addr", "master_port"]

    def __init__(self, spec: WorkerSpec):
        self.spec, self.state = spec, WorkerState.INIT
        self.workers = [Worker(local_rank=i) for i in range(spec.local_world_size)]
        self.store: Any = None
        self.group_rank: int | None = None
        self.group_world_size: int | None = None
        self.master_addr: str | None = None
        self.master_port: int | None = None


@dataclass
class RunResult:
    """What workers gave: by global rank the results of functions, or failures.

    >>> from torch.distributed.elastic.agent.server.api import RunResult, WorkerState
    >>> RunResult(WorkerState.SUCCEEDED).is_failed()
    False
    """

    state: WorkerState
    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether a worker failed."""
        return self.state is WorkerState.FAILED


def local_sizes(info: RendezvousInfo, own: int) -> list[int]:
    """How many workers each machine of a rendezvous has.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.agent.server.api import local_sizes
    >>> from torch.distributed.elastic.rendezvous import RendezvousInfo, RendezvousStoreInfo
    >>> local_sizes(RendezvousInfo(dist.HashStore(), 0, 1, RendezvousStoreInfo("127.0.0.1", 29500)), 4)
    [4]
    """
    info.store.set(f"torchelastic/{info.rank}", str(own))
    return [int(info.store.get(f"torchelastic/{i}")) for i in range(info.world_size)]


def end_together(handler: RendezvousHandler, store: Store, n: int, seconds: float) -> bool:
    """Wait until the workers of all n machines have ended well, as this one may have the store that the others need;
    False if one has failed or waits to start its workers again, is gone, or does not come within so many seconds.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.agent.server.api import end_together
    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
    >>> handler = get_rendezvous_handler(RendezvousParameters("static", "127.0.0.1:0", "job", 1, 1))
    >>> end_together(handler, dist.HashStore(), 1, 5.0)
    True
    """
    name, end = "torchelastic/ended", time.monotonic() + seconds
    try:
        store.add(name, 1)
        while store.add(name, 0) < n:
            if time.monotonic() > end or handler.is_closed() or handler.num_nodes_waiting() > 0:
                return False
            time.sleep(END_PAUSE)
    except STORE_ERRORS:
        return False
    with contextlib.suppress(*STORE_ERRORS):  # who has the store ends when all have seen this
        store.add(f"{name}/seen", 1)
        while store.add(f"{name}/seen", 0) < n and time.monotonic() < end:
            time.sleep(END_PAUSE)
    return True


class ElasticAgent(abc.ABC):
    """What runs workers.

    >>> from torch.distributed.elastic.agent.server import ElasticAgent, SimpleElasticAgent
    >>> issubclass(SimpleElasticAgent, ElasticAgent)
    True
    """

    @abc.abstractmethod
    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        """Run the workers until all have ended; failures are in the result."""

    @abc.abstractmethod
    def get_worker_group(self, role: str = DEFAULT_ROLE) -> WorkerGroup:
        """The workers."""


class SimpleElasticAgent(ElasticAgent):
    """An agent of one role. A class derived from it says how workers are started, watched and ended.

    >>> from torch.distributed.elastic.agent.server import SimpleElasticAgent
    >>> from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    >>> issubclass(LocalElasticAgent, SimpleElasticAgent)
    True
    """

    def __init__(self, spec: WorkerSpec, exit_barrier_timeout: float = 300, shutdown_timeout: int = 30):
        self._worker_group, self._remaining_restarts = WorkerGroup(spec), spec.max_restarts
        self._store: Any = None
        self._looked = time.time()  # when the workers were last looked at
        self._exit_barrier_timeout, self._shutdown_timeout = exit_barrier_timeout, shutdown_timeout

    def get_worker_group(self, role: str = DEFAULT_ROLE) -> WorkerGroup:
        """The workers."""
        return self._worker_group

    # ---- what a derived class says

    @abc.abstractmethod
    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        """Start them: the id of each, by local rank."""

    @abc.abstractmethod
    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        """End them."""

    @abc.abstractmethod
    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        """How they are."""

    @abc.abstractmethod
    def _shutdown(self, death_sig: Any = None) -> None:
        """Give back all that was taken."""

    # ---- the course

    def _rendezvous(self, worker_group: WorkerGroup) -> None:
        """Meet the other machines, and number the workers."""
        spec = worker_group.spec
        info = spec.rdzv_handler.next_rendezvous()
        worker_group.store, worker_group.group_rank = info.store, info.rank
        worker_group.group_world_size = info.world_size
        there = info.bootstrap_store_info
        worker_group.master_addr = spec.master_addr or there.master_addr
        worker_group.master_port = spec.master_port or there.master_port
        sizes = local_sizes(info, spec.local_world_size)
        first, total = sum(sizes[: info.rank]), sum(sizes)
        for i, worker in enumerate(worker_group.workers):
            worker.global_rank = worker.role_rank = first + i
            worker.world_size = worker.role_world_size = total

    def _initialize_workers(self, worker_group: WorkerGroup) -> None:
        self._rendezvous(worker_group)
        for local_rank, found in self._start_workers(worker_group).items():
            worker_group.workers[local_rank].id = found
        worker_group.state = WorkerState.HEALTHY

    def _restart_workers(self, worker_group: WorkerGroup) -> None:
        self._stop_workers(worker_group)
        worker_group.state = WorkerState.STOPPED
        self._initialize_workers(worker_group)

    def _exit_barrier(self) -> None:
        group = self._worker_group
        handler, n, seconds = group.spec.rdzv_handler, group.group_world_size or 1, self._exit_barrier_timeout
        if not end_together(handler, group.store, n, seconds):
            log.warning("not all of the other machines ended well")

    @prof
    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        """Run the workers until all have ended well, or one has failed once more than may be; failures are in the
        result. They are ended when this is."""
        is_interrupted = False
        try:
            found = self._invoke_run(role)
        except (KeyboardInterrupt, SystemExit):
            is_interrupted = True  # the other machines go on
            raise
        except RendezvousGracefulExitError:
            return RunResult(WorkerState.SUCCEEDED)
        finally:
            self._shutdown()
            if not is_interrupted:
                self._worker_group.spec.rdzv_handler.shutdown()
        name = "failed" if found.is_failed() else "succeeded"
        spec = self._worker_group.spec
        put_metric(f"workers.{spec.role}.run_{name}", 1)
        metadata = {"role": spec.role, "entry_point": spec.get_entrypoint_name()}
        record(Event(f"torchelastic.worker.status.{name}", EventSource.AGENT, 0, metadata), spec.event_log_handler)
        return found

    def _invoke_run(self, role: str) -> RunResult:
        group = self._worker_group
        self._initialize_workers(group)
        while True:
            time.sleep(group.spec.monitor_interval)
            found, self._looked = self._monitor_workers(group), time.time()
            group.state = found.state
            if found.state is WorkerState.SUCCEEDED:
                self._exit_barrier()
                return found
            if found.state in (WorkerState.UNHEALTHY, WorkerState.FAILED):
                if self._remaining_restarts <= 0:
                    self._stop_workers(group)
                    group.state = WorkerState.FAILED
                    return found
                log.info("worker group %s; %s restarts left", found.state.name, self._remaining_restarts)
                self._remaining_restarts -= 1
                self._restart_workers(group)
            elif group.spec.rdzv_handler.num_nodes_waiting() > 0:
                log.info("machines wait to be taken in: the workers are started again")
                self._restart_workers(group)
