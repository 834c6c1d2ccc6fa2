"""fc.fft: discrete Fourier transforms over any axes."""

from __future__ import annotations

import math

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from .creation import canonical_shape
from .op import op
from .promotion import canonical_axis

NORMS = ("backward", "ortho", "forward")
LENGTHS = "{name}: the length of a transform is 1 or more, got {lengths}"


# ---- what they share -----------------------------------------------------------------------------


def _axes_and_lengths(x, s, axes, name: str):
    """The canonical axes of a transform and the given lengths (None for those of x)."""
    ndim = aval_of(x).ndim
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    axes = tuple(canonical_axis(d, ndim, name) for d in axes)
    lengths = (None,) * len(axes) if s is None else tuple(s)
    if len(lengths) != len(axes):
        raise ValueError(f"{name}: {len(lengths)} lengths for {len(axes)} axes")
    return axes, lengths


def _resized(x, axis: int, length: int):
    """x cut, or padded with zeros, to a length along an axis."""
    a = aval_of(x)
    change = length - a.shape[axis]
    high = [change if d == axis else 0 for d in range(a.ndim)]
    return p.pad(x, p.constant(np.zeros((), a.dtype)), low=(0,) * a.ndim, high=high)


def _transform(x, axes, lengths, kind: str):
    """The primitive over any number of axes: moved to the end, three at a time, the last first."""
    ndim = aval_of(x).ndim
    groups = [axes[max(i - 3, 0) : i] for i in range(len(axes), 0, -3)]
    sizes = [lengths[max(i - 3, 0) : i] for i in range(len(axes), 0, -3)]
    if kind == "irfft":  # the halved axis is the last to be transformed
        groups, sizes = groups[::-1], sizes[::-1]
    halved = 0 if kind == "rfft" else len(groups) - 1
    for i, (group, size) in enumerate(zip(groups, sizes)):
        step = kind if i == halved or kind in ("fft", "ifft") else {"rfft": "fft", "irfft": "ifft"}[kind]
        order = [d for d in range(ndim) if d not in group] + list(group)
        out = p.fft(p.transpose(x, permutation=tuple(order)), kind=step, lengths=size)
        x = p.transpose(out, permutation=tuple(order.index(d) for d in range(ndim)))
    return x


def _scaled(x, norm, lengths, inverse: bool):
    """What the norm asks for, where the primitive divides inverse transforms by n."""
    if norm not in NORMS:
        raise ValueError(f"norm is {', '.join(map(repr, NORMS))}, got {norm!r}")
    n = math.prod(lengths)
    factor = {
        "backward": 1.0,
        "ortho": math.sqrt(n) if inverse else 1 / math.sqrt(n),
        "forward": float(n) if inverse else 1 / n,
    }[norm]
    return x if factor == 1.0 else p.mul(x, factor)


def _checked(lengths, name: str) -> tuple[int, ...]:
    if any(n < 1 for n in lengths):
        raise ValueError(LENGTHS.format(name=name, lengths=lengths))
    return canonical_shape(lengths, name)


def _to_complex(x):
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEX:
        return x
    return p.convert(x, dtype=dt.complex128 if dtype == dt.float64 else dt.complex64)


def _complex(x, s, axes, norm, name: str, kind: str):
    axes, given = _axes_and_lengths(x, s, axes, name)
    x = _to_complex(x)
    if not axes:
        return x
    lengths = _checked([aval_of(x).shape[d] if n is None else n for d, n in zip(axes, given)], name)
    for d, n in zip(axes, lengths):
        x = _resized(x, d, n)
    return _scaled(_transform(x, axes, lengths, kind), norm, lengths, kind == "ifft")


def _real(x, s, axes, norm, name: str):
    axes, given = _axes_and_lengths(x, s, axes, name)
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEX or not axes:
        raise TypeError(f"{name} takes a real array and one axis or more, got {aval_of(x)}")
    x = p.convert(x, dtype=dt.float64 if dtype == dt.float64 else dt.float32)
    lengths = _checked([aval_of(x).shape[d] if n is None else n for d, n in zip(axes, given)], name)
    for d, n in zip(axes, lengths):
        x = _resized(x, d, n)
    return _scaled(_transform(x, axes, lengths, "rfft"), norm, lengths, False)


def _to_real(x, s, axes, norm, name: str):
    axes, given = _axes_and_lengths(x, s, axes, name)
    if not axes:
        raise TypeError(f"{name} takes one axis or more")
    x = _to_complex(x)
    shape = aval_of(x).shape
    defaults = [shape[d] for d in axes[:-1]] + [2 * (shape[axes[-1]] - 1)]
    lengths = _checked([m if n is None else n for m, n in zip(defaults, given)], name)
    for d, n in zip(axes[:-1], lengths):
        x = _resized(x, d, n)
    x = _resized(x, axes[-1], lengths[-1] // 2 + 1)
    return _scaled(_transform(x, axes, lengths, "irfft"), norm, lengths, True)


def _one(n):
    return None if n is None else (n,)


# ---- complex -------------------------------------------------------------------------------------


@op
def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The Fourier transform along `axis`, of length n (x is cut or padded with zeros).

    norm: which direction is divided by n, 'backward' (the inverse) or 'forward', or both by
    sqrt(n), 'ortho'. float32 gives complex64.

    >>> import functorch_core as fc
    >>> fc.fft.fft(fc.asarray([1., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _complex(x, _one(n), (axis,), norm, "fft", "fft")


@op
def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse Fourier transform along `axis`: see fft.

    >>> import functorch_core as fc
    >>> fc.fft.ifft(fc.asarray([4., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _complex(x, _one(n), (axis,), norm, "ifft", "ifft")


@op
def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The Fourier transform along several axes (all by default), of lengths s: see fft.

    >>> import functorch_core as fc
    >>> fc.fft.fftn(fc.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _complex(x, s, axes, norm, "fftn", "fft")


@op
def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse Fourier transform along several axes (all by default): see fft.

    >>> import functorch_core as fc
    >>> fc.fft.ifftn(fc.ones((2, 2)))
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _complex(x, s, axes, norm, "ifftn", "ifft")


# ---- real ----------------------------------------------------------------------------------------


@op
def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The Fourier transform of a real array along `axis`: its first n // 2 + 1 numbers. See fft.

    TypeError for complex arrays.

    >>> import functorch_core as fc
    >>> fc.fft.rfft(fc.asarray([1., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _real(x, _one(n), (axis,), norm, "rfft")


@op
def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of rfft, a real array of length n (2 (m - 1) by default): see fft.

    >>> import functorch_core as fc
    >>> fc.fft.irfft(fc.asarray([4., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _to_real(x, _one(n), (axis,), norm, "irfft")


@op
def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The Fourier transform of a real array along several axes, the last one halved: see rfft.

    >>> import functorch_core as fc
    >>> fc.fft.rfftn(fc.ones((2, 4))).shape
    (2, 3)
    """
    return _real(x, s, axes, norm, "rfftn")


@op
def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of rfftn, a real array: see irfft.

    >>> import functorch_core as fc
    >>> fc.fft.irfftn(fc.ones((2, 3))).shape
    (2, 4)
    """
    return _to_real(x, s, axes, norm, "irfftn")


# The inverse of a Hermitian signal's transform: a transform with the sign turned, hence the norm.
_TURNED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@op
def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The real transform of a Hermitian signal given by its first half, of length n: see fft.

    >>> import functorch_core as fc
    >>> fc.fft.hfft(fc.asarray([1., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _to_real(p.conj(_to_complex(x)), _one(n), (axis,), _TURNED.get(norm, norm), "hfft")


@op
def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of hfft: the first half of a Hermitian signal.

    >>> import functorch_core as fc
    >>> fc.fft.ihfft(fc.asarray([4., 0., 0., 0.]))
    Array([1.-0.j, 1.-0.j, 1.-0.j], dtype=complex64)
    """
    return p.conj(_real(x, _one(n), (axis,), _TURNED.get(norm, norm), "ihfft"))


# ---- frequencies and order -----------------------------------------------------------------------


def fftfreq_array(n: int, d: float, dtype) -> np.ndarray:
    """The frequencies of fft, cycles per unit of the sample spacing d."""
    if n < 1:
        raise ValueError(LENGTHS.format(name="fftfreq", lengths=n))
    return np.fft.fftfreq(n, d).astype(dt.canonical(dtype or float))


def rfftfreq_array(n: int, d: float, dtype) -> np.ndarray:
    """The frequencies of rfft."""
    if n < 1:
        raise ValueError(LENGTHS.format(name="rfftfreq", lengths=n))
    return np.fft.rfftfreq(n, d).astype(dt.canonical(dtype or float))


def _shift(x, axes, sign: int, name: str):
    from .manipulation import _roll

    ndim = aval_of(x).ndim
    axes = range(ndim) if axes is None else (axes,) if hasattr(axes, "__index__") else axes
    for d in axes:
        d = canonical_axis(d, ndim, name)
        n = aval_of(x).shape[d]
        x = _roll(x, n // 2 if sign > 0 else -(n // 2), d)
    return x


@op
def fftshift(x, /, *, axes=None):
    """x with the zero frequency moved to the middle of `axes` (all by default).

    >>> import functorch_core as fc
    >>> fc.fft.fftshift(fc.asarray([0., 1., -2., -1.]))
    Array([-2., -1.,  0.,  1.], dtype=float32)
    """
    return _shift(x, axes, 1, "fftshift")


@op
def ifftshift(x, /, *, axes=None):
    """The inverse of fftshift.

    >>> import functorch_core as fc
    >>> fc.fft.ifftshift(fc.asarray([-2., -1., 0., 1.]))
    Array([ 0.,  1., -2., -1.], dtype=float32)
    """
    return _shift(x, axes, -1, "ifftshift")
