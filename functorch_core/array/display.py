"""How Arrays look in a notebook: a header with dtype and shape, and a table or the text."""

from __future__ import annotations

import html

import numpy as np

from ..engine import Value, to_numpy
from ..xla import NamedSharding
from .array import Array
from .sharding_pictures import sharding_html

EDGE = 5  # rows and columns shown at each end of a long dimension
CELL = "padding:0 .6em;text-align:right"


def repr_html(array: Array) -> str:
    """HTML for Jupyter: small, escaped, long dimensions summarised."""
    head = html.escape(
        f"{'Array' if array._value.__class__ is Value else 'Traced'} {array.dtype.name}{list(array.shape)}"
    )
    header = f"<div><b>{head}</b></div>"
    if array._value.__class__ is not Value:
        return header
    if isinstance(array.sharding, NamedSharding):
        header += sharding_html(array.sharding)
    data = to_numpy(array._value)
    if array.ndim == 2 and array.size:
        return header + _table(data)
    return f"{header}<pre>{html.escape(np.array2string(data, separator=', ', threshold=200))}</pre>"


def _table(data: np.ndarray) -> str:
    rows, columns = map(_shown, data.shape)
    return f"<table>{''.join(_row(data, r, columns) for r in rows)}</table>"


def _shown(size: int) -> list[int | None]:
    """The indices to show; None stands for those left out."""
    if size <= 2 * EDGE + 1:
        return list(range(size))
    return [*range(EDGE), None, *range(size - EDGE, size)]


def _row(data: np.ndarray, row: int | None, columns: list[int | None]) -> str:
    cells = ["…" if row is None or c is None else html.escape(_number(data[row, c])) for c in columns]
    return "<tr>" + "".join(f'<td style="{CELL}">{c}</td>' for c in cells) + "</tr>"


def _number(x) -> str:
    return f"{x:.4g}" if np.issubdtype(np.asarray(x).dtype, np.floating) else str(x)
