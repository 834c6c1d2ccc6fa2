"""Discrete Fourier transforms over the last dimensions."""

from __future__ import annotations

import math

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.primitive import Primitive, Traits
from ..core.trace import bind
from ..core.types import Cotangents, Function, Ints, Value
from .arithmetic import mul
from .batching import front_batch
from .convert import complex, conj, real
from .declare import check_dtype, jointly_linear
from .slicing import pad
from .structure import broadcast_in_dim, constant, zeros

# ---- fft -----------------------------------------------------------------------------------------
# 'fft' and 'rfft' are plain sums, 'ifft' and 'irfft' are divided by the number of elements. 'rfft'
# keeps the first half of the last dimension, 'irfft' takes that half, of which `lengths` says how
# long the whole is.

_REFERENCES: dict[str, Function] = {
    "fft": np.fft.fftn,
    "ifft": np.fft.ifftn,
    "rfft": np.fft.rfftn,
    "irfft": np.fft.irfftn,
}


def fft(x: Value, *, kind: str, lengths: Ints) -> Value:
    """The transform of x over its last len(lengths) dimensions, 1 to 3.

    kind: 'fft', 'ifft' (complex to complex), 'rfft' (real to complex), 'irfft' (complex to real).
    lengths: the sizes of those dimensions before 'fft', 'ifft', 'rfft', or after 'irfft'.
    """
    return bind(fft_p, x, kind=kind, lengths=tuple(map(int, lengths)))


def _fft_shape(x: Aval, *, kind: str, lengths: Ints) -> Aval:
    if kind not in _REFERENCES:
        raise ValueError(f"fft of {x}: kind is one of {', '.join(_REFERENCES)}, got {kind!r}")
    if kind == "rfft":
        check_dtype("fft of kind 'rfft'", x, {dt.float32, dt.float64}, "float32 or float64")
    else:
        check_dtype(f"fft of kind {kind!r}", x, dt.COMPLEX, "complex")
    n = len(lengths)
    if not 1 <= n <= 3 or n > x.ndim or any(m < 1 for m in lengths):
        raise ValueError(
            f"fft of {x} takes 1 to 3 lengths, all positive and no more than it has dimensions; got {lengths}"
        )
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    expected = half if kind == "irfft" else lengths
    if x.shape[-n:] != expected:
        raise ValueError(
            f"fft of {x} of kind {kind!r} with lengths {lengths} takes an array whose "
            f"last dimensions are {expected}; pad or slice it first"
        )
    kept = x.shape[:-n]
    if kind == "rfft":
        return aval((*kept, *half), dt.complex_of(x.dtype))
    return aval((*kept, *lengths), dt.real_of(x.dtype)) if kind == "irfft" else x


def _fft_reference(x: np.ndarray, *, kind: str, lengths: Ints) -> np.ndarray:
    axes = tuple(range(-len(lengths), 0))
    if x.size == 0:
        out = _fft_shape(aval_of(x), kind=kind, lengths=lengths)
        return np.zeros(out.shape, out.dtype)
    return _REFERENCES[kind](x, lengths, axes)


def _fft_lower(ctx: LowerContext, x: Operand, *, kind: str, lengths: Ints) -> Operand:
    out = _fft_shape(x.aval, kind=kind, lengths=lengths)
    if x.aval.size == 0:
        return ctx.full(out, 0)
    ctx.root.features.add("fft")
    return ctx.op(
        "stablehlo.fft",
        x,
        out=out,
        attrs=f"fft_type = #stablehlo<fft_type {kind.upper()}>, fft_length = {dims_attr(lengths)}",
    )


# ---- transpose: the matrices of 'fft' and 'ifft' are symmetric


def _fft_transpose(ct: Value, x: Value, *, kind: str, lengths: Ints) -> Cotangents:
    rules = {"rfft": _rfft_transpose, "irfft": _irfft_transpose}
    if kind in rules:
        return (rules[kind](ct, x.aval, lengths),)
    return (fft(ct, kind=kind, lengths=lengths),)


def _rfft_transpose(ct: Value, x: Aval, lengths: Ints) -> Value:
    """The half spectrum filled up with zeros, transformed; the real part."""
    a = aval_of(ct)
    high = [0] * (a.ndim - 1) + [lengths[-1] - a.shape[-1]]
    whole = pad(ct, constant(np.zeros((), a.dtype)), low=[0] * a.ndim, high=high)
    return real(fft(whole, kind="fft", lengths=lengths))


def _irfft_transpose(ct: Value, x: Aval, lengths: Ints) -> Value:
    """'rfft' over the number of elements, and twice that where an element of the half spectrum
    stands for its mirror image too. The conjugate, because the sum back has the other sign."""
    half = np.full(x.shape[-1], 2 / math.prod(lengths), dt.real_of(x.dtype))
    half[0] /= 2
    if lengths[-1] % 2 == 0:
        half[-1] /= 2
    scale = broadcast_in_dim(constant(half), shape=x.shape, dims=(x.ndim - 1,))
    return mul(conj(fft(ct, kind="rfft", lengths=lengths)), complex(scale, zeros(scale.aval)))


fft_p = Primitive(
    "fft",
    traits=Traits(family="fft", numpy=4.5, expensive=True),
    shape=_fft_shape,
    reference=_fft_reference,
    lower=_fft_lower,
    jvp=jointly_linear(fft),
    transpose=_fft_transpose,
    batch=front_batch(fft),
)
