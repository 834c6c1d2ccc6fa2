"""Bessel functions of whole order by recurrence, and spherical harmonics."""

from __future__ import annotations

import functools
import math

import numpy as np

import functorch_core as fc

from ..array.compose import composed
from ..core import dtypes as dt
from ..core.explain import explaining

function = functools.partial(composed, space="fc.scipy.special", inexact=True)


@explaining
def bessel_jn(z, *, v, n_iter=50):
    """The Bessel functions of the first kind of orders 0, ..., v, as the first dimension.

    By backward recurrence (Miller's) from order n_iter, which must be well above v and |z|.

    >>> from functorch_core.scipy import special
    >>> special.bessel_jn(1., v=2)
    Array([nan, nan, nan], dtype=float32)
    """
    return _bessel_jn(z, v=int(v), n_iter=int(n_iter))


@function("z")
def _bessel_jn(z, v, n_iter):
    tiny = 1e-30 if z.dtype == dt.float64 else 1e-16
    zero = z == 0
    safe = fc.where(zero, fc.ones_like(z), z)

    def step(carry, k):
        above, here, norm = carry
        below = 2 * (k + 1) / safe * here - above
        even = fc.remainder(k, 2) == 0
        norm = norm + fc.where(even & (k > 0), 2 * below, fc.where(k == 0, below, fc.zeros_like(below)))
        return (here, below, norm), below

    numbers = fc.arange(n_iter - 1, -1, -1).astype(z.dtype)
    start = (fc.zeros_like(z), fc.full_like(z, tiny), fc.zeros_like(z))
    (_, _, norm), orders = fc.scan(step, start, numbers)
    out = fc.flip(orders, axis=0)[: v + 1] / norm
    at_zero = fc.reshape(fc.arange(v + 1) == 0, (-1,) + (1,) * z.ndim).astype(z.dtype)
    return fc.where(zero, at_zero, out)


@explaining
def sph_harm_y(n, m, theta, phi, diff_n=None, n_max=None):
    """The spherical harmonics of degree n and order m, at polar angle theta and azimuth phi, complex.

    n_max: the greatest degree, which compiled functions need.

    >>> from functorch_core.scipy import special
    >>> special.sph_harm_y(1, 0, 0.5, 0.2)
    Array(0.42878905+0.j, dtype=complex64)
    """
    if diff_n:
        raise NotImplementedError("sph_harm_y: diff_n is not supported\n    Differentiate with fc.jacfwd.")
    n, m = fc.asarray(n), fc.asarray(m)
    if n_max is None:
        n_max = int(np.max(np.asarray(n), initial=0))
    return _harmonic(theta, phi, n, m, n_max=int(n_max))


@composed("theta phi n m", space="fc.scipy.special")
def _harmonic(theta, phi, n, m, n_max):
    theta, phi = (fc.asarray(x) * 1.0 for x in (theta, phi))
    theta, phi, n, m = fc.broadcast_arrays(theta, phi, n, m)
    order = fc.abs(m)
    legendre = _legendre(fc.cos(theta), fc.sin(theta), order, n, n_max)
    wave = fc.cos(order * phi) + 1j * fc.sin(order * phi)
    out = legendre * wave
    sign = fc.where(fc.remainder(order, 2) == 0, fc.ones_like(legendre), fc.full_like(legendre, -1))
    out = fc.where(m < 0, sign * fc.conj(out), out)
    return fc.where(order > n, fc.zeros_like(out), out)


def _legendre(x, y, order, degree, n_max: int):
    """Normalised associated Legendre functions of (cos, sin), by recurrence in the degree."""
    diagonal = fc.full_like(x, math.sqrt(1 / (4 * math.pi)))
    out = fc.zeros_like(x)
    for m in range(n_max + 1):
        if m:
            diagonal = -math.sqrt((2 * m + 1) / (2 * m)) * y * diagonal
        before, here = fc.zeros_like(x), diagonal
        for n in range(m, n_max + 1):
            out = fc.where((order == m) & (degree == n), here, out)
            a = math.sqrt((4 * (n + 1) ** 2 - 1) / ((n + 1) ** 2 - m * m))
            b = math.sqrt((n * n - m * m) / (4 * n * n - 1)) if n > m else 0.0
            before, here = here, a * (x * here - b * before)
    return out
