"""bfloat16 in compiled programs: each operation is rounded once, as NumPy's and PyTorch's are."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import functorch_core as fc

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
LOWER = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)  # halves of float32 below what is kept


def compiled(function, *arrays):
    """What one program gives."""
    return np.asarray(fc.jit(function)(*[fc.asarray(x) for x in arrays]))


def agree(found, wanted):
    """The same bits, NaN for NaN."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    numbers = ~np.isnan(wanted.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), ~numbers)
    bits = f"u{wanted.dtype.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[numbers], wanted.view(bits)[numbers])


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("lower", LOWER, ids=hex)
def test_rounded_to_nearest_even(lower):
    x = (np.arange(1 << 16, dtype=np.uint32) << 16 | lower).view(np.float32)
    with np.errstate(invalid="ignore"):
        wanted = x.astype(BFLOAT16)
    agree(compiled(lambda v: v.astype(fc.bfloat16), x), wanted)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (7,), (5, 33)], ids=str)
def test_of_any_shape(shape):
    x = random(*shape)
    agree(compiled(lambda v: v.astype(fc.bfloat16), x), np.asarray(x.astype(BFLOAT16)))
    many = np.stack([x, x + 1])
    agree(compiled(fc.vmap(lambda v: v.astype(fc.bfloat16)), many), many.astype(BFLOAT16))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.bool_], ids=lambda d: d.__name__)
def test_by_way_of_float32(dtype):
    x = (random(40, 50) * 100).astype(dtype)
    agree(compiled(lambda v: v.astype(fc.bfloat16), x), x.astype(np.float32).astype(BFLOAT16))


STEPS = {
    "add": (lambda x, y: x + y, np.add),
    "sub": (lambda x, y: x - y, np.subtract),
    "mul": (lambda x, y: x * y, np.multiply),
    "div": (lambda x, y: x / y, np.divide),
    "maximum": (fc.maximum, np.maximum),
    "sqrt": (lambda x, y: fc.sqrt(fc.abs(x)), lambda x, y: np.sqrt(np.abs(x))),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("tier", ["fused", "per-op", "reference"])
def test_what_follows_sees_the_rounded_number(name, tier):
    ours, numpys = STEPS[name]
    x, y = random(64, 70).astype(BFLOAT16), random(64, 70, seed=1).astype(BFLOAT16)
    x[0, :3], y[0, 2] = [np.nan, np.inf, -0.0], 0
    with np.errstate(all="ignore"):
        wanted = numpys(x.astype(np.float32), y.astype(np.float32)).astype(BFLOAT16).astype(np.float32)
    agree(compiled(lambda a, b: ours(a, b).astype(fc.float32), x, y), wanted)
    with fc.engine.forced_tier(tier):
        agree(np.asarray(ours(fc.asarray(x), fc.asarray(y)).astype(fc.float32)), wanted)


def test_gradients_are_rounded_where_pytorch_rounds_them():
    x = random(64, 70).astype(BFLOAT16)
    found = compiled(fc.grad(lambda v: fc.sum((v * v).astype(fc.float32))), x)
    agree(found, (x.astype(np.float32) * 2).astype(BFLOAT16))
