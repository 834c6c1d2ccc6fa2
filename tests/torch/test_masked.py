"""torch.masked with masks of every layout and shape, and the helpers that its users import, beside PyTorch's."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from .agree import ours, reference

BOTH = pytest.mark.parametrize("t", [ours, reference], ids=["ours", "theirs"])
INPUT = np.array([[[3.0, 0, -2], [0, 5, 1]], [[0, 0, 4], [7, 0, -6]]], np.float32)
MASK = np.array([[[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [1, 1, 1]]], bool)
PARTS = [(), (slice(1),), (slice(None), slice(1)), (slice(None), slice(None), slice(1)), (0,), (0, 0)]


def outcome(program, t):
    """What a program gives under a library: an array and where something is, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = program(t)
        except Exception as error:
            return type(error), str(error)
    return np.asarray(found.to_dense() if found.layout is not t.strided else found), str(found.dtype)


def agree(program):
    mine, theirs = outcome(program, ours), outcome(program, reference)
    assert mine[1] == theirs[1]
    np.testing.assert_equal(mine[0], theirs[0])


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("sparse_mask", [False, True])
def test_sparse_reductions_broadcast_their_masks(name, part, sparse_mask):
    for dim, keepdim in itertools.product([None, 0, (1, 2), -1], [False, True]):

        def program(t, dim=dim, keepdim=keepdim):
            mask = t.tensor(MASK[part])
            mask = mask.to_sparse() if sparse_mask else mask
            return getattr(t.masked, name)(t.tensor(INPUT).to_sparse(), dim, keepdim=keepdim, mask=mask)

        agree(program)


@pytest.mark.parametrize("name", ["sum", "amax", "mean", "var", "norm", "logsumexp"])
def test_dense_inputs_take_sparse_masks(name):
    for layout in ("to_sparse", "to_sparse_csr"):

        def program(t, layout=layout):
            mask = getattr(t.tensor(MASK[0]), layout)()
            how = (2.0, 1) if name == "norm" else (1,)
            return getattr(t.masked, name)(t.tensor(INPUT[0]), *how, mask=mask)

        agree(program)


@pytest.mark.parametrize(
    "name",
    "sum prod amax amin argmax argmin mean median norm var std logsumexp cumsum cumprod logaddexp softmax".split(),
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8", "bool", "complex64"])
def test_identities(name, dtype):
    for order in (2.0, -math.inf) if name == "norm" else ((),):
        arguments = () if order == () else (order,)

        def program(t, arguments=arguments):
            found = t.masked._reduction_identity(name, t.ones(3, dtype=getattr(t, dtype)), *arguments)
            return t.empty(0) if found is None else found.to(t.complex64)

        agree(program)


@BOTH
def test_dimensions(t):
    dims = [t.masked._canonical_dim(d, n) for d, n in ((None, 2), ((), 2), (-1, 3), ([1, 0], 2), (0, 0), (None, 0))]
    assert dims == [(0, 1), (0, 1), (2,), (0, 1), (0,), ()]
    with pytest.raises(RuntimeError, match="appears multiple times"):
        t.masked._canonical_dim((0, 0), 1)


@pytest.mark.parametrize("layout", ["to_dense", "to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("mask_layout", ["to_dense", "to_sparse", "to_sparse_csr"])
def test_masks_take_the_layout_and_the_shape_of_inputs(layout, mask_layout):
    def program(t):
        x, mask = getattr(t.tensor(INPUT[0]), layout)(), getattr(t.tensor(MASK[0]), mask_layout)()
        found = t.masked._input_mask(x, mask=mask)
        assert found.layout == x.layout
        return found

    agree(program)


@pytest.mark.parametrize("kind", ["to_sparse", "hybrid", "to_sparse_csr"])
def test_where_of_sparse_tensors(kind):
    def program(t):
        x, mask = t.tensor(INPUT[0]), t.tensor(MASK[0])
        x, mask = (y.to_sparse(1) if kind == "hybrid" else getattr(y, kind)() for y in (x, mask))
        return t.masked._where(mask, x, t.tensor(9.0))

    agree(program)


@BOTH
def test_a_mask_must_be_given_and_fit(t):
    with pytest.raises(ValueError, match="_input_mask requires explicit mask"):
        t.masked._input_mask(t.ones(3))
    with pytest.raises(IndexError, match="expected broadcastable mask"):
        t.masked._input_mask(t.ones(3), mask=t.ones(2, 3))
