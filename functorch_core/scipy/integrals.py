"""Exponential, sine, Fresnel and Dawson integrals, the Faddeeva function, Owen's T, the dilogarithm.

Series near 0, continued fractions and rational approximations elsewhere. Each has its derivative as
a formula, so that nothing is differentiated through a loop.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

import functorch_core as fc

from ..array.compose import composed
from ..core import dtypes as dt

function = functools.partial(composed, space="fc.scipy.special", inexact=True)

EULER = 0.5772156649015329


def with_derivative(*slopes):
    """A decorator of a function of arrays: its partial derivatives by functions of (result, *arrays).

    None where there is none (a whole number).
    """

    def decorate(fun):
        out = fc.custom_jvp(fun)
        rules = [None if d is None else (lambda t, y, *xs, d=d: t * d(y, *xs)) for d in slopes]
        out.defjvps(*rules)
        return out

    return decorate


def series(x, ratio, terms: int, first=1.0):
    """first + first * ratio(x, 1) + first * ratio(x, 1) * ratio(x, 2) + ..., so many terms."""

    def step(carry, k):
        term, total = carry
        term = term * ratio(x, k)
        return (term, total + term), None

    start = fc.zeros_like(x) + first
    numbers = fc.arange(1, terms).astype(dt.real_of(x.dtype))
    return fc.scan(step, (start, start), numbers)[0][1]


def horner(x, coefficients):
    """The polynomial with these coefficients, the constant one first."""
    out = fc.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        out = out * x + c
    return out


# ---- exponential integrals -----------------------------------------------------------------------


def fraction(x, n, terms: int = 120):
    """exp(x) * En(x) by its continued fraction, from its last term to the first; Re x > 1."""

    def step(tail, k):
        return x + n + 2 * k - (k + 1) * (n + k) / tail, None

    numbers = fc.arange(terms, -1, -1).astype(dt.real_of(x.dtype))
    last = x + n + 2.0 * (terms + 1)
    return 1 / fc.scan(step, last + fc.zeros_like(x), numbers)[0]


def _entire(x, terms: int):
    """The sum of x**k / (k * k!) for k >= 1: what is left of Ei(x) without EULER + log|x|."""

    def step(carry, k):
        term, total = carry
        term = term * x / k
        return (term, total + term / k), None

    numbers = fc.arange(1, terms).astype(dt.real_of(x.dtype))
    return fc.scan(step, (fc.ones_like(x), fc.zeros_like(x)), numbers)[0][1]


@with_derivative(lambda y, x: -fc.exp(-x) / x)
def _exp1(x):
    small = x <= 2
    near = fc.where(small, fc.maximum(x, 0), fc.ones_like(x))
    far = fc.where(small, fc.full_like(x, 2), x)
    out = fc.where(small, -EULER - fc.log(near) - _entire(-near, 40), fc.exp(-far) * fraction(far, 1))
    return fc.where(x < 0, fc.full_like(x, math.nan), out)


@function("x")
def exp1(x):
    """The exponential integral of exp(-t) / t from x > 0 to infinity, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.exp1(1.)
    Array(0.21938396, dtype=float32)
    """
    return _exp1(x)


@with_derivative(lambda y, x: fc.exp(x) / x)
def _expi(x):
    negative, large = x < 0, x > 40
    middle = fc.where(negative | large, fc.ones_like(x), x)
    far = fc.where(large, x, fc.full_like(x, 50))
    asymptotic = fc.exp(far) / far * series(far, lambda x, k: k / x, 35)
    near = EULER + fc.log(middle) + _entire(middle, 140)
    return fc.where(negative, -_exp1(fc.where(negative, -x, fc.ones_like(x))), fc.where(large, asymptotic, near))


@function("x")
def expi(x):
    """The principal value of the integral of exp(t) / t from -infinity to x, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.expi(1.)
    Array(1.8951179, dtype=float32)
    """
    return _expi(x)


def _expn_value(n, x):
    small = x <= 1
    near, far = (
        fc.where(small, fc.maximum(x, 1e-300 if x.dtype == dt.float64 else 1e-37), fc.ones_like(x)),
        fc.where(small, fc.full_like(x, 2), x),
    )
    order = fc.maximum(n, 1)

    def step(carry, k):
        term, total = carry
        term = term * -near / k
        apart = k - order + 1
        same = apart == 0
        return (
            term,
            total + fc.where(same, fc.zeros_like(term), term / fc.where(same, fc.ones_like(apart), apart)),
        ), None

    first = fc.where(order == 1, fc.zeros_like(near), 1 / fc.where(order == 1, fc.ones_like(order), 1 - order))
    numbers = fc.arange(1, 30).astype(x.dtype)
    total = fc.scan(step, (fc.ones_like(near), first), numbers)[0][1]
    sign = fc.where(fc.remainder(order, 2) == 1, fc.ones_like(near), fc.full_like(near, -1))
    power = sign * fc.exp(fc.xlogy(order - 1, near) - fc.lgamma(order))
    below = power * (fc.digamma(order) - fc.log(near)) - total
    out = fc.where(small, below, fc.exp(-far) * fraction(far, order))
    out = fc.where(n == 0, fc.exp(-x) / x, out)
    at_zero = fc.where(n > 1, 1 / fc.where(n > 1, n - 1, fc.ones_like(n)), fc.full_like(x, math.inf))
    out = fc.where(x == 0, at_zero, out)
    return fc.where((x < 0) | (n < 0), fc.full_like(out, math.nan), out)


@with_derivative(None, lambda y, n, x: -_expn_value(fc.maximum(n - 1, 0), x))
def _expn(n, x):
    return _expn_value(n, x)


@function("n x")
def expn(n, x):
    """The exponential integral of exp(-x t) / t**n from 1 to infinity, elementwise, for whole n >= 0.

    >>> from functorch_core.scipy import special
    >>> special.expn(2, 1.)
    Array(0.14849555, dtype=float32)
    """
    return _expn(*fc.broadcast_arrays(n, x))


# ---- sine and cosine integrals -------------------------------------------------------------------


def _sine_near(x):
    """Si(x) and the entire part of Ci(x) by their series."""

    def sine(carry, k):
        term, total = carry
        term = -term * x * x / ((2 * k) * (2 * k + 1))
        return (term, total + term / (2 * k + 1)), None

    def cosine(carry, k):
        term, total = carry
        term = -term * x * x / ((2 * k - 1) * (2 * k))
        return (term, total + term / (2 * k)), None

    numbers = fc.arange(1, 30).astype(x.dtype)
    si = fc.scan(sine, (x, x), numbers)[0][1]
    return si, fc.scan(cosine, (fc.ones_like(x), fc.zeros_like(x)), numbers)[0][1]


@with_derivative(lambda y, x: fc.sinc(x / math.pi))
def _si(x):
    return _sici(x)[0]


@with_derivative(lambda y, x: fc.cos(x) / x)
def _ci(x):
    return _sici(x)[1]


def _sici(x):
    size = fc.abs(x)
    small = size <= 4
    near = fc.where(small, size, fc.ones_like(size))
    far = fc.where(small | fc.isinf(size), fc.full_like(size, 5), size)
    si, ci = _sine_near(near)
    ci = EULER + fc.log(near) + ci
    e1 = fc.exp(-1j * far) * fraction(1j * far, 1)
    si = fc.where(small, si, math.pi / 2 + fc.imag(e1))
    ci = fc.where(small, ci, -fc.real(e1))
    si = fc.where(fc.isinf(size), fc.full_like(si, math.pi / 2), si)
    ci = fc.where(fc.isinf(size), fc.zeros_like(ci), ci)
    return fc.copysign(si, x), fc.where(x < 0, fc.full_like(ci, math.nan), ci)


@function("x")
def sici(x):
    """(Si, Ci): the integrals of sin(t) / t from 0 to x, and of cos(t) / t from infinity to x > 0.

    >>> from functorch_core.scipy import special
    >>> special.sici(1.)
    (Array(0.946083, dtype=float32), Array(0.33740395, dtype=float32))
    """
    return _si(x), _ci(x)


# ---- the Faddeeva function -----------------------------------------------------------------------
# J. A. C. Weideman, Computation of the complex error function, 1994: a polynomial in
# (L + iz) / (L - iz), whose coefficients are a Fourier transform.

TERMS = 64


@functools.cache
def _weideman(n: int = TERMS) -> tuple[float, np.ndarray]:
    """(L, the coefficients, the highest power first)."""
    m = 2 * n
    length = math.sqrt(n / math.sqrt(2))
    theta = np.arange(-m + 1, m) * math.pi / m
    t = length * np.tan(theta / 2)
    f = np.concatenate([[0], np.exp(-(t**2)) * (length**2 + t**2)])
    a = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return length, a[1 : n + 1][::-1].copy()


def _upper(z):
    """w(z) for Im z >= 0."""
    length, coefficients = _weideman()
    below = length - 1j * z
    ratio = (length + 1j * z) / below
    total = horner(ratio, [float(c) for c in coefficients[::-1]])
    return 2 * total / (below * below) + (1 / math.sqrt(math.pi)) / below


@with_derivative(lambda y, z: -2 * z * y + 2j / math.sqrt(math.pi))
def _wofz(z):
    low = fc.imag(z) < 0
    upper = _upper(fc.where(low, -z, z))
    square = fc.where(low, z * z, fc.zeros_like(z))
    return fc.where(low, 2 * fc.exp(-square) - upper, upper)


@function("z")
def wofz(z):
    """The Faddeeva function exp(-z**2) * erfc(-1j * z), elementwise, complex.

    >>> from functorch_core.scipy import special
    >>> special.wofz(1j)
    Array(0.42758352+0.j, dtype=complex64)
    """
    return _wofz(z if z.dtype in dt.COMPLEX else z.astype(dt.complex_of(z.dtype)))


@with_derivative(lambda y, x: 1 - 2 * x * y)
def _dawsn(x):
    small = fc.abs(x) < 1
    near = fc.where(small, x, fc.zeros_like(x))
    far = fc.where(small, fc.full_like(x, 2), x)
    below = near * series(near, lambda x, k: -2 * x * x / (2 * k + 1), 30)
    wide = dt.complex_of(x.dtype)
    return fc.where(small, below, math.sqrt(math.pi) / 2 * fc.imag(_upper(far.astype(wide))))


@function("x")
def dawsn(x):
    """Dawson's integral exp(-x**2) times that of exp(t**2) from 0 to x, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.dawsn(1.)
    Array(0.5380795, dtype=float32)
    """
    return _dawsn(x)


def _fresnel(x):
    size = fc.abs(x)
    small = size < 1.5
    near, far = fc.where(small, size, fc.ones_like(size)), fc.where(small | fc.isinf(size), fc.full_like(size, 2), size)
    c, s = _fresnel_near(near)
    turn = fc.remainder(far * far / 2, 2) * math.pi  # exp(i pi x**2 / 2), its angle reduced
    wave = fc.cos(turn) + 1j * fc.sin(turn)
    out = (0.5 + 0.5j) * (1 - wave * _upper((math.sqrt(math.pi) / 2) * (1 + 1j) * far))
    half = fc.full_like(size, 0.5)
    s = fc.where(fc.isinf(size), half, fc.where(small, s, fc.imag(out)))
    c = fc.where(fc.isinf(size), half, fc.where(small, c, fc.real(out)))
    return fc.copysign(s, x), fc.copysign(c, x)


def _fresnel_near(x):
    """(C, S) by their series in q = (pi x**2 / 2)**2."""
    q = (math.pi / 2) ** 2 * x**4

    def step(carry, k):
        term_c, term_s, c, s = carry
        term_c = -term_c * q / ((2 * k) * (2 * k - 1))
        term_s = -term_s * q / ((2 * k) * (2 * k + 1))
        return (term_c, term_s, c + term_c / (4 * k + 1), s + term_s / (4 * k + 3)), None

    one = fc.ones_like(x)
    numbers = fc.arange(1, 25).astype(x.dtype)
    _, _, c, s = fc.scan(step, (one, one, one, one / 3), numbers)[0]
    return x * c, (math.pi / 2) * x**3 * s


@with_derivative(lambda y, x: fc.sin(math.pi / 2 * x * x))
def _fresnel_sine(x):
    return _fresnel(x)[0]


@with_derivative(lambda y, x: fc.cos(math.pi / 2 * x * x))
def _fresnel_cosine(x):
    return _fresnel(x)[1]


@function("x")
def fresnel(x):
    """(S, C): the integrals of sin(pi t**2 / 2) and cos(pi t**2 / 2) from 0 to x, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.fresnel(1.)
    (Array(0.43825918, dtype=float32), Array(0.7798934, dtype=float32))
    """
    return _fresnel_sine(x), _fresnel_cosine(x)


# ---- the dilogarithm -----------------------------------------------------------------------------


def bernoulli_numbers(n: int) -> np.ndarray:
    """B0, ..., Bn, exactly computed."""
    found = [Fraction(1)]
    for m in range(1, n + 1):
        found.append(-sum(math.comb(m + 1, k) * found[k] for k in range(m)) / Fraction(m + 1))
    return np.array([float(b) for b in found])


@functools.cache
def _dilogarithm_coefficients() -> list[float]:
    """B_2k / (2k + 1)! for k = 1, 2, ..., the even part of the series in -log(1 - z)."""
    numbers = bernoulli_numbers(40)
    return [float(numbers[2 * k]) / math.factorial(2 * k + 1) for k in range(1, 21)]


def _spence_slope(y, x):
    near = fc.abs(x - 1) < 1e-4
    off = fc.where(near, x - 1, fc.zeros_like(x))
    safe = fc.where(near, fc.full_like(x, 2), x)
    return fc.where(near, -1 + off / 2 - off * off / 3, fc.log(safe) / (1 - safe))


@with_derivative(_spence_slope)
def _spence(x):
    """By the series in -log around 1, which 1 / x takes from above 2, and 1 - x from below 1 / 2."""
    large = x > 2
    low = fc.where(large, 1 / fc.where(large, x, fc.ones_like(x)), x)
    small = low < 0.5
    log = fc.log(fc.where(low > 0, low, fc.ones_like(low)))
    rest = fc.log1p(-fc.where(small, low, fc.zeros_like(low)))
    u = -fc.where(small, rest, log)
    out = u - u * u / 4 + u**3 * horner(u * u, _dilogarithm_coefficients())
    out = fc.where(small, math.pi**2 / 6 - log * rest - out, out)
    far = fc.log(fc.where(large, x, fc.ones_like(x)))
    out = fc.where(large, -far * far / 2 - out, out)
    return fc.where(x < 0, fc.full_like(x, math.nan), out)


@function("x")
def spence(x):
    """The dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x >= 0, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.spence(0.5)
    Array(0.5822405, dtype=float32)
    """
    return _spence(x)


# ---- Owen's T ------------------------------------------------------------------------------------


@functools.cache
def _gauss(n: int = 40):
    return np.polynomial.legendre.leggauss(n)


def _owens_integral(h, a):
    """T(h, a) for 0 <= a <= 1 by Gauss's rule, over where the integrand is not nothing."""
    end = fc.minimum(a, 9 / fc.maximum(h, 1e-3))
    nodes, weights = (fc.asarray(v).astype(h.dtype) for v in _gauss())
    x = end[..., None] * (nodes + 1) / 2
    inside = fc.exp(-0.5 * (h * h)[..., None] * x * x) / (1 + x * x)
    return fc.exp(-0.5 * h * h) * end / (4 * math.pi) * fc.sum(inside * weights, axis=-1)


def _normal(x):
    return 0.5 * fc.erfc(-x * math.sqrt(0.5))


@with_derivative(
    lambda y, h, a: -fc.exp(-0.5 * h * h) / math.sqrt(2 * math.pi) * fc.erf(a * h * math.sqrt(0.5)) / 2,
    lambda y, h, a: fc.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)
def _owens_t(h, a):
    h, size = fc.abs(h), fc.abs(a)
    large = size > 1
    ratio = fc.where(large, 1 / fc.where(large, size, fc.ones_like(size)), size)
    far = fc.where(large, h * size, h)
    out = _owens_integral(far, ratio)
    p, q = _normal(-h), _normal(-far)  # upper tails, which lose no digits
    out = fc.where(large, 0.5 * (p + q) - p * q - out, out)
    return fc.copysign(out, a)


@function("h a")
def owens_t(h, a):
    """Owen's T: the probability of x > h and 0 < y < a x for independent normal x and y, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.owens_t(1., 0.5)
    Array(0.04306469, dtype=float32)
    """
    return _owens_t(*fc.broadcast_arrays(h, a))
