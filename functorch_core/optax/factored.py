"""Adafactor as optax has it: second moments of matrices as products of a row and a column (Shazeer and Stern 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core as fc

from .base import GradientTransformation, no_count, safe_increment, squared
from .clipping import clip_by_block_rms
from .combining import chain
from .transforms import add_decayed_weights, ema, scale, scale_by_learning_rate, scale_by_param_block_rms


class FactoredState(NamedTuple):
    """The count of steps, averages of rows and columns of matrices, and of the squares of other leaves."""

    count: Any
    v_row: Any
    v_col: Any
    v: Any


def _power(step, rate: float):
    """The decay at a step: 1 - step ** -rate."""
    return 1.0 - step.astype(fc.float32) ** (-rate)


def _factored_axes(shape, factored: bool, smallest: int) -> tuple[int, int] | None:
    """(largest axis, second largest) of a leaf that is kept as a row and a column; None for others."""
    if not factored or len(shape) < 2:
        return None
    order = sorted(range(len(shape)), key=lambda axis: shape[axis])
    return None if shape[order[-2]] < smallest else (order[-1], order[-2])


def scale_by_factored_rms(
    factored: bool = True,
    decay_rate: float = 0.8,
    step_offset: int = 0,
    min_dim_size_to_factor: int = 128,
    epsilon: float = 1e-30,
    decay_rate_fn: Callable = _power,
) -> GradientTransformation:
    """Updates by the root of averages of squares, which of matrices are products of a row and a column."""

    def axes_of(x):
        return _factored_axes(x.shape, factored, min_dim_size_to_factor)

    def start(x):
        axes, none = axes_of(x), fc.zeros(1, dtype=x.dtype)
        if axes is None:
            return none, none, fc.zeros_like(x)
        row, col = ([n for axis, n in enumerate(x.shape) if axis != out] for out in axes)
        return fc.zeros(tuple(row), dtype=x.dtype), fc.zeros(tuple(col), dtype=x.dtype), none

    def scaled(g, row, col, v, decay):
        axes, square = axes_of(g), squared(g) + epsilon
        decay = decay.astype(g.dtype)
        if axes is None:
            v = decay * v + (1 - decay) * square
            return g / fc.sqrt(v), row, col, v
        first, second = axes
        row = decay * row + (1 - decay) * fc.mean(square, axis=first)
        col = decay * col + (1 - decay) * fc.mean(square, axis=second)
        inner = second - (second > first)  # the second axis, in the row
        rows = fc.sqrt(fc.mean(row, axis=inner, keepdims=True) / row)
        return g * fc.expand_dims(rows, axis=first) / fc.sqrt(fc.expand_dims(col, axis=second)), row, col, v

    def init(params):
        leaves, structure = fc.tree.flatten(params)
        columns = zip(*map(start, leaves)) if leaves else [()] * 3
        return FactoredState(no_count(), *[structure.unflatten(list(column)) for column in columns])

    def update(updates, state, params=None):
        leaves, structure = fc.tree.flatten(updates)
        kept = [fc.tree.leaves(x) for x in (state.v_row, state.v_col, state.v)]
        decay = decay_rate_fn(state.count - step_offset + 1, decay_rate)
        columns = zip(*[scaled(*row, decay) for row in zip(leaves, *kept)]) if leaves else [()] * 4
        found, *kept = [structure.unflatten(list(column)) for column in columns]
        return found, FactoredState(safe_increment(state.count), *kept)

    return GradientTransformation(init, update)


def adafactor(
    learning_rate=None,
    min_dim_size_to_factor: int = 128,
    decay_rate: float = 0.8,
    decay_offset: int = 0,
    multiply_by_parameter_scale: bool = True,
    clipping_threshold: float | None = 1.0,
    momentum: float | None = None,
    dtype_momentum=fc.float32,
    weight_decay_rate=None,
    eps: float = 1e-30,
    factored: bool = True,
    weight_decay_mask=None,
) -> GradientTransformation:
    """Adafactor as optax has it; `optax.pytorch.adafactor` is PyTorch's."""
    parts = [scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)]
    if clipping_threshold is not None:
        parts.append(clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        parts.append(scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        parts.append(scale_by_param_block_rms())
    if momentum is not None:
        parts.append(ema(momentum, debias=False, accumulator_dtype=dtype_momentum))
    if weight_decay_rate is not None:
        parts.append(add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*parts, scale(-1.0))
