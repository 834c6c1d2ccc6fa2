"""Functional research programs: the same source under JAX and under functorch-core.

    python -m tests.benchmarks.functional --peer-python ENVIRONMENT/bin/python     (one that has jax==0.10.2)
    python -m tests.benchmarks.functional hmc sinkhorn --rounds 20
    python -m tests.benchmarks.functional maml --hlo DIRECTORY      writes the optimized HLO of both

Each library runs in a process of its own; the two take turns, who begins changes with each round, and the quickest
call counts. A machine that others use is quiet at times: there are further rounds until each side came within 2 % of
its quickest a second time, four times as many at most. How far the ratios of the odd and the even rounds are apart is
shown; a row where that is much says little. Values are compared before times count, except of programs that draw random
numbers. Compile time is processor time of tracing, lowering and compiling the program anew, the least of three; nothing
is taken from a disk.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter

ROOT = pathlib.Path(__file__).parents[3]
HERE = pathlib.Path(__file__).parent
ROUND = 0.05  # seconds that a round lasts, about
CLOSE = 1e-3  # values may be apart by, relative to the largest
STEADY, MOST = (
    1.02,
    4,
)  # the two quickest rounds of a side may be apart by, and how many times `rounds` there are at most
DECLARED = re.compile(r"^@(?:program|drawn)\ndef (\w+)", re.M)
NAMES = [name for path in sorted(HERE.glob("programs/*.py")) for name in DECLARED.findall(path.read_text())]
SHOWN = ("fusion", "dot", "while", "custom-call", "call", "reduce", "transpose", "copy", "scatter", "sort")
OPERATION = re.compile(r" = .*?[)\]}] ([a-z][a-z-]*)\(%")


class Side:
    """A worker process of one library."""

    def __init__(self, program: str, library: str, python: str):
        self.process = subprocess.Popen(
            [python, "-m", "tests.benchmarks.functional.worker", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "FUNCTIONAL_LIBRARY": library, "FUNCTORCH_CACHE": "0", "JAX_PLATFORMS": "cpu"},
        )

    def ask(self, what: object):
        """The answer to a command."""
        print(what, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.process.args)} ended early")
        return json.loads(line)

    def seconds(self, what: object) -> float:
        """The seconds a command says it took."""
        return self.ask(what)["seconds"]

    def end(self):
        """Stop the process."""
        self.process.stdin.close()
        self.process.wait()


def difference(ours: list, theirs: list) -> float:
    """How far means are apart, relative to the largest magnitude of each result."""
    if len(ours) != len(theirs):
        return math.inf
    return max((abs(a - b) / max(top, 1e-6) for (a, _), (b, top) in zip(ours, theirs)), default=0.0)


def measure(program: str, python: str, rounds: int) -> dict:
    """One row of the table."""
    sides = Side(program, "ours", sys.executable), Side(program, "jax", python)
    compiled = [[side.seconds("compile") for side in sides] for _ in range(3)]
    values = [side.ask("value")["leaves"] for side in sides]
    once = max(min(side.seconds(1) for _ in range(3)) for side in sides)
    number = max(1, min(1000, round(ROUND / once)))
    runs: list[list[float]] = []
    while len(runs) < rounds or not (is_steady(runs) or len(runs) >= MOST * rounds):
        turns = sides[:: -1 if len(runs) % 2 else 1]
        runs.append([side.seconds(number) for side in turns][:: -1 if len(runs) % 2 else 1])
    for side in sides:
        side.end()
    halves = [ours / theirs for ours, theirs in (quickest(runs[i::2]) for i in (0, 1))]
    return {
        "run": quickest(runs),
        "spread": max(halves) / min(halves) - 1,
        "compile": quickest(compiled),
        "difference": difference(*values),
    }


def quickest(rows: list[list[float]]) -> list[float]:
    """The least time of each side."""
    return [min(times) for times in zip(*rows)]


def is_steady(runs: list[list[float]]) -> bool:
    """Whether each side came close to its quickest round a second time."""
    return all(second < STEADY * first for first, second, *_ in map(sorted, zip(*runs)))


def table(names: list[str], python: str, rounds: int):
    """Print the rows and the geometric means."""
    print("| program | ours, ms | JAX, ms | ratio | spread | compile: ours, ms | JAX, ms | ratio | apart by |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    rows = {}
    for name in names:
        row = rows[name] = measure(name, python, rounds)
        row["ratios"] = [row[kind][0] / row[kind][1] for kind in ("run", "compile")]
        (ours, theirs), (a, b) = row["run"], row["compile"]
        print(
            f"| {name} | {ours * 1e3:.3f} | {theirs * 1e3:.3f} | {ours / theirs:.2f} | {row['spread']:.0%} "
            f"| {a * 1e3:.0f} | {b * 1e3:.0f} | {a / b:.2f} | {row['difference']:.0e} |",
            flush=True,
        )
    means = [math.exp(sum(math.log(row["ratios"][i]) for row in rows.values()) / len(rows)) for i in (0, 1)]
    worst = [max(rows, key=lambda name: rows[name]["ratios"][i]) for i in (0, 1)]
    print(f"\ngeometric mean of {len(rows)}: run {means[0]:.2f}, compile {means[1]:.2f}; most: {worst[0]}, {worst[1]}")
    apart = [name for name, row in rows.items() if not row["difference"] < CLOSE]
    if apart:
        raise SystemExit(f"values are apart by more than {CLOSE}: {', '.join(apart)}; their times do not count")


def hlo(names: list[str], python: str, folder: pathlib.Path):
    """Write the optimized HLO of both libraries and print how often each operation is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        for library, interpreter in (("ours", sys.executable), ("jax", python)):
            side = Side(name, library, interpreter)
            text = side.ask("optimized")["text"]
            side.end()
            (folder / f"{name}.{library}.hlo").write_text(text)
            counts = Counter(OPERATION.findall(text))
            shown = " ".join(f"{operation} {counts[operation]}" for operation in SHOWN if counts[operation])
            print(f"{name:20} {library:5} {sum(counts.values()):6} instructions: {shown}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.functional", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has JAX and NumPy")
    parser.add_argument("--rounds", type=int, default=10, help="rounds at least (2 or more)")
    parser.add_argument("--hlo", type=pathlib.Path, help="write optimized HLO here instead of timing")
    given = parser.parse_args()
    if given.hlo:
        hlo(given.names or NAMES, given.peer_python, given.hlo)
    else:
        table(given.names or NAMES, given.peer_python, given.rounds)
