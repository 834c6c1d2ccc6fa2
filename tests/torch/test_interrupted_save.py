"""A checkpoint that is cut off while it is written: the old one stays, nothing else is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from functorch_core import torch

# Writes checkpoints over and over; says when the first is there.
WRITER = """
import signal, sys
from functorch_core import torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
path, big = sys.argv[1], torch.ones(4_000_000)
torch.save({"step": 0, "w": big}, path)
print("saved", flush=True)
for step in range(1, 10_000):
    torch.save({"step": step, "w": big + step}, path)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("delay", [0.02, 0.11])
def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path, how, delay):
    path = tmp_path / "model.pt"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout.readline() == "saved\n"
    time.sleep(delay)
    with process.stdout:
        while process.poll() is None:  # again: Python drops a Ctrl-C that comes inside a callback
            process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
    loaded = torch.load(path)
    assert (loaded["w"] == 1 + loaded["step"]).all()
    if how is signal.SIGINT:  # what Python can still clean up, it does
        assert os.listdir(tmp_path) == ["model.pt"]


class Unpicklable:
    """Fails when a good part of the file has been written."""

    def __reduce__(self):
        raise ValueError("not to be saved")


def test_an_error_while_saving_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"w": torch.ones(3)}, path)
    with pytest.raises(ValueError, match="not to be saved"):
        torch.save({"w": torch.zeros(1000), "x": Unpicklable()}, path)
    assert torch.load(path)["w"].tolist() == [1.0, 1.0, 1.0]
    assert os.listdir(tmp_path) == ["model.pt"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """The limit on the size of files stands for a disk that is full."""
    path = tmp_path / "model.pt"
    torch.save({"w": torch.ones(3)}, path)
    code = (
        "import resource, signal, sys; from functorch_core import torch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "torch.save({'w': torch.zeros(1_000_000)}, sys.argv[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert run.returncode == 1 and "File too large" in run.stderr
    assert torch.load(path)["w"].tolist() == [1.0, 1.0, 1.0]
    assert os.listdir(tmp_path) == ["model.pt"]


def test_a_truncated_file_says_so(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"w": torch.arange(100_000.0)}, path)
    whole = path.read_bytes()
    for n in (0, 4, 1000, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:n])
        with pytest.raises((RuntimeError, EOFError), match="Ran out of input|reading zip archive"):
            torch.load(path)
