"""Measurements of updates on their way through a chain, kept in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core as fc

from .base import GradientTransformation, set_to_zero
from .combining import partition


class SnapshotState(NamedTuple):
    """The measurement, by its name."""

    measurement: dict[str, Any]


def snapshot(measure_name: str, measure: Callable) -> GradientTransformation:
    """Keep measure(updates) in the state; optax.tree.get(state, measure_name) reads it. Updates stay as they are.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.chain(optax.snapshot("norm", optax.global_norm), optax.sgd(0.1))
    >>> _, state = tx.update(fc.asarray([3., 4.]), tx.init(fc.zeros(2)))
    >>> optax.tree.get(state, "norm")
    Array(5., dtype=float32)
    """

    def init(params):
        return SnapshotState({measure_name: measure(fc.tree.map(fc.zeros_like, params))})

    def update(updates, state, params=None):
        return updates, SnapshotState({measure_name: measure(updates)})

    return GradientTransformation(init, update)


def selective_transform(optimizer: GradientTransformation, *, freeze_mask) -> GradientTransformation:
    """The optimizer for what freeze_mask, a tree of bools or a function of parameters, leaves; zeros for the rest."""

    def labels(tree):
        mask = freeze_mask(tree) if callable(freeze_mask) else freeze_mask
        return fc.tree.map(lambda frozen: "freeze" if frozen else "train", mask)

    return partition({"train": optimizer, "freeze": set_to_zero()}, labels)


__all__ = ["SnapshotState", "selective_transform", "snapshot"]
