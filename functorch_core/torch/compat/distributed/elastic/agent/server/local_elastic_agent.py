"""torch.distributed.elastic.agent.server.local_elastic_agent: an agent whose workers are processes of this machine."""

from __future__ import annotations

import os
from typing import Any

from ...multiprocessing.api import LogsSpecs, PContext, start_processes
from .api import DEFAULT_ROLE, RunResult, SimpleElasticAgent, WorkerGroup, WorkerSpec, WorkerState
from .health_check_server import create_healthcheck_server

HEALTH_CHECK_PORT = "TORCHELASTIC_HEALTH_CHECK_PORT"
HEALTH_TIMEOUT = 60  # seconds without a look at the workers after which an agent is taken for dead


class LocalElasticAgent(SimpleElasticAgent):
    """Runs workers as processes, with the variables that torchrun sets (RANK, WORLD_SIZE, MASTER_ADDR, ...).

    >>> from torch.distributed.elastic.agent.server import WorkerSpec
    >>> from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    >>> from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
    >>> there = RendezvousParameters("static", "127.0.0.1:0", "job", 1, 1, rank=0)
    >>> spec = WorkerSpec("trainer", 2, get_rendezvous_handler(there), entrypoint=divmod, args=(7, 2))
    >>> agent = LocalElasticAgent(spec, DefaultLogsSpecs(), start_method="fork")
    >>> agent.run().return_values
    {0: (3, 1), 1: (3, 1)}
    """

    def __init__(
        self,
        spec: WorkerSpec,
        logs_specs: LogsSpecs,
        start_method: str = "spawn",
        exit_barrier_timeout: float = 300,
        log_line_prefix_template: str | None = None,
        shutdown_timeout: int = 30,
        health_check_server: Any = None,
        uninterruptible_state_timeout: float | None = None,
    ):
        super().__init__(spec, exit_barrier_timeout, shutdown_timeout)
        self._logs_specs, self._start_method = logs_specs, start_method
        port = os.environ.get(HEALTH_CHECK_PORT)
        if health_check_server is None and port:
            health_check_server = create_healthcheck_server(lambda: int(self._looked), int(port), HEALTH_TIMEOUT)
        self._health_check_server = health_check_server
        self._started: PContext | None = None

    def _environment(self, group: WorkerGroup, i: int) -> dict[str, str]:
        worker, spec = group.workers[i], group.spec
        known = {
            "LOCAL_RANK": i,
            "RANK": worker.global_rank,
            "GROUP_RANK": group.group_rank,
            "ROLE_RANK": worker.role_rank,
            "ROLE_NAME": spec.role,
            "LOCAL_WORLD_SIZE": spec.local_world_size,
            "WORLD_SIZE": worker.world_size,
            "GROUP_WORLD_SIZE": group.group_world_size,
            "ROLE_WORLD_SIZE": worker.role_world_size,
            "MASTER_ADDR": group.master_addr,
            "MASTER_PORT": group.master_port,
            "TORCHELASTIC_RESTART_COUNT": spec.max_restarts - self._remaining_restarts,
            "TORCHELASTIC_MAX_RESTARTS": spec.max_restarts,
            "TORCHELASTIC_RUN_ID": spec.rdzv_handler.get_run_id(),
        }
        if spec.local_world_size > 1:
            known["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
        return {name: str(value) for name, value in known.items()}

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        spec = worker_group.spec
        envs = {i: self._environment(worker_group, i) for i in range(spec.local_world_size)}
        args = {i: tuple(_filled(a, envs[i]) for a in spec.args) for i in envs}
        self._started = start_processes(
            spec.role, spec.entrypoint, args, envs, self._logs_specs, start_method=self._start_method
        )
        return self._started.pids()

    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        """Run the workers until all have ended; failures are in the result."""
        if self._health_check_server is None:
            return super().run(role)
        self._health_check_server.start()
        try:
            return super().run(role)
        finally:
            self._health_check_server.stop()

    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        self._shutdown()

    def _shutdown(self, death_sig: Any = None) -> None:
        if self._started is not None:
            self._started.close(death_sig, self._shutdown_timeout)

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        found = self._started.wait(0)
        if found is None:
            return RunResult(WorkerState.HEALTHY)
        rank_of = {w.local_rank: w.global_rank for w in worker_group.workers}
        if found.is_failed():
            return RunResult(WorkerState.FAILED, failures={rank_of[i]: f for i, f in found.failures.items()})
        return RunResult(WorkerState.SUCCEEDED, {rank_of[i]: v for i, v in found.return_values.items()})


def _filled(argument: Any, env: dict[str, str]) -> Any:
    """An argument in which ${local_rank} stands for it."""
    return argument.replace("${local_rank}", env["LOCAL_RANK"]) if isinstance(argument, str) else argument
