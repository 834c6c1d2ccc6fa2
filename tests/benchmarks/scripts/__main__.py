"""Whole scripts from process start to exit, under both libraries in turn.

    python -m tests.benchmarks.scripts                       all, two rounds
    python -m tests.benchmarks.scripts kmeans mcmc --rounds 4

Ours runs with an empty disk cache (cold) and with the cache that the cold run filled (warm). Seconds and peak
memory are the process's own; of the rounds the least counts. What the scripts print must agree (they print
what rounding and other random numbers leave alike). Needs the `conformance` extra.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
QUICKSTART = ROOT / "examples" / "quickstart.py"
SCRIPTS = {path.stem: path for path in sorted(HERE.glob("*.py")) if not path.stem.startswith("_")}
SCRIPTS["quickstart"] = QUICKSTART
SAID = re.compile(r"^torch .*|, \d+\.\d s$", re.M)  # the version and the seconds that the quickstart prints


def run(script: pathlib.Path, ours: bool, cache: str) -> tuple[float, int, str]:
    """Seconds, peak KiB, and what it printed."""
    launcher = ["-m", "functorch_core"] if ours else []
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": cache}
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *launcher, str(script)], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"{script.stem} ({'ours' if ours else 'PyTorch'}) failed:\n{err[-2000:]}")
    return time.perf_counter() - start, usage.ru_maxrss, out


def measure(script: pathlib.Path, rounds: int) -> dict[str, tuple[float, int, str]]:
    """The quickest of the rounds for PyTorch, ours cold, ours warm."""
    best: dict[str, tuple[float, int, str]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name, ours in (("theirs", False), ("cold", True), ("warm", True)):
                found = run(script, ours, cache)
                best[name] = min(best.get(name, found), found)
    return best


def main(names: list[str], rounds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(f"{'script':18} {'PyTorch':>8} {'cold':>8} {'ratio':>6} {'warm':>8} {'ratio':>6} {'MiB':>6} {'of':>6}")
    ratios: dict[str, list[float]] = {"cold": [], "warm": []}
    for name in names or SCRIPTS:
        best = measure(SCRIPTS[name], rounds)
        theirs = best["theirs"]
        for kind, found in ratios.items():
            found.append(best[kind][0] / theirs[0])
        same = "" if len({SAID.sub("", found[2]) for found in best.values()}) == 1 else "  prints something else"
        print(
            f"{name:18} {theirs[0]:8.2f} {best['cold'][0]:8.2f} {ratios['cold'][-1]:6.2f} {best['warm'][0]:8.2f} "
            f"{ratios['warm'][-1]:6.2f} {best['warm'][1] >> 10:6} {theirs[1] >> 10:6}{same}",
            flush=True,
        )
    for kind, found in ratios.items():
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"{kind}: geometric mean {mean:.2f}, largest {max(found):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[*SCRIPTS, []])
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    main(given.names, given.rounds)
