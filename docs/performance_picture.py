"""The table of whole programs in performance.md as a picture: docs/programs.svg.

python docs/performance_picture.py
"""

from __future__ import annotations

import pathlib
import re

HERE = pathlib.Path(__file__).parent
ROW, LEFT, WIDTH, TOP = 22, 110, 420, 34  # pixels; WIDTH is that of the ratio MOST
MOST = 1.4


def ratios(text: str) -> list[tuple[str, float]]:
    """(program, ratio) of the table under "Whole programs"."""
    section = text.split("## Whole programs")[1].split("\n## ")[0]
    table = re.search(r"(^\|.*\n)+", section, re.M)[0]  # the first
    head, _, *rows = [line.strip("|").split("|") for line in table.splitlines()]
    column = [cell.strip() for cell in head].index("ratio")
    return [(row[0].strip(), float(re.match(r"\s*([\d.]+)", row[column])[1])) for row in rows]


def picture(rows: list[tuple[str, float]]) -> str:
    """Bars, the shortest first, and a line where PyTorch is."""
    one, height = LEFT + WIDTH / MOST, TOP + ROW * len(rows) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 50}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{one:.0f}" y="20" text-anchor="middle">PyTorch eager = 1</text>',
    ]
    for i, (name, ratio) in enumerate(sorted(rows, key=lambda row: row[1])):
        y, length = TOP + ROW * i, WIDTH * ratio / MOST
        colour = "#4c78a8" if ratio <= 1 else "#e45756"
        lines += [
            f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{name}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>',
            f'<text x="{LEFT + length + 5:.1f}" y="{y + 13}">{ratio:.2f}</text>',
        ]
    lines.append(f'<path d="M{one:.1f} {TOP - 6}V{height - 6}" stroke="black" stroke-dasharray="3 3"/></svg>')
    return "\n".join(lines) + "\n"


def main():
    """Write the picture."""
    (HERE / "programs.svg").write_text(picture(ratios((HERE / "performance.md").read_text())))


if __name__ == "__main__":
    main()
