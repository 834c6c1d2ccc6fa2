"""Measurements of updates on their way through a chain, kept in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core as fc

from .base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    set_to_zero,
    stateless,
    with_extra_args_support,
)
from .combining import chain, partition
from .transforms import ema


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


class MonitorState(NamedTuple):
    """The measurements, by their names, and the states of those that have one."""

    measurements: dict[str, Any]
    measure_states: tuple


def monitor(measures: dict[str, Any]) -> GradientTransformationExtraArgs:
    """Keep measurements of updates in the state, which optax.tree.get reads; updates stay as they are.

    Each is a function of the updates, or a transformation whose result is the measurement: measure_with_ema.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.chain(optax.monitor({"norm": optax.global_norm}), optax.sgd(0.1))
    >>> _, state = tx.update(fc.asarray([3., 4.]), tx.init(fc.zeros(2)))
    >>> optax.tree.get(state, "norm")
    Array(5., dtype=float32)
    """

    def as_transformation(measure):
        if callable(measure):
            return with_extra_args_support(stateless(lambda updates, params: measure(updates)))
        return with_extra_args_support(measure)

    whole = {name: as_transformation(measure) for name, measure in measures.items()}

    def init(params):
        states, zeros = [t.init(params) for t in whole.values()], fc.tree.map(fc.zeros_like, params)
        first = [t.update(zeros, own, params)[0] for t, own in zip(whole.values(), states)]
        return MonitorState(dict(zip(whole, first)), tuple(states))

    def update(updates, state, params=None, **extra):
        found = [t.update(updates, own, params, **extra) for t, own in zip(whole.values(), state.measure_states)]
        return updates, MonitorState({n: m for n, (m, _) in zip(whole, found)}, tuple(own for _, own in found))

    return GradientTransformationExtraArgs(init, update)


def measure_with_ema(
    measure: Callable, decay, debias: bool = True, accumulator_dtype=None
) -> GradientTransformationExtraArgs:
    """A measurement's running average, for monitor."""
    average = ema(decay, debias, accumulator_dtype)
    begin = average.init
    average = average._replace(init=lambda params: begin(measure(params)))
    return chain(stateless(lambda updates, params: measure(updates)), average)


def selective_transform(optimizer: GradientTransformation, *, freeze_mask) -> GradientTransformation:
    """The optimizer for what freeze_mask, a tree of bools or a function of parameters, leaves; zeros for the rest."""

    def labels(tree):
        mask = freeze_mask(tree) if callable(freeze_mask) else freeze_mask
        return fc.tree.map(lambda frozen: "freeze" if frozen else "train", mask)

    return partition({"train": optimizer, "freeze": set_to_zero()}, labels)


__all__ = ["SnapshotState", "selective_transform", "snapshot"]
