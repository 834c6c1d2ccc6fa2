"""Typed keys where elements are moved: as NumPy moves their numbers. JAX takes keys in the same calls."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import lax, random

KEYS = random.split(random.key(42), 4)
ONE = random.key(7)
BITS, BIT = np.asarray(random.key_data(KEYS)), np.asarray(random.key_data(ONE))
START = fc.asarray(1)

MOVES = {
    "lax.select": (lambda: lax.select(fc.asarray([True, False]), KEYS[:2], KEYS[2:]), BITS[[0, 3]]),
    "lax.select_n": (lambda: lax.select_n(fc.asarray(True), ONE, KEYS[1]), BITS[1]),
    "lax.concatenate": (lambda: lax.concatenate([KEYS, KEYS], 0), np.concatenate([BITS, BITS])),
    "lax.slice": (lambda: lax.slice(KEYS, (1,), (3,)), BITS[1:3]),
    "lax.dynamic_slice": (lambda: lax.dynamic_slice(KEYS, (START,), (2,)), BITS[1:3]),
    "lax.dynamic_index_in_dim": (lambda: lax.dynamic_index_in_dim(KEYS, START, keepdims=False), BITS[1]),
    "lax.dynamic_update_slice": (lambda: lax.dynamic_update_slice(KEYS, KEYS[:1], (2,)), BITS[[0, 1, 0, 3]]),
    "lax.dynamic_update_index_in_dim": (
        lambda: lax.dynamic_update_index_in_dim(KEYS, ONE, 0, 0),
        np.concatenate([BIT[None], BITS[1:]]),
    ),
    "lax.rev": (lambda: lax.rev(KEYS, (0,)), BITS[::-1]),
    "lax.reshape": (lambda: lax.reshape(KEYS, (2, 2)), BITS.reshape(2, 2, 2)),
    "lax.transpose": (lambda: lax.transpose(KEYS.reshape(2, 2), (1, 0)), BITS.reshape(2, 2, 2).swapaxes(0, 1)),
    "lax.broadcast": (lambda: lax.broadcast(ONE, (3,)), np.stack([BIT] * 3)),
    "lax.expand_dims": (lambda: lax.expand_dims(ONE, (0,)), BIT[None]),
    "fc.stack": (lambda: fc.stack([ONE, KEYS[0]]), np.stack([BIT, BITS[0]])),
    "fc.concat": (lambda: fc.concat([KEYS[:1], KEYS[2:]]), BITS[[0, 2, 3]]),
    "fc.where": (lambda: fc.where(fc.asarray([True, False] * 2), KEYS, ONE), np.stack([BITS[0], BIT, BITS[2], BIT])),
    "fc.take": (lambda: fc.take(KEYS, fc.asarray([3, 0])), BITS[[3, 0]]),
    "jnp.roll": (lambda: jnp.roll(KEYS, 1), np.roll(BITS, 1, axis=0)),
    "jnp.append": (lambda: jnp.append(KEYS, KEYS), np.concatenate([BITS, BITS])),
    "jnp.vstack": (lambda: jnp.vstack([KEYS, KEYS]), np.stack([BITS, BITS])),
    "jnp.swapaxes": (lambda: jnp.swapaxes(KEYS.reshape(2, 2), 0, 1), BITS.reshape(2, 2, 2).swapaxes(0, 1)),
    "jnp.atleast_1d": (lambda: jnp.atleast_1d(ONE), BIT[None]),
    "at.set": (lambda: KEYS.at[2].set(ONE), np.stack([BITS[0], BITS[1], BIT, BITS[3]])),
    "at.set of several": (lambda: KEYS.at[fc.asarray([3, 0])].set(KEYS[:2]), BITS[[1, 1, 2, 0]]),
    "T": (lambda: KEYS.reshape(2, 2).T, BITS.reshape(2, 2, 2).swapaxes(0, 1)),
    "tree.map": (lambda: fc.tree.map(lambda *ks: fc.stack(ks), (ONE,), (KEYS[1],))[0], np.stack([BIT, BITS[1]])),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_functions_that_move_elements_take_keys(name):
    call, wanted = MOVES[name]
    found = call()
    assert found.dtype == ONE.dtype and found.shape == wanted.shape[:-1]
    np.testing.assert_array_equal(random.key_data(found), wanted)
    np.testing.assert_array_equal(fc.jit(lambda: random.key_data(call()))(), wanted)


def test_inside_of_transforms():
    def step(carry, key):
        carry = lax.select(random.bernoulli(key), carry, key)
        return carry, lax.dynamic_update_index_in_dim(KEYS, carry, 0, 0)

    last, every = fc.scan(step, ONE, KEYS)
    assert last.shape == () and every.shape == (4, 4)
    by_hand, rows = ONE, []
    for key in KEYS:
        by_hand, row = step(by_hand, key)
        rows.append(np.asarray(random.key_data(row)))
    np.testing.assert_array_equal(random.key_data(last), random.key_data(by_hand))
    np.testing.assert_array_equal(random.key_data(every), np.stack(rows))
    mapped = fc.vmap(lambda k, i: fc.where(i < 2, k, ONE))(KEYS, fc.arange(4))
    np.testing.assert_array_equal(random.key_data(mapped), np.stack([BITS[0], BITS[1], BIT, BIT]))


def test_trees_of_keys_are_mapped_over_as_leaves():
    params = {"w": fc.zeros((2, 3)), "b": fc.zeros(3)}
    structure = fc.tree.structure(params)
    keys = structure.unflatten(list(random.split(ONE, 2)))
    drawn = fc.tree.map(lambda k, p: random.normal(k, p.shape), keys, params)
    assert drawn["w"].shape == (2, 3) and drawn["b"].shape == (3,)
    assert fc.tree.map(lambda k: k.shape, {"k": KEYS}) == {"k": (4,)}
    paths = fc.tree.map_with_path(lambda path, k: (fc.tree.keystr(path), k.shape), {"k": KEYS})
    assert paths == {"k": ("['k']", (4,))}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fc.stack([ONE, random.key_data(ONE)[0]]),
        lambda: fc.where(True, ONE, 1),
        lambda: fc.add(ONE, ONE),
        lambda: lax.add(ONE, ONE),
        lambda: jnp.sum(KEYS),
        lambda: jnp.cumsum(KEYS),
        lambda: jnp.sort(KEYS),
        lambda: jnp.sin(ONE),
        lambda: fc.take(fc.arange(5, dtype=fc.uint32), ONE),
        lambda: KEYS.at[0].set(random.key(0, impl="rbg")),
        lambda: KEYS.at[0].set(1),
    ],
)
def test_nothing_is_computed_with_keys(wrong):
    with pytest.raises(TypeError, match="key"):
        wrong()


def test_keys_are_leaves_and_arrays():
    tree = {"key": ONE, "w": fc.ones(2)}
    leaves, structure = fc.tree.flatten(tree)
    assert leaves[0] is ONE and len(leaves) == 2 and structure.num_leaves == 2
    assert structure == fc.tree.structure({"key": 0, "w": 0}) == fc.tree_util.tree_structure(tree)
    assert structure.unflatten(leaves)["key"] is ONE and fc.tree.leaves(tree)[0] is ONE
    assert fc.tree.leaves_with_path(tree)[0][1] is ONE and fc.tree_util.all_leaves([ONE, 1])
    assert fc.tree.reduce(lambda n, x: n + x.size, tree, 0) == 3 and not fc.tree_util.is_tree_node(type(ONE))
    assert fc.tree.transpose(fc.tree.structure([0, 0]), None, [tree, tree])["key"] == [ONE, ONE]
    with pytest.raises(ValueError, match="is a leaf"):
        fc.tree_util.flatten_one_level(ONE)
    assert isinstance(ONE, fc.Array) and isinstance(KEYS, fc.Array) and not isinstance(BITS, fc.Array)
    assert fc.dtypes.issubdtype(ONE.dtype, fc.dtypes.prng_key) and not fc.dtypes.issubdtype(
        fc.uint32, fc.dtypes.prng_key
    )
    inside = fc.jit(lambda t: (isinstance(t["key"], fc.Array), random.normal(t["key"], (2,)) + t["w"])[1])
    np.testing.assert_allclose(inside(tree), random.normal(ONE, (2,)) + 1, rtol=1e-6)


def test_keys_have_the_attributes_of_arrays():
    assert ONE.copy().dtype == ONE.dtype and not ONE.is_deleted() and ONE.is_fully_addressable
    assert fc.typeof(KEYS).shape == (4,) and fc.typeof(KEYS).dtype == ONE.dtype
    assert fc.eval_shape(lambda: random.split(ONE, 3)).shape == (3,)
    with pytest.raises(AttributeError, match="key_data"):
        ONE.mean  # noqa: B018
    gone = random.key(3)
    gone.delete()
    assert gone.is_deleted()
