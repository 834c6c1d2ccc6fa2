"""Whole training programs: the same PyTorch source under real PyTorch and under functorch-core.

    python -m tests.benchmarks                    every program (needs the `conformance` extra)
    python -m tests.benchmarks mlp char_gpt       some of them
    python -m tests.benchmarks --rounds 20        more rounds: steadier minima

Each library runs in a process of its own; the two take turns. Losses are compared before times count.
The first step is timed in a fresh process, with an empty and with a filled compilation cache.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pkgutil
import subprocess
import sys
import tempfile

from . import programs

ROUND = 0.3  # seconds that a round lasts, about; it has at most STEPS steps
STEPS = 10
WARM_UP = 20  # steps before times count; their losses are compared
CLOSE = 1e-3  # relative difference of losses that is rounding
NAMES = [module.name for module in pkgutil.iter_modules(programs.__path__)]


class Side:
    """A worker process that makes steps of one program with one library."""

    def __init__(self, program: str, library: str, cache: str):
        command = [sys.executable, "-m", "tests.benchmarks.worker", program, library]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "FUNCTORCH_CACHE_DIR": cache},
        )

    def steps(self, n: int) -> tuple[float, list[float]]:
        """Seconds of n steps together, and their losses."""
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        reply = self._read()
        return reply["seconds"], reply["losses"]

    def end(self) -> dict:
        """Stop the process; its peak memory and what it compiled."""
        self.process.stdin.close()
        reply = self._read()
        self.process.wait()
        return reply

    def _read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(self.process.args)} ended early")
        return json.loads(line)


def measure(program: str, rounds: int) -> dict:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as cache:
        cold, cold_end = first_step(program, cache)
        ours, theirs = Side(program, "ours", cache), Side(program, "pytorch", cache)
        (warm, a), (first, b) = ours.steps(1), theirs.steps(1)
        (_, more), (seconds, others) = ours.steps(WARM_UP), theirs.steps(WARM_UP)
        number = max(1, min(STEPS, round(ROUND * WARM_UP / seconds)))
        pairs = [(ours.steps(number)[0], theirs.steps(number)[0]) for _ in range(rounds)]
        end, their_end = ours.end(), theirs.end()
    a, b = a + more, b + others
    mine, other = (min(seconds) / number for seconds in zip(*pairs))
    return {
        "program": program,
        "ours": mine,
        "theirs": other,
        "ratio": mine / other,
        "difference": max(abs(x - y) / abs(y) for x, y in zip(a, b)),
        "first": first,
        "cold": cold,
        "warm": warm,
        "compiles": cold_end["compiles"],
        "compile_seconds": cold_end["compile_seconds"],
        "warm_compiles": end["compiles"],
        "megabytes": end["megabytes"],
        "their_megabytes": their_end["megabytes"],
    }


def first_step(program: str, cache: str) -> tuple[float, dict]:
    """Seconds of a first step with an empty cache; what it and the warm-up compiled."""
    side = Side(program, "ours", cache)
    seconds, _ = side.steps(1)
    side.steps(WARM_UP)
    return seconds, side.end()


HEAD = """\
| program | ours, ms a step | PyTorch | ratio | losses differ by | first step: PyTorch | cold | warm | \
compiles: cold | warm | peak memory: ours | PyTorch |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def line(row: dict) -> str:
    """The row as Markdown."""
    return (
        f"| {row['program']} | {row['ours'] * 1e3:.2f} | {row['theirs'] * 1e3:.2f} | "
        f"{row['ratio']:.2f} | {row['difference']:.0e} | {row['first'] * 1e3:.0f} ms | "
        f"{row['cold'] * 1e3:.0f} ms | {row['warm'] * 1e3:.0f} ms | {row['compiles']:.0f} "
        f"({row['compile_seconds']:.1f} s) | {row['warm_compiles']:.0f} | "
        f"{row['megabytes']:.0f} MB | {row['their_megabytes']:.0f} MB |"
    )


def main():
    """Print the table and the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--rounds", type=int, default=10, help="rounds to take turns in")
    args = parser.parse_args()
    print(HEAD)
    rows = []
    for program in args.programs or NAMES:
        rows.append(row := measure(program, args.rounds))
        print(line(row), flush=True)
    apart = [row["program"] for row in rows if not row["difference"] < CLOSE]
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    print(f"\ngeometric mean of the ratios: {mean:.2f}")
    if apart:
        raise SystemExit(f"losses differ by more than {CLOSE}: {', '.join(apart)}; their times do not count")


if __name__ == "__main__":
    main()
