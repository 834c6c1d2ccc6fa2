"""torch.autograd.profiler: the operators that a part of a program calls, and how long they take.

While a profile is taken operators are computed when they are called, one by one (see `collecting`); what the
table says of single ones is measured so. The whole takes longer than without a profile, where they run together.
"""

from __future__ import annotations

import functools

from ...tensors.active import active
from . import network_parts, node_parts  # noqa: F401  rules
from .allocations import Allocation
from .collecting import Collector
from .profiler_util import EventList

NO_DEVICE = "CUDA is not available, disabling CUDA profiling"


def active_profile():
    """What collects the events of the profile that is being taken; None where none is.

    >>> torch.autograd.profiler.active_profile() is None
    True
    """
    return active.observer


class profile:
    """Context: collect the operators that this thread calls, the nodes of backward passes, and the ranges of
    `record_function`: how often, how long, with `record_shapes` of which shapes, with `profile_memory` how many bytes
    it takes more than it frees, with `with_stack` from which lines, with `with_flops` how many floating point
    operations.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("square"):
    ...         y = torch.ones(3) ** 2
    >>> [e.key for e in prof.key_averages()][:5]
    ['square', 'aten::ones', 'aten::empty', 'aten::fill_', 'aten::pow']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config=None,
        acc_events: bool = False,
        custom_trace_id_callback=None,
    ):
        self.enabled, self.profile_memory, self.with_flops = enabled, profile_memory, with_flops
        self.record_shapes, self.with_stack, self.with_modules = record_shapes or with_flops, with_stack, with_modules
        self.function_events: EventList | None = None
        self._collector: Collector | None = None
        self.entered = False

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._collector = Collector(self.record_shapes, self.with_stack, self.with_flops, self.profile_memory)
        self._collector.start()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._collector.stop()
            self.function_events = EventList(
                self._collector.events, profile_memory=self.profile_memory, with_flops=self.with_flops
            )
        return False

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One average for each name; for each name and each shape of the inputs, or each stack of so many lines."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """One average of everything."""
        return self._events().total_average()

    def table(self, *args, **kwargs) -> str:
        """A table with a row for each event."""
        return self._events().table(*args, **kwargs)

    def export_chrome_trace(self, path: str):
        """Write the events as a trace for chrome://tracing and Perfetto."""
        self._events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total"):
        """Write a line for each stack, for flame graphs; of a profile `with_stack`."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events().export_stacks(path, metric)

    def allocations(self) -> list[Allocation]:
        """The memory that was seen, of a profile with `profile_memory`."""
        self._events()
        return self._collector.memory.listed

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return self._events().self_cpu_time_total

    def __repr__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self):
        return repr(self) if self.function_events is None else self.table()


class record_function:
    """Context and decorator: a named range of a profile. Costs nothing to speak of while none is taken.

    >>> with torch.profiler.profile() as prof, torch.profiler.record_function("double"):
    ...     y = 2 * torch.ones(3)
    >>> prof.key_averages()[0].key
    'double'
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args, self._range = name, args, None

    def __enter__(self):
        if active.observer is not None:
            self._range = active.observer.range(self.name, is_user_annotation=True)
            self._range.__enter__()
        return self

    def __exit__(self, *exc):
        if self._range is not None:
            self._range.__exit__(None, None, None)
            self._range = None

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
    """Context: accepted; no NVTX ranges are written.

    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...   y = torch.ones(2) * 2
    """


class emit_itt(_Nothing):
    """Context: accepted; no ITT ranges are written.

    >>> with torch.autograd.profiler.emit_itt(enabled=False):
    ...   y = torch.ones(2) * 2
    """


def load_nvprof(path: str) -> EventList:
    """Not implemented.

    >>> torch.autograd.profiler.load_nvprof("file")
    Traceback (most recent call last):
    NotImplementedError: load_nvprof: nvprof databases cannot be read
    """
    raise NotImplementedError("load_nvprof: nvprof databases cannot be read")


def parse_nvprof_trace(path: str) -> EventList:
    """Not implemented.

    >>> torch.autograd.profiler.parse_nvprof_trace("file")
    Traceback (most recent call last):
    NotImplementedError: parse_nvprof_trace: nvprof databases cannot be read
    """
    raise NotImplementedError("parse_nvprof_trace: nvprof databases cannot be read")


class EnforceUnique:
    """Raises RuntimeError when a key is seen twice.

    >>> seen = torch.autograd.profiler.EnforceUnique()
    >>> seen.see("a")
    """

    def __init__(self):
        self.seen: set = set()

    def see(self, *key):
        """Note a key."""
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps of several callers; the current step is the largest count.

    >>> from torch.autograd.profiler import KinetoStepTracker
    >>> KinetoStepTracker.init_step_count("example")
    >>> KinetoStepTracker.increment_step("example") >= 0
    True
    >>> KinetoStepTracker.erase_step_count("example")
    True
    """

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
