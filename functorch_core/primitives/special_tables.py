"""Coefficients of the special functions, by name: special_tables.txt, read when the first is asked for."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def _tables() -> dict[str, tuple[float, ...]]:
    tables: dict[str, list[float]] = {}
    numbers: list[float] = []
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="ascii").splitlines():
        if line.startswith("  "):
            numbers += map(float, line.split())
        elif line and not line.startswith("#"):
            numbers = tables[line] = []
    return {name: tuple(numbers) for name, numbers in tables.items()}


def __getattr__(name: str) -> tuple[float, ...]:
    try:
        return _tables()[name]
    except KeyError:
        raise AttributeError(f"there is no table {name!r}") from None
