"""Peak memory of programs and examples under both libraries.

    python -m tests.benchmarks.memory                        all: some minutes
    python -m tests.benchmarks.memory gnn index_put          these

Each runs in a process of its own, which says at its end what its memory was at most (VmHWM: unlike ru_maxrss it
starts with the process, not with the one it was forked from). Ours runs with an empty disk cache, so that
what compiling takes counts, and with the cache filled. Needs the `conformance` extra.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
WANTED = 1.2
PEAK = "peak KiB:"
PROGRAMS = {
    f.stem: (f, [])
    for folder in ("scripts", "memory_programs")
    for f in sorted((HERE / folder).glob("*.py"))
    if not f.stem.startswith("_")
}
STEPS = {"char_gpt": 40, "dcgan": 25, "dqn": 1000, "gnn": 40, "lstm_lm": 25, "resnet": 5, "vae": 200, "vit": 40}
EXAMPLES = {name: (ROOT / "examples" / f"{name}.py", ["--steps", str(n)]) for name, n in STEPS.items()}
EXAMPLES["quickstart"] = ROOT / "examples" / "quickstart.py", ["--epochs", "2"]


def peak_of_this_process() -> int:
    """KiB that have been resident at once."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1))


def inside(arguments: list[str]):
    """Run a script as a user would, then say the peak."""
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")
    print(PEAK, peak_of_this_process(), file=sys.stderr)


def peak(script: pathlib.Path, arguments: list[str], ours: bool, cache: str) -> float:
    """MiB that a script needs at most."""
    launcher = ["-m", "functorch_core"] if ours else []
    command = [sys.executable, *launcher, __file__, "--inside", str(script), *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": cache}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    found = re.search(rf"{PEAK} (\d+)", done.stderr)
    if done.returncode or not found:
        raise RuntimeError(f"{script.stem} ({'ours' if ours else 'PyTorch'}) failed:\n{done.stderr[-2000:]}")
    return int(found[1]) / 1024


def main(names: list[str]):
    """Print a row for each."""
    print(f"| {'program':<20} | PyTorch, MiB | cold | ratio | warm | ratio |\n|---|---:|---:|---:|---:|---:|")
    above = []
    for name in names or {**PROGRAMS, **EXAMPLES}:
        script, arguments = {**PROGRAMS, **EXAMPLES}[name]
        with tempfile.TemporaryDirectory() as cache:
            theirs, cold, warm = (peak(script, arguments, ours, cache) for ours in (False, True, True))
        print(
            f"| {name:<20} | {theirs:.0f} | {cold:.0f} | {cold / theirs:.2f} | {warm:.0f} | {warm / theirs:.2f} |",
            flush=True,
        )
        above += [name] if max(cold, warm) > WANTED * theirs else []
    print(f"above {WANTED} x: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("names", nargs="*", metavar="name", help=", ".join({**PROGRAMS, **EXAMPLES}))
        main(parser.parse_args().names)
