"""What the reference rules are made of: copies of arrays whose rows lie across, arrays given up."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core import reference as rules
from functorch_core.core.reference import WRITTEN_OUT, Reference, contiguous
from functorch_core.transforms.custom import stop_gradient
from functorch_core.transforms.remat import remat

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


def test_what_is_computed_again_before_a_write():
    """A node that holds a graph, in a graph that writes to its first input."""

    def run(x, v):
        (w,) = remat(lambda v: [p.sin(v)], [v])
        return p.dynamic_update_slice(x, p.reshape(w, shape=(1, 3)), np.int64(1), np.int64(0))

    x, v = np.zeros((4, 3), np.float32), np.arange(3, dtype=np.float32)
    graph = graph_of(run, [x, v])
    node, operand = rules.updating(graph)
    assert operand == 0
    (found,) = Reference(graph, into=node)([x, v])
    assert found is x
    np.testing.assert_array_equal(x, [[0, 0, 0], np.sin(v), [0, 0, 0], [0, 0, 0]])


UNARY = (p.neg, p.exp, p.sin, p.abs, lambda x: p.reshape(p.reshape(x, shape=(36,)), shape=(6, 6)), stop_gradient)
BINARY = (p.add, p.sub, p.mul, p.max)


def random_function(seed: int):
    """A function of two 6 x 6 matrices: arithmetic, views, sums, products; some of all it makes are its results."""
    rng = np.random.default_rng(seed)

    def run(x, y):
        made = [x, y]
        for _ in range(24):
            a, b = (made[rng.integers(max(0, len(made) - 5), len(made))] for _ in range(2))
            kind = rng.integers(8)
            if kind < 3:
                made.append(BINARY[rng.integers(len(BINARY))](a, b))
            elif kind < 5:
                made.append(p.mul(UNARY[rng.integers(len(UNARY))](a), 0.25))
            elif kind == 5:
                made.append(p.transpose(a, permutation=(1, 0)))
            elif kind == 6:
                total = p.reduce_sum(a, axes=(int(rng.integers(2)),))
                made.append(p.mul(p.broadcast_in_dim(total, shape=(6, 6), dims=(1,)), 0.1))
            else:
                made.append(p.sin(p.dot_general(a, b, contract=((1,), (0,)), batch=((), ()))))
        return [made[-1], *[made[rng.integers(2, len(made))] for _ in range(3)]]

    return run


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_over_is_needed_no_more(seed, monkeypatch):
    """Graphs whose arithmetic writes over its operands give the same as without, twice, and keep their inputs."""
    arrays = list(np.random.default_rng(seed).normal(size=(2, 6, 6)).astype(np.float32))
    before = [x.copy() for x in arrays]
    graph = graph_of(random_function(seed), arrays)
    plain = Reference(graph)(arrays)
    monkeypatch.setattr(rules, "OVERWRITTEN", 1)
    reference = Reference(graph)
    steps = [step for step in reference.steps if step.run.__class__ is np.ufunc]
    assert any(len(step.args) > step.run.nin for step in steps)
    for _ in range(2):  # step by step, then as a function
        for a, b in zip(reference(arrays), plain, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(arrays, before)


@pytest.mark.parametrize("shape", [(1 << 21,), (3, 1 << 20), (2, 700_001, 2)])
def test_arithmetic_on_many_numbers_is_divided(shape):
    """The same bits as by one thread: of arrays, of a number and an array, of arrays that lie across or repeat."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape, dtype=np.float32)
    across = np.ascontiguousarray(x.T).T
    number = np.array(0.5, np.float32)

    def run(x, y, number):
        spread = p.broadcast_in_dim(number, shape=shape, dims=())
        return p.add(p.mul(x, spread), p.exp(p.min(y, spread))), p.gt(x, y)

    def wanted(x, y):
        return x * number + np.exp(np.minimum(y, number)), x > y

    reference = Reference(graph_of(run, [x, x, number]))
    repeated = np.broadcast_to(x[..., :1], shape)
    for a, b in ((x, x[::-1].copy()), (x, across), (across, across), (repeated, x)):
        for _ in range(2):
            found = reference([a, b, number])
            for one, other in zip(found, wanted(a, b), strict=True):
                np.testing.assert_array_equal(one, other)
