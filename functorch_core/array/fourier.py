"""fc.fft: discrete Fourier transforms, the Array API's extension."""

from __future__ import annotations

from ..ops import fourier as ops
from .array import Array
from .creation import _from_host
from ..core.explain import explaining
from .expose import public

fft = public(ops.fft)
fftn = public(ops.fftn)
fftshift = public(ops.fftshift)
hfft = public(ops.hfft)
ifft = public(ops.ifft)
ifftn = public(ops.ifftn)
ifftshift = public(ops.ifftshift)
ihfft = public(ops.ihfft)
irfft = public(ops.irfft)
irfftn = public(ops.irfftn)
rfft = public(ops.rfft)
rfftn = public(ops.rfftn)


@explaining
def fftfreq(n, /, *, d=1.0, dtype=None, device=None) -> Array:
    """The frequencies of fft's results, for n samples d apart. ValueError for n < 1.

    >>> import functorch_core as fc
    >>> fc.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return _from_host(ops.fftfreq_array(n, d, dtype), device)


@explaining
def rfftfreq(n, /, *, d=1.0, dtype=None, device=None) -> Array:
    """The frequencies of rfft's results, for n samples d apart. ValueError for n < 1.

    >>> import functorch_core as fc
    >>> fc.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    return _from_host(ops.rfftfreq_array(n, d, dtype), device)


__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
