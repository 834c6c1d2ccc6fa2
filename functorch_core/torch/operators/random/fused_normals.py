"""Normals in large numbers: `box_muller_float32` as one compiled program, to the last bit.

NumPy takes 23 ns a number for its many passes in float64, this 1. XLA:CPU contracts a product and a sum to a fused
multiply-add, as PyTorch's kernel is compiled, so that the polynomials are simply written down. Where a sum has two
products, or a product for its addend, which is fused would be the compiler's choice: such a product is rounded
through float64, across which nothing is contracted. Whether all that holds on this machine is tried when the program is
made; if not, or in a forked process, NumPy goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .... import xla
from ....core import dtypes as dt
from ....core.aval import aval
from ....core.lowering import lower
from ....core.trace import outside_traces, trace_closed
from ....engine.compiling import compile_lowered
from ....xla import cache
from ..values import full_like, p
from . import box_muller as constants

BLOCK, SMALL = 1 << 16, 1 << 13  # numbers that a program makes of as many outputs of the generator
Starts: TypeAlias = Callable[[np.ndarray], Callable[[], np.ndarray]]
# So many numbers were made by NumPy before a program pays: 0.1 s lost, 0.15 to 0.3 s to compile; what the disk has is
# read in 15 ms.
WORTH, WORTH_ON_DISK = 1 << 22, 1 << 19
_made = {BLOCK: 0, SMALL: 0}  # that a program of these would have made


def program(count: int) -> tuple[Starts, int] | None:
    """What starts to make normals of so many outputs, or of fewer; None if NumPy is to make these `count`. 4,096 take
    it 160 us, a program 60; 16,384 400 and 120."""
    block = BLOCK if count >= BLOCK // 2 else SMALL
    if count < SMALL // 4 or xla.in_forked_child():
        return None
    _made[block] += count
    if _made[block] < WORTH_ON_DISK or _made[block] < _worth(block):
        return None
    start = _compiled(block)
    return None if start is None else (start, block)


@functools.cache
def _worth(block: int) -> int:
    return WORTH_ON_DISK if cache.is_noted(_note(block)) else WORTH


def _note(block: int) -> str:
    """By which the next process knows that the disk has the program."""
    return cache.note_key(f"normals of {block}")


@functools.cache
def _compiled(size: int) -> Starts | None:
    """Starts the compiled function of so many outputs of 32 bits; None if it does not make NumPy's numbers."""
    device = xla.devices("cpu")[0]
    with outside_traces():
        graph = trace_closed(lambda words: [_normals(_uniforms(words))], [aval((size,), dt.uint64)], "normals")
        lowered = lower(graph, "cpu")
    executable = compile_lowered(lowered, device, lowered.features | {"hot", "narrow"})
    cache.note(_note(size))

    def start(words: np.ndarray) -> Callable[[], np.ndarray]:
        block = words
        if words.size < size:
            block = np.zeros(size, np.uint64)
            block[: words.size] = words
        results = executable.run([xla.put(block, device, owned=True)])
        return lambda: xla.to_numpy(results[0])[: words.size]

    sample = np.random.default_rng(0).integers(0, 1 << 32, size, np.uint64)
    u = ((sample & 0xFFFFFF) * 2.0**-24).astype(np.float32).reshape(-1, 2, 8)
    wanted = np.stack(constants.box_muller_float32(1 - u[:, 0], u[:, 1]), 1)
    return start if np.array_equal(start(sample)(), wanted.reshape(-1)) else None


def _uniforms(words):
    """What `uniform_float32` makes of outputs."""
    bits = p.convert(p.and_(words, full_like(words, (1 << 24) - 1)), dtype=dt.int32)
    return p.mul(p.convert(bits, dtype=dt.float32), 2.0**-24)


def _normals(uniforms):
    n = uniforms.aval.size
    rows = p.reshape(uniforms, shape=(n // 16, 2, 8))
    first, second = (p.squeeze(p.slice_in_dim(rows, start=i, limit=i + 1, dimension=1), dims=(1,)) for i in range(2))
    radius = p.sqrt(p.mul(_log(p.sub(1.0, first)), -2.0))
    sine, cosine = _sine_cosine(_rounded_product(second, constants._TWO_PI))
    pair = [p.expand_dims(p.mul(radius, v), dims=(1,)) for v in (cosine, sine)]
    return p.reshape(p.concatenate(*pair, dimension=1), shape=(n,))


def _rounded_product(x, number: float):
    """x * number, rounded before it is added to anything."""
    return p.convert(p.mul(p.convert(x, dtype=dt.float64), number), dtype=dt.float32)


def _horner(coefficients, x):
    out = full_like(x, coefficients[0])
    for c in coefficients[1:]:
        out = p.add(p.mul(out, x), c)
    return out


def _log(x):
    bits = p.bitcast(x, dtype=dt.int32)
    exponent = p.sub(p.shift_right_logical(bits, full_like(bits, 23)), 126)
    mantissa = p.bitcast(p.or_(p.and_(bits, full_like(bits, 0x7FFFFF)), full_like(bits, 0x3F000000)), dtype=dt.float32)
    small = p.lt(mantissa, full_like(mantissa, constants._SQRT_HALF))
    e = p.sub(p.convert(exponent, dtype=dt.float32), p.convert(small, dtype=dt.float32))
    m = p.sub(p.select(small, p.add(mantissa, mantissa), mantissa), 1.0)
    square = p.mul(m, m)
    tail = p.mul(_horner(constants._LOG, m), m)
    tail = p.add(p.mul(tail, square), _rounded_product(e, constants._LN2_LOW))
    tail = p.sub(tail, p.mul(square, 0.5))
    return p.add(p.mul(e, constants._LN2_HIGH), p.add(m, tail))


def _sine_cosine(x):
    octant = p.convert(p.mul(x, constants._FOUR_OVER_PI), dtype=dt.int32)
    octant = p.and_(p.add(octant, 1), full_like(octant, ~1))
    number, reduced = p.convert(octant, dtype=dt.float32), x
    for part in constants._QUARTER_PI_PARTS:
        reduced = p.add(p.mul(number, part), reduced)
    square = p.mul(reduced, reduced)
    cosine = p.mul(p.mul(_horner(constants._COS, square), square), square)
    cosine = p.add(p.sub(cosine, _rounded_product(square, 0.5)), 1.0)
    sine = p.add(p.mul(p.mul(_horner(constants._SIN, square), square), reduced), reduced)

    def has(value, bit: int):
        return p.ne(p.and_(value, full_like(octant, bit)), full_like(octant, 0))

    swapped = has(octant, 2)
    sine, cosine = p.select(swapped, cosine, sine), p.select(swapped, sine, cosine)
    sine = p.select(has(octant, 4), p.neg(sine), sine)
    return sine, p.select(has(p.add(octant, 2), 4), p.neg(cosine), cosine)
