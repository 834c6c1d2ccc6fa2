"""Reading and writing at index tensors and masks: gather, scatter, index_*, take, masked_*."""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels.values import vector
from ....transforms.linear_map import linear_map
from ...dispatch import bounds as _bounds
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.out_dtypes import check as check_out
from ...dispatch.slots import Number, Operand
from ...dispatch.traits import EXACT, SAME_TYPE, Out, outs
from ...tape.meta import is_readable
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, wrap_dim
from ...tensors.promotion import broadcast, cast
from ...tensors.types import scalar_name
from ...views.cells import KINDS, Lens, besides, put_by_index
from ...views.cells import put as put_through
from ...views.kinds import _diagonal_layout, part_of_dim
from ...views.memory_order import with_strides
from ..shape.copies import fill_number
from ..shape.joining import common_shape
from ..shape.views import as_strided_lens
from .indexing import nothing_of, put_at, sliced

IN_SELF = _bounds.IN_SELF
IN_DATA = "INDICES element is out of DATA bounds, id={index} axis_dim={size}"
ELEMENTS = "out of range: tried to access index {index} on a tensor of {size} elements."
NO_LARGER = "Expected index {index} to be no larger than self {shape} apart from dimension {dim}"
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
# Up to so many comparisons a product over equal indices is computed with all of them, because
# then it can be differentiated by its factors.
DENSE_PRODUCT = 1 << 22


def _finish(name: str, made: Tensor, out) -> Tensor:
    if out is None:
        return made
    if isinstance(out, Tensor) and out.dtype is not made.dtype:
        check_out(name, outs[name], made._aval.dtype, out._aval.dtype)
    return write_out(name, out, made)


def _check_index(name: str, index, message: str = "{name}(): Expected dtype int32/int64 for index"):
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._aval.dtype not in (dt.int32, dt.int64) and index.numel():
        raise RuntimeError(message.format(name=name))


def _check_same_dtype(name: str, tensor: Tensor, source: Tensor, message: str):
    if tensor._aval.dtype != source._aval.dtype:
        raise RuntimeError(message.format(a=scalar_name(tensor._aval.dtype), b=scalar_name(source._aval.dtype)))


def _head(x, shape, dim: int):
    """The part of x that is as large as `shape` apart from `dim`."""
    limit = tuple(n if d == dim else m for d, (n, m) in enumerate(zip(x.aval.shape, shape)))
    return x if limit == x.aval.shape else p.slice(x, start=(0,) * len(limit), limit=limit)


# ---- gather and scatter --------------------------------------------------------------------------


@torch_op(name="_gather", method=False, function=False, node="gather")
def _gather(input: Tensor, index: Tensor, dim, wraps):
    shape = index.aval.shape
    if not index.aval.size:
        return nothing_of(input, shape)
    x, i = vector(input), vector(index)
    if wraps:
        n = x.aval.shape[dim]
        i = p.wrap_negative(p.rem(i, p.full(i.aval.shape, n, i.aval.dtype)), n)
    taken = p.take_along_axis(_head(x, i.aval.shape, dim), i, axis=dim)
    return p.reshape(taken, shape=shape)


@composite(out=Out(EXACT, apart=True))
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on: elements along a dimension."""
    _check_index("gather", index)
    d = wrap_dim(dim, input.ndim)
    if index.numel():
        shape, wanted = _shape(input), _shape(index)
        if len(shape) != len(wanted):
            raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
        for i, (n, m) in enumerate(zip(shape, wanted)):
            if i != d and m > n:
                raise RuntimeError(
                    f"Size does not match at dimension {i} expected index "
                    f"{list(wanted)} to be no larger than self {list(shape)} apart "
                    f"from dimension {d}"
                )
        _bounds.check(index, shape[d], d, "gather", error=RuntimeError)
    return _finish("gather", _gather.compute([input, index, d, False]), out)


def _shape(x: Tensor) -> tuple[int, ...]:
    """The shape, at least 1-d."""
    return tuple(x._aval.shape) or (1,)


def _check_scatter(name: str, input, d: int, index, src=None):
    _check_index(name, index)
    if src is not None:
        _check_same_dtype(name, input, src, "scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.numel():
        return
    shape, wanted = _shape(input), _shape(index)
    if len(shape) != len(wanted) or (src is not None and len(_shape(src)) != len(wanted)):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            + ("self" if len(shape) != len(wanted) else "src")
            + " tensor"
        )
    too_large = any(i != d and m > n for i, (n, m) in enumerate(zip(shape, wanted)))
    if src is not None and any(m > n for n, m in zip(_shape(src), wanted)):
        raise RuntimeError(
            NO_LARGER.format(index=list(wanted), shape=list(shape), dim=d)
            + f" and to be no larger size than src {list(_shape(src))}"
        )
    if too_large:
        raise RuntimeError(NO_LARGER.format(index=list(wanted), shape=list(shape), dim=d))
    _bounds.check(index, shape[d], d, name, error=RuntimeError)


def scattered(x, index, src, dim: int, how: str, include_self: bool = True):
    """x with src combined at index along dim; index may be smaller than x elsewhere."""
    shape = x.aval.shape
    x, index = vector(x), vector(index)
    src = (
        p.broadcast_in_dim(src, shape=index.aval.shape, dims=())
        if not src.aval.ndim
        else (_head(src, index.aval.shape, -1))
    )
    block = _head(x, index.aval.shape, dim)
    new = _combined(block, index, src, dim, how, include_self)
    if block is not x:
        zeros = [p.constant(np.int64(0))] * x.aval.ndim
        new = p.dynamic_update_slice(x, new, *zeros)
    return p.reshape(new, shape=shape)


COMBINE = {
    "set": "set",
    "sum": "add",
    "add": "add",
    "amax": "max",
    "amin": "min",
    "mean": "add",
    "prod": "mul",
    "multiply": "mul",
}


def _combined(x, index, src, dim, how, include_self):
    dtype = x.aval.dtype
    if not include_self:
        touched = p.scatter_along_axis(
            p.full(x.aval.shape, False, dt.bool_), index, p.full(index.aval.shape, True, dt.bool_), axis=dim
        )
        start = p.select(touched, p.full(x.aval.shape, identity_of(how, dtype), dtype), x)
    else:
        start = x
    if how == "prod" and dtype in dt.INEXACT and x.aval.size * index.aval.shape[dim] <= DENSE_PRODUCT:
        return _dense_product(start, index, src, dim)
    if how == "set":
        return written_to(start, index, src, p.scatter_along_axis, p.take_along_axis, dim)
    new = p.scatter_along_axis(start, index, src, axis=dim, combine=COMBINE[how])
    return _mean(x, new, index, dim, include_self) if how == "mean" else new


def written_to(x, index, source, scatter, gather, dim: int):
    """x with the source written at an index. Of several elements written to one place each has that
    place's derivative, though one of them is there."""

    def forward(x, source, index):
        return scatter(x, index, source, axis=dim, combine="set")

    def backward(ct, index):
        read = gather(ct, index, axis=dim)
        return scatter(ct, index, p.zeros(read.aval), axis=dim, combine="set"), read

    if x.aval.dtype not in dt.INEXACT:
        return forward(x, source, index)
    return linear_map(forward, backward, [x, source], [index])


def identity_of(how: str, dtype: np.dtype):
    """The number that changes nothing when it is combined."""
    if how in ("sum", "mean"):
        return 0
    if how == "prod":
        return 1
    if dtype in dt.FLOATING:
        return -math.inf if how == "amax" else math.inf
    if dtype == dt.bool_:
        return how == "amin"
    info = np.iinfo(dtype)
    return info.min if how == "amax" else info.max


def _dense_product(x, index, src, dim):
    """x times, for each place, all factors whose index is that place."""
    n, at = x.aval.shape[dim], index.aval.ndim
    shape = index.aval.shape[:dim] + (n,) + index.aval.shape[dim:]
    dims = tuple(d if d < dim else d + 1 for d in range(at))
    places = p.iota(shape=shape, dtype=index.aval.dtype, dimension=dim)
    here = p.eq(p.broadcast_in_dim(index, shape=shape, dims=dims), places)
    factors = p.select(here, p.broadcast_in_dim(src, shape=shape, dims=dims), p.full(shape, 1, src.aval.dtype))
    return p.mul(x, p.reduce_prod(factors, axes=(dim + 1,)))


def _mean(x, total, index, dim, include_self):
    dtype = x.aval.dtype
    wide = (
        dtype
        if dtype in (dt.float32, dt.float64, dt.complex64, dt.complex128)
        else (dt.int64 if dtype in dt.INTEGER else dt.float32)
    )
    counts = p.scatter_along_axis(
        p.full(x.aval.shape, int(include_self), wide), index, p.full(index.aval.shape, 1, wide), axis=dim, combine="add"
    )
    counts = p.select(p.eq(counts, p.full(x.aval.shape, 0, wide)), p.full(x.aval.shape, 1, wide), counts)
    if dtype not in dt.INTEGER:
        return p.convert(p.div(p.convert(total, dtype=wide), counts), dtype=dtype)
    total = p.convert(total, dtype=wide)
    rest = p.rem(p.add(p.rem(total, counts), counts), counts)
    return p.convert(p.div(p.sub(total, rest), counts), dtype=dtype)


@torch_op(name="_scatter", method=False, function=False, node="scatter")
def _scatter(input: Tensor, index: Tensor, src: Operand, dim, how, include_self):
    if not index.aval.size:
        return p.copy(input)
    return scattered(input, index, cast(src, input.aval.dtype), dim, how, include_self)


@composite(inplace=True, out=Out(EXACT))
def scatter(input, dim, index, src=None, value=None, *, reduce=None, out=None):
    """The input with src (a tensor or number) written, added or multiplied at index along dim."""
    src = value if src is None else src
    d = wrap_dim(dim, input.ndim)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    _check_scatter("scatter", input, d, index, src if isinstance(src, Tensor) else None)
    if not isinstance(src, Tensor):
        src = fill_number(src, input._aval.dtype)
    made = _scatter.compute([input, index, src, d, reduce or "set", True])
    return _finish("scatter", made, out)


@composite(inplace=True, out=Out(EXACT))
def scatter_add(input, dim, index, src, *, out=None):
    """The input with src added at index along dim."""
    if not isinstance(src, Tensor):
        raise TypeError(f"scatter_add(): argument 'src' (position 4) must be Tensor, not {type(src).__name__}")
    d = wrap_dim(dim, input.ndim)
    _check_scatter("scatter_add", input, d, index, src)
    return _finish("scatter_add", _scatter.compute([input, index, src, d, "sum", True]), out)


@composite(inplace=True, out=Out(EXACT))
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """The input with the sum, product, mean, maximum or minimum of src at index along dim."""
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d = wrap_dim(dim, input.ndim)
    _check_scatter("scatter_reduce", input, d, index, src)
    made = _scatter.compute([input, index, src, d, reduce, bool(include_self)])
    return _finish("scatter_reduce", made, out)


# ---- index_* -------------------------------------------------------------------------------------


@torch_op(name="_index_select", method=False, function=False, node="index_select")
def _index_select(input: Tensor, index: Tensor, dim):
    x, i = vector(input), vector(index)
    shape = x.aval.shape[:dim] + i.aval.shape + x.aval.shape[dim + 1 :]
    if 0 in shape:
        return nothing_of(input, shape)
    taken = p.take(x, i, axis=dim)
    return p.reshape(taken, shape=()) if not input.aval.ndim and i.aval.size == 1 else taken


@composite(out=Out(SAME_TYPE, apart=True))
def index_select(input, dim, index, *, out=None):
    """The parts of a dimension at the places of an index vector."""
    d = wrap_dim(dim, input.ndim)
    _check_index("index_select", index, "{name}(): Expected dtype int32 or int64 for index")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    elsewhere = dict(message=IN_DATA, error=RuntimeError) if d == 1 else dict(message=IN_SELF)
    _bounds.check(index, _shape(input)[d], d, "index_select", **elsewhere)
    return _finish("index_select", _index_select.compute([input, index, d]), out)


def _at_index(x, index, source, dim: int, combine: str):
    shape = x.aval.shape
    x, index = vector(x), vector(index)
    slot = x.aval.shape[:dim] + index.aval.shape + x.aval.shape[dim + 1 :]
    several = combine == "set" and source.aval.ndim  # one element counts once a place
    source = (
        p.broadcast_in_dim(source, shape=slot, dims=()) if not source.aval.ndim else (p.reshape(source, shape=slot))
    )
    new = (
        written_to(x, index, source, p.scatter_axis, p.take, dim)
        if several
        else (p.scatter_axis(x, index, source, axis=dim, combine=combine))
    )
    return p.reshape(new, shape=shape)


@torch_op(name="_index_write", method=False, function=False, node="index_add")
def _index_write(input: Tensor, index: Tensor, source: Operand, alpha: Number, dim, combine):
    source = cast(source, input.aval.dtype)
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        factor = cast(alpha, input.aval.dtype)
        source = p.mul(source, p.broadcast_in_dim(factor, shape=source.aval.shape, dims=()))
    return _at_index(
        input, p.wrap_negative(p.convert(index, dtype=dt.int64), (input.aval.shape or (1,))[dim]), source, dim, combine
    )


@composite(inplace=True, out=Out(EXACT))
def index_add(input, dim, index, source, *, alpha=1, out=None):
    """The input with alpha * source added at the places of an index vector."""
    d = wrap_dim(dim, input.ndim)
    _check_index(
        "index_add_", index, "{name}(): Expected dtype int32/int64 for index but got: " + scalar_name(index._aval.dtype)
    )
    if index.ndim > 1:
        raise IndexError(f"index_add_(): Index dimension is supposed to be 0 or 1, got {index.ndim}")
    _check_same_dtype(
        "index_add_", input, source, "index_add_(): self ({a}) and source ({b}) must have the same scalar type"
    )
    a, b = _shape(input), _shape(source)
    if len(a) != len(b) or a[:d] + a[d + 1 :] != b[:d] + b[d + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the "
            f"specified dimension. Got self.shape = {list(input.shape)} "
            f"source.shape = {list(source.shape)}"
        )
    if b[d] != index.numel():
        raise IndexError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim): ({b[d]}), for dim: {d}"
        )
    how = dict(error=RuntimeError) if len(a) > 1 else dict(message=IN_SELF)
    _bounds.check(index, a[d], d, "index_add", **how)
    made = _index_write.compute([input, index, source, alpha, d, "add"])
    return _finish("index_add", made, out)


@composite(inplace=True, out=Out(EXACT))
def index_copy(input, dim, index, source, *, out=None):
    """The input with source written at the places of an index vector."""
    d = wrap_dim(dim, input.ndim)
    if index._aval.dtype != dt.int64:
        raise RuntimeError("index_copy_(): Expected a long tensor for index, but got " + scalar_name(index._aval.dtype))
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if input._aval.dtype != source._aval.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but "
            f"got (self) {scalar_name(input._aval.dtype)} and (source) "
            f"{scalar_name(source._aval.dtype)}"
        )
    a, b = _shape(input), _shape(source)
    slices = a[:d] + a[d + 1 :], b[:d] + b[d + 1 :] if source.ndim else ()
    if slices[0] != slices[1] or (source.ndim and input.ndim and len(a) != len(b)):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. "
            f"Destination slice shape: {' '.join(map(str, slices[0]))} at "
            f"dimension {d} and source slice shape: "
            f"{' '.join(map(str, slices[1]))} at dimension {d}."
        )
    if index.numel() != (b[d] if source.ndim else 1):
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim) ({b[d] if source.ndim else 1})"
        )
    _bounds.check(index, a[d], d, "index_copy", message=f"index_copy_(): {_bounds.OUTSIDE}")
    made = _index_write.compute([input, index, source, 1, d, "set"])
    return _finish("index_copy", made, out)


@composite(inplace=True)
def index_fill(input, dim, index, value):
    """The input with a number at the places of an index vector."""
    d = wrap_dim(dim, input.ndim)
    if index._aval.dtype != dt.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise IndexError("Index has to be a vector/scalar")
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got "
                f"tensor with {value.ndim} dimension(s)."
            )
    else:
        value = fill_number(value, input._aval.dtype)
    _bounds.check(index, _shape(input)[d], d, "index_fill", negative=True)
    return _index_write.compute([input, index, value, 1, d, "set"])


@composite(inplace=True, out=Out(EXACT))
def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The input combined with source at the places of an index vector."""
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = wrap_dim(dim, input.ndim)
    _check_index("index_reduce", index)
    if index.ndim > 1:
        raise IndexError("index_reduce(): Index is supposed to be a vector")
    _check_same_dtype("index_reduce", input, source, "index_reduce(): self and source must have the same scalar type")
    if index.numel() != _shape(source)[d]:
        raise RuntimeError("index_reduce(): Number of indices should be equal to source.size(dim)")
    _bounds.check(index, _shape(input)[d], d, "index_reduce", message=IN_SELF)
    places = index.reshape((1,) * d + (-1,) + (1,) * (max(input.ndim, 1) - d - 1))
    places = places.expand(_shape(source))
    made = _scatter.compute(
        [input.reshape(_shape(input)), places, source.reshape(_shape(source)), d, reduce, bool(include_self)]
    )
    return _finish("index_reduce", made.reshape(input.shape), out)


@composite(inplace=True)
def index_put(input, indices, values, accumulate=False):
    """The input with values written, or added, at index tensors of its first dimensions."""
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put_(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
    tensors, dim = [], 0
    for i, index in enumerate(indices):
        if index is None:
            dim += 1
            continue
        if not isinstance(index, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(index).__name__}")
        tensors.append((dim, index))
        dim += index.ndim if index._aval.dtype in (dt.bool_, dt.uint8) else 1
    if dim > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    if not isinstance(values, Tensor):
        raise TypeError(f"index_put(): argument 'values' (position 3) must be Tensor, not {type(values).__name__}")
    if not tensors:
        raise RuntimeError("index_put(): at least one of the indices must be a tensor")
    return put_at(input, tensors, values, accumulate)


def _inside(input, indices) -> tuple:
    """Index tensors moved to the nearest places that are there."""
    return tuple(
        [slice(None) if index is None else index.clamp(0, input.shape[d] - 1) for d, index in enumerate(indices)]
    )


@composite(method=False)
def _unsafe_masked_index(input, mask, indices, fill):
    """input[indices] where the mask is True, a number elsewhere: there any index will do."""
    return input[_inside(input, indices)].masked_fill(mask.logical_not(), fill)


@composite(method=False)
def _unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """The input with the values where the mask is True added at indices."""
    added = values.masked_fill(mask.logical_not(), 0)
    places = [None if isinstance(i, slice) else i for i in _inside(input, indices)]
    return index_put(input, places, added, True)


# ---- take and put --------------------------------------------------------------------------------


@torch_op(name="_take", method=False, function=False, node="take")
def _take(input: Tensor, index: Tensor):
    flat = p.reshape(input, shape=(input.aval.size,))
    if not index.aval.size:
        return nothing_of(input, index.aval.shape)
    return p.take(flat, p.wrap_negative(index, input.aval.size), axis=0)


@composite(
    out=Out(
        "take(): self and out expected to have the same dtype, but got self.dtype = {found} and out.dtype = {wanted}",
        apart=True,
    )
)
def take(input, index, *, out=None):
    """The elements at places counted through the whole tensor."""
    _check_long("take", index)
    _check_elements(input, index, "take")
    return _finish("take", _take.compute([input, index]), out)


def _check_long(name: str, index):
    if index._aval.dtype != dt.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got " + scalar_name(index._aval.dtype))


def _check_elements(input, index, name: str):
    if not input.numel() and index.numel():
        raise IndexError(f"{name}(): tried to take from an empty tensor")
    _bounds.check(index, input.numel(), 0, name, message=ELEMENTS, negative=True)


@torch_op(name="_put", method=False, function=False, node="put")
def _put(input: Tensor, index: Tensor, source: Tensor, accumulate):
    flat = p.reshape(input, shape=(input.aval.size,))
    index = p.wrap_negative(p.reshape(index, shape=(index.aval.size,)), input.aval.size)
    source = p.reshape(source, shape=(source.aval.size,))
    if not index.aval.size:
        return besides(input, source)
    new = (
        p.scatter_axis(flat, index, source, axis=0, combine="add")
        if accumulate
        else (written_to(flat, index, source, p.scatter_axis, p.take, 0))
    )
    return p.reshape(new, shape=input.aval.shape)


@composite(inplace=True)
def put(input, index, source, accumulate=False):
    """The input with source at places counted through the whole tensor."""
    _check_long("put_", index)
    if input._aval.dtype != source._aval.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got "
            f"self.dtype = {scalar_name(input._aval.dtype)} and source.dtype = "
            f"{scalar_name(source._aval.dtype)}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, "
            f"but got source.numel() = {source.numel()}, index.numel() = "
            f"{index.numel()}"
        )
    _check_elements(input, index, "put_")
    return _put.compute([input, index, source, bool(accumulate)])


@composite(out=Out(EXACT))
def take_along_dim(input, indices, dim=None, *, out=None):
    """The elements at indices (modulo the size) along a dimension, the others broadcast together."""
    if indices._aval.dtype != dt.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got " + scalar_name(indices._aval.dtype)
        )
    if dim is None:
        return _finish("take_along_dim", gather(input.reshape(-1), 0, indices.reshape(-1)), out)
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number "
            f"of dimensions, but got {input.ndim} dimensions for input, and "
            f"{indices.ndim} dimensions for indices"
        )
    d = wrap_dim(dim, input.ndim)
    a, b = list(input.shape), list(indices.shape)
    others = common_shape([(*a[:d], *a[d + 1 :]), (*b[:d], *b[d + 1 :])])
    if a[d] == 0 and b[d]:
        raise IndexError("index is out of bounds for dimension with size 0")
    made = _gather.compute(
        [input.expand(*others[:d], a[d], *others[d:]), indices.expand(*others[:d], b[d], *others[d:]), d, True]
    )
    return _finish("take_along_dim", made, out)


# ---- masks ---------------------------------------------------------------------------------------


@torch_op(inplace=True)
def masked_fill(input: Tensor, mask: Tensor, value: Operand):
    """The input with a number where the mask is True.

    >>> torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 0)
    tensor([0, 2])
    """
    if mask.aval.dtype != dt.bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {scalar_name(mask.aval.dtype).lower()}"
        )
    ndim = getattr(getattr(value, "aval", None), "ndim", 0)
    if ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {ndim} dimension(s)."
        )
    if input.aval.dtype not in dt.COMPLEX and (
        isinstance(value, complex) or getattr(getattr(value, "aval", None), "dtype", None) in dt.COMPLEX
    ):
        raise RuntimeError(f"value cannot be converted to type {input.aval.dtype.name} without overflow")
    x, mask = broadcast([input, mask])
    new = p.broadcast_in_dim(cast(value, x.aval.dtype), shape=x.aval.shape, dims=())
    return p.select(mask, new, x)


@composite(out=Out(SAME_TYPE, apart=True))
def masked_select(input, mask, *, out=None):
    """The elements where the mask is True, as a vector."""
    if mask._aval.dtype not in (dt.bool_, dt.uint8):
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape([tuple(input.shape), tuple(mask.shape)])
    places = np.flatnonzero(np.broadcast_to(mask._array(), shape))
    made = _take.compute([input.expand(shape), from_array(places.astype(np.int64))])
    return _finish("masked_select", made, out)


@torch_op(name="_masked_scatter", method=False, function=False, node="masked_scatter")
def _masked_scatter(input: Tensor, mask: Tensor, source: Tensor):
    x, mask = broadcast([input, mask])
    if not source.aval.size or not x.aval.size:
        return p.copy(x)
    flat = p.convert(p.reshape(mask, shape=(mask.aval.size,)), dtype=dt.int64)
    places = p.sub(p.cumsum(flat, axis=0), p.full(flat.aval.shape, 1, dt.int64))
    taken = p.take(p.reshape(source, shape=(source.aval.size,)), places, axis=0, mode="clip")
    return p.select(mask, p.reshape(taken, shape=x.aval.shape), x)


@composite(inplace=True)
def masked_scatter(input, mask, source):
    """The input with the elements of source, in order, where the mask is True."""
    if input._aval.dtype != source._aval.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{scalar_name(input._aval.dtype)} and "
            f"{scalar_name(source._aval.dtype)}"
        )
    shape = common_shape([tuple(input.shape), tuple(mask.shape)])
    if mask._aval.dtype != dt.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{scalar_name(mask._aval.dtype).lower()}"
        )
    if source.numel() < math.prod(shape) and is_readable(mask):
        if int(np.broadcast_to(mask._array(), shape).sum()) > source.numel():
            raise RuntimeError("Number of elements of source < number of ones in mask")
    return _masked_scatter.compute([input, mask, source])


@composite(out=Out("nonzero: Expected out tensor to have scalar type {found} but got scalar type{wanted}"))
def nonzero(input, *, out=None, as_tuple=False):
    """Where the elements are not zero: as rows of indices, or as one vector a dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 4]))
    tensor([[1],
            [2]])
    """
    if as_tuple:
        return nonzero(input if input.ndim else input.unsqueeze(0)).unbind(1)
    array = input._array()
    places = from_array(np.ascontiguousarray(np.argwhere(array).astype(np.int64)))
    if places.numel():
        with_strides(places, (1, places.shape[0]))  # one index vector after the other, as PyTorch
    return _finish("nonzero", places, out)


@composite
def argwhere(input):
    """Where the elements are not zero, as rows of indices."""
    return nonzero(input)


@torch_op
def nonzero_static(input: Tensor, *, size, fill_value=-1, out=None):
    """The first `size` rows of nonzero(), filled up where there are fewer."""
    a = input.aval
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    rows = p.full((size, a.ndim), fill_value, dt.int64)
    if not a.size or not size or not a.ndim:
        return rows
    there = p.reshape(p.ne(input, 0) if a.dtype != dt.bool_ else input, shape=(a.size,))
    place = p.sub(p.cumsum(p.convert(there, dtype=dt.int64), axis=0), 1)
    place = p.select(there, place, p.full((a.size,), size, dt.int64))  # size: dropped
    index = [p.reshape(p.iota(shape=a.shape, dtype=dt.int64, dimension=d), shape=(a.size, 1)) for d in range(a.ndim)]
    return p.scatter_axis(rows, place, p.concatenate(*index, dimension=1), axis=0, mode="drop")


# ---- through views -------------------------------------------------------------------------------


def _scattered_through(input: Tensor, lens: Lens, shape, src: Tensor, out) -> Tensor:
    if tuple(src.shape) != tuple(shape):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(shape)}"
        )
    if src._aval.dtype != input._aval.dtype:
        src = src.to(_types.of_numpy(input._aval.dtype))
    return _finish("scatter", put_through(input, src, (lens,)), out)


@composite
def select_scatter(input, src, dim, index, *, out=None):
    """The input with src at one index of a dimension."""
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    shape = tuple(input.shape)
    lens = Lens("select", (part_of_dim(shape, d, index % n, 1, stays=False), ()))
    return _scattered_through(input, lens, shape[:d] + shape[d + 1 :], src, out)


@composite
def slice_scatter(input, src, dim=0, start=None, end=None, step=1, *, out=None):
    """The input with src in a slice of a dimension."""
    d = wrap_dim(dim, input.ndim)
    shape = tuple(input.shape)
    first, n, step = sliced(slice(start, end, step), shape[d])
    lens = Lens("slice", (part_of_dim(shape, d, first, n, step), ()))
    return _scattered_through(input, lens, shape[:d] + (n,) + shape[d + 1 :], src, out)


@composite
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1, *, out=None):
    """The input with src on a diagonal."""
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    lens = Lens("diagonal", (offset, a, b))
    shape = _diagonal_layout(tuple(input.shape), (0,) * input.ndim, 0, offset, a, b)[0]
    return _scattered_through(input, lens, shape, src, out)


@composite(out=Out(EXACT))
def as_strided_scatter(input, src, size, stride, storage_offset=None, *, out=None):
    """The input with src at offset + sum of index times stride."""
    seen, lens = as_strided_lens(input, size, stride, storage_offset)
    if seen is not input:
        raise NotImplementedError("as_strided_scatter beyond the elements of the input")
    if tuple(src.shape) == lens.params[0] and src.dtype == input.dtype:
        made = _as_strided_scatter.compute([input, src, lens.params])
        return _finish("as_strided_scatter", made, out)
    return _scattered_through(input, lens, tuple(size), src, out)


@torch_op(name="_as_strided_scatter", method=False, function=False, node="as_strided_scatter")
def _as_strided_scatter(input: Tensor, src: Tensor, params):
    """PyTorch gives the input the gradients of what is overwritten, and of nothing else."""
    lens = Lens("as_strided", params)

    def backward(ct):
        read = KINDS[lens.kind].get(ct, *params)
        return put_by_index(p.zeros(ct.aval), read, lens), read

    if input.aval.dtype not in dt.INEXACT:
        return put_by_index(input, src, lens)
    return linear_map(lambda x, y: put_by_index(x, y, lens), backward, [input, src])
