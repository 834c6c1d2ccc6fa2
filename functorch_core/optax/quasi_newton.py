"""L-BFGS, and a line search that any direction can be followed by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core as fc

from .base import GradientTransformation, GradientTransformationExtraArgs, no_count, required, safe_increment
from .combining import chain
from .transforms import scale, scale_by_learning_rate

NO_VALUE = """scale_by_backtracking_linesearch: update() needs the value, its gradient and the function:
    optimizer.update(grads, state, params, value=value, grad=grads, value_fn=f)"""


class ScaleByLBFGSState(NamedTuple):
    """The count of steps, parameters and gradients of the last one, and the history, of which a row is a step."""

    count: Any
    params: Any
    updates: Any
    diff_params_memory: Any
    diff_updates_memory: Any
    weights_memory: Any


def _flat(tree):
    return fc.concat([fc.reshape(x, (-1,)) for x in fc.tree.leaves(tree)])


def _shaped(vector, tree):
    """A vector as a tree like another."""
    leaves, structure = fc.tree.flatten(tree)
    parts, start = [], 0
    for x in leaves:
        parts.append(fc.reshape(vector[start : start + x.size], x.shape).astype(x.dtype))
        start += x.size
    return structure.unflatten(parts)


def scale_by_lbfgs(memory_size: int = 10, scale_init_precond: bool = True) -> GradientTransformation:
    """Gradients times the inverse Hessian of L-BFGS (Nocedal 1980), by the last `memory_size` steps."""
    return _scale_by_lbfgs(memory_size, scale_init_precond, False)


def _scale_by_lbfgs(memory_size: int, scale_init_precond: bool, convex: bool) -> GradientTransformation:
    """The same; `convex` leaves out steps along which the gradient fell, which spoil the direction."""

    def init(params):
        flat = _flat(params)
        history = fc.zeros((memory_size, flat.size), dtype=flat.dtype)
        return ScaleByLBFGSState(no_count(), flat, fc.zeros_like(flat), history, history, history[:, 0])

    def update(updates, state, params=None):
        x, g = _flat(required(params, "scale_by_lbfgs")), _flat(updates)
        move, change = x - state.params, g - state.updates
        curvature = fc.vecdot(change, move)
        unused = curvature <= 0 if convex else curvature == 0
        weight = fc.where(unused, 0.0, 1 / fc.where(unused, 1.0, curvature))
        first = state.count == 0
        memory = [
            fc.where(first, old, fc.concat([old[1:], new[None]])) for old, new in zip(state[3:], (move, change, weight))
        ]
        size = fc.vecdot(change, change)
        unscaled = unused if convex else size == 0
        scaled = fc.where(unscaled, 1.0, curvature / fc.where(unscaled, 1.0, size))
        start = fc.minimum(1.0, 1 / fc.sqrt(fc.vecdot(g, g)))
        factor = fc.where(first, start, scaled) if scale_init_precond else 1.0
        found = _times_inverse_hessian(g, *memory, factor)
        return _shaped(found, updates), ScaleByLBFGSState(safe_increment(state.count), x, g, *memory)

    return GradientTransformation(init, update)


def _times_inverse_hessian(g, moves, changes, weights, factor):
    def back(q, row):
        move, change, weight = row
        alpha = weight * fc.vecdot(move, q)
        return q - alpha * change, alpha

    def forth(r, row):
        move, change, weight, alpha = row
        return r + (alpha - weight * fc.vecdot(change, r)) * move, None

    q, alphas = fc.scan(back, g, (moves, changes, weights), reverse=True)
    return fc.scan(forth, factor * q, (moves, changes, weights, alphas))[0]


class ScaleByBacktrackingLinesearchState(NamedTuple):
    """The step size, and the value there."""

    learning_rate: Any
    value: Any


def scale_by_backtracking_linesearch(
    max_backtracking_steps: int,
    slope_rtol: float = 1e-4,
    decrease_factor: float = 0.8,
    increase_factor: float = 1.5,
    max_learning_rate: float | None = 1.0,
) -> GradientTransformationExtraArgs:
    """Updates by a step size at which the value has decreased enough (Armijo).

    update() takes the value, its gradient `grad`, and the function `value_fn` of parameters.
    """

    def init(params):
        return ScaleByBacktrackingLinesearchState(fc.ones(()), fc.asarray(fc.inf))

    def update(updates, state, params=None, *, value=None, grad=None, value_fn=None, **extra):
        if value is None or grad is None or value_fn is None:
            raise TypeError(NO_VALUE)
        slope = sum(fc.sum(u * g) for u, g in zip(fc.tree.leaves(updates), fc.tree.leaves(grad)))

        def value_at(rate):
            return value_fn(fc.tree.map(lambda p, u: p + rate.astype(u.dtype) * u, params, updates), **extra)

        def enough(rate, found):
            return found <= value + slope_rtol * rate * slope

        def shorter(state):
            rate, _, n = state
            rate = rate * decrease_factor
            return rate, fc.asarray(value_at(rate)).astype(fc.float32), n + 1

        guess = state.learning_rate * increase_factor
        guess = guess if max_learning_rate is None else fc.minimum(guess, max_learning_rate)
        start = guess, fc.asarray(value_at(guess)).astype(fc.float32), fc.asarray(0)
        rate, found, _ = fc.while_loop(
            lambda state: ~enough(*state[:2]) & (state[2] < max_backtracking_steps), shorter, start
        )
        updates = fc.tree.map(lambda u: rate.astype(u.dtype) * u, updates)
        return updates, ScaleByBacktrackingLinesearchState(rate, found)

    return GradientTransformationExtraArgs(init, update)


BACKTRACKING = scale_by_backtracking_linesearch(max_backtracking_steps=30)


def lbfgs(
    learning_rate=None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: GradientTransformation | None = BACKTRACKING,
) -> GradientTransformationExtraArgs:
    """L-BFGS with a line search: update(grads, state, params, value=value, grad=grads, value_fn=f).

    The line search halts where the value has decreased enough (optax's default one looks at the slope, too);
    None for steps of the learning rate.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> f = lambda x: fc.sum((x - fc.asarray([1., 2.])) ** 2)
    >>> x, tx = fc.zeros(2), optax.lbfgs()
    >>> state = tx.init(x)
    >>> for _ in range(5):
    ...     value, grad = fc.value_and_grad(f)(x)
    ...     updates, state = tx.update(grad, state, x, value=value, grad=grad, value_fn=f)
    ...     x = optax.apply_updates(x, updates)
    >>> bool(f(x) < 1e-6)
    True
    """
    rate = scale(-1.0) if learning_rate is None else scale_by_learning_rate(learning_rate)
    parts = [_scale_by_lbfgs(memory_size, scale_init_precond, linesearch is not None), rate]
    return chain(*parts) if linesearch is None else chain(*parts, linesearch)


def value_and_grad_from_state(value_fn: Callable) -> Callable:
    """fc.value_and_grad(value_fn), with a parameter `state` that is not needed here."""

    def both(params, *args, state=None, **kwargs):
        return fc.value_and_grad(value_fn)(params, *args, **kwargs)

    return both
