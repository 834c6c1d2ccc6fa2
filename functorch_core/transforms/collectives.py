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
from ..primitives import (
    broadcast_in_dim,
    concatenate,
    constant,
    convert,
    div,
    eq,
    iota,
    mul,
    reduce_max,
    reduce_sum,
    select,
    slice_in_dim,
    transpose,
    zeros,
)
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
    name: str,
    *,
    shape: Function,
    jvp: Function,
    transpose: Function | Reason,
    over: Function,
    past: Function | None = None,
) -> Primitive:
    """A primitive of one operand; over(axis, x, dim, **params) -> (out, dim) is its own vmap, past(x, dim, **params)
    another's, where that is not the same primitive of the batched operand."""

    def batch(axis: Axis, args: Sequence[Value], dims: Dims, *, axis_name: str, size: int, **params: Any) -> Batched:
        x, dim = args[0], dims[0]
        if axis_name == axis.name:
            return over(axis, x, dim, **params)
        params |= {"axis_name": axis_name, "size": size}
        return _past_another(primitive, x, dim, **params) if past is None else past(x, dim, **params)

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


def pmean(x: Value, *, axis_name: str | tuple[str, ...]) -> Value:
    """The mean of x over all examples of the named axis (or axes, a tuple): a float, if x is of integers."""
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    count = float(np.prod([axis_size(one, "pmean") for one in names]))
    total = psum(x, axis_name=names)
    return div(total if total.aval.dtype in dt.INEXACT else convert(total, dtype=dt.DEFAULT_FLOAT), count)


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

# ---- all_to_all ----------------------------------------------------------------------------------


def all_to_all(x: Value, *, axis_name: str, split: int, at: int) -> Value:
    """Row i along dimension `split`, which has the axis's size, of each example's x goes to example i, and those
    that it gets are stacked as dimension `at`."""
    return _all_to_all(x, axis_name=axis_name, size=axis_size(axis_name, "all_to_all"), split=split, at=at)


def _all_to_all(x: Value, *, axis_name: str, size: int, split: int, at: int) -> Value:
    return bind(all_to_all_p, x, axis_name=axis_name, size=size, split=split, at=at)


def _all_to_all_shape(x: Aval, *, axis_name: str, size: int, split: int, at: int) -> Aval:
    if not (0 <= split < x.ndim and x.shape[split] == size and 0 <= at < x.ndim):
        raise ValueError(f"all_to_all of {x} along an axis of size {size}: split={split}, at={at} do not fit")
    rest = x.shape[:split] + x.shape[split + 1 :]
    return aval((*rest[:at], size, *rest[at:]), x.dtype)


def _all_to_all_over(axis: Axis, x: Value, dim: int | None, *, split: int, at: int) -> tuple[Value, int]:
    """The mapped dimension and `split` change places: no number is moved."""
    x = move_batch_axis(axis, x, dim, 0)
    order = [d for d in range(1, len(x.aval.shape)) if d != split + 1]
    order.insert(at, 0)
    return transpose(x, permutation=(split + 1, *order)), 0


def _all_to_all_past(x: Value, dim: int, *, split: int, at: int, **params: Any) -> tuple[Value, int]:
    x = transpose(x, permutation=(dim, *[d for d in range(len(x.aval.shape)) if d != dim]))
    return _all_to_all(x, split=split + 1, at=at + 1, **params), 0


all_to_all_p = _collective(
    "all_to_all",
    shape=_all_to_all_shape,
    jvp=jointly_linear(_all_to_all),
    transpose=lambda ct, x, split, at, **params: (_all_to_all(ct, split=at, at=split, **params),),
    over=_all_to_all_over,
    past=_all_to_all_past,
)

# ---- ppermute ------------------------------------------------------------------------------------


def ppermute(x: Value, *, axis_name: str, perm: Sequence[tuple[int, int]]) -> Value:
    """x of the example that sends it here, by pairs (source, destination); zeros where none does."""
    return _ppermute(x, axis_name=axis_name, size=axis_size(axis_name, "ppermute"), perm=tuple(sorted(perm)))


def _ppermute(x: Value, *, axis_name: str, size: int, perm: tuple[tuple[int, int], ...]) -> Value:
    return bind(ppermute_p, x, axis_name=axis_name, size=size, perm=perm)


def _ppermute_over(axis: Axis, x: Value, dim: int | None, *, perm: tuple[tuple[int, int], ...]) -> tuple[Value, int]:
    """A choice of rows. A rotation is written as two slices put together: over several devices XLA sends the rows
    to the next device then, where for any other choice each gets all of them."""
    x, n = move_batch_axis(axis, x, dim, 0), axis.size
    shifts = {(destination - source) % n for source, destination in perm}
    if len(perm) == n and len(shifts) == 1:
        (k,) = shifts
        return (concatenate(_rows(x, n - k, n), _rows(x, 0, n - k), dimension=0) if k else x), 0
    nothing = zeros(x.aval.with_shape((1, *x.aval.shape[1:])))
    sources = {destination: source for source, destination in perm}
    rows = [_rows(x, sources[i], sources[i] + 1) if i in sources else nothing for i in range(n)]
    return concatenate(*rows, dimension=0), 0


def _rows(x: Value, start: int, stop: int) -> Value:
    return slice_in_dim(x, start=start, limit=stop, dimension=0)


ppermute_p = _collective(
    "ppermute",
    shape=lambda x, **params: x,
    jvp=jointly_linear(_ppermute),
    transpose=lambda ct, x, perm, **params: (_ppermute(ct, perm=tuple(sorted((d, s) for s, d in perm)), **params),),
    over=_ppermute_over,
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
