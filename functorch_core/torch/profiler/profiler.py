"""Profiles of what record_function marks."""
from __future__ import annotations

import enum
import functools
import json
import os
import threading
import time
from collections.abc import Callable

from ...engine import flush


class ProfilerActivity(enum.Enum):
    """What to measure."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What to do in a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that are measured."""
    return {ProfilerActivity.CPU}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """A function from a step's number to what to do in it."""
    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        waiting = 0 if skip_first_wait and step < warmup + active else wait
        cycle = waiting + warmup + active
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < waiting:
            return ProfilerAction.NONE
        if place < waiting + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD
    return action


def tensorboard_trace_handler(dir_name: str, worker_name=None, use_gzip: bool = False) -> Callable:
    """An on_trace_ready that writes Chrome traces to a folder."""
    def write(profiler):
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker_name or os.getpid()}.{time.time_ns()}.pt.trace.json"
        profiler.export_chrome_trace(os.path.join(dir_name, name))
    return write


# ---- marks -----------------------------------------------------------------------------------------

_profiles: list[_KinetoProfile] = []


class record_function:
    """Context and decorator: measure a part under a name.

    >>> with torch.profiler.profile() as p, torch.profiler.record_function("part"):
    ...     _ = torch.ones(3).sum()
    >>> p.key_averages()[0].key
    'part'
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        if _profiles:
            flush("a profiled part ended")
            for profile in _profiles:
                profile._add(self.name, self.start, time.perf_counter())

    def __call__(self, fn):
        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with record_function(self.name, self.args):
                return fn(*args, **kwargs)
        return wrapped


class _Event:
    """One measured part; times in microseconds."""

    def __init__(self, name: str, start: float, end: float, count: int = 1):
        self.name = self.key = name
        self.start, self.end, self.count = start, end, count
        self.cpu_time_total = self.self_cpu_time_total = 1e6 * (end - start)
        self.device_time_total = self.cuda_time_total = 0.0
        self.thread = threading.get_ident()

    @property
    def cpu_time(self) -> float:
        """The mean time."""
        return self.cpu_time_total / self.count


class _Events(list):
    """Measured parts, with the table that PyTorch's users print."""

    def table(self, sort_by=None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header=None,
              top_level_events_only: bool = False) -> str:
        """Names, total and mean times, and counts, as text."""
        rows = sorted(self, key=lambda e: -e.cpu_time_total)[:row_limit]
        width = max([4, *(len(e.key) for e in rows)])
        line = "-" * (width + 42)
        text = [line, f"{'Name':<{width}}  {'CPU total':>12}  {'CPU time avg':>12}  "
                      f"{'# of Calls':>10}", line]
        text += [f"{e.key:<{width}}  {e.cpu_time_total:>10.1f}us  {e.cpu_time:>10.1f}us  "
                 f"{e.count:>10}" for e in rows]
        return "\n".join([*text, line])

    def total_average(self) -> _Event:
        """The sum."""
        total = _Event("Total", 0.0, 0.0, max(len(self), 1))
        total.cpu_time_total = sum(e.cpu_time_total for e in self)
        return total


# ---- profiles --------------------------------------------------------------------------------------


class _KinetoProfile:
    """A profile without a schedule."""

    def __init__(self, *, activities=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False, with_modules=False, **_):
        self.recording, self._parts, self._metadata = False, [], {}

    def _add(self, name: str, start: float, end: float):
        if self.recording:
            self._parts.append(_Event(name, start, end))

    def start(self):
        """Begin to measure."""
        self.recording = True
        _profiles.append(self)

    def stop(self):
        """Stop measuring."""
        self.recording = False
        if self in _profiles:
            _profiles.remove(self)

    def events(self) -> _Events:
        """The measured parts in order."""
        return _Events(self._parts)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, **_) -> _Events:
        """The measured parts by name."""
        found: dict[str, _Event] = {}
        for e in self._parts:
            total = found.setdefault(e.key, _Event(e.key, 0.0, 0.0, 0))
            total.count += 1
            total.cpu_time_total += e.cpu_time_total
            total.self_cpu_time_total += e.self_cpu_time_total
        return _Events(found.values())

    def export_chrome_trace(self, path: str):
        """Write the measured parts for chrome://tracing."""
        events = [{"name": e.name, "ph": "X", "ts": 1e6 * e.start, "dur": e.cpu_time_total,
                   "pid": os.getpid(), "tid": e.thread} for e in self._parts]
        with open(path, "w") as f:
            json.dump({"traceEvents": events, **self._metadata}, f)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total"):
        """Not implemented: stacks are not kept."""
        raise NotImplementedError("torch.profiler.profile.export_stacks")

    def export_memory_timeline(self, path: str, device=None):
        """Not implemented: memory is not measured."""
        raise NotImplementedError("torch.profiler.profile.export_memory_timeline")

    def add_metadata(self, key: str, value: str):
        """Add a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str):
        """Add JSON to the trace."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str):
        """Add JSON to the trace."""
        self.add_metadata_json(key, value)

    def toggle_collection_dynamic(self, enable: bool, activities=None):
        """Pause or go on."""
        self.recording = bool(enable)


class profile(_KinetoProfile):
    """Context that measures; with a schedule, in some of the steps that step() counts."""

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 experimental_config=None, execution_trace_observer=None, acc_events=False,
                 use_cuda=None, custom_trace_id_callback=None):
        super().__init__()
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready, self.step_num = on_trace_ready, 0
        self.current_action = self.schedule(0)
        self._trace_id = custom_trace_id_callback

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self):
        """Begin with step 0."""
        super().start()
        self.recording = self._records()

    def stop(self):
        """Stop; what was measured is ready."""
        was_recording = self.recording
        super().stop()
        if was_recording and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _records(self) -> bool:
        return self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def step(self):
        """The next step begins."""
        if self.current_action is ProfilerAction.RECORD_AND_SAVE and (
                self.on_trace_ready is not None):
            self.on_trace_ready(self)
        self.step_num += 1
        before, self.current_action = self.current_action, self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE and self._records():
            self._parts = []
        self.recording = self._records()

    def set_custom_trace_id_callback(self, callback):
        """Choose the trace's id."""
        self._trace_id = callback

    def get_trace_id(self):
        """The trace's id, None if nobody chose one."""
        return self._trace_id() if self._trace_id else None
