"""torch.utils.benchmark: instructions that a statement takes, by the functions that they are in."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .measurement import TaskSpec

SHOWN, WIDTH, SHORTEST = 9, 80, 40  # rows at either end, characters of a line, and of a function at least
# Where in a path the part begins that is the same wherever a library was built.
ROOTS = re.compile(r"^.*(?<!\w)(?=(?:build/aten|Python|Objects)/)")
LIBRARY = re.compile(r"\s\[.+\]$")
NOISE = "dictobject.c:lookdict_unicode"  # how long it takes follows from the hashes of strings
NO_SYMBOLS = "Note: functions of libraries without debug symbols are known by their names alone, or not at all."


class FunctionCount(NamedTuple):
    """How many instructions a function took.

    >>> torch.utils.benchmark.FunctionCount(3, "malloc.c:malloc").count
    3
    """

    count: int
    function: str


@dataclasses.dataclass(repr=False, eq=False, frozen=True)
class FunctionCounts:
    """The instructions of several functions, as a container of `FunctionCount`; inclusive: with those of what they
    call. The sums of exclusive ones mean something.

    >>> from torch.utils.benchmark import FunctionCount, FunctionCounts
    >>> counts = FunctionCounts((FunctionCount(3, "a.c:f"), FunctionCount(1, "b.c:g")), inclusive=False)
    >>> (counts - counts.filter(lambda f: f.endswith("g"))).sum()
    3
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: int | None = None

    def __iter__(self) -> Iterator[FunctionCount]:
        yield from self._data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, item: int | slice) -> FunctionCounts:
        found = self._data[item] if isinstance(item, slice) else (self._data[item],)
        return dataclasses.replace(self, _data=found, truncate_rows=False)

    def __repr__(self) -> str:
        digits = max([len(str(count)) for count, _ in self], default=0) + any([count < 0 for count, _ in self])
        width = max((self._linewidth or WIDTH) - digits - 4, SHORTEST)
        lines = [f"  {count:>{digits}}  {_shortened(function, width)}" for count, function in self]
        if self.truncate_rows and len(lines) > 2 * SHOWN:
            lines = [*lines[:SHOWN], "...".rjust(digits + 2), *lines[-SHOWN:]]
        total = [] if self.inclusive else ["", f"Total: {self.sum()}"]
        return "\n".join([super().__repr__(), *lines, *total])

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merged(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._merged(other, -1)

    def __mul__(self, factor: int) -> FunctionCounts:
        return self._of((count * factor, function) for count, function in self)

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """The same with other names; what then has one name is added up."""
        return self._of((count, map_fn(function)) for count, function in self)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """The functions for whose names `filter_fn` is true."""
        return self._of((count, function) for count, function in self if filter_fn(function))

    def sum(self) -> int:
        """All instructions."""
        return sum([count for count, _ in self])

    def denoise(self) -> FunctionCounts:
        """Without functions that take longer or shorter by chance."""
        return self.filter(lambda function: NOISE not in function)

    def _merged(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive is not other.inclusive:
            raise AssertionError("Cannot merge inclusive and exclusive counts.")
        return self._of([*self, *[(sign * count, function) for count, function in other]])

    def _of(self, counts: Iterable[tuple[int, str]]) -> FunctionCounts:
        return added_up(counts, self.inclusive, self.truncate_rows, self._linewidth)


def added_up(counts: Iterable[tuple[int, str]], inclusive: bool, *options) -> FunctionCounts:
    """Counts by function, the largest first."""
    found: dict[str, int] = {}
    for count, function in counts:
        found[function] = found.get(function, 0) + count
    rows = sorted([FunctionCount(count, function) for function, count in found.items() if count], reverse=True)
    return FunctionCounts(tuple(rows), inclusive, *options)


def _shortened(function: str, width: int) -> str:
    """Of a name that is too long, the beginning and the end."""
    left, right = (width - 5) // 2, (width - 4) // 2
    return function if len(function) <= width else f"{function[:left]} ... {function[-right:]}"


def _anywhere(function: str) -> str:
    """The name without where a library lies, and where it was built."""
    return ROOTS.sub("", LIBRARY.sub("", function))


@dataclasses.dataclass(repr=False, eq=False, frozen=True)
class CallgrindStats:
    """The instructions of a statement (`Timer.collect_callgrind`), and of a loop without one (the baseline).

    >>> from torch.utils.benchmark import CallgrindStats, FunctionCount, FunctionCounts, Timer
    >>> none = FunctionCounts((), False)
    >>> some = FunctionCounts((FunctionCount(7, "Objects/longobject.c:long_add"),), False)
    >>> CallgrindStats(Timer("1 + x", "x = 2")._task_spec, 1, True, none, none, some, some, None).counts()
    7
    """

    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def __repr__(self) -> str:
        base, threads = self.baseline_exclusive_stats, self.task_spec.num_threads
        counts = (self.counts(), self.counts(denoise=True)), (base.sum(), base.denoise().sum())
        lines = [super().__repr__(), self.task_spec.summarize(), f"{'All':>30}{'Noisy symbols removed':>31}"]
        lines += [f"    {name:<13}{a:>13}{b:>27}" for name, (a, b) in zip(("Instructions:", "Baseline:"), counts)]
        lines += [f"{self.number_per_run} runs per measurement, {threads} thread{'s' if threads > 1 else ''}"]
        return "\n".join(lines + [NO_SYMBOLS] * (not self.built_with_debug_symbols))

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """The instructions of each function; inclusive: with those of what it calls."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """All instructions; `denoise`: without functions that take longer or shorter by chance."""
        found = self.stmt_exclusive_stats
        return (found.denoise() if denoise else found).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """How many more instructions each function took than in another measurement."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> CallgrindStats:
        """The same with names that do not tell where libraries lie: for `delta` with what was measured elsewhere."""
        parts = ("baseline_inclusive_stats", "baseline_exclusive_stats", "stmt_inclusive_stats", "stmt_exclusive_stats")
        return dataclasses.replace(self, **{name: getattr(self, name).transform(_anywhere) for name in parts})
