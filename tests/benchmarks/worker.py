"""One side of the benchmark over whole programs: makes steps when it is told to.

    python -m tests.benchmarks.worker PROGRAM ours|pytorch|compiled|jax

Reads a number of steps a line from its standard input, makes them, and answers with a line of JSON:
the seconds they took together and their losses. The last loss is read within the time measured, as a
script that prints its progress would.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

from .memory import peak_of_this_process


def main(program: str, library: str):
    """Serve one program until the input ends, then report memory and compilations."""
    if library == "ours":
        from functorch_core import shim

        shim.install()
    elif library == "compiled":
        os.environ["BENCHMARK_COMPILE"] = "1"
    programs = "twins" if library == "jax" else "programs"
    step = importlib.import_module(f"tests.benchmarks.{programs}.{program}").start()
    for line in sys.stdin:
        start, processor = time.perf_counter(), time.process_time()
        losses = [step() for _ in range(int(line))]
        losses[-1].item()
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        answer({"seconds": seconds, "processor": processor, "losses": [loss.item() for loss in losses]})
    answer({"megabytes": peak_of_this_process() / 1024, **counters(library)})


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
