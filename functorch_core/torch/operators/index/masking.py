"""Reading and writing at masks and through views: masked_*, nonzero, select_scatter, ..."""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels.indexing import nonzero_places
from ....transforms.linear_map import linear_map
from ...dispatch.devices import beside
from ...dispatch.op import composite, torch_op
from ...dispatch.slots import Element
from ...dispatch.traits import EXACT, SAME_TYPE, Out
from ...levels.levels import refuse_dynamic
from ...tape.meta import NO_NONZERO, is_readable
from ...tape.node_names import if_tensor
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, wrap_dim
from ...tensors.promotion import broadcast, cast, overflow_of
from ...tensors.types import scalar_name
from ...views.cells import put as put_through
from ...views.kinds import _diagonal_layout, part_of_dim
from ...views.lenses import KINDS, Lens, put_by_index
from ...views.memory_order import with_strides
from ..shape.joining import common_shape
from ..shape.views import as_strided_lens
from .fills import check_mask
from .gathering import _finish, _take
from .parsing import sliced

# ---- masks ---------------------------------------------------------------------------------------


def _masked_places(places, tensor, mask, value) -> tuple:
    """What masked_fill_ writes to, and what."""
    if mask._aval.dtype != dt.bool_ or isinstance(value, Tensor) and value.ndim:
        masked_fill(tensor, mask, value)  # raises
    value = value.to(tensor.dtype) if isinstance(value, Tensor) else tensor.new_full((), value)
    return masked_select(places, mask), value, False


@torch_op(
    inplace=True,
    layout=None,
    node=if_tensor("value", "MaskedFillBackward1"),
    out=Out(whole=False, places=_masked_places, beside=lambda input, mask, value: ((), [mask])),
)
def masked_fill(input: Tensor, mask: Tensor, value: Element):
    """The input with a number where the mask is True.

    >>> torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 0)
    tensor([0, 2])
    """
    check_mask(mask.aval)
    ndim = getattr(getattr(value, "aval", None), "ndim", 0)
    if ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {ndim} dimension(s)."
        )
    if input.aval.dtype not in dt.COMPLEX and _is_complex(value):
        if not isinstance(value, complex):
            raise RuntimeError(overflow_of(input.aval.dtype))
        value = value.real
    x, mask = broadcast([input, mask])
    new = p.broadcast_in_dim(cast(value, x.aval.dtype), shape=x.aval.shape, dims=())
    return p.select(mask, new, x)


def _is_complex(value) -> bool:
    return isinstance(value, complex) or getattr(getattr(value, "aval", None), "dtype", None) in dt.COMPLEX


@composite(out=Out(SAME_TYPE, apart=True), node="MaskedSelectBackward0")
def masked_select(input, mask, *, out=None):
    """The elements where the mask is True, as a vector.

    The mask is bool, RuntimeError otherwise; both are broadcast.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask._aval.dtype != dt.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape([tuple(input.shape), tuple(mask.shape)])
    places = np.flatnonzero(np.broadcast_to(mask._array(), shape))
    made = _take.compute([input.expand(shape), from_array(places.astype(np.int64))])
    return _finish("masked_select", made, out)


@torch_op
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
    """The input with the elements of source, in order, where the mask is True.

    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
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


@composite(
    out=Out("nonzero: Expected out tensor to have scalar type {found} but got scalar type{wanted}"),
    without_data=NO_NONZERO,
)
def nonzero(input, *, out=None, as_tuple=False):
    """Where the elements are not zero: as rows of indices, or as one vector a dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 4]))
    tensor([[1],
            [2]])
    """
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return nonzero(input if input.ndim else input.unsqueeze(0)).unbind(1)
    if input._level is not None:
        refuse_dynamic(input, "nonzero")
    array = input._array()
    found = nonzero_places(array) if array.ndim else np.argwhere(array).T
    rows = np.empty((len(found[0]), array.ndim), np.int64) if array.ndim else np.ascontiguousarray(found.T)
    for dim in range(array.ndim):  # 4 us less than np.stack
        rows[:, dim] = found[dim]
    (places,) = beside(input, from_array(rows))
    if places.numel():
        with_strides(places, (1, places.shape[0]))  # one index vector after the other, as PyTorch
    return _finish("nonzero", places, out)


@composite(without_data=NO_NONZERO)
def argwhere(input):
    """Where the elements are not zero, as rows of indices.

    >>> torch.argwhere(torch.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return nonzero(input)


@torch_op
def nonzero_static(input: Tensor, *, size, fill_value=-1, out=None):
    """The first `size` rows of nonzero(), filled up where there are fewer.

    >>> torch.nonzero_static(torch.tensor([0., 3., 4.]), size=3, fill_value=-1)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
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


@composite(node="SelectScatterBackward0")
def select_scatter(input, src, dim, index, *, out=None):
    """The input with src at one index of a dimension.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    shape = tuple(input.shape)
    lens = Lens("select", (part_of_dim(shape, d, index % n, 1, stays=False), ()))
    return _scattered_through(input, lens, shape[:d] + shape[d + 1 :], src, out)


@composite(node="SliceScatterBackward0")
def slice_scatter(input, src, dim=0, start=None, end=None, step=1, *, out=None):
    """The input with src in a slice of a dimension.

    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    d = wrap_dim(dim, input.ndim)
    shape = tuple(input.shape)
    first, n, step = sliced(slice(start, end, step), shape[d])
    lens = Lens("slice", (part_of_dim(shape, d, first, n, step), ()))
    return _scattered_through(input, lens, shape[:d] + (n,) + shape[d + 1 :], src, out)


@composite(node="DiagonalScatterBackward0")
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1, *, out=None):
    """The input with src on a diagonal.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    lens = Lens("diagonal", (offset, a, b))
    shape = _diagonal_layout(tuple(input.shape), (0,) * input.ndim, 0, offset, a, b)[0]
    return _scattered_through(input, lens, shape, src, out)


@composite(out=Out(EXACT), node="AsStridedScatterBackward0")
def as_strided_scatter(input, src, size, stride, storage_offset=None, *, out=None):
    """The input with src at offset + sum of index times stride.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    seen, lens = as_strided_lens(input, size, stride, storage_offset)
    if seen is not input:
        raise NotImplementedError("as_strided_scatter beyond the elements of the input")
    if tuple(src.shape) == lens.params[0] and src.dtype == input.dtype:
        made = _as_strided_scatter.compute([input, src, lens.params])
        return _finish("as_strided_scatter", made, out)
    return _scattered_through(input, lens, tuple(size), src, out)


@torch_op
def _as_strided_scatter(input: Tensor, src: Tensor, params):
    """PyTorch gives the input the gradients of what is overwritten, and of nothing else."""
    lens = Lens("as_strided", params)

    def backward(ct):
        read = KINDS[lens.kind].get(ct, *params)
        return put_by_index(p.zeros(ct.aval), read, lens), read

    if input.aval.dtype not in dt.INEXACT:
        return put_by_index(input, src, lens)
    return linear_map(lambda x, y: put_by_index(x, y, lens), backward, [input, src])
