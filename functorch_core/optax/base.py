"""What a gradient transformation is, and the ones that do least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core as fc

# What annotations name: trees of arrays, and functions of them.
Params = Updates = OptState = Any
Schedule = Callable[[Any], Any]  # of the count of steps
ScalarOrSchedule = float | Schedule
TransformInitFn = TransformUpdateFn = TransformUpdateExtraArgsFn = Callable[..., Any]

NO_PARAMS = "{name}: update() needs the parameters: optimizer.update(grads, state, params); it was called without them."


class GradientTransformation(NamedTuple):
    """A pair of pure functions: init(params) -> state; update(updates, state, params) -> (updates, state)."""

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


class GradientTransformationExtraArgs(GradientTransformation):
    """One whose update takes further arguments by keyword: the value, a function of it."""


class EmptyState(NamedTuple):
    """The state of a transformation that keeps nothing."""


def init_empty_state(params) -> EmptyState:
    """The state of a transformation that keeps nothing."""
    return EmptyState()


def with_extra_args_support(tx: GradientTransformation) -> GradientTransformationExtraArgs:
    """The same transformation, which lets arguments pass that it does not know."""
    if isinstance(tx, GradientTransformationExtraArgs):
        return tx
    return GradientTransformationExtraArgs(
        tx.init, lambda updates, state, params=None, **extra: tx.update(updates, state, params)
    )


def stateless(f: Callable) -> GradientTransformation:
    """A transformation without state: f(updates, params) -> updates."""
    return GradientTransformation(
        init_empty_state, lambda updates, state, params=None: (f(updates, params), EmptyState())
    )


def stateless_with_tree_map(f: Callable) -> GradientTransformation:
    """A transformation without state: f(update, param) -> update, for each leaf; param is None without parameters."""

    def apply(updates, params):
        if params is None:
            return fc.tree.map(lambda g: f(g, None), updates)
        return fc.tree.map(f, updates, params)

    return stateless(apply)


def identity() -> GradientTransformation:
    """The transformation that changes nothing."""
    return stateless(lambda updates, params: updates)


def set_to_zero() -> GradientTransformation:
    """Zeros for all updates: nothing is trained."""
    return stateless(lambda updates, params: fc.tree.map(fc.zeros_like, updates))


def apply_updates(params, updates):
    """params + updates, each in the dtype of its parameter.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.apply_updates({"w": fc.asarray([1., 2.])}, {"w": fc.asarray([0.5, -1.])})
    {'w': Array([1.5, 1. ], dtype=float32)}
    """
    return fc.tree.map(lambda p, u: fc.asarray(p + u).astype(fc.asarray(p).dtype), params, updates)


def incremental_update(new_tensors, old_tensors, step_size):
    """old + step_size * (new - old): a running average of parameters, as target networks are."""
    return fc.tree.map(lambda new, old: step_size * new + (1.0 - step_size) * old, new_tensors, old_tensors)


def periodic_update(new_tensors, old_tensors, steps, update_period: int):
    """The new tensors at every update_period-th step, the old ones at others."""
    due = fc.asarray(steps) % update_period == 0
    return fc.tree.map(lambda new, old: fc.where(due, new, old), new_tensors, old_tensors)


def global_norm(updates):
    """The Euclidean norm of all leaves together.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.global_norm({"w": fc.asarray([3.]), "b": fc.asarray([4.])})
    Array(5., dtype=float32)
    """
    return fc.sqrt(sum((fc.sum(squared(x)) for x in fc.tree.leaves(updates)), start=0.0))


def safe_norm(x, min_norm, ord=None, axis=None, keepdims: bool = False):
    """The norm, or min_norm if it is less: then its gradient is zero, also where x is.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> fc.grad(lambda x: optax.safe_norm(x, 1e-3))(fc.zeros(2))
    Array([0., 0.], dtype=float32)
    """
    x = fc.asarray(x)

    def norm(x, keepdims):
        return fc.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)

    elsewhere = fc.where(norm(x, True) <= min_norm, fc.ones_like(x), x)  # no gradient of a root at 0
    return fc.where(norm(x, keepdims) <= min_norm, min_norm, norm(elsewhere, keepdims))


def safe_root_mean_squares(x, min_rms):
    """The root of the mean of |x|**2, or min_rms if it is less: then its gradient is zero, also where x is."""
    mean = fc.mean(squared(fc.asarray(x)))
    small = fc.sqrt(mean) <= min_rms
    return fc.where(small, min_rms, fc.sqrt(fc.where(small, fc.ones_like(mean), mean)))


def scale_gradient(inputs, scale):
    """The inputs, whose gradients are multiplied by scale.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> fc.grad(lambda x: optax.scale_gradient(x, 0.5) ** 2)(fc.asarray(3.))
    Array(3., dtype=float32)
    """

    @fc.custom_vjp
    def through(x):
        return x

    through.defvjp(lambda x: (x, None), lambda _, ct: (fc.tree.map(lambda g: g * scale, ct),))
    return through(inputs)


def squared(x):
    """|x|**2, real."""
    return fc.real(x * fc.conj(x)) if fc.isdtype(x.dtype, "complex floating") else x * x


def no_count() -> Any:
    """The count before the first step."""
    return fc.zeros((), dtype=fc.int32)


def safe_increment(count):
    """count + 1, unless that is beyond the dtype."""
    count = fc.asarray(count)
    if not fc.isdtype(count.dtype, "integral"):
        return count + 1
    last = fc.iinfo(count.dtype).max
    return fc.where(count < last, count + 1, last).astype(count.dtype)


def required(params, name: str):
    """The parameters; ValueError if they were not given."""
    if params is None:
        raise ValueError(NO_PARAMS.format(name=name))
    return params


def like(x, leaf):
    """A number, or an array of one, in the dtype of a leaf."""
    return x if isinstance(x, (int, float)) else fc.asarray(x).astype(leaf.dtype)


def evaluated(value, count):
    """A hyperparameter: the number, or that of a schedule at a count."""
    return value(count) if callable(value) else value
