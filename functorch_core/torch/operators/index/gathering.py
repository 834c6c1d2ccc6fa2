"""Reading and writing at index tensors: gather, scatter, index_*, take."""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn, warn_once
from ....kernels.values import vector
from ....transforms.linear_map import linear_map
from ...dispatch import bounds as _bounds
from ...dispatch.op import Looking, composite, torch_op, write_out
from ...dispatch.out_dtypes import check as check_out
from ...dispatch.slots import Level, Operand
from ...dispatch.traits import EXACT, SAME_TYPE, Out, outs
from ...tensors.base import Tensor, wrap_dim
from ...tensors.promotion import cast
from ...tensors.types import scalar_name
from ...views.lenses import besides
from ...views.memory_order import preserved
from ..shape.copies import fill_number
from ..shape.joining import common_shape
from .fills import check_mask, fills_mask, one_of_dtype
from .indexing import nothing_of, put_at
from .parsing import BYTES

IN_SELF = _bounds.IN_SELF
IN_DATA = "INDICES element is out of DATA bounds, id={index} axis_dim={size}"
ELEMENTS = "out of range: tried to access index {index} on a tensor of {size} elements."
NO_LARGER = "Expected index {index} to be no larger than self {shape} apart from dimension {dim}"
BETA = "index_reduce() is in beta and the API may change at any time."
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


@torch_op(devices="any")
def _gather(input: Tensor, index: Tensor, dim, wraps=False):
    shape = index.aval.shape
    if not index.aval.size:
        return nothing_of(input, shape)
    x, i = vector(input), vector(index)
    if wraps:
        n = x.aval.shape[dim]
        i = p.wrap_negative(p.rem(i, p.full(i.aval.shape, n, i.aval.dtype)), n)
    taken = p.take_along_axis(_head(x, i.aval.shape, dim), i, axis=dim)
    return p.reshape(taken, shape=shape)


@composite(kind=Looking, out=Out(EXACT, apart=True))
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on: elements along a dimension.

    index is int64 or int32, of as many dimensions as the input and of its sizes or smaller ones except along dim;
    the result has its shape and the input's dtype. RuntimeError otherwise, and for an index that is out of bounds.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    shape = input._aval.shape
    d = wrap_dim(dim, len(shape))
    _check_index("gather", index)
    if index._aval.size:
        _check_gathered(shape or (1,), index._aval.shape or (1,), d)
        _bounds.check(index, shape[d] if shape else 1, d, "gather", error=RuntimeError)
    return _finish("gather", _gather(input, index, d), out)


@gather.simply(int, Tensor)
def _gathered_inside(input, dim, index) -> Tensor | None:
    """Of indices that were looked at before."""
    a = input._value.aval
    n = a.ndim
    if not -n <= dim < n or not _bounds.is_inside(index, a.shape[dim]):
        return None
    run = _gather.runs.get(GATHERED)  # what it knows was looked at
    return None if run is None else run(input, index, dim if dim >= 0 else dim + n)


GATHERED = Tensor, Tensor, int  # also of parameters


def _check_gathered(shape: tuple, wanted: tuple, d: int):
    """RuntimeError if an index of the shape `wanted` does not fit."""
    if len(shape) != len(wanted):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for i, (n, m) in enumerate(zip(shape, wanted)):
        if i != d and m > n:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index "
                f"{list(wanted)} to be no larger than self {list(shape)} apart "
                f"from dimension {d}"
            )


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
    """x times, for each place, all factors whose index is that place, in their order."""
    n, at = x.aval.shape[dim], index.aval.ndim
    shape = index.aval.shape[:dim] + (n,) + index.aval.shape[dim:]
    dims = tuple(d if d < dim else d + 1 for d in range(at))
    places = p.iota(shape=shape, dtype=index.aval.dtype, dimension=dim)
    here = p.eq(p.broadcast_in_dim(index, shape=shape, dims=dims), places)
    factors = p.select(here, p.broadcast_in_dim(src, shape=shape, dims=dims), p.full(shape, 1, src.aval.dtype))
    first = p.expand_dims(x, dims=(dim + 1,))  # so that it is multiplied first, as one factor after the other would be
    return p.reduce_prod(p.concatenate(first, factors, dimension=dim + 1), axes=(dim + 1,))


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


def _scatter_node(a):
    if a.how != "set":
        return "ScatterReduceBackward0"
    return None if isinstance(a.src, Tensor) else "ScatterBackward1"


@torch_op(devices="any", node=_scatter_node)
def _scatter(input: Tensor, index: Tensor, src: Operand, dim, how, include_self):
    if not index.aval.size:
        return p.copy(input)
    return scattered(input, index, cast(src, input.aval.dtype), dim, how, include_self)


@composite(inplace=True, out=Out(EXACT, apart=True))
def scatter(input, dim, index, src=None, value=None, *, reduce=None, out=None):
    """The input with src (a tensor or number) written, added or multiplied at index along dim.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5., 6.]))
    tensor([6., 0., 5.])
    """
    src = value if src is None else src
    d = wrap_dim(dim, input.ndim)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    _check_scatter("scatter", input, d, index, src if isinstance(src, Tensor) else None)
    if not isinstance(src, Tensor):
        src = fill_number(src, input._aval.dtype)
    made = _scatter.compute([input, index, src, d, reduce or "set", True])
    return _finish("scatter", made, out)


@composite(inplace=True, out=Out(EXACT, apart=True), autocast={"cuda": "widest"}, node="ScatterAddBackward0")
def scatter_add(input, dim, index, src, *, out=None):
    """The input with src added at index along dim.

    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([0, 0, 1]), torch.tensor([1., 2., 3.]))
    tensor([3., 3.])
    """
    if not isinstance(src, Tensor):
        raise TypeError(f"scatter_add(): argument 'src' (position 4) must be Tensor, not {type(src).__name__}")
    d = wrap_dim(dim, input.ndim)
    _check_scatter("scatter_add", input, d, index, src)
    return _finish("scatter_add", _scatter.compute([input, index, src, d, "sum", True]), out)


@composite(inplace=True, out=Out(EXACT, apart=True))
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """The input with the sum, product, mean, maximum or minimum of src at index along dim.

    >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 0, 1]), torch.tensor([1., 5., 3.]), "amax")
    tensor([5., 3.])
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d = wrap_dim(dim, input.ndim)
    _check_scatter("scatter_reduce", input, d, index, src)
    made = _scatter.compute([input, index, src, d, reduce, bool(include_self)])
    return _finish("scatter_reduce", made, out)


# ---- index_* -------------------------------------------------------------------------------------


@torch_op(devices="any")
def _index_select(input: Tensor, index: Tensor, dim):
    x, i = vector(input), vector(index)
    shape = x.aval.shape[:dim] + i.aval.shape + x.aval.shape[dim + 1 :]
    if 0 in shape:
        return nothing_of(input, shape)
    taken = p.take(x, i, axis=dim)
    return p.reshape(taken, shape=()) if not input.aval.ndim and i.aval.size == 1 else taken


@composite(out=Out(SAME_TYPE, apart=True))
def index_select(input, dim, index, *, out=None):
    """The parts of a dimension at the places of an index vector.

    index is a vector of int64 or int32, IndexError for more dimensions and for an index that is out of bounds; the
    dtype is kept.

    >>> torch.index_select(torch.tensor([1, 2, 3]), 0, torch.tensor([2, 0]))
    tensor([3, 1])
    """
    d = wrap_dim(dim, input.ndim)
    if not input.ndim and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _check_index("index_select", index, "{name}(): Expected dtype int32 or int64 for index")
    shape = _shape(input)
    is_empty = len(shape) > 1 and 0 in shape
    if is_empty and index.numel() and not shape[d]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    elsewhere = dict(message=IN_DATA, error=RuntimeError) if d == 1 or is_empty else dict(message=IN_SELF)
    _bounds.check(index, shape[d], d, "index_select", **elsewhere)
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


def _index_write_node(a):
    if a.combine != "set":
        return "IndexAddBackward0"
    if not isinstance(a.source, Tensor):
        return "IndexFillBackward0"
    return "IndexCopyBackward0" if a.source.ndim else "IndexFillBackward1"


@torch_op(node=_index_write_node, devices="any")
def _index_write(input: Tensor, index: Tensor, source: Operand, alpha: Level, dim, combine):
    source = cast(source, input.aval.dtype)
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        factor = cast(alpha, input.aval.dtype)
        source = p.mul(source, p.broadcast_in_dim(factor, shape=source.aval.shape, dims=()))
    return _at_index(
        input, p.wrap_negative(p.convert(index, dtype=dt.int64), (input.aval.shape or (1,))[dim]), source, dim, combine
    )


def _check_added(name: str, input, d: int, index, source):
    """The errors of index_add_ and index_reduce_."""
    if index._aval.dtype not in (dt.int32, dt.int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {scalar_name(index._aval.dtype)}")
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{scalar_name(index._aval.dtype)} and size: {list(index.shape)}"
        )
    _check_same_dtype(name, input, source, name + "(): self ({a}) and source ({b}) must have the same scalar type")
    if d and d >= source.ndim:
        raise RuntimeError(f"{name}(): Indexing dim {d} is out of bounds of the source tensor with dim {source.ndim}")
    a, b = tuple(input.shape), tuple(source.shape)
    if index.numel() != _shape(source)[d]:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim): ({_shape(source)[d]}), for dim: {d}"
        )
    if len(a) != len(b) or a[:d] + a[d + 1 :] != b[:d] + b[d + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the "
            f"specified dimension. Got self.shape = {list(a)} source.shape = {list(b)}"
        )
    if input.numel() or len(a) < 2:
        how = dict(error=RuntimeError) if len(a) > 1 and name == "index_add_" else dict(message=IN_SELF)
        _bounds.check(index, _shape(input)[d], d, name.removesuffix("_"), **how)


@composite(inplace=True, out=Out(EXACT, apart=True))
def index_add(input, dim, index, source, *, alpha=1, out=None):
    """The input with alpha * source added at the places of an index vector.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 2, 2]), torch.ones(3))
    tensor([1., 0., 2.])
    """
    d = wrap_dim(dim, input.ndim)
    _check_added("index_add_", input, d, index, source)
    made = _index_write.compute([input, index, source, alpha, d, "add"])
    return _finish("index_add", made, out)


@composite(inplace=True, out=Out(EXACT, apart=True), autocast={"cpu": "widest"})
def index_copy(input, dim, index, source, *, out=None):
    """The input with source written at the places of an index vector.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([0, 2]), torch.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
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
    if not source.ndim and index.numel() != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})")
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({input.ndim})"
        )
    a, b = _shape(input), _shape(source)
    slices = a[:d] + a[d + 1 :], b[:d] + b[d + 1 :] if source.ndim else ()
    if slices[0] != slices[1]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. "
            f"Destination slice shape: {' '.join(map(str, slices[0]))} at "
            f"dimension {d} and source slice shape: "
            f"{' '.join(map(str, slices[1]))} at dimension {0 if not source.ndim else d}."
        )
    if source.ndim and index.numel() != b[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) ({b[d]})"
        )
    _bounds.check(index, a[d], d, "index_copy", message=f"index_copy_(): {_bounds.OUTSIDE}")
    made = _index_write.compute([input, index, source, 1, d, "set"])
    return _finish("index_copy", made, out)


def _filled_places(places, tensor, dim, index, value) -> tuple:
    """What index_fill_ writes to, and what."""
    index_fill(tensor, dim, index, value)  # raises for what cannot be
    value = value.to(tensor.dtype) if isinstance(value, Tensor) else tensor.new_full((), value)
    return places.index_select(dim, index).reshape(-1) if places.ndim else places.reshape(1), value, False


@composite(
    inplace=True, out=Out(apart=True, places=_filled_places, beside=lambda input, dim, index, value: ([index], ()))
)
def index_fill(input, dim, index, value):
    """The input with a number at the places of an index vector.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 7)
    tensor([7., 0., 7.])
    """
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
        if isinstance(value, complex) and not input.is_complex():
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        value = fill_number(value, input._aval.dtype)
    _bounds.check(index, _shape(input)[d], d, "index_fill", negative=True)
    return _index_write.compute([input, index, value, 1, d, "set"])


@composite(inplace=True, out=Out(EXACT, apart=True), node="IndexReduceBackward0")
def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The input combined with source at the places of an index vector.

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([3., 4.]), "prod")
    tensor([12.,  1.])
    """
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = wrap_dim(dim, input.ndim)
    _check_added("index_reduce_", input, d, index, source)
    warn_once(BETA)
    places = index.reshape((1,) * d + (-1,) + (1,) * (max(input.ndim, 1) - d - 1))
    places = places.expand(_shape(source))
    made = _scatter.compute(
        [input.reshape(_shape(input)), places, source.reshape(_shape(source)), d, reduce, bool(include_self)]
    )
    return _finish("index_reduce", made.reshape(input.shape), out)


def _put_places(places, tensor, indices, values, accumulate=False) -> tuple:
    """What index_put_ writes to, and what."""
    index_put(tensor, indices, values, accumulate)  # raises for what cannot be
    places = places[tuple(slice(None) if index is None else index for index in indices)]
    values = values.reshape(values.shape[max(values.ndim - places.ndim, 0) :])
    return places.reshape(-1), values.expand(places.shape).reshape(-1), accumulate


def _beside_put(input, indices, values, accumulate=False) -> tuple:
    """What index_put_ must share no memory with, and what may be all that it writes to."""
    given = [x for x in indices if isinstance(x, Tensor)]
    return ((), given) if fills_mask(given, values) and not accumulate else ([*given, values], ())


@composite(inplace=True, out=Out(apart=True, places=_put_places, beside=_beside_put))
def index_put(input, indices, values, accumulate=False):
    """The input with values written, or added, at index tensors of its first dimensions.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([1]),), torch.tensor(4.))
    tensor([0., 4., 0.])
    """
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
        if index._aval.dtype == dt.uint8:
            warn(BYTES)
        tensors.append((dim, index))
        dim += index.ndim if index.ndim and index._aval.dtype in (dt.bool_, dt.uint8) else 1
    if dim > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {dim})")
    if not isinstance(values, Tensor):
        raise TypeError(f"index_put(): argument 'values' (position 3) must be Tensor, not {type(values).__name__}")
    if not tensors:
        raise RuntimeError("index_put(): at least one of the indices must be a tensor")
    if fills_mask([index for _, index in tensors], values) and not accumulate:
        check_mask(tensors[0][1]._aval)
        values = one_of_dtype(values, input._aval.dtype)
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


@torch_op(devices="any")
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
    """The elements at places counted through the whole tensor.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
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


@torch_op(layout=preserved)
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


@composite(inplace=True, out=Out(apart=True))
def put(input, index, source, accumulate=False):
    """The input with source at places counted through the whole tensor.

    >>> torch.put(torch.zeros(2, 2), torch.tensor([0, 3]), torch.tensor([5., 6.]))
    tensor([[5., 0.],
            [0., 6.]])
    """
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


@composite(out=Out(EXACT, apart=True))
def take_along_dim(input, indices, dim=None, *, out=None):
    """The elements at indices (modulo the size) along a dimension, the others broadcast together.

    >>> torch.take_along_dim(torch.tensor([[3, 1], [2, 4]]), torch.tensor([[1], [0]]), dim=1)
    tensor([[1],
            [2]])
    """
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
