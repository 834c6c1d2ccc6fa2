"""torch.utils.benchmark.Timer."""

from __future__ import annotations

import textwrap
import time
import timeit as _timeit
from collections.abc import Callable

from .....engine import flush
from .callgrind import CopyIfCallgrind, collect
from .instructions import CallgrindStats
from .measurement import Measurement, TaskSpec


def timer() -> float:
    """The time after everything recorded has been computed.

    >>> import torch.utils.benchmark
    >>> torch.utils.benchmark.timer() < torch.utils.benchmark.timer()
    True
    """
    flush("a timer was read")
    return time.perf_counter()


class Timer:
    """Times a statement.

    >>> m = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}).timeit(10)
    >>> m.median > 0
    True
    """

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer: Callable = timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language="python",
    ):
        if str(getattr(language, "value", language)).lower() not in ("python", "py"):
            raise NotImplementedError("torch.utils.benchmark.Timer times Python only")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        names = {"torch": __import__("functorch_core.torch", fromlist=["torch"])}
        self._globals = dict(globals or {})
        self._timer = _timeit.Timer(stmt, setup, timer, {**names, **CopyIfCallgrind.unwrap_all(self._globals)})
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The mean time of a number of runs, after a few to warm up."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def blocked_autorange(self, callback=None, min_run_time: float = 0.2) -> Measurement:
        """Runs in blocks long enough to time well, for a total time."""
        number = 1
        while (taken := self._timer.timeit(number)) < min_run_time / 100 and number < 10**6:
            number *= 10
        times, total = [], 0.0
        while total < min_run_time or not times:
            times.append(self._timer.timeit(number))
            total += times[-1] or taken or 1e-9
        return Measurement(number, times, self._task_spec)

    def autorange(self, callback=None) -> Measurement:
        """blocked_autorange."""
        return self.blocked_autorange(callback)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None) -> Measurement:
        """Blocks of runs until their times agree or the time is up."""
        found, total = self.blocked_autorange(callback, min_run_time), min_run_time
        while found.iqr > threshold * found.median and total < max_run_time:
            found.raw_times += self.blocked_autorange(callback, min_run_time).raw_times
            total += min_run_time
        return found

    def collect_callgrind(
        self, number: int = 100, *, repeats: int | None = None, collect_baseline: bool = True, retain_out_file=False
    ) -> CallgrindStats | tuple[CallgrindStats, ...]:
        """How many instructions `number` runs take, function by function: counted by valgrind in another process, to
        which `globals` go in `CopyIfCallgrind`. With `repeats` a tuple of so many measurements. OSError where valgrind
        is not installed; takes a minute."""
        if not isinstance(self._task_spec.stmt, str):
            raise ValueError("`collect_callgrind` currently only supports string `stmt`")
        found = collect(self._task_spec, self._globals, number, repeats or 1, collect_baseline, retain_out_file)
        return found[0] if repeats is None else tuple(found)
