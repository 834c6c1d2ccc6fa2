"""Forms of a convolution that are faster on CPU than XLA's own, and the table that chooses.

Each computes what the plain operation does, written with primitives. Times are CPU milliseconds of
one convolution on two cores with AVX-512, float32 (jaxlib 0.10.2), XLA's own -> the form's. Putting
the channels last around a single convolution changes nothing (31.9 and 32.3), because XLA does that
itself; it pays where neighbours share the layout, see engine/layout.py.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.types import Function, Ints, Value
from .arithmetic import add, mul
from .dot import dot_general
from .reduce_window import interleaved, pad_for, taken
from .reductions import reduce_sum
from .slicing import concatenate, slice, slice_in_dim
from .structure import broadcast_in_dim, reshape, transpose
from .window import Window

if TYPE_CHECKING:
    from .convolution import Conv

UNROLLED = 64  # a form may write out so many slices
FEW_GROUPS = 8  # so many groups become convolutions of their own; compiling takes 20 ms each
MUCH_TO_SUM = 48  # products a dot should sum for each of its results
MANY_FEATURES = 16  # out features from which one convolution for each residue pays

# ---- arrays in the order (batch, feature, *spatial) ----------------------------------------------


def _canonical(x: Value, w: Value, conv: Conv) -> tuple[Value, Value, Conv]:
    """x, w and the convolution with all dimensions in the canonical order."""
    order = tuple(range(len(conv.lhs)))
    return (
        transpose(x, permutation=conv.lhs),
        transpose(w, permutation=conv.rhs),
        conv._replace(lhs=order, rhs=order, out=order),
    )


def _in_order(out: Value, conv: Conv) -> Value:
    """A canonical result with its dimensions where the convolution wants them."""
    return transpose(out, permutation=tuple(int(i) for i in np.argsort(conv.out)))


def _window(conv: Conv, kernel: list[int]) -> Window:
    """The windows that a kernel of these spatial sizes is laid on."""
    none = ((0, 0), (0, 0))
    return Window(
        (1, 1, *kernel),
        (1, 1, *conv.strides),
        (*none, *conv.padding),
        (1, 1, *conv.lhs_dilation),
        (1, 1, *conv.rhs_dilation),
    )


def _sum(terms: Iterable[Value]) -> Value:
    return functools.reduce(add, terms)


# ---- the forms -----------------------------------------------------------------------------------


def depthwise(x: Value, w: Value, *, conv: Conv) -> Value:
    """Each feature by itself: for each element of the kernel, a shifted array times a number."""
    x, w, plain = _canonical(x, w, conv)
    (batch, features), (made, _, *kernel) = aval_of(x).shape[:2], aval_of(w).shape
    window = _window(plain, kernel)
    x, inner = pad_for(x, fill=0, window=window), window.unpadded()
    places = inner.places(aval_of(x).shape)[2:]
    shape = (batch, features, made // features, *places)

    def term(at: Ints, number: Value) -> Value:
        shifted = taken(x, at, inner)
        each = reshape(number, shape=shape[1:3])
        return mul(
            broadcast_in_dim(shifted, shape=shape, dims=(0, 1, *range(3, len(shape)))),
            broadcast_in_dim(each, shape=shape, dims=(1, 2)),
        )

    out = _sum(map(term, inner.offsets(), _kernel_elements(w)))
    return _in_order(reshape(out, shape=(batch, made, *places)), conv)


def _kernel_elements(w: Value) -> Iterator[Value]:
    """For each spatial element of a canonical kernel, row by row: (out features, in features)."""
    made, taken_, *kernel = aval_of(w).shape
    for at in itertools.product(*map(range, kernel)):
        element = slice(w, start=(0, 0, *at), limit=(made, taken_, *(i + 1 for i in at)))
        yield reshape(element, shape=(made, taken_))


def grouped_by_offset(x: Value, w: Value, *, conv: Conv) -> Value:
    """For each element of the kernel, one dot of a shifted array with the groups as its batch; where a
    group has few features, for several elements together."""
    x, w, plain = _canonical(x, w, conv)
    (batch, features), (made, _, *kernel) = aval_of(x).shape[:2], aval_of(w).shape
    groups, window = conv.feature_groups, _window(plain, kernel)
    x, inner = pad_for(x, fill=0, window=window), window.unpadded()
    places = inner.places(aval_of(x).shape)[2:]

    def operands(at: Ints, matrix: Value) -> tuple[Value, Value]:
        shifted = transpose(taken(x, at, inner), permutation=(1, 0, *range(2, 2 + len(kernel))))
        shifted = reshape(shifted, shape=(groups, features // groups, batch * math.prod(places)))
        return reshape(matrix, shape=(groups, made // groups, features // groups)), shifted

    def term(pairs: Sequence[tuple[Value, Value]]) -> Value:
        matrices, arrays = zip(*pairs)
        matrix, shifted = concatenate(*matrices, dimension=2), concatenate(*arrays, dimension=1)
        return dot_general(matrix, shifted, contract=((2,), (1,)), batch=((0,), (0,)))

    pairs = list(map(operands, inner.offsets(), _kernel_elements(w)))
    together = max(1, MUCH_TO_SUM * groups // features)
    out = _sum(term(pairs[i : i + together]) for i in range(0, len(pairs), together))
    out = reshape(out, shape=(made, batch, *places))
    return _in_order(transpose(out, permutation=(1, 0, *range(2, out.ndim))), conv)


def _shifted_to_place(x: Value, conv: Conv, kernel: list[int]) -> Iterator[Value]:
    """For each place of the kernel, row by row: what of a canonical x it lies on."""
    shape, reach = aval_of(x).shape, _window(conv, kernel).reach
    places = _window(conv, kernel).unpadded().places(shape)[2:]
    for at in itertools.product(*map(range, places)):
        start = [i * s for i, s in zip(at, conv.strides)]
        limit = [i + r for i, r in zip(start, reach[2:])]
        yield slice(x, start=(0, 0, *start), limit=(*shape[:2], *limit), strides=(1, 1, *conv.rhs_dilation))


def grouped_by_place(x: Value, w: Value, *, conv: Conv) -> Value:
    """Few places (the gradient of a kernel): for each, a dot of all the kernel covers there."""
    x, w, plain = _canonical(x, w, conv)
    groups, (made, features, *kernel) = conv.batch_groups, aval_of(w).shape
    window = _window(plain, kernel)
    padded, batch = pad_for(x, fill=0, window=window), aval_of(x).shape[0] // groups
    inner = features * math.prod(kernel)
    matrix = reshape(w, shape=(groups, made // groups, inner))
    columns = [
        dot_general(reshape(part, shape=(groups, batch, inner)), matrix, contract=((2,), (2,)), batch=((0,), (0,)))
        for part in _shifted_to_place(padded, plain, kernel)
    ]
    places = window.places(aval_of(x).shape)[2:]
    stacked = concatenate(*[reshape(c, shape=(1, *c.shape)) for c in columns], dimension=0)
    out = transpose(stacked, permutation=(2, 1, 3, 0))  # batch, group, feature, place
    return _in_order(reshape(out, shape=(batch, made, *places)), conv)


def depthwise_by_place(x: Value, w: Value, *, conv: Conv) -> Value:
    """The gradient of a depthwise kernel: a sum of products for each of its elements."""
    x, w, plain = _canonical(x, w, conv)
    groups, (made, _, *kernel) = conv.batch_groups, aval_of(w).shape
    window, times = _window(plain, kernel), made // groups
    shape = (groups, times, *aval_of(w).shape[1:])
    rest = tuple(range(2, len(shape)))
    w, places = reshape(w, shape=shape), window.places(aval_of(x).shape)[2:]

    def total(part: Value) -> Value:
        spread = broadcast_in_dim(part, shape=shape, dims=(0, *rest))
        return reshape(reduce_sum(mul(spread, w), axes=rest), shape=(1, made, 1))

    parts = _shifted_to_place(pad_for(x, fill=0, window=window), plain, kernel)
    out = concatenate(*map(total, parts), dimension=2)
    return _in_order(reshape(out, shape=(1, made, *places)), conv)


def by_group(x: Value, w: Value, *, conv: Conv) -> Value:
    """A convolution for each group."""
    from .convolution import bind_conv

    groups = max(conv.feature_groups, conv.batch_groups)
    at = conv.lhs[1 if conv.feature_groups > 1 else 0]
    part = conv._replace(feature_groups=1, batch_groups=1)

    def block(array: Value, dim: int, g: int) -> Value:
        n = aval_of(array).shape[dim] // groups
        return slice_in_dim(array, start=g * n, limit=(g + 1) * n, dimension=dim)

    return concatenate(
        *[bind_conv(block(x, at, g), block(w, conv.rhs[0], g), part) for g in range(groups)], dimension=conv.out[1]
    )


def pointwise(x: Value, w: Value, *, conv: Conv) -> Value:
    """A kernel of one element: a dot over the features."""
    if conv.lhs[1] == conv.out[1] == len(conv.lhs) - 1:
        return _pointwise_last(x, w, conv)
    x, w, _ = _canonical(x, w, conv)
    x = slice(x, start=(0,) * x.ndim, limit=aval_of(x).shape, strides=(1, 1, *conv.strides))
    (batch, features, *places), made = aval_of(x).shape, aval_of(w).shape[0]
    flat = reshape(x, shape=(batch, features, math.prod(places)))
    out = dot_general(reshape(w, shape=(made, features)), flat, contract=((1,), (1,)))
    out = reshape(transpose(out, permutation=(1, 0, 2)), shape=(batch, made, *places))
    return _in_order(out, conv)


def _pointwise_last(x: Value, w: Value, conv: Conv) -> Value:
    """The same with the features as last dimension: one matrix, and nothing is moved."""
    x = transpose(x, permutation=(conv.lhs[0], *conv.lhs[2:], conv.lhs[1]))
    x = slice(x, start=(0,) * x.ndim, limit=aval_of(x).shape, strides=(1, *conv.strides, 1))
    (*places, features), made = aval_of(x).shape, aval_of(w).shape[conv.rhs[0]]
    matrix = transpose(w, permutation=(*conv.rhs[2:], conv.rhs[1], conv.rhs[0]))
    out = dot_general(
        reshape(x, shape=(math.prod(places), features)), reshape(matrix, shape=(features, made)), contract=((1,), (0,))
    )
    out = reshape(out, shape=(*places, made))
    last = (conv.out[0], *conv.out[2:], conv.out[1])
    return transpose(out, permutation=tuple(int(i) for i in np.argsort(last)))


def by_residue(x: Value, w: Value, *, conv: Conv) -> Value:
    """A dilated array (a transposed convolution): for each residue of the position modulo the
    dilation, the part of the kernel that meets elements, without holes; then interleaved."""
    from .convolution import bind_conv

    x, w, plain = _canonical(x, w, conv)
    (made, features, *kernel), batch = aval_of(w).shape, aval_of(x).shape[0]
    places = _window(plain, kernel).places(aval_of(x).shape)[2:]
    grid = [-(-n // s) for n, s in zip(places, conv.lhs_dilation)]
    parts = {}
    for residue in itertools.product(*map(range, conv.lhs_dilation)):
        taps = [
            _taps(*each)
            for each in zip(
                residue, kernel, conv.lhs_dilation, conv.rhs_dilation, conv.padding, grid, aval_of(x).shape[2:]
            )
        ]
        if all(taps):
            start, limit, step, dilation, padding = zip(*taps)
            part = slice(w, start=(0, 0, *start), limit=(made, features, *limit), strides=(1, 1, *step))
            small = plain._replace(lhs_dilation=(1,) * len(kernel), rhs_dilation=dilation, padding=padding)
            parts[0, 0, *residue] = bind_conv(x, part, small)
    out = interleaved(parts, (batch, made, *places), (batch, made, *grid), (1, 1, *conv.lhs_dilation), aval_of(x).dtype)
    return _in_order(out, conv)


def _taps(
    residue: int, size: int, hole: int, dilation: int, padding: Ints, places: int, n: int
) -> tuple[int | Ints, ...] | None:
    """In one dimension: the slice of the kernel that meets elements, its dilation and padding."""
    met = [i for i in range(size) if (residue + i * dilation - padding[0]) % hole == 0]
    if not met:
        return None
    step = hole // math.gcd(hole, dilation)
    apart = dilation * step // hole
    low = (padding[0] - residue - met[0] * dilation) // hole
    high = places + (len(met) - 1) * apart - n - low
    return met[0], met[-1] + 1, step, apart, (low, high)


# ---- the choice ----------------------------------------------------------------------------------


def _is_depthwise(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    return conv.feature_groups > 1 and w.shape[conv.rhs[1]] == 1 and _taps_of(conv, w) <= UNROLLED


def _is_depthwise_by_place(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    return conv.batch_groups > 1 and x.shape[conv.lhs[0]] == conv.batch_groups and (places <= UNROLLED)


def _is_double_by_place(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    few = places <= UNROLLED and places < _taps_of(conv, w)
    return x.dtype == np.float64 and conv.feature_groups == 1 and few


def _is_double_dilated(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    holes = 1 < math.prod(conv.lhs_dilation) <= UNROLLED
    return x.dtype == np.float64 and conv.batch_groups == 1 and holes and math.prod(conv.strides) == 1


def _is_double(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    taps = _taps_of(conv, w)
    return x.dtype == np.float64 and conv.batch_groups == 1 and 2 - (conv.feature_groups > 1) <= taps <= UNROLLED


def _has_few_groups(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    return 1 < max(conv.feature_groups, conv.batch_groups) <= FEW_GROUPS


def _is_grouped(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    return conv.feature_groups > 1 and _taps_of(conv, w) <= UNROLLED


def _is_grouped_by_place(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    return conv.batch_groups > 1 and places <= UNROLLED


def _has_batch_groups(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    return conv.batch_groups > 1


def _is_pointwise(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    still = not any(low or high for low, high in conv.padding)
    return still and _taps_of(conv, w) == 1 and math.prod(conv.lhs_dilation) == 1


def _has_single_taps(conv: Conv, x: Aval, w: Aval, places: int) -> bool:
    apart = all(r <= s for r, s in zip(conv.reach(w), conv.lhs_dilation))
    return (
        1 < math.prod(conv.lhs_dilation) <= UNROLLED
        and apart
        and math.prod(conv.strides) == 1
        and w.shape[conv.rhs[0]] >= MANY_FEATURES
    )


def _taps_of(conv: Conv, w: Aval) -> int:
    return math.prod(conv.spatial(w, "rhs"))


# The first line that applies.
_CHOICES: tuple[tuple[Function, Function], ...] = (
    # ---- groups
    # 16 x 96 x 28 x 28, 3 x 3: 65.7 -> 1.5; gradient with stride 2: 97 -> 1.3 (PyTorch 1.5, 1.7)
    (_is_depthwise, depthwise),
    # The gradient of that kernel: 25 -> 9 (PyTorch 1.9); of two kernels a feature: 1837 -> 5 (3.8)
    (_is_depthwise_by_place, depthwise_by_place),
    # ---- float64, for which XLA has no fast convolution. CPU ms (PyTorch):
    # 16 x 64 x 32 x 32, 3 x 3: 268 -> 27 (67); 8 x 3 x 64 x 64, 7 x 7: 47 -> 3.7; the first one's gradient
    # by the kernel: 888 -> 28.
    (_is_double_by_place, grouped_by_place),
    (_is_double_dilated, by_residue),
    (_is_double, grouped_by_offset),
    # ---- groups
    # 16 x 64 x 28 x 28, 4 groups: 9.9 -> 6.0, the kernel's gradient 494 -> 7.3 (PyTorch 2.9, 3.3)
    (_has_few_groups, by_group),
    # 16 x 128 x 14 x 14, 32 groups: 15.9 -> 6.8 (PyTorch 1.2)
    (_is_grouped, grouped_by_offset),
    # The gradient of that kernel: 1824 -> 6.5 (PyTorch 3.3)
    (_is_grouped_by_place, grouped_by_place),
    (_has_batch_groups, by_group),
    # ---- one group
    # 32 x 256 x 14 x 14 to 64: 5.4 -> 5.0, and compiled in a third of the time
    (_is_pointwise, pointwise),
    # 1 x 1 with stride 2, its gradient: 5.6 -> 3.7; 2 x 2 with stride 2, transposed: 6.3 -> 4.9.
    # Where taps overlap XLA's own is as good (29.0, 28.0) or, with few out features, better
    # (6.9, 25.8).
    (_has_single_taps, by_residue),
)


def choose_form(conv: Conv, x: Aval, w: Aval, places: int) -> Function | None:
    """The form for a convolution of these operands with so many places; None for XLA's own."""
    return next((form for applies, form in _CHOICES if applies(conv, x, w, places)), None)
