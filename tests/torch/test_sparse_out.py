"""Sparse tensors: out=, elementwise ops that keep zeros, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same, assert_same_error

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
X = np.array([[0, -1.5, np.nan], [2.5, 0, 0]])


def sparse(t, array=X):
    return t.tensor(array).to_sparse()


def same(call):
    ours, theirs = call(torch), call(reference)
    assert ours.layout is torch.sparse_coo and ours.is_coalesced() == theirs.is_coalesced()
    assert_same(ours.to_dense(), theirs.to_dense())


@pytest.mark.parametrize("name", ["positive", "conj_physical", "nan_to_num", "frac", "sin", "neg"])
def test_elementwise(name):
    same(lambda t: getattr(t, name)(sparse(t)))
    if name != "positive":
        same(lambda t: getattr(t, name)(sparse(t), out=t.zeros(1, 1, dtype=t.float64).to_sparse()))
        same(lambda t: getattr(t.Tensor, f"{name}_")(sparse(t)))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.add(sparse(t), sparse(t), out=sparse(t)),
        lambda t: t.floor_divide(sparse(t), 2),
        lambda t: t.sparse_coo_tensor(t.zeros(0, 3, dtype=t.int64), t.ones(3), ()).coalesce(),
        lambda t: t.sparse_coo_tensor(t.zeros(2, 0, dtype=t.int64), t.zeros(0), (2, 3)).t(),
    ],
)
def test_results(call):
    same(call)


def test_products_of_no_columns():
    assert_same(*[t.bmm(t.zeros(2, 3, 0).to_sparse(), t.zeros(2, 0, 4)) for t in (torch, reference)])


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.sin(sparse(t, np.array([[1]])), out=sparse(t, np.array([[1]]))),
        lambda t: t.div(sparse(t), sparse(t)),
        lambda t: t.floor_divide(sparse(t), sparse(t)),
        lambda t: t.tensor(1.0) / t.tensor(2.0).to_sparse(),
        lambda t: t.add(t.ones(3, 2, dtype=t.float64), sparse(t)),
        lambda t: t.empty_like(sparse(t), memory_format=t.contiguous_format),
    ],
)
def test_refusals(call):
    assert_same_error(call, reference)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.cat([t.ones(2, 3).to_sparse(), t.ones(2, 4).to_sparse()], 0),
        lambda t: t.cat([t.ones(2, 3).to_sparse(), t.ones(2, 3).to_sparse(1)], 0),
        lambda t: t.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True),
    ],
)
def test_what_does_not_fit(call):
    """Joined, tensors of other sizes gave a tensor with indices outside of it."""
    assert_same_error(call, reference)


def test_scalars_and_new():
    same(lambda t: sparse(t) * t.tensor(2.0, dtype=t.float64).to_sparse())
    assert sparse(torch).new().shape == sparse(reference).new().shape
