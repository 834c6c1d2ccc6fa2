"""Padding, sliding blocks, shuffled pixels and sampling at grids."""

from __future__ import annotations

import functools
import itertools
import math

from ....core.warn import warn
from ....kernels import borders
from ....kernels.values import derived, iota_along
from ...dispatch.op import composite, torch_op
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...views.memory_order import image, padded
from ..shape.data import fill_number
from ..values import aval_of, dt, full_like, like, name_of, np, p, permuted, require_floating, tied, wide
from .conv import ntuple

# ---- pad -----------------------------------------------------------------------------------------


def _cropped(x, dim: int, low: int, high: int):
    n = aval_of(x).shape[dim]
    return p.slice_in_dim(x, start=low, limit=n - high, dimension=dim) if low or high else x


def _edges(x, dim: int, low: int, high: int, mode: str):
    """What stands before and behind x along a dimension, by mode."""
    n = aval_of(x).shape[dim]

    def part(start, limit):
        return p.slice_in_dim(x, start=start, limit=limit, dimension=dim)

    if mode == "circular":
        return part(n - low, n), part(0, high)
    if mode == "reflect":
        return (p.reverse(part(1, low + 1), dims=(dim,)), p.reverse(part(n - 1 - high, n - 1), dims=(dim,)))
    shape = aval_of(x).shape

    def repeated(edge, count):
        return p.broadcast_in_dim(edge, shape=(*shape[:dim], count, *shape[dim + 1 :]), dims=tuple(range(len(shape))))

    return repeated(part(0, 1), low), repeated(part(n - 1, n), high)


def _extended(x, dim: int, low: int, high: int, mode: str):
    """x with edges along one dimension; negative ones cut off."""
    if mode == "replicate" and min(low, high) < 0:  # what is cut off may be what is repeated
        n = aval_of(x).shape[dim]
        index = np.clip(np.arange(n + low + high) - low, 0, n - 1)
        return p.take(x, p.constant(index), axis=dim, mode="promise_in_bounds")
    x = _cropped(x, dim, max(-low, 0), max(-high, 0))
    low, high = max(low, 0), max(high, 0)
    if not low and not high:
        return x
    before, behind = _edges(x, dim, low, high, mode)
    parts = [part for part in (before if low else None, x, behind if high else None) if part is not None]
    return p.concatenate(*parts, dimension=dim)


PAD_SIZE = (
    "Padding size should be less than the corresponding input dimension, but got: padding "
    "({low}, {high}) at dimension {dim} of input {shape}"
)


def _pad_node(a):
    kind = {"reflect": "Reflection", "replicate": "Replication"}.get(a.mode)
    if kind is None:
        return "CopySlices" if a.mode == "circular" else "ConstantPadNdBackward0"
    return f"{kind}Pad{len(a.pad) // 2}DBackward0"


@torch_op(node=_pad_node, layout=padded)
def _pad(input: Tensor, pad, mode, value):
    a = aval_of(input)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * a.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input "
            f"dimension but got padding length {len(pad)} and input of dimension "
            f"{a.ndim}"
        )
    sides = list(zip(pad[::2], pad[1::2]))[::-1]
    sides = [(0, 0)] * (a.ndim - len(sides)) + sides
    if mode == "constant":
        return _pad_constant(input, sides, value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if (len(pad), a.ndim) not in _PADDABLE:
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    if not a.size and mode != "circular":
        _check_batch(a.shape, len(pad) // 2)
    for dim, (low, high) in enumerate(sides):
        _check_sides(a.shape, dim, low, high, mode)
    whole = a.dtype in dt.INEXACT and a.size and min(map(min, sides)) >= 0
    return (_bordered if whole else _joined)(tuple(sides), mode)(input)


@functools.lru_cache(256)
def _bordered(sides, mode: str):
    """_joined, which NumPy does otherwise."""
    joined = _joined(sides, mode)
    return derived(lambda t, x, out: joined(t), on_host=borders.on_host(sides, mode))(joined)


def _joined(sides, mode: str):
    """What extends arrays on all sides."""

    def bordered(x):
        for dim, (low, high) in enumerate(sides):
            x = _extended(x, dim, low, high, mode)
        return x

    return bordered


_PADDABLE = {(2, 2), (2, 3), (4, 3), (4, 4), (6, 4), (6, 5)}


def _check_batch(shape, n: int):
    """Refuse what has no elements for another reason than an empty batch."""
    if len(shape) == n + 1 or 0 in shape[1:]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )


def _check_sides(shape, dim, low, high, mode):
    n = shape[dim]
    if mode == "reflect" and (low >= n and low > 0 or high >= n and high > 0):
        raise RuntimeError(PAD_SIZE.format(low=low, high=high, dim=dim, shape=list(shape)))
    if mode == "circular" and (low > n or high > n):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if n + low + high < 0 or (mode == "circular" and n + min(low, 0) + min(high, 0) < 0):
        raise RuntimeError("Negative padding value is resulting in an empty dimension.")


def _pad_constant(x, sides, value):
    a = aval_of(x)
    for d, (low, high) in enumerate(sides):
        if a.shape[d] + low + high < 0:
            raise RuntimeError(
                f"The input size {a.shape[d]}, plus negative padding {low} and "
                f"{high} "
                "resulted in a negative output size, which is invalid. Check "
                "dimension "
                f"{d} of your input."
            )
    fill = p.constant(np.asarray(0 if value is None else fill_number(value, a.dtype)).astype(a.dtype))
    return p.pad(x, fill, low=tuple(low for low, _ in sides), high=tuple(high for _, high in sides))


@overridable
def pad(input, pad, mode="constant", value=None):
    """input with a border, widths from the last dimension on: (left, right, top, bottom, ...).

    mode: 'constant', 'reflect', 'replicate' or 'circular'. Negative widths cut off.

    >>> nn.functional.pad(torch.tensor([1., 2.]), (1, 0))
    tensor([0., 1., 2.])
    """
    widths = tuple(int(w) for w in pad)
    return _pad(input, widths, mode, float(value) if value.__class__ is int else value)


@composite(method=False)
def constant_pad_nd(input, pad, value=0):
    """input with a border of one number.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 2), 9)
    tensor([9, 1, 2, 9, 9])
    """
    return _pad(input, tuple(int(w) for w in pad), "constant", value)


# ---- pixels --------------------------------------------------------------------------------------


def _pixels(name: str, x, what: str, factor: int) -> tuple[int, ...]:
    shape = aval_of(x).shape
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")
    return shape


@torch_op(method=False, layout=image)
def pixel_shuffle(input: Tensor, upscale_factor):
    """(..., C r r, H, W) to (..., C, H r, W r).

    >>> nn.functional.pixel_shuffle(torch.arange(4.).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    *lead, c, h, w = _pixels("pixel_shuffle", input, "upscale_factor", upscale_factor)
    r = upscale_factor
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible "
            "by the"
            f" square of upscale_factor, but input.size(-3)={c} is not divisible by "
            f"{r * r}"
        )
    n = len(lead)
    x = p.reshape(input, shape=(*lead, c // (r * r), r, r, h, w))
    x = permuted(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return p.reshape(x, shape=(*lead, c // (r * r), h * r, w * r))


@torch_op(method=False, layout=image)
def pixel_unshuffle(input: Tensor, downscale_factor):
    """(..., C, H r, W r) to (..., C r r, H, W).

    >>> nn.functional.pixel_unshuffle(torch.ones(1, 2, 2), 2).shape
    torch.Size([4, 1, 1])
    """
    *lead, c, h, w = _pixels("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    r = downscale_factor
    for what, which, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by "
                "downscale_factor, "
                f"but input.size({which})={size} is not divisible by {r}"
            )
    n = len(lead)
    if not aval_of(input).size:  # PyTorch's is as it was
        return p.reshape(input, shape=aval_of(input).shape)
    x = p.reshape(input, shape=(*lead, c, h // r, r, w // r, r))
    x = permuted(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return p.reshape(x, shape=(*lead, c * r * r, h // r, w // r))


@torch_op(method=False, aliases=("native_channel_shuffle",), layout=image)
def channel_shuffle(input: Tensor, groups):
    """Channels (dimension 1) of `groups` groups interleaved.

    >>> torch.channel_shuffle(torch.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    shape = aval_of(input).shape
    if len(shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    x = p.reshape(input, shape=(shape[0], groups, shape[1] // groups, *shape[2:]))
    return p.reshape(permuted(x, (0, 2, 1, *range(3, aval_of(x).ndim))), shape=shape)


# ---- sliding blocks ------------------------------------------------------------------------------


class Blocks:
    """The geometry of unfold and fold over two dimensions."""

    def __init__(self, size, kernel, dilation, padding, stride):
        two = [
            ntuple(v, 2, name)
            for v, name in ((kernel, "kernel_size"), (dilation, "dilation"), (padding, "padding"), (stride, "stride"))
        ]
        self.kernel, self.dilation, self.padding, self.stride = two
        for name, values, least in (
            ("kernel size", self.kernel, 1),
            ("stride", self.stride, 1),
            ("dilation", self.dilation, 1),
            ("padding", self.padding, 0),
        ):
            if min(values) < least:
                raise RuntimeError(
                    f"{name} should be "
                    f"{'greater than zero' if least else 'non-negative'}"
                    f", but got {name.replace(' ', '_')}_height: {values[0]} "
                    f"{name.replace(' ', '_')}_width: {values[1]}"
                )
        self.size = tuple(size)
        self.grid = tuple(
            (n + 2 * q - d * (k - 1) - 1) // s + 1
            for n, k, d, q, s in zip(self.size, self.kernel, self.dilation, self.padding, self.stride)
        )

    def starts(self, i: int) -> range:
        """Where in the padded dimension each element of the kernel begins."""
        return range(0, self.kernel[i] * self.dilation[i], self.dilation[i])


@torch_op(name="im2col", method=False, function=False)
def unfold(input: Tensor, kernel_size, dilation=1, padding=0, stride=1):
    """All blocks of (N, C, H, W) as columns: (N, C kh kw, blocks).

    >>> nn.functional.unfold(torch.ones(1, 1, 2, 2), 2).shape
    torch.Size([1, 4, 1])
    """
    a = aval_of(input)
    if a.ndim not in (3, 4) or 0 in a.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and "
            "other "
            f"non-zero dimensions for input, but got: {list(a.shape)}"
        )
    b = Blocks(a.shape[-2:], kernel_size, dilation, padding, stride)
    if min(b.grid) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({a.shape[-2]}, {a.shape[-1]}), "
            "kernel_size="
            f"{b.kernel}, dilation={b.dilation}, padding={b.padding}, calculated "
            "shape of"
            f" the array of sliding blocks as {b.grid}, but its components must be "
            "at "
            "least one."
        )
    x = input if a.ndim == 4 else p.expand_dims(input, dims=(0,))
    sides = (0, 0, *b.padding)
    x = p.pad(x, p.constant(np.zeros((), a.dtype)), low=sides, high=sides)
    for i in (0, 1):  # one dimension after the other: kh + kw slices, where blocks would need kh kw
        dim = 2 + 2 * i
        x = p.concatenate(
            *[p.expand_dims(_strided(x, dim, start, b.grid[i], b.stride[i]), dims=(dim,)) for start in b.starts(i)],
            dimension=dim,
        )
    x = permuted(x, (0, 1, 2, 4, 3, 5))
    n, c = aval_of(x).shape[:2]
    out = p.reshape(x, shape=(n, c * math.prod(b.kernel), math.prod(b.grid)))
    return out if a.ndim == 4 else p.squeeze(out, dims=(0,))


def _strided(x, dim: int, start: int, count: int, stride: int):
    return p.slice_in_dim(x, start=start, limit=start + (count - 1) * stride + 1, stride=stride, dimension=dim)


@torch_op(name="col2im", method=False, function=False)
def fold(input: Tensor, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The transpose of unfold: columns added into an array of (N, C, *output_size).

    >>> nn.functional.fold(torch.ones(1, 4, 1), 2, 2)
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    a = aval_of(input)
    size = ntuple(output_size, 2, "output_size")
    b = Blocks(size, kernel_size, dilation, padding, stride)
    if a.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch "
            "size "
            f"and non-zero dimensions for input, but got: {list(a.shape)}"
        )
    if min(b.grid) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={b.kernel}, dilation={b.dilation}, padding={b.padding}, "
            f"stride={b.stride}, calculated shape of the array of sliding blocks as {b.grid}, which is too small "
            "(non-positive)"
        )
    columns = a.shape[-2]
    if columns % math.prod(b.kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={columns} and "
            f"kernel_size={b.kernel}."
        )
    if a.shape[-1] != math.prod(b.grid):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={b.kernel}, "
            f"dilation={b.dilation}, "
            f"padding={b.padding}, stride={b.stride}, expected size of input's "
            "dimension "
            f"2 to match the calculated number of sliding blocks {b.grid[0]} * "
            f"{b.grid[1]} = {math.prod(b.grid)}, but got "
            f"input.size(2)={a.shape[-1]}."
        )
    x = input if a.ndim == 3 else p.expand_dims(input, dims=(0,))
    n, c = a.shape[0] if a.ndim == 3 else 1, columns // math.prod(b.kernel)
    x = permuted(p.reshape(x, shape=(n, c, *b.kernel, *b.grid)), (0, 1, 2, 4, 3, 5))
    for i in (1, 0):
        x = _added_up(x, 2 + 2 * i, b, i)
    low = (0, 0, *(-q for q in b.padding))
    x = p.pad(x, p.constant(np.zeros((), a.dtype)), low=low, high=low)
    return x if a.ndim == 3 else p.squeeze(x, dims=(0,))


def _added_up(x, dim: int, b: Blocks, i: int):
    """Dimensions (kernel, grid) at dim as one: each element of the kernel added at its place."""
    width = b.size[i] + 2 * b.padding[i]
    out = None
    for k, start in enumerate(b.starts(i)):
        part = p.squeeze(p.slice_in_dim(x, start=k, limit=k + 1, dimension=dim), dims=(dim,))
        ndim = aval_of(part).ndim
        reach = (b.grid[i] - 1) * b.stride[i] + 1
        low, high, inner = ([0] * ndim for _ in range(3))
        low[dim], high[dim], inner[dim] = start, width - start - reach, b.stride[i] - 1
        part = p.pad(part, p.constant(np.zeros((), aval_of(x).dtype)), low=low, high=high, interior=inner)
        out = part if out is None else p.add(out, part)
    return out


# ---- sampling at grids ---------------------------------------------------------------------------

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def _unnormalised(at, size: int, align: bool):
    """Coordinates in [-1, 1] as positions in pixels."""
    if align:
        return p.mul(p.add(at, 1.0), (size - 1) / 2)
    return p.div(p.sub(p.mul(p.add(at, 1.0), float(size)), 1.0), full_like(at, 2.0))


def _clipped(at, low: float, high: float):
    """at within bounds, with derivative 0 at and beyond them."""
    below, above = full_like(at, low), full_like(at, high)
    at = p.select(p.gt(at, below), at, below)
    return p.select(p.lt(at, above), at, above)


def _reflected(at, low: float, high: float):
    """at reflected until it lies within [low, high], twice the bounds given."""
    if low == high:
        return full_like(at, 0)
    start, span = low / 2, (high - low) / 2
    distance = p.abs(p.sub(at, start))
    extra = p.sub(distance, p.mul(p.floor(p.div(distance, full_like(at, span))), span))
    flips = p.floor(p.div(distance, full_like(at, span)))
    even = p.eq(p.rem(flips, 2.0), 0.0)
    return p.select(even, p.add(extra, start), p.add(p.neg(extra), span + start))


def _position(at, size: int, padding: str, align: bool):
    """A position moved inside as the padding mode says."""
    if padding == "border":
        return _clipped(at, 0.0, size - 1.0)
    if padding == "reflection":
        at = _reflected(at, 0, 2 * (size - 1)) if align else _reflected(at, -1, 2 * size - 1)
        return _clipped(at, 0.0, size - 1.0)
    return at


def _corner(shape, indices):
    """Which row of channels of an image batch (N, C, *size) is at integer positions (N, *out) a dimension, the nearest
    for those outside, and whether they are inside."""
    n, _, *size = shape
    wide_enough = dt.int32 if math.prod(shape) < 2**31 else dt.int64
    flat, inside = iota_along(aval_of(indices[0]).shape, 0, wide_enough), None
    for index, m in zip(indices, size):
        whole = p.convert(index, dtype=wide_enough)
        fits = p.and_(p.ge(index, 0.0), p.le(index, float(m - 1)))
        whole = p.clamp(full_like(whole, 0), whole, full_like(whole, m - 1))
        inside = fits if inside is None else p.and_(inside, fits)
        flat = p.add(p.mul(flat, m), whole)
    return flat, inside


def _weighted_sum(input, taps, zeros: bool):
    """The sum over all combinations of (index, weight) a dimension of weight * input.

    Channels last inside: rows are gathered and, for the gradient, added to rows; places and weights are computed once
    for all channels. 8 x 16 x 32 x 32 at as many positions, forward and gradients: 0.4 ms, 3.0 element by element.
    (One gather of all combinations and a sum over them 2.3: that sum is 2 ms.)
    """
    n, c, *size = shape = aval_of(input).shape
    out = aval_of(taps[0][0][0]).shape[1:]
    if not n or not c or 0 in out:
        nothing = p.zeros(aval_of(input).with_shape((n, c, *out)))
        return tied(tied(nothing, input), taps[0][0][1])
    area, count = math.prod(size), math.prod(out)
    rows = p.transpose(p.reshape(input, shape=(n, c, area)), permutation=(0, 2, 1))
    (rows,) = p.optimization_barrier(p.reshape(rows, shape=(n * area, c)))
    found = None
    for chosen in itertools.product(*taps):
        flat, inside = _corner(shape, [index for index, _ in chosen])
        weight = functools.reduce(p.mul, [factor for _, factor in chosen])
        flat, inside, weight = p.optimization_barrier(
            *[p.reshape(x, shape=(n * count,)) for x in (flat, inside, weight)]
        )
        value = p.take(rows, flat, axis=0, mode="promise_in_bounds")
        if zeros:
            kept = p.broadcast_in_dim(inside, shape=(n * count, c), dims=(0,))
            value = p.select(kept, value, p.zeros(aval_of(value)))
        term = p.mul(value, p.broadcast_in_dim(weight, shape=(n * count, c), dims=(0,)))
        found = term if found is None else p.add(found, term)
    (found,) = p.optimization_barrier(found)  # or it is computed in the order of the result, across rows
    found = p.transpose(p.reshape(found, shape=(n, count, c)), permutation=(0, 2, 1))
    return p.reshape(found, shape=(n, c, *out))


def _cubic_weights(t):
    """The four weights of cubic convolution (a = -0.75) for a fraction t."""
    a = -0.75

    def near(x):
        return p.add(p.mul(p.mul(p.sub(p.mul(x, a + 2), a + 3), x), x), 1.0)

    def far(x):
        inner = p.add(p.mul(p.sub(p.mul(x, a), 5 * a), x), 8 * a)
        return p.sub(p.mul(inner, x), 4 * a)

    rest = p.sub(full_like(t, 1.0), t)
    return [far(p.add(t, 1.0)), near(t), near(rest), far(p.add(rest, 1.0))]


def _taps(at, size: int, mode: str, padding: str, align: bool):
    """[(index, weight), ...] along one dimension."""
    if mode == "nearest":
        at = _position(at, size, padding, align)
        return [(p.round(at), tied(full_like(at, 1.0), at))]
    if mode == "bilinear":
        at = _position(at, size, padding, align)
        low = p.floor(at)
        t = p.sub(at, low)
        return [(low, p.sub(full_like(t, 1.0), t)), (p.add(low, 1.0), t)]
    low = p.floor(at)
    weights = _cubic_weights(p.sub(at, low))
    return [(_position(p.add(low, float(i - 1)), size, padding, align), w) for i, w in enumerate(weights)]


@torch_op(
    method=False,
    aliases=("grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback"),
    autocast={"cpu": "full", "cuda": "widest"},
    node=lambda a: f"GridSampler{a.input.ndim - 2}DBackward0",
)
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode, padding_mode, align_corners):
    """grid_sample with modes as numbers: bilinear, nearest, bicubic; zeros, border, reflection.

    >>> x, grid = torch.arange(4.).view(1, 1, 2, 2), torch.zeros(1, 1, 1, 2)
    >>> torch.grid_sampler(x, grid, 0, 0, False)
    tensor([[[[1.5000]]]])
    """
    a, g = aval_of(input), aval_of(grid)
    if a.dtype != g.dtype:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have the same dtype, but "
            "input "
            f"has {_lower(input)} and grid has {_lower(grid)}"
        )
    if a.ndim not in (3, 4, 5):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of "
            f"dimensions, but got input with sizes {list(a.shape)} and grid with "
            "sizes "
            f"{list(g.shape)}"
        )
    if a.shape[0] != g.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but "
            "got "
            f"input with sizes {list(a.shape)} and grid with sizes {list(g.shape)}"
        )
    if g.shape[-1] != a.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {a.ndim - 2} in last "
            "dimension, "
            f"but got grid with sizes {list(g.shape)}"
        )
    if 0 in a.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(a.shape)} with dimension {a.shape.index(0, 2)} being empty"
        )
    if a.ndim != g.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of "
            f"dimensions, but got input with sizes {list(a.shape)} and grid with sizes {list(g.shape)}"
        )
    mode, padding = MODES[interpolation_mode], PADDINGS[padding_mode]
    if mode == "bicubic" and a.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    require_floating("grid_sampler_2d_cpu", input)
    x, where_ = wide(input), wide(grid)
    taps = []
    for i, size in enumerate(a.shape[2:]):
        last = g.ndim - 1
        k = a.ndim - 3 - i  # the grid has x, the last dimension, first
        at = p.squeeze(p.slice_in_dim(where_, start=k, limit=k + 1, dimension=last), dims=(last,))
        (at,) = p.optimization_barrier(_unnormalised(at, size, align_corners))  # side by side from here on
        taps.append(_taps(at, size, mode, padding, align_corners))
    out = like(_weighted_sum(x, taps, padding == "zeros"), input)
    if all([n == 1 for n in a.shape[2:]]):  # reflected, every position is that of the only element
        out = tied(out, grid)
    return out


def _lower(x) -> str:
    return {"Float": "float", "Double": "double"}.get(name_of(x), name_of(x))


UNIT_SIZE = (
    "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not "
    "an intended use case of affine_grid. See the documentation of affine_grid for details."
)
ALIGN = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
    "1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation "
    "of "
    "grid_sample for details."
)


@overridable
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """input (N, C, H, W) or (N, C, D, H, W) at the positions of grid, (x, y[, z]) in [-1, 1].

    >>> nn.functional.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2),
    ...                           align_corners=False)
    tensor([[[[1.]]]])
    """
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', "
            "'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn(ALIGN)
        align_corners = False
    return grid_sampler(input, grid, MODES.index(mode), PADDINGS.index(padding_mode), align_corners)


@torch_op(method=False)
def affine_grid_generator(theta: Tensor, size, align_corners):
    """The grid of positions that an affine map takes each output position from.

    >>> torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    n, *spatial = size[0], *size[2:]
    dtype = aval_of(theta).dtype
    axes = []
    for m in spatial:
        line = np.linspace(-1, 1, m) if m > 1 else np.zeros(1)
        axes.append(line if align_corners or m <= 1 else line * (m - 1) / m)
    mesh = np.meshgrid(*axes, indexing="ij")[::-1]
    base = np.stack([*mesh, np.ones_like(mesh[0])], -1).reshape(-1, len(spatial) + 1).astype(dtype)
    points = p.broadcast_in_dim(p.constant(base), shape=(n, *base.shape), dims=(1, 2))
    out = p.dot_general(points, theta, contract=((2,), (2,)), batch=((0,), (0,)))
    return p.reshape(out, shape=(n, *spatial, len(spatial)))


@overridable
def affine_grid(theta, size, align_corners=None):
    """The grid for grid_sample of affine maps theta, (N, 2, 3) or (N, 3, 4), for an output size.

    >>> nn.functional.affine_grid(torch.eye(2, 3)[None], (1, 1, 1, 1), align_corners=False)
    tensor([[[[0., 0.]]]])
    """
    if align_corners is None:
        warn(ALIGN)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = tuple(int(n) for n in size)
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
            f"transforms, respectively. Got size {size}."
        )
    rows = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (rows, rows + 1):
        raise ValueError(
            f"Expected a batch of {rows}D affine matrices of shape "
            f"Nx{rows}x{rows + 1} for "
            f"size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and 1 in size[2:]:
        warn(UNIT_SIZE)
    return affine_grid_generator(theta, size, align_corners)
