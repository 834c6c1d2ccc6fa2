"""interpolate: resizing by nearest, linear, cubic and area rules, with and without antialiasing."""

from __future__ import annotations

import math

from ....core.warn import warn
from ....kernels.shapes import repeated
from ...dispatch.op import torch_op
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...views.memory_order import image
from ..values import Derived, along, aval_of, dt, like, np, p, permuted, require_floating, wide
from .pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

# Along one dimension a resize is a weighted sum of a few elements: `index` and `weight`, both of
# shape (out, taps). Derivatives use it as a matrix while that is small: the transpose of a gather
# is a scatter, which takes several times as long.
LARGEST_MATRIX = 1 << 20


def _scale(size: int, out: int, factor, align: bool, kind=np.float32):
    """Input elements per output element."""
    if align:
        return kind((size - 1) / (out - 1)) if out > 1 else kind(0)
    return kind(1 / factor) if factor is not None and factor > 0 else kind(size / out)


def _nearest(size, out, factor, exact: bool):
    at = np.arange(out, dtype=np.float32)
    if exact:
        at = at + np.float32(0.5)
    index = np.minimum(np.floor(at * _scale(size, out, factor, False)).astype(np.int64), size - 1)
    return index[:, None], np.ones((out, 1))


def _sources(size, out, factor, align: bool, cubic: bool, kind):
    scale, at = _scale(size, out, factor, align, kind), np.arange(out, dtype=kind)
    if align:
        return scale * at
    source = scale * (at + kind(0.5)) - kind(0.5)
    return source if cubic else np.maximum(source, 0)


def _linear(size, out, factor, align: bool, kind):
    source = _sources(size, out, factor, align, False, kind)
    low = np.minimum(source.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    t = np.clip(source - low, 0, 1)
    return np.stack([low, high], 1), np.stack([1 - t, t], 1)


def _cubic(x, a):
    """Keys' kernel of cubic convolution."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _bicubic(size, out, factor, align: bool, kind):
    source = _sources(size, out, factor, align, True, kind)
    low = np.floor(source).astype(np.int64)
    offsets = np.arange(-1, 3)
    weight = _cubic((source - low)[:, None] - offsets, -0.75)
    return np.clip(low[:, None] + offsets, 0, size - 1), weight


def _antialiased(size, out, factor, align: bool, cubic: bool):
    """Weights of a filter as wide as the scale."""
    scale = float(_scale(size, out, factor, align, np.float64))
    width = 4 if cubic else 2
    support = width / 2 * max(scale, 1.0)
    inverse = 1 / scale if scale >= 1 else 1.0
    center = scale * (np.arange(out) + 0.5)
    first = np.maximum((center - support + 0.5).astype(np.int64), 0)
    end = np.minimum((center + support + 0.5).astype(np.int64), size)
    taps = np.arange(max(int((end - first).max()), 1)) if out else np.arange(1)
    x = (taps + first[:, None] - center[:, None] + 0.5) * inverse
    weight = _cubic(x, -0.5) if cubic else np.maximum(1 - np.abs(x), 0)
    weight = np.where(taps < (end - first)[:, None], weight, 0)
    weight = weight / weight.sum(1, keepdims=True)
    return np.minimum(first[:, None] + taps, size - 1), weight


def _taps(mode, size, out, factor, align, antialias, dtype):
    kind = np.float64 if dtype == dt.float64 else np.float32
    if mode in ("nearest", "nearest-exact"):
        return _nearest(size, out, factor, mode == "nearest-exact")
    if antialias:
        return _antialiased(size, out, factor, align, mode == "bicubic")
    if mode == "bicubic":
        return _bicubic(size, out, factor, align, kind)
    return _linear(size, out, factor, align, kind)


def _gathered(x, dim: int, index, weight):
    """The weighted sum, a gather for each tap."""
    out = None
    shape = aval_of(x).shape
    target = (*shape[:dim], len(index), *shape[dim + 1 :])
    for k in range(index.shape[1]):
        part = p.take(x, p.constant(np.ascontiguousarray(index[:, k])), axis=dim, mode="promise_in_bounds")
        if not (weight[:, k] == 1).all():
            factor = p.constant(weight[:, k].astype(aval_of(x).dtype))
            part = p.mul(part, along(factor, target, dim))
        out = part if out is None else p.add(out, part)
    return out


def _by_matrix(x, dim: int, index, weight):
    """The weighted sum as a product with a matrix."""
    size = aval_of(x).shape[dim]
    matrix = np.zeros((len(index), size))
    np.add.at(matrix, (np.arange(len(index))[:, None], index), weight)
    out = p.dot_general(x, p.constant(matrix.astype(aval_of(x).dtype)), contract=((dim,), (1,)))
    last = aval_of(out).ndim - 1
    return permuted(out, (*range(dim), last, *range(dim, last)))


def resized(x, dim: int, out: int, mode: str, factor, align, antialias):
    """x resized along one dimension."""
    size = aval_of(x).shape[dim]
    index, weight = _taps(mode, size, out, factor, align, antialias, aval_of(x).dtype)
    if mode.startswith("nearest") and out % size == 0 and (index[:, 0] == np.arange(out) // (out // size)).all():
        return repeated(x, out // size, dim)
    if index.shape[1] > 4 and size * out <= LARGEST_MATRIX:
        return _by_matrix(x, dim, index, weight)
    if size * out > LARGEST_MATRIX or aval_of(x).dtype not in dt.INEXACT:
        return _gathered(x, dim, index, weight)
    return Derived(lambda v: _gathered(v, dim, index, weight), lambda t, v, out_: _by_matrix(t, dim, index, weight))(x)


# ---- pictures of bytes ---------------------------------------------------------------------------


def _whole_weights(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """Weights as whole numbers below 2**15, and how many bits of them stand behind the point."""
    bits = next((k for k in range(22) if int(0.5 + matrix.max() * 2 ** (k + 1)) >= 1 << 15), 22)
    return np.trunc(matrix * 2**bits + np.where(matrix < 0, -0.5, 0.5)).astype(np.int32), bits


def _resized_bytes(x, dim: int, out: int, mode: str, factor, align, antialias):
    """Whole numbers of 0 to 255 resized along one dimension and rounded to such, by weights that are whole numbers."""
    size = aval_of(x).shape[dim]
    index, weight = _taps(mode, size, out, factor, align, antialias, np.dtype(np.float64))
    matrix, rows = np.zeros((out, size)), np.arange(out)[:, None]
    np.add.at(matrix, (rows, index), weight)  # what lies beyond the border counts for the element at it
    whole, bits = _whole_weights(matrix)
    first = index.min(axis=1, keepdims=True)
    taps = first + np.arange(int((index - first).max()) + 1)
    index = np.minimum(taps, size - 1)
    total = _gathered(x, dim, index, np.where(taps < size, whole[rows, index], 0))
    shape = aval_of(total).shape
    half, shift, least, most = (p.full(shape, n, np.dtype(np.int32)) for n in (1 << (bits - 1), bits, 0, 255))
    return p.clamp(least, p.shift_right_arithmetic(p.add(total, half), shift), most)


def _upsample_node(a):
    kind = "".join(part.title() for part in a.mode.split("-"))
    return f"Upsample{kind}{a.input.ndim - 2}DBackward0"


@torch_op(autocast={"cuda": "full"}, layout=image, node=_upsample_node)
def _upsample(input: Tensor, sizes, mode, factors, align_corners, antialias):
    x, nearest, bytes_ = input, mode.startswith("nearest"), aval_of(input).dtype == dt.uint8
    if not bytes_:
        require_floating("upsample_cpu", x)
    picture = bytes_ and mode in ("bilinear", "bicubic")
    y = x if nearest else p.convert(x, dtype=dt.int32 if picture else dt.float32) if bytes_ else wide(x)
    resize = _resized_bytes if picture else resized
    for dim, out, factor in _passes(sizes, factors, last_first=picture or nearest):
        if out != aval_of(y).shape[dim] or factor not in (None, 1) and not picture:
            y = resize(y, dim, out, mode, factor, align_corners, antialias)
    if bytes_ and not nearest and not picture:
        y = p.clamp(p.full(aval_of(y).shape, 0, dt.float32), p.round(y), p.full(aval_of(y).shape, 255, dt.float32))
    return like(y, x)


def _passes(sizes, factors, last_first: bool):
    """(dimension, size, factor) in the order in which they are resized, which matters where each is rounded; where they
    are copied, rows are longer after the last."""
    found = [(2 + i, *each) for i, each in enumerate(zip(sizes, factors))]
    return found[::-1] if last_first else found


MODES = {
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "trilinear": (5,),
}
AREAS = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


@overridable
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """The spatial dimensions of (N, C, ...) resized to `size` or by `scale_factor`.

    mode: nearest, nearest-exact, linear (3-d), bilinear, bicubic (4-d), trilinear (5-d), area.

    >>> nn.functional.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    _check_align(mode, align_corners)
    spatial = tuple(input.shape[2:])
    sizes, factors = _target(spatial, size, scale_factor)
    if sizes is None:
        if recompute_scale_factor is None:
            recompute_scale_factor = False
        sizes = tuple([_whole(float(n) * f) for n, f in zip(spatial, factors)])
        if recompute_scale_factor:
            factors = (None,) * len(spatial)
    elif recompute_scale_factor:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    _check_mode(input, mode, sizes)
    if mode == "area":
        return AREAS[input.ndim](input, sizes)
    return _upsample(input, sizes, mode, tuple(factors), bool(align_corners), antialias)


def _check_align(mode: str, align_corners):
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: "
                "linear "
                "| bilinear | bicubic | trilinear"
            )


def _whole(size: float) -> int:
    """The whole part of a size; RuntimeError where 64 bits do not hold it."""
    if not abs(size) < 2**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return math.floor(size)


def _target(spatial, size, scale_factor):
    """(sizes or None, factor or None for each dimension)."""
    n = len(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given, name = (size, "size") if size is not None else (scale_factor, "scale_factor")
    if isinstance(given, (list, tuple)):
        if len(given) != n:
            raise ValueError(
                f"Input and {name if size is None else 'output'} must have the same "
                "number "
                f"of spatial dimensions, but got input with spatial dimensions of "
                f"{list(spatial)} and {name} of shape {given}. Please provide input "
                "tensor "
                "in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) "
                "format."
            )
        given = tuple(given)
    else:
        given = (given,) * n
    if size is not None:
        if any(isinstance(m, float) or isinstance(m, Tensor) and m.is_floating_point() for m in given):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(m) for m in given]}"
            )
        return tuple(int(m) for m in given), (None,) * n
    return None, tuple(float(f) for f in given)


def _check_mode(input, mode: str, sizes):
    if mode not in MODES:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: nearest | linear | bilinear | "
            "bicubic |"
            f" trilinear | area | nearest-exact (got {mode})"
        )
    if input.ndim not in MODES[mode]:
        if input.ndim in (3, 4, 5) and len(MODES[mode]) == 1:
            raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {MODES[mode][0]}D input")
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: nearest | linear | bilinear | "
            "bicubic |"
            f" trilinear | area | nearest-exact (got {mode})"
        )
    if min(sizes) <= 0 or 0 in input.shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape)} and output {list(sizes)}"
        )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate under its old name.

    >>> F.upsample(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate by the nearest element, under its old name.

    >>> F.upsample_nearest(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate bilinearly with aligned corners, under its old name.

    >>> F.upsample_bilinear(torch.tensor([[[[1., 3.]]]]), scale_factor=(1, 1.5))
    tensor([[[[1., 2., 3.]]]])
    """
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
