"""fc.fft: discrete Fourier transforms over any axes."""

from __future__ import annotations

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import fourier as kernels
from ..kernels.shapes import rolled
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
    return kernels.complex_transform(x, axes, lengths, _known(norm), kind == "ifft")


def _real(x, s, axes, norm, name: str):
    axes, given = _axes_and_lengths(x, s, axes, name)
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEX or not axes:
        raise TypeError(f"{name} takes a real array and one axis or more, got {aval_of(x)}")
    x = p.convert(x, dtype=dt.float64 if dtype == dt.float64 else dt.float32)
    lengths = _checked([aval_of(x).shape[d] if n is None else n for d, n in zip(axes, given)], name)
    return kernels.real_transform(x, axes, lengths, _known(norm))


def _to_real(x, s, axes, norm, name: str):
    axes, given = _axes_and_lengths(x, s, axes, name)
    if not axes:
        raise TypeError(f"{name} takes one axis or more")
    x = _to_complex(x)
    shape = aval_of(x).shape
    defaults = [shape[d] for d in axes[:-1]] + [2 * (shape[axes[-1]] - 1)]
    lengths = _checked([m if n is None else n for m, n in zip(defaults, given)], name)
    return kernels.inverse_real_transform(x, axes, lengths, _known(norm))


def _known(norm: str) -> str:
    if norm not in NORMS:
        raise ValueError(f"norm is {', '.join(map(repr, NORMS))}, got {norm!r}")
    return norm


def _one(n):
    return None if n is None else (n,)


# ---- complex -------------------------------------------------------------------------------------


@op("fc.fft")
def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The Fourier transform along `axis`, of length n (x is cut or padded with zeros).

    norm: which direction is divided by n, 'backward' (the inverse) or 'forward', or both by
    sqrt(n), 'ortho'. float32 gives complex64.

    >>> import functorch_core as fc
    >>> fc.fft.fft(fc.asarray([1., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _complex(x, _one(n), (axis,), norm, "fft", "fft")


@op("fc.fft")
def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse Fourier transform along `axis`: see fft.

    >>> import functorch_core as fc
    >>> fc.fft.ifft(fc.asarray([4., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _complex(x, _one(n), (axis,), norm, "ifft", "ifft")


@op("fc.fft")
def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The Fourier transform along several axes (all by default), of lengths s: see fft.

    >>> import functorch_core as fc
    >>> fc.fft.fftn(fc.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _complex(x, s, axes, norm, "fftn", "fft")


@op("fc.fft")
def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse Fourier transform along several axes (all by default): see fft.

    >>> import functorch_core as fc
    >>> fc.fft.ifftn(fc.ones((2, 2)))
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _complex(x, s, axes, norm, "ifftn", "ifft")


# ---- real ----------------------------------------------------------------------------------------


@op("fc.fft")
def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The Fourier transform of a real array along `axis`: its first n // 2 + 1 numbers. See fft.

    TypeError for complex arrays.

    >>> import functorch_core as fc
    >>> fc.fft.rfft(fc.asarray([1., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _real(x, _one(n), (axis,), norm, "rfft")


@op("fc.fft")
def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of rfft, a real array of length n (2 (m - 1) by default): see fft.

    >>> import functorch_core as fc
    >>> fc.fft.irfft(fc.asarray([4., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _to_real(x, _one(n), (axis,), norm, "irfft")


@op("fc.fft")
def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The Fourier transform of a real array along several axes, the last one halved: see rfft.

    >>> import functorch_core as fc
    >>> fc.fft.rfftn(fc.ones((2, 4))).shape
    (2, 3)
    """
    return _real(x, s, axes, norm, "rfftn")


@op("fc.fft")
def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of rfftn, a real array: see irfft.

    >>> import functorch_core as fc
    >>> fc.fft.irfftn(fc.ones((2, 3))).shape
    (2, 4)
    """
    return _to_real(x, s, axes, norm, "irfftn")


# The inverse of a Hermitian signal's transform: a transform with the sign turned, hence the norm.
_TURNED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@op("fc.fft")
def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The real transform of a Hermitian signal given by its first half, of length n: see fft.

    >>> import functorch_core as fc
    >>> fc.fft.hfft(fc.asarray([1., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _to_real(p.conj(_to_complex(x)), _one(n), (axis,), _TURNED.get(norm, norm), "hfft")


@op("fc.fft")
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
    ndim = aval_of(x).ndim
    axes = range(ndim) if axes is None else (axes,) if hasattr(axes, "__index__") else axes
    for d in axes:
        d = canonical_axis(d, ndim, name)
        n = aval_of(x).shape[d]
        x = rolled(x, n // 2 if sign > 0 else -(n // 2), d)
    return x


@op("fc.fft")
def fftshift(x, /, *, axes=None):
    """x with the zero frequency moved to the middle of `axes` (all by default).

    >>> import functorch_core as fc
    >>> fc.fft.fftshift(fc.asarray([0., 1., -2., -1.]))
    Array([-2., -1.,  0.,  1.], dtype=float32)
    """
    return _shift(x, axes, 1, "fftshift")


@op("fc.fft")
def ifftshift(x, /, *, axes=None):
    """The inverse of fftshift.

    >>> import functorch_core as fc
    >>> fc.fft.ifftshift(fc.asarray([-2., -1., 0., 1.]))
    Array([ 0.,  1., -2., -1.], dtype=float32)
    """
    return _shift(x, axes, -1, "ifftshift")


__all__ = [  # what it has in fc.fft, for static tools
    "fft", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft", "rfftn",
]  # fmt: skip
