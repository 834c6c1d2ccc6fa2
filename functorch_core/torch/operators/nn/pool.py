"""Pooling: maxima, means and norms over windows, and unpooling."""

from __future__ import annotations

import math

from ....kernels.activations import rectified
from ....kernels.subgradients import magnitude
from ....transforms.linear_map import linear_map
from ...dispatch.op import torch_op
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...views.memory_order import image, volume
from .. import declaring as d
from ..values import along, aval_of, dt, full_like, like, np, p, require, require_floating, scalar_name, total, wide
from .pool_sizes import check, sizes

# ---- the geometry of windows ---------------------------------------------------------------------


def places(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows fit along one dimension."""
    span = size + 2 * pad - dilation * (kernel - 1) - 1
    n = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (n - 1) * stride >= size + pad:  # the last window would start in the padding
        n -= 1
    return n


class Pool:
    """The windows of one pooling over the last n dimensions of a value."""

    def __init__(self, name, x, n, kernel, stride, padding, dilation, ceil_mode):
        kernel = sizes(name, "kernel_size", kernel, n)
        stride = kernel if stride is None or stride == () else sizes(name, "stride", stride, n)
        pad, dilation = sizes(name, "padding", padding, n), sizes(name, "dilation", dilation, n)
        size = aval_of(x).shape[-n:]
        if len(size) == n and min(*kernel, *stride, *dilation) > 0:
            out = tuple(places(*each, ceil_mode) for each in zip(size, kernel, stride, pad, dilation))
        else:
            out = (1,) * n
        check(name, x, n, kernel, stride, pad, dilation, out)
        self.kernel, self.stride, self.pad, self.dilation = kernel, stride, pad, dilation
        self.size, self.out, self.n = size, out, n
        # The windows may end before or beyond the padding: what they reach decides.
        high = tuple(
            (m - 1) * s + (k - 1) * d + 1 - size_ - q
            for m, s, k, d, size_, q in zip(out, stride, kernel, dilation, size, pad)
        )
        lead = aval_of(x).ndim - n
        self.arguments = {
            "window": (1,) * lead + kernel,
            "strides": (1,) * lead + stride,
            "padding": ((0, 0),) * lead + tuple(zip(pad, high)),
            "window_dilation": (1,) * lead + dilation,
        }


# ---- max pooling ---------------------------------------------------------------------------------


def _max_pool(x, n, kernel, stride, padding, dilation, ceil_mode):
    pool = Pool(f"max_pool{n}d", x, n, kernel, stride, padding, dilation, ceil_mode)
    return p.reduce_window_max(x, **pool.arguments)


def _max_pool_with_indices(x, n, kernel, stride, padding, dilation, ceil_mode):
    pool = Pool(f"max_pool{n}d", x, n, kernel, stride, padding, dilation, ceil_mode)
    return p.reduce_window_max(x, **pool.arguments), _flat_indices(x, pool)


def _flat_indices(x, pool: Pool):
    """For each window the index of its maximum in the flattened last n dimensions."""
    number = p.convert(p.reduce_window_argmax(x, **pool.arguments), dtype=dt.int64)
    shape = aval_of(number).shape
    lead = len(shape) - pool.n
    flat = full_like(number, 0)
    for i in range(pool.n):
        inner = math.prod(pool.kernel[i + 1 :])
        within = p.rem(p.div(number, inner), pool.kernel[i])
        starts = np.arange(pool.out[i], dtype=np.int64) * pool.stride[i] - pool.pad[i]
        at = p.add(p.mul(within, pool.dilation[i]), along(p.constant(starts), shape, lead + i))
        flat = p.add(p.mul(flat, pool.size[i]), at)
    return flat


def _check_max(x, n):
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEX or dtype == dt.bool_:
        raise NotImplementedError(f"\"max_pool{n}d\" not implemented for '{scalar_name(dtype)}'")


def _of_two_dimensions(inner: str) -> str:
    """One dimension is pooled as two are."""
    return f"Squeeze1({inner}(Unsqueeze0(input)))"


def _declare_max_pool(n: int):
    """torch.max_pool{n}d and max_pool{n}d_with_indices."""

    def values(input: Tensor, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        _check_max(input, n)
        return _max_pool(input, n, kernel_size, stride, padding, dilation, ceil_mode)

    def with_indices(
        input: Tensor, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
    ):  # both, whatever it says: PyTorch's too
        _check_max(input, n)
        return _max_pool_with_indices(input, n, kernel_size, stride, padding, dilation, ceil_mode)

    values.__doc__ = f"""Maxima over windows of the last {n} dimensions.

    >>> torch.max_pool{n}d(torch.arange({2**n}.).reshape(1, 1, {", ".join("2" * n)}), 2).item()
    {2**n - 1}.0
    """
    with_indices.__doc__ = f"""max_pool{n}d and where in the flattened dimensions the maxima are.

    >>> x = torch.arange({2**n}.).reshape(1, 1, {", ".join("2" * n)})
    >>> [y.item() for y in F.max_pool{n}d_with_indices(x, 2)]
    [{2**n - 1}.0, {2**n - 1}]
    """
    name = f"max_pool{n}d"
    node = _of_two_dimensions("MaxPool2DWithIndices0") if n == 1 else f"{name}_with_indices"
    traits = {"method": False, "layout": volume if n == 3 else image, "node": node}
    return (
        torch_op(values, name=name, autocast={"cpu": "full"} if n == 3 else None, **traits),
        torch_op(with_indices, name=f"{name}_with_indices", function=n == 1, returns=tuple, **traits),
    )


torch_max_pool1d, max_pool1d_with_indices = _declare_max_pool(1)
torch_max_pool2d, max_pool2d_with_indices = _declare_max_pool(2)
torch_max_pool3d, max_pool3d_with_indices = _declare_max_pool(3)


@overridable
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Maxima over windows of the last dimension, with their indices if asked for.

    >>> nn.functional.max_pool1d(torch.tensor([[1., 3., 2., 4.]]), 2)
    tensor([[3., 4.]])
    """
    op = max_pool1d_with_indices if return_indices else torch_max_pool1d
    return op(input, kernel_size, stride, padding, dilation, ceil_mode)


@overridable
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Maxima over windows of the last two dimensions, with their indices if asked for.

    >>> nn.functional.max_pool2d(torch.tensor([[[1., 3.], [2., 4.]]]), 2)
    tensor([[[4.]]])
    """
    op = max_pool2d_with_indices if return_indices else torch_max_pool2d
    return op(input, kernel_size, stride, padding, dilation, ceil_mode)


@overridable
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Maxima over windows of the last three dimensions, with their indices if asked for.

    >>> nn.functional.max_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    op = max_pool3d_with_indices if return_indices else torch_max_pool3d
    return op(input, kernel_size, stride, padding, dilation, ceil_mode)


# ---- average pooling -----------------------------------------------------------------------------


def _counts(size: int, kernel: int, stride: int, pad: int, out: int, include_pad: bool) -> np.ndarray:
    """How many elements each window along one dimension counts."""
    start = np.arange(out) * stride - pad
    end = np.minimum(start + kernel, size + pad)
    return end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0)


def _on_grid(counts, a):
    """The products of counts along the last dimensions, in the shape of an aval."""
    grid = np.ones((), np.int64)
    for c in counts:
        grid = np.multiply.outer(grid, c)
    return p.broadcast_in_dim(
        p.constant(grid.astype(a.dtype)), shape=a.shape, dims=tuple(range(a.ndim - len(counts), a.ndim))
    )


def _avg_pool(x, n, kernel, stride, padding, ceil_mode, include_pad, divisor=None):
    if aval_of(x).dtype not in dt.INEXACT and aval_of(x).dtype != dt.int64:
        require_floating(f"avg_pool{n}d_out_frame", x)
    pool = Pool(f"avg_pool{n}d", x, n, kernel, stride, padding, 1, ceil_mode)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    sums = p.reduce_window_sum(wide(x), **pool.arguments)
    if divisor is not None:
        return like(p.div(sums, full_like(sums, divisor)), x)
    counts = [_counts(*each, include_pad) for each in zip(pool.size, pool.kernel, pool.stride, pool.pad, pool.out)]
    if all((c == c[0]).all() for c in counts if len(c)):
        number = math.prod(int(c[0]) for c in counts if len(c))
        return like(p.div(sums, full_like(sums, number)), x)
    return like(p.div(sums, _on_grid(counts, aval_of(sums))), x)


@torch_op(method=False, node=_of_two_dimensions("AvgPool2D0"))
def avg_pool1d(input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Means over windows of the last dimension.

    >>> nn.functional.avg_pool1d(torch.tensor([[1., 3., 2., 4.]]), 2)
    tensor([[2., 3.]])
    """
    return _avg_pool(input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


@torch_op(method=False, function=False, layout=image)
def avg_pool2d(
    input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """Means over windows of the last two dimensions.

    >>> nn.functional.avg_pool2d(torch.ones(1, 2, 2), 2)
    tensor([[[1.]]])
    """
    return _avg_pool(input, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@torch_op(method=False, function=False, autocast={"cpu": "full"}, layout=None)
def avg_pool3d(
    input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """Means over windows of the last three dimensions.

    >>> nn.functional.avg_pool3d(torch.ones(1, 2, 2, 2), 2)
    tensor([[[[1.]]]])
    """
    return _avg_pool(input, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


# ---- adaptive pooling ----------------------------------------------------------------------------


def _targets(x, n: int, output_size, name: str) -> tuple[int, ...]:
    """The output sizes; None keeps the input's."""
    a = aval_of(x)
    if a.ndim <= n and n > 1 and isinstance(output_size, (tuple, list)):
        raise ValueError(f"Input dimension should be at least {n + 1}")
    if a.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}{n}d(): Expected {n + 1}D or {n + 2}D tensor, but got {list(a.shape)}")
    if 0 in a.shape[-n:] or (name == "adaptive_max_pool" and 0 in a.shape[1:]):
        raise RuntimeError(
            f"{name}{n}d(): Expected input to have non-zero size for non-batch "
            f"dimensions, but input has sizes {list(a.shape)} with dimension "
            f"{a.shape.index(0, 1)} being empty"
        )
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(sizes) == 1:
        sizes *= n
    if len(sizes) != n:
        raise RuntimeError(f"{name}{n}d: output_size must be {n}")
    sizes = tuple(m if s is None else int(s) for s, m in zip(sizes, a.shape[-n:]))
    if min(sizes) < 0:
        raise RuntimeError(
            f"{name}{n}d: elements of output_size must be greater than or equal to 0 but received {list(sizes)}"
        )
    return sizes


def _bins(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    """(first, end) of each of `out` bins over `size` elements; neighbours may overlap."""
    i = np.arange(out, dtype=np.int64)
    return i * size // max(out, 1), -(-((i + 1) * size) // max(out, 1))


def _even(size, out) -> bool:
    return all(m and n % m == 0 for n, m in zip(size, out))


def _sums_of_ranges(x, dim: int, first: np.ndarray, end: np.ndarray):
    """The sums of the elements from `first` to `end` along a dimension."""
    at = first[:, None] + np.arange(int((end - first).max(initial=0)))
    there = p.constant(np.minimum(at, aval_of(x).shape[dim] - 1))
    taken = p.take(x, there, axis=dim, mode="promise_in_bounds")
    real = p.broadcast_in_dim(p.constant(at < end[:, None]), shape=aval_of(taken).shape, dims=(dim, dim + 1))
    return total(p.select(real, taken, p.zeros(aval_of(taken))), (dim + 1,))


def _mean_of_bins(x, dim: int, out: int):
    """An element is in neighbouring bins, so that its cotangent is a sum of theirs, as they are sums: 8 x 32 x 64 x 64
    to 96 x 96 with gradients 41 ms by adding each bin's to its elements, 11 like this."""
    first, end = _bins(aval_of(x).shape[dim], out)
    elements = np.arange(aval_of(x).shape[dim])
    bins = np.searchsorted(end, elements, "right"), np.searchsorted(first, elements, "right")

    def over_counts(sums):
        return p.div(sums, along(p.constant((end - first).astype(aval_of(sums).dtype)), aval_of(sums).shape, dim))

    return linear_map(
        lambda x: over_counts(_sums_of_ranges(x, dim, first, end)),
        lambda ct: [_sums_of_ranges(over_counts(ct), dim, *bins)],
        [x],
        both=True,
    )


def _adaptive_avg(x, n: int, output_size):
    require_floating(f"adaptive_avg_pool{n}d", x)
    out, size = _targets(x, n, output_size, "adaptive_avg_pool"), aval_of(x).shape[-n:]
    lead = aval_of(x).ndim - n
    y = wide(x)
    if out == (1,) * n:
        axes = tuple(range(lead, lead + n))
        y = p.div(total(y, axes), full_like(total(y, axes), math.prod(size)))
        return like(p.expand_dims(y, dims=axes), x)
    if _even(size, out):
        window = tuple(a // b for a, b in zip(size, out))
        y = p.reduce_window_sum(y, window=(1,) * lead + window, strides=(1,) * lead + window)
        return like(p.div(y, full_like(y, math.prod(window))), x)
    for i, m in enumerate(out):
        y = _mean_of_bins(y, lead + i, m) if m != size[i] else y
    return like(y, x)


def _adaptive_max(x, n: int, output_size):
    require_floating(f"adaptive_max_pool{n}d", x)
    out, size = _targets(x, n, output_size, "adaptive_max_pool"), aval_of(x).shape[-n:]
    lead = aval_of(x).ndim - n
    if _even(size, out) and aval_of(x).size:
        window = tuple(a // b for a, b in zip(size, out))
        return _max_pool_with_indices(x, n, window, window, 0, 1, False)
    return _max_of_bins(x, n, out, size, lead)


def _max_of_bins(x, n: int, out, size, lead: int):
    """The bins gathered, and the first maximum of each; what is read of x at its place has a gradient. (8 x 32 x 64 x
    64 to 7 x 7 one dimension after the other, with gradients by way of the bins: 2.8 and 4.0 ms for 1.2 and 0.1.)"""
    bins = np.zeros((1,) * 2 * n, np.int64)  # where each element of each bin is
    for i in range(n):
        first, end = _bins(size[i], out[i])
        widest = int((end - first).max(initial=1))
        at = np.minimum(first[:, None] + np.arange(widest), end[:, None] - 1)  # the last one again: no first maximum
        shape = [1] * 2 * n
        shape[i], shape[n + i] = at.shape
        bins = bins * size[i] + at.reshape(shape)
    batch, cells = aval_of(x).shape[:lead], math.prod(out)
    bins = bins.reshape(cells, math.prod(bins.shape[n:]))
    elements = p.reshape(x, shape=(*batch, math.prod(size)))
    number = p.argmax(p.take(elements, p.constant(bins), axis=lead, mode="promise_in_bounds"), axis=lead + 1)
    number = p.add(number, along(p.constant(np.arange(cells) * bins.shape[1]), (*batch, cells), lead))
    places = p.take(p.constant(bins.reshape(-1)), number, axis=0, mode="promise_in_bounds")
    best = p.take_along_axis(elements, places, axis=lead, mode="promise_in_bounds")
    return [p.reshape(v, shape=(*batch, *out)) for v in (best, places)]


def _adaptive_node(n: int):
    def rule(a):
        size = a.output_size if isinstance(a.output_size, tuple) else (a.output_size,)
        is_mean = all(m == 1 for m in size)
        if n == 1:
            return _of_two_dimensions("Mean1" if is_mean else "AdaptiveAvgPool2D0")
        return "MeanBackward1" if is_mean else None

    return rule


def _declare_adaptive(n: int):
    """adaptive_avg_pool{n}d, and adaptive_max_pool{n}d with indices."""

    def means(input: Tensor, output_size):
        return _adaptive_avg(input, n, output_size)

    def maxima(input: Tensor, output_size):
        return _adaptive_max(input, n, output_size)

    x = f"torch.arange({2**n}.).reshape(1, {', '.join('2' * n)})"
    means.__doc__ = f"""Means over bins of the last {n} dimensions, one an element of the output.

    >>> F.adaptive_avg_pool{n}d({x}, 1).item()
    {(2**n - 1) / 2}
    """
    maxima.__doc__ = f"""Maxima over bins of the last {n} dimensions, and their flat indices.

    >>> [y.item() for y in F.adaptive_max_pool{n}d_with_indices({x}, 1)]
    [{2**n - 1}.0, {2**n - 1}]
    """
    traits = {"method": False, "function": n == 1, "layout": None if n == 3 else image}
    traits["autocast"] = {"cpu": "full"} if n == 3 else None
    return (
        torch_op(means, name=f"adaptive_avg_pool{n}d", node=_adaptive_node(n), **traits),
        torch_op(
            maxima,
            name=f"adaptive_max_pool{n}d",
            node=_of_two_dimensions("AdaptiveMaxPool2D0") if n == 1 else None,
            returns=tuple,
            **traits,
        ),
    )


adaptive_avg_pool1d, adaptive_max_pool1d_with_indices = _declare_adaptive(1)
adaptive_avg_pool2d, adaptive_max_pool2d_with_indices = _declare_adaptive(2)
adaptive_avg_pool3d, adaptive_max_pool3d_with_indices = _declare_adaptive(3)


@overridable
def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Maxima over `output_size` bins of the last dimension.

    >>> F.adaptive_max_pool1d(torch.tensor([[1., 3., 7., 5.]]), 2)
    tensor([[3., 7.]])
    """
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


@overridable
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Maxima over bins of the last two dimensions.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.zeros(1, 4, 6), 2).shape
    torch.Size([1, 2, 2])
    """
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


@overridable
def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Maxima over bins of the last three dimensions.

    >>> F.adaptive_max_pool3d(torch.arange(8.).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


# ---- others --------------------------------------------------------------------------------------


_POWER_MEAN = "Pow0(Mul0(Mul0(Sign0({0}), Relu0(Abs0({0}))), -))"


def _lp_pool(input, n: int, norm_type, kernel_size, stride, ceil_mode):
    """(sum over windows of x ** norm_type) ** (1 / norm_type), for positive sums."""
    if abs(norm_type) == math.inf:
        sign = full_like(input, math.copysign(1, norm_type))
        top = _max_pool(p.mul(magnitude(input), sign), n, kernel_size, stride, 0, 1, ceil_mode)
        return p.mul(top, full_like(top, math.copysign(1, norm_type)))
    pool = Pool(f"avg_pool{n}d", input, n, kernel_size, stride, 0, 1, ceil_mode)
    x = input
    if aval_of(x).dtype not in dt.INEXACT:  # PyTorch's power of a whole number is one, and so is the mean
        if norm_type.__class__ is float:
            x = d.to_float(x)
        elif aval_of(x).dtype == dt.bool_:
            x = p.convert(x, dtype=dt.int64)
        else:
            require(x, {dt.int64}, "avg_pool2d")
    sums = p.reduce_window_sum(p.pow(x, full_like(x, norm_type)), **pool.arguments)
    if ceil_mode or aval_of(sums).dtype == dt.int64:  # PyTorch's mean counts what a window has, times the whole kernel
        sums = p.mul(p.div(sums, _counted(sums, pool)), full_like(sums, math.prod(pool.kernel)))
    sums = d.to_float(sums)
    signed = p.mul(p.sign(sums), rectified(p.abs(sums)))
    return p.pow(signed, full_like(sums, 1 / norm_type))


def _counted(sums, pool: Pool):
    """The number of elements of every window, in the shape of the result."""
    counts = [_counts(*each, True) for each in zip(pool.size, pool.kernel, pool.stride, pool.pad, pool.out)]
    return _on_grid(counts, aval_of(sums))


@torch_op(method=False, function=False)
def lp_pool1d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Power means (not divided by the count) over windows of the last dimension.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3., 4.]]), 2, 2)
    tensor([[5.]])
    """
    return _lp_pool(input, 1, norm_type, kernel_size, stride, ceil_mode)


@torch_op(method=False, function=False, layout=image, node=_POWER_MEAN.format("AvgPool2D0(Pow0(input))"))
def lp_pool2d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Power means (not divided by the count) over windows of the last two dimensions.

    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    return _lp_pool(input, 2, norm_type, kernel_size, stride, ceil_mode)


@torch_op(method=False, function=False)
def lp_pool3d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Power means (not divided by the count) over windows of the last three dimensions.

    >>> F.lp_pool3d(torch.ones(1, 1, 2, 2, 2), 1, 2)
    tensor([[[[[8.]]]]])
    """
    return _lp_pool(input, 3, norm_type, kernel_size, stride, ceil_mode)
