"""Floats that an integer dtype does not hold become what they become in PyTorch on x86, in every tier."""

from __future__ import annotations

import platform

import numpy as np
import pytest

reference = pytest.importorskip("torch")

from functorch_core import engine, torch  # noqa: E402

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="PyTorch's numbers are the processor's")

VALUES = (
    "0. -0.5 0.9 -1. -2. -2.7 127.9 128. 200. 255. 256. 300. -129. 32768. -32769. 65535. 65536. 70000. 2147483520. "
    "2147483648. -2147483648. -2147483648.5 -2147483649. 3e9 -3e9 4294967296. 5e9 1e10 -1e10 9.2e18 9.3e18 1.8e19 2e19 "
    "-9.2e18 -9.3e18 -2e19 1e30 -1e30 inf -inf nan"
)
VALUES = [float(x) for x in VALUES.split()]
FLOATS = "float64 float32 float16 bfloat16".split()
INTEGERS = "uint8 int8 int16 int32 int64 uint16 uint32 uint64".split()


def made(lib, source: str):
    return lib.tensor(VALUES, dtype=lib.float64).to(getattr(lib, source))


def expected(source: str, target: str):
    """One by one: PyTorch's vectorised loops give other numbers of what uint32 does not hold."""
    return [x.reshape(1).to(getattr(reference, target)).tolist()[0] for x in made(reference, source)]


@pytest.mark.parametrize("tier", ["auto", "reference", "per-op", "fused"])
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_every_pair(source, target, tier):
    wanted = expected(source, target)
    with engine.forced_tier(tier):
        x = made(torch, source)
        assert x.to(getattr(torch, target)).tolist() == wanted
        assert (x * 1).type(getattr(torch, target)).tolist() == wanted
        with engine.at_once("a test"):
            assert x.to(getattr(torch, target)).tolist() == wanted
    engine.flush()


WAYS = """
x.int()
x.byte()
x.char()
x.short()
x.long()
lib.zeros(len(x), dtype=lib.int32).copy_(x)
lib.zeros(len(x), dtype=lib.uint8).index_copy_(0, lib.arange(len(x)), x.byte())
lib.empty(len(x), dtype=lib.int16).fill_(0).copy_(x)
lib.as_tensor(x.numpy(), dtype=lib.int8)
lib.tensor(x.numpy(), dtype=lib.uint8)
lib.tensor(x.numpy(), dtype=lib.int32)
lib.from_numpy(x.numpy()).to(lib.int16)
lib.complex(x, x).to(lib.int32)
x.to(lib.zeros(1, dtype=lib.uint8))
x.view(-1, 1).expand(-1, 3).to(lib.int8)
put(lib.zeros(len(x), dtype=lib.uint8), x)
put(lib.zeros(len(x), dtype=lib.int32), x)
lib.stack([x, x])[1].int()
lib.sum(x[:6].reshape(2, 3), 0, dtype=lib.int32)
lib.vmap(lambda y: y.to(lib.uint8))(x)
x[4].to(lib.uint8)
lib.Tensor.int(x)
"""
WAYS = WAYS.strip().split("\n")


def put(into, x):
    into[:] = x
    return into


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_every_way(way):
    for source in ("float64", "float32"):
        a, b = (eval(way, {"lib": lib, "x": made(lib, source), "put": put}) for lib in (torch, reference))
        np.testing.assert_array_equal(a.numpy(), b.numpy())
