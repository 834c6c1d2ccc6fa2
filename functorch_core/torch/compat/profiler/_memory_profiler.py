"""torch.profiler._memory_profiler: how much memory a program held at what time, and for what."""

from __future__ import annotations

import base64
import enum
import gzip
import importlib
import io
import json
from collections.abc import Callable, Iterable, Iterator

from ..autograd.allocations import Allocation, Category

# In the order in which timelines list them; the last is what nobody knows.
CATEGORIES = (
    Category.PARAMETER,
    Category.OPTIMIZER_STATE,
    Category.INPUT,
    Category.TEMPORARY,
    Category.ACTIVATION,
    Category.GRADIENT,
    Category.AUTOGRAD_DETAIL,
    None,
)
COLORS = ("darkgreen", "goldenrod", "black", "mediumpurple", "red", "mediumblue", "royalblue", "grey")


class Action(enum.Enum):
    """What happens to memory. Nothing is written in place here: there is no INCREMENT_VERSION.

    >>> from torch.profiler._memory_profiler import Action
    >>> [action.name for action in Action]
    ['PREEXISTING', 'CREATE', 'INCREMENT_VERSION', 'DESTROY']
    """

    PREEXISTING, CREATE, INCREMENT_VERSION, DESTROY = range(1, 5)


def events(allocations: Iterable[Allocation], device: str) -> list[tuple[int, Action, int, Category | None]]:
    """What happens on a device, in order: nanoseconds since 1970 (-1: before), the action, bytes more, what for."""

    def each() -> Iterator[tuple[int, Action, int, Category | None]]:
        for x in allocations:
            if x.device == device:
                action = Action.PREEXISTING if x.begun is None else Action.CREATE
                yield -1 if x.begun is None else x.begun, action, x.nbytes, x.category
                if x.ended is not None:
                    yield x.ended, Action.DESTROY, -x.nbytes, x.category

    return sorted(each(), key=lambda event: event[0])


def timeline(happened: list[tuple]) -> tuple[list[int], list[list[int]]]:
    """Times in microseconds, and the bytes held at each: a 0, and a number for each category, as they stand in
    CATEGORIES."""
    begun = min([time for time, *_ in happened if time >= 0], default=0)
    times: list[int] = []
    sizes: list[list[int]] = []
    held = [0] * (len(CATEGORIES) + 1)
    for time, action, nbytes, category in happened:
        held[CATEGORIES.index(category) + 1] += nbytes
        if action is Action.PREEXISTING and sizes:
            sizes[-1] = held[:]
        else:
            times.append((begun if time < 0 else time) // 1000)
            sizes.append(held[:])
    return times, sizes


# ---- files ---------------------------------------------------------------------------------------


def write(path: str, allocations: Iterable[Allocation], device: str):
    """Write a timeline: as a picture (.html), each event (raw.json.gz), or sums (.json.gz, and all other names)."""
    happened = events(allocations, device)
    if path.endswith(".html"):
        return _write_html(path, *timeline(happened))
    raw = path.endswith("raw.json.gz")
    found = [[t, a.value, n, CATEGORIES.index(c)] for t, a, n, c in happened] if raw else timeline(happened)
    opened: Callable = gzip.open if path.endswith(".gz") else open
    with opened(path, "wt") as file:
        json.dump(found, file)


PAGE = """<html>
<head><meta charset="utf-8" /><title>Memory Timeline</title></head>
<body>
<img src='data:image/png;base64,{}'>
</body>
</html>
"""


def _write_html(path: str, times: list[int], sizes: list[list[int]]):
    try:
        figures = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise ModuleNotFoundError(
            "export_memory_timeline draws pictures by the package matplotlib: pip install matplotlib; "
            "or write numbers, to a name that ends with .json",
            name="matplotlib",
        ) from error
    figure = figures.Figure(figsize=(16, 9))
    axes = figure.subplots()
    seconds = [(time - times[0]) / 1e6 for time in times]
    columns = list(zip(*sizes))[1:] or [()] * len(CATEGORIES)
    names = [category.name if category else "Unknown" for category in CATEGORIES]
    axes.stackplot(seconds, *[[n / 2**20 for n in c] for c in columns], labels=names, colors=COLORS, step="post")
    axes.legend(loc="upper left")
    axes.set(xlabel="Time (s)", ylabel="Memory (MiB)")
    axes.set_title(f"Most at once: {max(map(sum, sizes), default=0) / 2**20:.3f} MiB")
    file = io.BytesIO()
    figure.savefig(file, format="png")
    with open(path, "w", encoding="ascii") as page:
        page.write(PAGE.format(base64.b64encode(file.getvalue()).decode()))
