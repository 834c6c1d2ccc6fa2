"""Formulas written once, for NumPy arrays and for lowering alike.

A lowering wraps its operands in `Term`, whose operators and functions write StableHLO; the same
formula applied to NumPy arrays computes. `Dual` carries a derivative through either, so that a
series can be differentiated by its parameters without a second formula.

    def logistic(x):
        return 1 / (1 + exp(-x))

    lower=lowered(logistic)         reference=logistic
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.types import Function, Ints
from .scipy_functions import scipy_function

Numeric: TypeAlias = Any  # a Term, a Dual or NumPy's: what has the operators of numbers

# ---- terms ---------------------------------------------------------------------------------------


def _arithmetic(name: str, swapped: bool = False) -> Function:
    def method(self: Numeric, other: Numeric) -> Numeric:
        if isinstance(other, Dual):
            return NotImplemented  # the dual's reflected operator takes over
        pair = (self.like(other), self) if swapped else (self, self.like(other))
        return self.emit(f"stablehlo.{name}", *pair)

    return method


def _comparison(direction: str) -> Function:
    def method(self: Numeric, other: Numeric) -> Numeric:
        attrs = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        return self.emit("stablehlo.compare", self, self.like(other), dtype=dt.bool_, attrs=attrs)

    return method


class Term:
    """An operand of a program being written, with arithmetic; Python scalars take its dtype."""

    __slots__ = ("ctx", "operand")
    __array_ufunc__ = None

    def __init__(self, ctx: LowerContext, operand: Operand) -> None:
        self.ctx, self.operand = ctx, operand

    @property
    def aval(self) -> Aval:
        """The operand's aval."""
        return self.operand.aval

    def emit(
        self, op: str, *terms: Term, dtype: np.dtype | None = None, shape: Ints | None = None, attrs: str = ""
    ) -> Term:
        """Write an operation of these terms; the result is like self but for dtype and shape."""
        out = aval(self.aval.shape if shape is None else shape, dtype or self.aval.dtype)
        return Term(self.ctx, self.ctx.op(op, *[t.operand for t in terms], out=out, attrs=attrs))

    def like(self, other: Numeric) -> Term:
        """Another term as it is; a number as a constant of this shape and dtype."""
        return other if isinstance(other, Term) else Term(self.ctx, self.ctx.full(self.aval, other))

    def astype(self, dtype: type[Any] | np.dtype) -> Term:
        """Converted to a dtype, as `ndarray.astype`."""
        dtype = np.dtype(dtype)
        if dtype == self.aval.dtype:
            return self
        return self.emit("stablehlo.convert", self, dtype=dtype)

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return self.aval.dtype

    def __neg__(self) -> Numeric:
        return self.emit("stablehlo.negate", self)

    def __abs__(self) -> Numeric:
        return self.emit("stablehlo.abs", self)

    def __invert__(self) -> Numeric:
        return self.emit("stablehlo.not", self)

    __add__ = __radd__ = _arithmetic("add")
    __mul__ = __rmul__ = _arithmetic("multiply")
    __sub__, __rsub__ = _arithmetic("subtract"), _arithmetic("subtract", swapped=True)
    __truediv__, __rtruediv__ = _arithmetic("divide"), _arithmetic("divide", swapped=True)
    __pow__ = _arithmetic("power")
    __and__, __or__, __xor__ = _arithmetic("and"), _arithmetic("or"), _arithmetic("xor")
    __lshift__, __rshift__ = _arithmetic("shift_left"), _arithmetic("shift_right_logical")
    __lt__, __le__ = _comparison("LT"), _comparison("LE")
    __gt__, __ge__ = _comparison("GT"), _comparison("GE")


def equals(x: Numeric, y: Numeric) -> Numeric:
    """x == y elementwise (`==` itself stays identity, so that terms hash)."""
    return _comparison("EQ")(x, y) if isinstance(x, Term) else value_of(x) == value_of(y)


def lowered(formula: Function, compute: Function | None = None) -> Function:
    """The lowering rule that a formula gives; `compute` maps the dtype to the one computed in."""

    def rule(ctx: LowerContext, *operands: Operand, **params: Any) -> Operand:
        dtype = operands[0].aval.dtype
        terms = [Term(ctx, o).astype(compute(dtype) if compute else dtype) for o in operands]
        return formula(*terms, **params).astype(dtype).operand

    return rule


# ---- functions -----------------------------------------------------------------------------------


def unary_function(hlo: str, reference: Any, derivative: Any = None) -> Function:
    """A function of arrays, terms and duals; derivative(out, x) is for the duals."""

    def apply(x: Numeric) -> Numeric:
        if isinstance(x, Term):
            return x.emit(hlo, x)
        if isinstance(x, Dual):
            out = apply(x.value)
            return Dual(out, x.dot * derivative(out, x.value))
        return reference(x)

    return apply


def _scipy(name: str) -> Function:
    return lambda x: scipy_function(name)(x)


exp = unary_function("stablehlo.exponential", np.exp, lambda out, x: out)
expm1 = unary_function("stablehlo.exponential_minus_one", np.expm1, lambda out, x: out + 1)
log = unary_function("stablehlo.log", np.log, lambda out, x: 1 / x)
log1p = unary_function("stablehlo.log_plus_one", np.log1p, lambda out, x: 1 / (1 + x))
sqrt = unary_function("stablehlo.sqrt", np.sqrt, lambda out, x: 0.5 / out)
sin = unary_function("stablehlo.sine", np.sin, lambda out, x: cos(x))
cos: Function = unary_function("stablehlo.cosine", np.cos, lambda out, x: -sin(x))
floor = unary_function("stablehlo.floor", np.floor)
erf = unary_function("chlo.erf", _scipy("erf"))
erfc = unary_function("chlo.erfc", _scipy("erfc"), lambda out, x: -1.1283791670955126 * exp(-x * x))
lgamma = unary_function("chlo.lgamma", _scipy("gammaln"), lambda out, x: digamma(x))
digamma: Function = unary_function("chlo.digamma", _scipy("psi"))


def where(condition: Numeric, x: Numeric, y: Numeric) -> Numeric:
    """Select elementwise; x or y may be a number."""
    if isinstance(x, Dual) or isinstance(y, Dual):
        return Dual(where(condition, value_of(x), value_of(y)), where(condition, dot_of(x), dot_of(y)))
    if not isinstance(condition, Term):
        return np.where(condition, x, y)
    if not isinstance(x, Term) and not isinstance(y, Term):
        raise TypeError("where takes at least one term: the dtype is its")
    x, y = (x, x.like(y)) if isinstance(x, Term) else (y.like(x), y)
    return x.emit("stablehlo.select", condition, x, y)


# ---- duals ---------------------------------------------------------------------------------------


class Dual:
    """A value and its derivative by one parameter: sums, products and quotients of both."""

    __slots__ = ("value", "dot")
    __array_ufunc__ = None

    def __init__(self, value: Numeric, dot: Numeric) -> None:
        self.value, self.dot = value, dot

    def __neg__(self) -> Numeric:
        return Dual(-self.value, -self.dot)

    def __add__(self, other: Numeric) -> Numeric:
        return Dual(self.value + value_of(other), self.dot + dot_of(other))

    def __sub__(self, other: Numeric) -> Numeric:
        return Dual(self.value - value_of(other), self.dot - dot_of(other))

    def __rsub__(self, other: Numeric) -> Numeric:
        return Dual(other - self.value, -self.dot)

    def __mul__(self, other: Numeric) -> Numeric:
        if not isinstance(other, Dual):
            return Dual(self.value * other, self.dot * other)
        return Dual(self.value * other.value, self.dot * other.value + self.value * other.dot)

    def __truediv__(self, other: Numeric) -> Numeric:
        if not isinstance(other, Dual):
            return Dual(self.value / other, self.dot / other)
        quotient = self.value / other.value
        return Dual(quotient, (self.dot - quotient * other.dot) / other.value)

    def __rtruediv__(self, other: int) -> Numeric:
        quotient = other / self.value
        return Dual(quotient, -(quotient * self.dot / self.value))

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> Any:
        return self.value < value_of(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= value_of(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > value_of(other)

    def __abs__(self) -> Any:
        return abs(self.value)  # only compared with tolerances here


def value_of(x: Numeric) -> Numeric:
    """A dual's value; anything else itself."""
    return x.value if isinstance(x, Dual) else x


def dot_of(x: Numeric) -> Numeric:
    """A dual's derivative; 0 of anything else."""
    return x.dot if isinstance(x, Dual) else 0.0


# ---- polynomials ---------------------------------------------------------------------------------


def polynomial(x: Numeric, coefficients: Sequence[float]) -> Numeric:
    """c[0] + c[1] x + ... by Horner's rule."""
    total = x * 0 + coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def chebyshev(t: Numeric, coefficients: Sequence[float]) -> Numeric:
    """Sum of c[k] T_k(t) for t in [-1, 1], by Clenshaw's recurrence."""
    twice, later, last = t + t, t * 0, t * 0 + coefficients[-1]
    for c in coefficients[-2:0:-1]:
        later, last = last, twice * last - later + c
    return t * last - later + coefficients[0]


def needed(coefficients: Sequence[float], dtype: np.dtype) -> tuple[float, ...]:
    """The head of a Chebyshev series that this dtype's precision can see.

    |T_k| <= 1, so the tail dropped is at most its coefficients' sum: float32 takes half of them.
    """
    scale = float(dt.finfo(dtype).eps) * max(map(abs, coefficients)) / 16
    kept, tail = len(coefficients), 0.0
    while kept > 2 and tail + abs(coefficients[kept - 1]) < scale:
        tail += abs(coefficients[kept - 1])
        kept -= 1
    return tuple(coefficients[:kept])


# ---- loops ---------------------------------------------------------------------------------------


def iterate(body: Function, state: Sequence[Numeric], limit: int) -> list[Numeric]:
    """Repeat `*state, busy = body(k, *state)`, k = 1, 2, ..., while `busy` holds for some element.

    At most `limit` times. `state` holds arrays, terms or duals, all of one shape. What the body
    needs besides must be in the state too: a loop's region is a scope of its own.
    """
    leaves, rebuild = _flatten(state)
    term = next((x for x in leaves if isinstance(x, Term)), None)
    if term is not None:
        return rebuild(_while(body, term, [term.like(x) for x in leaves], rebuild, limit))
    for k in range(1, limit + 1):
        *state, busy = body(float(k), *state)
        if not np.any(busy):
            break
    return list(state)


def _flatten(state: Sequence[Numeric]) -> tuple[list[Numeric], Function]:
    """The arrays or terms in a state, and how to make the state of them again."""
    leaves = [leaf for x in state for leaf in ((x.value, x.dot) if isinstance(x, Dual) else (x,))]

    def rebuild(new: list[Numeric]) -> list[Numeric]:
        rest = iter(new)
        return [Dual(next(rest), next(rest)) if isinstance(x, Dual) else next(rest) for x in state]

    return leaves, rebuild


def _while(body: Function, like: Term, leaves: list[Numeric], rebuild: Function, limit: int) -> list[Numeric]:
    """stablehlo.while over (k, busy, *leaves); k is a float scalar."""
    ctx, shape, dtype = like.ctx, like.aval.shape, like.aval.dtype
    k = Term(ctx, ctx.full(aval((), dtype), 1))
    busy = Term(ctx, ctx.full(aval(shape, dt.bool_), True))
    carried = [t.operand for t in (k, busy, *leaves)]

    def condition(c: LowerContext, k: Operand, busy: Operand, *_: Operand) -> Operand:
        return (_any(Term(c, busy)) & (Term(c, k) <= limit)).operand

    def step(c: LowerContext, k: Operand, _: Operand, *values: Operand) -> list[Operand]:
        count = Term(c, k)
        spread = count.emit(
            "stablehlo.broadcast_in_dim", count, shape=shape, attrs=f"broadcast_dimensions = {dims_attr(())}"
        )
        *new, busy = body(spread, *rebuild([Term(c, v) for v in values]))
        new = [spread.like(x) for x in _flatten(new)[0]]
        return [t.operand for t in (count + 1, busy, *new)]

    avals = [o.aval for o in carried]
    regions = [ctx.region(avals, condition), ctx.region(avals, step)]
    outs = ctx.op("stablehlo.while", *carried, out=avals, regions=regions)
    return [Term(ctx, o) for o in outs[2:]]


def _any(x: Term) -> Term:
    """Whether some element of a boolean term holds: a scalar."""
    ctx = x.ctx
    start = ctx.full(aval((), dt.bool_), False)
    body = ctx.region((start.aval, start.aval), lambda c, a, b: c.op("stablehlo.or", a, b, out=a.aval))
    return Term(
        ctx,
        ctx.op(
            "stablehlo.reduce",
            x.operand,
            start,
            out=start.aval,
            attrs=f"dimensions = {dims_attr(range(x.aval.ndim))}",
            regions=[body],
        ),
    )
