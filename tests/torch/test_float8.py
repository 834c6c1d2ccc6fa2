"""Float8: what is out of the range of these dtypes, and their smallest numbers, against the reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from functorch_core import engine, torch

reference = pytest.importorskip("torch")

FLOAT8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("tier", ["reference", "fused"])
def test_float8_ends_as_pytorch_does(name, tier):
    sizes = np.concatenate([np.outer([1, 1.25, 1.4999, 1.5, 1.75], 2.0 ** np.arange(-149, 128)).ravel(), [0, 448, 464]])
    numbers = np.concatenate([sizes, [500, 61440, 1e9, math.inf, math.nan]]).astype(np.float32)
    numbers = np.concatenate([numbers, -numbers])

    def results(m):
        dtype = getattr(m, name)
        x = m.tensor(numbers.tolist())
        made = [x.to(dtype), x.half().to(dtype), m.tensor([500.0, -3.0, 0.0], dtype=dtype), m.zeros(2, dtype=dtype)]
        made += [m.empty(x.shape, dtype=dtype).copy_(x), m.ones(2, dtype=dtype).zero_()]
        return [m.arange(256, dtype=m.uint8).view(dtype).double()] + [y.double() for y in made]

    with engine.forced_tier(tier):
        ours = [y.numpy() for y in results(torch)]
    for mine, theirs in zip(ours, results(reference), strict=True):
        np.testing.assert_array_equal(mine, theirs.numpy())
    assert torch.finfo(getattr(torch, name)).eps == reference.finfo(getattr(reference, name)).eps
