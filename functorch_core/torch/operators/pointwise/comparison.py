"""Comparison, logic, bits, and choice."""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn_once
from ....kernels import elementwise as ew
from ....kernels.elementwise import truth
from ...dispatch.op import PLAIN, Looking, composite, torch_op, write_out
from ...dispatch.slots import Choice, Operand, is_number
from ...dispatch.traits import EXPECTED, Out
from ...levels.levels import refuse_dynamic
from ...tape.meta import NO_ITEM, NO_NONZERO, is_meta, refusal
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.promotion import broadcast, cast, check_held, result_dtype
from ...tensors.types import scalar_name
from ...views.at_hand import array_at_hand
from .. import declaring as d
from ..declaring import binary, unary

ANY = dt.ALL

# ---- comparisons ---------------------------------------------------------------------------------


def _equal_to_array(x: Tensor, array):
    """x == array: of one that cannot be a tensor, NumPy's to say."""
    try:
        return eq(x, _types.named("as_tensor")(array))
    except TypeError:
        return NotImplemented


eq = binary(
    "eq",
    p.eq,
    "Whether input == other, elementwise.",
    right=Operand,
    dtypes=ANY,
    dunder=("eq",),
    with_array=_equal_to_array,
    example="[1., 2.], [1., 3.] -> [ True, False]",
)
ne = binary(
    "ne",
    p.ne,
    "Whether input != other, elementwise.",
    right=Operand,
    dtypes=ANY,
    dunder=("ne",),
    aliases=("not_equal",),
    example="[1., 2.], [1., 3.] -> [False,  True]",
)
lt = binary(
    "lt",
    p.lt,
    "Whether input < other, elementwise.",
    right=Operand,
    dtypes=dt.ORDERED,
    dunder=("lt",),
    aliases=("less",),
    example="[1., 2.], [1., 3.] -> [False,  True]",
)
le = binary(
    "le",
    p.le,
    "Whether input <= other, elementwise.",
    right=Operand,
    dtypes=dt.ORDERED,
    dunder=("le",),
    aliases=("less_equal",),
    example="[1., 2.], [1., 3.] -> [True, True]",
)
gt = binary(
    "gt",
    p.gt,
    "Whether input > other, elementwise.",
    right=Operand,
    dtypes=dt.ORDERED,
    dunder=("gt",),
    aliases=("greater",),
    example="[1., 2.], [0., 3.] -> [ True, False]",
)
ge = binary(
    "ge",
    p.ge,
    "Whether input >= other, elementwise.",
    right=Operand,
    dtypes=dt.ORDERED,
    dunder=("ge",),
    aliases=("greater_equal",),
    example="[1., 2.], [1., 3.] -> [ True, False]",
)


def _check_match(x, y):
    if x.aval.dtype != y.aval.dtype:
        raise RuntimeError(f"{scalar_name(x.aval.dtype)} did not match {scalar_name(y.aval.dtype)}")


@torch_op
def isclose(input: Tensor, other: Tensor, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol |other|, elementwise.

    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1. + 1e-7, 2.1]))
    tensor([ True, False])
    """
    _check_match(input, other)
    if not (rtol >= 0 and atol >= 0):
        which, value = ("rtol", rtol) if not rtol >= 0 else ("atol", atol)
        raise RuntimeError(f"{which} must be greater than or equal to zero, but got {value:g}")
    x, y = broadcast([input, other])
    close = ew.same_or_nan(x, y, equal_nan and x.aval.dtype in dt.INEXACT)
    if rtol == 0 and atol == 0:
        return close
    if x.aval.dtype not in dt.INEXACT:
        x, y = (p.convert(v, dtype=dt.float64) for v in (x, y))
    return p.or_(close, ew.isclose(x, y, rtol, atol))


@composite(without_data=(RuntimeError, NO_ITEM))
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False) -> bool:
    """Whether all elements are close.

    >>> torch.allclose(torch.tensor([1.]), torch.tensor([1. + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite
def equal(input, other) -> bool:
    """Whether two tensors have one shape and equal elements.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if is_meta(input) or is_meta(other):
        raise refusal("equal")
    if input.shape != other.shape:
        return False
    x, y = (_at_hand(input), _at_hand(other)) if input.dtype is other.dtype else (None, None)
    return bool(eq(input, other).all()) if x is None or y is None else bool((x == y).all())


def _at_hand(x: Tensor) -> np.ndarray | None:
    """The numbers of a tensor that are computed and on the host, few enough not to need a program."""
    if x.__class__ not in PLAIN or not active.plain or x._value.aval.size > FEW:
        return None
    array = array_at_hand(x._value if x._view is None else x._read())
    return None if array is None or array.dtype.isbuiltin != 1 else array


FEW = 1 << 14


# ---- kinds of numbers ----------------------------------------------------------------------------


def _test(name: str, apply, doc: str, **traits):
    return unary(name, apply, doc, floats=False, dtypes=ANY, inplace=False, **traits)


def _signed_infinity(name: str, sign: float):
    def apply(x):
        if x.aval.dtype in dt.COMPLEX:
            raise RuntimeError(f"{name} does not support complex inputs.")
        if x.aval.dtype not in dt.FLOATING:
            return p.full(x.aval.shape, False, dt.bool_)
        return p.eq(x, sign * math.inf)

    return apply


def _is_real(x):
    if x.aval.dtype in dt.COMPLEX:
        return p.eq(p.imag(x), 0)
    return p.full(x.aval.shape, True, dt.bool_)


isnan = _test(
    "isnan", ew.isnan, "Whether input is not a number, elementwise.", example='[1., float("nan")] -> [False,  True]'
)
isinf = _test(
    "isinf", ew.isinf, "Whether input is infinite, elementwise.", example='[1., float("inf")] -> [False,  True]'
)
isfinite = _test(
    "isfinite", ew.isfinite, "Whether input is finite, elementwise.", example='[1., float("inf")] -> [ True, False]'
)
isreal = _test("isreal", _is_real, "Whether the imaginary part is 0, elementwise.", example="[1., 2.] -> [True, True]")
for _name, _sign in ("isposinf", 1), ("isneginf", -1):
    _test(
        _name,
        _signed_infinity(_name, _sign),
        f"Whether input is {_sign * math.inf}.",
        example=f'[1., float("inf")] -> [False, {"False" if _sign < 0 else " True"}]',
        out=Out(f"{_name} does not support non-boolean outputs."),
    )

# ---- logic ---------------------------------------------------------------------------------------


def _logical(name: str, combine, doc: str, example: str = ""):
    def fun(input: Tensor, other: Tensor, *, out=None):
        return combine(*broadcast([truth(input), truth(other)]))

    fun.__doc__ = d.with_example(doc, name, example)
    return torch_op(name=name, inplace=True)(fun)


logical_and = _logical(
    "logical_and",
    p.and_,
    "Whether both are not 0, elementwise.",
    example="[True, False], [True, True] -> [ True, False]",
)
logical_or = _logical(
    "logical_or",
    p.or_,
    "Whether one or both are not 0, elementwise.",
    example="[True, False], [False, False] -> [ True, False]",
)
logical_xor = _logical(
    "logical_xor",
    p.xor,
    "Whether exactly one is not 0, elementwise.",
    example="[True, False], [True, True] -> [False,  True]",
)
logical_not = unary(
    "logical_not",
    lambda x: p.not_(truth(x)),
    "Whether input is 0, elementwise.",
    floats=False,
    dtypes=ANY,
    example="[True, False] -> [False,  True]",
)

# ---- bits ----------------------------------------------------------------------------------------


bitwise_and = binary(
    "bitwise_and",
    p.and_,
    "input & other, elementwise.",
    left=Operand,
    right=Operand,
    dtypes=d.BITS,
    dunder=("and", "rand"),
    commutative=True,
    example="[6, 5], [3, 4] -> [2, 4]",
)
bitwise_or = binary(
    "bitwise_or",
    p.or_,
    "input | other, elementwise.",
    left=Operand,
    right=Operand,
    dtypes=d.BITS,
    dunder=("or", "ror"),
    commutative=True,
    example="[6, 5], [3, 4] -> [7, 5]",
)
bitwise_xor = binary(
    "bitwise_xor",
    p.xor,
    "input ^ other, elementwise.",
    left=Operand,
    right=Operand,
    dtypes=d.BITS,
    dunder=("xor", "rxor"),
    commutative=True,
    example="[6, 5], [3, 4] -> [5, 1]",
)
bitwise_not = unary(
    "bitwise_not",
    p.not_,
    "~input, elementwise.",
    floats=False,
    dtypes=d.BITS,
    out=Out(EXPECTED),
    example="[0, 5] -> [-1, -6]",
)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    p.shift_left,
    "input << other, elementwise.",
    left=Operand,
    right=Operand,
    dtypes=dt.INTEGER,
    kernel="lshift_cpu",
    dunder=("lshift", "rlshift"),
    example="[1, 3], [2, 1] -> [4, 6]",
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    ew.shift_right,
    "input >> other, elementwise.",
    left=Operand,
    right=Operand,
    dtypes=dt.INTEGER,
    kernel="rshift_cpu",
    dunder=("rshift", "rrshift"),
    example="[4, 7], [1, 1] -> [2, 3]",
)


# ---- choice --------------------------------------------------------------------------------------


BYTES = (
    "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
    "PyTorch. Use a boolean condition instead."
)


@torch_op(name="_where", number="shown", node="Where0(input, other)")
def where_of(condition: Tensor, input: Choice, other: Choice):
    """input where the condition holds, other elsewhere."""
    if condition.aval.dtype not in (dt.bool_, dt.uint8):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with "
            f"dtype {scalar_name(condition.aval.dtype)}"
        )
    if condition.aval.dtype == dt.uint8:
        warn_once(BYTES)
    dtype = result_dtype((input, other))
    return p.select(*broadcast([truth(condition), cast(input, dtype), cast(other, dtype)]))


EASY = {int: (-128, 127), float: (-65504.0, 65504.0)}  # what dtypes of the kind have


def _check_choices(*choices):
    """RuntimeError for a number that the dtype of the result does not have; in half precision it is infinite."""
    for x in choices:
        low, high = EASY.get(x.__class__, (0, 0))
        if low and not low <= x <= high:
            held = [y if is_number(y) else y._value if y._level is None else y._level for y in choices]
            dtype = result_dtype(held)
            if dtype not in d.HALF:
                check_held(dtype, x)


@composite(
    kind=Looking,
    method=False,
    out=Out("Expected out type to be {found} but got {wanted}", whole=True),
    without_data=NO_NONZERO,
)
def where(condition, input=None, other=None, *, out=None):
    """input where the condition holds, other elsewhere; with one argument the places it holds.

    >>> torch.where(torch.tensor([True, False]), 1., torch.tensor([2., 3.]))
    tensor([1., 3.])
    """
    if input is None and other is None:
        if condition._level is not None:
            refuse_dynamic(condition, "where")
        return condition.nonzero(as_tuple=True)
    if input.__class__ in EASY or other.__class__ in EASY:
        _check_choices(input, other)
    result = where_of(condition, input, other)
    return result if out is None else write_out("where", out, result)


where.takes(where_of)
