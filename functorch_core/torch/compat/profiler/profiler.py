"""Profiles of what record_function marks, in all steps or in those of a schedule."""

from __future__ import annotations

import enum
import json
import os
import time
from collections.abc import Callable

from ..autograd.profiler import profile as _RangeProfile


class ProfilerActivity(enum.Enum):
    """What to measure."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What to do in a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that are measured."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
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


# ---- profiles ------------------------------------------------------------------------------------


def _default_schedule_fn(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class _KinetoProfile:
    """A profile without a schedule: the ranges of record_function between start() and stop()."""

    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        **_,
    ):
        self._running: _RangeProfile | None = None
        self._finished: _RangeProfile | None = None
        self._metadata: dict = {}

    def start(self):
        """Begin to measure."""
        self._running = _RangeProfile()
        self._running.__enter__()

    def stop(self):
        """Stop measuring."""
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._finished, self._running = self._running, None

    def _profile(self) -> _RangeProfile:
        found = self._running or self._finished
        if found is None:
            raise AssertionError("the profiler was not started")
        return found

    def events(self):
        """The measured ranges in order."""
        return self._profile().function_events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, **_):
        """The measured ranges by name."""
        return self._profile().key_averages()

    def export_chrome_trace(self, path: str):
        """Write the measured ranges for chrome://tracing."""
        self._profile().export_chrome_trace(path)
        if self._metadata:
            with open(path) as f:
                trace = json.load(f)
            trace = trace if isinstance(trace, dict) else {"traceEvents": trace}
            with open(path, "w") as f:
                json.dump({**trace, **self._metadata}, f)

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

    preset_metadata_json = add_metadata_json

    def toggle_collection_dynamic(self, enable: bool, activities=None):
        """Pause or go on; going on begins anew."""
        if enable != (self._running is not None):
            _KinetoProfile.start(self) if enable else _KinetoProfile.stop(self)


class profile(_KinetoProfile):
    """Context that measures; with a schedule, in some of the steps that step() counts."""

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
    ):
        super().__init__()
        self.schedule = schedule or _default_schedule_fn
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
        if self._records():
            super().start()

    def stop(self):
        """Stop; what was measured is ready."""
        if self._running is not None:
            super().stop()
            self._ready()

    def _records(self) -> bool:
        return self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def _ready(self):
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self):
        """The next step begins."""
        saves = self.current_action is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if saves:
            super().stop()
            self._ready()
        if self._records() and self._running is None:
            super().start()

    def set_custom_trace_id_callback(self, callback):
        """Choose the trace's id."""
        self._trace_id = callback

    def get_trace_id(self):
        """The trace's id, None if nobody chose one."""
        return self._trace_id() if self._trace_id else None
