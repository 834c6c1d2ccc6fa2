"""examples/quickstart.py under this library and under real PyTorch: the same losses."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "quickstart.py"
LOSSES = re.compile(r"training loss (\S+), test loss (\S+), accuracy (\S+),")


def run(launcher: list[str], folder, *args: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *launcher, str(SCRIPT), "--out", str(folder), *args],
                          capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(text: str) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in LOSSES.findall(text)])


def test_two_epochs_are_pytorchs(tmp_path):
    pytest.importorskip("torch")
    args = ["--epochs", "2", "--batch-size", "256"]
    ours = run(["-m", "functorch_core"], tmp_path, *args)
    theirs = run([], tmp_path, *args)
    assert losses(ours).shape == (2, 3)
    np.testing.assert_allclose(losses(ours), losses(theirs), atol=1.01e-4)
    assert "+xla" in ours and "+xla" not in theirs
    assert (tmp_path / "quickstart.pt").exists()


@pytest.mark.slow
def test_accuracy(tmp_path):
    last = run(["-m", "functorch_core"], tmp_path).splitlines()[-1]
    assert float(re.fullmatch(r"test accuracy: (0\.\d{3})", last)[1]) >= 0.97
