"""Discrete Fourier transforms along dimensions that are not negative, of lengths that are given."""

from __future__ import annotations

import math

from .values import aval_of, p, padded


def complex_transform(x, dims, lengths, norm: str, inverse: bool):
    """Of complex x, cut or padded with zeros to the lengths."""
    out = _transform(_resized(x, dims, lengths), dims, "ifft" if inverse else "fft", lengths)
    return _scaled(out, norm, lengths, inverse)


def real_transform(x, dims, lengths, norm: str):
    """Of real x: the first half along the last of the dimensions, which determines the rest."""
    return _scaled(_transform(_resized(x, dims, lengths), dims, "rfft", lengths), norm, lengths, False)


def inverse_real_transform(x, dims, lengths, norm: str):
    """The inverse of real_transform; the lengths are the result's."""
    x = _resized(x, dims, (*lengths[:-1], lengths[-1] // 2 + 1))
    return _scaled(_transform(x, dims, "irfft", lengths), norm, lengths, True)


def _resized(x, dims, sizes):
    """x cut or padded with zeros at the ends of dimensions."""
    shape = aval_of(x).shape
    high = [0] * len(shape)
    for d, n in zip(dims, sizes, strict=True):
        high[d] = n - shape[d]
    return padded(x, (0,) * len(shape), high) if any(high) else x


def _transform(x, dims, kind: str, lengths):
    """The primitive transforms up to three last dimensions at once; real ones are halved in the last."""
    ndim = aval_of(x).ndim
    groups = [(dims[max(i - 3, 0) : i], lengths[max(i - 3, 0) : i]) for i in range(len(dims), 0, -3)]
    if kind == "irfft":  # the halved dimension is the last to be transformed
        groups = groups[::-1]
    halved = 0 if kind == "rfft" else len(groups) - 1
    for i, (group, size) in enumerate(groups):
        step = kind if i == halved else {"rfft": "fft", "irfft": "ifft"}.get(kind, kind)
        order = [d for d in range(ndim) if d not in group] + list(group)
        out = p.fft(p.transpose(x, permutation=tuple(order)), kind=step, lengths=size)
        x = p.transpose(out, permutation=tuple(order.index(d) for d in range(ndim)))
    return x


def _scaled(x, norm: str, lengths, inverse: bool):
    """The primitive's inverse divides by the number of points; what a norm wants beyond that."""
    n = math.prod(lengths)
    wanted = {"backward": 1 / n if inverse else 1.0, "ortho": 1 / math.sqrt(n), "forward": 1.0 if inverse else 1 / n}
    factor = wanted[norm] * n if inverse else wanted[norm]
    return x if factor == 1 else p.mul(x, factor)
