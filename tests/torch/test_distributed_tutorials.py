"""Programs of the course of PyTorch's tutorials on DDP, fully_shard and tensor parallelism, under torchrun.

Losses of several processes are those of one, and, where both draw the same numbers, those that PyTorch 2.13 gave for
the same program with several processes and Gloo (its attention by formulas, which is what its DTensors can do on CPUs).
"""

import os
import subprocess
import sys

import pytest

from functorch_core.torch.compat.distributed.group import free_port

from .test_distributed import PROGRAMS, ROOT, launch, losses

pytestmark = pytest.mark.slow
TOY = [2.6790090, 1417.6333008, 9.1795082, 0.7754791]
LLAMA = [3.7791095, 3.7697439, 3.9972229, 3.7411230]


def same(found: list[float], wanted: list[float]):
    assert found == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def spawned(n: int) -> subprocess.CompletedProcess:
    program = str(PROGRAMS / "tutorials/ddp.py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TUTORIAL_PORT": str(free_port())}
    command = [sys.executable, "-m", "functorch_core", program, str(n)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, cwd=ROOT)


def test_data_parallel():
    one, two = spawned(1), spawned(2)
    same(losses(two), losses(one))
    assert len(losses(one)) == 5
    for what in ("basic DDP", "DDP checkpoint", "DDP with model parallel"):
        assert all(f"Finished running {what} example on rank {r}." in two.stdout for r in range(2))


def test_data_parallel_by_torchrun():
    given = ["--rdzv_id=100", "--rdzv_backend=c10d", f"--rdzv_endpoint=localhost:{free_port()}"]
    one = losses(launch("tutorials/ddp_elastic.py", n=1))
    same(losses(launch("tutorials/ddp_elastic.py", n=4, options=given)), one)
    assert len(one) == 6


@pytest.mark.parametrize("options", [(), ("--dcp-api", "--explicit-prefetching"), ("--mixed-precision",)])
def test_fully_shard_goes_on_from_its_checkpoint(options, tmp_path):
    runs = {}
    for n in (1, 4) if "--dcp-api" in options else (1, 2):
        begun, gone_on = (losses(launch("tutorials/fsdp.py", tmp_path / f"{n}", *options, n=n)) for _ in range(2))
        assert len(begun) == 6 and begun[-1] < begun[0]
        assert gone_on[0] < begun[-1]
        runs[n] = begun + gone_on
    found = list(runs.values())
    tolerance = 1e-2 if "--mixed-precision" in options else 1e-5
    assert found[1] == pytest.approx(found[0], rel=tolerance)


@pytest.mark.parametrize(
    "what, n, wanted", [("mlp", 2, TOY), ("sequence", 4, TOY), ("llama", 2, LLAMA), ("2d", 4, LLAMA)]
)
def test_tensor_parallel(what, n, wanted):
    same(losses(launch("tutorials/tensor_parallel.py", what, n=n)), wanted)
