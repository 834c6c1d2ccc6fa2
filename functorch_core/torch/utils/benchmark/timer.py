"""torch.utils.benchmark.Timer."""
from __future__ import annotations

import statistics
import textwrap
import time
import timeit as _timeit
from collections.abc import Callable

from ....engine import flush


def timer() -> float:
    """The time after everything recorded has been computed."""
    flush("a timer was read")
    return time.perf_counter()


class Measurement:
    """Times of a statement: `times` are seconds per run."""

    def __init__(self, number_per_run: int, raw_times: list[float], label=None, sub_label=None,
                 description=None, num_threads: int = 1, stmt: str = ""):
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.label, self.sub_label, self.description = label, sub_label, description
        self.num_threads, self.stmt, self.metadata = num_threads, stmt, None

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

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        if len(self.raw_times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something: between 1 and 3."""
        import math
        if not self.median or not self.iqr:
            return 3
        return min(3, max(1, int(math.log10(self.median / self.iqr)) + 1))

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary by more than a tenth."""
        return self.iqr > 0.1 * self.median

    @property
    def title(self) -> str:
        """The label, or the statement."""
        return ": ".join(filter(None, (self.label or self.stmt, self.sub_label)))

    def __repr__(self):
        for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
            if self.median >= scale:
                break
        runs = f"{len(self.raw_times)} measurements, {self.number_per_run} runs per measurement"
        return (f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>\n"
                f"{self.title}\n  Median: {self.median / scale:.2f} {unit}\n"
                f"  IQR:    {self.iqr / scale:.2f} {unit}\n  {runs}, {self.num_threads} thread")

    @staticmethod
    def merge(measurements) -> list[Measurement]:
        """Measurements of the same statement as one each."""
        grouped: dict[tuple, Measurement] = {}
        for m in measurements:
            key = m.title, m.description, m.num_threads, m.number_per_run
            if key in grouped:
                grouped[key].raw_times.extend(m.raw_times)
            else:
                grouped[key] = Measurement(m.number_per_run, list(m.raw_times), m.label,
                                           m.sub_label, m.description, m.num_threads, m.stmt)
        return list(grouped.values())


class Timer:
    """Times a statement.

    >>> m = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}).timeit(10)
    >>> m.median > 0
    True
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer: Callable = timer,
                 globals=None, label=None, sub_label=None, description=None, env=None,
                 num_threads=1, language="python"):
        if str(getattr(language, "value", language)).lower() not in ("python", "py"):
            raise NotImplementedError("torch.utils.benchmark.Timer times Python only")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        names = {"torch": __import__("functorch_core.torch", fromlist=["torch"])}
        self._timer = _timeit.Timer(stmt, setup, timer, {**names, **(globals or {})})
        self._about = {"label": label, "sub_label": sub_label, "description": description,
                       "num_threads": num_threads, "stmt": stmt}

    def timeit(self, number: int = 1000000) -> Measurement:
        """The mean time of a number of runs, after a few to warm up."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], **self._about)

    def blocked_autorange(self, callback=None, min_run_time: float = 0.2) -> Measurement:
        """Runs in blocks long enough to time well, for a total time."""
        number = 1
        while (taken := self._timer.timeit(number)) < min_run_time / 100 and number < 10 ** 6:
            number *= 10
        times, total = [], 0.0
        while total < min_run_time or not times:
            times.append(self._timer.timeit(number))
            total += times[-1] or taken or 1e-9
        return Measurement(number, times, **self._about)

    def autorange(self, callback=None) -> Measurement:
        """blocked_autorange."""
        return self.blocked_autorange(callback)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0,
                           callback=None) -> Measurement:
        """Blocks of runs until their times agree or the time is up."""
        found, total = self.blocked_autorange(callback, min_run_time), min_run_time
        while found.iqr > threshold * found.median and total < max_run_time:
            found.raw_times += self.blocked_autorange(callback, min_run_time).raw_times
            total += min_run_time
        return found

    def collect_callgrind(self, *args, **kwargs):
        """Not implemented: it counts the instructions of PyTorch's own libraries."""
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind")
