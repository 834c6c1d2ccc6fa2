"""`import functorch_core.torch` against the real `import torch`: CPU seconds, alternately.

    python -m tests.benchmarks.imports             ratio and times (needs the `conformance` extra)
    python -m tests.benchmarks.imports modules     what takes how long, by python -X importtime

Both libraries' byte code is compiled first, into a folder of its own.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import tempfile

BUDGET = 0.4  # of the real torch's time
OURS, THEIRS = "functorch_core.torch", "torch"
TIMED = """import resource, sys
import {module}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime)"""


def _run(code: str, cache: str, *options: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, check=True, env=environment
    )


def measure(rounds: int = 5) -> dict:
    """The least CPU seconds of each import, of several, and their ratio."""
    with tempfile.TemporaryDirectory() as cache:
        seconds: dict[str, list[float]] = {OURS: [], THEIRS: []}
        for i in range(rounds + 1):
            for module, found in seconds.items():
                out = _run(TIMED.format(module=module), cache).stdout
                if i:  # the first round writes the byte code
                    found.append(float(out.split()[-1]))
    ours, theirs = min(seconds[OURS]), min(seconds[THEIRS])
    return {"ours": ours, "theirs": theirs, "ratio": ours / theirs}


def by_module(rows: int = 30) -> list[tuple[str, float]]:
    """Milliseconds by package, the slowest first."""
    with tempfile.TemporaryDirectory() as cache:
        _run(f"import {OURS}", cache)
        lines = _run(f"import {OURS}", cache, "-X", "importtime").stderr.splitlines()
    total: collections.Counter = collections.Counter()
    for line in lines:
        own, _, name = (part.strip() for part in line.partition(":")[2].split("|"))
        if own.isdigit():
            depth = 3 if name.startswith("functorch_core") else 1
            total[".".join(name.split(".")[:depth])] += int(own) / 1000
    return total.most_common(rows)


def main():
    """Print what the command line asks for; exit status 1 over budget."""
    if "modules" in sys.argv[1:]:
        for name, milliseconds in by_module():
            print(f"{milliseconds:8.1f} ms  {name}")
        return
    found = measure()
    print(
        f"import {OURS} {found['ours']:.2f} s, import {THEIRS} {found['theirs']:.2f} s, "
        f"ratio {found['ratio']:.2f} (budget {BUDGET})"
    )
    sys.exit(found["ratio"] > BUDGET)


if __name__ == "__main__":
    main()
