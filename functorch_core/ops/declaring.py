"""How elementwise operations are declared: promotion, the dtypes they take, their documentation."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..core import dtypes as dt
from ..core.aval import aval_of
from .op import Op, op
from .promotion import promote

BITS = dt.INTEGER | {dt.bool_}
NOT_DEFINED = "{name} is not defined for {dtype} arrays, only for {what}; convert first with astype"
KINDS = {
    dt.ALL: "any dtype",
    dt.NUMERIC: "numbers",
    dt.ORDERED: "real numbers and bools",
    dt.REAL: "real numbers",
    dt.FLOATING: "floats",
    BITS: "integers and bools",
    dt.INTEGER: "integers",
    dt.INEXACT: "floats and complex numbers",
}


def binary(
    name: str,
    apply: Callable,
    doc: str,
    example: str,
    gives: str,
    *,
    allowed=dt.ALL,
    to_inexact=False,
    to_numeric=False,
    **declared,
) -> Op:
    """An operation of two operands that are promoted and broadcast first, of fc and places `also`; see op."""

    def fun(x1, x2, /):
        x1, x2 = promote(x1, x2, name=name, to_inexact=to_inexact, to_numeric=to_numeric)
        check(name, x1, allowed)
        return apply(x1, x2)

    takes = "Operands are promoted to one dtype and broadcast to one shape."
    return _finish(fun, name, doc, takes, example, gives, allowed, to_inexact, to_numeric, **declared)


def unary(
    name: str,
    apply: Callable,
    doc: str,
    example: str,
    gives: str,
    *,
    allowed=dt.ALL,
    to_inexact=False,
    to_numeric=False,
    **declared,
) -> Op:
    """An operation of one operand."""

    def fun(x, /):
        (x,) = promote(x, name=name, to_inexact=to_inexact, to_numeric=to_numeric)
        check(name, x, allowed)
        return apply(x)

    return _finish(fun, name, doc, "", example, gives, allowed, to_inexact, to_numeric, **declared)


def _finish(fun, name, doc, takes, example, gives, allowed, to_inexact, to_numeric, also=(), names="") -> Op:
    fun.__name__ = fun.__qualname__ = name
    fun.__module__ = sys._getframe(2).f_globals["__name__"]  # where it is declared
    dtypes = "Integers and bools become float32." if to_inexact else "Bools become int64." if to_numeric else ""
    if allowed != dt.ALL:
        dtypes += f" TypeError for dtypes other than {KINDS[allowed]}."
    details = " ".join(f"{takes} {dtypes}".split())
    fun.__doc__ = f"{doc}\n\n    {details}\n\n    >>> import functorch_core as fc\n    >>> {example}\n    {gives}\n    "
    return op("fc", *also, names=names, scalars=True)(fun)


def check(name: str, x, allowed):
    """TypeError unless the (promoted) dtype is one the operation is defined for."""
    dtype = aval_of(x).dtype
    if dtype not in allowed:
        what = KINDS.get(allowed) or ", ".join(sorted(d.name for d in allowed))
        raise TypeError(NOT_DEFINED.format(name=name, dtype=dtype.name, what=what))
