"""x with x[index] updated: what fc.Array.at and item assignment are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.trace import Traced, state
from ..kernels.indexing import scattered
from .indexing import Plan, _movable, common_arrays, cut, normalize, read, rows, settle, show, starts_of, take_arrays
from .op import op
from .promotion import broadcast_to, cast
from .signature import Packed

BAD_SHAPE = """x.at[{index}].{name}(y): y of shape {found} does not broadcast to {wanted}, the shape
    of x[{index}]."""
BAD_DTYPE = """x.at[{index}].{name}(y): y is {found} and x is {wanted}: it would lose information.
    Convert one of them first: x.astype(...) or y.astype(...)."""
SCATTER_MODES = {None: "drop", "drop": "drop", "fill": "drop", "clip": "clip", "promise_in_bounds": "promise_in_bounds"}

# name -> elementwise (old, new) and the scatter that does it where several updates meet
COMBINE: dict[str, tuple[Callable, str]] = {
    "set": (lambda old, new: new, "set"),
    "add": (p.add, "add"),
    "multiply": (p.mul, "mul"),
    "min": (p.min, "min"),
    "max": (p.max, "max"),
}
# of these the scatter gathers the factors of each element first: x / (y1 y2), x ** (y1 y2)
FROM_FACTORS: dict[str, Callable] = {"divide": p.div, "power": p.pow}


def update(x, index, values, *, name: str, mode=None, unique: bool = False):
    """x with x[index] updated by `values`, in the way `name` says: see COMBINE and FROM_FACTORS.

    Where an element is updated several times all updates count ('set': the last). Index arrays that
    are out of bounds are an IndexError if concrete, and dropped (or by `mode` clipped) if traced.
    unique: no element is; factors have a derivative then.
    """
    if mode not in SCATTER_MODES:
        raise ValueError(
            f"x.at[...].{name}: mode is None, 'drop', 'fill', 'clip' or "
            f"'promise_in_bounds', got {mode!r}; 'drop' leaves out what is outside"
        )
    a = aval_of(x)
    if _is_mask_of(index, a) and not np.ndim(values):
        return _update_masked(x, index, values, name=name)
    plan, arrays = normalize(index, a.shape, check=mode is None)
    _check(a, index, values, plan, name)
    if not math.prod(plan.shape):
        return x
    static = dict(name=name, mode=SCATTER_MODES[mode], unique=unique)
    if state.builder is None and _movable(plan, a.shape):
        plan, start = settle(plan)
        return _update_at(x, values, Packed(start), arrays, plan=plan, **static)
    return _update(x, values, arrays, plan=plan, **static)


def _is_mask_of(index, a) -> bool:
    """Whether the index is one boolean array over x's first dimensions."""
    if not isinstance(index, Traced) and not hasattr(index, "aval") and not isinstance(index, np.ndarray):
        return False
    m = aval_of(index)
    return m.dtype == dt.bool_ and 0 < m.ndim <= a.ndim and m.shape == a.shape[: m.ndim]


def _check(a, index, values, plan: Plan, name: str):
    shape = np.shape(values)
    padded = (1,) * (len(plan.shape) - len(shape)) + tuple(shape)
    extra = len(padded) - len(plan.shape)
    fits = all(n == 1 for n in padded[:extra]) and all(n in (1, m) for n, m in zip(padded[extra:], plan.shape))
    if not fits:
        raise ValueError(BAD_SHAPE.format(index=show(index), name=name, found=tuple(shape), wanted=plan.shape))
    found = dt.of_scalar(values) if isinstance(values, (bool, int, float, complex)) else aval_of(values).dtype
    if dt.category(found) > dt.category(a.dtype):
        raise TypeError(BAD_DTYPE.format(index=show(index), name=name, found=found.name, wanted=a))


# ---- the operations ------------------------------------------------------------------------------


@op(scalars=True)
def _update_masked(x, mask, value, /, *, name):
    a = aval_of(x)
    mask = p.broadcast_in_dim(mask, shape=a.shape, dims=tuple(range(aval_of(mask).ndim)))
    new = broadcast_to(cast(value, a.dtype), a.shape)
    return p.select(mask, _combine(name)(x, new), x)


def _combine(name: str) -> Callable:
    return FROM_FACTORS.get(name) or COMBINE[name][0]


@op(scalars=True)
def _update(x, values, arrays, /, *, plan, name, mode, unique):
    values = _fitted(cast(values, aval_of(x).dtype), plan)
    old = cut(x, plan)
    if not plan.indexed:
        new = _combine(name)(old, values)
    elif name in FROM_FACTORS:
        ones = p.full(aval_of(old).shape, 1, aval_of(old).dtype)
        factors = _scatter(ones, arrays, values, plan, "mul", mode, unique)
        new = FROM_FACTORS[name](old, factors)
    else:
        new = _scatter(old, arrays, values, plan, COMBINE[name][1], mode, unique)
    return _put_back(x, new, plan)


@op(scalars=True)
def _update_at(x, values, start, arrays, /, *, plan, **static):
    part = rows(x, start, plan.limit[0])
    part = _update.fun(part, values, arrays, plan=plan, **static)
    return p.dynamic_update_slice(x, part, *starts_of(x, start))


def _fitted(values, plan: Plan):
    """The values in the plan's `gathered` shape."""
    shape = aval_of(values).shape
    if len(shape) > len(plan.shape):
        values = p.reshape(values, shape=shape[len(shape) - len(plan.shape) :])
    values = broadcast_to(values, plan.shape)
    if not plan.indexed and plan.common:  # x.at[True]
        return p.reshape(values, shape=plan.basic)
    return p.reshape(values, shape=plan.gathered)


def _scatter(old, arrays, values, plan: Plan, combine: str, mode: str, unique: bool):
    arrays = common_arrays(arrays, plan)
    unique = combine == "mul" and (unique or math.prod(plan.common) == 1)
    how = dict(mode=mode, combine=combine, unique=unique)
    return scattered(old, arrays, values, plan.indexed, plan.place, **how)


def _put_back(x, part, plan: Plan):
    """x with what `cut` took out replaced by `part`."""
    a = aval_of(x)
    part = p.reverse(p.reshape(part, shape=plan.cut), dims=plan.flipped)
    if plan.cut == a.shape:
        return part
    if all(s == 1 for s in plan.strides):
        starts = [p.constant(np.asarray(i, np.int64)) for i in plan.start]
        return p.dynamic_update_slice(x, part, *starts)
    pads = dict(
        low=plan.start,
        interior=tuple(s - 1 for s in plan.strides),
        high=tuple(n - e for n, e in zip(a.shape, plan.limit)),
    )
    # The limit is one past the last element taken, so the padded part has x's shape.
    zero, no = p.constant(np.zeros((), a.dtype)), p.constant(np.zeros((), np.bool_))
    spread = p.pad(part, zero, **pads)
    return p.select(p.pad(p.full(plan.cut, True, dt.bool_), no, **pads), spread, x)


# ---- apply ---------------------------------------------------------------------------------------


def apply(x, index, fun: Callable, *, mode=None):
    """x with x[index] replaced by fun(x[index]); an element named twice is replaced once."""
    old = read(x, index, mode=mode)
    return update(x, index, fun(old), name="set", mode=mode)


__all__ = ["apply", "take_arrays", "update"]
