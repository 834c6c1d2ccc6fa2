"""torch.utils.benchmark.Compare: measurements as tables."""

from __future__ import annotations

import enum
import math

from .measurement import Measurement, select_unit

LONG = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
GOOD, RED, BOLD, PLAIN = "\033[92m", "\033[31m", "\033[1m", "\033[0m"
# Up to these multiples of the best time: the codes that a time is printed in.
COLORS = ((1.1, GOOD + BOLD), (1.25, GOOD), (2.0, ""), (4.0, RED), (math.inf, RED + BOLD))


class Colorize(enum.Enum):
    """With what a time is compared: with the others of its column, of its row, or nothing.

    >>> from torch.utils.benchmark import Colorize
    >>> list(Colorize.__members__)
    ['NONE', 'COLUMNWISE', 'ROWWISE']
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements: one for each label, a row for each second label (and number of
    threads), a column for each description.

    >>> from torch.utils.benchmark import Compare, Timer
    >>> ms = [Timer("1 + 1", label="add", sub_label="ints", description=d).timeit(9) for d in "ab"]
    >>> print(str(Compare(ms)).splitlines()[1].split())
    ['|', 'a', '|', 'b']
    """

    def __init__(self, results: list[Measurement]):
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = self._highlight_warnings = False
        self._colorize = Colorize.NONE

    def extend_results(self, results):
        """Add measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only digits that the spread of the times allows."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False):
        """Color times by how they compare with the best of their column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Say how far the times are apart where they vary much."""
        self._highlight_warnings = True

    def print(self):
        """Print the tables."""
        print(str(self))

    def __str__(self):
        tables: dict[str | None, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            tables.setdefault(m.label, []).append(m)
        return "\n".join(_Table(label, found, self).render() for label, found in tables.items())


class _Table:
    """The measurements of one label."""

    def __init__(self, label: str | None, found: list[Measurement], options: Compare):
        self.options = options
        self.label = label or found[0].stmt
        self.unit, self.scale = select_unit(min(m.median for m in found))
        self.columns = list(dict.fromkeys(m.description for m in found))
        self.cells = {(m.num_threads, _row(m), m.description): m for m in found}
        self.threads = sorted({threads for threads, _, _ in self.cells})
        self.rows = list(dict.fromkeys(row for _, row, _ in self.cells))
        self.texts = {c: self._texts(c) for c in self.columns}

    def _texts(self, column) -> dict:
        """(threads, row) -> the time, with one number of digits for the column."""
        found = {key[:2]: m for key, m in self.cells.items() if key[2] == column}
        digits = 1
        if self.options._trim_significant_figures:
            digits = min(
                1, max(0, min(m.significant_figures - 1 - _exponent(m.median / self.scale) for m in found.values()))
            )
        texts = {key: f"{m.median / self.scale:.{digits}f}" for key, m in found.items()}
        width = max(map(len, texts.values()))
        texts = {key: text.rjust(width) for key, text in texts.items()}
        if self.options._highlight_warnings and any(m.has_warnings for m in found.values()):
            texts = {key: text + self._spread(found[key]) for key, text in texts.items()}
        return texts

    def _spread(self, m: Measurement) -> str:
        return f"  (! {m.iqr / m.median * 100:.0f}%)" if m.has_warnings else " " * 9

    def _color(self, threads, row, column) -> str:
        how = self.options._colorize
        if how is Colorize.NONE:
            return ""
        same = [
            m
            for (t, r, c), m in self.cells.items()
            if t == threads and (r == row if how is Colorize.ROWWISE else c == column)
        ]
        best = min(m.median for m in same)
        ratio = self.cells[threads, row, column].median / best
        return next(color for limit, color in COLORS if ratio <= limit)

    def render(self) -> str:
        """The lines of the table."""
        widths = {c: max([len(c or ""), *map(len, self.texts[c].values())]) for c in self.columns}
        names = max(len(row) for row in self.rows) + 6
        header = "  |  ".join([" " * names, *((c or "").center(widths[c]) for c in self.columns)])
        lines = [f"[{f' {self.label} ':-^{len(header) - 2}}]", header]
        for threads in self.threads:
            lines.append(f"{threads} threads: ".ljust(len(header), "-"))
            for row in self.rows:
                cells = [self._cell(threads, row, c, widths[c]) for c in self.columns]
                if any(cell.strip() for cell in cells):
                    lines.append("  |  ".join(["      " + row.ljust(names - 6), *cells]))
        return "\n".join([*lines, "", f"Times are in {LONG[self.unit]} ({self.unit}).", ""])

    def _cell(self, threads, row, column, width: int) -> str:
        text = self.texts[column].get((threads, row))
        if text is None:
            return " " * width
        color = self._color(threads, row, column)
        end = PLAIN * (color.count("\033"))
        return f"{color}{text.center(width)}{end}"


def _row(m: Measurement) -> str:
    return f"({m.env})  {m.as_row_name}" if m.env else m.as_row_name


def _exponent(x: float) -> int:
    return math.floor(math.log10(x)) if x > 0 else 0
