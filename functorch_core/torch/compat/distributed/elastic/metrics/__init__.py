"""torch.distributed.elastic.metrics: numbers that a job tells, to a handler of each group."""

from ..... import _missing
from .api import (
    ConsoleMetricHandler,
    MetricData,
    MetricHandler,
    MetricsConfig,
    NullMetricHandler,
    configure,
    get_elapsed_time_ms,
    getStream,
    prof,
    put_metric,
)


def initialize_metrics(cfg: MetricsConfig | None = None):
    """Nothing: to be replaced by who has metrics.

    >>> from torch.distributed.elastic.metrics import initialize_metrics
    >>> initialize_metrics()
    """


__all__ = [
    "ConsoleMetricHandler",
    "MetricData",
    "MetricHandler",
    "MetricsConfig",
    "NullMetricHandler",
    "configure",
    "getStream",
    "get_elapsed_time_ms",
    "initialize_metrics",
    "prof",
    "put_metric",
]

__getattr__ = _missing.getter(__name__, ("api",))
