"""Calls of everyday use on small tensors, the expressions of calls.txt, against PyTorch: the worst first.

    python -m tests.benchmarks.calls                 all of them (needs the `conformance` extra)
    python -m tests.benchmarks.calls numpy x.to      those with `numpy` or `x.to` in them
    python -m tests.benchmarks.calls --rounds 3      more rounds: steadier minima

Each library in a process of its own, in turns; each expression with new operands. Nobody reads the results, but where
the expression does. The least of some loops, in us a call, the loop's lambda included.
"""

from __future__ import annotations

import argparse
import copy
import functools
import math
import pathlib
import pickle
import sys
import time
from typing import Any

import numpy as np

from .by_name import compare, library_of, serve

WARM_UP, LOOP, LOOPS, SECONDS = 60, 50, 30, 0.1
EXPRESSIONS = pathlib.Path(__file__).with_suffix(".txt")


def names() -> list[str]:
    """The expressions."""
    return EXPRESSIONS.read_text().splitlines()


def operands(torch: Any) -> dict[str, Any]:
    """What the expressions are of."""
    nn = torch.nn
    x, y, v = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4)
    return {
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "np": np,
        "copy": copy,
        "pickle": pickle,
        "x": x,
        "y": y,
        "v": v,
        "lst": [x, y],
        "m": x > 0,
        "n4": torch.randn(2, 3, 4, 4),
        "i": torch.tensor([0, 2]),
        "l": torch.tensor(3),
        "xi": torch.arange(6).view(2, 3),
        "g": torch.tensor([[0, 1], [1, 0]]),
        "c": torch.tensor([0, 1, 2, 3]),
        "npa": np.zeros((4, 4), np.float32),
        "w": torch.randn(4, 4, requires_grad=True),
        "lin": nn.Linear(4, 4),
        "ln": nn.LayerNorm(4),
        "seq": nn.Sequential(nn.Linear(4, 4), nn.ReLU()),
        "emb": nn.Embedding(10, 4),
        "drop": nn.Dropout(0.1),
        "bn": nn.BatchNorm1d(4),
        "conv": nn.Conv2d(3, 2, 3),
        "gru": nn.GRUCell(4, 4),
    }


def _times(torch: Any, expression: str) -> list[float]:
    call = eval(f"lambda: {expression}", operands(torch))
    for _ in range(WARM_UP):
        call()
    best, end = math.inf, time.perf_counter() + SECONDS
    for _ in range(LOOPS):
        start = time.perf_counter()
        for _ in range(LOOP):
            call()
        now = time.perf_counter()
        best = min(best, (now - start) / LOOP)
        if now > end:
            break
    return [best * 1e3, math.nan]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    chosen = [name for name in names() if not given.parts or any([part in name for part in given.parts])]
    compare("tests.benchmarks.calls", chosen, given.rounds, 2.0, worst_first=True, unit="us")


if __name__ == "__main__":
    serve(functools.partial(_times, library_of(sys.argv[2]))) if sys.argv[1:2] == ["--work"] else main()
