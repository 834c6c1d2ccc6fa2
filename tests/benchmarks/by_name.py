"""Things that have names, timed under both libraries: each in a process of its own, in turns.

A benchmark's module gives `times(library, name)`, the milliseconds of a call forward and with gradients (NaN where
there are none), serves it as `python -m MODULE --work LIBRARY`, and prints a table by `compare`.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any


def quartile(call: Callable[[], Any], warm_up: int, seconds: float, most: int) -> float:
    """The first quartile of what a call takes, in milliseconds, after so many calls; of so many seconds or calls."""
    for _ in range(warm_up):
        call()
    start = time.perf_counter()
    call()
    n = max(5, min(most, int(seconds / (time.perf_counter() - start))))
    times = []
    for _ in range(n):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[n // 4] * 1e3


def library_of(name: str) -> Any:
    """`torch`, ours or PyTorch."""
    if name == "ours":
        from functorch_core import torch
    else:
        import torch  # type: ignore[no-redef]
    torch.manual_seed(0)
    return torch


def serve(times: Callable[[str], Sequence[float]]) -> None:
    """Answer each name that comes with its times, NaN for those that cannot be called."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            found = list(times(line.strip()))
        except Exception as error:
            print(f"{line.strip()}: {type(error).__name__}: {error}", file=sys.stderr)
            found = [math.nan, math.nan]
        answers.write(json.dumps(found) + "\n")
        answers.flush()


def compare(
    module: str, names: Sequence[str], rounds: int, limit: float, worst_first: bool = False, unit: str = "ms"
) -> None:
    """Print a line for each name, in ms or us, and how many ratios are above the limit."""
    scale = {"ms": 1.0, "us": 1e3}[unit]
    sides = [
        subprocess.Popen(
            [sys.executable, "-m", module, "--work", library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for library in ("ours", "torch")
    ]
    lines: list[tuple[float, str]] = []
    ratios: list[list[float]] = [[], []]
    print(f"{'':36s} forward: ours, PyTorch, ratio     with gradients")
    for name in names:
        best = [[math.inf, math.inf] for _ in sides]
        for _ in range(rounds):
            for side, times in zip(sides, best):
                side.stdin.write(name + "\n")  # type: ignore[union-attr]  # a pipe
                side.stdin.flush()  # type: ignore[union-attr]
                times[:] = map(min, json.loads(side.stdout.readline()), times)  # type: ignore[union-attr]
        row = [ours / theirs for ours, theirs in zip(*best)]
        for found, ratio in zip(ratios, row):
            found += [ratio] if math.isfinite(ratio) else []
        cells = [f"{a * scale:8.3f} {unit} {b * scale:8.3f} {r:6.2f}    " for a, b, r in zip(*best, row)]
        lines.append((row[0], f"{name:36s} " + " ".join(cells)))
        if not worst_first:
            print(lines[-1][1], flush=True)
    for _, line in sorted(lines, key=lambda line: -line[0]) if worst_first else ():
        print(line)
    for what, found in zip(("forward", "with gradients"), ratios):
        if found:
            mean, above = math.exp(sum(map(math.log, found)) / len(found)), sum(r > limit for r in found)
            print(f"{what}: geometric mean {mean:.2f}, largest {max(found):.2f}, {above} of {len(found)} above {limit}")
    for side in sides:
        side.terminate()
