"""Polynomials by their coefficients, the highest power first, as NumPy's older functions have them."""

from __future__ import annotations

import functools
import operator

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype, composed
from ..core import dtypes as dt
from ..core.explain import explaining
from .calculus import convolve
from .elementwise import alike, as_array, floats, together

function = functools.partial(composed, space="fc.numpy")


@function("p x")
def polyval(p, x, *, unroll=16):
    """The value of a polynomial at x, elementwise, by Horner's rule.

    >>> import functorch_core.numpy as jnp
    >>> jnp.polyval(jnp.asarray([1., 0., 2.]), 3.)
    Array(11., dtype=float32)
    """
    p, x = alike(p, x)
    shape = np.broadcast_shapes(p.shape[1:], x.shape)
    start = fc.zeros(shape, dtype=p.dtype)
    return fc.scan(lambda total, c: (total * x + c, None), start, p)[0] if p.shape[0] else start


def _padded(a, n: int):
    """Coefficients with zeros in front, n of them."""
    return fc.pad(a, [(n - a.shape[0], 0)] + [(0, 0)] * (a.ndim - 1))


@function("a1 a2")
def polyadd(a1, a2):
    """The sum of two polynomials.

    >>> import functorch_core.numpy as jnp
    >>> jnp.polyadd(jnp.asarray([1., 2.]), jnp.asarray([3.]))
    Array([1., 5.], dtype=float32)
    """
    a1, a2 = as_array(a1), as_array(a2)
    longer, shorter = (a1, a2) if len(a1) >= len(a2) else (a2, a1)
    longer = longer.astype(fc.result_type(a1, a2))
    return longer.at[len(longer) - len(shorter) :].add(shorter)


@function("a1 a2")
def polysub(a1, a2):
    """The difference of two polynomials.

    >>> import functorch_core.numpy as jnp
    >>> jnp.polysub(jnp.asarray([1., 2.]), jnp.asarray([3.]))
    Array([ 1., -1.], dtype=float32)
    """
    a1, a2 = alike(a1, a2)
    return polyadd(a1, -a2)


def _trimmed(a):
    """Known coefficients without zeros in front; one is left."""
    known = np.asarray(a)
    first = int(np.flatnonzero(known)[0]) if np.any(known) else max(known.size - 1, 0)
    return a[first:]


@explaining
def polymul(a1, a2, *, trim_leading_zeros=False):
    """The product of two polynomials.

    >>> import functorch_core.numpy as jnp
    >>> jnp.polymul(jnp.asarray([1., 2.]), jnp.asarray([1., -2.]))
    Array([ 1.,  0., -4.], dtype=float32)
    """
    a1, a2 = fc.ravel(as_array(a1)), fc.ravel(as_array(a2))
    if trim_leading_zeros:
        a1, a2 = _trimmed(a1), _trimmed(a2)
    if not a1.size or not a2.size:
        return fc.zeros(1)
    return convolve(a1, a2)


@explaining
def polydiv(u, v, *, trim_leading_zeros=False):
    """(quotient, remainder) of two polynomials.

    >>> import functorch_core.numpy as jnp
    >>> jnp.polydiv(jnp.asarray([1., 0., -4.]), jnp.asarray([1., 2.]))
    (Array([ 1., -2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    u, v = _divided(floats(u), floats(v))
    return u, _trimmed(v) if trim_leading_zeros else v


@function("u v")
def _divided(u, v):
    u, v = together(u, v) if u.shape == v.shape else (u + fc.zeros((), dtype=v.dtype), v + fc.zeros((), dtype=u.dtype))
    m, n = u.shape[0], v.shape[0]
    quotient = []
    for i in range(max(m - n + 1, 0)):
        factor = u[i] / v[0]
        quotient.append(factor)
        u = u.at[i : i + n].add(-factor * v)
    return fc.stack(quotient) if quotient else fc.zeros(1, dtype=u.dtype), u


@function("p")
def polyder(p, m=1):
    """The m-th derivative of a polynomial.

    >>> import functorch_core.numpy as jnp
    >>> jnp.polyder(jnp.asarray([1., 2., 3.]))
    Array([2., 2.], dtype=float32)
    """
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"polyder: the order of a derivative is not negative, got {m}")
    p = floats(p)
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * fc.arange(n, 0, -1).astype(p.dtype) if n > 0 else p[:0]
    return p


@function("p k")
def polyint(p, m=1, k=None):
    """The m-th antiderivative of a polynomial, with integration constants k (0).

    >>> import functorch_core.numpy as jnp
    >>> jnp.polyint(jnp.asarray([2., 2.]))
    Array([1., 2., 0.], dtype=float32)
    """
    m = operator.index(m)
    p = floats(p)
    k = fc.zeros(m, dtype=p.dtype) if k is None else fc.ravel(as_array(k)).astype(p.dtype)
    k = fc.broadcast_to(k, (m,)) if k.size == 1 else k
    if m < 0 or k.size != m:
        raise ValueError(f"polyint: order {m} with {k.size} integration constants")
    for i in range(m):
        p = fc.concat([p / fc.arange(p.shape[0], 0, -1).astype(p.dtype), k[i : i + 1]])
    return p


@function("seq_of_zeros")
def poly(seq_of_zeros):
    """The coefficients of the polynomial with these zeros, or the characteristic one of a matrix.

    >>> import functorch_core.numpy as jnp
    >>> jnp.poly(jnp.asarray([1., 2.]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    zeros = floats(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1]:
        real = zeros.dtype in dt.FLOATING
        found = fc.linalg.eigvals(zeros)
    else:
        real, found = True, fc.ravel(zeros)
        real = found.dtype in dt.FLOATING
    out = fc.ones(1, dtype=found.dtype)
    for i in range(found.shape[0]):
        out = fc.pad(out, [(0, 1)]) - fc.pad(out * found[i], [(1, 0)])
    return fc.real(out) if real and out.dtype in dt.COMPLEX else out


@explaining
def roots(p, *, strip_zeros=True):
    """The zeros of a polynomial, complex.

    strip_zeros: leading zeros are left out, for which they must be known; without it they give NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.roots(jnp.asarray([1., 0., 4.]))
    Array([0.+1.9999999j, 0.-1.9999999j], dtype=complex64)
    """
    p = floats(fc.ravel(as_array(p)))
    last = 0
    if strip_zeros:
        known = np.flatnonzero(np.asarray(p))
        if not known.size:
            return fc.zeros(0, dtype=dt.complex_of(p.dtype))
        last = p.size - 1 - int(known[-1])
        p = p[int(known[0]) : int(known[-1]) + 1]
    found = _roots(p) if strip_zeros else _roots_of_any_degree(p)
    return fc.concat([found, fc.zeros(last, dtype=found.dtype)]) if last else found


@function("p")
def _roots_of_any_degree(p):
    """NaN at the end for each leading zero: those are moved behind, where each gives a root 0 of its own."""
    n = p.shape[0]
    zeros = fc.argmax(p != 0)
    found = _roots(fc.take(p, (fc.arange(n) + zeros) % n, axis=0))
    found = fc.take(found, fc.argsort(found == 0, stable=True), axis=0)
    return fc.where(fc.arange(n - 1) < n - 1 - zeros, found, fc.full_like(found, complex("nan+nanj")))


@function("p")
def _roots(p):
    n = p.shape[0] - 1
    if n < 1:
        return fc.zeros(0, dtype=dt.complex_of(p.dtype))
    companion = fc.concat([-(p[1:] / p[0])[None], fc.eye(n, dtype=p.dtype)[:-1]])
    return fc.linalg.eigvals(companion)


@explaining
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial of degree deg that fits y at x best (least squares, with weights w).

    full: (coefficients, residuals, rank, singular values, rcond); cov: (coefficients, covariance).

    >>> import functorch_core.numpy as jnp
    >>> jnp.polyfit(jnp.asarray([0., 1., 2.]), jnp.asarray([1., 3., 5.]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    x, y = floats(x), floats(y)
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0] or not x.shape[0]:
        raise ValueError(f"polyfit takes x [n] and y [n] or [n, k], got {x.aval} and {y.aval}")
    out = _fitted(x, y, w, deg=operator.index(deg), rcond=rcond, cov=cov)
    if full:
        return *out[:4], len(x) * float(fc.finfo(x.dtype).eps) if rcond is None else rcond
    return (out[0], out[4]) if cov else out[0]


@function("x y w")
def _fitted(x, y, w, deg, rcond, cov):
    rcond = x.shape[0] * float(fc.finfo(x.dtype).eps) if rcond is None else rcond
    left = x[:, None] ** fc.arange(deg, -1, -1).astype(x.dtype)
    right = y if y.ndim == 2 else y[:, None]
    if w is not None:
        w = as_dtype(w, x.dtype)
        left, right = left * w[:, None], right * w[:, None]
    scale = fc.sqrt(fc.sum(left * left, axis=0))
    solution, residuals, rank, values = fc.linalg.lstsq(left / scale, right, rcond)
    solution = solution / scale[:, None]
    found = solution if y.ndim == 2 else solution[:, 0]
    out = [found, residuals, rank, values]
    if cov:
        base = fc.linalg.inv(left.T @ left)
        out.append(_covariance(base, residuals, x.shape[0] - deg - 1, cov, y.ndim))
    return tuple(out)


def _covariance(base, residuals, freedom: int, cov, ndim: int):
    """The covariance of the coefficients, scaled by the residuals unless cov is 'unscaled'."""
    if cov == "unscaled":
        return base if ndim == 1 else base[..., None] * fc.ones_like(residuals)
    factor = residuals / freedom
    return base * factor if ndim == 1 else base[..., None] * factor


__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
]  # fmt: skip
