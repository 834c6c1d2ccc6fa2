"""Elementwise arithmetic: sums, products, quotients, powers, the larger and the smaller."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels import elementwise as ew
from ....kernels import subgradients
from ....kernels.values import derived, expanded
from ....transforms.custom import stop_gradient
from ...dispatch.division import Division
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import Bound, Factor, Operand, OperandSlot, Scale, Weight, is_number, logical_aval, python_number
from ...dispatch.traits import EXPECTED, Out
from ...tape.node_names import if_tensor
from ...tensors import types as _types
from ...tensors.base import Tensor
from ...tensors.promotion import HALF, broadcast, cast, check_held, promote, result_dtype
from .. import declaring as d
from ..declaring import binary, kind_of, like, number_operand, require, unary, widened
from ..values import require_same_dtype

# ---- sums and products ---------------------------------------------------------------------------

_FLOAT_ALPHA = "For integral input tensors, argument alpha must not be a floating point number."
_BOOL_ALPHA = "Boolean alpha only supported for Boolean results."
_BOTH_BOOL = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
    "or `logical_xor()` operator instead."
)
ONE_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
    "trying to invert a mask, use the `~` or `logical_not()` operator instead."
)


def scaled(x, alpha):
    """alpha * x in x's dtype."""
    kind, dtype = kind_of(alpha), x.aval.dtype
    if kind is bool and dtype != dt.bool_:
        raise RuntimeError(_BOOL_ALPHA)
    if kind is float and dtype not in dt.INEXACT:
        raise RuntimeError(_FLOAT_ALPHA)
    if alpha.__class__ in (int, float) and alpha == 1:
        return x
    return p.mul(x, like(x, cast(alpha, dtype)))


@torch_op(
    inplace=True,
    dunder=("add", "radd"),
    number="shown",
    commutative=True,
    in_place="add_.Tensor",
    former=("input alpha other",),
)
def add(input: Operand, other: Operand, *, alpha: Scale = 1, out=None):
    """input + alpha * other, elementwise, with promotion and broadcasting.

    >>> torch.add(torch.tensor([1., 2.]), 10)
    tensor([11., 12.])
    """
    x, y = promote(input, other)
    return p.add(x, scaled(y, alpha))


def _check_subtraction(*operands):
    bools = [kind_of(x) is bool if number_operand(x) else x.aval.dtype == dt.bool_ for x in operands]
    if all(bools):
        raise RuntimeError(_BOTH_BOOL)
    if any(bools):
        raise RuntimeError(ONE_BOOL)


@torch_op(
    inplace=True,
    dunder=("sub", "rsub"),
    aliases=("subtract",),
    number="shown",
    node=if_tensor("input", "SubBackward0", "RsubBackward1"),
    in_place="sub_.Tensor",
    former=("input alpha other",),
)
def sub(input: Operand, other: Operand, *, alpha: Scale = 1, out=None):
    """input - alpha * other, elementwise.

    >>> torch.sub(torch.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    _check_subtraction(input, other)
    x, y = promote(input, other)
    return p.sub(x, scaled(y, alpha))


@torch_op(node=if_tensor("other", "RsubBackward0", "RsubBackward1"))
def rsub(input: Tensor, other: Operand, *, alpha: Scale = 1):
    """other - alpha * input, elementwise.

    >>> torch.rsub(torch.tensor([1., 2.]), 1)
    tensor([ 0., -1.])
    """
    _check_subtraction(input, other)
    x, y = promote(input, other)
    return p.sub(y, scaled(x, alpha))


@torch_op(
    inplace=True,
    dunder=("mul", "rmul"),
    aliases=("multiply",),
    number="shown",
    saves_number=True,
    commutative=True,
    in_place="mul_.Tensor",
)
def mul(input: Operand, other: Operand, *, out=None):
    """input * other, elementwise.

    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """
    x, y = (other, input) if number_operand(input) else (input, other)
    return d.by_number(p.mul, x, y)


@torch_op(inplace=True, autocast={"cuda": "widest"}, former=("input value tensor1 tensor2",))
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1, out=None):
    """input + value * tensor1 * tensor2, elementwise.

    >>> torch.addcmul(torch.zeros(2), torch.ones(2), torch.tensor([1., 2.]), value=3)
    tensor([3., 6.])
    """
    x, y, z = promote(input, tensor1, tensor2)
    require(x, d.NUMERIC, "addcmul_cpu_out")
    value = _factor(value, x)
    return widened(lambda x, y, z: p.add(x, p.mul(_times(y, value), z)))(x, y, z)


_INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
    "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
    "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
    "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
    "dtypes."
)


@torch_op(inplace=True, autocast={"cuda": "widest"}, former=("input value tensor1 tensor2",))
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1, out=None):
    """input + value * tensor1 / tensor2, elementwise.

    >>> torch.addcdiv(torch.zeros(2), torch.ones(2), torch.tensor([1., 2.]), value=3)
    tensor([3.0000, 1.5000])
    """
    if result_dtype((tensor1, tensor2)) not in dt.INEXACT:
        raise RuntimeError(_INTEGER_ADDCDIV)
    x, y, z = promote(input, tensor1, tensor2)
    value = _factor(value, x)
    return widened(lambda x, y, z: p.add(x, p.div(_times(y, value), z)))(x, y, z)


def _factor(value, x):
    """What tensors of x's dtype are multiplied with; None for 1."""
    return None if value.__class__ in (int, float) and value == 1 else cast(value, d.scale_dtype(x.aval.dtype))


def _times(x, value):
    """x times a traced scalar of its category, if there is one."""
    return x if value is None else p.mul(x, like(x, p.convert(value, dtype=x.aval.dtype)))


OTHER_DTYPE = "expected dtype {{x}} for `{}` but got dtype {{y}}"


@derived(
    lambda t, x, end, weight, *_: p.mul(t, expanded(p.sub(1, weight), x.aval.shape)),
    lambda t, x, end, weight, *_: p.mul(t, expanded(weight, x.aval.shape)),
    lambda t, x, end, weight, *_: p.mul(expanded(t, x.aval.shape), p.sub(end, x)),
)
def _between(x, end, weight, near, part):
    return p.add(p.select(near, x, end), p.mul(part, p.sub(end, x)))


def _lerp(x, end, weight):
    """From the nearer end, so that both ends are met exactly. What is made of the weight alone is made once if that
    is a number, of a list of tensors, too."""
    given = stop_gradient(weight)
    size = p.abs(given)
    near = p.lt(p.mul(size, size), 0.25) if weight.aval.dtype in dt.COMPLEX else p.lt(size, 0.5)
    part = p.select(near, given, p.sub(given, 1))
    return _between(x, end, weight, *[expanded(v, x.aval.shape) for v in (near, part)])


@torch_op(inplace=True, number="taken", node=if_tensor("weight", "LerpBackward1"))
def lerp(input: Tensor, end: Tensor, weight: Weight, *, out=None):
    """input + weight * (end - input), elementwise.

    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([1., 20.]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    require_same_dtype(input, end, OTHER_DTYPE.format("end"))
    if not number_operand(weight):
        require_same_dtype(input, weight, OTHER_DTYPE.format("weight"))
    require(input, d.INEXACT, "lerp_kernel_scalar")
    weight = cast(weight, d.scale_dtype(input.aval.dtype))
    if not weight.aval.ndim:
        return widened(_lerp)(*broadcast([input, end]), weight)
    return widened(_lerp)(*broadcast([input, end, weight]))


# ---- quotients -----------------------------------------------------------------------------------


def _floor_divided(x, y):
    if x.aval.dtype in dt.INTEGER:
        return ew.floor_divide(x, y)
    quotient = widened(lambda x, y: ew.floor_divide(stop_gradient(x), stop_gradient(y)))(x, y)
    return d.flat(quotient, x, y)


def _truncated(x, y):
    q = p.div(x, y)
    return q if x.aval.dtype in dt.INTEGER else d.flat(p.trunc(q), x, y)


def _div_node(a):
    if a.rounding_mode is not None:
        return "DivBackward2"
    return None if isinstance(a.input, Tensor) else "Mul0(Reciprocal0(other), -)"


@torch_op(
    inplace=True,
    dunder=("truediv",),
    aliases=("divide",),
    number="shown",
    saves_number=True,
    saves="operands",
    node=_div_node,
    in_place="div_.Tensor",
    kind=Division,
)
def div(input: Operand, other: Operand, *, rounding_mode=None, out=None):
    """input / other, elementwise; rounding_mode "trunc" rounds towards zero, "floor" downwards.

    Without rounding, integers become the default float. With it, integers divided by zero are an error.

    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    if rounding_mode is None:
        return d.by_number(p.div, input, other, to_float=True)
    x, y = promote(input, other)
    require(x, d.REAL, f"div_{rounding_mode}_cpu")
    return (_floor_divided if rounding_mode == "floor" else widened(_truncated))(x, y)


@torch_op(
    dunder=("rtruediv", "rdiv"),
    node="Mul0(Reciprocal0(other), -)",
    saves="nothing",
    with_array=lambda x, array: x.reciprocal() * array,
)
def _over(input: Operand, other: Tensor):
    """A number / a tensor: the tensor's reciprocal times the number, which may differ from the quotient in the last
    bit."""
    x = d.to_float(other)
    return d.by_number(p.mul, p.div(like(x, 1), x), input)


@torch_op(inplace=True, number="shown", saves="operands", node="DivBackward0", in_place="true_divide_.Tensor")
def true_divide(input: Operand, other: Operand, *, out=None):
    """input / other, elementwise.

    >>> torch.true_divide(torch.tensor([1., 2.]), torch.tensor([10., 20.]))
    tensor([0.1000, 0.1000])
    """
    return d.by_number(p.div, input, other, to_float=True)


floor_divide = binary(
    "floor_divide",
    _floor_divided,
    "input / other, rounded down, elementwise.",
    left=Operand,
    right=Operand,
    dtypes=d.REAL,
    kernel="div_floor_cpu",
    dunder=("floordiv", "rfloordiv"),
    numbers=True,
    out=Out(recorded=True),
    node="NotImplemented",
    kind=Division,
    example="[5., -5.], [3., 3.] -> [ 1., -2.]",
)


def _remainder(x, y):
    return (subgradients.remainder if x.aval.dtype in dt.FLOATING else ew.modulo)(x, y)


def _fmod(x, y):
    return (subgradients.fmod if x.aval.dtype in dt.FLOATING else p.rem)(x, y)


def _remainder_node(a):
    if not isinstance(a.input, Tensor):
        return "NotImplemented"
    return "RemainderBackward1" if isinstance(a.other, Tensor) else None


remainder = binary(
    "remainder",
    widened(_remainder),
    "input - other * floor(input / other), elementwise: Python's %.",
    left=Operand,
    right=Operand,
    dtypes=d.REAL,
    dunder=("mod", "rmod"),
    node=_remainder_node,
    kind=Division,
    example="[5., -5.], [3., 3.] -> [2., 1.]",
)
fmod = binary(
    "fmod",
    widened(_fmod),
    "The remainder of input / other with input's sign.",
    right=Operand,
    dtypes=d.REAL,
    node=if_tensor("other", "FmodBackward1"),
    kind=Division,
    example="[5., -5.], [3., 3.] -> [ 2., -2.]",
)
reciprocal = unary(
    "reciprocal",
    lambda x: p.div(1, x),
    "1 / input, elementwise.",
    saves="result",
    autocast={"cuda": "full"},
    example="[2., 4.] -> [0.5000, 0.2500]",
)

# ---- powers --------------------------------------------------------------------------------------

_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _literal(number) -> bool:
    """Whether an exponent is written into the graph, where it becomes products and roots."""
    cls = number.__class__
    return (cls is int or cls is float and (2 * number).is_integer()) and -1024 <= number <= 1024


class _ExponentSlot(OperandSlot):
    """An operand of which small whole numbers and halves are part of the signature, and every number where the base
    does not hold all: it is looked at there."""

    checks_numbers = True

    def other_key(self, op, x, operands):
        if operands and is_number(x) and _limits(logical_aval(operands[0]).dtype, x := python_number(x)):
            _check_exponent(logical_aval(operands[0]).dtype, x)
            return x.__class__, x
        return (x.__class__, x) if _literal(x) else super().other_key(op, x, operands)

    def other_placeholder(self, builder, x):
        if is_number(x) and builder.inputs:
            x = python_number(x)
            if _limits(builder.avals[builder.inputs[0]].dtype, x):
                return x
        return x if _literal(x) else super().other_placeholder(builder, x)


def _limits(base: np.dtype, number) -> bool:
    """Whether a base of this dtype does not take all exponents of this class."""
    return base in HALF or number.__class__ is int and base in dt.INTEGER


def _check_exponent(base: np.dtype, number):
    """RuntimeError for an exponent that integers or half precision do not have; others are rounded to infinity."""
    if base in dt.INTEGER and number < 0:
        raise RuntimeError(_NEGATIVE_POWER)
    if number.__class__ is not complex:
        check_held(base, number)


Exponent = Annotated[Tensor | complex, _ExponentSlot()]


def power(input: Operand, exponent: Exponent, *, out=None):
    """input to the power exponent, elementwise; one of the two may be a number.

    Exponents that are small whole numbers or 1/2 become products or square roots.

    >>> torch.pow(torch.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    d.require_tensor("pow", input, exponent)
    x, y = promote(input, exponent)
    if x.aval.dtype == dt.bool_ and exponent.__class__ is bool:  # these PyTorch has, of bools
        return x if exponent else p.full(x.aval.shape, True, dt.bool_)
    require(x, d.NUMERIC, "pow")
    if x.aval.dtype not in dt.INEXACT or kind_of(exponent) is bool:
        return _whole_power(x, y, exponent)
    if not (number_operand(exponent) and _literal(exponent) and -8 <= exponent <= 8):
        return subgradients.power(x, y)
    if exponent % 1:
        return subgradients.fixed_power(float(exponent))(x)
    out = p.integer_pow(x, y=int(exponent))
    return out if exponent else d.flat(out, x)


def _whole_power(x, y, exponent):
    """Of integers and bools, and by a bool."""
    if x.aval.dtype in dt.INTEGER and number_operand(exponent) and exponent.__class__ is int:
        if exponent < 0:
            raise RuntimeError(_NEGATIVE_POWER)
        return p.integer_pow(x, y=int(exponent))
    return p.pow(x, y)


def _pow_node(a):
    if not isinstance(a.input, Tensor):
        return "PowBackward2"
    return "PowBackward1" if isinstance(a.exponent, Tensor) else None


pow = torch_op(
    power, name="pow", inplace=True, dunder=("pow", "rpow"), autocast={"cuda": "full"}, number="taken", node=_pow_node
)


@composite(
    inplace=True,
    out=Out("the output given to float_power has dtype {wanted} but the operation's result requires dtype {found}"),
)
def float_power(input, exponent, *, out=None):
    """input to the power exponent in double precision.

    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
    if not (isinstance(input, Tensor) or isinstance(exponent, Tensor)):
        raise TypeError(
            "float_power() received an invalid combination of arguments - got two "
            "numbers, but expected a Tensor among them"
        )
    complex_ = any(x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex) for x in (input, exponent))
    dtype = _types.by_name["complex128" if complex_ else "float64"]
    input, exponent = (
        x.to(dtype) if isinstance(x, Tensor) else (complex if complex_ else float)(x) for x in (input, exponent)
    )
    result = pow(input, exponent)
    return result if out is None else write_out("float_power", out, result)


square = unary(
    "square",
    lambda x: p.integer_pow(x, y=2) if x.aval.dtype != dt.bool_ else p.convert(x, dtype=dt.int64),
    "input * input, elementwise.",
    floats=False,
    dtypes=d.NUMERIC | {dt.bool_},
    node="PowBackward0",
    example="[3., -2.] -> [9., 4.]",
)


@torch_op(inplace=True, out=Out("ldexp can't be cast to the desired output type {wanted}"), saves="result")
def ldexp(input: Tensor, other: Tensor, *, out=None):
    """input * 2 ** other, elementwise.

    >>> torch.ldexp(torch.tensor([1.]), torch.tensor([1, 2, 3]))
    tensor([2., 4., 8.])
    """
    if input.aval.dtype in dt.FLOATING and other.aval.dtype not in dt.INEXACT:
        require(other, dt.INTEGER, "ldexp_cpu_exp")
        return widened(_scaled)(*promote(input, other))
    (power,) = promote(other, to_float=True)
    power = p.exp2(power)
    if input.aval.dtype in dt.COMPLEX and other.aval.dtype not in dt.INEXACT:  # whatever dimensions both have
        power = p.convert(power, dtype=input.aval.dtype)
    return p.mul(*promote(input, power))


def _scaled(x, n):
    """x * 2 ** n of whole n, in steps: 2 ** n may be too large to be held."""
    most = 127 if n.aval.dtype == dt.float32 else 1023
    for _ in range(3):
        step = p.max(p.min(n, like(n, most)), like(n, -most))
        x, n = p.mul(x, p.exp2(step)), p.sub(n, step)
    return x


# ---- signs ---------------------------------------------------------------------------------------

_BOOL_NEG = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)


@torch_op(inplace=True, aliases=("negative",), dunder=("neg",), out=Out(EXPECTED))
def neg(input: Tensor, *, out=None):
    """-input, elementwise.

    >>> torch.neg(torch.tensor([1., -2.]))
    tensor([-1.,  2.])
    """
    if input.aval.dtype == dt.bool_:
        raise RuntimeError(_BOOL_NEG)
    return p.neg(input)


@composite(dunder=("pos",))
def positive(input):
    """input itself; bools raise.

    >>> torch.positive(torch.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    if input.dtype is _types.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@torch_op(inplace=True, aliases=("absolute",), dunder=("abs",), out=Out(EXPECTED))
def abs(input: Tensor, *, out=None):
    """The absolute value, elementwise; the magnitude of complex numbers.

    >>> torch.abs(torch.tensor([-1., 2.]))
    tensor([1., 2.])
    """
    require(input, d.NUMERIC, "abs_cpu")
    return subgradients.magnitude(input)


def _sign(x):
    if x.aval.dtype in dt.COMPLEX:
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    return _sgn(x)


def _sgn(x):
    dtype = x.aval.dtype
    if dtype == dt.bool_:
        return x
    if dtype in dt.FLOATING:  # NaN has sign 0
        return d.flat(p.select(p.ne(x, x), like(x, 0), p.sign(x)), x)
    return subgradients.complex_sign(x) if dtype in dt.COMPLEX else p.sign(x)


sign = unary(
    "sign",
    _sign,
    "-1, 0 or 1, elementwise.",
    floats=False,
    dtypes=d.NUMERIC | {dt.bool_},
    out=Out(EXPECTED),
    example="[3., -2.] -> [ 1., -1.]",
)
sgn = unary(
    "sgn",
    _sgn,
    "-1, 0 or 1, elementwise; x / |x| of complex numbers.",
    floats=False,
    dtypes=d.NUMERIC | {dt.bool_},
    out=Out(EXPECTED),
    example="[3., -2.] -> [ 1., -1.]",
)


def sign_bit(x):
    """Whether the sign bit is set."""
    if x.aval.dtype == dt.bool_:
        return p.full(x.aval.shape, False, dt.bool_)
    if x.aval.dtype in dt.COMPLEX:
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return ew.signbit(x)


signbit = unary(
    "signbit",
    sign_bit,
    "Whether the sign bit is set (also of -0.), elementwise.",
    floats=False,
    dtypes=d.NUMERIC | {dt.bool_},
    inplace=False,
    out=Out("signbit does not support non-boolean outputs."),
    example="[1., -2.] -> [False,  True]",
)


copysign = binary(
    "copysign",
    subgradients.copied_sign,
    "The size of input with the sign of other, elementwise.",
    right=Operand,
    floats=True,
    dtypes=d.FLOATS,
    node=if_tensor("other", "CopysignBackward0", "CopysignBackward1"),
    example="[1., 2.], [-1., 1.] -> [-1.,  2.]",
)


@torch_op(
    inplace=True,
    out=Out("heaviside is not yet implemented for tensors with different dtypes.", recorded=True),
    node="NotImplemented",
)
def heaviside(input: Tensor, values: Tensor, *, out=None):
    """0 where input is negative, 1 where it is positive, values where it is 0.

    >>> torch.heaviside(torch.tensor([-1.5, 0., 2.]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if dt.COMPLEX & {input.aval.dtype, values.aval.dtype}:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.aval.dtype != values.aval.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    x, v = broadcast([input, values])
    zero = like(x, 0)
    return p.select(p.eq(x, zero), v, p.convert(p.gt(x, zero), dtype=x.aval.dtype))


# ---- the larger, the smaller ---------------------------------------------------------------------


def _ordered(name: str, apply):
    """A binary function that complex numbers have not."""

    def checked(x, y):
        if x.aval.dtype in dt.COMPLEX:
            raise RuntimeError(f"{name} not implemented for complex tensors.")
        return apply(x, y)

    return checked


def _is_nan(x):
    return p.ne(x, x)


def _fmax(x, y):
    return p.select(p.or_(p.ge(x, y), _is_nan(y)), x, y)


def _fmin(x, y):
    return p.select(p.or_(p.le(x, y), _is_nan(y)), x, y)


_ANY = d.NUMERIC | {dt.bool_}
maximum = binary(
    "maximum",
    _ordered("maximum", p.max),
    "The larger of two, elementwise; NaN wins.",
    dtypes=_ANY,
    inplace=False,
    example="[1., 4.], [3., 2.] -> [3., 4.]",
)
minimum = binary(
    "minimum",
    _ordered("minimum", p.min),
    "The smaller of two, elementwise; NaN wins.",
    dtypes=_ANY,
    inplace=False,
    example="[1., 4.], [3., 2.] -> [1., 2.]",
)
fmax = binary(
    "fmax",
    _ordered("fmax", _fmax),
    "The larger of two, elementwise; NaN loses.",
    dtypes=_ANY,
    inplace=False,
    example='[1., float("nan")], [3., 2.] -> [3., 2.]',
)
fmin = binary(
    "fmin",
    _ordered("fmin", _fmin),
    "The smaller of two, elementwise; NaN loses.",
    dtypes=_ANY,
    inplace=False,
    example='[1., float("nan")], [3., 2.] -> [1., 2.]',
)


@torch_op(
    inplace=True,
    aliases=("clip",),
    out=Out(EXPECTED),
    number="taken",
    node=lambda a: None if isinstance(a.min, Tensor) or isinstance(a.max, Tensor) else "ClampBackward1",
)
def clamp(input: Tensor, min: Bound = None, max: Bound = None, *, out=None):
    """input moved into [min, max], elementwise; the bounds are numbers, tensors or None.

    The three are broadcast. RuntimeError for neither bound.

    >>> torch.clamp(torch.tensor([-1., .5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = promote(*[v for v in (input, min, max) if v is not None])
    x, bounds = given[0], iter(given[1:])
    require(x, d.ORDERED, "clamp_cpu")
    if x.aval.dtype == dt.bool_:
        low = x if min is None else p.max(x, next(bounds))
        return low if max is None else p.min(low, next(bounds))
    return ew.clamped(x, None if min is None else next(bounds), None if max is None else next(bounds))


@torch_op(inplace=True, out=Out(EXPECTED), number="taken", node=if_tensor("min", "ClampMinBackward1"))
def clamp_min(input: Tensor, min: Bound, *, out=None):
    """The larger of input and a bound, elementwise.

    >>> torch.clamp_min(torch.tensor([-1., 2.]), 0)
    tensor([0., 2.])
    """
    return clamp.fun(input, min)


@torch_op(inplace=True, out=Out(EXPECTED), number="taken", node=if_tensor("max", "ClampMaxBackward1"))
def clamp_max(input: Tensor, max: Bound, *, out=None):
    """The smaller of input and a bound, elementwise.

    >>> torch.clamp_max(torch.tensor([-1., 2.]), 0)
    tensor([-1.,  0.])
    """
    return clamp.fun(input, None, max)


# ---- lengths and steps ---------------------------------------------------------------------------

hypot = binary(
    "hypot",
    widened(subgradients.length),
    "sqrt(input ** 2 + other ** 2), elementwise, without overflow.",
    dtypes=d.FLOATS,
    example="[3., 5.], [4., 12.] -> [ 5., 13.]",
)


nextafter = binary(
    "nextafter",
    subgradients.next_after,
    "The next number after input towards other.",
    dtypes=d.FLOATS,
    example="[1., 2.], [3., 0.] -> [1.0000, 2.0000]",
)
