"""The programs in scripts/: both libraries print the same, errors with their messages included.

Each library runs all of them in one process.
"""

import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from ..tracker import without_tracker
from .scripts import run

HERE = pathlib.Path(__file__).parent / "scripts"
ROOT = HERE.parents[2]
FILES = [HERE / f"{name}.py" for name in ("tensor", "complex32", "autograd", "environment", "hostile")]
NAMES = [f"{path.stem}: {name}" for path in FILES for name in run.programs(path)]


@functools.cache
def outputs(library: str) -> dict[str, str]:
    """Program -> what it printed."""
    launcher = ["-m", "functorch_core"] if library == "ours" else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *launcher, str(HERE / "run.py"), *map(str, FILES)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the real PyTorch")
@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    assert outputs("ours")[name] == without_tracker(outputs("theirs")[name])
