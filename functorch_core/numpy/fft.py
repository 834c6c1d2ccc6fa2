"""jax.numpy.fft: Fourier transforms with NumPy's signatures, over fc.fft."""

from __future__ import annotations

import functools
import inspect

import functorch_core as fc

from ..array.compose import missing_name, with_signature

NORMS = (None, "backward", "ortho", "forward")


def _along_axis(function):
    """A transform along one axis with NumPy's signature, where norm=None is 'backward'."""

    @functools.wraps(function)
    def call(x, /, *, n, axis, norm):
        return function(x, n=n, axis=axis, norm=norm or "backward")

    return with_signature(call, "a, n=None, axis=-1, norm=None")


def _along_axes(function, default):
    """A transform along several axes with NumPy's signature."""

    @functools.wraps(function)
    def call(x, /, *, s, axes, norm):
        return function(x, s=s, axes=axes, norm=norm or "backward")

    call.__signature__ = inspect.signature(lambda x, /, *, s, axes, norm: None)
    return with_signature(call, f"a, s=None, axes={default}, norm=None")


def _two(function, name: str):
    out = _along_axes(function, (-2, -1))
    out.__name__ = name
    out.__doc__ = f"""As {function.__name__}, over the last two axes unless others are given.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fft.{name}(jnp.ones((2, 4))).ndim
    2
    """
    return out


fft, ifft, rfft, irfft, hfft, ihfft = map(
    _along_axis, (fc.fft.fft, fc.fft.ifft, fc.fft.rfft, fc.fft.irfft, fc.fft.hfft, fc.fft.ihfft)
)
fftn, ifftn = _along_axes(fc.fft.fftn, None), _along_axes(fc.fft.ifftn, None)
rfftn, irfftn = _along_axes(fc.fft.rfftn, None), _along_axes(fc.fft.irfftn, None)
fft2, ifft2 = _two(fc.fft.fftn, "fft2"), _two(fc.fft.ifftn, "ifft2")
rfft2, irfft2 = _two(fc.fft.rfftn, "rfft2"), _two(fc.fft.irfftn, "irfft2")
fftshift = with_signature(fc.fft.fftshift, "x, axes=None")
ifftshift = with_signature(fc.fft.ifftshift, "x, axes=None")
fftfreq = with_signature(fc.fft.fftfreq, "n, d=1.0, *, dtype=None, device=None")
rfftfreq = with_signature(fc.fft.rfftfreq, "n, d=1.0, *, dtype=None, device=None")

__getattr__ = missing_name("numpy.fft", {})

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
