"""Histograms, counts and distinct elements: shapes that depend on data come from the host."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels.order import insertion_place
from ...dispatch.devices import beside
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import MaybeTensor, Tensors
from ...dispatch.traits import Out
from ...tape.meta import no_kernel
from ...tape.node import say_underivable
from ...tensors.base import Tensor, from_array, wrap_dim
from ...tensors.promotion import cast, check_held
from ...tensors.types import int64 as torch_int64
from ...views.memory_order import with_strides
from .. import declaring as d
from .. import return_types
from ..declaring import like, require
from ..value_checks import FINITE
from ..value_checks import require as require_elements
from ..values import c_name

# ---- histograms ----------------------------------------------------------------------------------

NOT_FINITE = "torch.{of} [{low:g}, {high:g}] is not finite"
COUNTS = Out(
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
    "input {c_found} and hist {c_wanted}",
    overlapping=True,
)


@torch_op(name="_histc", out=COUNTS)
def _histc(input: Tensor, bins, min, max, *, out=None):
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    require(input, d.FLOATS, "histogram_cpu")
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(NOT_FINITE.format(of="histc: range of", low=min, high=max))
    for bound in (min, max):
        check_held(input.aval.dtype, bound)
    x = p.reshape(input, shape=(input.aval.size,))
    low, high = _limits(x, min, max)
    return _counted(x, low, high, bins, like(x, 1))


@composite(out=COUNTS)
def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements lie in each of `bins` equal intervals of [min, max] (of the data if equal).

    RuntimeError if the range, or an element that determines it, is not finite.

    >>> torch.histc(torch.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if min == max:
        require_elements(input, FINITE, "histc", "torch.histc: range of the data is not finite")
    return _histc(input, bins, min, max, out=out)


def _limits(x, low, high):
    """The ends of the range: those given, or the data's; one apart where they are equal."""
    if low != high or not x.aval.size:
        if low == high:
            low, high = low - 1, high + 1
        return cast(low, x.aval.dtype), cast(high, x.aval.dtype)
    low, high = p.reduce_min(x, axes=(0,)), p.reduce_max(x, axes=(0,))
    same = p.eq(low, high)
    return p.select(same, p.sub(low, 1), low), p.select(same, p.add(high, 1), high)


def _counted(x, low, high, bins: int, weights):
    """The sums of weights by bin; what lies outside is dropped, the last bin is closed."""
    low, high = like(x, low), like(x, high)
    wide = x.aval.dtype if x.aval.dtype in dt.FLOATING else dt.float64
    y, a, b = (p.convert(v, dtype=wide) for v in (x, low, high))
    place = p.floor(p.mul(p.div(p.sub(y, a), p.sub(b, a)), float(bins)))
    index = p.convert(place, dtype=dt.int64)
    index = p.select(p.eq(x, high), like(index, bins - 1), p.min(index, like(index, bins - 1)))
    inside = p.and_(p.ge(x, low), p.le(x, high))
    index = p.select(inside, index, like(index, bins))
    return p.scatter_axis(p.full((bins,), 0, weights.aval.dtype), index, weights, axis=0, combine="add", mode="drop")


def _edges(x, bins: int, limits):
    """bins + 1 equally spaced edges over the limits, or over the data of flat x."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if limits is None and x.aval.size:
        low, high = p.reduce_min(x, axes=(0,)), p.reduce_max(x, axes=(0,))
    else:
        low, high = (cast(float(end), x.aval.dtype) for end in limits or (0.0, 1.0))
    same = p.eq(low, high)
    low, high = p.select(same, p.sub(low, 0.5), low), p.select(same, p.add(high, 0.5), high)
    step = p.div(p.sub(high, low), float(bins))
    place = p.iota(shape=(bins + 1,), dtype=x.aval.dtype, dimension=0)
    from_low = p.add(like(place, low), p.mul(like(place, step), place))
    from_high = p.sub(like(place, high), p.mul(like(place, step), p.sub(float(bins), place)))
    return p.select(p.lt(place, (bins + 1) // 2), from_low, from_high)


def _is_reached(edge, value):
    return p.not_(p.gt(edge, value))


def _bin_of(x, edges):
    """The bin of each element between ascending edges, the last one closed; -1 outside."""
    n = edges.aval.size - 1
    index = p.sub(insertion_place(edges, x, _is_reached, True), 1)
    first, last = (
        like(x, p.reshape(p.slice_in_dim(edges, start=i, limit=i + 1, dimension=0), shape=())) for i in (0, n)
    )
    index = p.select(p.eq(x, last), like(index, n - 1), index)
    return p.select(p.and_(p.ge(x, first), p.le(x, last)), index, like(index, -1))


def _histogram_of(columns: list, edges: list, weight, density: bool):
    """The counts (or sums of weights) in the boxes between edges, one column a dimension."""
    shape = tuple(e.aval.size - 1 for e in edges)
    size, x = math.prod(shape), columns[0]
    place, outside = p.full(x.aval.shape, 0, dt.int64), p.full(x.aval.shape, False, dt.bool_)
    for column, e, n in zip(columns, edges, shape):
        index = _bin_of(column, e)
        outside = p.or_(outside, p.lt(index, 0))
        place = p.add(p.mul(place, n), index)
    place = p.select(outside, like(place, size), place)
    weights = like(x, 1) if weight is None else p.reshape(weight, shape=x.aval.shape)
    hist = p.scatter_axis(p.full((size,), 0, x.aval.dtype), place, weights, axis=0, combine="add", mode="drop")
    total, hist = p.reduce_sum(hist, axes=(0,)), p.reshape(hist, shape=shape)
    if density:
        hist = p.div(hist, like(hist, total))
        for axis, (e, n) in enumerate(zip(edges, shape)):
            ends, starts = (p.slice_in_dim(e, start=i, limit=n + i, dimension=0) for i in (1, 0))
            hist = p.div(hist, p.broadcast_in_dim(p.sub(ends, starts), shape=shape, dims=(axis,)))
    return hist


@torch_op(node="histogram", returns=return_types.histogram)
def _histogram_equal(input: Tensor, bins, range, weight: MaybeTensor, density):
    """Counts in equal bins."""
    require(input, {dt.float32, dt.float64}, "histogram_cpu")
    x = p.reshape(input, shape=(input.aval.size,))
    edges = _edges(x, bins, range)
    return [_histogram_of([x], [edges], weight, density), edges]


@torch_op(node="histogram", returns=return_types.histogram)
def _histogram_between(input: Tensor, edges: Tensor, weight: MaybeTensor, density):
    """Counts between ascending edges."""
    require(input, {dt.float32, dt.float64}, "histogram_cpu")
    x = p.reshape(input, shape=(input.aval.size,))
    return [_histogram_of([x], [edges], weight, density), edges]


@composite
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """How many elements lie between neighbouring edges, and the edges.

    >>> torch.histogram(torch.tensor([1., 2., 1.]), bins=4, range=(0., 3.)).hist
    tensor([0., 2., 1., 0.])
    """
    require(np.empty(0, input._aval.dtype), {dt.float32, dt.float64}, "histogramdd")
    if isinstance(bins, Tensor):
        if range is not None:
            raise TypeError(
                "histogram() received an invalid combination of arguments: with edges in a tensor there is no 'range'"
            )
        _check_edges(input, [bins])
    _check_histogram(input, (input.numel(), 1), 1, range, weight)
    for what, given in zip(("hist", "bin_edges"), out or ()):
        if given.dtype is not input.dtype:
            kinds = f"but got input {_kind(input)} and {what} {_kind(given)}"
            where = " for dimension 0" if what == "bin_edges" else ""
            raise RuntimeError(
                f"torch.histogram: input tensor and {what} tensor should have the same dtype, {kinds}{where}"
            )
    if isinstance(bins, Tensor):
        result = _histogram_between(input, bins, weight, density)
    else:
        _check_range(input, range)
        result = _histogram_equal(input, bins, range, weight, density)
    return write_out("histogram", out, result)


def _kind(x) -> str:
    return c_name(np.empty(0, x._aval.dtype))


def _check_edges(input, edges: Sequence):
    """RuntimeError unless the edges of each dimension are a vector of the input's dtype."""
    for i, e in enumerate(edges):
        if e.dtype is not input.dtype:
            kinds = f"but got input with dtype {_kind(input)} and bins for dimension {i} with dtype {_kind(e)}"
            raise RuntimeError(f"torch.histogramdd: input tensor and bins tensors should have the same dtype, {kinds}")
        if e.ndim != 1:
            found = f"but got {e.ndim} dimensions in the bins tensor for dimension {i}"
            raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, {found}")
        if not e.numel():
            found = f"but got 0 elements in the bins tensor for dimension {i}"
            raise RuntimeError(f"torch.histogramdd: bins tensor should have at least 1 element, {found}")


def _check_histogram(input, shape: tuple, dims: int, ends, weight):
    """RuntimeError for a weight or a range that does not fit points of a shape."""
    if weight is not None:
        if weight.dtype is not input.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
                f"dtype, but got input({_kind(input)}), and weight({_kind(weight)})"
            )
        given = tuple(weight.shape) if len(shape) > 2 or dims > 1 else (weight.numel(),)
        if given != tuple(shape[:-1]):
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                f"excluding its innermost dimension, but got input with shape {list(shape)} and weight with shape "
                f"{list(given)}"
            )
    if ends is not None and len(ends) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, "
            f"but got {len(ends)}"
        )


def _check_range(input, ends):
    """RuntimeError unless the range, given or that of the data, is finite."""
    if ends is None:
        require_elements(input, FINITE, "histogramdd", "torch.histogramdd: range of the data is not finite")
        return
    for i, (low, high) in enumerate(zip(ends[::2], ends[1::2])):
        if not (math.isfinite(low) and math.isfinite(high)):
            of = f"histogramdd: dimension {i}'s range"
            raise RuntimeError(NOT_FINITE.format(of=of, low=low, high=high))
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {i}"
            )


@torch_op
def _histogramdd(input: Tensor, edges: Tensors, bins, range, weight: MaybeTensor, density):
    """[the counts, the edges of each dimension]; `edges` or the numbers of bins are given."""
    require(input, {dt.float32, dt.float64}, "histogram_cpu")
    dims = input.aval.shape[-1]
    rows = p.reshape(input, shape=(input.aval.size // max(dims, 1), dims))
    columns = [
        p.reshape(p.slice_in_dim(rows, start=i, limit=i + 1, dimension=1), shape=(rows.aval.shape[0],))
        for i in builtins.range(dims)
    ]
    ends = [None] * dims if range is None else list(zip(range[::2], range[1::2]))
    found = list(edges) or [_edges(c, n, e) for c, n, e in zip(columns, bins, ends)]
    return [_histogram_of(columns, found, weight, density), *found]


@composite(method=False)
def histogramdd(input, bins, range=None, weight=None, density=False):
    """The histogram of points in several dimensions (the last of input), and the edges of each.

    >>> torch.histogramdd(torch.tensor([[0., 0.], [1., 1.]]), bins=[2, 2]).hist
    tensor([[1., 0.],
            [0., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    tensors = isinstance(bins, (list, tuple)) and bins and isinstance(bins[0], Tensor)
    numbers = () if tensors else ((bins,) * input.shape[-1] if isinstance(bins, int) else bins)
    if (len(bins) if tensors else len(numbers)) != input.shape[-1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if tensors:
        _check_edges(input, bins)
    _check_histogram(input, tuple(input.shape), input.shape[-1], range, weight)
    if not tensors:
        _check_range(input, range)
    if not input.shape[-1]:
        return return_types.histogramdd(input.new_full((), math.nan if density else 0.0), ())
    hist, *edges = _histogramdd(input, bins if tensors else (), numbers, range, weight, density)
    return return_types.histogramdd(hist, tuple(edges))


PIECE = 1 << 18  # numbers that are counted at once, at least: NumPy makes indices of 8 bytes of them


def _counts(data: np.ndarray, size: int) -> np.ndarray:
    """How often each integer below `size` occurs, without a wide copy of all."""
    found, step = np.zeros(size, np.int64), max(PIECE, size)
    for start in range(0, data.size, step):
        found += np.bincount(data[start : start + step].astype(np.intp, copy=False), minlength=size)
    return found


@torch_op
def _bincount(input: Tensor, weights: Tensor, size):
    """Sums of the weights of each of the integers below `size`."""
    if weights.aval.dtype != dt.float32:
        weights = p.convert(weights, dtype=dt.float64)
    index = p.convert(input, dtype=dt.int64)
    return p.scatter_axis(p.full((size,), 0, weights.aval.dtype), index, weights, axis=0, combine="add")


@composite
def bincount(input, weights=None, minlength=0):
    """How often each non-negative integer occurs in a 1-d tensor.

    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if input.is_floating_point() or input.is_complex() or input.dtype.name == "bool":
        raise NotImplementedError(
            d.NOT_IMPLEMENTED.format(kernel="bincount_cpu", dtype=d.scalar_name(input.dtype.numpy))
        )
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    data = input._array()
    if data.ndim != 1 or (data.size and data.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and (weights.ndim != 1 or weights.shape != input.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = max(int(data.max()) + 1 if data.size else 0, minlength)
    if weights is None or not data.size:
        return from_array(_counts(data, size)).to(input.device)
    return _bincount(input, weights, size)


# ---- places --------------------------------------------------------------------------------------


@composite(method=False)
def unravel_index(indices, shape):
    """Places in a flat tensor as indices into one of a shape.

    >>> torch.unravel_index(torch.tensor([4, 1]), (2, 3))
    (tensor([1, 0]), tensor([1, 1]))
    """
    if indices.dtype.numpy not in dt.INTEGER:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in shape:
        if not hasattr(n, "__index__"):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
        if n < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    indices, found = indices.to(torch_int64), []
    for i, n in enumerate(shape):
        inner = math.prod(shape[i + 1 :])
        at = indices if inner == 1 else indices // inner if inner else indices * 0
        found.append(at % n if n else at * 0)
    return tuple(found)


# ---- distinct elements ---------------------------------------------------------------------------


def _results(input, values, inverse, counts, return_inverse: bool, return_counts: bool):
    found = [values] + [inverse] * return_inverse + [counts] * return_counts
    tensors = beside(input, *[from_array(np.array(a, order="C")) for a in found])
    return tensors if len(tensors) > 1 else tensors[0]


def _underivable(op: str, node: str, of_slices: tuple[str, str] | None = None) -> Callable:
    """Decorator: distinct values of what is on the tape are, too, under a node that has no derivative."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def found(input, *args, **kwargs):
            made = function(input, *args, **kwargs)
            by_slice = of_slices and (args[3] if len(args) > 3 else kwargs.get("dim")) is not None
            said = of_slices if by_slice else (op, node)
            say_underivable(*said, input, made[0] if isinstance(made, tuple) else made)
            return made

        return found

    return decorate


@composite(without_data=no_kernel("_unique2"))
@_underivable("_unique2", "Unique2Backward0", ("unique_dim", "UniqueDimBackward0"))
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements (or slices along dim) in order; where each went, how often it occurs.

    >>> torch.unique(torch.tensor([1, 3, 2, 3]))
    tensor([1, 2, 3])
    """
    data = input._array()
    data = data.astype(np.float32) if data.dtype.kind == "V" else data  # NumPy does not know where NaN is in bfloat16
    if dim is None:
        values, inverse, counts = np.unique(data.reshape(-1), return_inverse=True, return_counts=True, equal_nan=False)
        inverse, values = inverse.reshape(data.shape), values.astype(input._aval.dtype, copy=False)
    else:
        axis = wrap_dim(dim, data.ndim)
        _check_slices(data, axis)
        rows = np.moveaxis(data, axis, 0)
        if len(rows) <= FEW and data.dtype.kind == "f" and np.isnan(data).any():
            rows, inverse, counts = _unique_with_nan(rows)
        else:
            rows, inverse, counts = np.unique(rows, return_inverse=True, return_counts=True, axis=0, equal_nan=False)
        rows = rows.astype(input._aval.dtype, copy=False)
        inverse, counts = inverse.reshape(-1).astype(np.int64), counts.astype(np.int64)
        found = _results(input, rows, inverse, counts, return_inverse, return_counts)
        first = found[0] if isinstance(found, tuple) else found
        (moved,) = beside(input, from_array(np.moveaxis(rows, 0, axis)))
        first = with_strides(moved, first.moveaxis(0, axis).stride())
        return (first, *found[1:]) if isinstance(found, tuple) else first
    return _results(input, values, inverse.astype(np.int64), counts.astype(np.int64), return_inverse, return_counts)


@composite(method=False)
def _unique(input, sorted=True, return_inverse=False):
    """torch.unique as its kernel gives it: (the elements, where each went or nothing)."""
    return _unique2(input, sorted, return_inverse)[:2]


@composite(method=False)
def _unique2(input, sorted=True, return_inverse=False, return_counts=False):
    """torch.unique as its kernel gives it: (the elements, where each went, how often), empty where not asked for."""
    return _padded(unique(input, sorted, return_inverse, return_counts), return_inverse, return_counts)


@composite(method=False)
def unique_dim(input, dim, sorted=True, return_inverse=False, return_counts=False):
    """torch.unique of slices as its kernel gives it: all three whatever is asked for.

    >>> torch._VF.unique_dim(torch.tensor([[1, 1, 2]]), 1)[0]
    tensor([[1, 2]])
    """
    return unique(input, sorted, True, True, dim)


def _padded(found, *asked: bool) -> tuple:
    first, *rest = found if isinstance(found, tuple) else (found,)
    return first, *[rest.pop(0) if wanted else from_array(np.empty(0, np.int64)) for wanted in asked]


FEW = 16  # so many slices C++'s sort inserts one after the other; of more with NaN its order is not defined


def _unique_with_nan(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows in PyTorch's order, which passes over elements that are NaN in either of two rows: it is none, and
    what comes of it is insertion's. Each row, where it went, how often it occurs."""
    flat, order = rows.reshape(len(rows), -1), [0]
    for i in range(1, len(rows)):
        at = len(order)
        while at and (_is_before(flat[i], flat[order[0]]) or _is_before(flat[i], flat[order[at - 1]])):
            at -= 1
        order.insert(at, i)
    begins = np.array([True, *[(flat[a] != flat[b]).any() for a, b in itertools.pairwise(order)]])
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return rows[np.array(order)[begins]], inverse, np.bincount(inverse)


def _is_before(a: np.ndarray, b: np.ndarray) -> bool:
    differ = np.flatnonzero((a < b) | (a > b))
    return bool(len(differ)) and bool(a[differ[0]] < b[differ[0]])


def _check_slices(data: np.ndarray, axis: int):
    others = data.shape[:axis] + data.shape[axis + 1 :]
    if 0 in others and not data.shape[axis]:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if 0 in others:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@composite
@_underivable("unique_consecutive", "UniqueConsecutiveBackward0")
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along dim) that differ from the one before.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    data = input._array()
    shape = data.shape
    axis = 0 if dim is None else wrap_dim(dim, data.ndim)
    if dim is not None:
        _check_slices(data, axis)
    flat = data.reshape(-1) if dim is None else np.moveaxis(data, axis, 0)
    rows = flat.reshape(len(flat), -1) if flat.size else flat.reshape(len(flat), 0)
    begins = np.ones(len(rows), bool)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    counts = np.diff(np.append(starts, len(rows)))
    inverse = np.cumsum(begins) - 1
    values = flat[starts]
    values = values if dim is None else np.moveaxis(values, 0, axis)
    inverse = inverse.reshape(shape) if dim is None else inverse
    return _results(input, values, inverse.astype(np.int64), counts.astype(np.int64), return_inverse, return_counts)
