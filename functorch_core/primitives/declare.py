"""How primitives are declared: rule makers for what many of them share.

Linearity and elementwise-ness are data here: a primitive says `jvp=jointly_linear(bind)` or
`unary(...)`, and the rules follow.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand
from ..core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, Linear, Primitive, Reason, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import ArrayLike, Function, Jvp, Tangents, Value
from .batching import elementwise_batch

# ---- jvp from linearity --------------------------------------------------------------------------


def jointly_linear(apply: Function, operands: Collection[int] | None = None) -> Function:
    """jvp of a function linear in these operands together (all by default): f(tangents)."""

    def rule(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvp:
        from .structure import zeros

        out = apply(*primals, **params)
        which = range(len(primals)) if operands is None else operands
        moved = list(primals)
        for i in which:
            moved[i] = zeros(primals[i].aval) if tangents[i] is None else tangents[i]
        if all(tangents[i] is None for i in which):
            return out, None
        return out, apply(*moved, **params)

    return rule


def multilinear(apply: Function, operands: Collection[int] = (0, 1)) -> Function:
    """jvp of a function linear in each of these operands apart: the product rule."""

    def rule(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvp:
        from .arithmetic import add

        out, tangent = apply(*primals, **params), None
        for i in operands:
            if tangents[i] is not None:
                term = apply(*[tangents[i] if j == i else p for j, p in enumerate(primals)], **params)
                tangent = term if tangent is None else add(tangent, term)
        return out, tangent

    return rule


def by_derivative(apply: Function, derivative: Function) -> Function:
    """jvp of a function of one operand: derivative(t, out, x) is the tangent for the tangent t of x."""

    def rule(primals: Sequence[Value], tangents: Tangents) -> Jvp:
        out = apply(primals[0])
        return out, derivative(tangents[0], out, primals[0])

    return rule


def no_tangent(apply: Function) -> Function:
    """jvp of a function that is constant almost everywhere: no tangent."""

    def rule(primals: Sequence[Value], tangents: Tangents, **params: Any) -> tuple[Any, Any]:
        out = apply(*primals, **params)
        return out, [None] * len(out) if isinstance(out, (list, tuple)) else None

    return rule


# ---- elementwise -----------------------------------------------------------------------------------

ELEMENTWISE = Traits(family="elementwise", elementwise=True)
BROADCASTING = ELEMENTWISE.but(broadcasts=True)
ARITHMETIC = BROADCASTING.but(conjugates=True)


def check_dtype(name: str, a: Aval, allowed: Collection[np.dtype], what: str) -> None:
    """TypeError unless the aval's dtype is among `allowed`, described by `what`."""
    if a.dtype not in allowed:
        raise dt.DtypeError(f"{name} takes {what} arrays, got {a}; convert it first", a.dtype)


def same_avals(name: str, avals: tuple[Aval, ...]) -> None:
    """TypeError unless all operands of an elementwise primitive agree in shape and dtype."""
    if avals.count(avals[0]) < len(avals):
        raise dt.DtypeError(
            f"{name} (primitive) takes operands of one shape and dtype, got "
            + ", ".join(map(str, avals))
            + "; broadcast and promote them first"
        )


def elementwise_shape(name: str, allowed: Collection[np.dtype], what: str, out_dtype: Function) -> Function:
    """The shape rule: equal avals in, the same shape out, dtype by out_dtype(dtype)."""

    def rule(*avals: Aval, **params: Any) -> Aval:
        same_avals(name, avals)
        check_dtype(name, avals[0], allowed, what)
        dtype = out_dtype(avals[0].dtype)
        return avals[0] if dtype == avals[0].dtype else aval(avals[0].shape, dtype)

    return rule


def elementwise_lower(hlo: str, out_dtype: Function) -> Function:
    """The lowering: one StableHLO (or CHLO) operation."""

    def rule(ctx: LowerContext, *operands: Operand) -> Operand:
        a = operands[0].aval
        out = a.with_dtype(out_dtype(a.dtype))
        # By float32: of results rounded to float8 XLA's own conversion spoils some, and to bfloat16 leaves them out or
        # is slow (see convert).
        if a.dtype not in dt.FLOAT8 and not (a.dtype == dt.bfloat16 and ctx.platform == "cpu"):
            return ctx.op(hlo, *operands, out=out)
        wide = [ctx.call(_converted, x, dtype=dt.float32)[0] for x in operands]
        kept = dt.float32 if out.dtype == a.dtype else out.dtype
        return ctx.call(_converted, ctx.op(hlo, *wide, out=a.with_dtype(kept)), dtype=out.dtype)[0]

    return rule


# Numbers: of fewer a choice between two ways takes as long as it saves. SIREN's gradient (six layers of 512 x 512)
# takes 13.3 ms for 21.5 by sines of its own, and 0.31 s to compile for 0.18.
SEVERAL = 2048


def quick_lower(plain: Function, form: Function, is_odd: Function) -> Function:
    """A lowering by form(*operands) of many float32 numbers on a CPU, by `plain` where is_odd(*operands) holds.

    And by `plain` over several devices, which would have to agree, and in a file for all sizes.
    """

    def lower(ctx: LowerContext, *operands: Operand) -> Operand:
        a = operands[0].aval
        elsewhere = ctx.platform != "cpu" or ctx.root.meshes or "portable" in ctx.root.features
        if elsewhere or a.dtype != dt.float32 or a.size < SEVERAL:
            return plain(ctx, *operands)
        (odd,), (quick,) = ctx.call(is_odd, *operands), ctx.call(form, *operands)
        return unless(ctx, odd, quick, lambda inner: plain(inner, *operands))

    return lower


def unless(ctx: LowerContext, odd: Operand, quick: Operand, slow: Function) -> Operand:
    """What is computed already, but slow(ctx) where the bool `odd` holds. (XLA divides no loop within a branch among
    threads: 262,144 sines 0.12 ms like this, 1.0 with the quick way in the other branch.)"""
    regions = [ctx.region((), slow), ctx.region((), lambda inner: quick)]
    return ctx.op("stablehlo.if", odd, out=quick.aval, regions=regions)


def _converted(x: Value, *, dtype: np.dtype) -> Value:
    from .convert import convert

    return convert(x, dtype=dtype)


def same_dtype(dtype: np.dtype) -> np.dtype:
    """out_dtype of most elementwise primitives."""
    return dtype


def half_reference(fun: Function) -> Function:
    """A NumPy function that also takes bfloat16 and float8, computed in float32."""

    def rule(*arrays: np.ndarray, **params: Any) -> np.ndarray:
        dtype = arrays[0].dtype
        if dtype.itemsize > 2 or dtype not in dt.FLOATING:  # not by kind: float8_e5m2's is 'f'
            return fun(*arrays, **params)
        out = fun(*[a.astype(np.float32) for a in arrays], **params)
        return out if out.dtype == np.bool_ else out.astype(dtype)

    def at(*avals: Aval, **params: Any) -> Function | None:
        dtype = avals[0].dtype
        if dtype.itemsize <= 2 and dtype in dt.FLOATING:
            return None
        if hasattr(fun, "specialised"):
            return fun.specialised(*avals, **params)
        return functools.partial(fun, **params) if params else fun

    return specialised(at)(rule)


class Wrapper(Protocol):
    """A function that binds a primitive."""

    primitive: Primitive

    def __call__(self, *args: Any, **params: Any) -> Value: ...


def wrapper(primitive: Primitive, apply: Any, doc: str) -> Wrapper:
    """The function that binds a primitive, with its name, the primitive itself and a docstring."""
    apply.__name__, apply.primitive, apply.__doc__ = primitive.name, primitive, doc
    return apply


def unary(
    name: str,
    hlo: str | Function,
    reference: Function,
    *,
    dtypes: frozenset[np.dtype],
    what: str,
    derivative: Function | None | Reason = None,
    out_dtype: Function = same_dtype,
    linear: bool = False,
    traits: Traits = ELEMENTWISE,
) -> Wrapper:
    """Declare an elementwise primitive of one operand; its wrapper function.

    `derivative(t, out, x)` is the tangent of the result for the tangent t of x. `linear=True`
    instead means that the function is linear and its own transpose (neg, conj is not).
    """

    def apply(x: Value) -> Value:
        return bind(primitive, x)

    if linear:
        jvp = jointly_linear(apply)
    else:
        jvp = by_derivative(apply, derivative) if callable(derivative) else no_tangent(apply)
    primitive = Primitive(
        name,
        traits=traits,
        shape=elementwise_shape(name, dtypes, what, out_dtype),
        reference=half_reference(reference),
        lower=hlo if callable(hlo) else elementwise_lower(hlo, out_dtype),
        jvp=jvp,
        transpose=(lambda ct, x: (apply(ct),)) if linear else NOT_LINEAR,
        batch=elementwise_batch(apply),
    )
    return wrapper(primitive, apply, f"Elementwise {name} of {what} arrays.")


def operand_like(x: ArrayLike, like: ArrayLike) -> ArrayLike:
    """x itself, or a Python scalar as an array of the other operand's shape and dtype."""
    if isinstance(x, (bool, int, float, complex)):
        from .structure import full

        a = aval_of(like)
        return full(a.shape, x, a.dtype)
    return x


def binary(
    name: str,
    hlo: str | Function,
    reference: Function,
    *,
    dtypes: frozenset[np.dtype],
    what: str,
    derivatives: tuple[Any, ...] | None = None,
    transpose: Function | Reason = NOT_LINEAR,
    jvp: Function | None = None,
    out_dtype: Function = same_dtype,
    traits: Traits = ELEMENTWISE,
) -> Wrapper:
    """Declare an elementwise primitive of two operands of one shape and dtype; its wrapper.

    `derivatives` holds, for each operand, derivative(t, out, x, y) or None (no dependence).
    The wrapper takes a Python scalar for one of the operands.
    """

    def apply(x: ArrayLike, y: ArrayLike) -> Value:
        return bind(primitive, operand_like(x, y), operand_like(y, x))

    def derived(primals: Sequence[Value], tangents: Tangents) -> Jvp:
        from .arithmetic import add

        out, total = apply(*primals), None
        for t, derivative in zip(tangents, derivatives or ()):
            if t is not None and derivative is not None:
                term = derivative(t, out, *primals)
                total = term if total is None else add(total, term)
        return out, total

    primitive = Primitive(
        name,
        traits=traits,
        shape=elementwise_shape(name, dtypes, what, out_dtype),
        reference=half_reference(reference),
        lower=hlo if callable(hlo) else elementwise_lower(hlo, out_dtype),
        jvp=jvp or (derived if derivatives else no_tangent(apply)),
        transpose=transpose,
        batch=elementwise_batch(apply),
    )
    return wrapper(primitive, apply, f"Elementwise {name} of two {what} arrays of one shape and dtype.")


__all__ = [
    "ARITHMETIC",
    "BROADCASTING",
    "ELEMENTWISE",
    "Linear",
    "NOT_DIFFERENTIABLE",
    "NOT_LINEAR",
    "Primitive",
    "Reason",
    "Wrapper",
    "aval",
    "aval_of",
    "bind",
    "binary",
    "by_derivative",
    "check_dtype",
    "elementwise_batch",
    "elementwise_lower",
    "elementwise_shape",
    "half_reference",
    "jointly_linear",
    "multilinear",
    "no_tangent",
    "operand_like",
    "same_avals",
    "same_dtype",
    "unary",
    "wrapper",
]
