"""torch.distributed.launcher.api: run a function, or a program, in several processes, with an elastic agent."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..elastic.agent.server.api import WorkerSpec
from ..elastic.agent.server.local_elastic_agent import LocalElasticAgent
from ..elastic.multiprocessing.api import DefaultLogsSpecs, LogsSpecs
from ..elastic.multiprocessing.errors import ChildFailedError
from ..elastic.rendezvous.api import RendezvousParameters
from ..elastic.rendezvous.registry import get_rendezvous_handler


@dataclass
class LaunchConfig:
    """torchrun's arguments.

    >>> from torch.distributed.launcher.api import LaunchConfig
    >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2).max_restarts
    3
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self):
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()


class elastic_launch:
    """elastic_launch(config, function)(*args): the results of the function by rank; ChildFailedError if it fails.

    >>> from torch.distributed.launcher.api import LaunchConfig, elastic_launch
    >>> config = LaunchConfig(1, 1, nproc_per_node=2, start_method="fork")
    >>> elastic_launch(config, divmod)(7, 2)
    {0: (3, 1), 1: (3, 1)}
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable | str | None, health_check_server: Any = None):
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig, entrypoint: Callable | str | None, args: list[Any], health_check_server: Any = None
) -> dict[int, Any]:
    """The results of a function by rank, in processes of this machine; ChildFailedError if it fails in one.

    >>> from torch.distributed.launcher.api import LaunchConfig, launch_agent
    >>> launch_agent(LaunchConfig(1, 1, nproc_per_node=1, start_method="fork"), abs, [-3])
    {0: 3}
    """
    parameters = RendezvousParameters(
        config.rdzv_backend,
        config.rdzv_endpoint,
        config.run_id or uuid.uuid4().hex,
        config.min_nodes,
        config.max_nodes,
        config.local_addr,
        **config.rdzv_configs,
    )
    spec = WorkerSpec(
        config.role,
        config.nproc_per_node,
        get_rendezvous_handler(parameters),
        entrypoint=entrypoint,
        args=tuple(args),
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        event_log_handler=config.event_log_handler,
    )
    agent = LocalElasticAgent(
        spec, config.logs_specs, config.start_method, shutdown_timeout=config.shutdown_timeout or 30
    )
    found = agent.run()
    if found.is_failed():
        raise ChildFailedError(spec.get_entrypoint_name(), found.failures)
    return found.return_values
