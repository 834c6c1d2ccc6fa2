"""What batch rules share: the axis being mapped, and moving batch dimensions about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.aval import aval_of
from ..core.types import Batched, Batcheds, Dims, Function, Value


class Axis(NamedTuple):
    """The axis that `vmap` adds: its size, and its name for collectives (or None)."""

    size: int
    name: object = None


def move_batch_axis(axis: Axis, x: Value, dim: int | None, to: int) -> Value:
    """x with its batch dimension at `to`; broadcast there if it had none."""
    from .structure import broadcast_in_dim, transpose

    shape = aval_of(x).shape
    if dim is None:
        new = shape[:to] + (axis.size,) + shape[to:]
        return broadcast_in_dim(x, shape=new, dims=tuple(i for i in range(len(new)) if i != to))
    if dim == to:
        return x
    order = [i for i in range(len(shape)) if i != dim]
    order.insert(to, dim)
    return transpose(x, permutation=tuple(order))


def all_at_front(axis: Axis, args: Sequence[Value], dims: Sequence[int | None]) -> list[Any]:
    """Every argument batched at dimension 0."""
    return [move_batch_axis(axis, x, d, 0) for x, d in zip(args, dims)]


def elementwise_batch(bind: Function) -> Function:
    """The batch rule of an elementwise primitive: bring the batch dimensions together."""

    def rule(axis: Axis, args: Sequence[Value], dims: Dims, **params: Any) -> Batched:
        to = next(d for d in dims if d is not None)
        args = [x if d == to else move_batch_axis(axis, x, d, to) for x, d in zip(args, dims)]
        return bind(*args, **params), to

    return rule


def front_batch(bind: Function) -> Function:
    """The batch rule of a primitive that treats leading dimensions as a batch already."""

    def rule(axis: Axis, args: Sequence[Value], dims: Dims, **params: Any) -> Batched | Batcheds:
        out = bind(*all_at_front(axis, args, dims), **params)
        return (out, [0] * len(out)) if isinstance(out, (list, tuple)) else (out, 0)

    return rule
