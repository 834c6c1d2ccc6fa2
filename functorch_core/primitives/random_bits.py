"""Counter-based random bits: Threefry-2x32 and Philox-4x32, and keys made of them.

Both generators are those of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3" (2011): a block of words is a keyed mixing of its counter, so that any element can be
computed alone. A key is uint32[2]; the streams of `random_bits`, `threefry_seed`,
`threefry_split` and `threefry_fold_in` are those of `jax.random` (its default, partitionable
Threefry), bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand, slice_op
from ..core.lowering import dims as dims_attr
from ..core.primitive import Traits
from ..core.types import Batcheds, Dims, Ints, Value
from . import formula as fo
from .batching import Axis, elementwise_batch, front_batch
from .bitwise import shift_right_logical
from .convert import convert
from .declare import NOT_DIFFERENTIABLE, NOT_LINEAR, Primitive, bind, no_tangent
from .formula import Numeric
from .slicing import concatenate, slice
from .structure import broadcast_in_dim, constant, reshape

RANDOM = Traits(family="random", numpy=43, expensive=True)

UNSIGNED = {8: dt.uint8, 16: dt.uint16, 32: dt.uint32, 64: dt.uint64}


def _join(high: Numeric, low: Numeric) -> Numeric:
    """Two 32-bit words as one of 64 bits."""
    return (high.astype(np.uint64) << 32) | low.astype(np.uint64)


# ---- Threefry-2x32 -------------------------------------------------------------------------------
# Twenty rounds; after every fourth, a word of the key schedule is added.

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def _threefry_rounds(k1: Numeric, k2: Numeric, x1: Numeric, x2: Numeric) -> tuple[Numeric, Numeric]:
    """The block function, on arrays or terms."""
    schedule = (k1, k2, k1 ^ k2 ^ _PARITY)
    x1, x2 = x1 + k1, x2 + k2
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x1 = x1 + x2
            x2 = ((x2 << r) | (x2 >> (32 - r))) ^ x1
        x1 = x1 + schedule[(group + 1) % 3]
        x2 = x2 + schedule[(group + 2) % 3] + (group + 1)
    return x1, x2


def threefry2x32(k1: Value, k2: Value, x1: Value, x2: Value) -> list[Value]:
    """Mix the counter (x1, x2) with the key (k1, k2): uint32 arrays of one shape; two such."""
    return bind(threefry2x32_p, k1, k2, x1, x2)


def _threefry_shape(*avals: Aval) -> tuple[Aval, ...]:
    if any(a.dtype != dt.uint32 or a is not avals[0] for a in avals):
        raise TypeError(
            "threefry2x32 takes four uint32 arrays of one shape (key, key, counter, "
            f"counter), got {', '.join(map(str, avals))}"
        )
    return avals[0], avals[0]


def _threefry_lower(ctx: LowerContext, *operands: Operand) -> list[Operand]:
    return [t.operand for t in _threefry_rounds(*[fo.Term(ctx, o) for o in operands])]


def _threefry_reference(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(x.reshape(arrays[0].shape) for x in _threefry_rounds(*map(np.atleast_1d, arrays)))


def _threefry_batch(axis: Axis, args: Sequence[Value], dims: Dims) -> Batcheds:
    outs, to = elementwise_batch(threefry2x32)(axis, args, dims)
    return outs, [to, to]


threefry2x32_p = Primitive(
    "threefry2x32",
    traits=RANDOM,
    multiple=True,
    shape=_threefry_shape,
    reference=_threefry_reference,
    lower=_threefry_lower,
    jvp=no_tangent(threefry2x32),
    transpose=NOT_LINEAR,
    batch=_threefry_batch,
)

# ---- random_bits ---------------------------------------------------------------------------------
# Element i of a key's stream is the block of counter i (64 bits): both words for 64 bits, their xor
# for 32, its low bits for fewer.


def random_bits(key: Value, *, shape: Ints, bits: int) -> Value:
    """Uniform bits from Threefry: uint`bits`[*batch, *shape] of a key uint32[*batch, 2].

    `bits` is 8, 16, 32 or 64. The same key gives the same bits: split it to draw again.
    """
    return bind(random_bits_p, key, shape=tuple(shape), bits=bits)


def _check_key(name: str, key: Aval) -> None:
    if key.dtype != dt.uint32 or key.shape[-1:] != (2,):
        raise TypeError(f"{name} takes a key uint32[..., 2], got {key}; make one by threefry_seed")


def _random_bits_shape(key: Aval, *, shape: Ints, bits: int) -> Aval:
    _check_key("random_bits", key)
    if bits not in UNSIGNED:
        raise ValueError(f"random_bits: bits is 8, 16, 32 or 64, got {bits}")
    return aval((*key.shape[:-1], *shape), UNSIGNED[bits])


def _combine(high: Numeric, low: Numeric, bits: int) -> Numeric:
    """The two words of a block as one number of so many bits."""
    return _join(high, low) if bits == 64 else (high ^ low).astype(UNSIGNED[bits])


def _random_bits_reference(key: np.ndarray, *, shape: Ints, bits: int) -> np.ndarray:
    count = np.arange(math.prod(shape), dtype=np.uint64)
    k1, k2 = key[..., 0, None], key[..., 1, None]
    words = _threefry_rounds(k1, k2, (count >> 32).astype(np.uint32), count.astype(np.uint32))
    return _combine(*words, bits).reshape(key.shape[:-1] + shape)


def _key_word(ctx: LowerContext, key: Operand, word: int, shape: Ints) -> Numeric:
    """One word of each key, broadcast to (*batch, n)."""
    batch = key.aval.shape[:-1]
    part = fo.Term(ctx, slice_op(ctx, key, (*[0] * len(batch), word), (*batch, word + 1)))
    return part.emit(
        "stablehlo.broadcast_in_dim", part, shape=shape, attrs=f"broadcast_dimensions = {dims_attr(range(len(shape)))}"
    )


def _iota(ctx: LowerContext, shape: Ints, dtype: np.dtype) -> Numeric:
    """0, 1, ... along the last dimension."""
    return fo.Term(
        ctx, ctx.op("stablehlo.iota", out=aval(shape, dtype), attrs=f"iota_dimension = {len(shape) - 1} : i64")
    )


def _random_bits_lower(ctx: LowerContext, key: Operand, *, shape: Ints, bits: int) -> Operand:
    flat = (*key.aval.shape[:-1], math.prod(shape))
    out = _random_bits_shape(key.aval, shape=shape, bits=bits)
    k1, k2 = (_key_word(ctx, key, word, flat) for word in (0, 1))
    if flat[-1] < 2**32:
        low = _iota(ctx, flat, dt.uint32)
        high = low.like(0)
    else:
        count = _iota(ctx, flat, dt.uint64)
        high, low = (count >> 32).astype(dt.uint32), count.astype(dt.uint32)
    drawn = _combine(*_threefry_rounds(k1, k2, high, low), bits)
    return ctx.op("stablehlo.reshape", drawn.operand, out=out)


random_bits_p = Primitive(
    "random_bits",
    traits=RANDOM.but(sizes=("shape",)),
    shape=_random_bits_shape,
    reference=_random_bits_reference,
    lower=_random_bits_lower,
    jvp=no_tangent(random_bits),
    transpose=NOT_DIFFERENTIABLE,
    batch=front_batch(random_bits),
)

# ---- keys ----------------------------------------------------------------------------------------


def threefry_seed(seed: Value | int) -> Value:
    """The key uint32[2] of a seed: an integer array of no dimension, or a Python int (mod 2^64)."""
    if isinstance(seed, int):
        return constant(np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32))
    a = aval_of(seed)
    if a.shape or a.dtype not in dt.INTEGER:
        raise TypeError(f"threefry_seed takes an integer of no dimension, got {a}")
    if a.dtype.itemsize < 8:
        low = convert(seed, dtype=dt.uint32)
        return _stacked(constant(np.uint32(0)), low)
    return _stacked(*_split_words(convert(seed, dtype=dt.uint64)))


def threefry_split(key: Value, num: int) -> Value:
    """`num` keys that do not overlap, uint32[num, 2], from a key uint32[2]."""
    _check_key("threefry_split", aval_of(key))
    return _stacked(*_split_words(random_bits(key, shape=(num,), bits=64)))


def threefry_fold_in(key: Value, data: Value | int) -> Value:
    """The key of (key, data): a Python int below 2^32, or an integer array () (taken mod 2^32)."""
    _check_key("threefry_fold_in", aval_of(key))
    if isinstance(data, int):
        if not 0 <= data < 2**32:
            raise ValueError(f"threefry_fold_in takes 0 <= data < 2**32, got {data}")
        data = constant(np.uint32(data))
    if aval_of(data).shape or aval_of(data).dtype not in dt.INTEGER:
        raise TypeError(f"threefry_fold_in takes an integer of no dimension, got {aval_of(data)}")
    k1, k2 = (reshape(slice(key, start=(i,), limit=(i + 1,)), shape=()) for i in (0, 1))
    counter = convert(data, dtype=dt.uint32)
    return _stacked(*threefry2x32(k1, k2, constant(np.uint32(0)), counter))


def _split_words(x: Value) -> tuple[Value, ...]:
    """The high and the low 32 bits of uint64."""
    return (convert(shift_right_logical(x, 32), dtype=dt.uint32), convert(x, dtype=dt.uint32))


def _stacked(high: Value, low: Value) -> Value:
    """Two uint32 arrays as the last dimension of one."""
    shape = aval_of(high).shape
    dims = tuple(range(len(shape)))
    parts = [broadcast_in_dim(x, shape=(*shape, 1), dims=dims) for x in (high, low)]
    return concatenate(*parts, dimension=len(shape))


# ---- Philox-4x32 ---------------------------------------------------------------------------------
# Ten rounds; the state uint64[3] is the key and a counter of 128 bits, low word first. Blocks of
# four 32-bit words follow one another. One key alone is XLA's own generator; XLA's takes no
# batch of keys, so those are written out (the results agree).

_MULTIPLIERS, _WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def _philox_rounds(k1: Numeric, k2: Numeric, counter: list[Numeric]) -> tuple[Numeric, ...]:
    """The block function, on arrays or terms of uint32."""
    a, b, c, d = counter
    for r in range(10):
        if r:
            k1, k2 = k1 + _WEYL[0], k2 + _WEYL[1]
        first, second = (x.astype(np.uint64) * m for x, m in zip((a, c), _MULTIPLIERS))
        a, b, c, d = (
            (second >> 32).astype(np.uint32) ^ b ^ k1,
            second.astype(np.uint32),
            (first >> 32).astype(np.uint32) ^ d ^ k2,
            first.astype(np.uint32),
        )
    return a, b, c, d


def philox_bits(state: Value, *, shape: Ints, bits: int) -> list[Value]:
    """(new state, uint`bits`[*batch, *shape]) of a state uint64[*batch, 3]: key, counter low, high.

    `bits` is 8, 16, 32 or 64. The new state's counter has moved past what was drawn.
    """
    return bind(philox_bits_p, state, shape=tuple(shape), bits=bits)


def _philox_shape(state: Aval, *, shape: Ints, bits: int) -> tuple[Aval, ...]:
    if state.dtype != dt.uint64 or state.shape[-1:] != (3,):
        raise TypeError(f"philox_bits takes a state uint64[..., 3] (key, counter low, counter high), got {state}")
    if bits not in UNSIGNED:
        raise ValueError(f"philox_bits: bits is 8, 16, 32 or 64, got {bits}")
    return state, aval((*state.shape[:-1], *shape), UNSIGNED[bits])


def _philox_blocks(shape: Ints, bits: int) -> int:
    """How many blocks of 128 bits; up to 32 bits, each element uses a word."""
    return -(-math.prod(shape) // (2 if bits == 64 else 4))


def _advance(low: Numeric, high: Numeric, step: Numeric) -> tuple[Numeric, ...]:
    """The 128-bit counter plus a 64-bit step."""
    new = low + step
    return new, high + (new < low).astype(np.uint64)


def _philox_words(key: Numeric, low: Numeric, high: Numeric) -> tuple[Numeric, ...]:
    """The columns of the blocks: four arrays of words."""
    halves = [h for x in (low, high) for h in (x.astype(np.uint32), (x >> 32).astype(np.uint32))]
    return _philox_rounds(key.astype(np.uint32), (key >> 32).astype(np.uint32), halves)


def _philox_columns(words: tuple[Numeric, ...], bits: int) -> list[Numeric]:
    """What a block holds, as a list of columns of the dtype wanted."""
    if bits == 64:
        return [_join(words[1], words[0]), _join(words[3], words[2])]
    return [w.astype(UNSIGNED[bits]) for w in words]


def _philox_reference(state: np.ndarray, *, shape: Ints, bits: int) -> tuple[np.ndarray, ...]:
    n, size = _philox_blocks(shape, bits), math.prod(shape)
    key, low, high = (state[..., i, None] for i in range(3))
    counter = _advance(low, high, np.arange(n, dtype=np.uint64))
    columns = _philox_columns(_philox_words(key, *counter), bits)
    drawn = np.stack(columns, -1).reshape(*state.shape[:-1], -1)[..., :size]
    new = np.concatenate([key, *_advance(low, high, np.uint64(n))], -1)
    return new, drawn.reshape(state.shape[:-1] + shape)


def _philox_lower(ctx: LowerContext, state: Operand, *, shape: Ints, bits: int) -> list[Operand]:
    if state.aval.ndim > 1:
        return _philox_lower_batch(ctx, state, shape=shape, bits=bits)
    outs = _philox_shape(state.aval, shape=shape, bits=bits)
    return ctx.op(
        "stablehlo.rng_bit_generator", state, out=outs, attrs="rng_algorithm = #stablehlo<rng_algorithm PHILOX>"
    )


def _philox_lower_batch(ctx: LowerContext, state: Operand, *, shape: Ints, bits: int) -> list[Operand]:
    n, size = _philox_blocks(shape, bits), math.prod(shape)
    batch = state.aval.shape[:-1]
    out = aval((*batch, *shape), UNSIGNED[bits])
    key, low, high = (_key_word(ctx, state, i, (*batch, n)) for i in range(3))
    columns = _philox_columns(_philox_words(key, *_advance(low, high, _iota(ctx, (*batch, n), dt.uint64))), bits)
    joined = _concatenated(ctx, columns, (*batch, n, 1))
    flat = ctx.op("stablehlo.reshape", joined, out=aval((*batch, n * len(columns)), out.dtype))
    cut = slice_op(ctx, flat, [0] * flat.aval.ndim, (*batch, size))
    key, low, high = (_key_word(ctx, state, i, (*batch, 1)) for i in range(3))
    new = _concatenated(ctx, (key, *_advance(low, high, low.like(n))), (*batch, 1))
    return [new, ctx.op("stablehlo.reshape", cut, out=out)]


def _concatenated(ctx: LowerContext, terms: Sequence[Numeric], shape: Ints) -> Operand:
    """The terms reshaped to `shape` and joined along its last dimension."""
    parts = [ctx.op("stablehlo.reshape", t.operand, out=aval(shape, t.dtype)) for t in terms]
    return ctx.op(
        "stablehlo.concatenate",
        *parts,
        attrs=f"dimension = {len(shape) - 1} : i64",
        out=aval((*shape[:-1], len(parts)), terms[0].dtype),
    )


philox_bits_p = Primitive(
    "philox_bits",
    traits=RANDOM.but(sizes=("shape",)),
    multiple=True,
    shape=_philox_shape,
    reference=_philox_reference,
    lower=_philox_lower,
    jvp=no_tangent(philox_bits),
    transpose=NOT_DIFFERENTIABLE,
    batch=front_batch(philox_bits),
)
