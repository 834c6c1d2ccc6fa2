"""torch.segment_reduce of NaN and ties: values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same, pair

reference = pytest.importorskip("torch")
NAN = math.nan
ROWS = np.array([[1, NAN, 3, 4, 5, 5], [NAN, NAN, 2, 3, -1, -1]])
LENGTHS = [[1, 2, 3, 0], [2, 2, 0, 2]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    "reduce, initial",
    [("max", None), ("max", 0.0), ("max", 4.0), ("max", 5.0), ("min", None), ("min", 1000.0), ("min", 2.0)],
)
def test_extremes_share_their_derivative(reduce, initial, dtype):
    """Elements equal to the extreme and NaNs have equal parts of a segment's gradient."""
    ours, theirs = pair(ROWS, reference)
    found = []
    for t, x in ((torch, ours), (reference, theirs)):
        x = x.detach().to(getattr(t, dtype)).requires_grad_(True)
        out = t.segment_reduce(x, reduce, lengths=t.tensor(LENGTHS), axis=1, initial=initial)
        (grad,) = t.autograd.grad(out.sum(), x)
        found.append((out, grad))
    for a, b in zip(*found):
        assert_same(a, b)


def test_second_derivative():
    """The parts are constants."""
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([1, 2])
    assert torch.autograd.gradgradcheck(lambda x: torch.segment_reduce(x.sin(), "max", lengths=lengths), (x,))
