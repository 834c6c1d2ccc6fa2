"""Products with matrices of small integers, and what functions of linear algebra refuse."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same, assert_same_error

reference = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
X = RNG.random((3, 64)).astype(np.float32)
BYTES = RNG.integers(-128, 128, (48, 64)).astype(np.int8)
NIBBLES = RNG.integers(0, 16, (48, 64)).astype(np.int32)
SCALES = RNG.random((2, 48, 2)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_weights_in_bytes(dtype):
    found = [
        t._weight_int8pack_mm(
            t.tensor(X).to(getattr(t, dtype)), t.tensor(BYTES), t.tensor(SCALES[0, :, 0]).to(getattr(t, dtype))
        )
        for t in (torch, reference)
    ]
    assert_same(*found, 10 if dtype == "float32" else 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_in_nibbles(dtype):
    found = []
    for t in (torch, reference):
        packed = t._convert_weight_to_int4pack_for_cpu(t.tensor(NIBBLES), 2)
        assert packed.shape == (48, 32) and packed.dtype is t.uint8
        x, scales = (t.tensor(a).to(getattr(t, dtype)) for a in (X, SCALES))
        found.append(t._weight_int4pack_mm_for_cpu(x, packed, 32, scales))
    assert_same(*found, 10 if dtype == "float32" else 1)


def test_product_of_bytes():
    assert_same(*[t._int_mm(t.tensor(BYTES), t.tensor(BYTES.T.copy())) for t in (torch, reference)])
    eight = np.ones((3, 5), np.int8)
    assert_same_error(lambda t: t._int_mm(t.tensor(eight), t.tensor(eight)), reference)
    assert_same_error(lambda t: t._int_mm(t.tensor(eight), t.ones(5, 2, dtype=t.int32)), reference)
    assert_same_error(lambda t: t._weight_int8pack_mm(t.tensor(X), t.tensor(NIBBLES), t.ones(48)), reference)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.chain_matmul(),
        lambda t: t.einsum("", []),
        lambda t: t.einsum(""),
        lambda t: t.baddbmm(t.ones(1, 2, 2, dtype=t.float64), t.ones(1, 2, 2), t.ones(1, 2, 2)),
        lambda t: t.addr(t.ones(2, 2), t.ones(2), t.ones(2), beta=True),
        lambda t: t.addr(t.ones(2, 2), t.ones(2), t.ones(2), beta=2, alpha=True),
        lambda t: t.linalg.eig(t.tensor([[float("nan"), 1], [1, 2]])),
        lambda t: t.linalg.eig(t.tensor([[float("inf"), 1], [1, 2]])),
        lambda t: t.eig(t.ones(2, 2)),
        lambda t: t.ones(2, 2).symeig(),
        lambda t: t.solve(t.ones(2, 2), t.ones(2, 2)),
        lambda t: t.ones(2, 2).lstsq(t.ones(2, 2)),
        lambda t: t.matrix_rank(t.ones(2, 2)),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_refusals(call):
    assert_same_error(call, reference)
