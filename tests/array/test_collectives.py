"""fc's collectives over a mapped axis, against NumPy on the whole array."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc

rng = np.random.default_rng(0)
X = rng.standard_normal((4, 4, 8, 3)).astype(np.float32)  # the first dimension is mapped
ROTATE = [(i, (i + 1) % 4) for i in range(4)]
GROUPS = [[0, 2], [3, 1]]


def tiles(x, axis):
    """[n, ..., n * m, ...] with the dimension of size n * m split into a leading one of size n."""
    return np.stack(np.split(x, 4, axis), 1)


def everywhere(x):
    return np.broadcast_to(x, (4, *x.shape))


def all_to_all(x, split, concat):
    """By definition: example i gets slice i of every example."""
    return np.stack([np.stack([x[k].take(i, split) for k in range(4)], concat) for i in range(4)])


def all_to_all_tiled(x, split, concat):
    return np.stack([np.concatenate([np.split(x[k], 4, split)[i] for k in range(4)], concat) for i in range(4)])


CASES = {
    "psum": (lambda x: fc.psum(x, "i"), everywhere(X.sum(0))),
    "pmean": (lambda x: fc.pmean(x, "i"), everywhere(X.mean(0))),
    "pmax": (lambda x: fc.pmax(x, "i"), everywhere(X.max(0))),
    "pmin": (lambda x: fc.pmin(x, "i"), everywhere(X.min(0))),
    "all_gather": (lambda x: fc.all_gather(x, "i"), everywhere(X)),
    "all_gather_at": (lambda x: fc.all_gather(x, "i", axis=-1), everywhere(np.moveaxis(X, 0, -1))),
    "all_gather_tiled": (lambda x: fc.all_gather(x, "i", axis=1, tiled=True), everywhere(np.concatenate(X, 1))),
    "psum_scatter": (lambda x: fc.psum_scatter(x, "i"), X.sum(0)),
    "psum_scatter_tiled": (
        lambda x: fc.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
        tiles(X.sum(0), 1).swapaxes(0, 1),
    ),
    "all_to_all": (lambda x: fc.all_to_all(x, "i", 0, 0), all_to_all(X, 0, 0)),
    "all_to_all_moved": (lambda x: fc.all_to_all(x, "i", 0, 2), all_to_all(X, 0, 2)),
    "all_to_all_tiled": (lambda x: fc.all_to_all(x, "i", 1, 2, tiled=True), all_to_all_tiled(X, 1, 2)),
    "all_to_all_same": (lambda x: fc.all_to_all(x, "i", 1, 1, tiled=True), all_to_all_tiled(X, 1, 1)),
    "pswapaxes": (lambda x: fc.pswapaxes(x, "i", 0), X.swapaxes(0, 1)),
    "ppermute": (lambda x: fc.ppermute(x, "i", ROTATE), np.roll(X, 1, 0)),
    "ppermute_some": (lambda x: fc.ppermute(x, "i", [(3, 0)]), np.concatenate([X[3:], np.zeros_like(X[1:])])),
    "pshuffle": (lambda x: fc.pshuffle(x, "i", [3, 1, 0, 2]), X[[3, 1, 0, 2]]),
    "pbroadcast": (lambda x: fc.pbroadcast(x, "i", 2), everywhere(X[2])),
    # groups 0 2 and 3 1
    "psum_groups": (lambda x: fc.psum(x, "i", axis_index_groups=GROUPS), (X + X[[2, 3, 0, 1]])),
    "pmean_groups": (lambda x: fc.pmean(x, "i", axis_index_groups=GROUPS), (X + X[[2, 3, 0, 1]]) / 2),
    "pmax_groups": (lambda x: fc.pmax(x, "i", axis_index_groups=GROUPS), np.maximum(X, X[[2, 3, 0, 1]])),
    "pmin_groups": (lambda x: fc.pmin(x, "i", axis_index_groups=GROUPS), np.minimum(X, X[[2, 3, 0, 1]])),
    "all_gather_groups": (
        lambda x: fc.all_gather(x, "i", axis_index_groups=GROUPS),
        X[[[0, 2], [3, 1], [0, 2], [3, 1]]],
    ),
    "all_to_all_groups": (
        lambda x: fc.all_to_all(x[:2], "i", 0, 0, axis_index_groups=GROUPS),
        np.stack([X[[0, 2], 0], X[[3, 1], 1], X[[0, 2], 1], X[[3, 1], 0]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, wanted = CASES[name]
    np.testing.assert_allclose(fc.vmap(f, axis_name="i")(X), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_transformed(name):
    """Derivatives by a difference quotient; over another mapped axis; in a loop that is compiled."""
    f, wanted = CASES[name]
    mapped, direction = fc.vmap(f, axis_name="i"), rng.standard_normal(X.shape)
    y, moved = fc.jvp(mapped, (X.astype("d"),), (direction,))
    step = (np.asarray(mapped(X + 1e-6 * direction)) - np.asarray(y)) / 1e-6
    np.testing.assert_allclose(moved, step, rtol=1e-3, atol=1e-4)
    weights = rng.standard_normal(y.shape)
    gradient = fc.grad(lambda x: (mapped(x) * weights).sum())(X.astype("d"))
    assert np.vdot(gradient, direction) == pytest.approx(np.vdot(moved, weights), rel=1e-6)
    both = fc.vmap(mapped, in_axes=1)(np.stack([X, 2 * X], 1))
    np.testing.assert_allclose(both[0], wanted, rtol=1e-5, atol=1e-6)
    looped = fc.jit(fc.vmap(lambda x: fc.scan(lambda c, _: (c, f(c)), x, None, length=2)[1], axis_name="i"))(X)
    np.testing.assert_allclose(looped[:, 1], wanted, rtol=1e-5, atol=1e-6)


def test_several_axes():
    x = X[:, :3]

    def over_two(f):
        return fc.vmap(fc.vmap(f, axis_name="j"), axis_name="i")(x)

    np.testing.assert_array_equal(over_two(lambda x: fc.axis_index(("i", "j"))), np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(over_two(lambda x: fc.all_gather(x, ("i", "j")))[1, 2], x.reshape(12, 8, 3))
    np.testing.assert_allclose(over_two(lambda x: fc.psum(x, ("i", "j")))[1, 2], x.sum((0, 1)), rtol=1e-5, atol=1e-5)


def test_the_sum_of_a_number_is_a_number():
    sizes = []
    fc.vmap(
        lambda x: sizes.append((fc.psum(1, "i"), fc.psum({"a": 2.0}, "i"), fc.psum(True, "i"))) or x, axis_name="i"
    )(X)
    assert sizes == [(4, {"a": 8.0}, 4)] and type(sizes[0][0]) is int


@pytest.mark.parametrize("groups", [None, [[0, 1, 2]]])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "bool"])
def test_integers_and_bools(dtype, groups):
    """The mean is that of floats, and bools are counted, as by sum."""
    x = np.array([[1, 2], [0, 4], [1, 5]]).astype(dtype)
    total = fc.vmap(lambda x: fc.psum(x, "i", axis_index_groups=groups), axis_name="i")(x)
    np.testing.assert_array_equal(total, np.broadcast_to(x.sum(0), (3, 2)))
    assert total.dtype == (fc.int64 if dtype == "bool" else dtype)
    mean = fc.vmap(lambda x: fc.pmean(x, "i", axis_index_groups=groups), axis_name="i")(x)
    np.testing.assert_allclose(mean, np.broadcast_to(x.mean(0), (3, 2)), 1e-6)
    assert mean.dtype == fc.float32


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x: fc.psum(x, "i", axis_index_groups=[[0, 1]]), ["psum", "[[0, 1]]", "[[0, 1], [2, 3]]"]),
        (lambda x: fc.all_gather(x, "i", axis=9), ["all_gather: axis 9", "from -4 to 3"]),
        (lambda x: fc.ppermute(x, "i", [(0, 1), (2, 1)]), ["(source, destination)", "[(0, 1), (2, 1)]"]),
        (lambda x: fc.all_to_all(x, "i", 1, 0), ["axis 1 of float32[4,8,3] has size 8", "is to be 4"]),
        (lambda x: fc.psum_scatter(x, "i", scatter_dimension=2, tiled=True), ["multiple of 4"]),
        (lambda x: fc.pshuffle(x, "i", [0, 0, 1, 2]), ["not a permutation"]),
    ],
)
def test_errors(f, words):
    with pytest.raises(ValueError) as caught:
        fc.vmap(f, axis_name="i")(X)
    for word in words:
        assert word in str(caught.value)
