"""Collectives: what an example under vmap can know of the others along a named axis.

    psum, pmax, all_gather, axis_index     params: axis_name, size

They exist until the vmap of their axis batches them into ordinary operations. One over another
axis passes through it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval
from ..core.primitive import NOT_LINEAR, Primitive, Reason, Traits
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Jvp, Tangents, Value
from ..primitives import broadcast_in_dim, constant, div, eq, iota, mul, reduce_max, reduce_sum, select, zeros
from ..primitives.batching import Axis, move_batch_axis
from ..primitives.declare import check_dtype, jointly_linear

UNBOUND = """{what} over axis {name!r}, which no enclosing vmap has; it has {bound}.
    wrong: fc.vmap(f)(x)                        right: fc.vmap(f, axis_name={name!r})(x)"""

# ---- the axes in scope ---------------------------------------------------------------------------


class _Axes(threading.local):
    sizes: dict[Any, Any] = {}


_axes = _Axes()


@contextlib.contextmanager
def bound_axis(name: object, size: int) -> Iterator[None]:
    """While the function under vmap is traced: an axis of that name is in scope."""
    saved = _axes.sizes
    _axes.sizes = {**saved, name: size}
    try:
        yield
    finally:
        _axes.sizes = saved


def in_axis(axis: Axis) -> Any:
    """The scope of the axis of a batch, for what is traced only when it is batched."""
    return contextlib.nullcontext() if axis.name is None else bound_axis(axis.name, axis.size)


def axes_in_scope() -> tuple[Any, ...]:
    """The names and sizes in scope: what a trace may depend on."""
    return tuple(_axes.sizes.items())


def axis_size(name: str, what: str = "axis_size") -> int:
    """The size of a named axis in scope; NameError if there is none."""
    if name not in _axes.sizes:
        bound = ", ".join(map(repr, _axes.sizes)) or "none at all"
        raise NameError(UNBOUND.format(what=what, name=name, bound=bound))
    return _axes.sizes[name]


# ---- what they share -----------------------------------------------------------------------------


def _unbound(name: str) -> Function:
    """The reference and the lowering of a collective: too late, its axis is gone."""

    def rule(*args: Any, axis_name: Any, size: int, **params: Any) -> NoReturn:
        raise NameError(UNBOUND.format(what=name, name=axis_name, bound="none here any more"))

    return rule


def _collective(
    name: str, *, shape: Function, jvp: Function, transpose: Function | Reason, over: Function
) -> Primitive:
    """A primitive of one operand; over(axis, x, dim, **params) -> (out, dim) is its own vmap."""

    def batch(axis: Axis, args: Sequence[Value], dims: Dims, *, axis_name: str, size: int, **params: Any) -> Batched:
        x, dim = args[0], dims[0]
        if axis_name == axis.name:
            return over(axis, x, dim, **params)
        return _past_another(primitive, x, dim, axis_name=axis_name, size=size, **params)

    primitive = Primitive(
        name,
        traits=Traits(family="collective"),
        shape=shape,
        reference=_unbound(name),
        lower=_unbound(name),
        jvp=jvp,
        transpose=transpose,
        batch=batch,
    )
    return primitive


def _past_another(primitive: Primitive, x: Value, dim: int, **params: Any) -> tuple[Value, int]:
    """A collective over another axis: this one goes through."""
    if "at" in params:  # the new dimension of all_gather goes in before or behind this one
        at = params.pop("at")
        before = at <= dim
        return bind(primitive, x, at=at if before else at + 1, **params), dim + before
    return bind(primitive, x, **params), dim


# ---- psum ----------------------------------------------------------------------------------------


def psum(x: Value, *, axis_name: str | tuple[str, ...]) -> Value:
    """The sum of x over all examples of the named axis (or axes, a tuple), the same in each."""
    for one in axis_name if isinstance(axis_name, tuple) else (axis_name,):
        x = _psum(x, axis_name=one, size=axis_size(one, "psum"))
    return x


def _psum(x: Value, *, axis_name: str, size: int) -> Value:
    return bind(psum_p, x, axis_name=axis_name, size=size)


def _psum_shape(x: Aval, *, axis_name: str, size: int) -> Aval:
    check_dtype("psum", x, dt.NUMERIC, "numeric")
    return x


def _psum_over(axis: Axis, x: Value, dim: int | None) -> tuple[Value, None]:
    if dim is not None:
        return reduce_sum(x, axes=(dim,)), None
    count = constant(np.asarray(axis.size).astype(x.dtype))
    return mul(x, broadcast_in_dim(count, shape=x.shape, dims=())), None


psum_p = _collective(
    "psum",
    shape=_psum_shape,
    jvp=jointly_linear(_psum),
    transpose=lambda ct, x, **params: (_psum(ct, **params),),
    over=_psum_over,
)


def pmean(x: Value, *, axis_name: str) -> Value:
    """The mean of x over all examples of the named axis (or axes, a tuple)."""
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    count = float(np.prod([axis_size(one, "pmean") for one in names]))
    return div(psum(x, axis_name=names), count)


# ---- pmax ----------------------------------------------------------------------------------------


def pmax(x: Value, *, axis_name: str) -> Value:
    """The maximum of x over all examples of the named axis (or axes, a tuple)."""
    for one in axis_name if isinstance(axis_name, tuple) else (axis_name,):
        x = _pmax(x, axis_name=one, size=axis_size(one, "pmax"))
    return x


def _pmax(x: Value, *, axis_name: str, size: int) -> Value:
    return bind(pmax_p, x, axis_name=axis_name, size=size)


def _pmax_shape(x: Aval, *, axis_name: str, size: int) -> Aval:
    check_dtype("pmax", x, dt.ORDERED, "real or bool")
    return x


def _pmax_jvp(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvp:
    """Equal maxima share the tangent."""
    out = _pmax(primals[0], **params)
    wins = eq(primals[0], out)
    one = broadcast_in_dim(constant(np.ones((), out.dtype)), shape=out.shape, dims=())
    zero = zeros(out.aval)
    number = _psum(select(wins, one, zero), **params)
    return out, div(_psum(select(wins, tangents[0], zero), **params), number)


pmax_p = _collective(
    "pmax",
    shape=_pmax_shape,
    jvp=_pmax_jvp,
    transpose=NOT_LINEAR,
    over=lambda axis, x, dim: (x if dim is None else reduce_max(x, axes=(dim,)), None),
)

# ---- all_gather ----------------------------------------------------------------------------------


def all_gather(x: Value, *, axis_name: str, at: int = 0) -> Value:
    """x of all examples of the named axis, stacked as dimension `at`, the same in each."""
    return _all_gather(x, axis_name=axis_name, size=axis_size(axis_name, "all_gather"), at=at)


def _all_gather(x: Value, *, axis_name: str, size: int, at: int) -> Value:
    return bind(all_gather_p, x, axis_name=axis_name, size=size, at=at)


def _all_gather_shape(x: Aval, *, axis_name: str, size: int, at: int) -> Aval:
    if not 0 <= at <= x.ndim:
        raise ValueError(f"all_gather of {x}: at={at} is not a place for a new dimension, 0 to {x.ndim}")
    return aval((*x.shape[:at], size, *x.shape[at:]), x.dtype)


def _all_gather_transpose(ct: Value, x: Value, *, axis_name: str, size: int, at: int) -> Cotangents:
    """Each example's cotangent is its own row of the sum of all."""
    summed = _psum(ct, axis_name=axis_name, size=size)
    index = bind(axis_index_p, axis_name=axis_name, size=size)
    rows = eq(iota(shape=ct.shape, dtype=dt.int32, dimension=at), broadcast_in_dim(index, shape=ct.shape, dims=()))
    return (reduce_sum(select(rows, summed, zeros(ct.aval)), axes=(at,)),)


all_gather_p = _collective(
    "all_gather",
    shape=_all_gather_shape,
    jvp=jointly_linear(_all_gather),
    transpose=_all_gather_transpose,
    over=lambda axis, x, dim, at: (move_batch_axis(axis, x, dim, at), None),
)

# ---- axis_index ----------------------------------------------------------------------------------


def axis_index(axis_name: str) -> Value:
    """The place of this example along the named axis, an int32."""
    return bind(axis_index_p, axis_name=axis_name, size=axis_size(axis_name, "axis_index"))


def _axis_index_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, axis_name: str, size: int) -> Batched:
    if axis_name == axis.name:
        return iota(shape=(size,), dtype=dt.int32), 0
    return bind(axis_index_p, axis_name=axis_name, size=size), None


axis_index_p = Primitive(
    "axis_index",
    traits=Traits(family="collective"),
    shape=lambda *, axis_name, size: aval((), dt.int32),
    reference=_unbound("axis_index"),
    lower=_unbound("axis_index"),
    jvp=Reason("it has no operand"),
    transpose=NOT_LINEAR,
    batch=_axis_index_batch,
)
