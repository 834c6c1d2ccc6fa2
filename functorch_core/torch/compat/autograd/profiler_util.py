"""torch.autograd.profiler_util: the records of a profile, and their table."""

from __future__ import annotations

import json
from collections import defaultdict
from operator import attrgetter
from typing import NamedTuple

from ....core.warn import warn

NO_OPERATORS = (
    "Single operators are not measured: they are recorded and computed together, as one program. The ranges that "
    "torch.profiler.record_function marks are."
)


class Interval:
    """A span of time, in microseconds."""

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A device kernel."""

    name: str
    device: int
    duration: float


class MemRecordsAcc:
    """Memory records by time."""

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda r: r[0].start_ns())

    def in_interval(self, start_us: float, end_us: float):
        """The records between two times."""
        return (r for r in self._records if start_us <= r[0].start_ns() / 1000 <= end_us)


class StringTable(defaultdict):
    """Strings by themselves."""

    def __missing__(self, key):
        self[key] = key
        return key


class FunctionEvent:
    """A named range: when it began and ended, in which thread, and what it contains."""

    def __init__(self, name: str, start_us: float, end_us: float, thread: int = 0):
        self.name = self.key = name
        self.time_range, self.thread = Interval(start_us, end_us), thread
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent = None
        self.count = 1
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from beginning to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds outside the ranges it contains."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self):
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time_total:.3f}us>"


class FunctionEventAvg:
    """All ranges of one name together."""

    def __init__(self, key: str):
        self.key, self.count = key, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0

    def add(self, event: FunctionEvent):
        """Count one more range."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    @property
    def cpu_time(self) -> float:
        """Microseconds of one range on average."""
        return self.cpu_time_total / self.count if self.count else 0.0


class EventList(list):
    """Ranges, or averages of them."""

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all ranges, each counted once."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, *args, **kwargs) -> EventList:
        """One average for each name."""
        found: dict[str, FunctionEventAvg] = {}
        for event in self:
            found.setdefault(event.key, FunctionEventAvg(event.key)).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """One average of everything."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, *args, **kwargs) -> str:
        """A table with a row for each entry."""
        rows = sorted(self, key=attrgetter(sort_by), reverse=True) if sort_by else list(self)
        width = max([len(r.key) for r in rows] + [4])
        line = f"{'-' * width}  {'-' * 12}  {'-' * 12}  {'-' * 10}"
        out = [line, f"{'Name':>{width}}  {'Self CPU':>12}  {'CPU total':>12}  {'# of Calls':>10}", line]
        for r in rows[: None if row_limit < 0 else row_limit]:
            own, total = _format_time(r.self_cpu_time_total), _format_time(r.cpu_time_total)
            out.append(f"{r.key:>{width}}  {own:>12}  {total:>12}  {r.count:>10}")
        out += [line, f"Self CPU time total: {_format_time(self.self_cpu_time_total)}", NO_OPERATORS]
        if not rows:
            warn(NO_OPERATORS)
        return "\n".join(out) + "\n"

    def export_chrome_trace(self, path: str):
        """Write the ranges as a trace for chrome://tracing."""
        events = [
            {
                "name": e.name,
                "ph": "X",
                "ts": e.time_range.start,
                "dur": e.time_range.elapsed_us(),
                "tid": e.thread,
                "pid": 0,
                "args": {},
            }
            for e in self
        ]
        with open(path, "w") as file:
            json.dump({"traceEvents": events}, file)


def _format_time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"
