"""The former names of reductions."""

from __future__ import annotations

from ...core.warn import warn


def legacy_reduction(size_average, reduce, emit_warning: bool = True) -> str:
    """The reduction that size_average and reduce stand for; they are deprecated."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    return reduction
