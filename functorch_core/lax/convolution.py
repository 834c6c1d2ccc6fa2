"""jax.lax's convolutions: dimension numbers, paddings and shapes as it has them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

import functorch_core as fc

from .. import primitives as p
from ..array.compose import as_dtype, composed, of_arrays
from ..core.explain import explaining

function = functools.partial(composed, space="fc.lax")

PADDING = "padding is 'VALID', 'SAME', 'SAME_LOWER', or (before, after) for each dimension; got {padding!r}"


class ConvDimensionNumbers(NamedTuple):
    """For each array its dimensions in the order (batch or out feature, feature, *spatial)."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = (tuple | ConvDimensionNumbers | None,)[0]


def pads_of(padding, sizes, reach, strides) -> list[tuple[int, int]]:
    """(before, after) for each dimension, for sizes and windows that reach so far."""
    if not isinstance(padding, str):
        return [(int(low), int(high)) for low, high in padding]
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(sizes)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ValueError(PADDING.format(padding=padding))
    totals = [max((-(-n // s) - 1) * s + r - n, 0) for n, r, s in zip(sizes, reach, strides)]
    return [(t // 2, t - t // 2) if kind == "SAME" else (t - t // 2, t // 2) for t in totals]


def padtype_to_pads(in_shape, window_shape, window_strides, padding):
    """(before, after) for each dimension of a padding by name.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.padtype_to_pads((5,), (3,), (1,), "SAME")
    [(1, 1)]
    """
    return pads_of(padding, in_shape, window_shape, window_strides)


@explaining
def conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers) -> ConvDimensionNumbers:
    """Dimension numbers as tuples, of three strings like ('NHWC', 'HWIO', 'NHWC'), or None.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).lhs_spec
    (0, 3, 1, 2)
    """
    if dimension_numbers is not None and not isinstance(dimension_numbers[0], str):
        return ConvDimensionNumbers(*dimension_numbers)
    ndim = len(lhs_shape)
    if len(rhs_shape) != ndim:
        raise TypeError(f"conv: lhs and rhs have {ndim} and {len(rhs_shape)} dimensions; they must have equally many")
    if dimension_numbers is None:
        return ConvDimensionNumbers(*(tuple(range(ndim)),) * 3)
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers):
    """The dimensions in the order (batch, feature, *spatial) of each of three strings.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    for spec, first in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if len(set(spec)) != len(spec) or not set(first) <= set(spec):
            raise TypeError(f"conv: {spec!r} names each dimension once, {first[0]} and {first[1]} among them")
    return tuple(
        tuple(spec.index(c) for c in (*first, *spatial)) for spec, first in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
    )


def _each(value, n: int) -> tuple[int, ...]:
    return (1,) * n if value is None else tuple(map(int, value))


@function("lhs rhs")
def conv_general_dilated(
    lhs,
    rhs,
    window_strides,
    padding,
    lhs_dilation=None,
    rhs_dilation=None,
    dimension_numbers=None,
    feature_group_count=1,
    batch_group_count=1,
    precision=None,
    preferred_element_type=None,
):
    """The convolution (cross-correlation) of lhs [N, C, *spatial] with rhs [O, I, *spatial].

    Other orders of the dimensions by dimension_numbers. precision is JAX's, and not needed.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_general_dilated(fc.ones((1, 1, 4)), fc.ones((1, 1, 2)), (1,), "VALID")
    Array([[[2., 2., 2.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    n = lhs.ndim - 2
    strides, base, holes = _each(window_strides, n), _each(lhs_dilation, n), _each(rhs_dilation, n)
    sizes = [max(lhs.shape[d] - 1, 0) * b + min(lhs.shape[d], 1) for d, b in zip(numbers.lhs_spec[2:], base)]
    reach = [(rhs.shape[d] - 1) * h + 1 for d, h in zip(numbers.rhs_spec[2:], holes)]
    dtype = fc.result_type(lhs, rhs)
    out = of_arrays(p.conv)(
        as_dtype(lhs, dtype),
        as_dtype(rhs, dtype),
        strides=strides,
        padding=tuple(pads_of(padding, sizes, reach, strides)),
        lhs_dilation=base,
        rhs_dilation=holes,
        dims=tuple(numbers),
        feature_groups=int(feature_group_count),
        batch_groups=int(batch_group_count),
    )
    return out if preferred_element_type is None else out.astype(preferred_element_type)


@explaining
def conv(lhs, rhs, window_strides, padding, precision=None, preferred_element_type=None):
    """The convolution (cross-correlation) of lhs [N, C, *spatial] with rhs [O, I, *spatial].

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv(fc.ones((1, 1, 4)), fc.ones((1, 1, 2)), (1,), "SAME")
    Array([[[2., 2., 2., 1.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


@explaining
def conv_with_general_padding(
    lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=None, preferred_element_type=None
):
    """As conv, with (before, after) as padding, and dilations.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_with_general_padding(fc.ones((1, 1, 4)), fc.ones((1, 1, 2)), (1,), [(1, 0)], None, None)
    Array([[[1., 2., 2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_pads(k: int, s: int, padding: str) -> tuple[int, int]:
    """The padding of the dilated input, for that of the convolution whose transpose it is."""
    if padding == "SAME":
        total = k + s - 2
        before = k - 1 if s > k - 1 else -(-total // 2)
    elif padding == "VALID":
        total = k + s - 2 + max(k - s, 0)
        before = k - 1
    else:
        raise ValueError(PADDING.format(padding=padding))
    return before, total - before


@explaining
def conv_transpose(
    lhs,
    rhs,
    strides,
    padding,
    rhs_dilation=None,
    dimension_numbers=None,
    transpose_kernel=False,
    precision=None,
    preferred_element_type=None,
    use_consistent_padding=False,
):
    """The transposed ("fractionally strided") convolution; channels are last by default ('NHWC', 'HWIO').

    transpose_kernel: the kernel of the convolution it is the transpose of, reversed and with its
    features exchanged.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_transpose(fc.ones((1, 2, 1)), fc.ones((2, 1, 1)), (2,), "VALID")
    Array([[[1.],
            [1.],
            [1.],
            [1.]]], dtype=float32)
    """
    ndim = len(lhs.shape)
    if dimension_numbers is None:
        names = "".join(chr(ord("a") + i) for i in range(ndim - 2))
        dimension_numbers = (f"N{names}C", f"{names}IO", f"N{names}C")
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    n = ndim - 2
    holes = _each(rhs_dilation, n)
    reach = [(rhs.shape[d] - 1) * h + 1 for d, h in zip(numbers.rhs_spec[2:], holes)]
    if isinstance(padding, str):
        pads = [_transposed_pads(k, s, padding) for k, s in zip(reach, strides)]
    elif use_consistent_padding:
        pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding)]
    else:
        pads = padding
    if transpose_kernel:
        rhs = fc.flip(rhs, axis=tuple(numbers.rhs_spec[2:]))
        out, feature, *spatial = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(feature, out, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * n,
        pads,
        tuple(strides),
        holes,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@explaining
def conv_general_dilated_patches(
    lhs,
    filter_shape,
    window_strides,
    padding,
    lhs_dilation=None,
    rhs_dilation=None,
    dimension_numbers=None,
    precision=None,
    preferred_element_type=None,
):
    """The patches that a convolution sees, as features: of each input feature all places of the filter.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_general_dilated_patches(fc.asarray([[[1., 2., 3.]]]), (2,), (1,), "VALID")
    Array([[[1., 2.],
            [2., 3.]]], dtype=float32)
    """
    filter_shape = tuple(filter_shape)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *filter_shape), dimension_numbers)
    size = int(np.prod(filter_shape))
    features = lhs.shape[numbers.lhs_spec[1]]
    kernel = fc.reshape(fc.eye(size, dtype=lhs.dtype), (size, 1, *filter_shape))
    kernel = fc.tile(kernel, (features,) + (1,) * (len(filter_shape) + 1))
    kernel = fc.permute_dims(kernel, tuple(int(i) for i in np.argsort(numbers.rhs_spec)))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@explaining
def conv_general_dilated_local(
    lhs,
    rhs,
    window_strides,
    padding,
    filter_shape,
    lhs_dilation=None,
    rhs_dilation=None,
    dimension_numbers=None,
    precision=None,
):
    """A convolution whose kernel is another one at each place; rhs has the result's spatial sizes.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> x, w = fc.ones((1, 1, 3)), fc.ones((1, 2, 2))
    >>> lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    Array([[[2., 2.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers
    )
    patches = fc.permute_dims(patches, numbers.out_spec)
    kernel = fc.permute_dims(rhs, numbers.rhs_spec)
    out = fc.einsum("nc...,oc...->no...", patches, kernel)
    return fc.permute_dims(out, tuple(int(i) for i in np.argsort(numbers.out_spec)))


# ---- shapes --------------------------------------------------------------------------------------


@explaining
def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1):
    """The shape of a convolution's result, for arrays [N, C, *spatial] and [O, I, *spatial].

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_shape_tuple((1, 3, 8), (4, 3, 3), (1,), "SAME")
    (1, 4, 8)
    """
    pads = pads_of(pads, lhs_shape[2:], rhs_shape[2:], strides)
    sizes = [n + low + high for n, (low, high) in zip(lhs_shape[2:], pads)]
    spatial = [max((n - k) // s + 1, 0) for n, k, s in zip(sizes, rhs_shape[2:], strides)]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def _in_order(shape, spec) -> tuple[int, ...]:
    return tuple(shape[d] for d in spec)


@explaining
def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a convolution's result, for any dimension numbers.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_general_shape_tuple((1, 8, 3), (3, 3, 4), (1,), "SAME", ("NWC", "WIO", "NWC"))
    (1, 8, 4)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    found = conv_shape_tuple(_in_order(lhs_shape, lhs), _in_order(rhs_shape, rhs), window_strides, padding)
    return tuple(int(found[i]) for i in np.argsort(out))


@explaining
def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a transposed convolution's result.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.conv_transpose_shape_tuple((1, 4, 3), (2, 3, 5), (2,), "SAME", ("NWC", "WIO", "NWC"))
    (1, 8, 5)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    lhs_shape, rhs_shape = _in_order(lhs_shape, lhs), _in_order(rhs_shape, rhs)
    pads = padding
    if isinstance(padding, str):
        pads = [_transposed_pads(k, s, padding) for k, s in zip(rhs_shape[2:], window_strides)]
    sizes = [max(n - 1, 0) * s + min(n, 1) + sum(pair) for n, s, pair in zip(lhs_shape[2:], window_strides, pads)]
    found = (lhs_shape[0], rhs_shape[0], *[max(n - k + 1, 0) for n, k in zip(sizes, rhs_shape[2:])])
    return tuple(int(found[i]) for i in np.argsort(out))


__all__ = [
    "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv", "conv_dimension_numbers",
    "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches",
    "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose",
    "conv_transpose_shape_tuple", "conv_with_general_padding", "padtype_to_pads",
]  # fmt: skip
