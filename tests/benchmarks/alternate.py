"""Time two functions alternately, so that a noisy machine disturbs both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(fun: Callable, number: int) -> float:
    """Seconds of one call, from `number` calls."""
    start = time.perf_counter()
    for _ in range(number):
        fun()
    return (time.perf_counter() - start) / number


def alternate(
    ours: Callable, theirs: Callable, *, number: int = 100, rounds: int = 15, between: Callable = lambda: None
) -> dict:
    """Minima and medians in microseconds of both, and their ratios. `between` is not timed."""
    ours(), theirs()
    mine, other = [], []
    for _ in range(rounds):
        mine.append(seconds(ours, number) * 1e6)
        between()
        other.append(seconds(theirs, number) * 1e6)
    return {
        "ours_min": min(mine),
        "theirs_min": min(other),
        "ratio_min": min(mine) / min(other),
        "ratio_median": statistics.median(mine) / statistics.median(other),
    }


def show(name: str, row: dict, peer: str):
    """One line of a table."""
    print(
        f"{name:44s} {row['ours_min']:10.2f} us  {peer} {row['theirs_min']:10.2f} us   "
        f"ratio {row['ratio_min']:5.2f} (of medians {row['ratio_median']:5.2f})",
        flush=True,
    )
