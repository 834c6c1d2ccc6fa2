"""The example programs under this library and PyTorch: are losses equal, how long is a step?

python -m tests.examples.compare                 # all: 50 steps, every loss compared
python -m tests.examples.compare vae gnn         # some
python -m tests.examples.compare --double resnet # in float64, where rounding does not matter
python -m tests.examples.compare --seed 3 lstm_lm
python -m tests.examples.compare --time vae      # step times, printing rarely; run it twice
"""

import argparse
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
IN_DOUBLE = """
import runpy, sys, torch
torch.set_default_dtype(torch.float64)
torch.Tensor.float = torch.Tensor.double
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
TIMED = {"resnet": 24, "lstm_lm": 80, "vae": 1000, "dcgan": 200, "vit": 120, "gnn": 200, "dqn": 1500}


def run(launcher: list[str], name: str, *args: str, double: bool = False, **environment: str) -> str:
    """What a program prints, in a process of its own; an error if it fails."""
    path = str(ROOT / "examples" / f"{name}.py")
    launcher = [*launcher, "-c", IN_DOUBLE] if double else launcher
    done = subprocess.run(
        [sys.executable, *launcher, path, *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(f"{name} {' '.join(args)} failed:\n{done.stderr}")
    return done.stdout


def losses(output: str) -> np.ndarray:
    return np.array([float(x) for x in LOSS.findall(output)])


def deviation(ours: str, theirs: str) -> float:
    """The largest relative difference between the losses that two runs printed."""
    a, b = losses(ours), losses(theirs)
    if a.shape != b.shape or not len(a):
        raise ValueError(f"{len(a)} and {len(b)} losses:\n{ours}\n{theirs}")
    return float(np.max(np.abs(a - b) / np.abs(b)))


def step_time(output: str) -> float:
    """Milliseconds a step in the second half of a run, when all is compiled."""
    marks = [(int(step), float(seconds)) for step, seconds in STEP.findall(output)]
    (first, begin), (last, end) = marks[len(marks) // 2], marks[-1]
    return 1e3 * (end - begin) / (last - first)


def compare(name: str, *more: str, double: bool = False):
    """Print how far the losses of 50 steps are apart; with a cold cache."""
    args = ["--steps", "50", "--every", "1", *more]
    with tempfile.TemporaryDirectory() as cache:
        ours = run(OURS, name, *args, double=double, FUNCTORCH_CACHE_DIR=cache)
    theirs = run(PYTORCH, name, *args, double=double)
    print(f"{name:8} largest relative difference {deviation(ours, theirs):.1e}", flush=True)


def measure(name: str):
    """Print the time of a step."""
    args = ["--steps", str(TIMED[name]), "--every", str(TIMED[name] // 4)]
    ours, theirs = (step_time(run(launcher, name, *args)) for launcher in (OURS, PYTORCH))
    print(f"{name:8} {ours:7.2f} ms a step, PyTorch {theirs:7.2f}, ratio {ours / theirs:.2f}", flush=True)


def main(args: list[str]):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--time", action="store_true", help="measure steps instead of losses")
    parser.add_argument("--double", action="store_true", help="in float64")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--width", help="of the programs that have one")
    options = parser.parse_args(args)
    more = ["--seed", options.seed] + (["--width", options.width] if options.width else [])
    for name in options.names or PROGRAMS:
        if options.time:
            measure(name)
        else:
            compare(name, *more, double=options.double)


if __name__ == "__main__":
    main(sys.argv[1:])
