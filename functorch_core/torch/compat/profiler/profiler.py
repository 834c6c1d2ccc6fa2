"""Profiles of all steps of a program, or of those of a schedule."""

from __future__ import annotations

import enum
import gzip
import json
import os
import socket
import time
from collections.abc import Callable

from ..autograd.profiler import profile as _Profile
from ..autograd.profiler import record_function
from ..autograd.profiler_util import trace_of
from ._memory_profiler import write


class ProfilerActivity(enum.Enum):
    """What to measure.

    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What to do in a step.

    >>> torch.profiler.schedule(wait=1, warmup=1, active=2)(0)
    <ProfilerAction.NONE: 0>
    """

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that are measured.

    >>> len(torch.profiler.supported_activities()) >= 1
    True
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from a step's number to what to do in it.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

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
    """An on_trace_ready that writes Chrome traces to a folder.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder)):
    ...     y = torch.ones(2) + 1
    ...   os.listdir(folder)[0].endswith(".pt.trace.json")
    True
    """

    def write(profiler):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
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
        self._running: _Profile | None = None
        self._finished: _Profile | None = None
        self._metadata: dict = {}
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules

    def start(self):
        """Begin to measure."""
        self._running = _Profile(
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
            with_modules=self.with_modules,
        )
        self._running.__enter__()

    def stop(self):
        """Stop measuring."""
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._finished, self._running = self._running, None

    def _profile(self) -> _Profile:
        found = self._running or self._finished
        if found is None:
            raise AssertionError("the profiler was not started")
        return found

    def events(self):
        """What was measured, in order: operators, nodes of backward passes, ranges of record_function."""
        return self._profile()._events()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ):
        """What was measured, by name; by name and shapes of the inputs, or stacks of so many lines."""
        return self._profile().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str):
        """Write what was measured for chrome://tracing and Perfetto; compressed if the name ends with .gz."""
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "wt") as f:
            json.dump({**trace_of(self.events()), **self._metadata}, f)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total"):
        """Write a line for each stack, for flame graphs; of a profile `with_stack`."""
        self._profile().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None):
        """Write how much memory was held at what time, and for what: a picture (of a path that ends with .html), every
        time that some was taken or freed (raw.json.gz: time, action, bytes, category), or sums of each category at
        each time (.json, .json.gz). Of a profile with `record_shapes`, `profile_memory` and `with_stack`."""
        if not (self.record_shapes and self.profile_memory and self.with_stack):
            raise ValueError("record_shapes=True, profile_memory=True, with_stack=True required for memory profiling.")
        write(path, self._profile().allocations(), device or "cpu")

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
    """Context that measures; with a schedule, in some of the steps that step() counts.

    >>> with torch.profiler.profile() as prof:
    ...   y = torch.ones(2) + 1
    >>> any(event.key == "aten::add" for event in prof.key_averages())
    True
    """

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
        super().__init__(
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )
        self.schedule, self.counts_steps = schedule or _default_schedule_fn, schedule is not None
        self._step: record_function | None = None
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
        self._begin_step()

    def stop(self):
        """Stop; what was measured is ready."""
        self._end_step()
        if self._running is not None:
            super().stop()
            self._ready()

    def _records(self) -> bool:
        return self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def _ready(self):
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self):
        if self.counts_steps and self._running is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def step(self):
        """The next step begins."""
        self._end_step()
        saves = self.current_action is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if saves:
            super().stop()
            self._ready()
        if self._records() and self._running is None:
            super().start()
        self._begin_step()

    def set_custom_trace_id_callback(self, callback):
        """Choose the trace's id."""
        self._trace_id = callback

    def get_trace_id(self):
        """The trace's id, None if nobody chose one."""
        return self._trace_id() if self._trace_id else None
