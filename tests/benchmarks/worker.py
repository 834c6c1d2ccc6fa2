"""One side of the benchmark over whole programs: makes steps when it is told to.

    python -m tests.benchmarks.worker PROGRAM ours|pytorch

Reads a number of steps a line from its standard input, makes them, and answers with a line of JSON:
the seconds they took together and their losses. The last loss is read within the time measured, as a
script that prints its progress would.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time


def main(program: str, library: str):
    """Serve one program until the input ends, then report memory and compilations."""
    if library == "ours":
        from functorch_core import shim

        shim.install()
    step = importlib.import_module(f"tests.benchmarks.programs.{program}").start()
    for line in sys.stdin:
        start = time.perf_counter()
        losses = [step() for _ in range(int(line))]
        losses[-1].item()
        seconds = time.perf_counter() - start
        answer({"seconds": seconds, "losses": [loss.item() for loss in losses]})
    answer({"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, **counters(library)})


def counters(library: str) -> dict:
    """What our engine compiled; nothing for the peer."""
    if library != "ours":
        return {"compiles": 0, "compile_seconds": 0.0}
    from functorch_core import engine

    return {key: engine.stats()[key] for key in ("compiles", "compile_seconds")}


def answer(message: dict):
    """One line of JSON, at once."""
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
