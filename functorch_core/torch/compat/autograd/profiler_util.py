"""torch.autograd.profiler_util: the records of a profile, and their tables."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from operator import attrgetter
from typing import NamedTuple

ONE_BY_ONE = (
    "Operators were computed one by one while they were measured; without a profiler they run together, as compiled "
    "programs, and take less time in all. Times and memory of what an operator is made of are shares of its own."
)
UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
MAGNITUDES = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


class Interval:
    """A span of time, in microseconds.

    >>> torch.autograd.profiler_util.Interval(1.0, 3.0).elapsed_us()
    2.0
    """

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A device kernel.

    >>> from torch.autograd.profiler_util import Kernel
    >>> Kernel(name="gemm", device=0, duration=3).duration
    3
    """

    name: str
    device: int
    duration: float


class MemRecordsAcc:
    """Memory records by time.

    >>> from torch.autograd.profiler_util import MemRecordsAcc
    >>> list(MemRecordsAcc([]).in_interval(0.0, 1.0))
    []
    """

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda r: r[0].start_ns())

    def in_interval(self, start_us: float, end_us: float):
        """The records between two times."""
        return (r for r in self._records if start_us <= r[0].start_ns() / 1000 <= end_us)


class StringTable(defaultdict):
    """Strings by themselves.

    >>> from torch.autograd.profiler_util import StringTable
    >>> StringTable()["aten::add"]
    'aten::add'
    """

    def __missing__(self, key):
        self[key] = key
        return key


# ---- one event, and the average of several -------------------------------------------------------


def _average(total: str):
    return property(lambda self: getattr(self, total) / self.count if self.count else 0.0)


def _text(time: str):
    return property(lambda self: _format_time(getattr(self, time)))


class FormattedTimesMixin:
    """Times per call, and all times as text, of what has totals and a count.

    >>> with torch.profiler.profile() as prof:
    ...   y = torch.ones(2).sin()
    >>> isinstance(prof.key_averages()[0].cpu_time_str, str)
    True
    """

    cpu_time, device_time = _average("cpu_time_total"), _average("device_time_total")
    cuda_time = device_time
    cpu_time_str, cpu_time_total_str = _text("cpu_time"), _text("cpu_time_total")
    self_cpu_time_total_str = _text("self_cpu_time_total")
    device_time_str, device_time_total_str = _text("device_time"), _text("device_time_total")
    self_device_time_total_str = _text("self_device_time_total")


class FunctionEvent(FormattedTimesMixin):
    """A named range: when it began and ended (microseconds), in which thread, and what it contains.

    >>> from torch.autograd.profiler_util import FunctionEvent
    >>> FunctionEvent(1, "aten::add", 0, 2.0, 5.5).cpu_time_total
    3.5
    """

    count = 1
    device_time_total = self_device_time_total = 0.0
    cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = self_cuda_memory_usage = 0
    is_async, is_remote, is_legacy, use_device, device_index = False, False, False, None, 0
    overload_name = ""

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        input_shapes: list | None = None,
        stack: list[str] | None = None,
        sequence_nr: int = -1,
        node_id: int = -1,
        flops: int | None = None,
        cpu_memory_usage: int = 0,
        is_user_annotation: bool = False,
        concrete_inputs: list | None = None,
    ):
        self.trace_name, name = name, re.sub(r"^ProfilerStep#\d+$", "ProfilerStep*", name)
        self.id, self.name, self.key = id, name, name
        self.time_range, self.thread = Interval(start_us, end_us), thread
        self.input_shapes, self.stack, self.flops = input_shapes, stack or [], flops
        self.concrete_inputs, self.kwinputs = concrete_inputs or [], {}
        self.sequence_nr, self.node_id, self.is_user_annotation = sequence_nr, node_id, is_user_annotation
        self.cpu_memory_usage, self.scope, self.fwd_thread = cpu_memory_usage, 0, 0
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def append_cpu_child(self, child: FunctionEvent):
        """A range that lies within this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent):
        """The range in which this one lies."""
        self.cpu_parent = parent

    def append_kernel(self, name: str, device: int, duration: float):
        """A kernel that it started on a device."""
        self.kernels.append(Kernel(name, device, duration))

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from beginning to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds outside of the ranges it contains."""
        return self.cpu_time_total - sum([c.cpu_time_total for c in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes that it took itself."""
        return self.cpu_memory_usage - sum([c.cpu_memory_usage for c in self.cpu_children])

    def __repr__(self):
        children = [c.id for c in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} cpu_children={children} "
            f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"is_user_annotation={self.is_user_annotation}>"
        )


SUMS = (
    "count",
    "cpu_time_total",
    "self_cpu_time_total",
    "device_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
)


class FunctionEventAvg(FormattedTimesMixin):
    """All ranges of one name together, or of one name and equal shapes or stacks.

    >>> with torch.profiler.profile() as prof:
    ...   for _ in range(3): y = torch.ones(2).sin()
    >>> [event.count for event in prof.key_averages() if event.key == "aten::sin"]
    [3]
    """

    def __init__(self):
        self.key = self.input_shapes = self.stack = self.scope = self.use_device = None
        self.cpu_children = self.cpu_parent = self.overload_name = None
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.flops = 0
        for name in SUMS:
            setattr(self, name, 0)

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count another; of the first it has the name, the shapes and the stack."""
        if self.key is None:
            for name in ("key", "input_shapes", "stack", "is_user_annotation", "cpu_parent"):
                setattr(self, name, getattr(other, name))
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes or ''} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


# ---- lists of them -------------------------------------------------------------------------------


class EventList(list):
    """Ranges in the order in which they began, or averages of them.

    >>> with torch.profiler.profile() as prof:
    ...   y = torch.ones(2).sin()
    >>> type(prof.events()).__name__, len(prof.events()) > 0
    ('EventList', True)
    """

    supported_export_stacks_metrics = ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total")

    def __init__(self, *args, profile_memory: bool = False, with_flops: bool = False, total: float = 0.0, **_):
        super().__init__(*args)
        self._profile_memory, self._with_flops, self._total = profile_memory, with_flops, total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all ranges, each counted once."""
        return sum([e.self_cpu_time_total for e in self])

    def _like(self, events) -> EventList:
        return EventList(
            events, profile_memory=self._profile_memory, with_flops=self._with_flops, total=self.self_cpu_time_total
        )

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One average for each name; for each name and each shape of the inputs, or each stack of so many lines."""
        found: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                str(event.input_shapes) if group_by_input_shapes else None,
                tuple(event.stack[:group_by_stack_n]),
            )
            found.setdefault(key, FunctionEventAvg()).add(event)
        for average in found.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return self._like(found.values())

    def total_average(self) -> FunctionEventAvg:
        """One average of everything."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def __str__(self):
        return self.table()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table with a row for each entry, as PyTorch's: the largest by `sort_by` first, at most `row_limit` rows
        (-1: all); of the kinds of devices, as in "self_cuda_time_total", one speaks as "device". `time_unit` is "us",
        "ms" or "s"; None chooses for each number."""
        if not self:
            return ""
        if sort_by is not None:
            sort_by = re.sub("cuda|xpu|privateuse1", "device", sort_by)
        rows = sorted(self, key=attrgetter(sort_by), reverse=True) if sort_by is not None else list(self)
        if top_level_events_only:
            rows = [e for e in rows if e.cpu_parent is None]
        rows = rows if row_limit < 0 else rows[:row_limit]
        widths = {"Name": max_name_column_width, "Input Shapes": max_shapes_column_width}
        widths["Source Location"] = max_src_column_width
        return _table(self._columns(rows, self.self_cpu_time_total, time_unit), widths, header) + (
            f"Self CPU time total: {_format_time(self.self_cpu_time_total, time_unit)}\n\n{ONE_BY_ONE}\n"
        )

    def _columns(self, rows: list, total: float, unit: str | None) -> list[tuple[str, list[str]]]:
        """The columns: heading, and a cell for each row."""

        def times(name: str) -> list[str]:
            return [_format_time(getattr(e, name), unit) for e in rows]

        def shares(name: str) -> list[str]:
            return [_share(getattr(e, name), total) for e in rows]

        columns = [("Name", [e.key for e in rows])]
        columns += [("Self CPU %", shares("self_cpu_time_total")), ("Self CPU", times("self_cpu_time_total"))]
        columns += [("CPU total %", shares("cpu_time_total")), ("CPU total", times("cpu_time_total"))]
        columns += [("CPU time avg", times("cpu_time"))]
        if self._profile_memory:
            columns += [("CPU Mem", [_format_memory(e.cpu_memory_usage) for e in rows])]
            columns += [("Self CPU Mem", [_format_memory(e.self_cpu_memory_usage) for e in rows])]
        columns += [("# of Calls", [str(e.count) for e in rows])]
        if any(e.input_shapes for e in rows):
            columns += [("Input Shapes", [str(e.input_shapes) for e in rows])]
        if any(e.stack for e in rows):
            columns += [("Source Location", ["\n".join(e.stack) for e in rows])]
        if self._with_flops:
            largest = max([e.flops or 0 for e in rows], default=0)
            power = max(0, min((len(str(largest)) - 1) // 3, len(MAGNITUDES) - 1))
            cells = [f"{e.flops / 1000**power:8.3f}" if e.flops else "--" for e in rows]
            columns += [(f"Total {MAGNITUDES[power]}", cells)]
        return columns

    def export_chrome_trace(self, path: str):
        """Write the ranges as a trace for chrome://tracing and Perfetto."""
        with open(path, "w") as file:
            json.dump(trace_of(self), file)

    def export_stacks(self, path: str, metric: str):
        """Write a line for each stack with what `metric` says of it, in microseconds: for flame graphs."""
        if metric not in self.supported_export_stacks_metrics:
            raise ValueError(f"metric should be one of: {list(self.supported_export_stacks_metrics)}")
        blank = str.maketrans(" ;\t\n", "____")
        found: dict[str, int] = defaultdict(int)
        for event in self:
            if event.stack:
                stack = [line.translate(blank) for line in reversed(event.stack)]
                found[";".join(stack)] += int(getattr(event, metric))
        lines = [f"{stack} {value}\n" for stack, value in found.items() if value > 0]
        with open(path, "w") as file:
            file.writelines(lines)


def trace_of(events) -> dict:
    """What a Chrome trace of ranges says.

    >>> from torch.autograd.profiler_util import trace_of
    >>> with torch.profiler.profile() as prof:
    ...   y = torch.ones(2).sin()
    >>> [event["name"] for event in trace_of(prof.events())["traceEvents"]]
    ['aten::ones', 'aten::empty', 'aten::fill_', 'aten::sin']
    """
    process = os.getpid()
    listed = [
        {
            "ph": "X",
            "cat": "user_annotation" if e.is_user_annotation else "cpu_op",
            "name": e.trace_name,
            "pid": process,
            "tid": e.thread,
            "ts": e.time_range.start,
            "dur": e.time_range.elapsed_us(),
            "args": {"External id": e.id, "Sequence number": e.sequence_nr, **_inputs(e)},
        }
        for e in events
    ]
    return {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": listed}


def _inputs(event) -> dict:
    return {"Input Dims": event.input_shapes} if event.input_shapes else {}


# ---- tables --------------------------------------------------------------------------------------


def _table(columns: list[tuple[str, list[str]]], limits: dict[str, int], header: str | None) -> str:
    shown = []
    for title, cells in columns:
        split = [cell.split("\n") for cell in cells]
        width = max([len(line) for lines in split for line in lines], default=0) + 4
        if title in limits:
            width = min(max(width, len(title) + 4), limits[title])
        else:
            width = max(len(title), 12)
        shown.append((title, [[_cut(line, width) for line in lines] for lines in split], width))
    rule = "  ".join(["-" * width for _, _, width in shown]) + "  "
    lines = ["=" * len(rule), header] if header else []
    lines += [rule, "  ".join([f"{title:>{width}}" for title, _, width in shown]) + "  ", rule]
    for i in range(len(columns[0][1])):
        for k in range(max([len(cells[i]) for _, cells, _ in shown])):
            parts = [(cells[i][k] if k < len(cells[i]) else "", width) for _, cells, width in shown]
            lines.append("  ".join([f"{text:>{width}}" for text, width in parts]) + "  ")
    return "\n".join([*lines, rule, ""])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width or width <= 3 else text[: width - 3] + "..."


def _share(part: float, total: float) -> str:
    return f"{part / total * 100:.2f}%" if total else "NaN"


def _format_time(us: float, unit: str | None = None) -> str:
    if unit is None:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    if unit not in ("s", "ms", "us"):
        raise ValueError(f"time_unit is 's', 'ms' or 'us', not {unit!r}")
    return f"{us / {'s': 1e6, 'ms': 1e3, 'us': 1}[unit]:.3f}{unit}"


def _format_memory(n: int) -> str:
    for size, name in UNITS:
        if abs(n) >= size:
            return f"{n / size:.2f} {name}"
    return f"{n} B"
