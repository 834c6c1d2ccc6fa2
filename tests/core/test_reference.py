"""What the reference rules are made of: copies of arrays whose rows lie across, arrays given up."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core.reference import WRITTEN_OUT, Reference, contiguous

from ..primitives.check import graph_of


@pytest.mark.parametrize("order", ((1, 0, 2), (2, 1, 0), (0, 2, 1), (2, 0, 1)))
@pytest.mark.parametrize("dtype", ("float32", "bool", "complex128"))
def test_large_arrays_are_copied_in_any_order(order, dtype):
    x = np.random.default_rng(0).integers(0, 2, (70, 33, 40)).astype(dtype)
    for view in (x.transpose(order), x.transpose(order)[::-1, ::2, ::-1], np.broadcast_to(x[:, :, :1], x.shape)):
        found = contiguous(view)
        assert found.flags.c_contiguous and found.flags.owndata
        np.testing.assert_array_equal(found, view)
    assert contiguous(x) is x


@pytest.mark.parametrize("steps", (8, WRITTEN_OUT + 1))
def test_large_arrays_are_given_up_at_their_last_use(steps):
    """A chain of operations holds two arrays at once, not all of them."""

    def chain(x):
        for _ in range(steps):
            x = p.sin(x)
        return x

    x = np.ones(1 << 18, np.float32)
    reference = Reference(graph_of(chain, [x]))
    for _ in range(2):  # step by step, then as a function
        tracemalloc.start()
        try:
            (found,) = reference([x])
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert most < 2.5 * x.nbytes
        expected = x
        for _ in range(steps):
            expected = np.sin(expected)
        np.testing.assert_array_equal(found, expected)


def test_results_and_inputs_are_not_given_up():
    x = np.random.default_rng(0).normal(size=1 << 18).astype(np.float32)

    def twice(x):
        y = p.exp(x)
        z = p.add(y, x)
        return y, z, p.mul(z, y)

    reference = Reference(graph_of(twice, [x]))
    for _ in range(2):
        y, z, product = reference([x])
        np.testing.assert_array_equal(y, np.exp(x))
        np.testing.assert_array_equal(z, np.exp(x) + x)
        np.testing.assert_array_equal(product, z * y)
