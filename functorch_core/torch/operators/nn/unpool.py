"""Unpooling, and max pooling over windows at random places."""

from __future__ import annotations

import math

from ...dispatch import bounds as _bounds
from ...dispatch.op import torch_op
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...views.memory_order import image
from ..values import aval_of, dt, full_like, name_of, np, p, require_floating, tied
from .conv import ntuple
from .other import drawn
from .pool_sizes import fractional_sizes

# ---- max_unpool ----------------------------------------------------------------------------------


def _unpool_node(a):
    n = len(a.output_size)
    return "SqueezeBackward1" if n == 1 else f"MaxUnpool{n}DBackward0"


@torch_op(node=_unpool_node, autocast={"cpu": "full"}, layout=image)
def _max_unpool(input: Tensor, indices: Tensor, output_size):
    """Zeros, with every element of input where its index in the flattened output says."""
    a, n = aval_of(input), len(output_size)
    if aval_of(indices).dtype != dt.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {name_of(indices)}")
    if aval_of(indices).shape != a.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(a.shape)}) but got indices tensor with shape: "
            f"{list(aval_of(indices).shape)}"
        )
    lead, out = math.prod(a.shape[:-n]), math.prod(output_size)
    flat = (lead, math.prod(a.shape[-n:]))
    base = p.full((lead, out), 0, a.dtype)
    # Indices meet only where windows overlapped, and then bring the same element.
    indices, input = p.reshape(indices, shape=flat), p.reshape(input, shape=flat)
    placed = p.scatter_along_axis(base, indices, input, axis=1, unique=True)
    return p.reshape(placed, shape=(*a.shape[:-n], *output_size))


def _output_size(input, n: int, kernel, stride, padding, output_size):
    default = tuple((m - 1) * s + k - 2 * q for m, k, s, q in zip(input.shape[-n:], kernel, stride, padding))
    if output_size is None:
        return default
    output_size = tuple(int(m) for m in output_size)
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{n} or {n + 2} elements, but it has a length of '{len(output_size)}'"
        )
    for d, (m, wished, s) in enumerate(zip(default, output_size, stride)):
        if not m - s < wished < m + s:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {m - s} and {m + s})')
    return output_size


def _unpool(input, indices, n, kernel_size, stride, padding, output_size):
    kernel = ntuple(kernel_size, n)
    stride = kernel if stride is None else ntuple(stride, n)
    padding = ntuple(padding, n)
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, "
            "but got "
            f"a tensor with {input.ndim} dimensions."
        )
    size = _output_size(input, n, kernel, stride, padding, output_size)
    unpooled = _max_unpool(input, indices, size)
    shown = "x".join(map(str, size if n > 1 else (*size, 1)))
    _bounds.check(
        indices,
        math.prod(size),
        0,
        f"max_unpool{n}d",
        error=RuntimeError,
        result=unpooled,
        message=f"Found an invalid max index: {{index}} (output volumes are of size {shown})",
    )
    return unpooled


@overridable
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The elements of a max_pool1d back at their places, zeros elsewhere.

    >>> x, indices = F.max_pool1d(torch.tensor([[1., 3., 7., 5.]]), 2, return_indices=True)
    >>> F.max_unpool1d(x, indices, 2)
    tensor([[0., 3., 7., 0.]])
    """
    return _unpool(input, indices, 1, kernel_size, stride, padding, output_size)


@overridable
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The elements of a max_pool2d back at their places, zeros elsewhere.

    >>> x, indices = F.max_pool2d(torch.arange(4.).view(1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(x, indices, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    return _unpool(input, indices, 2, kernel_size, stride, padding, output_size)


@overridable
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The elements of a max_pool3d back at their places, zeros elsewhere.

    >>> x, indices = F.max_pool3d(torch.arange(8.).view(1, 2, 2, 2), 2, return_indices=True)
    >>> F.max_unpool3d(x, indices, 2).sum()
    tensor(7.)
    """
    return _unpool(input, indices, 3, kernel_size, stride, padding, output_size)


# ---- fractional_max_pool -------------------------------------------------------------------------


def _starts(sample, size: int, kernel: int, out: int):
    """Where windows begin along one dimension, for a sample in [0, 1) of every (N, C)."""
    n, c = aval_of(sample).shape
    if out == 1:
        return p.full((n, c, 1), size - kernel, dt.int64)
    step = (size - kernel) / (out - 1)
    steps = p.constant(np.arange(out).astype(aval_of(sample).dtype))
    u = p.broadcast_in_dim(sample, shape=(n, c, out), dims=(0, 1))
    ahead = p.mul(p.add(p.broadcast_in_dim(steps, shape=(n, c, out), dims=(2,)), u), step)
    start = p.sub(_floored(ahead), _floored(p.mul(u, step)))
    last = np.arange(out) == out - 1
    mask = p.broadcast_in_dim(p.constant(last), shape=(n, c, out), dims=(2,))
    return p.select(mask, full_like(start, size - kernel), start)


def _floored(x):
    return p.convert(p.trunc(x), dtype=dt.int64)


@torch_op(
    name="_fractional_max_pool",
    node=lambda a: f"FractionalMaxPool{len(a.kernel)}D0(input)",
    returns=tuple,
    autocast={"cpu": "full"},
)
def _fractional(input: Tensor, samples: Tensor, kernel, places):
    """(maxima over windows that begin at random, their flat indices)."""
    require_floating("fractional_max_pool", input)
    a, n = aval_of(input), len(kernel)
    size = a.shape[-n:]
    x = p.reshape(input, shape=(*(a.shape[:2] if a.ndim == n + 2 else (1, a.shape[0])), *size))
    batch, channels = aval_of(x).shape[:2]
    samples = p.slice_in_dim(samples, start=0, limit=batch, dimension=0)  # there may be more
    flat = None
    shape = (batch, channels, *places, *kernel)
    for i in range(n):
        sample = p.squeeze(p.slice_in_dim(samples, start=n - 1 - i, limit=n - i, dimension=2), dims=(2,))
        starts = _starts(sample, size[i], kernel[i], places[i])
        at = p.add(
            p.broadcast_in_dim(starts, shape=shape, dims=(0, 1, 2 + i)),
            p.iota(shape=shape, dtype=dt.int64, dimension=2 + n + i),
        )
        flat = at if flat is None else p.add(p.mul(flat, size[i]), at)
    windows = math.prod(places) * math.prod(kernel)
    indices = p.reshape(flat, shape=(batch, channels, windows))
    taken = p.take_along_axis(p.reshape(x, shape=(batch, channels, math.prod(size))), indices, axis=2, mode="clip")
    grouped = (batch, channels, *places, math.prod(kernel))
    taken, indices = p.reshape(taken, shape=grouped), p.reshape(indices, shape=grouped)
    best = p.expand_dims(p.argmax(taken, axis=2 + n), dims=(2 + n,))
    outs = [p.take_along_axis(v, best, axis=2 + n) for v in (taken, indices)]
    outs = [p.squeeze(v, dims=(2 + n,)) for v in outs]
    outs[0] = outs[0] if a.size else tied(outs[0], input)
    return outs if a.ndim == n + 2 else [p.squeeze(v, dims=(0,)) for v in outs]


def _check_samples(input, samples, n: int):
    """Refuse random numbers that are not one for every dimension of every channel."""
    batch = 1 if input.ndim == n + 1 else input.shape[0]
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions got, {samples.ndim}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[-n - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}.")


def _fractional_pool(input, n, kernel_size, output_size, output_ratio, return_indices, samples):
    if output_size is None and output_ratio is None:
        raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
    name = f"fractional_max_pool{n}d"
    kernel = fractional_sizes(name, "kernel_size", kernel_size, n)
    if output_size is None:
        ratio = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
        if len(ratio) != n:
            raise ValueError(
                f"fractional_max_pool{n}d requires output_ratio to either be a single Int or tuple of Ints."
            )
        if not all(0 < r < 1 for r in ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        output_size = tuple(int(m * r) for m, r in zip(input.shape[-n:], ratio))
    out = fractional_sizes(name, "output_size", output_size, n)
    if 0 in input.shape[input.ndim - n - 1 :]:
        raise RuntimeError(
            f"fractional_max_pool{n}d(): Expected input to have non-zero size for non-batch dimensions, "
            f"but got{list(input.shape)} with dimension {input.shape.index(0, input.ndim - n - 1)} being empty."
        )
    for axis, m, k, size in zip(("time", "height", "width")[-n:], out, kernel, input.shape[-n:]):
        if m + k - 1 > size:
            out_form = "_out" * (n == 3)
            raise RuntimeError(f"{name}{out_form}(): pool {axis} {k} too large relative to input {axis} {size}")
    if samples is None:
        batch = 1 if input.ndim == n + 1 else input.shape[0]
        samples = drawn("uniform", input, shape=(batch, input.shape[-n - 1], n))
    else:
        _check_samples(input, samples, n)
    values, indices = _fractional(input, samples, kernel, out)
    return (values, indices) if return_indices else values


@overridable
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """Maxima over windows that begin at random places, about evenly apart.

    >>> F.fractional_max_pool2d(torch.arange(16.).view(1, 1, 4, 4), 2, output_size=2).shape
    torch.Size([1, 1, 2, 2])
    """
    return _fractional_pool(input, 2, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@overridable
def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """fractional_max_pool2d and the places of the maxima.

    >>> output, indices = F.fractional_max_pool2d_with_indices(torch.arange(16.).view(1, 1, 4, 4), 2, output_size=2)
    >>> output.shape, indices.shape
    (torch.Size([1, 1, 2, 2]), torch.Size([1, 1, 2, 2]))
    """
    return fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


@overridable
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """Maxima over windows of three dimensions that begin at random places.

    >>> F.fractional_max_pool3d(torch.arange(64.).view(1, 1, 4, 4, 4), 2, output_size=2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _fractional_pool(input, 3, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@overridable
def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """fractional_max_pool3d and the places of the maxima.

    >>> output, indices = F.fractional_max_pool3d_with_indices(torch.zeros(1, 1, 4, 4, 4), 2, output_size=2)
    >>> output.shape, indices.shape
    (torch.Size([1, 1, 2, 2, 2]), torch.Size([1, 1, 2, 2, 2]))
    """
    return fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)
