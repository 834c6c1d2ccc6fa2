"""examples/quickstart.py under this library and under real PyTorch: the same losses."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "quickstart.py"
LOSSES = re.compile(r"epoch +(\d+): (training loss \S+, test loss \S+, accuracy \S+),")


def run(launcher: list[str], folder) -> str:
    # Passive: PyTorch's threads wait spinning for each other, without end where others have the cores.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(
        [sys.executable, *launcher, str(SCRIPT), "--out", str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_prints_what_pytorch_prints(tmp_path):
    ours = run(["-m", "functorch_core"], tmp_path)
    last = ours.splitlines()[-1]
    assert float(re.fullmatch(r"test accuracy: (0\.\d{3})", last)[1]) >= 0.97
    assert (tmp_path / "quickstart.pt").exists()
    assert "+xla" in ours and len(LOSSES.findall(ours)) == 10
    pytest.importorskip("torch")
    theirs = run([], tmp_path)
    assert "+xla" not in theirs
    assert LOSSES.findall(ours) == LOSSES.findall(theirs)
    assert last == theirs.splitlines()[-1]
