"""x[...] and x[...] = y: views by integers, slices and None, gathers by tensors and masks."""

from __future__ import annotations

import functools
import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....engine.recorder import computes_at_once
from ....engine.signatures import bounded
from ....interrupts import is_interrupt
from ....kernels.indexing import gathered, scattered
from ....kernels.values import expanded
from ....transforms.linear_map import linear_map
from ...dispatch import bounds as _bounds
from ...dispatch.op import PLAIN, composite, torch_op
from ...dispatch.slots import Number, Tensors, python_number
from ...tape.accumulate import is_of_leaf
from ...tape.meta import is_meta, meta_tensor
from ...tape.modes import state
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.explain import MISTAKES, explain
from ...tensors.promotion import HALF, broadcast, cast, holds
from ...tensors.types import scalar_name
from ...views.cells import assign, check_writable, current_aval, make_view, put
from ...views.lenses import STATIC_ENDS, Lens, besides, is_static_index
from ...views.memory_order import preserved, rows_taken, taken
from ...views.overlap import may_overlap_itself, refuse_partial, refuse_shared, stays_in_place, writes_itself
from ...views.parts import cut
from ...views.refusals import LEAF_INPLACE, LEAF_VIEW_INPLACE
from ...views.seen import MOST, filled, part_of_few, places, remember, see_again, units_of
from ..shape.copies import fill_number, fitted_to
from .fills import MASKS, check_mask, fills_mask, number_at_mask, one_of_dtype
from .known import at_sight, is_plain_with, listed, remember_write, where_true, write_again, write_at_hand
from .parsing import NO_DIMS, Parsed, integer_indices, outside, parse

OF_NOTHING = "index is out of bounds for dimension with size 0"
NOT_TOGETHER = "shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
FIRST = (0,)  # dimension


# ---- the gather ----------------------------------------------------------------------------------


def broadcast_shape(indices) -> tuple[int, ...]:
    """The shape that index tensors have together."""
    shapes = [tuple(i._aval.shape) for i in indices]
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(NOT_TOGETHER.format(shapes=", ".join(str(list(s)) for s in shapes))) from None


def check_indices(tensor: Tensor, dims, indices, what: str):
    """IndexError for index tensors out of range, or that do not broadcast."""
    a, common = current_aval(tensor), broadcast_shape(indices)
    shape = a.shape
    if 0 in common or any(n == 0 for d, n in enumerate(shape) if d not in dims):
        return  # nothing is read
    for i, (dim, index) in enumerate(zip(dims, indices)):
        if not shape[dim]:
            raise IndexError(OF_NOTHING)
        _bounds.check(index, shape[dim], i, what, negative=True)  # PyTorch's "dimension" counts index tensors


def _place(dims) -> int:
    """Where the dimensions of the index tensors stand: together where these do, else in front."""
    return dims[0] if dims == tuple(range(dims[0], dims[0] + len(dims))) else 0


def _result_shape(a, dims, common) -> tuple[int, ...]:
    """The shape of what is read."""
    kept, at = [n for d, n in enumerate(a.shape) if d not in dims], _place(dims)
    return (*kept[:at], *common, *kept[at:])


def _in_front(x, indices, dims) -> list:
    """Index values of one shape, counted from the front."""
    return broadcast([p.wrap_negative(p.convert(i, dtype=dt.int64), x.aval.shape[d]) for i, d in zip(indices, dims)])


def nothing_of(x, shape):
    """No element of x, in a shape without elements: it depends on x all the same."""
    flat = p.reshape(x, shape=(x.aval.size,))
    return p.reshape(p.slice(flat, start=(0,), limit=(0,)), shape=shape)


@torch_op(layout=taken, devices="any")
def _index(input: Tensor, indices: Tensors, dims):
    """The elements at integer index tensors along some dimensions."""
    indices = _in_front(input, indices, dims)
    shape = _result_shape(input.aval, dims, indices[0].aval.shape)
    if 0 in shape:
        return nothing_of(input, shape)
    return gathered(input, indices, dims, _place(dims), "clip")


@torch_op(layout=rows_taken, devices="any", node="index")
def _rows(input: Tensor, indices: Tensor):
    """The same at one integer index tensor along the first dimension."""
    return _index.fun(input, [indices], FIRST)


@torch_op(autocast={"cuda": "widest"}, layout=preserved, devices="any")
def _index_put(input: Tensor, values: Tensor, indices: Tensors, dims, accumulate):
    """The input with values set, or added, at integer index tensors along some dimensions. Of several values set at one
    place each has that place's derivative, though one of them is there."""
    indices = _in_front(input, indices, dims)
    shape = _result_shape(input.aval, dims, indices[0].aval.shape)
    if 0 in shape or 0 in input.aval.shape:
        return besides(input, values)
    values, place = expanded(values, shape), _place(dims)

    def written(x, values, *indices):
        return scattered(x, indices, values, dims, place, combine="add" if accumulate else "set")

    def backward(ct, *indices):
        read = gathered(ct, indices, dims, place, "clip")
        return written(ct, p.zeros(read.aval), *indices), read

    if accumulate or input.aval.dtype not in dt.INEXACT:
        return written(input, values, *indices)
    return linear_map(written, backward, [input, values], indices)


# ---- reading -------------------------------------------------------------------------------------


@functools.lru_cache(1024)
def _row(shape: tuple[int, ...], start: int | None) -> tuple:
    rest = tuple((0, n, 1, True) for n in shape[1:])
    return (((start, 1, 1, False), *rest), ())


def _row_lens(shape, i: int) -> Lens:
    """The lens of x[i]."""
    if not shape and not i:
        raise IndexError(NO_DIMS)
    n = shape[0] if shape else 0
    if not -n <= i < n:
        raise outside(i, 0, n)
    static = is_static_index(i, n, 0)
    i = i + n if i < 0 else i
    return Lens("select", _row(shape, i)) if static else Lens("select", _row(shape, None), (i,))


_lenses: dict = {}  # by shape and key: the lens at the numbers it was made for, and which of these vary


def _lens_at(shape: tuple[int, ...], index) -> Lens | None:
    """The lens of x[index] for an index without tensors, None for others."""
    found = _lens_or_parts(shape, index)
    return found if found.__class__ is Lens else None


def _lens_or_parts(shape: tuple[int, ...], index) -> Lens | Parsed:
    """The lens of x[index] for an index without tensors, what others say."""
    if index.__class__ is int:
        return _row_lens(shape, index)
    plain, ints = at_sight(index, shape) if shape else (None, ())  # of no dimensions s[:] and s[:,] have other errors
    found = _lenses.get((shape, plain))
    if found is not None:
        lens, open_places = found
        if not ints:
            return lens
        return Lens(lens.kind, lens.params, filled(lens.ints, open_places, ints))
    parsed = parse(shape, index)
    if parsed.tensors:
        return parsed
    lens = parsed.lens
    open_places = None if plain is None else places(ints, lens.ints)
    if open_places is not None:
        if len(_lenses) >= MOST:
            _lenses.clear()
        _lenses[shape, plain] = lens, open_places
    return lens


_seen: dict = bounded({}, units_of)  # what x[index] was found to be: see views.seen


def getitem(self, index):
    """x[index]: a view, or a copy where a tensor, list or array is among the indices."""
    if self.__class__ not in PLAIN or not (active.plain or is_plain_with(self, index)):
        return _getitem(self, index)
    if index.__class__ is list:
        index = listed(index)
    if index.__class__ in PLAIN and index._value.aval.shape:
        made = _rows_again(self, index)
        return _getitem(self, index) if made is None else made
    a = self._value.aval
    if index.__class__ is int and a.shape and a.shape[0] <= STATIC_ENDS:
        plain, ints = index, ()  # each row of few by itself: 0.3 us less
    else:
        plain, ints = at_sight(index, a.shape)
    known = _seen.get((a, plain))
    made = None if known is None else see_again(known, self, ints)
    if made is None:
        made = _getitem(self, index)
        if known is None and plain is not None:
            remember(_seen, (a, plain), self, made, ints)
    return made


def _rows_again(x, index) -> Tensor | None:
    """x[index] by a tensor that was looked at before, if its like was seen."""
    shape = x._value.aval.shape
    run = _rows.runs.get((type(x), type(index))) if shape and _bounds.is_inside(index, shape[0], True) else None
    try:
        return None if run is None else run(x, index)
    except Exception as error:
        if is_interrupt(error):
            raise
        return None  # said by the way of all calls


def _getitem(self, index):
    if active.overrides is not None and active.overrides.applies(getitem, (self, index), {}):
        return active.overrides.handle(getitem, (self, index), {})
    try:
        if computes_at_once():
            part = cut(self, index, _lens_at)
            if part is not None:
                return part
        if active.plain and self.__class__ in PLAIN:
            made = _taken(self, index)
            if made is not None:
                return made
        parsed = _lens_or_parts(current_aval(self).shape, index)
        if parsed.__class__ is Lens:
            return make_view(self, parsed, part_of_few(self, parsed))
        box = self if parsed.trivial(current_aval(self).shape) else make_view(self, parsed.lens)
        dims, indices = integer_indices(parsed.tensors)
        check_indices(box, dims, indices, "x[...]")
        return _index.compute([box, indices, dims])
    except MISTAKES as error:
        explain(error)
        raise


def _taken(self, index) -> Tensor | None:
    """x[index] for tensors and whole dimensions, while nothing is active: integers along some dimensions, or one mask.
    None for others, and where it takes a closer look."""
    shape = self._value.aval.shape
    if index.__class__ in PLAIN and shape and _bounds.is_inside(index, shape[0], True):
        b = index._value.aval
        if b.shape and b.dtype is dt.int64:
            return _rows.compute([self, index])
    items = (index,) if index.__class__ in PLAIN else index if index.__class__ is tuple else ()
    if len(items) > len(shape):
        return None
    dims, indices = [], []
    for dim, x in enumerate(map(listed, items)):
        if x.__class__ is slice and x.start is x.stop is x.step is None:
            continue
        if x.__class__ not in PLAIN or not x._value.aval.shape or x._value.aval.dtype != dt.int64:
            return where_true(self, index) if index.__class__ in PLAIN else None
        dims.append(dim)
        indices.append(x)
    if not dims:
        return None
    check_indices(self, dims, indices, "x[...]")
    return _rows.compute([self, *indices]) if dims == [0] else _index.compute([self, indices, tuple(dims)])


composite(getitem, name="__getitem__", function=False, method=False)


# ---- writing -------------------------------------------------------------------------------------


def setitem(self, index, value):
    """x[index] = value, broadcast and converted; differentiable."""
    if self.__class__ in PLAIN and (active.plain or is_plain_with(self, index, value)):
        if value.__class__ is Tensor and _is_there(self, index, value):
            return
        if not write_again(self, index, value):
            _setitem(self, index, value)
            remember_write(self, index, value, _lens_at)
        return
    _setitem(self, index, value)


def _is_there(tensor: Tensor, index, value: Tensor) -> bool:
    """Whether x[index] = value is what x[index] += 1 ends with: the value is that part of the tensor."""
    alias, view = tensor._view, value._view
    if alias is None or view is None or view.cell is not alias.cell or len(view.chain) != len(alias.chain) + 1:
        return False
    lens = _lens_at(tensor._value.aval.shape, index) if index.__class__ not in PLAIN else None
    return lens is not None and view.chain == (*alias.chain, lens) and stays_in_place(tensor, value)


def _setitem(self, index, value):
    if active.overrides is not None and active.overrides.applies(setitem, (self, index, value), {}):
        return active.overrides.handle(setitem, (self, index, value), {})
    try:
        if index is False:
            return
        if index is True:
            index = None
        shape, tensors, whole = current_aval(self).shape, (), False
        lens = parsed = _lens_or_parts(shape, index)
        if lens.__class__ is not Lens:
            lens, tensors, whole = parsed.lens, parsed.tensors, parsed.trivial(shape)
        new = _value(self, value)
        if state.enabled and self._level is None and self._ge is not None and is_of_leaf(self._ge):
            raise RuntimeError(LEAF_INPLACE if tensors else LEAF_VIEW_INPLACE)
        if tensors:
            _set_at_tensors(self, None if whole else lens, tensors, new)
        else:
            _set_box(self, lens, new)
    except MISTAKES as error:
        explain(error)
        raise


composite(setitem, name="__setitem__", function=False, method=False)


def _value(tensor: Tensor, value):
    """What is assigned, as a tensor or a Python number that fits."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.integer, np.bool_)):
        number = _assigned(python_number(value), tensor._aval.dtype)
        return meta_tensor((), tensor._aval.dtype) if is_meta(tensor) else number
    cls = type(value)
    kind = f"numpy.{cls.__name__}" if isinstance(value, (np.generic, np.ndarray)) else cls.__name__
    raise TypeError(f"can't assign a {kind} to a {tensor.type()}")


def _assigned(number, dtype: np.dtype):
    """A number as it is assigned: half precision rounds to infinity what it does not hold, others refuse it."""
    if dtype in HALF and number.__class__ is not complex and not holds(dtype, number):
        return math.copysign(math.inf, number)
    return fill_number(number, dtype)


def part_shape(tensor: Tensor, lens: Lens) -> tuple[int, ...]:
    """The shape of what a lens shows."""
    spec, news = lens.params
    shape = [n for _, n, _, stays in spec if stays]
    for place, _ in news:
        shape.insert(place, 1)
    return tuple(shape)


def _set_box(tensor: Tensor, lens: Lens, value):
    if tensor.__class__ in PLAIN and active.plain and write_at_hand(tensor, lens, value):
        return
    shape = part_shape(tensor, lens)
    alias = tensor._view
    if alias is not None and isinstance(value, Tensor) and value._view is not None and value._view.cell is alias.cell:
        if value._view.chain == (*alias.chain, lens):
            if stays_in_place(tensor, value):
                return
        elif value._aval.shape == shape:
            refuse_partial(make_view(tensor, lens), value)
        if writes_itself(make_view(tensor, lens), value):
            return
    if alias is not None and (alias.chain or alias.cell.shared) and tensor._level is None:
        view = make_view(tensor, lens)
        check_writable(view)
        assign(view, _filled(value, shape, tensor._aval.dtype))
        return
    check_writable(tensor)
    new = _filled(value, shape, current_aval(tensor).dtype)
    assign(tensor, put(tensor, new, (lens,)))


@torch_op
def _number_in(value: Number, shape, dtype):
    return p.broadcast_in_dim(cast(value, dtype), shape=shape, dims=())


def _filled(value, shape: tuple, dtype: np.dtype) -> Tensor:
    """The value in a shape and dtype."""
    if not isinstance(value, Tensor):
        return _number_in.call((value, shape, dtype), {})
    theirs = tuple(value.shape)
    while theirs and theirs[0] == 1 and len(theirs) > len(shape):
        theirs = theirs[1:]
    if theirs != value.shape:
        value = value.reshape(theirs)
    if len(theirs) > len(shape):
        raise RuntimeError(
            f"expand({value.type()}{{{list(theirs)}}}, size={list(shape)}): the "
            f"number of sizes provided ({len(shape)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({len(theirs)})"
        )
    for d, (n, m) in enumerate(zip(reversed(shape), reversed(theirs)), 1):
        if m not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing "
                f"size ({m}) at non-singleton dimension {len(shape) - d}.  Target "
                f"sizes: {list(shape)}.  Tensor sizes: {list(theirs)}"
            )
    return fitted_to(value, shape, dtype)


def _set_at_tensors(tensor: Tensor, lens: Lens | None, tensors, value):
    box = tensor if lens is None else make_view(tensor, lens)
    if may_overlap_itself(box):
        _put_through(box, tensors, value)
        return
    check_writable(box, op="index_put")
    indices = [index for _, index in tensors]
    fills = fills_mask(indices, value)
    refuse_shared(box, *(((), indices) if fills else ([value, *indices], ())))
    if fills and not isinstance(value, Tensor):
        new = number_at_mask(box, tensors[0], value)
    else:
        if not isinstance(value, Tensor):
            value = _number_in.compute([value, (), box._aval.dtype])
        elif fills:
            check_mask(indices[0]._aval)
            value = one_of_dtype(value, box._aval.dtype)
        new = put_at(box, tensors, value)
    assign(box, new)


def _put_through(box: Tensor, tensors, value):
    """box[tensors] = value by index_put_, which knows elements that are one place."""
    indices: list = []
    for dim, index in tensors:
        taken = sum(1 if i is None or i._aval.dtype not in MASKS else i.ndim for i in indices)
        indices += [None] * (dim - taken) + [index]
    if not isinstance(value, Tensor):
        value = _number_in.compute([value, (), box._aval.dtype])
    elif fills_mask([index for _, index in tensors], value):
        value = one_of_dtype(value, box._aval.dtype)
    box.index_put_(indices, value)


@torch_op(node="index_put", devices="any")
def _put_somewhere(input: Tensor, values: Tensor):
    """The input after values were put where a mask is True of which only the shape is known."""
    return besides(input, values)


def put_at(box: Tensor, tensors, value: Tensor, accumulate: bool = False) -> Tensor:
    """The box with values at index tensors."""
    if any(is_meta(i) and i._aval.dtype in MASKS for _, i in tensors):
        return _put_somewhere.compute([box, value])
    dims, indices = integer_indices(tensors)
    a = current_aval(box)
    shape = _result_shape(a, dims, broadcast_shape(indices))
    if 0 not in shape and any(not a.shape[d] for d in dims):
        raise IndexError(OF_NOTHING)
    theirs = tuple(value.shape)
    stripped = theirs
    while stripped and stripped[0] == 1 and len(stripped) > len(shape):
        stripped = stripped[1:]
    if len(stripped) > len(shape) or any(m not in (1, n) for n, m in zip(reversed(shape), reversed(stripped))):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(theirs)} cannot be "
            f"broadcast to indexing result of shape {list(shape)}"
        )
    if value._aval.dtype != a.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name(a.dtype)} for the destination and "
            f"{scalar_name(value._aval.dtype)} for the source."
        )
    check_indices(box, dims, indices, "x[...] = y")
    value = value if stripped == theirs else value.reshape(stripped)
    return _index_put.compute([box, value, indices, dims, bool(accumulate)])
