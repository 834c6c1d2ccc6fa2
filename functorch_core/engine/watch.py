"""engine.explain(): which programs ran, what was compiled and why, where time and memory went.

What the engine keeps anyway (plans, how often each was seen, compilations) it tells at any time. Times are taken
while the explanation is a context: until then nobody asks, and nothing is slower.
"""

from __future__ import annotations

import collections
import math
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .. import xla
from . import programs, report
from .compiling import Program
from .history import Compilation, callers_line, compilations, difference, other_operations, place_of
from .modes import set_tier, settings
from .recorder import Recording, flush, hooks
from .stats import stats
from .units import Unit

SAMPLED = 32  # from so many runs on, memory is looked at after every 16th
ALIKE = 4  # so many kinds of recordings from one line, seldom seen again, are worth a word
PROGRAM, OPS, NUMPY = "program", "op programs", "NumPy"
PARTS = ("Python", NUMPY, OPS, PROGRAM, "compiling")


class Run(NamedTuple):
    """One flush, or one call of a compiled function: seconds by part, those of Python before it first."""

    python: float
    by: str
    seconds: float
    compiling: float


class Row:
    """What is told of one kind of recording, or of one compiled function."""

    def __init__(self, place: str, ops: int | None, note: str = "") -> None:
        self.place, self.ops, self.note = place, ops, note
        self.runs: collections.Counter[str] = collections.Counter()  # by what computed it
        self.seconds = 0.0


class Watch:
    """Times the flushes and the calls of compiled functions of all threads, from `start` to `stop`.

    Each program is waited for, so that its time can be told from Python's, which else overlap.
    """

    def __init__(self, steps: int) -> None:
        self.last: collections.deque[Run] = collections.deque(maxlen=steps)
        self.totals = dict.fromkeys(PARTS, 0.0)
        self.rows: dict[Any, Row] = {}
        self.causes: collections.Counter[tuple[str, str]] = collections.Counter()
        self.most_bytes = self.runs = 0
        self.began = self.ended = 0.0

    def start(self) -> None:
        """Watch from now on; what was called before is computed first."""
        flush("explain() begins")
        self.thread, self.inside = threading.get_ident(), False
        self.outer, self._compute = settings.watch, hooks.compute
        hooks.compute, settings.watch = self._timed, self
        set_tier(settings.tier)
        self.began = self._until = time.perf_counter()

    def stop(self) -> None:
        """Watch no more; what was called is computed."""
        flush("explain() ends")
        self.ended = time.perf_counter()
        self._account(self.ended, self.ended, PROGRAM, 0.0)
        self.last.pop()  # what Python did after the last run is none
        hooks.compute, settings.watch = self._compute, self.outer
        set_tier(settings.tier)

    @property
    def seconds(self) -> float:
        """How long it has watched."""
        return (self.ended or time.perf_counter()) - self.began

    # ---- what is timed

    def _timed(self, recording: Recording, why: str, tier: str | None) -> None:
        if self.inside:  # by a callback of a program, whose time it is
            return self._compute(recording, why, tier)
        values = [weakref.ref(v) for v in recording.values]  # references would count: results nobody needs are not made
        key, place, n = tuple(recording.signature), place_of(recording.sources), len(recording.sources) // 2
        self.causes[why, callers_line()] += 1
        before, start, self.inside = stats(), time.perf_counter(), True
        try:
            self._compute(recording, why, tier)
            _wait(values)
        finally:
            self.inside = False
        self._ran(key, Row(place, n), _by(before, stats()), start)

    def run(self, program: Program, buffers: list[Any], name: str) -> list[Any]:
        """Run a compiled function's program."""
        start = time.perf_counter()
        outs = program(buffers) if self.outer is None else self.outer.run(program, buffers, name)
        for out in outs[:1]:
            xla.block(out)
        self._ran(program, Row(f"jit({name})", None), PROGRAM, start)
        return outs

    def _ran(self, key: Any, row: Row, by: str, start: float) -> None:
        end = time.perf_counter()
        compiling = _covered(self._waited_for(by, start, end), start, end)
        row = self.rows.setdefault(key, row)
        row.runs[by] += 1
        row.seconds += end - start - compiling
        self.runs += 1
        if self.runs <= SAMPLED or self.runs % 16 == 0:
            self.most_bytes = max(self.most_bytes, _held()[0])
        if threading.get_ident() == self.thread:
            self._account(start, end, by, compiling)

    def _waited_for(self, by: str, start: float, end: float) -> list[Compilation]:
        """The compilations that a run waited for: its thread's own, and in the background that of its program."""
        own, joined = threading.get_ident(), by == PROGRAM
        return [c for c in compilations if c.thread == own or joined and start < c.began + c.seconds <= end]

    def _account(self, start: float, end: float, by: str, compiling: float) -> None:
        """Add a run of the watched thread, and what Python did since the one before."""
        waited = _covered([c for c in compilations if c.thread == self.thread], self._until, start)
        run = Run(start - self._until - waited, by, end - start - compiling, waited + compiling)
        self.last.append(run)
        self.totals["Python"] += run.python
        self.totals[by] += run.seconds
        self.totals["compiling"] += run.compiling
        self._until = time.perf_counter()


def _by(before: dict[str, float], after: dict[str, float]) -> str:
    if after["fused_runs"] > before["fused_runs"]:
        return PROGRAM
    return OPS if after["op_runs"] > before["op_runs"] else NUMPY


def _wait(values: list[weakref.ref[Any]]) -> None:
    """Wait for a result; those of one program are there together."""
    for ref in reversed(values):
        value = ref()
        data = getattr(value, "data", None)
        if isinstance(data, xla.Buffer) and not data.is_deleted():
            xla.block(data)
            return


def _covered(events: Iterable[Compilation], start: float, end: float) -> float:
    """How much of a span of time is covered by compilations, of which some may run side by side."""
    found, until = 0.0, start
    for began, ended in sorted((c.began, c.began + c.seconds) for c in events):
        found += max(0.0, min(ended, end) - max(began, until))
        until = max(until, ended)
    return found


def _held() -> tuple[int, int]:
    """The bytes and the number of the buffers that exist."""
    buffers = xla.live_buffers() if xla.has_client() else []
    return sum([b.aval.size * b.aval.element.itemsize for b in buffers]), len(buffers)


# ---- what is told ----------------------------------------------------------------------------------


class Explanation:
    """What `explain` gives: print it, let a notebook show it, or use it as a context to have times, too.

    >>> from functorch_core import engine
    >>> with engine.explain() as found:
    ...   y = fc.ones(3) + 1
    >>> isinstance(found, engine.Explanation)
    True
    """

    def __init__(self, steps: int) -> None:
        self.steps, self.watch = steps, Watch(steps)
        self.since = 0.0

    def __enter__(self) -> Explanation:
        self.watch = Watch(self.steps)
        self.watch.start()
        self.since = self.watch.began
        return self

    def __exit__(self, *exc: Any) -> None:
        self.watch.stop()

    @property
    def has_times(self) -> bool:
        """Whether it was used as a context."""
        return self.since > 0

    @property
    def totals(self) -> dict[str, float]:
        """Seconds by part: Python, NumPy, programs of single ops, programs, waiting for the compiler."""
        return dict(self.watch.totals)

    @property
    def compilations(self) -> list[Compilation]:
        """What was compiled or loaded from the disk: all of the process, or since the context was entered."""
        until = self.watch.ended or math.inf
        return [c for c in compilations if self.since <= c.began <= until]

    @property
    def rows(self) -> list[Row]:
        """Kinds of recordings and compiled functions that ran: the dearest first, or those seen most."""
        if not self.has_times:
            return sorted(_rows_of_plans().values(), key=lambda row: -sum(row.runs.values()))
        plans = _rows_of_plans()
        for key, row in self.watch.rows.items():
            row.note = plans[key].note if key in plans else ""
        return sorted(self.watch.rows.values(), key=lambda row: -row.seconds)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes and number of buffers that are held, the most that were, and what the largest program needs beside."""
        held, buffers = _held()
        found = [plan.program for plan in list(programs._plans.values()) if plan.program is not None]
        executables = [executable for program in found for executable in program.executables]
        temporary = max([e.memory_analysis()["temp"] for e in executables], default=0)
        return {"held": held, "buffers": buffers, "most": max(held, self.watch.most_bytes), "temporary": temporary}

    @property
    def advice(self) -> list[str]:
        """What may be worth changing in the program."""
        return [*_many_kinds(set(self.watch.rows) if self.has_times else None), *self._of_compiling()]

    def _of_compiling(self) -> list[str]:
        seconds, found = self.watch.seconds if self.has_times else 0.0, self.totals["compiling"]
        if found > 0.5 * seconds > 0 and any(not c.from_disk for c in self.compilations):
            return ["Most of the time went into compiling. What was compiled is kept on the disk: run it again."]
        return []

    def __str__(self) -> str:
        return report.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return report.html(self)


def explain(steps: int = 60) -> Explanation:
    """Why it is as slow as it is: which programs ran, what was compiled and why, where time and memory went.

    `print(explain())` tells of the whole process what the engine knows without having measured: how often each kind
    of recording was seen and what computes it, each compilation with its cause and the user's lines, memory. As a
    context it takes times, too; programs are waited for then, so that their time is told from Python's. `steps`: how
    many of the last runs the picture shows, which notebooks draw.

    >>> import functorch_core as fc
    >>> with fc.engine.explain() as why:
    ...     total = float(fc.sum(fc.arange(3.)))
    >>> print(str(why).splitlines()[0])
    1 run in ... s, 1 kind
    >>> fc.engine.explain().memory["held"] >= 0
    True
    """
    return Explanation(steps)


def _rows_of_plans() -> dict[Any, Row]:
    """All recordings that are remembered, by signature."""
    rows: dict[Any, Row] = {}
    for key, plan in list(programs._plans.items()):
        row = rows.setdefault(key[0], Row(place_of(plan.lines), plan.ops))
        row.note = _note(plan)
        row.runs[PROGRAM if plan.program is not None else NUMPY] += plan.sightings
    return rows


def _note(plan: programs.Plan) -> str:
    """When a recording is compiled, if it is not."""
    if plan.program is not None:
        return ""
    if math.isinf(plan.threshold):
        return "NumPy is quicker than a program"
    return f"seen {plan.sightings} times, compiled when seen {math.ceil(plan.threshold)} times"


def _many_kinds(only: set[Any] | None) -> list[str]:
    """Lines that record ever other operations or shapes, so that nothing is worth compiling."""
    by_line: dict[Any, list[tuple[Any, programs.Plan]]] = {}
    for key, plan in list(programs._plans.items()):
        if only is None or key[0] in only:
            by_line.setdefault(tuple(plan.lines[:2]), []).append((key[0], plan))
    found = []
    for plans in by_line.values():
        kinds, runs = len({signature for signature, _ in plans}), sum(plan.sightings for _, plan in plans)
        if kinds >= ALIKE and runs < 4 * kinds:
            (one, _), (other, plan) = plans[-2:]
            what = _difference(_units(one), _units(other))
            found.append(
                f"{kinds} kinds of recordings began at {place_of(plan.lines)}, in {runs} runs, so that few are worth "
                f"compiling{'; the last two: ' * bool(what)}{what}. Sizes that recur (batches padded, or of a few "
                "lengths) are computed by one program each."
            )
    return found


def _units(signature: Sequence[int]) -> list[Unit]:
    recording = Recording(0)
    recording.signature = list(signature)
    return [unit for unit, _ in recording.calls()]


def _difference(before: list[Unit], units: list[Unit]) -> str:
    same = [u.name for u in before] == [u.name for u in units]
    return difference(before, units, []) if same else other_operations(before, units, [])
