"""Products of scattered factors, index warnings, and what topk, unique and nonzero refuse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same_error

reference = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("include_self", [True, False])
def test_products_are_in_order(dtype, include_self):
    """The same bits as multiplying one factor after the other, and as PyTorch's."""
    rng = np.random.default_rng(0)
    x, src = (rng.standard_normal(s).astype(dtype) for s in ((3, 5), (9, 5)))
    index = rng.integers(0, 3, src.shape)
    found = [
        t.from_numpy(x.copy()).scatter_reduce(
            0, t.from_numpy(index), t.from_numpy(src), "prod", include_self=include_self
        )
        for t in (torch, reference)
    ]
    assert np.array_equal(found[0].numpy(), found[1].numpy())


def test_byte_masks_warn():
    for t in (torch, reference):
        y, mask = t.ones(4, 4), t.zeros(4, dtype=t.uint8)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y.index_put_((mask,), t.ones(1, 4), accumulate=True)
        assert [str(w.message).partition(" (Trig")[0] for w in caught] == [
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
        ], t.__name__


def test_refusals():
    assert_same_error(lambda t: t.nonzero(t.ones(2), as_tuple=True, out=t.ones(2, dtype=t.int64)), reference)
    assert_same_error(lambda t: t.ones(4, 2, 4).topk(4, True), reference)
    for shape, dim in (((0, 0), 0), ((3, 0), 0), ((0, 3), 1)):
        assert_same_error(lambda t: t.zeros(shape).unique(dim=dim), reference)  # noqa: B023
        assert_same_error(lambda t: t.unique_consecutive(t.zeros(shape), dim=dim), reference)  # noqa: B023


def test_storage_of_a_numpy_size():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.FloatStorage(np.int16(3)).size() == reference.FloatStorage(np.int16(3)).size() == 3


def test_the_hash_of_a_tensor_is_its_id():
    for t in (torch, reference):
        x = t.ones(1)
        assert hash(x) == id(x) and {x, "sum"}


@pytest.mark.filterwarnings("ignore")
def test_numpy_comparisons_of_tensors_are_bytes():
    for t in (torch, reference):
        found = np.greater(t.tensor([1.0, 2.0]), np.array([1.5, 1.5]))
        assert found.dtype is t.uint8 and found.tolist() == [0, 1], t.__name__
