"""A graph as a picture: an SVG with one row a node, for Jupyter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from html import escape
from typing import TypeAlias

from .graph import Graph, Node, slot_name

ROW, COLUMN, MARGIN = 34, 236, 12
LETTERS = 32  # that fit into a box
STYLE = {"input": "#dbeafe", "node": "#ffffff", "output": "#dcfce7"}
Box: TypeAlias = tuple[int, int, str, str]  # column, row, text, kind
MAX_ROWS = 200  # a browser shows no more of use


class Picture:
    """Boxes, each in a row below those that it is made of, and lines between them."""

    def __init__(self) -> None:
        self.boxes: dict[Hashable, Box] = {}
        self.edges: list[tuple[Hashable, Hashable]] = []
        self._columns: dict[int, int] = {}

    def add(self, key: Hashable, text: str, kind: str, operands: Iterable[Hashable] = (), row: int = 0) -> None:
        """A box, in the row after its last operand if none is given."""
        operands = [k for k in dict.fromkeys(operands) if k in self.boxes]
        row = row or 1 + max((self.boxes[k][1] for k in operands), default=-1 if kind == "input" else 0)
        column = self._columns.get(row, 0)
        self._columns[row] = column + 1
        self.boxes[key] = column, row, text, kind
        self.edges += [(k, key) for k in operands]

    @property
    def last_row(self) -> int:
        """The row below all boxes."""
        return 1 + max((row for _, row, *_ in self.boxes.values()), default=0)

    def svg(self) -> str:
        """The picture as SVG."""
        width = MARGIN * 2 + COLUMN * (1 + max((c for c, *_ in self.boxes.values()), default=0))
        height = MARGIN * 2 + ROW * (1 + max((r for _, r, *_ in self.boxes.values()), default=0))
        lines = [_line(self.boxes[a], self.boxes[b]) for a, b in self.edges]
        rects = [_box(*box) for box in self.boxes.values()]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'font-family="monospace" font-size="11">{"".join(lines + rects)}</svg>'
        )


def svg(graph: Graph) -> str:
    """The picture of a graph: inputs on top, each node in the row after its last operand."""
    picture, maker = Picture(), {}
    for i, slot in enumerate(graph.inputs):
        maker[slot] = ("in", i)
        picture.add(("in", i), f"{slot_name(i)}: {graph.avals[slot]}", "input")
    for i, node in enumerate(graph.nodes[:MAX_ROWS]):
        picture.add(("node", i), _text(graph, node), "node", [maker[s] for s in node.inputs])
        maker |= dict.fromkeys(node.outputs, ("node", i))
    last = picture.last_row
    for i, slot in enumerate(graph.outputs):
        made = [maker[slot]] if slot in maker else []
        picture.add(("out", i), f"out {i}: {graph.avals[slot]}", "output", made, last)
    return picture.svg()


def _text(graph: Graph, node: Node) -> str:
    out = str(graph.avals[node.outputs[0]]) if node.outputs else ""
    return f"{node.primitive.name} {out}"


def _box(column: int, row: int, text: str, kind: str) -> str:
    x, y = MARGIN + column * COLUMN, MARGIN + row * ROW
    return (
        f'<g><rect x="{x}" y="{y}" width="{COLUMN - 14}" height="{ROW - 12}" rx="4" '
        f'fill="{STYLE[kind]}" stroke="#64748b"/><text x="{x + 6}" y="{y + 15}">'
        f"{escape(text if len(text) <= LETTERS else text[: LETTERS - 1] + '…')}</text></g>"
    )


def _line(a: Box, b: Box) -> str:
    x1, y1 = MARGIN + a[0] * COLUMN + 60, MARGIN + a[1] * ROW + ROW - 12
    x2, y2 = MARGIN + b[0] * COLUMN + 60, MARGIN + b[1] * ROW
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#94a3b8"/>'
