"""int4 and its kin, float4 and the float8 kinds that PyTorch lacks: held, and computed in wider dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import torch

INTS = ["int2", "int4", "uint2", "uint4"]
FLOATS = ["float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"]
TIERS = ["reference", "fused"]


@pytest.fixture(params=TIERS, autouse=True)
def tier(request):
    with fc.engine.forced_tier(request.param):
        yield


def every(name: str) -> np.ndarray:
    dtype = np.dtype(getattr(ml_dtypes, name))
    if name in INTS:
        info = ml_dtypes.iinfo(dtype)
        return np.arange(int(info.min), int(info.max) + 1).astype(dtype)
    return np.arange(16 if name == "float4_e2m1fn" else 256, dtype=np.uint8).view(dtype)


@pytest.mark.parametrize("name", INTS)
def test_integers_wrap(name):
    x = every(name)
    a, b = (g.reshape(-1) for g in np.meshgrid(x, x))
    bits, low = ml_dtypes.iinfo(x.dtype).bits, int(ml_dtypes.iinfo(x.dtype).min)
    for f in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b, jnp.maximum, lambda a, b: a & b):
        found = f(jnp.asarray(a), jnp.asarray(b))
        numpy = np.maximum if f is jnp.maximum else f
        wide = numpy(a.astype(np.int64), b.astype(np.int64))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(found).astype(np.int64), (wide - low) % 2**bits + low)
    assert jnp.asarray(x).sum().dtype == (np.int64 if low else np.uint64)


@pytest.mark.parametrize("name", INTS)
def test_floats_are_clipped(name):
    info = ml_dtypes.iinfo(getattr(ml_dtypes, name))
    x = np.array([9.7, -9.7, 1.5, -1.5, 0.4, np.inf, -np.inf, 1e30])
    for dtype in (np.float32, np.float64, np.float16):
        with np.errstate(over="ignore"):
            found = np.asarray(jnp.asarray(x.astype(dtype)).astype(name)).astype(int)
        assert found.tolist() == np.clip(np.trunc(x), int(info.min), int(info.max)).astype(int).tolist()
    assert int(jnp.asarray(np.nan).astype(name)) == 0


@pytest.mark.parametrize("name", FLOATS)
def test_floats_round_as_ml_dtypes(name):
    x = every(name)
    a, b = (g.reshape(-1).astype(np.float32) for g in np.meshgrid(x, x))
    with np.errstate(all="ignore"):
        for f in (lambda a, b: a + b, lambda a, b: a * b, np.subtract):
            ours = jnp.subtract if f is np.subtract else f
            found = ours(jnp.asarray(a.astype(x.dtype)), jnp.asarray(b.astype(x.dtype)))
            wanted = f(a, b).astype(x.dtype)
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(found).astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize("name", [*INTS, *FLOATS])
def test_arrays_of_them(name):
    dtype = getattr(jnp, name)
    x = jnp.asarray([1, 0, 1], dtype)
    assert x.dtype == dtype and jnp.zeros((2,), dtype).dtype == name and dtype(1) == 1
    assert fc.jit(lambda x: x * 1 + x)(x).dtype == dtype and jnp.sort(x).astype(int).tolist() == [0, 1, 1]
    assert x[jnp.asarray([0, 2])].astype(int).tolist() == [1, 1] and x.at[1].set(1).astype(int).tolist() == [1, 1, 1]
    total, parts = fc.lax.scan(lambda c, v: (c + v, c), jnp.zeros((), dtype), x)
    assert total.dtype == dtype and parts.astype(int).tolist() == [0, 1, 1]
    assert fc.lax.dot(x, x, preferred_element_type=jnp.int32).dtype == jnp.int32
    assert np.asarray(x).dtype == dtype.dtype and x.tolist() == [1, 0, 1]
    with pytest.raises(TypeError, match=f"tensors have no dtype {name}"):
        torch.as_tensor(x).dtype  # noqa: B018


def test_gradients_go_through_small_floats():
    def f(x):
        return (x.astype(jnp.float4_e2m1fn).astype(jnp.float32) ** 2).sum()

    assert fc.grad(f)(jnp.asarray([1.0, 2.0, 2.7])).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    "a, b, wanted",
    [
        ("int2", "int4", "int4"),
        ("int4", "uint4", "int8"),
        ("uint4", "uint8", "uint8"),
        ("int4", "uint8", "int16"),
        ("uint4", "int8", "int8"),
        ("uint2", "int64", "int64"),
        ("int4", "float16", "float16"),
        ("float4_e2m1fn", "float8_e4m3", "float8_e4m3"),
        ("float8_e3m4", "float8_e4m3", "bfloat16"),
    ],
)
def test_promotion(a, b, wanted):
    a, b = getattr(jnp, a), getattr(jnp, b)
    assert jnp.promote_types(a, b) == jnp.result_type(b, a) == wanted


def test_limits_and_kinds():
    assert (jnp.iinfo(jnp.int4).min, jnp.iinfo(jnp.uint2).max, jnp.iinfo(jnp.int4).bits) == (-8, 3, 4)
    assert jnp.finfo(jnp.float4_e2m1fn).max == 6 and jnp.finfo(jnp.float8_e3m4).max == 15.5
    assert jnp.issubdtype(jnp.int4, jnp.signedinteger) and jnp.issubdtype(jnp.uint4, jnp.integer)
    assert jnp.issubdtype(jnp.float8_e4m3, jnp.floating) and not jnp.issubdtype(jnp.int4, jnp.floating)
    with pytest.raises(OverflowError, match="does not fit int4"):
        jnp.zeros(2, jnp.int4) + 9
    for f in (fc.lax.clz, fc.lax.population_count, lambda x: fc.lax.shift_right_logical(x, x)):
        with pytest.raises(TypeError, match="of a byte or more"):
            f(jnp.zeros(2, jnp.int4))
