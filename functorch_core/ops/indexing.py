"""Indexing as NumPy has it: x[index], and x with x[index] updated.

An index is normalised once into a `Plan`, which is static and hashable, and index arrays, which are
values. Reading and writing are then operations of values; nothing here knows the Array class.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.errors import ConcretizationError
from ..core.trace import Traced, concrete, state
from ..engine import Value, check_bounds, extent_of, from_numpy, to_numpy
from ..engine.signatures import bounded
from ..kernels.indexing import gathered, nonzero_places
from ..primitives.indexing import default_fill
from .op import lift, op
from .promotion import broadcast_shapes, broadcast_to
from .signature import Packed

TOO_MANY = """x[{index}]: too many indices: {given} for the {ndim} dimensions of shape {shape}.
    Each int, slice, array and boolean dimension takes one of them; None and ... take none."""
BAD_INDEX = """x[{index}]: {value!r:.60} ({kind}) is not an index.
    An index is an int, a slice, None, ..., an integer or boolean array, or a tuple of these."""
FLOAT_INDEX = """x[{index}]: an index array is {aval}; only integer and boolean arrays are indices.
    Convert it first: index.astype(fc.int64)."""
OUT_OF_BOUNDS = """x[{index}]: index {value} is out of bounds for dimension {dim} of size {size}
    Indices go from -size to size - 1; x.at[i].get(mode="fill") and mode="clip" allow others."""
MASK_SHAPE = """x[{index}]: a boolean mask of shape {mask} does not fit x of shape {shape},
    at dimension {dim}.
    A mask's shape must be that of the dimensions it selects from: {wanted}."""
TRACED_MASK = """x[mask]: how many elements a boolean mask selects depends on its values, and
    {mask} is traced.
    wrong: x[x > 0].sum()          right: fc.where(x > 0, x, 0.).sum()
    wrong: x[x > 0]                right: fc.nonzero(x > 0, size=n) gives places of a static number
To write: x.at[mask].set(0.) works with a 0-d value, as does fc.where(mask, 0., x)."""
TRACED_SLICE = """x[start:stop]: the bounds of a slice are static, and {value} is traced.
    wrong: x[i:i + n]              right: fc.dynamic_slice(x, (i, ...), (n, ...))"""


# ---- the normalised index ------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The static part of an index into an array of a certain shape.

    First x is cut to x[start:limit:stride] in every dimension and reversed along `flipped`; then
    the dimensions `dropped`, of size 1, go. Of what remains the dimensions `indexed` are taken at
    the index arrays, whose common dimensions stand at `place`; `shape` has the new axes, too.
    """

    start: tuple[int, ...]
    limit: tuple[int, ...]
    strides: tuple[int, ...]
    flipped: tuple[int, ...]
    dropped: tuple[int, ...]
    indexed: tuple[int, ...]
    common: tuple[int, ...]
    place: int
    shape: tuple[int, ...]

    @property
    def cut(self) -> tuple[int, ...]:
        """The shape after cutting."""
        return tuple(-(-(e - b) // s) for b, e, s in zip(self.start, self.limit, self.strides))

    @property
    def basic(self) -> tuple[int, ...]:
        """The shape after cutting and dropping: what index arrays select from."""
        return tuple(n for d, n in enumerate(self.cut) if d not in self.dropped)

    @property
    def gathered(self) -> tuple[int, ...]:
        """The shape before new axes are put in."""
        kept = [n for d, n in enumerate(self.basic) if d not in self.indexed]
        return (*kept[: self.place], *self.common, *kept[self.place :])


class _Entry:
    """One element of an index: a kind, what it holds, and the dimension of x it takes."""

    __slots__ = ("kind", "value", "dim", "extent")

    def __init__(self, kind: str, value=None, dim: int = -1, extent: tuple[int, ...] = ()):
        self.kind, self.value, self.dim, self.extent = kind, value, dim, extent


def show(index) -> str:
    """An index as it is written between the brackets."""
    if isinstance(index, tuple):
        return ", ".join(map(show, index)) + ("," if len(index) == 1 else "")
    if isinstance(index, slice):
        ends = ["" if v is None else show(v) for v in (index.start, index.stop)]
        return ":".join(ends + ([] if index.step is None else [show(index.step)]))
    if index is Ellipsis:
        return "..."
    return str(aval_of(index)) if hasattr(index, "dtype") and np.ndim(index) else f"{index!r:.40}"


def normalize(index, shape: Sequence[int], check: bool = True) -> tuple[Plan, list]:
    """The plan of an index into an array of this shape, and its index arrays (values).

    The arrays are integers that count from 0, of one dtype, broadcast to one shape. Raises
    IndexError for what NumPy raises it for; ints and concrete index arrays are held against the bounds if `check`.
    ConcretizationError for a traced boolean mask.
    """
    items = index if isinstance(index, tuple) else (index,)
    items = [_classify(item, index) for item in items]
    entries = _assign(_expand_ellipsis(items, index, shape), index, shape)
    if not check:
        entries = [_as_array(e, shape) for e in entries]
    cuts = [_Cut(0, n, 1, False, False) for n in shape]
    for e in entries:
        if e.kind == "int":
            cuts[e.dim] = _cut_int(e.value, e.dim, shape[e.dim], index)
        elif e.kind == "slice":
            cuts[e.dim] = _cut_slice(e.value, shape[e.dim])
    arrays = [e for e in entries if e.kind == "array"]
    values = [_wrapped(e.value, shape[e.dim], e.dim, index, check) for e in arrays if e.dim >= 0]
    common = _common_shape([e.extent for e in arrays], index)
    return _plan(entries, cuts, arrays, common), _same_dtype(values)


def _as_array(e: _Entry, shape: Sequence[int]) -> _Entry:
    """An int that is out of bounds as an index array, for which a mode says what happens."""
    if e.kind != "int" or -shape[e.dim] <= e.value < shape[e.dim]:
        return e
    return _Entry("array", np.int64(e.value), e.dim, ())


@dataclass(frozen=True)
class _Cut:
    start: int
    limit: int
    stride: int
    flipped: bool
    dropped: bool


def _plan(entries, cuts, arrays, common) -> Plan:
    left = [d for d, c in enumerate(cuts) if not c.dropped]
    indexed = tuple(left.index(e.dim) for e in arrays if e.dim >= 0)
    place, shape = _layout(entries, cuts, common, bool(arrays))
    return Plan(
        tuple(c.start for c in cuts),
        tuple(c.limit for c in cuts),
        tuple(c.stride for c in cuts),
        tuple(d for d, c in enumerate(cuts) if c.flipped),
        tuple(d for d, c in enumerate(cuts) if c.dropped),
        indexed,
        common,
        place,
        shape,
    )


def _layout(entries, cuts, common, advanced: bool) -> tuple[int, tuple[int, ...]]:
    """Where the arrays' dimensions stand among the kept ones, and the result's shape.

    NumPy's rule: in the place of the first, if the arrays (ints count as such beside an array) are
    next to each other in the index; in front otherwise.
    """
    where = [i for i, e in enumerate(entries) if e.kind in ("array", "int")] if advanced else []
    together = bool(where) and where[-1] - where[0] + 1 == len(where)
    at = where[0] if together else 0
    before, after = [], []  # sizes in front of and behind the common dimensions
    place = 0
    for i, e in enumerate(entries):
        side = before if i < at else after
        if e.kind == "new":
            side.append(1)
        elif e.kind == "slice":
            c = cuts[e.dim]
            side.append(-(-(c.limit - c.start) // c.stride))
            place += i < at
    return place, (*before, *(common if advanced else ()), *after)


# ---- the elements of an index --------------------------------------------------------------------


def _classify(item, index) -> _Entry:
    """The kind of one element, before it is known which dimension it takes."""
    if item is None:
        return _Entry("new")
    if item is Ellipsis:
        return _Entry("ellipsis")
    if isinstance(item, slice):
        return _Entry("slice", _static_slice(item, index))
    if isinstance(item, (bool, np.bool_)):
        return _Entry("array", None, -2, (int(item),))
    if isinstance(item, (int, np.integer)):
        return _Entry("int", int(item))
    if isinstance(item, (list, tuple)):
        item = np.asarray(item, dtype=np.int64 if len(item) == 0 else None)
    if not isinstance(item, (np.ndarray, np.generic, Value, Traced)):
        try:
            return _Entry("int", operator.index(item))
        except TypeError:
            raise TypeError(BAD_INDEX.format(index=show(index), value=item, kind=type(item).__name__)) from None
    return _classify_array(item, index)


def _classify_array(item, index) -> _Entry:
    a = aval_of(item)
    if isinstance(item, Value) and not a.ndim and a.dtype in dt.INTEGER:
        return _Entry("int", int(to_numpy(item)))
    if a.dtype == dt.bool_:
        mask, item = item, concrete(item)
        if item is None:
            raise ConcretizationError(TRACED_MASK.format(mask=mask))
        return _Entry("mask", np.asarray(item))
    if a.dtype not in dt.INTEGER:
        raise IndexError(FLOAT_INDEX.format(index=show(index), aval=a))
    return _Entry("array", item, extent=a.shape)


def _static_slice(item: slice, index) -> slice:
    """The slice with Python ints (or None) as bounds."""
    parts = []
    for part in (item.start, item.stop, item.step):
        bound, part = part, concrete(part)
        if part is None and bound is not None:
            raise ConcretizationError(TRACED_SLICE.format(value=bound))
        try:
            if isinstance(part, Value) and not part.ndim and part.dtype in dt.INTEGER:
                part = int(to_numpy(part))
            parts.append(None if part is None else operator.index(part))
        except TypeError:
            raise TypeError(f"x[{show(index)}]: the bounds of a slice are ints or None, got {part!r:.40}") from None
    if parts[2] == 0:
        raise ValueError(f"x[{show(index)}]: the step of a slice is not 0; x[::-1] is x reversed")
    return slice(*parts)


def _expand_ellipsis(entries: list[_Entry], index, shape) -> list[_Entry]:
    """With full slices behind the ... (at the end, if there is none)."""
    dots = [i for i, e in enumerate(entries) if e.kind == "ellipsis"]
    if len(dots) > 1:
        raise IndexError(f"x[{show(index)}]: an index has at most one ...; a slice : stands for one dimension")
    taken = sum(
        e.value.ndim if e.kind == "mask" else e.kind in ("int", "slice") or (e.kind == "array" and e.dim != -2)
        for e in entries
    )
    if taken > len(shape):
        raise IndexError(TOO_MANY.format(index=show(index), given=taken, shape=tuple(shape), ndim=len(shape)))
    full = [_Entry("slice", slice(None)) for _ in range(len(shape) - taken)]
    at = dots[0] + 1 if dots else len(entries)  # the ... stays: it keeps arrays apart
    return entries[:at] + full + entries[at:]


def _assign(entries: list[_Entry], index, shape) -> list[_Entry]:
    """Each element with the dimension of x it takes; a mask becomes one array a dimension."""
    out, dim = [], 0
    for e in entries:
        if e.kind == "mask" and e.value.ndim:
            places = _places(e.value, shape, dim, index)
            out += [_Entry("array", q, dim + i, q.shape) for i, q in enumerate(places)]
            dim += len(places)
        elif e.kind == "mask":
            out.append(_Entry("array", None, -2, (int(e.value),)))
        elif e.kind in ("int", "slice") or (e.kind == "array" and e.dim != -2):
            e.dim = dim
            out.append(e)
            dim += 1
        else:
            out.append(e)
    return out


def _places(mask: np.ndarray, shape, dim: int, index) -> tuple[np.ndarray, ...]:
    wanted = tuple(shape[dim : dim + mask.ndim])
    if mask.shape != wanted:
        raise IndexError(
            MASK_SHAPE.format(index=show(index), mask=mask.shape, shape=tuple(shape), dim=dim, wanted=wanted)
        )
    return nonzero_places(mask)


def _cut_int(i: int, dim: int, size: int, index) -> _Cut:
    if not -size <= i < size:
        raise IndexError(OUT_OF_BOUNDS.format(index=show(index), value=i, dim=dim, size=size))
    return _Cut(i % size, i % size + 1, 1, False, True)


def _cut_slice(s: slice, size: int) -> _Cut:
    start, stop, step = s.indices(size)
    count = len(range(start, stop, step))
    if count == 0:
        return _Cut(0, 0, 1, False, False)
    last = start + (count - 1) * step
    low, high = min(start, last), max(start, last)
    return _Cut(low, high + 1, abs(step) if count > 1 else 1, step < 0 and count > 1, False)


def _common_shape(shapes, index) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*shapes, name=f"x[{show(index)}]: the index arrays'")
    except ValueError as error:
        raise IndexError(str(error)) from None


def _wrapped(value, size: int, dim: int, index, check: bool):
    """The index array, counting from 0, in a dtype that holds the size."""
    if isinstance(value, Traced) or (isinstance(value, Value) and not check):
        return _wrap_negative(value, size=size)
    known = value if isinstance(value, Value) else from_numpy(np.asarray(value))
    if check:
        check_bounds(
            known,
            size,
            lambda found: IndexError(OUT_OF_BOUNDS.format(index=show(index), value=found, dim=dim, size=size)),
            f"x[{show(index)}]",
        )
    if known is not value:
        host = known.data.astype(np.int64)
        host = np.where(host < 0, host + size, host)
        return lift(host) if state.builder is not None else from_numpy(host)
    extent = extent_of(value)
    if extent is not None and extent[0] >= 0 and value.aval.dtype in (dt.int32, dt.int64):
        return value
    return _wrap_negative(value, size=size)


@op
def _wrap_negative(value, /, *, size):
    dtype = aval_of(value).dtype
    small = size < 2**31 and (dtype.itemsize < 4 or dtype == dt.int32)
    wide = dt.int32 if small else dt.int64
    return p.wrap_negative(p.convert(value, dtype=wide), size)


def _same_dtype(values: list) -> list:
    dtypes = {aval_of(v).dtype for v in values}
    return values if len(dtypes) < 2 else [_widen(v) for v in values]


@op
def _widen(value, /):
    return p.convert(value, dtype=dt.int64)


# ---- reading -------------------------------------------------------------------------------------


def cut(x, plan: Plan):
    """x cut to what the slices and ints of the index select, without the dimensions of ints."""
    x = p.slice(x, start=plan.start, limit=plan.limit, strides=plan.strides)
    return p.reshape(p.reverse(x, dims=plan.flipped), shape=plan.basic)


def _nothing_to_index(plan: Plan) -> bool:
    return any(plan.basic[d] == 0 for d in plan.indexed)


def take_arrays(x, arrays, plan: Plan, mode: str, fill_value=None):
    """The cut array at the index arrays, in the plan's `gathered` shape."""
    if not plan.indexed:  # at most x[True], x[False]: common is (), (1,) or (0,)
        spread = (*plan.basic[: plan.place], *(1 for _ in plan.common), *plan.basic[plan.place :])
        return broadcast_to(p.reshape(x, shape=spread), plan.gathered)
    out = aval_of(x).with_shape(plan.gathered)
    if out.size == 0 or _nothing_to_index(plan):
        if out.size and mode != "fill":
            raise IndexError(f"x[...]: cannot take {out} from a dimension of size 0")
        return p.full(out.shape, default_fill(out.dtype) if fill_value is None else fill_value, out.dtype)
    return gathered(x, common_arrays(arrays, plan), plan.indexed, plan.place, mode, fill_value)


def common_arrays(arrays, plan: Plan) -> list:
    """The index arrays, broadcast together."""
    return [broadcast_to(a, plan.common) for a in arrays]


@op
def _read(x, arrays, /, *, plan, mode, fill_value):
    return p.reshape(take_arrays(cut(x, plan), arrays, plan, mode, fill_value), shape=plan.shape)


MODES = {None: "clip", "clip": "clip", "fill": "fill", "drop": "fill", "promise_in_bounds": "promise_in_bounds"}


def _gather_mode(mode) -> str:
    if mode not in MODES:
        raise ValueError(f"an indexing mode is None, 'clip', 'fill', 'drop' or 'promise_in_bounds', got {mode!r}")
    return MODES[mode]


def read(x, index, *, mode=None, fill_value=None):
    """x[index]: see Array.__getitem__. With a `mode` index arrays are not checked but clipped,
    or read as `fill_value` where they are out of bounds."""
    wanted = _gather_mode(mode)
    plan, arrays = normalize(index, aval_of(x).shape, check=mode is None)
    if state.builder is None and _movable(plan, aval_of(x).shape):
        plan, start = settle(plan)
        return _read_at(x, Packed(start), arrays, plan=plan, mode=wanted, fill_value=fill_value)
    return _read(x, arrays, plan=plan, mode=wanted, fill_value=fill_value)


# -- the hot path: ints, slices, None and ... outside of traces, by what the index looks like

_basic: dict[tuple, Any] = bounded({}, lambda found: found[:1] if found.__class__ is tuple else (found,))


def basic_call(x: Value, index) -> tuple | None:
    """(unit, operands) of x[index] for a basic index; None if it is none, or out of bounds."""
    a = x.aval
    if index.__class__ is int and a.shape:
        size = a.shape[0]
        if not -size <= index < size:
            return None
        unit = _basic.get((a.id, int))
        if unit is None:
            plan, _ = normalize(0, a.shape)
            unit = _basic[a.id, int] = _read_at.resolve(
                (x, Packed(0), ()), dict(plan=settle(plan)[0], mode="clip", fill_value=None)
            )[0]
        return unit, (x, index if index >= 0 else index + size)
    key = _basic_key(index)
    if key is None:
        return None
    try:
        found = _basic.get((a.id, key))
    except TypeError:  # an array among the bounds of a slice
        return None
    if found is None:
        found = _basic_unit(x, index)
        _basic[a.id, key] = found
    unit, start = found
    return unit, ((x,) if start is None else (x, start))


def _basic_key(index):
    """What a basic index looks like, hashable; None for another."""
    if index.__class__ is slice:
        return index.start, index.stop, index.step
    if index.__class__ is not tuple:
        return None
    key = []
    for item in index:
        cls = item.__class__
        if cls is slice:
            key.append((item.start, item.stop, item.step))
        elif cls is int or item is None or item is Ellipsis:
            key.append(item)
        else:
            return None
    return tuple(key), None


def _basic_unit(x: Value, index) -> tuple:
    plan, _ = normalize(index, x.aval.shape)
    static = dict(plan=plan, mode="clip", fill_value=None)
    if not _movable(plan, x.aval.shape):
        return _read.resolve((x, ()), static)[0], None
    static["plan"], start = settle(plan)
    return _read_at.resolve((x, Packed(start), ()), static)[0], start


# -- outside of traces the place of a part along the first dimension is an input, not a constant:
# -- x[i] and x[i:i + 64] of a loop are one unit, and the loop's recordings have one key


def _movable(plan: Plan, shape) -> bool:
    """Whether the index takes some neighbouring rows, not all."""
    return bool(shape) and plan.strides[0] == 1 and 0 < plan.limit[0] - plan.start[0] < shape[0]


def settle(plan: Plan) -> tuple[Plan, int]:
    """The plan for an array of which only the wanted rows are left, and where these start."""
    start, count = plan.start[0], plan.limit[0] - plan.start[0]
    rest = replace(plan, start=(0, *plan.start[1:]), limit=(count, *plan.limit[1:]))
    return rest, start


def starts_of(x, start) -> list:
    """The starts of a part of x that begins at `start` in the first dimension."""
    return [start] + [p.constant(np.zeros((), np.int64))] * (aval_of(x).ndim - 1)


def rows(x, start, count: int):
    """The `count` rows of x from `start`, a 0-d int64 value."""
    return p.dynamic_slice(x, *starts_of(x, start), sizes=(count, *aval_of(x).shape[1:]))


@op
def _read_at(x, start, arrays, /, *, plan, mode, fill_value):
    return _read.fun(rows(x, start, plan.limit[0]), arrays, plan=plan, mode=mode, fill_value=fill_value)
