"""Two processes on one machine beside PyTorch with Gloo, in turns: all-reduces and steps of DistributedDataParallel.

    python -m tests.benchmarks.distributed

Each process has both libraries. Times are minima and medians, in milliseconds, of the first process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {"1 KB": 256, "1 MB": 1 << 18, "64 MB": 1 << 24}


def libraries(folder: str):
    """Both, each having joined the other process."""
    import torch as theirs

    from functorch_core import torch as ours

    ours.distributed.init_process_group("gloo")
    rank, n = ours.distributed.get_rank(), ours.distributed.get_world_size()
    theirs.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=n)
    theirs.set_num_threads(1)
    return ours, theirs


def model(torch, width=256):
    """(a DistributedDataParallel, a function that makes a step)."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    net = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = torch.randn(64, width), torch.randint(0, 10, (64,))

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def reducer(torch, size: int):
    """A function that reduces a tensor."""
    x = torch.ones(size)

    def reduce():
        torch.distributed.all_reduce(x, torch.distributed.ReduceOp.MAX)
        return x[0].item()

    return reduce


def worker(folder: str):
    """What each of the two processes does."""
    sides = libraries(folder)
    cases = {f"all_reduce {name}": [reducer(t, size) for t in sides] for name, size in SIZES.items()}
    cases["DDP step"] = [model(t) for t in sides]
    for name, functions in cases.items():
        number, rounds = (3, 5) if "64 MB" in name else (20, 15)
        times: tuple[list[float], list[float]] = ([], [])
        for f in functions * 3:
            f()
        for _ in range(rounds):
            for side, f in enumerate(functions):
                for _ in range(number):
                    start = time.perf_counter()
                    f()
                    times[side].append(time.perf_counter() - start)
        if sides[0].distributed.get_rank() == 0:
            for what, of in (("minimum", min), ("median", statistics.median)):
                mine, other = (1e3 * of(t) for t in times)
                found = f"{mine:9.3f} ms   PyTorch {other:9.3f} ms   ratio {mine / other:5.2f}"
                print(f"{name:20s} {what:8s} {found}", flush=True)


def main():
    """Start two processes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "functorch_core.torch.distributed.run", "--nproc-per-node=2", "--no-python"]
        command += [sys.executable, "-m", "tests.benchmarks.distributed", folder]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    worker(sys.argv[1]) if len(sys.argv) > 1 else main()
