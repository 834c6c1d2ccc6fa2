"""torch.nn._reduction: the reductions of losses as PyTorch's C++ numbers them."""

from __future__ import annotations

from ..core.warn import warn
from .modules._reduction import legacy_reduction

ENUM = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """0 of 'none', 1 of 'mean', 2 of 'sum'."""
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        reduction = "mean"
    if reduction not in ENUM:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ENUM[reduction]


def legacy_get_string(size_average, reduce, emit_warning: bool = True) -> str:
    """The reduction that size_average and reduce stand for; they are deprecated."""
    return legacy_reduction(size_average, reduce, emit_warning)


def legacy_get_enum(size_average, reduce, emit_warning: bool = True) -> int:
    """The number of legacy_get_string."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
