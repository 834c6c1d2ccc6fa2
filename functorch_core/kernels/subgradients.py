"""Functions whose derivatives at kinks, poles, infinities and NaN are those PyTorch has defined.

Each is a primitive (or a few) with PyTorch's formula for the tangent; further derivatives are those
of the formula, as PyTorch's are. A tangent is multiplied with a slope in which 0 / 0 is replaced
(not replaced itself: transposed, that would be 0 / 0 again); the slope's own derivative there is
NaN, as PyTorch's.
"""

from __future__ import annotations

import functools
import math

import ml_dtypes
import numpy as np

from ..transforms.linear_map import linear_map
from . import elementwise as ew
from . import on_host
from .values import Derived, aval_of, derived, dt, full_like, p, spread, stop_gradient, tied, total, where

# ---- products ------------------------------------------------------------------------------------


def _product(t, slope):
    nothing = p.and_(p.eq(t, 0), p.eq(slope, slope))
    return p.select(nothing, p.zeros(t.aval), p.mul(t, slope))


def scaled(t, slope):
    """t * slope, linear in t, where 0 times an infinity is 0."""
    return linear_map(_product, lambda ct, slope: [_product(ct, slope)], [t], [slope], both=True)


# ---- signs and sizes -----------------------------------------------------------------------------


def real_sign(x):
    """-1, 0 or 1 of real x, a constant for derivatives; 0 of NaN."""
    return stop_gradient(p.select(p.ne(x, x), full_like(x, 0), p.sign(x)))


@derived(lambda t, x, out: p.mul(t, real_sign(x)))
def _real_magnitude(x):
    return p.abs(x)


def magnitude(x):
    """|x|; the derivative at 0 and NaN is 0."""
    return _real_magnitude(x) if aval_of(x).dtype in dt.FLOATING else p.abs(x)


def parts_product(x, y):
    """The products of real and imaginary parts, added: x y of real numbers."""
    if aval_of(x).dtype in dt.COMPLEX:
        return p.add(p.mul(p.real(x), p.real(y)), p.mul(p.imag(x), p.imag(y)))
    return p.mul(x, y)


def _reciprocal(x):
    """1 / x, 0 of 0."""
    return where(p.eq(x, 0), 0, p.div(1, x))


def _but_where(mask, t):
    """The tangent t, 0 under the mask: so is, transposed, what the slope makes of a NaN."""
    return p.select(mask, p.zeros(aval_of(t)), t)


def _turned(t, z, out):
    """The part of t across z, over |z|; 0 at 0."""
    scale = p.convert(_reciprocal(p.abs(z)), dtype=aval_of(z).dtype)
    along_ = p.convert(parts_product(t, out), dtype=aval_of(z).dtype)
    return p.mul(p.sub(t, p.mul(along_, out)), scale)


@derived(_turned)
def complex_sign(z):
    """z / |z|, 0 at 0."""
    return p.sign(z)


@derived(
    lambda t, z, out: p.mul(
        p.sub(p.mul(p.real(z), p.imag(t)), p.mul(p.imag(z), p.real(t))), _reciprocal(parts_product(z, z))
    )
)
def complex_angle(z):
    """The angle of complex z; the derivative at 0 is 0."""
    return p.atan2(p.imag(z), p.real(z))


def _ratio(t, x, y, out):
    return p.mul(t, where(p.eq(x, 0), 0, p.div(out, x)))


@derived(_ratio, lambda t, x, y, out: p.zeros(aval_of(t)))
def copied_sign(x, y):
    """|x| with y's sign; by x the derivative is the ratio of the two, at 0 0."""
    unit = p.select(ew.signbit(y), full_like(x, -1), full_like(x, 1))
    return p.mul(p.abs(x), unit)


@derived(lambda t, x, y, out: p.mul(t, p.div(x, out)), lambda t, x, y, out: p.mul(t, p.div(y, out)))
def length(x, y):
    """The square root of x ** 2 + y ** 2; NaN at the origin is its derivative."""
    return ew.hypot(x, y)


def _inverse_square(y, x):
    return _reciprocal(p.add(p.mul(x, x), p.mul(y, y)))


@derived(
    lambda t, y, x, out: p.mul(p.mul(t, x), _inverse_square(y, x)),
    lambda t, y, x, out: p.neg(p.mul(p.mul(t, y), _inverse_square(y, x))),
)
def angle_of(y, x):
    """atan2; the derivatives at the origin are 0."""
    return p.atan2(y, x)


@derived(lambda t, x, out: p.mul(_but_where(p.eq(out, 0), t), _reciprocal(p.mul(out, 2))))
def root(x):
    """The square root of x, with derivative 0 at 0: of variances."""
    return p.sqrt(x)


# ---- trigonometry, special functions -------------------------------------------------------------


def _one_less_square(x):
    return p.sub(1, p.mul(x, x))


@derived(lambda t, x, out: p.mul(t, p.rsqrt(_one_less_square(x))))
def asin(x):
    """The inverse sine."""
    return p.asin(x)


@derived(lambda t, x, out: p.mul(t, p.neg(p.rsqrt(_one_less_square(x)))))
def acos(x):
    """The inverse cosine."""
    return p.acos(x)


@derived(lambda t, x, out: p.mul(t, p.rsqrt(p.sub(p.mul(x, x), 1))))
def _real_acosh(x):
    return p.acosh(x)


def acosh(x):
    """The inverse hyperbolic cosine, whose real derivative goes on below its domain."""
    return _real_acosh(x) if aval_of(x).dtype in dt.FLOATING else p.acosh(x)


@derived(lambda t, x, out: p.div(t, _one_less_square(x)))
def atanh(x):
    """The inverse hyperbolic tangent."""
    return p.atanh(x)


def _sinc_tangent(t, x, out):
    angle, square = p.mul(x, math.pi), p.mul(p.mul(x, x), math.pi)
    slope = p.sub(p.mul(angle, p.cos(angle)), p.sin(angle))
    return p.mul(t, where(p.eq(square, 0), 0, p.div(slope, square)))


@derived(_sinc_tangent)
def sinc(x):
    """sin(pi x) / (pi x), 1 at 0."""
    zero = p.eq(x, 0)
    angle = p.mul(where(zero, 1, x), math.pi)
    return where(zero, 1, p.div(p.sin(angle), angle))


def _bessel_tangent(t, x, slope):
    small = p.not_(p.gt(p.abs(x), float(_epsilon(x))))
    return p.mul(t, where(small, 0.5, slope(where(small, 1, x))))


def _epsilon(x):
    return ml_dtypes.finfo(aval_of(x).dtype).eps


@derived(lambda t, x, out: _bessel_tangent(t, x, lambda x: p.sub(p.bessel_i0(x), p.div(i1(x), x))))
def i1(x):
    """The modified Bessel function I1; the derivative at NaN is that at 0."""
    return p.bessel_i1(x)


@derived(
    lambda t, x, out: _bessel_tangent(
        t, x, lambda x: p.sub(p.bessel_i0e(x), p.mul(i1e(x), p.add(real_sign(x), p.div(1, x))))
    )
)
def i1e(x):
    """exp(-|x|) times I1."""
    return p.bessel_i1e(x)


@derived(lambda t, x, out: p.mul(t, i1(x)))
def i0(x):
    """The modified Bessel function I0."""
    return p.bessel_i0(x)


@derived(lambda t, x, out: p.mul(p.div(t, math.sqrt(2 * math.pi)), p.exp(p.neg(p.add(out, p.div(p.mul(x, x), 2.0))))))
def log_ndtr(x):
    """The logarithm of the normal distribution's function."""
    return p.log_ndtr(x)


# ---- logarithms, exponentials --------------------------------------------------------------------


def times_log(log, shifted, domain: float):
    """x log(y), where 0 log(y) is 0 unless y is NaN; log's derivative is 1 / shifted(y), and it is
    finite above `domain`: below, the derivative by x = 0 is 0, and 0 times any, as where a mask leaves it out."""

    def product(t, y):
        return p.select(p.and_(p.eq(t, 0), p.eq(y, y)), p.zeros(t.aval), p.mul(t, log(y)))

    def by_x(t, x, y, out):
        outside = p.and_(p.eq(x, 0), p.le(y, domain))
        slope = linear_map(product, lambda ct, y: [product(ct, y)], [t], [y], both=True)
        return where(outside, 0, slope)

    @derived(by_x, lambda t, x, y, out: p.div(p.mul(t, x), shifted(y)))
    def apply(x, y):
        nothing = p.and_(p.eq(x, 0), p.eq(y, y))
        return where(nothing, 0, p.mul(x, log(y)))

    return apply


xlogy = times_log(p.log, lambda y: y, 0)
xlog1py = times_log(p.log1p, lambda y: p.add(y, 1), -1)


@derived(lambda t, x, out: p.mul(t, p.convert(p.eq(x, x), dtype=aval_of(t).dtype)))
def nan_as_zero(x):
    """x, 0 for NaN; the derivative there is a factor 0."""
    return where(p.ne(x, x), 0, x)


@derived(lambda t, x, y, out: p.select(p.ne(x, y), t, p.zeros(aval_of(t))), lambda t, x, y, out: p.zeros(aval_of(t)))
def next_after(x, y):
    """The next number after x towards y; the derivative by x is 1 where there is a step to take."""
    return p.nextafter(x, y)


# ---- powers --------------------------------------------------------------------------------------


def _by_base(t, x, y, out):
    slope = where(p.eq(y, 0), 0, p.mul(y, power(x, p.sub(y, 1))))
    return p.mul(t, slope)


def _by_exponent(t, x, y, out):
    if aval_of(y).dtype in dt.COMPLEX:
        real = p.and_(p.eq(p.imag(y), 0), p.ge(p.real(y), 0))
    else:
        real = p.ge(y, 0)
    slope = where(p.and_(p.eq(x, 0), real), 0, p.mul(out, p.log(x)))
    return p.mul(t, slope)


@derived(_by_base, _by_exponent)
def power(x, y):
    """x ** y; the derivative by x is 0 where y is, by y 0 where x is and y not below."""
    return p.pow(x, y)


@functools.cache
def fixed_power(exponent: float) -> Derived:
    """x to a fixed power, as PyTorch has it: roots where it can."""

    def value(x):
        return p.sqrt(x) if exponent == 0.5 else p.rsqrt(x) if exponent == -0.5 else p.pow(x, full_like(x, exponent))

    def tangent(t, x, out):
        return p.mul(t, p.mul(full_like(x, exponent), fixed_power(exponent - 1)(x)))

    return Derived(value, tangent)


# ---- remainders ----------------------------------------------------------------------------------


@derived(lambda t, x, y, out: t, lambda t, x, y, out: p.neg(p.mul(t, stop_gradient(p.trunc(p.div(x, y))))))
def fmod(x, y):
    """The remainder of x / y with x's sign."""
    return p.rem(x, y)


BY_EACH = (lambda t, x, y, out: t, lambda t, x, y, out: p.neg(p.mul(t, stop_gradient(ew.floor_divide(x, y)))))


@derived(*BY_EACH)
def remainder(x, y):
    """The remainder of x / y with y's sign, a zero with that of x."""
    return ew.modulo(x, y)


@derived(*BY_EACH)
def signed_remainder(x, y):
    """The remainder of x / y with y's sign, a zero, too."""
    return ew.signed_modulo(x, y)


def log_sum(exp, log1p, scale: float):
    """log(exp(x) + exp(y)) to some base; equal infinities, of which it is one, have slope NaN."""

    def share(t, x, y):
        return p.mul(t, p.logistic(p.mul(p.sub(x, y), scale)))

    @derived(lambda t, x, y, out: share(t, x, y), lambda t, x, y, out: share(t, y, x))
    def apply(x, y):
        apart = p.sub(x, y)
        out = p.add(p.max(x, y), log1p(exp(p.neg(p.abs(apart)))))
        return p.select(p.ne(apart, apart), p.add(x, y), out)  # equal infinities, NaN

    return apply


# ---- extremes ------------------------------------------------------------------------------------


def _masked_mean(t, mask, axes):
    """The mean of t where the mask holds."""
    mask = p.convert(mask, dtype=aval_of(t).dtype)
    return p.div(total(p.mul(t, mask), axes), total(mask, axes))


@functools.cache
def extreme(axes: tuple[int, ...], largest: bool, nan_shares: bool) -> Derived:
    """The greatest or least over axes; equal ones share the derivative, and so do NaNs if
    `nan_shares` (else it is NaN)."""

    def tangent(t, x, out):
        shape = aval_of(x).shape
        there = spread(out, shape, axes)
        mask = p.eq(x, there)
        if nan_shares:
            mask = p.or_(mask, p.and_(p.ne(x, x), p.ne(there, there)))
            return _masked_mean(t, stop_gradient(mask), axes)
        # All of such a row share NaN. 0 elements of none would do, but XLA takes 0 * inf for 0 where the 0 is a mask's.
        mask = p.or_(mask, p.ne(there, there))
        factor = where(p.ne(out, out), math.nan, full_like(out, 1))
        return p.mul(_masked_mean(t, stop_gradient(mask), axes), stop_gradient(factor))

    def value(x):
        return (p.reduce_max if largest else p.reduce_min)(x, axes=axes)

    return Derived(value, tangent)


def extreme_of(x, axes, largest: bool, nan_shares: bool = True):
    """The greatest or least element of x over axes, of any ordered dtype."""
    if not axes:
        return x
    if aval_of(x).dtype not in dt.FLOATING:
        return (p.reduce_max if largest else p.reduce_min)(x, axes=tuple(axes))
    return extreme(tuple(axes), largest, nan_shares)(x)


# ---- norms ---------------------------------------------------------------------------------------


def _unit(x):
    """sgn(x), of complex x with its derivative."""
    return real_sign(x) if aval_of(x).dtype in dt.FLOATING else complex_sign(x)


def _power(x, exponent: float):
    return p.pow(x, full_like(x, exponent))


def _norm_slope(x, norm, order: float):
    """What the norm's derivative multiplies tangents with: PyTorch's formulas, by order."""
    size, at_zero = magnitude(x), p.eq(norm, 0)
    if order == 1:
        return _unit(x)
    if order == 2:
        return where(at_zero, 0, p.div(x, _as(x, norm)))
    if order < 1:
        power = where(p.eq(size, 0), 0, _power(size, order - 1))
        return p.mul(_unit(x), _as(x, p.mul(power, _power(norm, 1 - order))))
    scale = _reciprocal(_power(norm, order - 1))
    if order < 2:
        return p.mul(_unit(x), _as(x, p.mul(_power(size, order - 1), scale)))
    return p.mul(x, _as(x, p.mul(_power(size, order - 2), scale)))


def _as(x, real):
    """A real value in the dtype of x."""
    return real if aval_of(real).dtype == aval_of(x).dtype else p.convert(real, dtype=aval_of(x).dtype)


def _norm_value(x, order: float, axes):
    if order == 2:
        return p.sqrt(total(parts_product(x, x), axes))
    return _power(total(_power(p.abs(x), order), axes), 1 / order)


@functools.cache
def _norm(order: float, axes: tuple[int, ...]) -> Derived:
    def value(x):
        return _norm_value(x, order, axes)

    def tangent(t, x, out):
        there = spread(out, aval_of(x).shape, axes)
        slope = _norm_slope(x, there, order)
        if order > 1 and order != 2:
            t = _but_where(p.eq(there, 0), t)
        return total(parts_product(slope, t), axes)

    return Derived(value, tangent, on_host=on_host.lengths(axes) if order == 2 else None)


def vector_norm(x, order: float, axes):
    """The p-norm of floating or complex x over axes, with PyTorch's derivatives at 0."""
    axes, a = tuple(axes), aval_of(x)
    if order == 0:
        ones = p.convert(p.ne(x, full_like(x, 0)), dtype=dt.real_of(a.dtype))
        return tied(total(ones, axes), x)
    if order == 1 or not axes:
        return total(magnitude(x), axes)
    if order in (math.inf, -math.inf):
        empty = not math.prod(a.shape[i] for i in axes)
        return total(p.abs(x), axes) if empty and order > 0 else extreme_of(magnitude(x), axes, order > 0)
    return _norm(order, axes)(x)


def _of_pairs(x):
    """The differences of all pairs of rows."""
    indices = np.triu_indices(aval_of(x).shape[0], 1)
    return p.sub(*[p.take(x, p.constant(i.astype(np.int64)), axis=0, mode="promise_in_bounds") for i in indices])


def _pair_tangent(t, x, out):
    """<x_i - x_j, t_i - t_j> / distance. In float64, which bears it, by products: with gradients 200 x 64 0.5 ms for
    1.8 of XLA's by the differences, whose transpose adds up 40,000 rows."""
    a = aval_of(x)
    if a.dtype != dt.float32:
        apart = _of_pairs(x)
        slope = _norm_slope(apart, spread(out, aval_of(apart).shape, (1,)), 2)
        return total(p.mul(slope, _of_pairs(t)), (1,))
    n, (x, t, out) = a.shape[0], [p.convert(v, dtype=dt.float64) for v in (x, t, out)]
    x = p.sub(x, p.broadcast_in_dim(p.slice_in_dim(x, start=0, limit=1, dimension=0), shape=a.shape, dims=(0, 1)))
    own = spread(total(p.mul(x, t), (1,)), (n, n), (1,))
    both = p.sub(own, p.dot_general(x, t, contract=((1,), (1,)), batch=((), ())))
    first, second = np.triu_indices(n, 1)
    places = p.constant((first * n + second).astype(np.int64))
    both = p.reshape(p.add(both, p.transpose(both, permutation=(1, 0))), shape=(n * n,))
    slope = where(p.eq(out, 0), 0, p.div(full_like(out, 1), out))
    return p.convert(p.mul(p.take(both, places, axis=0, mode="promise_in_bounds"), slope), dtype=dt.float32)


@derived(_pair_tangent, on_host=on_host.pair_distances)
def _euclidean_pairs(x):
    return _norm_value(_of_pairs(x), 2, (1,))


def pair_distances(x, order: float):
    """The p-norms of the differences of all pairs of rows."""
    return _euclidean_pairs(x) if order == 2 else vector_norm(_of_pairs(x), order, (1,))
