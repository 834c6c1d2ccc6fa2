"""Window functions: M points, symmetric (for filters) or periodic (for spectra)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ....operators.fft import windows as _formulas
from ....operators.shape.data import finish as _finish
from ....tensors import types as _types

SUPPORTED = ("float32", "float64")


def _window(name: str, M: int, sym: bool, formula: Callable, options):
    """formula(points, period) as a tensor; ValueError for what PyTorch refuses."""
    dtype, layout, device, requires_grad = options
    dtype = _types.defaults.dtype if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not _types.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype.numpy.name not in SUPPORTED:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    values = np.ones(1) if M == 1 else formula(M, M - 1 if sym else M)
    return _finish(np.asarray(values).astype(dtype.numpy), device, requires_grad)


def _cosine_sum(name: str, coefficients: tuple, doc: str):
    """A window that is a sum of cosines with fixed coefficients."""

    def window(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
        return _window(
            name,
            M,
            sym,
            lambda n, period: _formulas.cosine_sum(n, period, coefficients),
            (dtype, layout, device, requires_grad),
        )

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"""{doc}

    >>> torch.signal.windows.{name}(3)[1].item()
    1.0
    """
    return window


hann = _cosine_sum("hann", (0.5, 0.5), "The raised cosine: 0.5 - 0.5 cos(x).")
hamming = _cosine_sum("hamming", (0.54, 0.46), "0.54 - 0.46 cos(x).")
blackman = _cosine_sum("blackman", (0.42, 0.5, 0.08), "0.42 - 0.5 cos(x) + 0.08 cos(2 x).")
nuttall = _cosine_sum(
    "nuttall",
    (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "The 4-term Blackman-Harris window of Nuttall, with the lowest side lobes.",
)


def general_cosine(M, *, a: Iterable, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """a[0] - a[1] cos(x) + a[2] cos(2 x) - ..., x over one period.

    >>> torch.signal.windows.general_cosine(4, a=[0.5, 0.3, 0.2])
    tensor([0.4000, 0.5500, 0.5500, 0.4000])
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _window(
        "general_cosine",
        M,
        sym,
        lambda n, period: _formulas.cosine_sum(n, period, a),
        (dtype, layout, device, requires_grad),
    )


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(x), x over one period.

    >>> torch.signal.windows.general_hamming(4)
    tensor([0.0800, 0.7700, 0.7700, 0.0800])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The triangle.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, _formulas.triangle, (dtype, layout, device, requires_grad))


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a period of the sine, taken between the points.

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """

    def formula(n, period):
        return np.sin(math.pi / max(period + 1, 1) * (np.arange(n) + 0.5))

    return _window("cosine", M, sym, formula, (dtype, layout, device, requires_grad))


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-|k - center| / tau), about the middle by default.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def formula(n, period):
        middle = period / 2 if center is None else center
        return np.exp(-np.abs(np.arange(n) - middle) / tau)

    return _window("exponential", M, sym, formula, (dtype, layout, device, requires_grad))


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-x^2 / (2 std^2)), x the distance from the middle.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def formula(n, period):
        return np.exp(-0.5 * ((np.arange(n) - period / 2) / std) ** 2)

    return _window("gaussian", M, sym, formula, (dtype, layout, device, requires_grad))


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Kaiser window: the greater beta, the narrower.

    >>> torch.signal.windows.kaiser(3)
    tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window(
        "kaiser",
        M,
        sym,
        lambda n, period: _formulas.kaiser_bessel(n, period, beta),
        (dtype, layout, device, requires_grad),
    )
