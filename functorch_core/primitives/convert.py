"""Changing dtypes: convert, bitcast, reduced precision, and the parts of complex numbers."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_LINEAR
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Jvp, Tangents, Value
from .batching import Axis, front_batch
from .bitwise import and_, or_, shift_left, shift_right_logical
from .comparison import ge, gt, le, ne, select
from .declare import (
    ELEMENTWISE,
    Linear,
    Primitive,
    Wrapper,
    check_dtype,
    elementwise_batch,
    elementwise_lower,
    elementwise_shape,
    jointly_linear,
    no_tangent,
    operand_like,
    unary,
    wrapper,
)
from .host_few import are_within
from .structure import full, zeros

CONVERSION = ELEMENTWISE.but(family="convert")

# ---- convert -------------------------------------------------------------------------------------
# Between ints it wraps. From floats to ints it truncates, saturates at the ends and makes NaN 0,
# on every platform. To bool it is `x != 0`. From complex to real it takes the real part. To float8
# as ml_dtypes: to nearest even, out of range inf where the kind has it and NaN where not. To floats
# of one or two bytes everything goes by way of float32, as in PyTorch (float64 is rounded twice). Integers of less
# than a byte are made from int8 and uint8, which floats are clipped to their range for.


def convert(x: Value, *, dtype: type[Any] | np.dtype) -> Value:
    """x with its elements converted to `dtype`; x itself if it has that dtype."""
    return x if aval_of(x).dtype == dtype else bind(convert_p, x, dtype=np.dtype(dtype))


def _convert_shape(x: Aval, *, dtype: np.dtype) -> Aval:
    if dtype not in dt.ALL:
        raise TypeError(f"convert cannot make {dtype} arrays, got {x}; see dtypes.ALL")
    return x.with_dtype(dtype)


def _convert_at(x: Aval, *, dtype: np.dtype) -> Function | type[Any] | None:
    plain = {x.dtype, dtype} <= _PLAIN
    if not plain or dtype == dt.bool_:
        return None
    if x.dtype in dt.FLOATING and dtype in dt.INTEGER:
        return _truncating(x, dtype)
    if not x.ndim and dtype in dt.FLOATING:
        return dtype.type
    return operator.methodcaller("astype", dtype)


@specialised(_convert_at)
def _convert_reference(x: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    if any([n > 1 and not step for n, step in zip(x.shape, x.strides)]):  # once; 512 x 512 of one bfloat16 took 430 us
        distinct = x[tuple([slice(None, None if step else 1) for step in x.strides])]
        return np.broadcast_to(_convert_reference(distinct, dtype=dtype), x.shape)
    if dt.complex32 in (x.dtype, dtype):
        x = x.astype(dt.complex64)
    if x.dtype in dt.COMPLEX and dtype not in dt.COMPLEX:
        return x != 0 if dtype == dt.bool_ else _convert_reference(x.real, dtype=dtype)
    if dtype == dt.bool_:
        return x.astype(np.float32) != 0 if x.dtype in _NARROW else x != 0
    if x.dtype in dt.FLOATING and dtype in dt.INTEGER:
        return _saturate(x.astype(np.float64), dtype)
    if dtype in dt.SUB_BYTE and dtype in dt.INTEGER:
        x = x.astype(dt.EMULATED[dtype])
    return (x.astype(np.float32) if dtype in _NARROW else x).astype(dtype)


def _truncating(x: Aval, dtype: np.dtype) -> Function:
    """Floats to ints; looks whether all fit, which is quicker than to see to those that do not."""
    info = np.iinfo(dtype)
    low, high = float(info.min), float(np.nextafter(x.dtype.type(info.max), x.dtype.type(0)))

    def run(array: np.ndarray) -> np.ndarray:
        fit = not array.size or are_within(array, low, high)
        return array.astype(dtype) if fit else _saturate(array.astype(np.float64), dtype)

    return run


def _saturate(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats to ints: truncated, clipped to the range, NaN as 0."""
    info = dt.iinfo(dtype)
    x, end = np.trunc(x), float(info.max) + (dtype.itemsize < 8)  # 2.0**63 is int64's end already
    fits = (x >= info.min) & (x < end)
    inside = np.where(fits, x, 0).astype(dtype)
    return np.where(x >= end, dtype.type(info.max), np.where(x < info.min, dtype.type(info.min), inside))


def _converted(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """The elements of arithmetic that takes NumPy as long: 262,144 from float16 305 us, to it 370; from bfloat16 14, 26
    beside others; to it 82 to 110, about as is thought of arithmetic."""
    source, target = operands[0], results[0]
    share = {dt.float16: 0.4, dt.bfloat16: 0.3}.get(source.dtype, 0.5 if target.dtype == dt.float16 else 1.0)
    return source.size * share


_PLAIN = {dt.bool_, dt.float32, dt.float64} | {d for d in dt.INTEGER if d.kind in "iu"}
_NARROW = dt.FLOAT8 | {dt.float16, dt.bfloat16}

# What XLA gets wrong when it makes these from float32, at magnitudes (above, up to): 496 becomes -0
# and negative underflow NaN. They are given the right number beforehand.
_FLOAT8_REPAIRS = {
    dt.float8_e4m3fn: (464.0, np.inf, np.nan),
    dt.float8_e4m3fnuz: (-1.0, 2.0**-11, 0.0),
    dt.float8_e5m2fnuz: (-1.0, 2.0**-18, 0.0),
    dt.float8_e4m3b11fnuz: (-1.0, 2.0**-14, 0.0),
}
_FLOAT4_STEPS = ((0.25, 0.5), (0.75, 0.5), (1.25, 0.5), (1.75, 0.5), (2.5, 1.0), (3.5, 1.0), (5.0, 2.0))


def _round_to_float4(x: Value) -> Value:
    """x as one of the numbers of float4_e2m1fn, ties to even: XLA rounds float32 twice on the way, so that 0.25 and
    a little becomes 0."""
    size, out = _arithmetic().abs(x), full(x.shape, 0, x.dtype)
    for i, (tie, step) in enumerate(_FLOAT4_STEPS):
        beyond = ge(size, tie) if i % 2 else gt(size, tie)
        out = _arithmetic().add(out, select(beyond, full(x.shape, step, x.dtype), full(x.shape, 0, x.dtype)))
    return with_sign_of(out, x)


def _round_to_bfloat16(x: Value) -> Value:
    """float32 to nearest even by integers. XLA leaves its own conversion out where float32 follows, so that what a
    program gives depends on what is in it, and LLVM makes no vectors of what is computed before it. us of a program on
    262,144 numbers: exp 139 and 68, tanh 121 and 64, a sum 33 and 20, converted only 25 and 20; six steps of four ops
    each 2,850 and 1,400, in 38 ms to compile for 33."""
    bits = bitcast(x, dtype=dt.uint32)
    odd = and_(shift_right_logical(bits, full(x.shape, 16, dt.uint32)), full(x.shape, 1, dt.uint32))
    nearest = _arithmetic().add(_arithmetic().add(bits, full(x.shape, 0x7FFF, dt.uint32)), odd)
    upper = shift_right_logical(nearest, full(x.shape, 16, dt.uint32))
    upper = select(ne(x, x), full(x.shape, 0x7FC0, dt.uint32), upper)
    return bitcast(convert(upper, dtype=dt.uint16), dtype=dt.bfloat16)


def _clipped(x: Value, *, dtype: np.dtype) -> Value:
    info = dt.iinfo(dtype)
    low, high = (full(x.shape, n, x.dtype) for n in (int(info.min), int(info.max)))
    x = select(ne(x, x), full(x.shape, 0, x.dtype), x)
    return _arithmetic().min(_arithmetic().max(x, low), high)


def _arithmetic() -> Any:
    from . import arithmetic  # which imports this file

    return arithmetic


def _repair_float8(x: Value, *, above: float, up_to: float, instead: float) -> Value:
    size = _arithmetic().abs(x)
    return select(and_(gt(size, above), le(size, up_to)), full(x.shape, instead, x.dtype), x)


def _packed(z: Value) -> Value:
    """complex64 as the bits of a complex32: those of the real part are the lower ones."""
    low, high = [
        convert(bitcast(convert(part, dtype=dt.float16), dtype=dt.uint16), dtype=dt.uint32)
        for part in (real(z), imag(z))
    ]
    return or_(low, shift_left(high, 16))


def _unpacked(bits: Value) -> Value:
    """The bits of a complex32 as complex64."""
    parts = [
        convert(bitcast(convert(half, dtype=dt.uint16), dtype=dt.float16), dtype=dt.float32)
        for half in (bits, shift_right_logical(bits, 16))
    ]
    return complex(*parts)


def _convert_lower(ctx: LowerContext, x: Operand, *, dtype: np.dtype) -> Operand:
    out = x.aval.with_dtype(dtype)
    if dtype == dt.complex32:
        return Operand(ctx.call(_packed, x)[0], out)
    if x.aval.dtype == dt.complex32:
        return ctx.call(_unpacked, Operand(x, out.with_dtype(dt.uint32)))[0]
    if x.aval.dtype in dt.SUB_BYTE and dtype != dt.EMULATED[x.aval.dtype]:
        x = ctx.op("stablehlo.convert", x, out=x.aval.with_dtype(dt.EMULATED[x.aval.dtype]))
        return ctx.call(convert, x, dtype=dtype)[0]
    if dtype == dt.bool_:
        return ctx.op(
            "stablehlo.compare",
            x,
            ctx.full(x.aval, 0),
            out=out,
            attrs="comparison_direction = #stablehlo<comparison_direction NE>",
        )
    if x.aval.dtype == dt.bool_ and dtype in dt.INEXACT:
        # Of a product with stablehlo.convert XLA makes a selection, in which 0 * inf is 0.
        return ctx.op("stablehlo.select", x, ctx.full(out, 1), ctx.full(out, 0), out=out)
    if x.aval.dtype in dt.COMPLEX and dtype not in dt.COMPLEX:
        x = ctx.op("stablehlo.real", x, out=x.aval.with_dtype(dt.real_of(x.aval.dtype)))
    if dtype in dt.SUB_BYTE and dtype in dt.INTEGER:
        wide = dt.EMULATED[dtype]
        if x.aval.dtype in dt.FLOATING:
            x = ctx.call(convert, x, dtype=dt.promote(x.aval.dtype, dt.float32))[0]
            x = ctx.call(_clipped, x, dtype=dtype)[0]
        x = ctx.call(convert, x, dtype=wide)[0]
    if dtype in _NARROW and x.aval.dtype != dt.float32:
        x = ctx.op("stablehlo.convert", x, out=x.aval.with_dtype(dt.float32))
    if dtype == dt.float4_e2m1fn:
        (x,) = ctx.call(_round_to_float4, x)
    if dtype in _FLOAT8_REPAIRS:
        above, up_to, instead = _FLOAT8_REPAIRS[dtype]
        (x,) = ctx.call(_repair_float8, x, above=above, up_to=up_to, instead=instead)
    if dtype == dt.bfloat16 and ctx.platform == "cpu" and "portable" not in ctx.root.features:
        return ctx.call(_round_to_bfloat16, x)[0]
    return ctx.op("stablehlo.convert", x, out=out)


def _convert_jvp(primals: Sequence[Value], tangents: Tangents, *, dtype: np.dtype) -> Jvp:
    smooth = {primals[0].aval.dtype, dtype} <= dt.INEXACT
    rule = jointly_linear(convert) if smooth else no_tangent(convert)
    return rule(primals, tangents, dtype=dtype)


convert_p = Primitive(
    "convert",
    traits=CONVERSION.but(work=_converted, conjugates=True),
    shape=_convert_shape,
    reference=_convert_reference,
    lower=_convert_lower,
    jvp=_convert_jvp,
    transpose=lambda ct, x, *, dtype: (convert(ct, dtype=x.aval.dtype),),
    batch=elementwise_batch(convert),
)


def by_float32(*xs: Value, of: Function, **params: Any) -> Value:
    """of(*xs) of narrower floats, computed in float32 and rounded once. For lowerings."""
    return convert(of(*[convert(x, dtype=dt.float32) for x in xs], **params), dtype=xs[0].dtype)


# ---- bitcast -------------------------------------------------------------------------------------


def bitcast(x: Value, *, dtype: np.dtype) -> Value:
    """The same bits as another dtype.

    A narrower one adds a last dimension (float32[3] as uint8 is uint8[3,4], lowest bits first); a
    wider one takes the last dimension away.
    """
    return x if aval_of(x).dtype == dtype else bind(bitcast_p, x, dtype=np.dtype(dtype))


def _bitcast_shape(x: Aval, *, dtype: np.dtype) -> Aval:
    if not {x.dtype, dtype} <= dt.REAL - dt.SUB_BYTE:
        kinds = "int and floating arrays of a byte an element or more"
        raise TypeError(f"bitcast takes and makes {kinds}, got {x} to {dtype}")
    wide, narrow = x.dtype.itemsize, dtype.itemsize
    if wide == narrow:
        return x.with_dtype(dtype)
    if wide > narrow:
        return aval((*x.shape, wide // narrow), dtype)
    if x.shape[-1:] != (narrow // wide,):
        raise ValueError(f"bitcast to {dtype} needs a last dimension of {narrow // wide}, got {x}")
    return aval(x.shape[:-1], dtype)


def _bitcast_at(x: Aval, *, dtype: np.dtype) -> Function | None:
    return operator.methodcaller("view", dtype) if x.dtype.itemsize == dtype.itemsize else None


@specialised(_bitcast_at)
def _bitcast_reference(x: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    out = _bitcast_shape(aval_of(x), dtype=dtype)
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), dtype).reshape(out.shape)


def _bitcast_jvp(primals: Sequence[Value], tangents: Tangents, *, dtype: np.dtype) -> Jvp:
    """Ints have no tangents; from floats to floats it is no differentiable function."""
    if dtype in dt.INTEGER or tangents[0] is None:
        return bitcast(primals[0], dtype=dtype), None
    raise NotImplementedError(f"bitcast of {primals[0].aval} to {dtype} has no derivative; stop the gradient before it")


def _bitcast_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, dtype: np.dtype) -> Batched:
    same_width = args[0].aval.dtype.itemsize == dtype.itemsize
    rule = elementwise_batch(bitcast) if same_width else front_batch(bitcast)
    return rule(axis, args, dims, dtype=dtype)


bitcast_p = Primitive(
    "bitcast",
    traits=CONVERSION,
    shape=_bitcast_shape,
    reference=_bitcast_reference,
    lower=lambda ctx, x, *, dtype: ctx.op("stablehlo.bitcast_convert", x, out=_bitcast_shape(x.aval, dtype=dtype)),
    jvp=_bitcast_jvp,
    transpose=NOT_LINEAR,
    batch=_bitcast_batch,
)


def with_sign_of(x: Value, y: Value) -> Value:
    """The sizes of x with the signs of y; both float32 or float64. For lowerings: no derivative."""
    info = np.iinfo(f"int{x.dtype.itemsize * 8}")
    size, sign = bitcast(x, dtype=info.dtype), bitcast(y, dtype=info.dtype)
    return bitcast(or_(and_(size, info.max), and_(sign, info.min)), dtype=x.dtype)


# ---- reduce_precision ----------------------------------------------------------------------------


def reduce_precision(x: Value, *, exponent_bits: int, mantissa_bits: int) -> Value:
    """x rounded to a float of so many bits, kept in its own dtype; what underflows becomes 0."""
    return bind(reduce_precision_p, x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


def _reduce_precision_shape(x: Aval, *, exponent_bits: int, mantissa_bits: int) -> Aval:
    check_dtype("reduce_precision", x, dt.FLOATING - dt.FLOAT8, "floating (two bytes or more)")
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            "reduce_precision takes exponent_bits of 1 or more and mantissa_bits of 0"
            f" or more, got {exponent_bits} and {mantissa_bits}"
        )
    return x


def _reduce_precision_reference(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    info = dt.finfo(x.dtype)
    bits = np.ascontiguousarray(x).reshape(x.shape).view(f"uint{info.bits}")
    one, dropped = bits.dtype.type(1), bits.dtype.type(builtins.max(info.nmant - mantissa_bits, 0))
    half_to_even = ((one << dropped) >> one) - one + ((bits >> dropped) & one)
    rounded = (bits + half_to_even * (dropped > 0)) >> dropped << dropped
    out = rounded.view(x.dtype)
    if exponent_bits < info.nexp:
        largest, size = 2 ** (exponent_bits - 1) - 1, np.abs(out.astype(np.float64))
        out = np.where(size >= 2.0 ** (largest + 1), np.copysign(np.inf, out), out).astype(x.dtype)
        out = np.where(size < 2.0 ** (1 - largest), np.copysign(0, out), out).astype(x.dtype)
    return np.where(np.isnan(x), x, out)


def _reduce_precision_lower(ctx: LowerContext, x: Operand, *, exponent_bits: int, mantissa_bits: int) -> Operand:
    out = ctx.op(
        "stablehlo.reduce_precision",
        x,
        out=x.aval,
        attrs=f"exponent_bits = {exponent_bits} : i32, mantissa_bits = {mantissa_bits} : i32",
    )
    if mantissa_bits:
        return out
    is_nan = ctx.op(
        "stablehlo.compare",
        x,
        x,
        out=x.aval.with_dtype(dt.bool_),
        attrs="comparison_direction = #stablehlo<comparison_direction NE>",
    )
    return ctx.op("stablehlo.select", is_nan, x, out, out=x.aval)  # XLA would make NaN inf


def _reduce_precision_transpose(ct: Value, x: Value, **bits: Any) -> Cotangents:
    return (reduce_precision(ct, **bits),)


reduce_precision_p = Primitive(
    "reduce_precision",
    traits=CONVERSION,
    shape=_reduce_precision_shape,
    reference=_reduce_precision_reference,
    lower=_reduce_precision_lower,
    jvp=jointly_linear(reduce_precision),
    transpose=_reduce_precision_transpose,
    batch=elementwise_batch(reduce_precision),
)

# ---- parts of complex numbers --------------------------------------------------------------------
# Transposes are linear, without conjugation: Re<ct, J t> = Re<J^T ct, t>.


def _part(name: str, reference: Any, transpose: Function) -> Wrapper:
    """Declare `real` or `imag`; its wrapper."""

    def apply(x: Value) -> Value:
        return bind(primitive, x)

    primitive = Primitive(
        name,
        traits=CONVERSION,
        shape=elementwise_shape(name, dt.COMPLEX, "complex", dt.real_of),
        reference=reference,
        lower=elementwise_lower(f"stablehlo.{name}", dt.real_of),
        jvp=jointly_linear(apply),
        transpose=transpose,
        batch=elementwise_batch(apply),
    )
    return wrapper(primitive, apply, f"Elementwise {name} part of complex arrays, a real array.")


def _real_transpose(ct: Value, x: Value) -> Cotangents:
    return (complex(ct, zeros(ct.aval)),)


def _imag_transpose(ct: Value, x: Value) -> Cotangents:
    from .arithmetic import neg

    return (complex(zeros(ct.aval), neg(ct)),)


real = _part("real", np.real, _real_transpose)
imag = _part("imag", np.imag, _imag_transpose)


def _conj_lower(ctx: LowerContext, x: Operand) -> Operand:
    part = x.aval.with_dtype(dt.real_of(x.aval.dtype))
    re, im = ctx.op("stablehlo.real", x, out=part), ctx.op("stablehlo.imag", x, out=part)
    return ctx.op("stablehlo.complex", re, ctx.op("stablehlo.negate", im, out=part), out=x.aval)


conj = unary("conj", _conj_lower, np.conj, dtypes=dt.COMPLEX, what="complex", linear=True, traits=CONVERSION)


def complex(re: Value, im: Value) -> Value:
    """The complex array of two real ones (not bfloat16; one may be a Python scalar)."""
    return bind(complex_p, operand_like(re, im), operand_like(im, re))


def _complex_reference(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    out = np.empty(re.shape, dt.complex_of(re.dtype))
    out.real, out.imag = re, im
    return out


def _complex_transpose(ct: Value, re: Value, im: Value) -> Cotangents:
    from .arithmetic import neg

    return (real(ct) if isinstance(re, Linear) else None, neg(imag(ct)) if isinstance(im, Linear) else None)


complex_p = Primitive(
    "complex",
    traits=CONVERSION.but(numpy=0.25),
    shape=elementwise_shape(
        "complex", {dt.float16, dt.float32, dt.float64}, "float16, float32 or float64", dt.complex_of
    ),
    reference=_complex_reference,
    lower=elementwise_lower("stablehlo.complex", dt.complex_of),
    jvp=jointly_linear(complex),
    transpose=_complex_transpose,
    batch=elementwise_batch(complex),
)
