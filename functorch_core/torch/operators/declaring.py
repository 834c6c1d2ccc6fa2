"""What declarations of elementwise ops share: promotion, dtype checks, half precision."""

from __future__ import annotations

import re
from collections.abc import Callable

from ... import primitives as p
from ...core import dtypes as dt
from ...ops.signature import SCALARS, Weak
from ...transforms.custom import stop_gradient
from ..dispatch.op import TorchOp, torch_op
from ..tensors import types as _types
from ..tensors.base import Tensor
from ..tensors.promotion import HALF, broadcast, cast, promote, result_dtype
from ..tensors.types import scalar_name as scalar_name
from .values import NOT_IMPLEMENTED as NOT_IMPLEMENTED
from .values import require

FLOATS = dt.FLOATING - dt.FLOAT8
INEXACT = FLOATS | dt.COMPLEX
REAL = dt.INTEGER | FLOATS
NUMERIC = REAL | dt.COMPLEX
BITS = dt.INTEGER | {dt.bool_}
ORDERED = REAL | {dt.bool_}


def to_float(x):
    """x itself, or in the default float if it is of integers or bools."""
    if x.aval.dtype in dt.INEXACT:
        return x
    return p.convert(x, dtype=_types.defaults.dtype.numpy)


def like(x, value):
    """One number (or a traced scalar of x's dtype) in x's shape."""
    a = x.aval
    if isinstance(value, Weak):
        value = cast(value, a.dtype)
    if hasattr(value, "aval"):
        return p.broadcast_in_dim(value, shape=a.shape, dims=())
    return p.full(a.shape, value, a.dtype)


def widened(apply: Callable) -> Callable:
    """A function of several steps that rounds half precision once, at its end."""

    def wide(*xs, **params):
        dtype = xs[0].aval.dtype
        if dtype not in HALF:
            return apply(*xs, **params)
        out = apply(*[p.convert(x, dtype=dt.float32) for x in xs], **params)
        return p.convert(out, dtype=dtype)

    return wide


def by_number(apply: Callable, input, other, *, to_float: bool = False):
    """apply(input, other), promoted and broadcast; half precision by a number is computed in float32.

    A number is a second operand that is a Python number or has no dimensions: float16 has no 65536, and 1 / 3 is
    another in bfloat16. The other operand and the result are rounded as ever.
    """
    dtype = result_dtype((input, other))
    if to_float and dtype not in dt.INEXACT:
        dtype = _types.defaults.dtype.numpy
    x = cast(input, dtype)
    if dtype in HALF and (number_operand(other) or not other.aval.ndim):
        wide = [p.convert(x, dtype=dt.float32), cast(other, dt.float32)]
        return p.convert(apply(*broadcast(wide)), dtype=dtype)
    return apply(*broadcast([x, cast(other, dtype)]))


def scale_dtype(dtype):
    """The dtype in which a number scales values of this dtype: float32 for half precision."""
    return dt.float32 if dtype in HALF else dtype


def flat(out, *operands):
    """out, as a function of operands whose derivative is 0 (and which requires grad if one of them does)."""
    operands = [x for x in operands if x.aval.dtype in dt.INEXACT and x.aval.dtype == out.aval.dtype]
    out = stop_gradient(out) if operands else out
    for x in operands:
        out = p.select(p.full(x.aval.shape, True, dt.bool_), out, x)
    return out


def kind_of(number) -> type:
    """The Python type of a number that is a literal or an input."""
    return number.kind if isinstance(number, Weak) else type(number)


def number_operand(x) -> bool:
    """Whether an operand is a Python number, not a tensor."""
    return isinstance(x, (Weak, *SCALARS))


def require_tensor(name: str, *operands):
    """TypeError if all operands are numbers."""
    if all(map(number_operand, operands)):
        kinds = ", ".join(kind_of(x).__name__ for x in operands)
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}), but expected a Tensor among them"
        )


# ---- declaring -----------------------------------------------------------------------------------


def unary(
    name: str,
    apply: Callable,
    doc: str,
    *,
    dtypes=INEXACT,
    floats: bool = True,
    kernel: str | None = None,
    inplace: bool = True,
    example: str = "",
    **forms,
) -> TorchOp:
    """An op of one tensor. `floats`: integers and bools become the default float first."""

    def fun(input, *, out=None):
        x = to_float(input) if floats else input
        require(x, dtypes, kernel or f"{name}_cpu")
        return apply(x)

    note = "Integers and bools become the default float." if floats else ""
    return _declare(fun, name, doc, note, {"input": Tensor}, example, inplace=inplace, **forms)


def binary(
    name: str,
    apply: Callable,
    doc: str,
    *,
    left=Tensor,
    right=Tensor,
    dtypes=NUMERIC,
    floats: bool = False,
    kernel: str | None = None,
    inplace: bool = True,
    numbers: bool = False,
    example: str = "",
    **forms,
) -> TorchOp:
    """An op of two operands, promoted to one dtype and broadcast to one shape.

    `left` and `right` say what they may be: Tensor, or Operand where it may be a number;
    `numbers`: both may.
    """

    def fun(input, other, *, out=None):
        if not numbers:
            require_tensor(name, input, other)
        x, y = promote(input, other, to_float=floats)
        require(x, dtypes, kernel or f"{name}_cpu")
        return apply(x, y)

    note = "The operands are promoted to one dtype and broadcast to one shape."
    return _declare(fun, name, doc, note, {"input": left, "other": right}, example, inplace=inplace, **forms)


def _declare(fun, name, doc, note, annotations, example, **forms) -> TorchOp:
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = with_example(f"{doc}\n\n    {note}".rstrip(), name, example)
    fun.__annotations__ = annotations
    return torch_op(name=name, **forms)(fun)


def with_example(doc: str, name: str, example: str) -> str:
    """A docstring with an example, told as "[0., 1.] -> [1., 2.]": the operands' elements and the result's."""
    if not example:
        return doc + "\n    "
    operands, _, result = example.partition(" -> ")
    tensors = ", ".join(f"torch.tensor({part})" for part in re.findall(r"\[[^]]*\]", operands))
    call = f"torch.{name.replace('special_', 'special.')}({tensors})"
    return f"{doc}\n\n    >>> {call}\n    tensor({result})\n    "
