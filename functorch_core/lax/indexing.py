"""jax.lax's gather and scatter, which are XLA's."""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import functorch_core as fc

from .. import primitives as p
from ..array.compose import as_dtype, composed, of_arrays
from ..core.explain import explaining

function = functools.partial(composed, space="fc.lax")


class GatherScatterMode(enum.Enum):
    """What happens to windows out of bounds."""

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"
    ONE_HOT = "one_hot"

    @staticmethod
    def from_any(s):
        """A mode of a mode, its name, or None ('fill')."""
        if isinstance(s, GatherScatterMode):
            return s
        names = {None: "fill", "drop": "fill", "fill": "fill", "clip": "clip", "promise_in_bounds": "promise_in_bounds"}
        if s not in names:
            raise ValueError(f"mode is 'clip', 'fill', 'drop' or 'promise_in_bounds', got {s!r}")
        return GatherScatterMode(names[s])


class GatherDimensionNumbers(NamedTuple):
    """Which dimensions of operand, indices and result belong together; see XLA's gather."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which dimensions of operand, indices and updates belong together; see XLA's scatter."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


@explaining
def gather(
    operand,
    start_indices,
    dimension_numbers,
    slice_sizes,
    *,
    unique_indices=False,
    indices_are_sorted=False,
    mode=None,
    fill_value=None,
):
    """The windows of an array at indices: XLA's gather. Without a mode, indices out of bounds are clipped.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    >>> lax.gather(fc.asarray([1., 2., 3.]), fc.asarray([[2], [0]]), numbers, (1,))
    Array([3., 1.], dtype=float32)
    """
    mode = GatherScatterMode.from_any("clip" if mode is None else mode).value
    return _gather(operand, start_indices, tuple(dimension_numbers), tuple(slice_sizes), mode, fill_value)


@function("operand start_indices")
def _gather(operand, start_indices, numbers, slice_sizes, mode, fill_value):
    numbers = GatherDimensionNumbers(*numbers)._asdict()
    return of_arrays(p.gather)(
        operand, start_indices, **numbers, slice_sizes=slice_sizes, mode=mode, fill_value=fill_value
    )


@function("operand scatter_indices updates")
def _scatter(operand, scatter_indices, updates, numbers, combine, mode, unique):
    numbers = ScatterDimensionNumbers(*numbers)._asdict()
    updates = as_dtype(updates, operand.dtype)
    return of_arrays(p.scatter)(operand, scatter_indices, updates, **numbers, mode=mode, unique=unique, combine=combine)


def _scattering(name: str, combine: str, doc: str):
    def call(
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        *,
        indices_are_sorted=False,
        unique_indices=False,
        mode=None,
    ):
        mode = GatherScatterMode.from_any(mode).value
        mode = "drop" if mode == "fill" else mode
        updates = -updates if name == "scatter_sub" else updates
        return _scatter(
            operand, scatter_indices, updates, tuple(dimension_numbers), combine, mode, bool(unique_indices)
        )

    call.__name__ = name
    call.__doc__ = f"""{doc}: XLA's scatter.

    >>> import functorch_core as fc
    >>> numbers = fc.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> found = fc.lax.{name}(fc.ones(3), fc.asarray([[2], [0]]), fc.asarray([5., 6.]), numbers)
    """
    return explaining(call, space="fc.lax")


scatter = _scattering("scatter", "set", "The array with updates in the windows at indices")
scatter_add = _scattering("scatter_add", "add", "The array with updates added to the windows at indices")
scatter_sub = _scattering("scatter_sub", "add", "The array with updates subtracted from the windows at indices")
scatter_mul = _scattering("scatter_mul", "mul", "The array with the windows at indices multiplied by updates")
scatter_min = _scattering("scatter_min", "min", "The array with the minima of updates and the windows at indices")
scatter_max = _scattering("scatter_max", "max", "The array with the maxima of updates and the windows at indices")


@explaining
def scatter_apply(
    operand,
    scatter_indices,
    func,
    dimension_numbers,
    *,
    update_shape=(),
    indices_are_sorted=False,
    unique_indices=False,
    mode=None,
):
    """The array with func(window) in the windows at indices; each element is replaced once.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(fc.ones(3), fc.asarray([[2]]), fc.negative, numbers, update_shape=(1,))
    Array([ 1.,  1., -1.], dtype=float32)
    """
    marks = fc.zeros(operand.shape, dtype=fc.int32)
    ones = fc.ones(update_shape, dtype=fc.int32)
    named = scatter_add(marks, scatter_indices, ones, dimension_numbers, mode=mode) > 0
    return fc.where(named, func(operand), operand)


__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather", "scatter", "scatter_add",
    "scatter_apply", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub",
]  # fmt: skip
