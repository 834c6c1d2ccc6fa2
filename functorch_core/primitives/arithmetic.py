"""Elementwise arithmetic: sums, products, powers, rounding, comparison of size."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.lowering import LowerContext, Operand
from ..core.reference import specialised
from ..core.trace import bind, constant_p
from ..core.types import Cotangents, Function, Jvp, Tangents, Value
from .bitwise import and_, or_, shift_right_logical
from .comparison import eq, ge, gt, is_finite, lt, ne, select
from .convert import bitcast, by_float32, complex, conj, imag, real, with_sign_of
from .declare import (
    ARITHMETIC,
    BROADCASTING,
    ELEMENTWISE,
    NOT_LINEAR,
    Linear,
    Primitive,
    Reason,
    Wrapper,
    binary,
    check_dtype,
    elementwise_batch,
    elementwise_lower,
    elementwise_shape,
    half_reference,
    multilinear,
    no_tangent,
    operand_like,
    same_dtype,
    unary,
)
from .host_few import has_any
from .structure import broadcast_in_dim_p, full, zeros

# ---- linear --------------------------------------------------------------------------------------


def _add_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
    out = add(*primals)
    present = [t for t in tangents if t is not None]
    return out, present[0] if len(present) == 1 else add(*present)


def _add_transpose(ct: Value, x: Value, y: Value) -> Cotangents:
    return ct if isinstance(x, Linear) else None, ct if isinstance(y, Linear) else None


add = binary(
    "add",
    "stablehlo.add",
    np.add,
    dtypes=dt.ALL,
    what="numeric or bool",
    traits=ARITHMETIC,
    jvp=_add_jvp,
    transpose=_add_transpose,
)


def _sub_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
    out, (tx, ty) = sub(*primals), tangents
    if tx is None:
        return out, neg(ty)
    return out, tx if ty is None else sub(tx, ty)


def _sub_transpose(ct: Value, x: Value, y: Value) -> Cotangents:
    return (ct if isinstance(x, Linear) else None, neg(ct) if isinstance(y, Linear) else None)


sub = binary(
    "sub",
    "stablehlo.subtract",
    np.subtract,
    dtypes=dt.NUMERIC,
    what="numeric",
    traits=ARITHMETIC,
    jvp=_sub_jvp,
    transpose=_sub_transpose,
)

neg = unary(
    "neg",
    "stablehlo.negate",
    np.negative,
    dtypes=dt.NUMERIC,
    what="numeric",
    linear=True,
    traits=ELEMENTWISE.but(conjugates=True),
)

# ---- bilinear ------------------------------------------------------------------------------------


def _mul_transpose(ct: Value, x: Value, y: Value) -> Cotangents:
    return (mul(ct, y) if isinstance(x, Linear) else None, mul(x, ct) if isinstance(y, Linear) else None)


mul: Wrapper = binary(
    "mul",
    "stablehlo.multiply",
    np.multiply,
    dtypes=dt.ALL,
    what="numeric or bool",
    traits=ARITHMETIC,
    jvp=multilinear(lambda x, y: mul(x, y)),
    transpose=_mul_transpose,
)

# ---- quotients -----------------------------------------------------------------------------------


def integer_division(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    """(quotient towards zero, remainder) as in XLA: x / 0 is -1 with remainder x; ends wrap.

    512 x 512 by one number, which NumPy multiplies by its reciprocal, 0.2 ms, by others 0.7; by fmod, too, 1.7.
    """
    is_one = bool(y.size) and not any(y.strides)  # of a number methods take 1 us, operators 0.1
    divisor = y[(0,) * y.ndim] if is_one else y
    by_zero = divisor == 0
    divided_by_zero = by_zero if is_one else has_any(by_zero)
    if divided_by_zero:
        divisor = np.where(by_zero, 1, divisor).astype(x.dtype)
    quotient = np.floor_divide(x, divisor)
    remainder = x - quotient * divisor
    if x.dtype.kind == "i" and x.size and (x.item(x.argmin()) < 0 or divisor.item(divisor.argmin()) < 0):
        below = (remainder != 0) & ((x < 0) != (divisor < 0))  # it was rounded down, not towards 0
        quotient, remainder = quotient + below, remainder - divisor * below
    if divided_by_zero:
        quotient = np.where(by_zero, np.invert(np.zeros((), x.dtype)), quotient)
        remainder = np.where(by_zero, x, remainder)
    return quotient, remainder


@specialised(lambda x, y: (lambda x, y: integer_division(x, y)[0]) if x.dtype.kind in "iu" else np.divide)
def _div_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return integer_division(x, y)[0] if x.dtype.kind in "iu" else np.divide(x, y)


def _div_transpose(ct: Value, x: Value, y: Value) -> Cotangents:
    return div(ct, y), None


# Divisors from which reciprocals are subnormal, or soon, which XLA's programs take for 0; and what brings them back.
_HUGE = {dt.float32: 2.0**100, dt.float64: 2.0**1000}
_SHRINK = 2.0**-50


def _factor(divisor: Value) -> Value:
    """What a divisor and what it divides are multiplied with."""
    shape, dtype = divisor.aval.shape, divisor.aval.dtype
    return select(
        ge(abs(divisor), full(shape, _HUGE[dtype], dtype)), full(shape, _SHRINK, dtype), full(shape, 1, dtype)
    )


def _div_lower(ctx: LowerContext, x: Operand, y: Operand) -> Operand:
    """XLA divides many by one number by multiplying them with its reciprocal. That is kept from it (`_quotient`), but
    for rows of which each has a number of its own, as in a softmax. There the reciprocal of 1e38 would be 0, so that
    both are made smaller first where the divisor may be that large: a product more, which takes no time in a loop over
    memory.

    In programs of fc.jit the reciprocal is written: XLA takes none where something else uses the divisor, as parts of a
    loop's state are (2.40 ms for 2.59 of a mixture's thirty rounds).
    """
    spread = y.made if y.made is not None and y.made[0].primitive is broadcast_in_dim_p else None
    small = y if spread is None else spread[1][0]
    if y.aval.dtype not in _HUGE or ctx.platform != "cpu" or _is_quick_by(small):
        return _divided(ctx, x, y)
    if _constant(small) is not None and small.aval.size == 1:
        return _divided_by_known(ctx, x, y)
    if spread is None or small.aval.size in (1, y.aval.size):
        return _quotient(ctx, x, y)
    params = spread[0].params

    def many(of: Operand) -> Operand:
        return broadcast_in_dim_p.rule("lower", ctx.platform)(ctx, of, **params)

    (factor,) = ctx.call(_factor, small)
    x = ctx.op("stablehlo.multiply", x, many(factor), out=x.aval)
    small = ctx.op("stablehlo.multiply", small, factor, out=small.aval)
    if "jit" not in ctx.root.features:
        return _divided(ctx, x, many(small))
    reciprocal = ctx.op("stablehlo.divide", ctx.full(small.aval, 1), small, out=small.aval)
    return ctx.op("stablehlo.multiply", x, many(reciprocal), out=x.aval)


def _constant(x: Operand) -> np.ndarray | None:
    made = x.made
    return np.asarray(made[0].params["value"].value) if made is not None and made[0].primitive is constant_p else None


def _is_quick_by(divisor: Operand) -> bool:
    """Whether it is known, and products with its reciprocal are the quotients: a power of two that is not huge."""
    known = _constant(divisor)
    if known is None:
        return False
    size = np.absolute(known)
    return bool(((np.frexp(size)[0] == 0.5) & (size < _HUGE[divisor.aval.dtype])).all())


def _where_nan(ctx: LowerContext, of: Operand, x: Operand) -> Operand:
    """`of` where that is NaN, else x."""
    direction = "comparison_direction = #stablehlo<comparison_direction NE>"
    nan = ctx.op("stablehlo.compare", of, of, out=of.aval.with_dtype(dt.bool_), attrs=direction)
    return ctx.op("stablehlo.select", nan, of, x, out=x.aval)


def _divided_by_known(ctx: LowerContext, x: Operand, y: Operand) -> Operand:
    """By a divisor that depends on x, though not where that matters, or XLA takes its reciprocal."""
    return _divided(ctx, x, _where_nan(ctx, x, y))


def _quotient(ctx: LowerContext, x: Operand, y: Operand) -> Operand:
    """The quotient, and NaN by NaN, as it is anyway. Without the choice XLA takes x / y / z for x / (y z) and
    x / (y / z) for x z / y, where products overflow, and of many by one number the product with the reciprocal: 49 / 49
    is less than 1 then, of which `floor` makes 0. It takes none of a divisor that is used twice."""
    return _where_nan(ctx, y, _divided(ctx, x, y))


_divided = elementwise_lower("stablehlo.divide", same_dtype)

div: Wrapper = binary(
    "div",
    _div_lower,
    _div_reference,
    dtypes=dt.NUMERIC,
    what="numeric",
    traits=ARITHMETIC.but(of_complex=5),
    derivatives=(lambda t, out, x, y: div(t, y), lambda t, out, x, y: mul(t, neg(div(out, y)))),
    transpose=_div_transpose,
)


# ---- size and sign -------------------------------------------------------------------------------


def _abs_derivative(t: Value, out: Value, x: Value) -> Value:
    if x.dtype not in dt.COMPLEX:
        return mul(t, sign(x))
    return real(mul(t, conj(sign(x))))


def _abs_lower(ctx: LowerContext, x: Operand) -> Operand:
    if x.aval.dtype in dt.UNSIGNED:
        return x
    return elementwise_lower("stablehlo.abs", dt.real_of)(ctx, x)


abs = unary(
    "abs", _abs_lower, np.abs, dtypes=dt.NUMERIC, what="numeric", derivative=_abs_derivative, out_dtype=dt.real_of
)


def sign(x: Value) -> Value:
    """Elementwise -1, 0 or 1 (unsigned: 0 or 1); x / |x| of complex numbers, 0 at 0."""
    return bind(sign_p, x)


def _sign_jvp(primals: Sequence[Value], tangents: Tangents) -> Jvp:
    """Constant almost everywhere if real; x / |x| turns with x if complex (0 at 0)."""
    x, t = primals[0], tangents[0]
    out = sign(x)
    if x.dtype not in dt.COMPLEX:
        return out, None
    size = abs(x)
    safe = select(eq(size, 0), full(size.shape, 1, size.dtype), size)
    turn = div(imag(mul(t, conj(out))), safe)
    return out, mul(complex(zeros(turn.aval), turn), out)


def _sign_lower(ctx: LowerContext, x: Operand) -> Operand:
    if x.aval.dtype in dt.UNSIGNED:
        return ctx.op("stablehlo.minimum", x, ctx.full(x.aval, 1), out=x.aval)
    return ctx.op("stablehlo.sign", x, out=x.aval)


sign_p = Primitive(
    "sign",
    traits=ELEMENTWISE.but(of_complex=3),
    shape=elementwise_shape("sign", dt.NUMERIC, "numeric", same_dtype),
    reference=half_reference(np.sign),
    lower=_sign_lower,
    jvp=_sign_jvp,
    transpose=NOT_LINEAR,
    batch=elementwise_batch(sign),
)

# ---- the larger, the smaller ---------------------------------------------------------------------


def _extreme_jvp(apply: Function, loses: Function) -> Function:
    """The operand that wins moves the result; equal ones share it by halves, as in PyTorch."""

    def rule(primals: Sequence[Value], tangents: Tangents) -> Jvp:
        out, total = apply(*primals), None
        for t, (x, y) in zip(tangents, (primals, primals[::-1])):
            if t is not None:
                term = select(eq(x, y), mul(t, 0.5), select(loses(x, y), zeros(t.aval), t))
                total = term if total is None else add(total, term)
        return out, total

    return rule


max: Wrapper = binary(
    "max",
    "stablehlo.maximum",
    np.maximum,
    dtypes=dt.ORDERED,
    what="real or bool",
    traits=BROADCASTING,
    jvp=_extreme_jvp(lambda x, y: max(x, y), lt),
)
min: Wrapper = binary(
    "min",
    "stablehlo.minimum",
    np.minimum,
    dtypes=dt.ORDERED,
    what="real or bool",
    traits=BROADCASTING,
    jvp=_extreme_jvp(lambda x, y: min(x, y), gt),
)

# ---- rounding ------------------------------------------------------------------------------------

floor = unary("floor", "stablehlo.floor", np.floor, dtypes=dt.FLOATING, what="floating")
ceil = unary("ceil", "stablehlo.ceil", np.ceil, dtypes=dt.FLOATING, what="floating")


def _trunc(x: Value) -> Value:
    return select(lt(x, 0), ceil(x), floor(x))


trunc = unary("trunc", lambda ctx, x: ctx.call(_trunc, x)[0], np.trunc, dtypes=dt.FLOATING, what="floating")


def round(x: Value, *, method: str = "to_even") -> Value:
    """Elementwise nearest integer; halves 'to_even' or 'away_from_zero'."""
    return bind(round_p, x, method=method)


_ROUND = {"to_even": "stablehlo.round_nearest_even", "away_from_zero": "stablehlo.round_nearest_afz"}


def _round_shape(x: Aval, *, method: str) -> Aval:
    if method not in _ROUND:
        raise ValueError(f"round takes method 'to_even' or 'away_from_zero', got {method!r}")
    check_dtype("round", x, dt.FLOATING, "floating")
    return x


def _round_reference(x: np.ndarray, *, method: str) -> np.ndarray:
    if method == "to_even":
        return np.rint(x)
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones_like(x), x), whole)


round_p = Primitive(
    "round",
    traits=ELEMENTWISE,
    shape=_round_shape,
    reference=half_reference(_round_reference),
    lower=lambda ctx, x, *, method: elementwise_lower(_ROUND[method], same_dtype)(ctx, x),
    jvp=no_tangent(round),
    transpose=NOT_LINEAR,
    batch=elementwise_batch(round),
)


def nextafter(x: Value, y: Value) -> Value:
    """Elementwise the next number after x towards y."""
    return bind(nextafter_p, operand_like(x, y), operand_like(y, x))


def _next_after(x: Value, y: Value) -> Value:
    """By the bits, as integers in the order of the numbers: XLA's own takes subnormal numbers for 0."""
    ints = np.dtype(f"int{x.dtype.itemsize * 8}")
    least, zero = full(x.shape, np.iinfo(ints).min, ints), full(x.shape, 0, ints)

    def ordered(bits: Value) -> Value:  # its own inverse; 0 of -0
        return select(lt(bits, zero), sub(least, bits), bits)

    own, other = bitcast(x, dtype=ints), bitcast(y, dtype=ints)
    a, b = ordered(own), ordered(other)
    moved = add(a, select(lt(a, b), full(x.shape, 1, ints), full(x.shape, -1, ints)))
    there = select(eq(moved, zero), and_(own, least), ordered(moved))  # a zero has the sign of x
    out = bitcast(select(eq(a, b), other, there), dtype=x.dtype)
    return select(or_(ne(x, x), ne(y, y)), add(x, y), out)


nextafter_p = Primitive(
    "nextafter",
    traits=ELEMENTWISE.but(numpy=5, compiled=0.05),  # NumPy calls C's function for each, 1.5 ns to 9
    shape=elementwise_shape("nextafter", dt.FLOATING - dt.FLOAT8, "floating (two bytes or more)", same_dtype),
    reference=np.nextafter,
    lower=lambda ctx, x, y: ctx.call(_next_after, x, y)[0],
    jvp=Reason("the step to the next number is not differentiable, as in PyTorch"),
    transpose=NOT_LINEAR,
    batch=elementwise_batch(nextafter),
)

# ---- roots ---------------------------------------------------------------------------------------


def _imaginary_sign(x: Value, out: Value) -> Value:
    return complex(real(out), with_sign_of(imag(out), imag(x)))


def _sqrt_lower(ctx: LowerContext, x: Operand) -> Operand:
    """XLA takes the wrong side of the branch cut for an imaginary part -0."""
    if "dot" in ctx.root.features:
        ctx.root.features.add("distance")
    out = elementwise_lower("stablehlo.sqrt", same_dtype)(ctx, x)
    return ctx.call(_imaginary_sign, x, out)[0] if x.aval.dtype in dt.COMPLEX else out


ROOT = ELEMENTWISE.but(numpy=0.3, of_complex=35)
sqrt = unary(
    "sqrt",
    _sqrt_lower,
    np.sqrt,
    dtypes=dt.INEXACT,
    what="floating or complex",
    derivative=lambda t, out, x: div(t, mul(out, 2)),
    traits=ROOT,
)
rsqrt = unary(
    "rsqrt",
    "stablehlo.rsqrt",
    lambda x: 1 / np.sqrt(x),
    dtypes=dt.INEXACT,
    what="floating or complex",
    derivative=lambda t, out, x: mul(t, mul(mul(mul(out, out), out), -0.5)),
    traits=ROOT,
)


def _cbrt_step(x: Value, root: Value) -> Value:
    """A Newton step, where one makes sense (not at 0, inf and NaN)."""
    excess = sub(div(mul(mul(root, root), root), x), 1)
    step = mul(excess, mul(root, 1 / 3))
    return select(is_finite(step), sub(root, step), root)


def _cbrt_lower(ctx: LowerContext, x: Operand) -> Operand:
    """XLA's is off by 13 ulps in float32, 100 in float64, when compiled fast."""
    if x.aval.dtype.itemsize <= 2:
        return ctx.call(by_float32, x, of=cbrt)[0]
    root = ctx.op("stablehlo.cbrt", x, out=x.aval)
    return ctx.call(_cbrt_step, x, root)[0]


cbrt = unary(
    "cbrt",
    _cbrt_lower,
    np.cbrt,
    dtypes=dt.FLOATING,
    what="floating",
    derivative=lambda t, out, x: div(t, mul(mul(out, out), 3)),
)

# ---- powers --------------------------------------------------------------------------------------


def integer_pow(x: Value, *, y: int) -> Value:
    """Elementwise x**y for a static int y; negative y for floats and complex only."""
    return bind(integer_pow_p, x, y=int(y))


def _by_squaring(x: Any, y: int, multiply: Function) -> Any:
    """x**y of y > 0 by repeated squaring."""
    out = None
    while True:
        if y & 1:
            out = x if out is None else multiply(out, x)
        y >>= 1
        if not y:
            return out
        x = multiply(x, x)


def _integer_pow_shape(x: Aval, *, y: int) -> Aval:
    check_dtype("integer_pow", x, dt.NUMERIC, "numeric")
    if y < 0 and x.dtype in dt.INTEGER:
        raise ValueError(f"integer_pow of {x} takes y of 0 or more, got {y}; convert it to floats")
    return x


def _integer_pow_reference(x: np.ndarray, *, y: int) -> np.ndarray:
    power = _by_squaring(x, builtins.abs(y), np.multiply) if y else np.ones_like(x)
    return 1 / power if y < 0 else power


def _integer_pow(x: Value, *, y: int) -> Value:
    if y == 0:
        return full(x.shape, 1, x.dtype)
    power = _by_squaring(x, builtins.abs(y), mul)
    return div(1, power) if y < 0 else power


def _integer_pow_lower(ctx: LowerContext, x: Operand, *, y: int) -> Operand:
    if x.aval.dtype in dt.FLOATING and x.aval.dtype.itemsize <= 2:
        return ctx.call(by_float32, x, of=_integer_pow, y=y)[0]
    return ctx.call(_integer_pow, x, y=y)[0]


def _integer_pow_jvp(primals: Sequence[Value], tangents: Tangents, *, y: int) -> Jvp:
    x, t = primals[0], tangents[0]
    out = integer_pow(x, y=y)
    if y == 0:
        return out, None
    return out, t if y == 1 else mul(t, mul(integer_pow(x, y=y - 1), y))


integer_pow_p = Primitive(
    "integer_pow",
    traits=ELEMENTWISE,
    shape=_integer_pow_shape,
    reference=half_reference(_integer_pow_reference),
    lower=_integer_pow_lower,
    jvp=_integer_pow_jvp,
    transpose=NOT_LINEAR,
    batch=elementwise_batch(integer_pow),
)


def _pow_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    power = np.power(x, np.where(y < 0, 0, y))
    ones = np.where((y & 1).astype(bool), x, 1)  # x**y = x**-y for x = 1, -1
    return np.where(y < 0, np.where(np.abs(x) == 1, ones, 0), power)


def _pow_lower(ctx: LowerContext, x: Operand, y: Operand) -> Operand:
    if x.aval.dtype in dt.INTEGER:
        return ctx.call(_pow_of_ints, x, y)[0]
    if x.aval.dtype in dt.COMPLEX:
        return ctx.call(_pow_of_complex, x, y)[0]
    if x.aval.dtype in dt.FLOAT8:  # the selection, too: after it XLA spoils some results
        return ctx.call(by_float32, x, y, of=pow)[0]
    (base,) = ctx.call(_but_of_one, x, x)  # a choice, for XLA takes exp(x)**y for exp(x y): 1 is inf**0, not exp(NaN)
    power = elementwise_lower("stablehlo.power", same_dtype)(ctx, base, y)
    return ctx.call(_but_of_one, x, power)[0]


def _but_of_one(x: Value, power: Value) -> Value:
    """1**y is 1; said so, for XLA takes log(x**y) for y log |x|, a number where x**y is negative or none."""
    one = full(x.shape, 1, x.dtype)
    return select(eq(x, one), one, power)


def _pow_of_ints(x: Value, y: Value) -> Value:
    """By squaring, wrapping; negative exponents give 0, but for 1 and -1.

    XLA's own looks at six bits of the exponent, and its results for negative ones depend on how it
    compiles them.
    """
    one = full(x.shape, 1, x.dtype)
    out, power, rest = one, x, y
    for _ in range(x.dtype.itemsize * 8):
        out = select(eq(and_(rest, one), one), mul(out, power), out)
        power, rest = mul(power, power), shift_right_logical(rest, one)
    if x.dtype in dt.UNSIGNED:
        return out
    unit = select(eq(abs(x), one), out, zeros(x.aval))  # x**y = x**-y, and only y's parity matters
    return select(lt(y, 0), unit, out)


def _pow_of_complex(x: Value, y: Value) -> Value:
    """exp(y log x); XLA's is inf * 0 = NaN where only a factor of the result overflows."""
    from .transcendental import exp, log

    at_zero = select(
        eq(y, 0), full(x.shape, 1, x.dtype), select(gt(real(y), 0), zeros(x.aval), full(x.shape, np.nan, x.dtype))
    )
    return select(eq(x, 0), at_zero, exp(mul(y, log(x))))


def _pow_by_base(t: Value, out: Value, x: Value, y: Value) -> Value:
    """t y x**(y - 1), 0 where y is 0 (both branches finite, or their derivatives were NaN)."""
    constant = eq(y, 0)
    base = select(constant, full(x.shape, 1, x.dtype), x)
    factor = mul(y, pow(base, sub(y, 1)))
    return mul(t, select(constant, zeros(y.aval), factor))


def _pow_by_exponent(t: Value, out: Value, x: Value, y: Value) -> Value:
    """t out log x, 0 where 0 is raised to a power that is not negative, as in PyTorch."""
    from .transcendental import log

    flat = and_(eq(x, 0), ge(real(y) if y.dtype in dt.COMPLEX else y, 0))
    base = select(flat, full(x.shape, 1, x.dtype), x)
    return mul(t, select(flat, zeros(out.aval), mul(out, log(base))))


pow = binary(
    "pow",
    _pow_lower,
    _pow_reference,
    dtypes=dt.NUMERIC,
    what="numeric",
    derivatives=(_pow_by_base, _pow_by_exponent),
    traits=ELEMENTWISE.but(numpy=0.4, of_complex=140, compiled=3.0),  # XLA calls C's function for each
)
