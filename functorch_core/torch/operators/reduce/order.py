"""Sorting and what rests on it: order statistics, search, distinct elements."""

from __future__ import annotations

import functools
import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn_once
from ....kernels import order as kernels
from ....kernels.subgradients import extreme_of
from ....kernels.values import kept, permuted, vector
from ....transforms.custom import stop_gradient
from ...dispatch.bounds import check as check_indices
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import MaybeTensor, Operand
from ...dispatch.traits import EXACT, SORTED, Out
from ...tensors.base import Tensor, wrap_dim
from ...tensors.promotion import cast, promote, result_dtype
from ...tensors.types import scalar_name
from ...views.memory_order import preserved
from .. import declaring as d
from .. import return_types
from ..declaring import like, number_operand, require
from ..value_checks import IN_UNIT
from ..value_checks import require as require_elements
from .reduction import at_index

# ---- sorting -------------------------------------------------------------------------------------


def sorted_with_index(x, axis: int, descending: bool = False) -> list:
    """[the elements in order along an axis, where each was]; equal ones stay in order."""
    index = p.iota(shape=x.aval.shape, dtype=dt.int64, dimension=axis)
    return p.sort(x, index, dimension=axis, descending=descending)


def _check_sortable(x):
    if x.aval.dtype in dt.COMPLEX:
        raise RuntimeError("Sort does not support complex dtypes on CPU")


@torch_op(returns=return_types.sort, layout=preserved)
def _sort(input: Tensor, dim, descending):
    """values and indices in order along dim."""
    axis = wrap_dim(dim, input.aval.ndim)
    _check_sortable(input)
    x = vector(input)
    if not x.aval.size:
        return [input, p.full(input.aval.shape, 0, dt.int64)]
    return [p.reshape(y, shape=input.aval.shape) for y in sorted_with_index(x, axis, bool(descending))]


@composite(out=Out(EXACT))
def sort(input, dim=-1, descending=False, *, stable=False, out=None):
    """The elements in ascending (or descending) order along dim, and where they were; stable.

    >>> torch.sort(torch.tensor([3., 1., 2.])).indices
    tensor([1, 2, 0])
    """
    result = _sort(input, dim, descending)
    return result if out is None else write_out("sort", out, result)


@composite
def argsort(input, dim=-1, descending=False, *, stable=False):
    """The indices that sort input along dim.

    >>> torch.argsort(torch.tensor([3., 1., 2.]))
    tensor([1, 2, 0])
    """
    return _sort(input, dim, descending)[1]


@composite(out=Out(EXACT, whole=True))
def msort(input, *, out=None):
    """input sorted along its first dimension.

    >>> torch.msort(torch.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    result = _sort(input, 0, False)[0]
    return result if out is None else write_out("msort", out, result)


@torch_op(returns=return_types.topk, out=Out(EXACT))
def topk(input: Tensor, k, dim=-1, largest=True, sorted=True, *, out=None):
    """The k largest (or smallest) elements along dim in order, and where they were.

    Both have the size k along dim, the indices are int64. RuntimeError if k is more than there are.

    >>> torch.topk(torch.tensor([1., 3., 2.]), 2).values
    tensor([3., 2.])
    """
    if input.aval.dtype in dt.COMPLEX or input.aval.dtype == dt.bool_:
        kind, space = ("bool", "") if input.aval.dtype == dt.bool_ else ("complex", " ")
        raise RuntimeError(f"{space}topk does not support {kind} dtypes on CPU")
    if isinstance(dim, bool):
        raise TypeError("topk(): argument 'dim' (position 2) must be int, not bool")
    axis = wrap_dim(-1 if dim is None else dim, input.aval.ndim)
    x = vector(input)
    if not 0 <= k <= x.aval.shape[axis]:
        raise RuntimeError("selected index k out of range")
    out = kernels.top_k(x, k, axis, bool(largest))
    return out if input.aval.ndim else [p.reshape(y, shape=() if k else (0,)) for y in out]


# ---- order statistics ----------------------------------------------------------------------------


def _chosen(x, dim, keepdim: bool, choose) -> list:
    """[values, indices] at choose(order, x, axis) along dim, order being sorted indices."""
    axis = wrap_dim(dim, x.aval.ndim)
    y = vector(x)
    if y.aval.shape[axis] == 0:
        raise IndexError(f"Expected reduction dim {axis} to have non-zero size.")
    order = sorted_with_index(y, axis)
    index = choose(order[0], order[1], axis)
    if x.aval.ndim:
        return at_index(y, index, axis, keepdim)
    return [p.reshape(v, shape=()) for v in at_index(y, index, axis, True)]


def _fixed(order, axis: int, k: int):
    """What is in sorted place k, of the indices in that order or the elements."""
    return p.slice_in_dim(order, start=k, limit=k + 1, dimension=axis)


def _at_place(order, place, axis: int):
    """The same of a place that differs along the other axes (size 1 along this one)."""
    return p.take_along_axis(order, place, axis=axis, mode="promise_in_bounds")


def _kept_sum(mask, axis: int):
    """How often a mask holds along an axis, which stays with size 1."""
    counted = dt.int32 if mask.aval.shape[axis] < 1 << 31 else dt.int64
    counts = p.reduce_sum(p.convert(mask, dtype=counted), axes=(axis,))
    return kept(p.convert(counts, dtype=dt.int64), mask, (axis,), True)


def _median_place(values, order, axis: int):
    """The lower middle; the first NaN if there is one."""
    n = values.aval.shape[axis]
    if values.aval.dtype not in dt.FLOATING:
        return _fixed(order, axis, (n - 1) // 2)
    numbers = _kept_sum(p.eq(values, values), axis)
    middle = like(numbers, (n - 1) // 2)
    return _at_place(order, p.select(p.lt(numbers, n), numbers, middle), axis)


def _nanmedian_place(values, order, axis: int):
    """The lower middle of the numbers; the first NaN if there is nothing else."""
    n = values.aval.shape[axis]
    if values.aval.dtype not in dt.FLOATING:
        return _fixed(order, axis, (n - 1) // 2)
    numbers = _kept_sum(p.eq(values, values), axis)
    place = p.div(p.max(p.sub(numbers, 1), like(numbers, 0)), 2)
    return _at_place(order, place, axis)


def _shared(x, value):
    """`value`, an element of flat x, with its derivative shared among the elements equal to it."""
    if x.aval.dtype not in dt.FLOATING:
        return value
    value = like(x, stop_gradient(value))
    same = p.or_(p.eq(x, value), p.and_(p.ne(x, x), p.ne(value, value)))
    return extreme_of(p.select(same, x, like(x, -math.inf)), (0,), True)


VALUES_DTYPE = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; "
    "but type torch.{wanted}Tensor does not equal torch.{found}Tensor (while checking arguments for median)"
)
INDICES_DTYPE = (
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got "
    "torch.{wanted}Tensor instead (while checking arguments for median)"
)


def _middle(name: str, place, doc: str):
    """median and nanmedian: of all elements, or values and indices along a dimension."""

    def overall(input: Tensor):
        require(input, d.REAL, f"{name}_cpu")
        if not input.aval.size:
            return like(p.full((), 0, input.aval.dtype), math.nan)
        x = p.reshape(input, shape=(input.aval.size,))
        values = p.sort(stop_gradient(x), dimension=0)[0]  # alone: of 67 million bytes the indices take 3 GB
        return _shared(x, p.reshape(place(values, values, 0), shape=()))

    def along(input: Tensor, dim, keepdim=False):
        require(input, d.REAL, f"{name}_cpu")
        return _chosen(input, dim, keepdim, place)

    whole = torch_op(name=f"_{name}_overall", node=name)(overall)
    numbered = f"{name.title()}Backward1"
    parts = torch_op(name=f"_{name}_dim", node=numbered, returns=getattr(return_types, name))(along)

    def fun(input, dim=None, keepdim=False, *, axis=None, out=None):
        dim = axis if dim is None else dim
        result = whole(input) if dim is None else parts(input, dim, keepdim)
        return result if out is None else write_out(name, out, result)

    fun.__doc__ = doc
    return composite(fun, name=name, out=Out((VALUES_DTYPE, INDICES_DTYPE)))


median = _middle(
    "median",
    _median_place,
    """The lower middle element, of all or along dim.

    NaN wins.

    >>> torch.median(torch.tensor([1., 4., 3., 2.]))
    tensor(2.)
    """,
)
nanmedian = _middle(
    "nanmedian",
    _nanmedian_place,
    """The lower middle element but for NaN.

    >>> torch.nanmedian(torch.tensor([1., float("nan"), 3.]))
    tensor(1.)
    """,
)


@torch_op(
    returns=return_types.kthvalue,
    out=Out(("output values must be of same type as input", "output indices must be of scalar type Long")),
)
def kthvalue(input: Tensor, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest element along dim, and where it was.

    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2).values
    tensor(2.)
    """
    require(input, d.REAL, "kthvalue_cpu")
    axis = wrap_dim(dim, input.aval.ndim)
    n = input.aval.shape[axis] if input.aval.ndim else 1
    if n == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    return _chosen(input, dim, keepdim, lambda values, order, axis: _fixed(order, axis, k - 1))


def _mode_place(values, order, axis: int):
    """The end of the first of the longest runs of equal elements."""
    shape, n = values.aval.shape, values.aval.shape[axis]
    place = p.iota(shape=shape, dtype=dt.int64, dimension=axis)
    ahead = p.slice_in_dim(values, start=1, limit=n, dimension=axis)
    behind = p.slice_in_dim(values, start=0, limit=n - 1, dimension=axis)
    low, high = [0] * len(shape), [0] * len(shape)
    low[axis] = 1
    begins = p.pad(p.ne(ahead, behind), p.constant(np.asarray(True)), low=low, high=high)
    start = p.cummax(p.select(begins, place, like(place, 0)), axis=axis)
    best = p.argmax(p.sub(place, start), axis=axis)
    return _at_place(order, kept(best, values, (axis,), True), axis)


@torch_op(
    returns=return_types.mode,
    out=Out(
        (
            "expected scalar type '{found}' but got '{wanted}' for values output",
            "expected scalar type 'Long' but got '{wanted}' for indices output",
        )
    ),
)
def mode(input: Tensor, dim=-1, keepdim=False, *, out=None):
    """The most frequent element along dim (the least of several), and a place where it is.

    >>> torch.mode(torch.tensor([1, 2, 2, 3])).values
    tensor(2)
    """
    require(input, d.ORDERED, "mode_cpu")
    return _chosen(input, dim, keepdim, _mode_place)


# ---- quantiles -----------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _between(values, ranks, interpolation: str):
    """The quantiles at fractional ranks of what is sorted along the last axis."""
    low, high = p.floor(ranks), p.ceil(ranks)

    def at(r):
        index = p.convert(r, dtype=dt.int64)
        return p.take_along_axis(values, index, axis=values.aval.ndim - 1)

    if interpolation == "nearest":
        return at(p.round(ranks))
    if interpolation == "lower":
        return at(low)
    if interpolation == "higher":
        return at(high)
    weight = like(ranks, 0.5) if interpolation == "midpoint" else p.sub(ranks, low)
    below, above = at(low), at(high)
    if interpolation == "midpoint":
        weight = p.select(p.eq(low, high), like(ranks, 0), weight)
    near = p.lt(weight, 0.5)
    step = p.sub(above, below)
    infinite = p.eq(p.abs(below), math.inf)
    step = p.select(p.and_(p.eq(below, above), infinite), like(step, 0), step)
    return p.select(near, p.add(below, p.mul(weight, step)), p.sub(above, p.mul(step, p.sub(1, weight))))


def _check_quantile(x, q, interpolation):
    if x.aval.dtype not in (dt.float32, dt.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if not x.aval.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if number_operand(q):
        return
    if q.aval.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.aval.dtype != x.aval.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")


def _quantile_node(a):
    if a.dim is not None or a.interpolation != "linear" or isinstance(a.q, Tensor):
        return "SqueezeBackward4"
    at = "Gather0(View0(Sort0(View0(input))))"
    return f"Squeeze4(Lerp1({at}, {at}, -))"


def _quantile(name: str, skip_nan: bool, doc: str):
    def fun(input: Tensor, q: Operand, dim=None, keepdim=False, *, interpolation="linear", out=None):
        _check_quantile(input, q, interpolation)
        x = input
        axes = tuple(range(x.aval.ndim)) if dim is None else (wrap_dim(dim, x.aval.ndim),)
        if dim is None or not x.aval.ndim:
            y = p.reshape(x, shape=(x.aval.size,))
            axes = axes if x.aval.ndim else ()
        else:
            y = permuted(x, [d for d in range(x.aval.ndim) if d != axes[0]] + [axes[0]])
        n, q = y.aval.shape[-1], cast(q, x.aval.dtype)
        several, count = q.aval.ndim == 1, q.aval.size
        y = p.sort(y, dimension=y.aval.ndim - 1)[0]
        lead = y.aval.shape[:-1]
        q_all = p.broadcast_in_dim(p.reshape(q, shape=(count,)), shape=(*lead, count), dims=(len(lead),))
        valid = p.convert(p.eq(y, y), dtype=y.aval.dtype)
        numbers = p.reduce_sum(valid, axes=(len(lead),))
        numbers = p.broadcast_in_dim(numbers, shape=(*lead, count), dims=tuple(range(len(lead))))
        if skip_nan:
            ranks = p.mul(q_all, p.max(p.sub(numbers, 1), like(numbers, 0)))
        else:  # NaN, the last, wins
            last = like(q_all, n - 1)
            ranks = p.select(p.lt(numbers, n), last, p.mul(q_all, last))
        found = _between(y, ranks, interpolation)
        parts = p.transpose(found, permutation=(len(lead), *range(len(lead))))
        shape = [1 if i in axes else m for i, m in enumerate(x.aval.shape) if keepdim or i not in axes]
        return p.reshape(parts, shape=(*([count] if several else []), *shape))

    fun.__doc__ = doc

    def checked(input, q, *args, **kwargs):
        if not isinstance(q, Tensor) and not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
        if isinstance(q, Tensor) and input.is_floating_point():  # of others the op says that it does not take them
            require_elements(q, IN_UNIT, name, "quantile() q values must be in the range [0, 1]")
        return op(input, q, *args, **kwargs)

    taken = Out("quantile() out tensor must be same dtype as the input tensor", recorded=True)
    node = "SqueezeBackward4" if skip_nan else _quantile_node
    op = torch_op(name=f"_{name}", node=node, saves="nothing", out=taken, autocast={"cpu": "full"})(fun)
    checked.__doc__ = doc
    return composite(checked, name=name, out=taken)


quantile = _quantile(
    "quantile",
    False,
    """The q-quantile of all elements, or along dim; NaN wins.

    >>> torch.quantile(torch.tensor([0., 1., 2., 3.]), 0.5)
    tensor(1.5000)
    """,
)
nanquantile = _quantile(
    "nanquantile",
    True,
    """The q-quantile of the elements that are not NaN.

    >>> torch.nanquantile(torch.tensor([0., float("nan"), 2.]), 0.5)
    tensor(1.)
    """,
)

# ---- search --------------------------------------------------------------------------------------


@functools.cache
def _before(right: bool):
    """What stands before NaN in PyTorch's order: all elements, for no comparison with it holds."""
    return lambda element, value: p.not_((p.gt if right else p.ge)(element, value))


def _search(sequence, values, right: bool, out_int32: bool):
    (values,) = promote(values) if number_operand(values) else (values,)
    shape = values.aval.shape
    if sequence.aval.ndim == 1:
        values = p.reshape(values, shape=(values.aval.size,))
    dtype = result_dtype((sequence, values))
    found = kernels.insertion_place(cast(sequence, dtype), cast(values, dtype), _before(right), right)
    return p.convert(p.reshape(found, shape=shape), dtype=dt.int32 if out_int32 else dt.int64)


@torch_op(devices="any")
def _searchsorted(sequence: Tensor, input: Operand, out_int32, right, sorter: MaybeTensor):
    """Where to insert values into a sorted sequence so that it stays sorted."""
    if not sequence.aval.ndim:
        if not number_operand(input) and input.aval.ndim:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
            )
        raise RuntimeError(OF_NUMBER.format(ndim=0))
    if sequence.aval.ndim > 1:
        _check_leading(sequence, input)
    if sorter is not None:
        if sorter.aval.shape != sequence.aval.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, "
                f"but got boundary tensor {list(sequence.aval.shape)}and got sorter "
                f"tensor {list(sorter.aval.shape)}"
            )
        if sorter.aval.dtype != dt.int64:
            raise RuntimeError(
                "torch.searchsorted(): sorter must be a tensor of long dtype but "
                f"got dtype {scalar_name(sorter.aval.dtype)}"
            )
        sequence = p.take_along_axis(sequence, sorter, axis=sequence.aval.ndim - 1)
    return _search(sequence, input, right, out_int32)


@composite(method=False, out=Out(SORTED))
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where to insert values into a sorted sequence so that it stays sorted.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if sorter is not None and sorter.shape == sorted_sequence.shape and sorter._aval.dtype == dt.int64:
        outside = "torch.searchsorted(): sorter index out of range"
        n = sorted_sequence.ndim - 1
        check_indices(sorter, sorted_sequence.shape[n], n, "searchsorted", message=outside, error=RuntimeError)
    _tell_copies(sorted_sequence, input, sorter)
    found = _searchsorted(sorted_sequence, input, bool(out_int32), right or side == "right", sorter)
    return write_out("searchsorted", out, found)


def _tell_copies(sequence, values, sorter=None):
    """The warning of tensors that lie in another order in memory, which PyTorch copies."""
    for what, x in (("input value", values), ("boundary", sequence), ("sorter", sorter)):
        if isinstance(x, Tensor) and x._view is not None and x._level is None and not x.is_contiguous():
            warn_once(NOT_CONTIGUOUS.format(what=what))


NOT_CONTIGUOUS = (
    "torch.searchsorted(): {what} tensor is non-contiguous, this will lower the performance due to extra data copy "
    "when converting non-contiguous tensor to contiguous, please use contiguous {what} tensor if possible. This "
    "message will only appear once per program."
)
OF_NUMBER = (
    "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
    "boundaries tensor dim({ndim}) and input value's dim(0) numel(1)"
)


def _check_leading(sequence, values):
    """RuntimeError unless both have the same sizes but for the last."""
    a = None if number_operand(values) else values.aval
    if a is None or not a.ndim:
        raise RuntimeError(OF_NUMBER.format(ndim=sequence.aval.ndim))
    if a.ndim != sequence.aval.ndim or a.shape[:-1] != sequence.aval.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(sequence.aval.shape)} and input value tensor "
            f"{list(a.shape)}"
        )


@torch_op(devices="any")
def _bucketize(input: Operand, boundaries: Tensor, out_int32, right):
    """In which of the intervals between boundaries each element lies."""
    if boundaries.aval.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.aval.ndim})")
    return _search(boundaries, input, right, out_int32)


@composite(method=False, out=Out(SORTED))
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """In which of the intervals between boundaries each element lies.

    >>> torch.bucketize(torch.tensor([3, 6]), torch.tensor([1, 3, 5]))
    tensor([1, 3])
    """
    _tell_copies(boundaries, input)
    return write_out("bucketize", out, _bucketize(input, boundaries, bool(out_int32), bool(right)))


@torch_op(method=False, out=Out(EXACT))
def isin(elements: Operand, test_elements: Operand, *, assume_unique=False, invert=False, out=None):
    """Whether each element is among the test elements.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    dtype = result_dtype((elements, test_elements))
    x, tests = cast(elements, dtype), cast(test_elements, dtype)
    require(x, dt.REAL | {dt.bool_}, "isin_cpu")
    found = kernels.isin(x, tests)
    return p.not_(found) if invert else found
