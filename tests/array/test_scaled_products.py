"""jnn.scaled_dot_general against the formulas of its formats, in NumPy. JAX computes it on GPUs of NVIDIA's alone."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import functorch_core as fc
from functorch_core import jnn

rng = np.random.default_rng(0)


def by_numpy(x: np.ndarray, mode: str, whole: float = 1.0) -> np.ndarray:
    """x [..., K] rounded in blocks, as the microscaling formats of OCP and NVIDIA say."""
    block, narrow = (32, ml_dtypes.float8_e4m3fn) if mode == "mxfp8" else (16, ml_dtypes.float4_e2m1fn)
    most, out = float(ml_dtypes.finfo(narrow).max), np.empty_like(x)
    for index in np.ndindex(*x.shape[:-1], x.shape[-1] // block):
        part = (*index[:-1], slice(index[-1] * block, (index[-1] + 1) * block))
        v = x[part] / whole
        scale = np.abs(v).max() / most
        if mode == "mxfp8":
            scale = 2.0 ** np.ceil(np.log2(scale)) if scale else 1.0
        else:
            scale = float(np.float32(min(scale, 448)).astype(ml_dtypes.float8_e4m3fn))
        inside = np.clip(v / np.float32(scale), -most, most) if scale else 0 * v
        out[part] = inside.astype(narrow).astype(np.float32) * np.float32(scale) * whole
    return out


@pytest.mark.parametrize("mode, whole", [("mxfp8", None), ("nvfp4", None), ("nvfp4", 0.5)])
def test_values(mode, whole):
    a, b = rng.normal(size=(2, 3, 64)).astype(np.float32), rng.normal(size=(2, 4, 64)).astype(np.float32) * 1e-3
    a[0, 0, :32] = 0
    scale = None if whole is None else fc.asarray([whole])
    configs = [jnn.get_scaled_dot_general_config(mode, scale)] * 3
    numbers = (((2,), (2,)), ((0,), (0,)))
    f = lambda a, b: jnn.scaled_dot_general(a, b, numbers, configs=configs)  # noqa: E731
    left, right = (by_numpy(x, mode, whole or 1.0) for x in (a, b))
    wanted = np.einsum("bik,bjk->bij", left, right)
    np.testing.assert_allclose(f(a, b), wanted, rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(fc.jit(f)(a, b), wanted, rtol=2e-5, atol=1e-7)
    assert np.abs(wanted - np.einsum("bik,bjk->bij", a, b)).max() > 1e-6
    slopes = fc.grad(lambda a, b: f(a, b).sum(), argnums=(0, 1))(fc.asarray(a), fc.asarray(b))
    np.testing.assert_allclose(slopes[0], np.broadcast_to(right.sum(1, keepdims=True), a.shape), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slopes[1], np.broadcast_to(left.sum(1, keepdims=True), b.shape), rtol=1e-4, atol=1e-4)


def test_blocks_lie_along_what_is_summed_over():
    a, b = rng.normal(size=(2, 32, 3)).astype(np.float32), rng.normal(size=(2, 32)).astype(np.float32)
    configs = [jnn.get_scaled_dot_general_config("mxfp8")] * 2
    found = jnn.scaled_dot_general(a, b, (((0, 1), (0, 1)), ((), ())), configs=configs)
    left = by_numpy(np.moveaxis(a, 2, 0).reshape(3, 64), "mxfp8")
    np.testing.assert_allclose(found, left @ by_numpy(b.reshape(64), "mxfp8"), rtol=1e-5, atol=1e-5)
    without = jnn.scaled_dot_general(a, b, (((0, 1), (0, 1)), ((), ())))
    np.testing.assert_allclose(without, np.einsum("ijk,ij->k", a, b), rtol=1e-5, atol=1e-5)


def test_errors():
    configs = [jnn.get_scaled_dot_general_config("mxfp8")] * 3
    with pytest.raises(ValueError, match="blocks of 32"):
        jnn.scaled_dot_general(fc.ones((2, 40)), fc.ones((2, 40)), (((1,), (1,)), ((), ())), configs=configs)
    with pytest.raises(ValueError, match="'mxfp8' or 'nvfp4'"):
        jnn.get_scaled_dot_general_config("fp8")
    with pytest.raises(TypeError, match="configs are one of each operand"):
        jnn.scaled_dot_general(fc.ones((2, 32)), fc.ones((2, 32)), (((1,), (1,)), ((), ())), configs="mxfp8")
