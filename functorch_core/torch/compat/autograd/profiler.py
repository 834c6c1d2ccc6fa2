"""torch.autograd.profiler: how long named ranges take.

Operations are recorded and computed together, as one program, so there are no times of single
operations: a profile has the ranges of record_function, and the whole.
"""

from __future__ import annotations

import functools
import threading
import time

from ....engine import flush
from .profiler_util import EventList, FunctionEvent

_state = threading.local()


def active_profile() -> profile | None:
    """The profile that this thread is taking."""
    return getattr(_state, "profile", None)


def _now() -> float:
    return time.perf_counter_ns() / 1000


class profile:
    """Context: collect the ranges of record_function.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("square"):
    ...         y = torch.ones(3) ** 2
    >>> [e.key for e in prof.key_averages()]
    ['square']
    """

    def __init__(self, enabled: bool = True, **options):
        self.enabled, self.options = enabled, options
        self.function_events: EventList | None = None
        self.entered = False

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.outer = active_profile()
        _state.profile = self
        self.function_events = EventList()
        self.start = _now()
        return self

    def __exit__(self, *exc):
        if not self.enabled:
            return
        flush("the profile ends")
        self.end = _now()
        _state.profile = self.outer

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(self, *args, **kwargs) -> EventList:
        """One average for each name."""
        return self._events().key_averages()

    def total_average(self):
        """One average of everything."""
        return self._events().total_average()

    def table(self, *args, **kwargs) -> str:
        """A table with a row for each range."""
        return self._events().table(*args, **kwargs)

    def export_chrome_trace(self, path: str):
        """Write the ranges as a trace for chrome://tracing."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of the whole."""
        return self.end - self.start

    def __repr__(self):
        if self.function_events is None:
            return "<unfinished torch.autograd.profile>"
        return repr(list(self.function_events))

    __str__ = table


class record_function:
    """Context and decorator: a named range of a profile."""

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self):
        self.start, self.parent = _now(), getattr(_state, "range", None)
        self.children: list[FunctionEvent] = []
        _state.range = self
        return self

    def __exit__(self, *exc):
        _state.range = self.parent
        running = active_profile()
        if running is None:
            return
        event = FunctionEvent(self.name, self.start, _now(), threading.get_ident())
        event.cpu_children = self.children
        if self.parent is not None:
            self.parent.children.append(event)
        running.function_events.append(event)

    def __call__(self, fun):
        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            with record_function(self.name, self.args):
                return fun(*args, **kwargs)

        return wrapped


class _Nothing:
    """A context that does nothing here: there is no tool of that vendor to tell."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled = enabled

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


class emit_nvtx(_Nothing):
    """Context: accepted; no NVTX ranges are written."""


class emit_itt(_Nothing):
    """Context: accepted; no ITT ranges are written."""


def load_nvprof(path: str) -> EventList:
    """Not implemented."""
    raise NotImplementedError("load_nvprof: nvprof databases cannot be read")


def parse_nvprof_trace(path: str) -> EventList:
    """Not implemented."""
    raise NotImplementedError("parse_nvprof_trace: nvprof databases cannot be read")


class EnforceUnique:
    """Raises RuntimeError when a key is seen twice."""

    def __init__(self):
        self.seen: set = set()

    def see(self, *key):
        """Note a key."""
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps of several callers; the current step is the largest count."""

    _current_step = 0
    _steps: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str):
        """Begin to count for a caller."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a caller; whether it was known."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """One more step of a caller; the current step."""
        cls._steps.setdefault(requester, cls._current_step)
        cls._steps[requester] += 1
        cls._current_step = max(cls._steps.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The current step."""
        return cls._current_step
