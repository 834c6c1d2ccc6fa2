"""jax.lax's products of ragged groups and of scaled blocks, and the classes that name precisions."""

from __future__ import annotations

import enum
import functools
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import functorch_core as fc

from ..array.compose import composed
from .control import Precision
from .reductions import dot_general

function = functools.partial(composed, space="fc.lax")

GROUPS = """ragged_dot_general: group_sizes are one dimension, [g], for all batches, got {found}
    Map over the batches with fc.vmap."""


class AccuracyMode(enum.Enum):
    """How exact functions are: here always as exact as XLA makes them, which HIGHEST and DEFAULT say."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """How far functions may be off: they are no further off than XLA's most exact ones."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class DotAlgorithm(NamedTuple):
    """How products are computed: in the dtype of their operands, whatever is asked for."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


DotAlgorithmPreset = enum.Enum(
    "DotAlgorithmPreset",
    """DEFAULT ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM ANY_F8_ANY_F8_ANY ANY_F8_ANY_F8_ANY_FAST_ACCUM F16_F16_F16
    F16_F16_F32 BF16_BF16_BF16 BF16_BF16_F32 BF16_BF16_F32_X3 BF16_BF16_F32_X6 BF16_BF16_F32_X9 TF32_TF32_F32
    TF32_TF32_F32_X3 F32_F32_F32 F64_F64_F64""",
)
DotAlgorithmPreset.__doc__ = "Names of algorithms of products, which are computed in the dtype of their operands."

PrecisionLike: TypeAlias = str | Precision | DotAlgorithm | DotAlgorithmPreset | tuple | None


class RaggedDotDimensionNumbers(NamedTuple):
    """What ragged_dot_general contracts, which dimension of lhs is in groups, and which of rhs counts them."""

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Any
    rhs_group_dimensions: Any


def ragged_dot_general(
    lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision=None, preferred_element_type=None, group_offset=None
):
    """dot_general in which one dimension of lhs is in groups of group_sizes [g].

    If it is a free one, each group has its slice of rhs; if it is contracted, each group has its own product, along
    a new first dimension; if it is a batch dimension, batches behind the last group are 0.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    >>> lax.ragged_dot_general(fc.ones((2, 3)), fc.ones((3, 1)), fc.asarray([1, 2]), numbers)[:, 0, 0]
    Array([1., 2.], dtype=float32)
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot_general: group_offset is for several devices\n    Leave it out.")
    numbers = tuple(map(_frozen, ragged_dot_dimension_numbers))
    return _ragged_dot_general(lhs, rhs, group_sizes, numbers, preferred_element_type)


def _frozen(x):
    return tuple(map(_frozen, x)) if isinstance(x, (list, tuple)) else x


@function("lhs rhs group_sizes")
def _ragged_dot_general(lhs, rhs, group_sizes, numbers, preferred_element_type):
    ((left, right), (left_batch, right_batch)), (ragged,), groups = numbers
    if group_sizes.ndim != 1:
        raise NotImplementedError(GROUPS.format(found=group_sizes.aval))
    ends = fc.cumulative_sum(group_sizes)
    places = fc.arange(lhs.shape[ragged])
    along = [1] * lhs.ndim
    along[ragged] = lhs.shape[ragged]
    if ragged in left_batch:
        inside = fc.reshape(places < ends[-1], along)
        return dot_general(fc.where(inside, lhs, 0), rhs, numbers[0], preferred_element_type=preferred_element_type)
    inside = (places[None, :] >= (ends - group_sizes)[:, None]) & (places[None, :] < ends[:, None])
    parts = fc.where(fc.reshape(inside, (inside.shape[0], *along)), lhs[None], 0)
    left, left_batch = tuple(d + 1 for d in left), tuple(d + 1 for d in left_batch)
    if ragged + 1 in left:  # each group for itself
        out = dot_general(
            parts, rhs, ((left, right), (left_batch, right_batch)), preferred_element_type=preferred_element_type
        )
        return fc.moveaxis(out, len(left_batch), 0)
    contracted = ((0, *left), (*groups, *right))
    return dot_general(
        parts, rhs, (contracted, (left_batch, right_batch)), preferred_element_type=preferred_element_type
    )


def _spread(scale, shape):
    """Scales of blocks, repeated so that each element has its own."""
    for d, (n, m) in enumerate(zip(scale.shape, shape)):
        if n != m:
            if m % n:
                raise ValueError(f"scaled_dot: {n} scales along dimension {d} do not divide its size {m}")
            scale = fc.repeat(scale, m // n, axis=d)
    return scale


@function("lhs rhs lhs_scale rhs_scale")
def scaled_dot(lhs, rhs, *, lhs_scale=None, rhs_scale=None, dimension_numbers=None, preferred_element_type=None):
    """(lhs * lhs_scale) @ (rhs * rhs_scale), whose scales are of blocks: fewer along what is contracted.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.scaled_dot(fc.ones((1, 4)), fc.ones((4, 1)), lhs_scale=fc.asarray([[1., 3.]]))
    Array([[8]], dtype=bfloat16)
    """
    dtype = np.dtype(preferred_element_type or fc.bfloat16)
    lhs, rhs = (
        x.astype(dtype) if s is None else x.astype(dtype) * _spread(s.astype(dtype), x.shape)
        for x, s in ((lhs, lhs_scale), (rhs, rhs_scale))
    )
    if dimension_numbers is None:
        batch = tuple(range(lhs.ndim - 2))
        dimension_numbers = (((lhs.ndim - 1,), (rhs.ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, dimension_numbers)


def stage(x, /):
    """x, a number or an array, as an Array.

    >>> import functorch_core as fc
    >>> fc.lax.stage(1.)
    Array(1., dtype=float32)
    """
    return fc.asarray(x)


def rng_uniform(a, b, shape):
    """Numbers from [a, b) of another key at each call: use fc.random.uniform, whose numbers can be had again.

    >>> import functorch_core as fc
    >>> bool((fc.lax.rng_uniform(2., 3., (4,)) >= 2).all())
    True
    """
    key = fc.random.key(int(np.random.default_rng().integers(2**63)))
    return fc.random.uniform(key, shape, dtype=fc.result_type(a, b), minval=a, maxval=b)


__all__ = [
    "AccuracyMode", "DotAlgorithm", "DotAlgorithmPreset", "PrecisionLike", "RaggedDotDimensionNumbers", "Tolerance",
    "ragged_dot_general", "rng_uniform", "scaled_dot", "stage",
]  # fmt: skip
