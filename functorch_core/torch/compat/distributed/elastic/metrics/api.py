"""torch.distributed.elastic.metrics.api: handlers of metrics, and what gives them numbers."""

from __future__ import annotations

import abc
import functools
import time
from collections import namedtuple
from collections.abc import Callable

MetricData = namedtuple("MetricData", ["timestamp", "group_name", "name", "value"])
MetricData.__doc__ = """What handlers are given: a number of a group, and when it was.

>>> from torch.distributed.elastic.metrics.api import MetricData
>>> MetricData(0, "training", "loss", 3).value
3
"""


class MetricsConfig:
    """Parameters of handlers.

    >>> from torch.distributed.elastic.metrics import MetricsConfig
    >>> MetricsConfig({"a": "b"}).params
    {'a': 'b'}
    """

    __slots__ = ["params"]

    def __init__(self, params: dict[str, str] | None = None):
        self.params = params or {}


class MetricHandler(abc.ABC):
    """What is told of metrics: a class of one's own has `emit`.

    >>> from torch.distributed.elastic.metrics import MetricHandler, NullMetricHandler
    >>> issubclass(NullMetricHandler, MetricHandler)
    True
    """

    @abc.abstractmethod
    def emit(self, metric_data: MetricData):
        """Take a number."""


class ConsoleMetricHandler(MetricHandler):
    """Prints metrics.

    >>> from torch.distributed.elastic.metrics import ConsoleMetricHandler, MetricData
    >>> ConsoleMetricHandler().emit(MetricData(0, "training", "loss", 3))
    [0][training]: loss=3
    """

    def emit(self, metric_data: MetricData):
        """Print a number."""
        d = metric_data
        print(f"[{d.timestamp}][{d.group_name}]: {d.name}={d.value}", flush=True)


class NullMetricHandler(MetricHandler):
    """Does nothing: the handler of groups that have none.

    >>> from torch.distributed.elastic.metrics import MetricData, NullMetricHandler
    >>> NullMetricHandler().emit(MetricData(0, "training", "loss", 3))
    """

    def emit(self, metric_data: MetricData):
        """Do nothing."""


class MetricStream:
    """The metrics of a group.

    >>> from torch.distributed.elastic.metrics.api import MetricStream, NullMetricHandler
    >>> MetricStream("training", NullMetricHandler()).add_value("loss", 3)
    """

    def __init__(self, group_name: str, handler: MetricHandler):
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: int):
        """Tell a number."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_handlers: dict[str, MetricHandler] = {}
_default: list[MetricHandler] = [NullMetricHandler()]


def configure(handler: MetricHandler, group: str | None = None):
    """Set the handler of a group, or of all that have none.

    >>> from torch.distributed.elastic import metrics
    >>> metrics.configure(metrics.ConsoleMetricHandler(), group="mine")
    >>> metrics.put_metric("steps", 3, "mine")  # doctest: +ELLIPSIS
    [...][mine]: steps=3
    """
    if group is None:
        _default[0] = handler
    else:
        _handlers[group] = handler


def getStream(group: str) -> MetricStream:
    """The metrics of a group.

    >>> from torch.distributed.elastic.metrics import getStream
    >>> getStream("training").group_name
    'training'
    """
    return MetricStream(group, _handlers.get(group, _default[0]))


def put_metric(metric_name: str, metric_value: int, metric_group: str = "torchelastic"):
    """Tell a number.

    >>> from torch.distributed.elastic.metrics import put_metric
    >>> put_metric("steps", 3)
    """
    getStream(metric_group).add_value(metric_name, metric_value)


def prof(fn: Callable | None = None, group: str = "torchelastic") -> Callable:
    """Decorates a function: each call tells NAME.success or NAME.failure, and NAME.duration.ms.

    >>> from torch.distributed.elastic.metrics import prof
    >>> @prof
    ... def three():
    ...   return 3
    >>> three()
    3
    """
    if fn is None:
        return functools.partial(prof, group=group)
    name = f"{fn.__module__}.{fn.__name__}"

    @functools.wraps(fn)
    def measured(*args, **kwargs):
        start = time.time()
        try:
            found = fn(*args, **kwargs)
        except Exception:
            put_metric(f"{name}.failure", 1, group)
            raise
        else:
            put_metric(f"{name}.success", 1, group)
        finally:
            put_metric(f"{name}.duration.ms", get_elapsed_time_ms(start), group)
        return found

    return measured


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """The milliseconds since a time.

    >>> import time
    >>> from torch.distributed.elastic.metrics import get_elapsed_time_ms
    >>> get_elapsed_time_ms(time.time()) < 1000
    True
    """
    return int((time.time() - start_time_in_seconds) * 1000)
