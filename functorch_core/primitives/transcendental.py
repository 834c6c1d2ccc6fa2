"""Exponentials, logarithms, trigonometric and hyperbolic functions, real and complex.

Where XLA's own expansion is inaccurate, a form written with primitives is lowered instead; the
comment beside it says how inaccurate, in units in the last place (ulps).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Estimate
from ..core.reference import specialised
from ..core.types import Function, Value
from ..xla.processor import has_wide_vectors
from . import trigonometry
from .arithmetic import abs, add, div, max, min, mul, neg, round, rsqrt, sign, sqrt, sub
from .bitwise import and_, shift_left, shift_right_arithmetic
from .comparison import clamp, eq, gt, is_finite, lt, select
from .convert import bitcast, by_float32, complex, convert, imag, real, with_sign_of
from .declare import ELEMENTWISE, Wrapper, binary, elementwise_lower, quick_lower, same_dtype, unary
from .structure import full

TRANSCENDENTAL = ELEMENTWISE.but(family="transcendental", numpy=0.4, of_complex=60)
# The part of NumPy's time that a program takes; where it takes more steps (262,144 numbers 26 us, and 70 to 140).
USUAL, LONG = 0.2, 0.9
# Nanoseconds a number where NumPy has C's functions, and 512-bit vectors if the processor has.
SCALAR = 0.3 if has_wide_vectors() else 3.0
LN2, LN10 = math.log(2), math.log(10)


def _transcendental(
    name: str,
    hlo: str,
    reference: Function,
    derivative: Function,
    forms: Mapping[np.dtype, Function] = MappingProxyType({}),
    signs: Function | None = None,
    numpy: float = TRANSCENDENTAL.numpy,
    compiled: float = USUAL,
    many: Function | None = None,
) -> Wrapper:
    """Declare a transcendental function: one HLO operation, but by `forms` in those dtypes.

    `signs(x, out)` mends the signs of complex results, which XLA gets wrong where x has a part -0:
    there it takes the wrong side of the branch cuts. `many` is a form for float32 numbers on CPUs.
    """
    plain = elementwise_lower(hlo, same_dtype)

    def lower(ctx: LowerContext, x: Operand) -> Operand:
        form = forms.get(x.aval.dtype)
        if form is not None:
            return ctx.call(form, x)[0]
        if x.aval.dtype.itemsize <= 2:  # rounded once; XLA rounds to float16 at every step
            return ctx.call(by_float32, x, of=apply)[0]
        if many is not None and ctx.platform == "cpu" and x.aval.dtype == dt.float32:
            return many(ctx, x, plain)
        out = plain(ctx, x)
        return ctx.call(signs, x, out)[0] if signs and x.aval.dtype in dt.COMPLEX else out

    apply = unary(
        name,
        lower,
        reference,
        dtypes=dt.INEXACT,
        derivative=derivative,
        what="floating or complex",
        traits=TRANSCENDENTAL.but(numpy=numpy, compiled=_of_real_numbers(compiled)),
    )
    return apply


def _of_real_numbers(compiled: float) -> float | Estimate:
    """The part of NumPy's time that a program takes, where it is another for complex numbers."""
    if compiled == USUAL:
        return compiled
    return lambda of, *_: USUAL if of[0].dtype in dt.COMPLEX else compiled


def _at_any_angle(form: Function) -> Function:
    """The form, and XLA's own where there are angles for which it is not exact."""
    return lambda ctx, x, plain: quick_lower(plain, form, trigonometry.has_large_angles)(ctx, x)


def _always(form: Function) -> Function:
    return lambda ctx, x, plain: ctx.call(form, x)[0]


def _reals(form: Function) -> dict[np.dtype, Function]:
    return {dt.float32: form, dt.float64: form}


def _complexes(form: Function) -> dict[np.dtype, Function]:
    return {dt.complex64: form, dt.complex128: form}


def _like(x: Value, value: float) -> Value:
    return full(x.shape, value, x.dtype)


def _times(size: Value, factor: Value) -> Value:
    """size * factor, but 0 where the factor is 0 (and size may be inf)."""
    return mul(select(eq(factor, 0), sign(size), size), factor)


def _scaled(z: Value, factor: float) -> Value:
    """A complex array by a real number: the complex product would make NaN of inf * 0."""
    return complex(mul(real(z), factor), mul(imag(z), factor))


# ---- exponentials --------------------------------------------------------------------------------


def _expm1_complex(z: Value) -> Value:
    """XLA's imaginary part is wrong in all digits for real parts below -16 (complex64)."""
    a, b = real(z), imag(z)
    half = sin(mul(b, 0.5))
    re = sub(mul(expm1(a), cos(b)), mul(mul(half, half), 2))
    return complex(re, _times(exp(a), sin(b)))


def _exp2_real(x: Value) -> Value:
    """2**n exp(r ln 2) with x = n + r: exp(x ln 2) would lose |x| ulps."""
    n = clamp(_like(x, -2200), round(x), _like(x, 2200))
    near = select(is_finite(x), sub(x, n), x)
    half = round(mul(n, 0.5))
    return mul(mul(exp(mul(near, LN2)), _power_of_two(half)), _power_of_two(sub(n, half)))


def _power_of_two(n: Value) -> Value:
    """2**n of an integral float, through the exponent's bits; 0 and inf outside of the range."""
    info = dt.finfo(n.dtype)
    bias, ints = 2 ** (info.nexp - 1) - 1, np.dtype(f"int{info.bits}")
    biased = clamp(_like(n, 0), add(n, bias), _like(n, 2 * bias + 1))
    bits = convert(biased, dtype=ints)
    return bitcast(shift_left(bits, info.nmant), dtype=n.dtype)


def _exp2_complex(z: Value) -> Value:
    size, angle = exp2(real(z)), mul(imag(z), LN2)
    return complex(_times(size, cos(angle)), _times(size, sin(angle)))


exp = _transcendental("exp", "stablehlo.exponential", np.exp, lambda t, out, x: mul(t, out))
exp2 = _transcendental(
    "exp2",
    "",
    np.exp2,
    lambda t, out, x: mul(t, mul(out, LN2)),
    _reals(_exp2_real) | _complexes(_exp2_complex),
    compiled=LONG,
)
# Not out + 1, which cancels: 64 ulp at -5, and the gradient of ELU with it.
expm1 = _transcendental(
    "expm1",
    "stablehlo.exponential_minus_one",
    np.expm1,
    lambda t, out, x: mul(t, exp(x)),
    _complexes(_expm1_complex),
    compiled=LONG,
)


def _logistic_at(x: Aval) -> Function | None:
    # exp may be infinite: what is 0 then would be subnormal.
    return _simple_logistic if x.dtype in (dt.float32, dt.float64) else None


def _simple_logistic(x: np.ndarray) -> np.ndarray:
    if not x.ndim:
        return 1 / (1 + np.exp(-x))
    out = np.negative(x)
    np.exp(out, out)
    out += 1
    return np.divide(1, out, out)


@specialised(_logistic_at)
def _logistic_reference(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


logistic = _transcendental(
    "logistic", "stablehlo.logistic", _logistic_reference, lambda t, out, x: mul(t, mul(out, sub(1, out))), numpy=0.5
)

# ---- logarithms ----------------------------------------------------------------------------------


def _log1p_real(x: Value) -> Value:
    """Kahan's: log(u) x / (u - 1) with u = fl(1 + x). XLA's float64 is off by 94 ulps at -0.41, and its float32 takes a
    million numbers 0.68 ms for 0.44 and gives 0 for subnormal ones.

    One choice of a result, for subnormal x, which arithmetic takes for 0: two such choices XLA without emitters makes
    branches of, and a loop of numbers one by one (log1p(2**x) of 262,144 2.0 ms for 0.3).
    """
    one = select(is_finite(x), _like(x, 1), x)  # XLA would simplify (x + 1) - 1 to x
    u = add(x, one)
    less = sub(u, one)  # NaN of infinities
    ratio = div(x, select(gt(abs(less), 0), less, _like(x, 1)))
    return select(eq(less, 0), x, mul(log(u), ratio))


def _log_of_size(a: Value, b: Value) -> Value:
    """log |a + ib|, without overflow and accurate where |a + ib| is near 1."""
    large, small = max(abs(a), abs(b)), min(abs(a), abs(b))
    ratio = select(eq(small, large), _like(a, 1), div(small, large))
    far = add(log(large), mul(log1p(mul(ratio, ratio)), 0.5))
    near = mul(log1p(add(mul(sub(large, 1), add(large, 1)), mul(small, small))), 0.5)
    return select(and_(gt(large, 0.5), lt(large, 1.5)), near, far)


def _log_complex(z: Value) -> Value:
    """XLA's, with the log1p above (its own: 120 ulps in complex128)."""
    a, b = real(z), imag(z)
    return complex(_log_of_size(a, b), atan2(b, a))


def _log1p_complex(z: Value) -> Value:
    a, b = real(z), imag(z)
    u = add(a, 1)
    near = mul(log1p(add(mul(a, add(a, 2)), mul(b, b))), 0.5)
    size = select(lt(max(abs(a), abs(b)), 0.5), near, _log_of_size(u, b))
    return complex(size, atan2(b, u))


def _log1p_reference(x: np.ndarray) -> np.ndarray:
    """NumPy's for complex numbers is log(1 + x), without any digits near 0."""
    if x.dtype.kind != "c":
        return np.log1p(x)
    near = np.log1p(x.real * (2 + x.real) + x.imag * x.imag) / 2
    far = np.log(np.hypot(x.real + 1, x.imag))
    small = np.maximum(np.abs(x.real), np.abs(x.imag)) < 0.5
    out = np.empty_like(x)
    out.real, out.imag = np.where(small, near, far), np.arctan2(x.imag, x.real + 1)
    return out


def _exponent_and_log(x: Value) -> tuple[Value, ...]:
    """(n, log m) with x = 2**n m and m in [sqrt(1/2), sqrt(2)), for positive finite x."""
    info = dt.finfo(x.dtype)
    ints = np.dtype(f"int{info.bits}")
    start = int(np.sqrt(np.asarray(0.5, x.dtype)).view(ints))
    bits = bitcast(x, dtype=ints)
    n = shift_right_arithmetic(sub(bits, start), info.nmant)
    m = bitcast(sub(bits, shift_left(n, info.nmant)), dtype=x.dtype)
    return convert(n, dtype=x.dtype), log(m)


def _log2_real(x: Value) -> Value:
    """Exact at powers of two, which log(x) / ln 2 is not."""
    n, rest = _exponent_and_log(x)
    return select(and_(gt(x, 0), is_finite(x)), add(n, mul(rest, 1 / LN2)), log(x))


def _log10_real(x: Value) -> Value:
    n, rest = _exponent_and_log(x)
    high = 77 / 256  # few bits of log10(2), so that n * high is exact
    low = math.log10(2) - high
    value = add(mul(n, high), add(mul(n, low), mul(rest, 1 / LN10)))
    return select(and_(gt(x, 0), is_finite(x)), value, log(x))


log = _transcendental(
    "log", "stablehlo.log", np.log, lambda t, out, x: div(t, x), {dt.complex128: _log_complex}, compiled=LONG
)
log1p = _transcendental(
    "log1p",
    "stablehlo.log_plus_one",
    _log1p_reference,
    lambda t, out, x: div(t, add(x, 1)),
    {dt.float32: _log1p_real, dt.float64: _log1p_real} | _complexes(_log1p_complex),
    numpy=SCALAR,
    compiled=0.4 / SCALAR,
)
log2 = _transcendental(
    "log2",
    "",
    np.log2,
    lambda t, out, x: div(t, mul(x, LN2)),
    _reals(_log2_real) | _complexes(lambda z: _scaled(log(z), 1 / LN2)),
    numpy=SCALAR,
    compiled=0.5 / SCALAR,
)
log10 = _transcendental(
    "log10",
    "",
    np.log10,
    lambda t, out, x: div(t, mul(x, LN10)),
    _reals(_log10_real) | _complexes(lambda z: _scaled(log(z), 1 / LN10)),
    numpy=SCALAR,
    compiled=0.5 / SCALAR,
)

# ---- trigonometric -------------------------------------------------------------------------------


def _sin_complex(z: Value) -> Value:
    """XLA's sinh of the small part is a difference of exponentials: no digits near 0."""
    a, b = real(z), imag(z)
    return complex(_times(cosh(b), sin(a)), mul(cos(a), sinh(b)))


def _cos_complex(z: Value) -> Value:
    a, b = real(z), imag(z)
    return complex(mul(cos(a), cosh(b)), neg(_times(sinh(b), sin(a))))


sin = _transcendental(
    "sin",
    "stablehlo.sine",
    np.sin,
    lambda t, out, x: mul(t, cos(x)),
    _complexes(_sin_complex),
    compiled=1.0,
    many=_at_any_angle(trigonometry.sin),
)
cos: Wrapper = _transcendental(
    "cos",
    "stablehlo.cosine",
    np.cos,
    lambda t, out, x: mul(t, neg(sin(x))),
    _complexes(_cos_complex),
    compiled=1.0,
    many=_at_any_angle(trigonometry.cos),
)


def _tan_complex(z: Value) -> Value:
    """-i tanh(iz)."""
    turned = tanh(complex(neg(imag(z)), real(z)))
    return complex(imag(turned), neg(real(turned)))


tan = _transcendental(
    "tan",
    "stablehlo.tan",
    np.tan,
    lambda t, out, x: mul(t, add(mul(out, out), 1)),
    _complexes(_tan_complex),
    compiled=1.0,
    many=_at_any_angle(trigonometry.tan),
)


def _both_signs(z: Value, out: Value) -> Value:
    """Odd functions: each part has the sign of the operand's."""
    return complex(with_sign_of(real(out), real(z)), with_sign_of(imag(out), imag(z)))


def _imaginary_sign(z: Value, out: Value) -> Value:
    """The imaginary part has the sign of the operand's."""
    return complex(real(out), with_sign_of(imag(out), imag(z)))


def _opposite_imaginary_sign(z: Value, out: Value) -> Value:
    return complex(real(out), with_sign_of(imag(out), neg(imag(z))))


asin = _transcendental(
    "asin",
    "chlo.asin",
    np.arcsin,
    lambda t, out, x: mul(t, rsqrt(mul(sub(1, x), add(x, 1)))),
    signs=_both_signs,
    numpy=SCALAR,
    compiled=0.5,
    many=_always(trigonometry.asin),
)
acos = _transcendental(
    "acos",
    "chlo.acos",
    np.arccos,
    lambda t, out, x: mul(t, neg(rsqrt(mul(sub(1, x), add(x, 1))))),
    signs=_opposite_imaginary_sign,
    numpy=SCALAR,
    compiled=0.5,
    many=_always(trigonometry.acos),
)


def _atan_lower(ctx: LowerContext, x: Operand) -> Operand:
    """By vectors of 512 bits XLA's `chlo.atan` gives wrong numbers, all of them, and so does its `atan2` of 1."""
    if x.aval.dtype.itemsize <= 2:
        return ctx.call(by_float32, x, of=atan)[0]
    if ctx.platform == "cpu" and x.aval.dtype in dt.FLOATING:
        return ctx.call(trigonometry.atan if x.aval.dtype == dt.float32 else trigonometry.atan_64, x)[0]
    out = elementwise_lower("chlo.atan", same_dtype)(ctx, x)
    return ctx.call(_both_signs, x, out)[0] if x.aval.dtype in dt.COMPLEX else out


atan = unary(
    "atan",
    _atan_lower,
    np.arctan,
    dtypes=dt.INEXACT,
    derivative=lambda t, out, x: div(t, add(mul(x, x), 1)),
    what="floating or complex",
    traits=TRANSCENDENTAL.but(compiled=0.6),
)


def _atan2_factor(numerator: Value, x: Value, y: Value) -> Value:
    return div(numerator, add(mul(x, x), mul(y, y)))


def _atan2_lower(ctx: LowerContext, y: Operand, x: Operand) -> Operand:
    if x.aval.dtype.itemsize <= 2:
        return ctx.call(by_float32, y, x, of=atan2)[0]
    if ctx.platform == "cpu":
        return ctx.call(trigonometry.atan2 if x.aval.dtype == dt.float32 else trigonometry.atan2_64, y, x)[0]
    return elementwise_lower("stablehlo.atan2", same_dtype)(ctx, y, x)


atan2 = binary(
    "atan2",
    _atan2_lower,
    np.arctan2,
    dtypes=dt.FLOATING,
    what="floating",
    derivatives=(
        lambda t, out, y, x: mul(t, _atan2_factor(x, x, y)),
        lambda t, out, y, x: mul(t, _atan2_factor(neg(y), x, y)),
    ),
    traits=TRANSCENDENTAL.but(compiled=0.8),
)

# ---- hyperbolic ----------------------------------------------------------------------------------


def _sinh_real(x: Value) -> Value:
    """XLA's exp(x + log 1/2) is off by 24 ulps at 43 (float32), 300 at 700 (float64)."""
    size = abs(x)
    lower = min(size, _like(x, 20))
    e = expm1(lower)
    value = mul(mul(add(e, div(e, add(e, 1))), 0.5), exp(sub(size, lower)))
    bits = np.dtype(f"int{x.dtype.itemsize * 8}")
    least = max(bitcast(value, dtype=bits), bitcast(size, dtype=bits))  # of subnormal x arithmetic makes 0
    return with_sign_of(bitcast(least, dtype=x.dtype), x)


def _cosh_real(x: Value) -> Value:
    half = exp(mul(abs(x), 0.5))
    return add(mul(mul(half, 0.5), half), div(div(_like(x, 0.5), half), half))


def _sinh_complex(z: Value) -> Value:
    a, b = real(z), imag(z)
    return complex(mul(sinh(a), cos(b)), _times(cosh(a), sin(b)))


def _cosh_complex(z: Value) -> Value:
    a, b = real(z), imag(z)
    return complex(mul(cosh(a), cos(b)), _times(sinh(a), sin(b)))


def _tanh_complex(z: Value) -> Value:
    """Kahan's, from tan and sinh; XLA's is off by 240 ulps near the poles (complex128)."""
    a, b = real(z), imag(z)
    tangent, s = tan(b), sinh(clamp(_like(a, -20), a, _like(a, 20)))
    beta, square = add(mul(tangent, tangent), 1), mul(s, s)
    below = add(mul(beta, square), 1)
    re = div(mul(mul(beta, sqrt(add(square, 1))), s), below)
    far_im = mul(mul(mul(sin(b), cos(b)), 4), exp(mul(abs(a), -2)))
    far = gt(abs(a), 20)
    return complex(select(far, sign(a), re), select(far, far_im, div(tangent, below)))


def _atanh_real(x: Value) -> Value:
    """From log1p; XLA's float64 is off by 118 ulps at 0.41."""
    size = abs(x)
    return mul(sign(x), mul(log1p(div(mul(size, 2), sub(1, size))), 0.5))


sinh = _transcendental(
    "sinh",
    "",
    np.sinh,
    lambda t, out, x: mul(t, cosh(x)),
    _reals(_sinh_real) | _complexes(_sinh_complex),
    compiled=LONG,
)
cosh: Wrapper = _transcendental(
    "cosh",
    "",
    np.cosh,
    lambda t, out, x: mul(t, sinh(x)),
    _reals(_cosh_real) | _complexes(_cosh_complex),
    compiled=LONG,
)
# (1 - tanh) (1 + tanh) is as exact as 1 - tanh^2, and quicker where a transposition follows, into
# whose loop XLA then takes it: fifty steps of sixteen networks 1.92 ms for 2.18.
tanh = _transcendental(
    "tanh",
    "stablehlo.tanh",
    np.tanh,
    lambda t, out, x: mul(t, mul(sub(1, out), add(out, 1))),
    _complexes(_tanh_complex),
)
asinh = _transcendental(
    "asinh",
    "chlo.asinh",
    np.arcsinh,
    lambda t, out, x: mul(t, rsqrt(add(mul(x, x), 1))),
    signs=_both_signs,
    compiled=4.0,
)
acosh = _transcendental(
    "acosh",
    "chlo.acosh",
    np.arccosh,
    lambda t, out, x: mul(t, mul(rsqrt(sub(x, 1)), rsqrt(add(x, 1)))),
    signs=_imaginary_sign,
    numpy=SCALAR,
    compiled=1.2 / SCALAR,
)
atanh = _transcendental(
    "atanh",
    "chlo.atanh",
    np.arctanh,
    lambda t, out, x: div(t, mul(sub(1, x), add(x, 1))),
    {dt.float64: _atanh_real},
    signs=_both_signs,
    numpy=SCALAR,
    compiled=1.2 / SCALAR,
)
