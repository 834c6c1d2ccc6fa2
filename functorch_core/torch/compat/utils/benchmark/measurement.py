"""torch.utils.benchmark.Measurement: the times of a statement, and what they were taken of."""

from __future__ import annotations

import dataclasses
import math
import statistics
import textwrap
from typing import Any

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def select_unit(t: float) -> tuple[str, float]:
    """The name and the seconds of the greatest unit that is not above a time.

    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    return next(((name, scale) for name, scale in UNITS if t >= scale), UNITS[-1])


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is timed.

    >>> import torch.utils.benchmark as benchmark
    >>> benchmark.Timer("x + 1", label="sum", globals={"x": torch.ones(2)}).timeit(1).task_spec.label
    'sum'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and the second label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n" + textwrap.indent(self.stmt, "  ")

    def setup_str(self) -> str:
        """The setup as a line of a report."""
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" in self.setup:
            return "setup:\n" + textwrap.indent(self.setup, "  ")
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a line each; a blank one after what has several."""
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of a statement: `raw_times` are seconds for `number_per_run` runs, `times` for one.

    >>> import torch.utils.benchmark as benchmark
    >>> measured = benchmark.Timer("x + 1", globals={"x": torch.ones(2)}).timeit(5)
    >>> measured.median > 0, measured.number_per_run
    (True, 5)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str):
        if name in TaskSpec.__dataclass_fields__ or name == "title":
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds per run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median time."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean time."""
        return statistics.fmean(self.times)

    def _quartiles(self) -> tuple[float, float]:
        if len(self.raw_times) < 2:
            return self.median, self.median
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return first, third

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        first, third = self._quartiles()
        return third - first

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something: between 1 and 3."""
        if not self.median or not self.iqr:
            return 3
        return min(3, max(1, int(math.log10(self.median / self.iqr))))

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary by more than a tenth."""
        return self.iqr > 0.1 * self.median

    @property
    def as_row_name(self) -> str:
        """What a row of a table is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self):
        unit, scale = select_unit(self.median)
        n, threads = len(self.raw_times), self.num_threads
        lines = [super().__repr__(), self.task_spec.summarize()]
        if n > 1:
            first, third = (t / scale for t in self._quartiles())
            lines += [
                f"  Median: {self.median / scale:.2f} {unit}",
                f"  IQR:    {self.iqr / scale:.2f} {unit} ({first:.2f} to {third:.2f})",
            ]
        else:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        lines.append(
            f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} runs "
            f"{'per measurement, ' if n > 1 else ', '}{threads} "
            f"thread{'s' * (threads > 1)}"
        )
        return "\n".join(lines)

    @staticmethod
    def merge(measurements) -> list[Measurement]:
        """The measurements of each task as one, of times per run."""
        grouped: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            grouped.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, spec) for spec, times in grouped.items()]
