"""The example programs under this library and under PyTorch: do the losses agree, what does a step take?

    python -m tests.examples.compare                 # all: 50 steps, every loss compared
    python -m tests.examples.compare vae gnn         # some
    python -m tests.examples.compare --time vae      # step times, printing rarely
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = ("resnet", "lstm_lm", "vae", "dcgan", "vit", "gnn", "dqn")
LOSS = re.compile(r"loss (-?\d+\.\d+)")
STEP = re.compile(r"^step +(\d+): .*, (\d+\.\d+) s$", re.MULTILINE)
OURS, PYTORCH = ["-m", "functorch_core"], []


def run(launcher: list[str], name: str, *args: str, **environment: str) -> subprocess.CompletedProcess:
    """One program in a process of its own; an error if it fails."""
    path = str(ROOT / "examples" / f"{name}.py")
    done = subprocess.run([sys.executable, *launcher, path, *args], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{name} {' '.join(args)} failed:\n{done.stderr}")
    return done


def losses(output: str) -> np.ndarray:
    return np.array([float(x) for x in LOSS.findall(output)])


def deviation(ours: str, theirs: str) -> float:
    """The largest relative difference between the losses that two runs printed."""
    a, b = losses(ours), losses(theirs)
    if a.shape != b.shape or not len(a):
        raise ValueError(f"{len(a)} and {len(b)} losses:\n{ours}\n{theirs}")
    return float(np.max(np.abs(a - b) / np.abs(b)))


def step_time(output: str) -> float:
    """Milliseconds a step in the second half of a run."""
    marks = [(int(step), float(seconds)) for step, seconds in STEP.findall(output)]
    (first, begin), (last, end) = marks[len(marks) // 2 - 1], marks[-1]
    return 1e3 * (end - begin) / (last - first)


def main(names: list[str]):
    timed = "--time" in names
    names = [name for name in names if not name.startswith("--")] or PROGRAMS
    for name in names:
        if timed:
            times = [step_time(run(launcher, name).stdout) for launcher in (OURS, PYTORCH)]
            print(f"{name:8} {times[0]:8.2f} ms a step, PyTorch {times[1]:8.2f}, "
                  f"ratio {times[0] / times[1]:.2f}", flush=True)
            continue
        args = ["--steps", "50", "--every", "1"]
        with tempfile.TemporaryDirectory() as cache:
            ours = run(OURS, name, *args, FUNCTORCH_CACHE_DIR=cache).stdout
        print(f"{name:8} largest relative difference in 50 steps "
              f"{deviation(ours, run(PYTORCH, name, *args).stdout):.1e}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
