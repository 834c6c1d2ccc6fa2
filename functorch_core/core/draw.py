"""A graph as a picture: an SVG with one row a node, for Jupyter."""

from __future__ import annotations

from html import escape
from typing import TypeAlias

from .graph import Graph, Node, slot_name

ROW, COLUMN, MARGIN = 34, 190, 12
STYLE = {"input": "#dbeafe", "node": "#ffffff", "output": "#dcfce7"}
Key: TypeAlias = tuple[str, int]  # of a box: input, node or output i
Box: TypeAlias = tuple[int, int, str, str]  # column, row, text, kind
MAX_ROWS = 200  # a browser shows no more of use


def svg(graph: Graph) -> str:
    """The picture of a graph: inputs on top, each node in the row after its last operand."""
    boxes, edges = _layout(graph)
    width = MARGIN * 2 + COLUMN * (1 + max((c for c, *_ in boxes.values()), default=0))
    height = MARGIN * 2 + ROW * (1 + max((r for _, r, *_ in boxes.values()), default=0))
    lines = [_line(boxes[a], boxes[b]) for a, b in edges if a in boxes and b in boxes]
    rects = [_box(*box) for box in boxes.values()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="monospace" font-size="11">{"".join(lines + rects)}</svg>'
    )


def _layout(graph: Graph) -> tuple[dict[Key, Box], list[tuple[Key, Key]]]:
    """key -> (column, row, text, kind) of every box, and the edges between keys."""
    boxes, edges, depth, maker = {}, [], {}, {}
    columns: dict[int, int] = {}

    def place(key: Key, row: int, text: str, kind: str) -> None:
        column = columns.get(row, 0)
        columns[row] = column + 1
        boxes[key] = column, row, text, kind

    for i, slot in enumerate(graph.inputs):
        depth[slot], maker[slot] = 0, ("in", i)
        place(("in", i), 0, f"{slot_name(i)}: {graph.avals[slot]}", "input")
    for i, node in enumerate(graph.nodes[:MAX_ROWS]):
        row = 1 + max((depth[s] for s in node.inputs), default=0)
        place(("node", i), row, _text(graph, node), "node")
        edges += [(maker[s], ("node", i)) for s in dict.fromkeys(node.inputs)]
        for slot in node.outputs:
            depth[slot], maker[slot] = row, ("node", i)
    last = 1 + max(depth.values(), default=0)
    for i, slot in enumerate(graph.outputs):
        place(("out", i), last, f"out {i}: {graph.avals[slot]}", "output")
        if slot in maker:
            edges.append((maker[slot], ("out", i)))
    return boxes, edges


def _text(graph: Graph, node: Node) -> str:
    out = str(graph.avals[node.outputs[0]]) if node.outputs else ""
    return f"{node.primitive.name} {out}"


def _box(column: int, row: int, text: str, kind: str) -> str:
    x, y = MARGIN + column * COLUMN, MARGIN + row * ROW
    return (
        f'<g><rect x="{x}" y="{y}" width="{COLUMN - 14}" height="{ROW - 12}" rx="4" '
        f'fill="{STYLE[kind]}" stroke="#64748b"/><text x="{x + 6}" y="{y + 15}">'
        f"{escape(text[:27])}</text></g>"
    )


def _line(a: Box, b: Box) -> str:
    x1, y1 = MARGIN + a[0] * COLUMN + 60, MARGIN + a[1] * ROW + ROW - 12
    x2, y2 = MARGIN + b[0] * COLUMN + 60, MARGIN + b[1] * ROW
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#94a3b8"/>'
