"""Random numbers are JAX's for the same key; typed keys, and the other generators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import lax
from tests.array.jax_random import CASES, FILE

RECORDED = np.load(FILE)
r = fc.random


def check(found, wanted):
    assert np.shape(found) == wanted.shape
    if wanted.dtype.kind in "fc":
        # cancellation, 1 - u and the like, leaves a few bits where a log or erf_inv differs in the last
        np.testing.assert_allclose(found, wanted, 5e-5, 2e-6)
    else:
        np.testing.assert_array_equal(found, wanted)


def test_the_record_is_of_these_cases():
    assert list(RECORDED["cases"]) == CASES


@pytest.mark.parametrize("tier", ["reference", "fused"])
@pytest.mark.parametrize("n", range(len(CASES)), ids=lambda n: CASES[n])
def test_numbers(n, tier):
    with fc.engine.forced_tier(tier):
        check(np.asarray(eval(CASES[n], {"r": r, "k": r.PRNGKey(42), "np": np})), RECORDED[str(n)])


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_typed_keys(impl):
    key = r.key(3, impl=impl)
    assert key.shape == () and key.ndim == 0 and key.size == 1 and r.key_impl(key) == impl
    assert key.dtype == r.key_dtype(impl) and jnp.issubdtype(key.dtype, fc.dtypes.prng_key)
    assert not jnp.issubdtype(np.float32, fc.dtypes.prng_key)
    keys = r.split(key, (2, 3))
    assert keys.shape == (2, 3) and len(keys) == 2 and keys[1].shape == (3,) and keys[..., 0].shape == (2,)
    assert keys.reshape(-1).shape == keys.ravel().shape == (6,) and keys[:1].squeeze().shape == (3,)
    assert bool((keys.reshape(3, -1).ravel() == keys.flatten()).all()) and not bool(keys[0, 0] == keys[0, 1])
    a, b = r.split(key)
    assert bool(a != b)
    one = r.uniform(r.fold_in(a, 1), (3,))
    np.testing.assert_array_equal(one, fc.jit(lambda k, i: r.uniform(r.fold_in(k, i), (3,)))(a, 1))
    again = r.wrap_key_data(r.key_data(key), impl=impl)
    np.testing.assert_array_equal(r.uniform(again), r.uniform(key=key))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_typed_keys_in_transforms_and_loops(impl):
    keys = r.split(r.key(3, impl=impl), 4)
    rows = fc.vmap(lambda k: r.uniform(k, (2,)))(keys)
    for row, key in zip(rows, keys):
        np.testing.assert_array_equal(row, r.uniform(key, (2,)))

    def step(key, x):
        key, drawn = r.split(key)
        return key, x * r.normal(drawn)

    last, ys = lax.scan(step, keys[0], jnp.ones(3))
    assert last.dtype == keys.dtype and ys.shape == (3,)
    np.testing.assert_array_equal(
        lax.scan(lambda _, k: (None, r.uniform(k)), None, keys)[1], [r.uniform(k) for k in keys]
    )
    slope = fc.grad(lambda x, k: (x * r.normal(k, (3,))).sum())(2.0, keys[0])
    np.testing.assert_allclose(slope, np.sum(r.normal(keys[0], (3,))), rtol=1e-6)


def test_what_typed_keys_are_not():
    key = r.key(0)
    assert repr(key) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    for wrong in (lambda: np.asarray(key), lambda: fc.sin(key), lambda: key + 1):
        with pytest.raises(TypeError, match="key_data|unsupported"):
            wrong()
    with pytest.raises(TypeError, match=r"keys of 'rbg' are uint32\[..., 4\], got uint32\[2\]"):
        r.wrap_key_data(np.zeros(2, "uint32"), impl="rbg")
    with pytest.raises(TypeError, match="single key"):
        len(key)


def test_rng_bit_generator_moves_its_counter():
    key = np.array([1, 2, 3, 4], np.uint32)
    new, drawn = lax.rng_bit_generator(key, (6,), np.uint32)  # of JAX 0.10.2
    np.testing.assert_array_equal(new, [1, 2, 5, 4])
    np.testing.assert_array_equal(drawn, [512747620, 1298009047, 1267190206, 761827841, 1383286907, 1639995030])


def test_numpy_reduces_arrays():
    x = r.normal(r.key(1), (2, 3))
    np.testing.assert_allclose(np.sum(x), np.asarray(x).sum(), rtol=1e-6)
    np.testing.assert_allclose(np.mean(x, axis=0), np.asarray(x).mean(0), rtol=1e-6)


def test_a_typed_key_can_be_pickled():
    key = pickle.loads(pickle.dumps(r.key(5)))
    np.testing.assert_array_equal(r.normal(key), r.normal(r.key(5)))


MOVES = [
    (lambda xp, k: xp.stack([k[0], k[2]]), lambda b: np.stack([b[0], b[2]])),
    (lambda xp, k: xp.stack([k, k], axis=-1), lambda b: np.stack([b, b], axis=1)),
    (lambda xp, k: xp.concatenate([k, k[:1]]), lambda b: np.concatenate([b, b[:1]])),
    (lambda xp, k: xp.where(xp.arange(4) > 1, k, k[::-1]), lambda b: np.where(np.arange(4)[:, None] > 1, b, b[::-1])),
    (lambda xp, k: xp.where(True, k[0], k), lambda b: np.broadcast_to(b[0], b.shape)),
    (lambda xp, k: xp.reshape(k, (2, -1)), lambda b: b.reshape(2, 2, -1)),
    (lambda xp, k: xp.ravel(k.reshape(2, 2)), lambda b: b),
    (lambda xp, k: xp.expand_dims(k, -1), lambda b: b[:, None]),
    (lambda xp, k: xp.squeeze(k[:1]), lambda b: b[0]),
    (lambda xp, k: xp.broadcast_to(k[0], (3,)), lambda b: np.stack([b[0]] * 3)),
    (lambda xp, k: xp.take(k, xp.asarray([3, 1]), axis=0), lambda b: b[[3, 1]]),
    (lambda xp, k: xp.moveaxis(k.reshape(2, 2), 0, -1), lambda b: b.reshape(2, 2, -1).swapaxes(0, 1)),
    (lambda xp, k: xp.flip(k), lambda b: b[::-1]),
    (lambda xp, k: xp.repeat(k, 2), lambda b: b.repeat(2, axis=0)),
    (lambda xp, k: xp.tile(k, 2), lambda b: np.concatenate([b, b])),
]


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_typed_keys_are_moved_as_numbers_are(impl):
    keys = r.split(r.key(3, impl=impl), 4)
    bits = np.asarray(r.key_data(keys))
    for move, expected in MOVES:
        for run in (move, lambda xp, k, move=move: fc.jit(lambda k: move(xp, k))(k)):
            moved = run(jnp, keys)
            assert moved.dtype == keys.dtype
            np.testing.assert_array_equal(r.key_data(moved), expected(bits))
    chosen = fc.vmap(lambda take, k: jnp.where(take, k, keys[0]))(jnp.arange(4) > 1, keys)
    np.testing.assert_array_equal(r.key_data(chosen), bits[[0, 0, 2, 3]])


def test_typed_keys_are_not_mixed():
    key, other = r.key(0), r.key(0, impl="rbg")
    for wrong in (
        lambda: jnp.stack([key, jnp.ones(2)]),
        lambda: jnp.stack([key, other]),
        lambda: jnp.where(True, key, 1),
    ):
        with pytest.raises(TypeError, match="key_data"):
            wrong()
    with pytest.raises(ValueError, match="one shape"):
        jnp.stack([key, r.split(key)])
