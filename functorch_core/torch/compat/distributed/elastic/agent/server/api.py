"""torch.distributed.elastic.agent.server.api: what an agent does with its workers, whoever starts them.

The machines meet by a rendezvous, workers get their ranks, and the agent looks at them until all have ended well; when
one fails all are started again, as often as the specification says. Each machine restarts its own workers: those of
others notice it by their own failures.
"""

from __future__ import annotations

import abc
import enum
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...events import Event, EventSource, record
from ...metrics import prof, put_metric
from ...multiprocessing.errors import ProcessFailure
from ...rendezvous.api import RendezvousHandler

DEFAULT_ROLE = "default"
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
        turn = f"torchelastic/{spec.max_restarts - self._remaining_restarts}"
        info.store.set(f"{turn}/{info.rank}", str(spec.local_world_size))
        sizes = [int(info.store.get(f"{turn}/{i}")) for i in range(info.world_size)]
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

    @prof
    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        """Run the workers until all have ended well, or one has failed once more than may be; failures are in the
        result. They are ended when this is."""
        try:
            found = self._invoke_run(role)
        finally:
            self._shutdown()
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
            found = self._monitor_workers(group)
            group.state = found.state
            if found.state is WorkerState.SUCCEEDED:
                return found
            if found.state in (WorkerState.UNHEALTHY, WorkerState.FAILED):
                if self._remaining_restarts <= 0:
                    self._stop_workers(group)
                    group.state = WorkerState.FAILED
                    return found
                log.info("worker group %s; %s restarts left", found.state.name, self._remaining_restarts)
                self._remaining_restarts -= 1
                self._restart_workers(group)
