"""Window functions: their formulas, and torch.hann_window and its kin; torch.signal has more."""

from __future__ import annotations

import math

import numpy as np

from ....core import dtypes as dt
from ...dispatch.op import composite
from ...tensors import types as _types
from ...tensors.types import scalar_name
from ..shape.data import data_dtype, finish

# ---- formulas ------------------------------------------------------------------------------------
# Each takes the number of points and the period (in points) and gives float64.


def cosine_sum(n: int, period: int, coefficients) -> np.ndarray:
    """a0 - a1 cos(x) + a2 cos(2 x) - ..., x from 0 over 2 pi a period."""
    angle = 2 * math.pi / max(period, 1) * np.arange(n)
    return sum((-1) ** i * a * np.cos(i * angle) for i, a in enumerate(coefficients))


def triangle(n: int, period: int) -> np.ndarray:
    """From 0 up to 1 at half the period, and down again."""
    return 1 - np.abs(2 / max(period, 1) * np.arange(n) - 1)


def kaiser_bessel(n: int, period: int, beta: float) -> np.ndarray:
    """I0(beta sqrt(1 - x^2)) / I0(beta), x from -1 to 1 over a period."""
    x = 2 / max(period, 1) * np.arange(n) - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)


# ---- the windows of the torch namespace ----------------------------------------------------------


def made(name: str, values: np.ndarray, dtype, device, requires_grad: bool):
    """A window as a tensor; RuntimeError for dtypes that are not floating."""
    wanted = data_dtype(dtype) or _types.defaults.dtype.numpy
    if wanted not in dt.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {scalar_name(wanted)}")
    return finish(values.astype(wanted), device, requires_grad)


def _window(name: str, length: int, periodic: bool, formula, options):
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length == 1:
        return made(name, np.ones(1), *options)
    return made(name, formula(length, length if periodic else length - 1), *options)


@composite(method=False)
def hann_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The raised cosine of so many points.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window",
        window_length,
        periodic,
        lambda n, period: cosine_sum(n, period, (0.5, 0.5)),
        (dtype, device, requires_grad),
    )


@composite(method=False)
def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """alpha - beta cos(x), x over one period.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window(
        "hamming_window",
        window_length,
        periodic,
        lambda n, period: cosine_sum(n, period, (alpha, beta)),
        (dtype, device, requires_grad),
    )


@composite(method=False)
def blackman_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """0.42 - 0.5 cos(x) + 0.08 cos(2 x), x over one period.

    >>> torch.blackman_window(4)
    tensor([-1.3878e-17,  3.4000e-01,  1.0000e+00,  3.4000e-01])
    """
    return _window(
        "blackman_window",
        window_length,
        periodic,
        lambda n, period: cosine_sum(n, period, (0.42, 0.5, 0.08)),
        (dtype, device, requires_grad),
    )


@composite(method=False)
def bartlett_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The triangle of so many points.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", window_length, periodic, triangle, (dtype, device, requires_grad))


@composite(method=False)
def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The Kaiser window: the greater beta, the narrower.

    >>> torch.kaiser_window(4).shape
    torch.Size([4])
    """
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda n, period: kaiser_bessel(n, period, beta),
        (dtype, device, requires_grad),
    )
