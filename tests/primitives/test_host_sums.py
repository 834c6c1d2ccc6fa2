"""Sums by NumPy as products with ones, against sums in float64."""

import itertools

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.reference import function_of
from functorch_core.core.trace import trace_closed
from functorch_core.primitives.host_sums import sum_by_ones


def summed(x, axes):
    """The reference tier's sum."""
    graph = trace_closed(lambda v: [p.reduce_sum(v, axes=axes)], [aval(x.shape, x.dtype)])
    (node,) = graph.nodes
    return np.asarray(function_of(node, [graph.avals[s] for s in node.inputs])(x))


SHAPES = [
    (200, 3),
    (40, 64),
    (7, 4096),
    (16, 1024, 8),
    (5, 6, 7),
    (64, 1, 9),
    (2, 3, 4, 50),
    (1009, 2),
    (2, 1, 32),
    (3, 2, 1, 1, 40),
    (0, 90),
    (90, 0),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_all_axes(shape, dtype):
    """The sums of 8 x 64 x 12 x 64 whose last dimensions lie the other way, a gradient of attention, were float64."""
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    tolerance = 50 * np.finfo(dtype).eps * max(1, np.abs(x).sum() ** 0.5)
    for n in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), n):
            wanted = x.sum(axes, dtype=np.float64)
            for lying in (x, np.asfortranarray(x), np.repeat(x, 2, -1)[..., ::2], x[::-1].copy()[::-1]):
                found = summed(lying, axes)
                assert found.shape == wanted.shape and found.dtype == dtype
                np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_nan_infinities_and_zeros_are_kept(axes):
    x = np.random.default_rng(1).standard_normal((6, 300, 8)).astype(np.float32)
    x[0, 3, 1], x[1, 7, 2], x[2, 5, 3], x[2, 6, 3], x[3] = np.nan, np.inf, np.inf, -np.inf, -0.0
    with np.errstate(all="ignore"):
        found, wanted = summed(x, axes), x.sum(axes, dtype=np.float64)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(wanted))
    np.testing.assert_array_equal(np.signbit(summed(np.full((6, 300, 8), -0.0, np.float32), axes)), False)


@pytest.mark.parametrize("axes", [(1,), (0,), (2,), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_what_does_not_lie_in_rows(axes):
    x = np.random.default_rng(2).standard_normal((30, 20, 40)).astype(np.float32)
    for view in (x.transpose(2, 0, 1), x[:, ::2], x[::-1], np.broadcast_to(x[:1], x.shape)):
        found = summed(view, axes)
        np.testing.assert_allclose(found, view.sum(axes, dtype=np.float64), rtol=1e-6, atol=1e-4)


def test_many_rows_lose_nothing():
    """One after the other, 2**16 numbers of one sign would be off by 1e-4."""
    x = np.random.default_rng(3).random((1 << 16, 4), np.float32)
    np.testing.assert_allclose(summed(x, (0,)), x.sum(0, dtype=np.float64), rtol=5e-7)


def test_where_products_are_no_quicker():
    for shape, axes in (((3, 3), (0,)), ((100, 1009), (1,)), ((500, 8, 2), (1,)), ((5, 30, 9, 8), (0, 2))):
        assert sum_by_ones(aval(shape, np.dtype(np.float32)), axes, np.sum) is None
    assert sum_by_ones(aval((40, 64), np.dtype(np.int32)), (1,), np.sum) is None
