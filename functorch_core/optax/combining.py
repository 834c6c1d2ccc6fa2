"""Transformations of transformations: one after the other, of parts of a tree, by label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core as fc

from .base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    identity,
    set_to_zero,
    with_extra_args_support,
)

STATES = "chain: the state has {found} parts, the chain {wanted}; it belongs to another chain (init gives a new one)."
LABELS = "partition: the labels {unknown} have no transformation; there are transformations for {known}."


def chain(*args: GradientTransformation) -> GradientTransformationExtraArgs:
    """One transformation after the other; the state is a tuple of theirs.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.chain(optax.clip(1.), optax.scale(-0.1))
    >>> params = fc.asarray([1., 2.])
    >>> tx.update(fc.asarray([5., 0.5]), tx.init(params), params)[0]
    Array([-0.1 , -0.05], dtype=float32)
    """
    parts = [with_extra_args_support(tx) for tx in args]

    def update(updates, state, params=None, **extra):
        if len(state) != len(parts):
            raise ValueError(STATES.format(found=len(state), wanted=len(parts)))
        states = []
        for tx, own in zip(parts, state):
            updates, own = tx.update(updates, own, params, **extra)
            states.append(own)
        return updates, tuple(states)

    return GradientTransformationExtraArgs(lambda params: tuple([tx.init(params) for tx in parts]), update)


def named_chain(*args: tuple[str, GradientTransformation]) -> GradientTransformationExtraArgs:
    """A chain of pairs of name and transformation; the state is a dict by name."""
    names, whole = [name for name, _ in args], chain(*[tx for _, tx in args])

    def update(updates, state, params=None, **extra):
        updates, states = whole.update(updates, tuple([state[name] for name in names]), params, **extra)
        return updates, dict(zip(names, states))

    return GradientTransformationExtraArgs(lambda params: dict(zip(names, whole.init(params))), update)


# ---- parts of a tree -----------------------------------------------------------------------------


class MaskedNode(NamedTuple):
    """In the place of what a mask leaves out: a tree without leaves."""


class MaskedState(NamedTuple):
    """The state of the transformation that is masked."""

    inner_state: Any


def _made_for(tree, params):
    """A tree that was given, or made by a function that was given; a module is a tree that can be called."""
    return tree(params) if callable(tree) and not fc.tree.is_tree_node(type(tree)) else tree


def _left(mask, tree):
    """The tree with what the mask leaves out replaced; a mask may end above the tree's leaves."""
    return fc.tree.map(lambda m, part: part if m else MaskedNode(), mask, tree)


def masked(inner: GradientTransformation, mask, *, mask_compatible_extra_args: bool = False):
    """A transformation of the leaves (or subtrees) where the mask is True; updates of others pass as they are.

    `mask` is a tree of bools, or a function from parameters to one.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.masked(optax.scale(10.), {"w": True, "b": False})
    >>> params = {"w": fc.ones(1), "b": fc.ones(1)}
    >>> tx.update(params, tx.init(params))[0]
    {'b': Array([1.], dtype=float32), 'w': Array([10.], dtype=float32)}
    """
    inner = with_extra_args_support(inner)

    def update(updates, state, params=None, **extra):
        wanted = _made_for(mask, updates)
        own = None if params is None else _left(wanted, params)
        if mask_compatible_extra_args:
            extra = {name: _left(wanted, x) for name, x in extra.items()}
        found, inner_state = inner.update(_left(wanted, updates), state.inner_state, own, **extra)
        merged = fc.tree.map(lambda m, new, old: new if m else old, wanted, found, updates)
        return merged, MaskedState(inner_state)

    return GradientTransformationExtraArgs(
        lambda params: MaskedState(inner.init(_left(_made_for(mask, params), params))), update
    )


class PartitionState(NamedTuple):
    """The states by label."""

    inner_states: dict


def partition(transforms: dict, param_labels, *, mask_compatible_extra_args: bool = False):
    """A transformation for each label; `param_labels` is a tree of labels, or a function from parameters to one.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.partition({"train": optax.sgd(0.1), "freeze": optax.set_to_zero()}, {"w": "train", "b": "freeze"})
    >>> params = {"w": fc.ones(1), "b": fc.ones(1)}
    >>> tx.update(params, tx.init(params))[0]
    {'b': Array([0.], dtype=float32), 'w': Array([-0.1], dtype=float32)}
    """

    def parts(params) -> dict:
        labels = _made_for(param_labels, params)
        unknown = set(fc.tree.leaves(labels)) - set(transforms)
        if unknown:
            raise ValueError(LABELS.format(unknown=sorted(map(str, unknown)), known=sorted(map(str, transforms))))
        masks = {name: fc.tree.map(lambda label, name=name: label == name, labels) for name in transforms}
        extra = {"mask_compatible_extra_args": mask_compatible_extra_args}
        return {name: masked(tx, masks[name], **extra) for name, tx in transforms.items()}

    def update(updates, state, params=None, **extra):
        states = {}
        for name, tx in parts(updates).items():
            updates, states[name] = tx.update(updates, state.inner_states[name], params, **extra)
        return updates, PartitionState(states)

    return GradientTransformationExtraArgs(
        lambda params: PartitionState({name: tx.init(params) for name, tx in parts(params).items()}), update
    )


multi_transform, MultiTransformState = partition, PartitionState


def freeze(mask) -> GradientTransformationExtraArgs:
    """Zeros for the updates where the mask is True."""

    def labels(params):
        return fc.tree.map(lambda m: "freeze" if m else "train", _made_for(mask, params))

    return partition({"freeze": set_to_zero(), "train": identity()}, labels)


def flatten(inner: GradientTransformation) -> GradientTransformationExtraArgs:
    """A transformation of all leaves as one vector: fewer and larger operations."""
    inner = with_extra_args_support(inner)

    def flat(tree):
        return fc.concat([fc.reshape(x, (-1,)) for x in fc.tree.leaves(tree)])

    def update(updates, state, params=None, **extra):
        own = None if params is None else flat(params)
        found, state = inner.update(flat(updates), state, own, **extra)
        leaves, structure = fc.tree.flatten(updates)
        parts, start = [], 0
        for x in leaves:
            parts.append(fc.reshape(found[start : start + x.size], x.shape))
            start += x.size
        return structure.unflatten(parts), state

    return GradientTransformationExtraArgs(lambda params: inner.init(flat(params)), update)


class ConditionallyTransformState(NamedTuple):
    """The state of the inner transformation, and the count of steps."""

    inner_state: Any
    step: Any


def conditionally_transform(
    inner: GradientTransformation, should_transform_fn: Callable, forward_extra_args: bool = False
):
    """A transformation at the steps where should_transform_fn(step) is true; at others updates pass."""
    return _conditional(inner, should_transform_fn, lambda updates: updates)


class ConditionallyMaskState(NamedTuple):
    """The number of steps, and the state of what is masked."""

    step: Any
    inner_state: Any


def conditionally_mask(inner: GradientTransformation, should_transform_fn: Callable, forward_extra_args: bool = False):
    """A transformation at the steps where should_transform_fn(step) is true; zeros at others."""
    inner = _conditional(inner, should_transform_fn, lambda updates: fc.tree.map(fc.zeros_like, updates))

    def update(updates, state, params=None, **extra):
        own = ConditionallyTransformState(state.inner_state, state.step)
        updates, own = inner.update(updates, own, params, **extra)
        return updates, ConditionallyMaskState(own.step, own.inner_state)

    return GradientTransformationExtraArgs(lambda params: ConditionallyMaskState(*inner.init(params)[::-1]), update)


def _conditional(inner, condition: Callable, otherwise: Callable) -> GradientTransformationExtraArgs:
    inner = with_extra_args_support(inner)

    def update(updates, state, params=None, **extra):
        found, own = fc.cond(
            condition(state.step),
            lambda: inner.update(updates, state.inner_state, params, **extra),
            lambda: (otherwise(updates), state.inner_state),
        )
        return found, ConditionallyTransformState(own, state.step + 1)

    return GradientTransformationExtraArgs(
        lambda params: ConditionallyTransformState(inner.init(params), fc.zeros((), dtype=fc.int32)), update
    )


__all__ = [
    "ConditionallyMaskState",
    "ConditionallyTransformState",
    "EmptyState",
    "MaskedNode",
    "MaskedState",
    "MultiTransformState",
    "PartitionState",
    "chain",
    "conditionally_mask",
    "conditionally_transform",
    "flatten",
    "freeze",
    "masked",
    "multi_transform",
    "named_chain",
    "partition",
]
