"""torch.distributed.elastic.agent.server: agents, which start and watch the workers of a machine."""

from ...... import _missing
from .api import ElasticAgent, RunResult, SimpleElasticAgent, Worker, WorkerGroup, WorkerSpec, WorkerState

__all__ = ["ElasticAgent", "RunResult", "SimpleElasticAgent", "Worker", "WorkerGroup", "WorkerSpec", "WorkerState"]

__getattr__ = _missing.getter(__name__, ("api", "health_check_server", "local_elastic_agent"))
