"""fc.fft: discrete Fourier transforms, the Array API's extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.explain import explaining
from ..ops import fourier as ops
from . import expose
from .array import Array
from .creation import _from_host

if TYPE_CHECKING:
    from ..ops.fourier import *


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


globals().update(expose.placed("fc.fft"), __all__=["fftfreq", "rfftfreq", *expose.placed("fc.fft")])
