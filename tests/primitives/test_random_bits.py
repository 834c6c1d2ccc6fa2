"""Random bits: published test vectors, JAX's streams, XLA's Philox, rules."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.transforms.batch import Axis, batch

from .check import check, compiled, graph_of

KEY = np.array([0, 7], np.uint32)


def both(fun, *arrays):
    """The outputs by the reference, after checking that the compiled ones are equal."""
    graph = graph_of(fun, arrays)
    wanted = evaluate(graph, arrays)
    for found, w in zip(compiled(graph, arrays), wanted, strict=True):
        assert found.dtype == w.dtype
        np.testing.assert_array_equal(found, w)
    return wanted


# ---- Threefry ------------------------------------------------------------------------------------

# Random123's known answers for threefry2x32, 20 rounds: key, counter -> block
VECTORS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize("key, counter, block", VECTORS)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 1)])
def test_threefry_known_answers(key, counter, block, shape):
    operands = [np.full(shape, word, np.uint32) for word in (*key, *counter)]
    for found, word in zip(both(p.threefry2x32, *operands), block):
        np.testing.assert_array_equal(found, np.full(shape, word, np.uint32))


def test_threefry_rules():
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 2**32, (2, 3), dtype=np.uint32) for _ in range(4)]
    check(p.threefry2x32, *words)


# jax.random.bits(jax.random.key(7), ...), JAX 0.10.2
JAX_BITS = {8: [11, 0, 170, 48], 16: [10507, 32256, 10666, 17712], 32: [2895194379, 4185947648, 1300703658, 1906787632]}


@pytest.mark.parametrize("bits", JAX_BITS)
@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 4, 1)])
def test_streams_are_jax(bits, shape):
    (found,) = both(lambda key: p.random_bits(key, shape=shape, bits=bits), KEY)
    np.testing.assert_array_equal(found, np.array(JAX_BITS[bits], f"u{bits // 8}").reshape(shape))


def test_64_bit_stream_is_jax():
    def draw():
        return p.random_bits(p.threefry_seed(2**35 + 1), shape=(2, 2), bits=64)

    assert both(draw)[0].tolist() == [
        [14357989292072161951, 3954077356419616374],
        [15783513675894129957, 1629970349561293039],
    ]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 5)])
def test_random_bits_rules(bits, shape):
    keys = np.arange(8, dtype=np.uint32).reshape(4, 2)
    for key in (keys[0], keys, keys.reshape(2, 2, 2)):
        check(lambda k: p.random_bits(k, shape=shape, bits=bits), key, rules=("lower",))


def test_batched_keys_are_their_own_streams():
    keys = np.arange(6, dtype=np.uint32).reshape(3, 2)
    graph = graph_of(lambda k: p.random_bits(k, shape=(5,), bits=32), [keys[0]])
    for dim, stacked in ((0, keys), (1, keys.T.copy())):
        batched, dims = batch(graph, Axis(3), (dim,))
        assert dims == (0,)
        found = compiled(batched, [stacked])[0]
        for i, key in enumerate(keys):
            np.testing.assert_array_equal(found[i], evaluate(graph, [key])[0])


def test_bits_are_uniform():
    graph = graph_of(lambda k: p.random_bits(k, shape=(20_000,), bits=32), [KEY])
    found = evaluate(graph, [KEY])[0]
    share = np.unpackbits(found.view(np.uint8)).reshape(-1, 32).mean(0)
    assert np.abs(share - 0.5).max() < 5 * 0.5 / np.sqrt(20_000)


# ---- keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed, key", [(7, [0, 7]), (-1, [2**32 - 1, 2**32 - 1]), (2**40 + 3, [256, 3]), (0, [0, 0])])
def test_seed(seed, key):
    assert both(lambda: p.threefry_seed(seed))[0].tolist() == key
    assert both(p.threefry_seed, np.int64(seed))[0].tolist() == key


def test_seed_of_narrow_integers():
    assert both(p.threefry_seed, np.int32(-1))[0].tolist() == [0, 2**32 - 1]
    assert both(p.threefry_seed, np.uint8(200))[0].tolist() == [0, 200]


def test_split_and_fold_in_are_jax():
    (split,) = both(lambda k: p.threefry_split(k, 2), KEY)
    assert split.tolist() == [[3625411723, 1954958720], [195045567, 4062205631]]
    for data in (123, np.int32(123), np.uint64(123)):
        args = () if isinstance(data, int) else (data,)
        (folded,) = both(lambda k, *d: p.threefry_fold_in(k, *(d or (123,))), KEY, *args)
        assert folded.tolist() == [2005013758, 680036494]


def test_keys_batch():
    check(lambda k: p.threefry_split(k, 3), KEY, rules=("batch",))
    check(p.threefry_fold_in, KEY, np.int32(5), rules=("batch",))


# ---- Philox --------------------------------------------------------------------------------------

STATES = [np.array(s, np.uint64) for s in ([0, 0, 0], [0x123456789ABCDEF0, 5, 7], [3, 2**64 - 2, 2**64 - 1])]


def test_philox_known_answer():
    """Random123's philox4x32-10: key and counter of all ones, and of the digits of pi."""
    ones = np.full(3, 2**64 - 1, np.uint64)
    pi = np.array([0x299F31D0A4093822, 0x85A308D3243F6A88, 0x0370734413198A2E], np.uint64)
    for state, block in (
        (ones, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (pi, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ):
        assert both(lambda s: p.philox_bits(s, shape=(4,), bits=32), state)[1].tolist() == block


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_philox_against_xla(bits):
    """The reference, XLA's generator (one state) and the written-out one (many) agree."""
    for shape in ((), (9,), (0,), (2, 5)):
        for state in STATES:
            check(lambda s: p.philox_bits(s, shape=shape, bits=bits), state, rules=("lower",))
        many = np.stack(STATES)
        check(lambda s: p.philox_bits(s, shape=shape, bits=bits), many, rules=("lower",))
    check(lambda s: p.philox_bits(s, shape=(3,), bits=bits), STATES[1], rules=("batch",))


def test_philox_goes_on():
    """Drawing twice from the state is drawing once for both."""

    def twice(s):
        s, first = p.philox_bits(s, shape=(8,), bits=32)
        return first, p.philox_bits(s, shape=(4,), bits=32)[1]

    whole = both(lambda s: p.philox_bits(s, shape=(12,), bits=32), STATES[2])[1]
    np.testing.assert_array_equal(np.concatenate(both(twice, STATES[2])), whole)


# ---- other platforms, errors ---------------------------------------------------------------------


def test_lowers_for_cuda():
    for fun, arg in (
        (lambda k: p.random_bits(k, shape=(3,), bits=64), KEY),
        (lambda s: p.philox_bits(s, shape=(3,), bits=32), STATES[0]),
    ):
        assert "stablehlo" in lower(graph_of(fun, [arg]), "cuda").text


def test_errors():
    with pytest.raises(TypeError, match="random_bits takes a key uint32"):
        graph_of(lambda k: p.random_bits(k, shape=(3,), bits=32), [np.zeros(2, np.int32)])
    with pytest.raises(ValueError, match="bits is 8, 16, 32 or 64, got 12"):
        graph_of(lambda k: p.random_bits(k, shape=(3,), bits=12), [KEY])
    with pytest.raises(TypeError, match="philox_bits takes a state uint64"):
        graph_of(lambda s: p.philox_bits(s, shape=(3,), bits=32), [KEY])
    with pytest.raises(TypeError, match="four uint32 arrays of one shape"):
        graph_of(lambda k: p.threefry2x32(k, k, k, k), [np.zeros(2, np.int32)])
    with pytest.raises(ValueError, match="0 <= data"):
        graph_of(lambda k: p.threefry_fold_in(k, -3), [KEY])
