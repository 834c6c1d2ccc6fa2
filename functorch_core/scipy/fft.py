"""jax.scipy.fft: cosine transforms of type 2, and their inverses."""

from __future__ import annotations

import functools
import math

import functorch_core as fc

from ..array.compose import composed, missing_name
from ..core import dtypes as dt
from ..core.explain import explaining
from ..numpy.elementwise import floats
from ..ops.promotion import canonical_axes, canonical_axis

function = functools.partial(composed, space="fc.scipy.fft")

ONE_TYPE = "{name}: type={type} is not supported\n    Type 2 is the default: leave it out."
NORMS = (None, "backward", "ortho")


def _check(name: str, type, norm):
    if type != 2:
        raise NotImplementedError(ONE_TYPE.format(name=name, type=type))
    if norm not in NORMS:
        raise ValueError(f"{name}: norm is 'backward' or 'ortho', got {norm!r}")


def _sized(x, axis: int, n):
    """x cut or filled up with zeros to n elements along an axis, which is then the last one."""
    x = fc.moveaxis(x, axis, -1)
    if n is None or n == x.shape[-1]:
        return x
    if n < x.shape[-1]:
        return x[..., :n]
    return fc.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


def _real(x, name: str):
    x = floats(x)
    if x.dtype in dt.COMPLEX:
        raise TypeError(f"{name} takes real numbers, got {x.aval}")
    return x


def _turns(n: int, dtype):
    """exp(-i pi k / 2n) for k = 0, ..., n - 1."""
    angle = fc.arange(n).astype(dtype) * (-math.pi / (2 * n))
    return fc.cos(angle) + 1j * fc.sin(angle)


def _orthonormal(n: int, dtype):
    """The factors that make the transform of n elements orthonormal."""
    first = fc.full((1,), math.sqrt(1 / (4 * n)), dtype=dtype)
    return fc.concat([first, fc.full((n - 1,), math.sqrt(1 / (2 * n)), dtype=dtype)])


@function("x")
def dct(x, type=2, n=None, axis=-1, norm=None):
    """The cosine transform along an axis, of n elements; norm 'ortho' makes it orthonormal.

    >>> from functorch_core.scipy import fft
    >>> import functorch_core as fc
    >>> fft.dct(fc.asarray([1., 2., 3.]))
    Array([ 1.2000000e+01, -3.4641016e+00,  8.9406967e-08], dtype=float32)
    """
    _check("dct", type, norm)
    x = _real(x, "dct")
    axis = canonical_axis(axis, x.ndim, "dct")
    x = _sized(x, axis, n)
    n = x.shape[-1]
    order = fc.concat([x[..., ::2], fc.flip(x[..., 1::2], axis=-1)], axis=-1)
    out = 2 * fc.real(fc.fft.fft(order.astype(dt.complex_of(x.dtype))) * _turns(n, x.dtype))
    if norm == "ortho":
        out = out * _orthonormal(n, x.dtype)
    return fc.moveaxis(out, -1, axis)


@function("x")
def idct(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of dct.

    >>> from functorch_core.scipy import fft
    >>> import functorch_core as fc
    >>> fft.idct(fft.dct(fc.asarray([1., 2., 3.])))
    Array([1., 2., 3.], dtype=float32)
    """
    _check("idct", type, norm)
    x = _real(x, "idct")
    axis = canonical_axis(axis, x.ndim, "idct")
    x = _sized(x, axis, n)
    n = x.shape[-1]
    if norm == "ortho":
        x = x / _orthonormal(n, x.dtype)
    behind = fc.concat([fc.zeros_like(x[..., :1]), fc.flip(x[..., 1:], axis=-1)], axis=-1)
    spectrum = (x - 1j * behind) * fc.conj(_turns(n, x.dtype)) / 2
    order = fc.real(fc.fft.ifft(spectrum))
    half = (n + 1) // 2
    even, odd = order[..., :half], fc.flip(order[..., half:], axis=-1)
    odd = fc.pad(odd, [(0, 0)] * (odd.ndim - 1) + [(0, half - odd.shape[-1])])
    out = fc.reshape(fc.stack([even, odd], axis=-1), (*x.shape[:-1], 2 * half))[..., :n]
    return fc.moveaxis(out.astype(x.dtype), -1, axis)


def _along(transform, name: str, x, type, s, axes, norm):
    x = _real(x, name)
    if axes is None and s is not None:
        axes = tuple(range(x.ndim - len(s), x.ndim))
    axes = canonical_axes(axes, x.ndim, name) if axes is None else [canonical_axis(d, x.ndim, name) for d in axes]
    sizes = [None] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes):
        raise ValueError(f"{name}: {len(sizes)} sizes for {len(axes)} axes")
    for axis, n in zip(axes, sizes):
        x = transform(x, type, n, axis, norm)
    return x


@explaining
def dctn(x, type=2, s=None, axes=None, norm=None):
    """The cosine transform along several axes (all).

    >>> from functorch_core.scipy import fft
    >>> import functorch_core as fc
    >>> fft.dctn(fc.ones((2, 2)))
    Array([[16.,  0.],
           [ 0.,  0.]], dtype=float32)
    """
    return _along(dct, "dctn", x, type, s, axes, norm)


@explaining
def idctn(x, type=2, s=None, axes=None, norm=None):
    """The inverse of dctn.

    >>> from functorch_core.scipy import fft
    >>> import functorch_core as fc
    >>> fft.idctn(fft.dctn(fc.ones((2, 2)))).round(3)
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _along(idct, "idctn", x, type, s, axes, norm)


__getattr__ = missing_name(
    "scipy.fft", {"fft ifft rfft irfft fft2 fftn ifftn fftfreq fftshift": "Use functorch_core.numpy.fft's."}
)

__all__ = ["dct", "dctn", "idct", "idctn"]
