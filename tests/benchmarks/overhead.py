"""The recorder against PyTorch eager: ops, tape, training steps, first steps, schedules, memory.

    python -m tests.benchmarks.overhead            everything (needs the `conformance` extra)
    python -m tests.benchmarks.overhead ops mlp    some of it

Ops and steps run alternately with the real PyTorch in one process; ratios are ours / PyTorch's.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from .alternate import alternate, show

OPS = 200  # operations between two flushes


def _both():
    import torch as theirs

    from functorch_core import engine
    from functorch_core import torch as ours

    return ours, theirs, engine


# ---- single operations -------------------------------------------------------------------------------


def _op_rows(lib, after):
    plain, leaf = lib.ones(3, 4), lib.ones(3, 4, requires_grad=True)

    def binary(x):
        def run():
            for _ in range(OPS):
                y = x + x
            after()
            return y

        return run

    def chain():
        y = leaf
        for _ in range(OPS):
            y = y + leaf
        y.backward(plain)
        leaf.grad = None
        after()

    return {"a + b": binary(plain), "a + b on the tape": binary(leaf), "forward and backward of a chain": chain}


def ops():
    """Microseconds an operation, all of Python included."""
    ours, theirs, engine = _both()
    mine = _op_rows(ours, lambda: None)
    other = _op_rows(theirs, lambda: None)
    for name in mine:
        # What was recorded is computed (or found dead) outside of the measured time.
        row = alternate(mine[name], other[name], number=1, rounds=40, between=engine.flush)
        show(name, {k: v / OPS if k.endswith("min") and "ratio" not in k else v for k, v in row.items()}, "PyTorch")
    _fc_add(theirs, engine)


def _fc_add(theirs, engine):
    import functorch_core as fc

    a, b = fc.ones((3, 4)), theirs.ones(3, 4)

    def mine():
        for _ in range(OPS):
            a + a

    def other():
        for _ in range(OPS):
            b + b

    row = alternate(mine, other, number=1, rounds=40, between=engine.flush)
    show(
        "fc.Array a + b",
        {k: v / OPS if k.endswith("min") and "ratio" not in k else v for k, v in row.items()},
        "PyTorch",
    )


# ---- training steps ----------------------------------------------------------------------------------


def mlp_step(lib, batch: int, width: int, after, optimizer: str = "SGD"):
    """A function that makes one training step of a 3-layer network."""
    lib.manual_seed(0)
    nn = lib.nn
    model = nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    opt = getattr(lib.optim, optimizer)(model.parameters(), lr=0.001)
    x, y = lib.randn(batch, 784), lib.randint(0, 10, (batch,))

    def step(lr=None):
        if lr is not None:
            opt.param_groups[0]["lr"] = lr
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        after()
        return loss

    return step


def mlp():
    """Training steps: batch 64 and 128 wide; batch 256 and 1024 wide; SGD and Adam."""
    ours, theirs, engine = _both()
    for batch, width in ((64, 128), (256, 1024)):
        for optimizer in ("SGD", "Adam"):
            mine = mlp_step(ours, batch, width, engine.flush, optimizer)
            other = mlp_step(theirs, batch, width, lambda: None, optimizer)
            for _ in range(3):
                a, b = mine().item(), other().item()
                assert abs(a - b) < 1e-4 * abs(b), f"losses differ: {a}, PyTorch's {b}"
            for _ in range(17):
                mine(), other()
            number = 100 if width == 128 else 10
            row = alternate(_rounds(mine, number), _rounds(other, number), number=1, rounds=12)
            show(
                f"MLP step, batch {batch}, width {width}, {optimizer}",
                {k: v if "ratio" in k else v / number for k, v in row.items()},
                "PyTorch",
            )


def _rounds(step, number: int):
    """A round of steps that ends when the last one has been computed."""

    def run():
        for _ in range(number):
            loss = step()
        loss.item()

    return run


def first():
    """First iterations in a fresh process, with a cold and a warm disk cache."""
    code = (
        "import time, json; t = time.perf_counter()\n"
        "from functorch_core import torch, engine\n"
        "from tests.benchmarks.overhead import mlp_step\n"
        "t1 = time.perf_counter(); step = mlp_step(torch, 64, 128, engine.flush)\n"
        "times = []\n"
        "for _ in range(60):\n"
        "    s = time.perf_counter(); step().item(); times.append(time.perf_counter() - s)\n"
        "print(json.dumps({'import': t1 - t, 'first': times[0], 'second': times[1],\n"
        "                  'sixty': sum(times), **engine.stats()}))"
    )
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            env = {**os.environ, "FUNCTORCH_CACHE_DIR": cache}
            out = subprocess.run(
                [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
            ).stdout
            r = json.loads(out.strip().splitlines()[-1])
            print(
                f"{name} cache: import {r['import']:.2f} s, first step {r['first'] * 1e3:.0f} ms, "
                f"second {r['second'] * 1e3:.0f} ms, 60 steps {r['sixty']:.2f} s, "
                f"{r['compiles']:.0f} compiles ({r['compile_seconds']:.2f} s), "
                f"{r['disk_hits']:.0f} from disk"
            )


def rates():
    """1,000 different learning rates: compiles after the first ten steps."""
    ours, _, engine = _both()
    step = mlp_step(ours, 16, 32, engine.flush)
    for i in range(40):
        step(0.1 / (1 + i))
    before = engine.stats()["compiles"]
    for i in range(1000):
        step(0.1 / (41 + i))
    print(f"1,000 learning rates: {engine.stats()['compiles'] - before:.0f} compiles")


def memory(steps: int = 20_000):
    """Many steps: resident memory, and the number of cached programs."""
    from functorch_core.engine import programs

    ours, _, engine = _both()
    step = mlp_step(ours, 16, 32, engine.flush)
    for _ in range(1000):
        step()
    plans = len(programs._plans)
    start, resident = time.perf_counter(), [_resident()]
    for i in range(1, steps + 1):
        step()
        if i % (steps // 4) == 0:
            resident.append(_resident())
    print(
        f"{steps:,} steps in {time.perf_counter() - start:.1f} s: resident memory "
        f"{' -> '.join(f'{r:.0f}' for r in resident)} MB at each quarter, cached plans {plans} -> "
        f"{len(programs._plans)}"
    )


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * resource.getpagesize() / 1e6


def layers():
    """Compile time of the gradient step of a transformer, by the number of layers."""
    ours, _, engine = _both()
    nn = ours.nn
    for n in (1, 2, 4, 12):
        block = [nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True) for _ in range(n)]
        model = nn.Sequential(*block)
        opt = ours.optim.SGD(model.parameters(), lr=0.01)
        x = ours.from_numpy(np.ones((4, 16, 64), np.float32))
        engine.reset_stats()
        start = time.perf_counter()
        with engine.forced_tier("fused"):
            for _ in range(3):
                opt.zero_grad()
                model(x).square().mean().backward()
                opt.step()
                engine.flush()
        s = engine.stats()
        print(
            f"{n:2d} layers: {s['compiles']:.0f} compiles, {s['compile_seconds']:.2f} s, "
            f"{s['disk_hits']:.0f} from disk; 3 steps {time.perf_counter() - start:.2f} s"
        )


ALL = {"ops": ops, "mlp": mlp, "first": first, "rates": rates, "memory": memory, "layers": layers}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or ALL:
        print(f"-- {ALL[chosen].__doc__}")
        ALL[chosen]()
