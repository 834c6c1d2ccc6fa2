"""Keys of fc.random: seeds, splitting, and the bits that a key gives, by the generator it is of.

A key is an array uint32[2] of Threefry, or uint32[4] of XLA's own generator (Philox), whose two
halves are Threefry keys where it is split. The streams are those of `jax.random`.
"""

from __future__ import annotations

import math

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from .creation import canonical_shape
from .op import op
from .places import exposed

KEYS = """random.{name} takes one key, got keys of shape {shape}
    One draw for each: fc.vmap(lambda key: fc.random.{name}(key, ...))(keys); one key of them: keys[0]."""
BAD_KEY = "random.{name} takes a key, an array uint32[2] from fc.random.key(seed), got {aval}"
THREEFRY, RBG, UNSAFE_RBG = "threefry2x32", "rbg", "unsafe_rbg"
WORDS = {THREEFRY: 2, RBG: 4, UNSAFE_RBG: 4}  # of 32 bits, that a key has
BAD_IMPL = "random.{name}: impl={impl!r} is none of {impls}; leave it out for the first"
HASHED = 10  # blocks of four words that a key of unsafe_rbg is mixed by


def check_key(key, name: str):
    """TypeError unless it is one key."""
    a = aval_of(key)
    if a.dtype != dt.uint32 or a.shape not in ((2,), (4,)):
        several = a.dtype == dt.uint32 and a.ndim > 1 and a.shape[-1:] in ((2,), (4,))
        raise TypeError((KEYS if several else BAD_KEY).format(name=name, aval=a, shape=a.shape[:-1]))


def check_impl(impl: str, name: str) -> str:
    """The generator of that name; ValueError if there is none."""
    if impl not in WORDS:
        raise ValueError(BAD_IMPL.format(name=name, impl=impl, impls=", ".join(map(repr, WORDS))))
    return impl


# ---- what a key gives ----------------------------------------------------------------------------


def random_bits(key, *, shape, bits: int):
    """Uniform bits uint`bits`[*batch, *shape] of keys [*batch, words]."""
    if aval_of(key).shape[-1] == WORDS[THREEFRY]:
        return p.random_bits(key, shape=shape, bits=bits)
    return p.philox_bits(philox_state(key), shape=shape, bits=bits)[1]


def philox_state(key):
    """(key, counter, key) as uint64[..., 3] of a key uint32[..., 4]: XLA begins so with 128 bits."""
    shape = aval_of(key).shape
    words = p.convert(p.reshape(key, shape=(*shape[:-1], 2, 2)), dtype=dt.uint64)
    low, high = (p.slice_in_dim(words, start=i, limit=i + 1, dimension=len(shape)) for i in (0, 1))
    pair = p.reshape(p.or_(low, p.shift_left(high, 32)), shape=(*shape[:-1], 2))
    first = p.slice_in_dim(pair, start=0, limit=1, dimension=len(shape) - 1)
    return p.concatenate(pair, first, dimension=len(shape) - 1)


def split_keys(key, num: int):
    """`num` keys of each of keys [*batch, words]: [*batch, num, words]."""
    *batch, words = aval_of(key).shape
    if words == WORDS[THREEFRY]:
        return p.threefry_split(key, num)
    halves = p.threefry_split(p.reshape(key, shape=(*batch, 2, 2)), num)
    n = len(batch)
    both = p.transpose(halves, permutation=(*range(n), n + 1, n, n + 2))
    return p.reshape(both, shape=(*batch, num, words))


def subkeys(key, num: int = 2) -> list:
    """`num` keys of each of keys [*batch, words], as a list."""
    keys, shape = split_keys(key, num), aval_of(key).shape
    parts = [p.slice_in_dim(keys, start=i, limit=i + 1, dimension=len(shape) - 1) for i in range(num)]
    return [p.reshape(part, shape=shape) for part in parts]


# ---- keys of seeds and of keys -------------------------------------------------------------------


def _seeded(seed, impl: str):
    half = p.threefry_seed(seed)
    return half if impl == THREEFRY else p.concatenate(half, half, dimension=0)


@op
def _key_of(seed, /, *, impl):
    """The key of an integer."""
    if aval_of(seed).dtype not in dt.INTEGER:
        raise TypeError(f"random.key takes an integer as its seed, got {aval_of(seed)}")
    return _seeded(seed, impl)


@op
def _checked_keys(keys, /, *, name):
    """The keys; TypeError for what are none."""
    a = aval_of(keys)
    if a.dtype != dt.uint32 or a.shape[-1:] not in ((2,), (4,)):
        raise TypeError(BAD_KEY.format(name=name, aval=a))
    return keys


@exposed("fc.random")
def clone(key):
    """The key, to be used again on purpose.

    >>> import functorch_core as fc
    >>> fc.random.clone(fc.random.PRNGKey(7))
    Array([0, 7], dtype=uint32)
    """
    return _checked_keys(key, name="clone")


@op
def _split(key, /, *, num, unsafe=False):
    """New keys, of a shape; `unsafe`: bits of the key are the new keys."""
    check_key(key, "split")
    n, words = math.prod(num), aval_of(key).shape[0]
    keys = _hashed(key, n) if unsafe else split_keys(key, n)
    return p.reshape(keys, shape=(*num, words))


def _hashed(key, n: int):
    """Keys that are bits of a key: each the first of ten blocks."""
    blocks = random_bits(key, shape=(n, HASHED, 4), bits=32)
    return p.slice_in_dim(blocks, start=0, limit=1, dimension=1)


@exposed("fc.random")
def split(key, num=2):
    """`num` new keys (or a shape of them) from one, which is not to be used again.

    >>> import functorch_core as fc
    >>> fc.random.split(fc.random.key(0)).shape
    (2,)
    """
    return _split(key, num=canonical_shape(num, "random.split"))


@op("fc.random", arrays=("key", "data"))
def fold_in(key, data):
    """The key of a key and an integer, which may be traced: one key for each step of a loop.

    >>> import functorch_core as fc
    >>> fc.random.fold_in(fc.random.PRNGKey(0), 7).shape
    (2,)
    """
    check_key(key, "fold_in")
    data = p.convert(data, dtype=dt.uint32)
    if aval_of(key).shape == (2,):
        return p.threefry_fold_in(key, data)
    halves = [p.slice_in_dim(key, start=i, limit=i + 2, dimension=0) for i in (0, 2)]
    return p.concatenate(*[p.threefry_fold_in(half, data) for half in halves], dimension=0)


@op
def _fold_in_unsafe(key, data, /):
    """fold_in, of a key of unsafe_rbg: mixed with bits of the data."""
    check_key(key, "fold_in")
    blocks = random_bits(_seeded(p.convert(data, dtype=dt.uint32), RBG), shape=(HASHED, 4), bits=32)
    last = p.slice_in_dim(blocks, start=HASHED - 1, limit=HASHED, dimension=0)
    return p.xor(key, p.reshape(last, shape=(4,)))


__all__ = ["clone", "fold_in", "split"]  # what it has in fc.random, for static tools
