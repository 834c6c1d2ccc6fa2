"""Sobol' sequences are PyTorch's, scrambled or not."""

import copy
import pickle

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def engine(t, *args, **options):
    return t.quasirandom.SobolEngine(*args, **options)


def draws(t, dimension: int, options: dict) -> list:
    t.manual_seed(3)
    e = engine(t, dimension, **options)
    found = [
        e.draw(1),
        e.draw(5, dtype=t.float64),
        e.draw(3),
        e.fast_forward(10).draw(2),
        e.draw(0),
        e.quasi.clone(),
        e.shift,
        e.sobolstate,
        e.reset().draw_base2(3),
        e.reset().fast_forward(7).draw(2),
        t.rand(2),
    ]
    return [e.num_generated, repr(e), *[x.numpy() for x in found]]


@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 12}, {"scramble": True}])
@pytest.mark.parametrize("dimension", [1, 2, 5, 40, 1024])
def test_draws(dimension, options):
    ours, theirs = draws(torch, dimension, options), draws(reference, dimension, options)
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2:], theirs[2:], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@BOTH
def test_copies_go_on_alike(t):
    e = engine(t, 3, scramble=True, seed=0)
    e.draw(3)
    others = copy.deepcopy(e), pickle.loads(pickle.dumps(e))
    point = e.draw(1)
    assert all((other.draw(1) == point).all() for other in others)


@BOTH
def test_out_and_dtype(t):
    out = t.empty(0)
    assert engine(t, 2).draw(3, out=out) is out and out.shape == (3, 2)
    assert engine(t, 2).draw(3, dtype=t.float64).dtype is t.float64


@BOTH
def test_errors(t):
    for dimension in (0, 10**6):
        with pytest.raises(ValueError, match="Supported range"):
            engine(t, dimension)
    e = engine(t, 2)
    e.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        e.draw_base2(3)
