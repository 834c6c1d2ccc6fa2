"""Whole programs: the same PyTorch source under real PyTorch and under functorch-core.

    python -m tests.benchmarks                    every program (needs the `conformance` extra)
    python -m tests.benchmarks mlp char_gpt       some of them
    python -m tests.benchmarks --rounds 20        more rounds: steadier minima
    python -m tests.benchmarks --compile          PyTorch's compiler, too (needs a C++ compiler; minutes)
    python -m tests.benchmarks --jax PYTHON       the JAX twins of some, run by a Python that has jax==0.10.2
    python -m tests.benchmarks --threads 1        one thread each: processor times hold on a busy machine

Each library runs in a process of its own; the two take turns. Losses are compared before times count.
Beside the ratio of the times stands that of the processor's, which depends less on what else runs.
The first step is timed in a fresh process, with an empty and with a filled compilation cache.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import pkgutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

from . import programs, twins

ROUND = 0.3  # seconds that a round lasts, about; it has at most STEPS steps
STEPS = 10
WARM_UP = 20  # steps before times count; their losses are compared
CLOSE = 1e-3  # relative difference of losses that is rounding
NAMES = [module.name for module in pkgutil.iter_modules(programs.__path__)]
TWINS = {module.name for module in pkgutil.iter_modules(twins.__path__)} & set(NAMES)


class Cost(NamedTuple):
    """Seconds of steps, by the clock and of the processor."""

    seconds: float
    processor: float


class Side:
    """A worker process that makes steps of one program with one library."""

    def __init__(self, program: str, library: str, cache: str, python: str = sys.executable):
        command = [python, "-m", "tests.benchmarks.worker", program, library]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "FUNCTORCH_CACHE_DIR": cache, "JAX_PLATFORMS": "cpu"},
        )

    def steps(self, n: int) -> tuple[Cost, list[float]]:
        """What n steps cost together, and their losses."""
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        reply = self._read()
        return Cost(reply["seconds"], reply["processor"]), reply["losses"]

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


def measure(program: str, rounds: int, compiler: bool, jax: str | None) -> dict:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as cache:
        cold, cold_end = first_step(program, cache)
        names = ["ours", "pytorch"] + ["compiled"] * compiler
        sides = {name: Side(program, name, cache) for name in names}
        if jax and program in TWINS:
            sides["jax"] = Side(program, "jax", cache, jax)
        first, losses = {}, {}
        for name, side in sides.items():
            first[name], losses[name] = side.steps(1)
        for name, side in sides.items():
            warm_up, more = side.steps(WARM_UP)
            losses[name] += more
        number = max(1, min(STEPS, round(ROUND * WARM_UP / warm_up.seconds)))
        costs = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                costs[name].append(side.steps(number)[0])
        ends = {name: side.end() for name, side in sides.items()}
    least = {name: Cost(*(min(each) / number for each in zip(*found))) for name, found in costs.items()}
    return {
        "program": program,
        "trains": getattr(importlib.import_module(f"{programs.__name__}.{program}"), "TRAINS", True),
        "least": least,
        "differences": [abs(x - y) / abs(y) for x, y in zip(losses["ours"], losses["pytorch"])],
        "first": first["pytorch"].seconds,
        "cold": cold,
        "warm": first["ours"].seconds,
        "compiled": cold_end,
        "warm_compiles": ends["ours"]["compiles"],
        "megabytes": {name: end["megabytes"] for name, end in ends.items()},
    }


def first_step(program: str, cache: str) -> tuple[float, dict]:
    """Seconds of a first step with an empty cache; what it and the warm-up compiled."""
    side = Side(program, "ours", cache)
    cost, _ = side.steps(1)
    side.steps(WARM_UP)
    return cost.seconds, side.end()


def ratio(row: dict, peer: str = "pytorch", by: str = "seconds") -> float:
    """Ours / the peer's; NaN for a peer that did not run."""
    least = row["least"]
    return getattr(least["ours"], by) / getattr(least[peer], by) if peer in least else math.nan


HEAD = """\
| program | ours, ms a step | PyTorch | ratio | of processor time | `torch.compile` | ratio | JAX | ratio | \
losses differ by | first step: PyTorch | cold | warm | compiles: cold | warm | peak memory: ours | PyTorch |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def line(row: dict) -> str:
    """The row as Markdown."""
    least, megabytes, first = row["least"], row["megabytes"], row["compiled"]
    others = " | ".join(
        f"{least[peer].seconds * 1e3:.2f} | {ratio(row, peer):.2f}" if peer in least else "- | -"
        for peer in ("compiled", "jax")
    )
    return (
        f"| {row['program']} | {least['ours'].seconds * 1e3:.2f} | {least['pytorch'].seconds * 1e3:.2f} | "
        f"{ratio(row):.2f} | {ratio(row, by='processor'):.2f} | {others} | {max(row['differences']):.0e} | "
        f"{row['first'] * 1e3:.0f} ms | {row['cold'] * 1e3:.0f} ms | {row['warm'] * 1e3:.0f} ms | "
        f"{first['compiles']:.0f} ({first['compile_seconds']:.1f} s) | {row['warm_compiles']:.0f} | "
        f"{megabytes['ours']:.0f} MB | {megabytes['pytorch']:.0f} MB |"
    )


def means(rows: list[dict], what: str) -> str:
    """The geometric means of the ratios of some rows."""
    columns = {
        "PyTorch": [ratio(row) for row in rows],
        "its processor time": [ratio(row, by="processor") for row in rows],
        "torch.compile": [ratio(row, "compiled") for row in rows if "compiled" in row["least"]],
        "JAX": [ratio(row, "jax") for row in rows if "jax" in row["least"]],
    }
    found = [f"{math.exp(sum(map(math.log, r)) / len(r)):.2f} of {name}" for name, r in columns.items() if r]
    return f"geometric means of {what}: {', '.join(found)}"


def main():
    """Print the table and the geometric means of the ratios."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--rounds", type=int, default=10, help="rounds to take turns in")
    parser.add_argument("--threads", help="threads that each library may use (all by default)")
    parser.add_argument("--compile", action="store_true", help="measure torch.compile, too")
    parser.add_argument("--jax", metavar="PYTHON", help="measure the twins under the JAX of this Python, too")
    args = parser.parse_args()
    if args.threads:
        os.environ.update(OMP_NUM_THREADS=args.threads, NPROC=args.threads)  # PyTorch and oneDNN; XLA
    print(HEAD)
    rows = []
    for program in args.programs or NAMES:
        rows.append(row := measure(program, args.rounds, args.compile, args.jax))
        print(line(row), flush=True)
    for what, some in (
        ("training", [r for r in rows if r["trains"]]),
        ("the others", [r for r in rows if not r["trains"]]),
    ):
        if some:
            print(f"\n{means(some, what)}")
    apart = [row["program"] for row in rows if not max(row["differences"]) < CLOSE]
    if apart:
        raise SystemExit(f"losses differ by more than {CLOSE}: {', '.join(apart)}; their times do not count")


if __name__ == "__main__":
    main()
