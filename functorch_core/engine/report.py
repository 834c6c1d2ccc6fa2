"""What `explain` knows, as text and as a picture."""

from __future__ import annotations

import html as escaping
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .watch import Explanation, Row, Run

MOST = 10  # rows of a table
FOLDERS = re.compile(r"\S*/(\S+:\d+ in )")
COLOURS = {
    "Python": "#4c72b0",
    "NumPy": "#55a868",
    "op programs": "#8172b2",
    "program": "#c44e52",
    "compiling": "#ccb974",
}
UNTIMED = "times are taken inside of `with functorch_core.engine.explain() as why:`"


def text(found: Explanation) -> str:
    """The whole, for a terminal."""
    return "\n".join(line for part in _parts(found) for line in part)


def _parts(found: Explanation) -> Iterator[list[str]]:
    runs, kinds = sum(sum(row.runs.values()) for row in found.rows), len(found.rows)
    if found.has_times:
        yield [f"{runs} run{'s' * (runs != 1)} in {found.watch.seconds:.3g} s, {kinds} kind{'s' * (kinds != 1)}"]
        yield ["", "where time went", *_shares(found)]
    else:
        yield [f"{runs} runs of {kinds} kinds of recordings since the start; {UNTIMED}"]
    yield _table(found)
    yield _causes(found)
    yield _compilations(found)
    memory = found.memory
    yield [
        "",
        f"memory: {_size(memory['held'])} in {memory['buffers']} buffers, {_size(memory['most'])} at most; "
        f"the largest program needs {_size(memory['temporary'])} beside",
    ]
    if found.advice:
        yield ["", *map(_short, found.advice)]


def _shares(found: Explanation) -> list[str]:
    whole = max(found.watch.seconds, 1e-9)
    return [
        f"  {part:<12}{_time(seconds):>9}{100 * seconds / whole:>5.0f} %  {'#' * round(40 * seconds / whole)}"
        for part, seconds in found.totals.items()
        if seconds > 0
    ]


def _table(found: Explanation) -> list[str]:
    if not found.rows:
        return []
    lines = ["", f"{'runs':>6}  {'by':<11}{'ops':>5}{'each':>10}{'all':>10}  where"]
    for row in found.rows[:MOST]:
        by, runs = _computed_by(row), sum(row.runs.values())
        each = _time(row.seconds / runs) if found.has_times else ""
        whole = _time(row.seconds) if found.has_times else ""
        ops = "" if row.ops is None else row.ops
        note = f" ({row.note})" if row.note else ""
        lines.append(f"{runs:>6}  {by:<11}{ops:>5}{each:>10}{whole:>10}  {_short(row.place)}{note}")
    if len(found.rows) > MOST:
        lines.append(f"{'...':>6}  {len(found.rows) - MOST} kinds more")
    return lines


def _computed_by(row: Row) -> str:
    return row.runs.most_common(1)[0][0] if row.runs else ""


def _causes(found: Explanation) -> list[str]:
    lines = [
        f"{n:>6}  {why}{' at ' * bool(place)}{_short(place)}"
        for (why, place), n in found.watch.causes.most_common(MOST)
    ]
    return ["", "computed because", *lines] if lines else []


def _compilations(found: Explanation) -> list[str]:
    if not found.compilations:
        return ["", "nothing was compiled"]
    lines = ["", "compiled"]
    for c in found.compilations[-MOST:]:
        disk = ", from the disk" if c.from_disk else ""
        lines.append(f"{_time(c.seconds):>9}  {c.name}, {c.nodes} nodes{disk}; {_short(c.place)}")
        lines.append(f"{'':>9}  because {_short(c.why)}")
    if len(found.compilations) > MOST:
        lines.insert(2, f"{'...':>9}  {len(found.compilations) - MOST} before these")
    return lines


# ---- quantities and places -------------------------------------------------------------------------


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor or unit == "us":
            return f"{seconds / factor:.3g} {unit}"
    return ""


def _size(nbytes: float) -> str:
    for unit in ("B", "kB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} GB"


def _short(what: str) -> str:
    """A place, or a text with places, without their folders."""
    return FOLDERS.sub(r"\1", what)


# ---- the picture -----------------------------------------------------------------------------------


def html(found: Explanation) -> str:
    """Bars of where time went, of all and of each of the last runs; the text below."""
    picture = _picture(found) if found.has_times else ""
    return (
        f"<div>{picture}<pre style='font-size: 12px; white-space: pre-wrap'>{escaping.escape(text(found))}</pre></div>"
    )


def _picture(found: Explanation) -> str:
    runs: Sequence[Run] = list(found.watch.last)
    width, high = 720, 90
    parts = [_whole_bar(found.totals, width)]
    longest = max([r.python + r.seconds + r.compiling for r in runs], default=0.0) or 1.0
    each = width / max(len(runs), 1)
    for i, run in enumerate(runs):
        y = 60.0 + high
        for part, seconds in (("Python", run.python), (run.by, run.seconds), ("compiling", run.compiling)):
            h = high * seconds / longest
            y -= h
            parts.append(_box(i * each, y, max(each - 1, 0.5), h, COLOURS[part], f"run {i}: {part} {_time(seconds)}"))
    legend = f"the last {len(runs)} run{'s' * (len(runs) != 1)}; the longest took {_time(longest)}"
    parts.append(f"<text x='0' y='{60 + high + 16}' font-size='11' fill='currentColor'>{legend}</text>")
    return f"<svg viewBox='0 0 {width} {high + 84}' width='{width}' style='max-width: 100%'>{''.join(parts)}</svg>"


def _whole_bar(totals: dict[str, float], width: int) -> str:
    whole, x, parts = sum(totals.values()) or 1.0, 0.0, []
    for i, (part, seconds) in enumerate((p, s) for p, s in totals.items() if s > 0):
        w = width * seconds / whole
        parts.append(_box(x, 20, w, 20, COLOURS[part], f"{part} {_time(seconds)}"))
        parts.append(
            f"<rect x='{i * 140}' y='2' width='10' height='10' fill='{COLOURS[part]}'/>"
            f"<text x='{i * 140 + 14}' y='11' font-size='11' fill='currentColor'>{part} {_time(seconds)}</text>"
        )
        x += w
    return "".join(parts)


def _box(x: float, y: float, width: float, height: float, colour: str, title: Any) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0):.1f}' height='{max(height, 0):.1f}' fill='{colour}'>"
        f"<title>{escaping.escape(str(title))}</title></rect>"
    )
