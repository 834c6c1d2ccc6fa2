"""One side of the benchmark of functional programs: compiles and runs when it is told to.

    FUNCTIONAL_LIBRARY=ours|jax python -m tests.benchmarks.functional.worker PROGRAM

Answers each line of its standard input with a line of JSON: `compile` with the seconds it took to trace, lower and
compile the program anew; `value` with the numbers it computes; N with the seconds of the quickest of N calls.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from . import programs
from .face import PROGRAMS, jax, jnp


class Program:
    """A program of one library, on arrays."""

    def __init__(self, name: str):
        self.make = PROGRAMS[name]
        self.args = jax.tree.map(jnp.asarray, self.make()[1])
        self.call = None

    def compile(self) -> dict:
        """Seconds of the processors, of all threads, for tracing, lowering and compiling it anew."""
        fun = self.make()[0]
        start = time.process_time()
        jax.jit(fun).lower(*self.args).compile()
        return {"seconds": time.process_time() - start}

    def run(self, number: int) -> dict:
        """Seconds of the quickest of so many calls."""
        if self.call is None:
            self.call = jax.jit(self.make()[0])
        best = float("inf")
        for _ in range(number):
            start = time.perf_counter()
            jax.block_until_ready(self.call(*self.args))
            best = min(best, time.perf_counter() - start)
        return {"seconds": best}

    def value(self) -> dict:
        """The mean and the largest magnitude of each result; nothing if the numbers are drawn."""
        self.run(1)
        leaves = [np.asarray(a, np.float64) for a in jax.tree.leaves(self.call(*self.args))]
        if not all(np.isfinite(a).all() for a in leaves):
            raise SystemExit("not finite")
        drawn = getattr(self.make, "drawn", False)
        return {"leaves": [] if drawn else [[a.mean(), np.abs(a).max()] for a in leaves]}

    def optimized(self) -> dict:
        """The optimized HLO."""
        text = jax.jit(self.make()[0]).lower(*self.args).compile().as_text()
        return {"text": text if isinstance(text, str) else "\n".join(text)}


def main(name: str):
    """Serve one program until the input ends."""
    program = Program(name)
    for line in sys.stdin:
        asked = line.strip()
        answer = program.run(int(asked)) if asked.isdigit() else getattr(program, asked)()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    assert programs
    main(*sys.argv[1:])
