"""torch.monitor: events and statistics of a running program, told to whoever registered for them."""

from __future__ import annotations

import contextlib
import datetime
import enum
import time
from collections.abc import Callable, Mapping, Sequence

from ...locks import RLock

STAT_EVENT = "torch.monitor.Stat"
_handlers: dict[EventHandlerHandle, Callable] = {}
_lock = RLock()


class data_value_t:
    """The kind of what an event holds: str, float, int or bool.

    >>> torch.monitor.data_value_t.__name__
    'data_value_t'
    """


class Aggregation(enum.Enum):
    """What a Stat makes of the values that were added.

    >>> torch.monitor.Aggregation.SUM.name
    'SUM'
    """

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


# Of the values of a window; 0 where there are none. VALUE is the last one.
_AGGREGATED: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda values: values[-1],
    Aggregation.MEAN: lambda values: sum(values) / len(values),
    Aggregation.COUNT: len,
    Aggregation.SUM: sum,
    Aggregation.MAX: max,
    Aggregation.MIN: min,
}


class Event:
    """Something that happened: its name, when, and what is to be told of it by name (str, float, int, bool).

    >>> import datetime
    >>> event = torch.monitor.Event("epoch", datetime.datetime(2020, 1, 1), {"loss": 0.5})
    >>> event.name, event.data
    ('epoch', {'loss': 0.5})
    """

    def __init__(self, name: str, timestamp: datetime.datetime, data: Mapping[str, data_value_t]):
        if not isinstance(name, str) or not isinstance(timestamp, datetime.datetime) or not isinstance(data, Mapping):
            raise TypeError("Event: expected a name, a datetime and a dict of what is to be told")
        for key, value in data.items():
            if not isinstance(key, str) or not isinstance(value, (str, float, int)):
                raise TypeError(f"Event: {key!r}: expected str, float, int or bool, got {type(value).__name__}")
        self.name, self.timestamp = name, timestamp
        self.data = {key: float(x) if isinstance(x, bool) else x for key, x in data.items()}  # as PyTorch keeps them


class EventHandlerHandle:
    """What register_event_handler gives, for unregister_event_handler.

    >>> handle = torch.monitor.register_event_handler(lambda event: print(event.name))
    >>> isinstance(handle, torch.monitor.EventHandlerHandle)
    True
    >>> torch.monitor.unregister_event_handler(handle)
    """


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Have callback(event) called for every event from now on.

    >>> import datetime
    >>> handle = torch.monitor.register_event_handler(lambda event: print(event.name))
    >>> torch.monitor.log_event(torch.monitor.Event("epoch", datetime.datetime.now(), {}))
    epoch
    >>> torch.monitor.unregister_event_handler(handle)
    """
    if not callable(callback):
        raise TypeError(f"register_event_handler: expected a function of an event, got {callback!r}")
    handle = EventHandlerHandle()
    with _lock:
        _handlers[handle] = callback
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call what was registered no more.

    >>> handle = torch.monitor.register_event_handler(print)
    >>> torch.monitor.unregister_event_handler(handle)
    """
    with _lock:
        _handlers.pop(handler, None)


def log_event(event: Event) -> None:
    """Tell an event to all handlers; what one of them raises is raised.

    >>> import datetime
    >>> handle = torch.monitor.register_event_handler(lambda event: print(event.name, event.data))
    >>> torch.monitor.log_event(torch.monitor.Event("started", datetime.datetime(2025, 1, 1), {"rank": 0}))
    started {'rank': 0}
    >>> torch.monitor.unregister_event_handler(handle)
    """
    if not isinstance(event, Event):
        raise TypeError(f"log_event: expected a torch.monitor.Event, got {type(event).__name__}")
    for callback in list(_handlers.values()):
        callback(event)


class _WaitCounter:
    """Where waiting is counted, of which nothing is told: a name and a context.

    >>> from torch.monitor import _WaitCounter
    >>> with _WaitCounter("loading").guard():
    ...     pass
    """

    def __init__(self, key: str):
        self.key = key

    def guard(self) -> contextlib.AbstractContextManager:
        """Context: a time of waiting."""
        return contextlib.nullcontext()


class Stat:
    """Values that are added one by one, aggregated over windows of time; each window is an event.

    A window ends when a value is added after `window_size` has passed, or when it has `max_samples`; further values
    until its time has passed are left out. `get` tells of the last window that has ended.

    >>> import datetime
    >>> kinds = [torch.monitor.Aggregation.SUM, torch.monitor.Aggregation.MEAN]
    >>> stat = torch.monitor.Stat("tokens", kinds, datetime.timedelta(hours=1), max_samples=2)
    >>> stat.add(3), stat.add(5)
    (None, None)
    >>> {kind.name: value for kind, value in stat.get().items()}
    {'SUM': 8.0, 'MEAN': 4.0}
    """

    def __init__(
        self,
        name: str,
        aggregations: Sequence[Aggregation],
        window_size: datetime.timedelta,
        max_samples: int = (1 << 63) - 1,
    ):
        self.name, self.max_samples = name, max_samples
        self._aggregations = list(dict.fromkeys(aggregations))
        self._window_size = window_size.total_seconds()
        self._values: list[float] = []
        self._last = dict.fromkeys(self._aggregations, 0.0)
        self._window, self._is_told = self._now(), False
        self._own_lock = RLock()

    def _now(self) -> int:
        return int(time.monotonic() // self._window_size)

    @property
    def count(self) -> int:
        """How many values the window has that has not ended."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Add a value to the window."""
        with self._own_lock:
            if self._now() != self._window:
                self._end()
                self._window, self._is_told = self._now(), False
            if not self._is_told:
                self._values.append(float(v))
                if len(self._values) >= self.max_samples:
                    self._end()
                    self._is_told = True

    def get(self) -> dict[Aggregation, float]:
        """The aggregates of the last window that has ended; zeros before."""
        return dict(self._last)

    def _end(self) -> None:
        if not self._values:
            return
        self._last = {kind: float(_AGGREGATED[kind](self._values)) for kind in self._aggregations}
        self._values = []
        data = {f"{self.name}.{kind.name.lower()}": value for kind, value in self._last.items()}
        log_event(Event(STAT_EVENT, datetime.datetime.now(), data))

    def __del__(self):
        if getattr(self, "_values", None):
            self._end()


class TensorboardEventHandler:
    """A handler that writes what Stats tell into a SummaryWriter, each aggregate as a scalar.

    >>> from unittest import mock
    >>> writer = mock.Mock()
    >>> handle = torch.monitor.register_event_handler(torch.monitor.TensorboardEventHandler(writer))
    >>> torch.monitor.unregister_event_handler(handle)
    """

    def __init__(self, writer) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
