"""Transformations around others: accumulation, hyperparameters in the state, steps that are not taken, lookahead."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import functorch_core as fc

from ..annotations import lenient_signature
from .base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    evaluated,
    no_count,
    safe_increment,
    squared,
    with_extra_args_support,
)

NO_HYPERPARAMETER = "inject_hyperparams: {names} are no parameters of {factory}{signature}"

# ---- accumulation --------------------------------------------------------------------------------


class MultiStepsState(NamedTuple):
    """Counts of gradients and of steps, the state, and the gradients so far."""

    mini_step: Any
    gradient_step: Any
    inner_opt_state: Any
    acc_grads: Any
    skip_state: Any = ()


class MultiSteps:
    """An optimizer that steps once for every k gradients, by their mean.

    `every_k_schedule` is k, or a function of the count of steps taken. should_skip_update_fn(updates,
    step, params) -> (bool, state) leaves gradients out.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.MultiSteps(optax.sgd(1.), 2)
    >>> state = tx.init(fc.zeros(1))
    >>> for g in (1., 3.):
    ...     updates, state = tx.update(fc.asarray([g]), state)
    ...     print(updates, bool(tx.has_updated(state)))
    [0.] False
    [-2.] True
    """

    def __init__(
        self,
        opt: GradientTransformation,
        every_k_schedule: int | Callable,
        use_grad_mean: bool = True,
        should_skip_update_fn: Callable | None = None,
        accumulator_dtype=fc.float32,
    ):
        self._opt = with_extra_args_support(opt)
        self._every = every_k_schedule if callable(every_k_schedule) else lambda step: every_k_schedule
        self._mean, self._dtype = use_grad_mean, accumulator_dtype
        self._skip = should_skip_update_fn or (lambda updates, step, params: (False, ()))

    @property
    def inner_opt(self) -> GradientTransformationExtraArgs:
        """The optimizer that takes the steps."""
        return self._opt

    def init(self, params) -> MultiStepsState:
        """The state before the first gradient."""
        gradients = fc.tree.map(lambda p: fc.zeros_like(p, dtype=self._dtype), params)
        _, skip = self._skip(params, no_count(), params)
        return MultiStepsState(no_count(), no_count(), self._opt.init(params), gradients, skip)

    def update(self, updates, state: MultiStepsState, params=None, **extra):
        """The updates of a step, or zeros; and the state."""
        k = self._every(state.gradient_step)
        skipped, skip_state = self._skip(updates, state.gradient_step, params)
        place = (state.mini_step + 1).astype(fc.float32)

        def gathered(g, a):
            new = a + ((g - a) / place if self._mean else g).astype(a.dtype)
            return fc.where(skipped, a, new)

        total = fc.tree.map(gathered, updates, state.acc_grads)
        due = (state.mini_step == k - 1) & ~fc.asarray(skipped)

        def step():
            given = fc.tree.map(lambda a, g: a.astype(g.dtype), total, updates)
            found, inner = self._opt.update(given, state.inner_opt_state, params, **extra)
            return found, inner, fc.tree.map(fc.zeros_like, total)

        def wait():
            return fc.tree.map(fc.zeros_like, updates), state.inner_opt_state, total

        found, inner, kept = fc.cond(due, step, wait)
        mini = fc.where(skipped, state.mini_step, fc.where(due, 0, state.mini_step + 1)).astype(fc.int32)
        count = fc.where(due, safe_increment(state.gradient_step), state.gradient_step)
        return found, MultiStepsState(mini, count, inner, kept, skip_state)

    def has_updated(self, state: MultiStepsState):
        """Whether the last update was a step."""
        return (state.mini_step == 0) & (state.gradient_step > 0)

    def gradient_transformation(self) -> GradientTransformation:
        """The same as a pair of functions."""
        return GradientTransformation(self.init, self.update)


def skip_not_finite(updates, gradient_step, params):
    """For MultiSteps: leave out gradients with an infinity or a NaN."""
    bad = sum(fc.sum(~fc.isfinite(x)) for x in fc.tree.leaves(updates))
    return bad > 0, {"should_skip": bad > 0, "num_not_finite": bad}


def skip_large_updates(updates, gradient_step, params, max_squared_norm):
    """For MultiSteps: leave out gradients whose squared norm is not below a limit."""
    found = sum(fc.sum(squared(x)) for x in fc.tree.leaves(updates))
    large = ~(found < max_squared_norm)
    return large, {"should_skip": large, "norm_squared": found}


# ---- hyperparameters in the state ----------------------------------------------------------------


class InjectHyperparamsState(NamedTuple):
    """The count of steps, the hyperparameters of the last, and the state."""

    count: Any
    hyperparams: dict
    inner_state: Any


def inject_hyperparams(
    inner_factory: Callable, static_args: str | Iterable[str] = (), hyperparam_dtype=None
) -> Callable[..., GradientTransformationExtraArgs]:
    """The maker of an optimizer whose numbers stand in its state, as arrays that may be changed there.

    Schedules among its arguments are evaluated at each step. `static_args` name numbers that stay Python's.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.5)
    >>> state = tx.init(fc.zeros(1))
    >>> state.hyperparams["learning_rate"] = fc.asarray(2.)
    >>> tx.update(fc.ones(1), state)[0]
    Array([-2.], dtype=float32)
    """
    fixed = {static_args} if isinstance(static_args, str) else set(static_args)
    signature = lenient_signature(inner_factory)
    if not fixed <= signature.parameters.keys():
        raise ValueError(
            NO_HYPERPARAMETER.format(
                names=sorted(fixed - signature.parameters.keys()), factory=inner_factory.__name__, signature=signature
            )
        )

    @functools.wraps(inner_factory)
    def make(*args, **kwargs) -> GradientTransformationExtraArgs:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {k: x for k, x in bound.arguments.items() if k not in fixed and _is_hyperparameter(x)}
        others = {k: x for k, x in bound.arguments.items() if k not in given}
        schedules = {k: x for k, x in given.items() if callable(x)}

        def at(count, dtype=None) -> dict:
            values = {k: evaluated(x, count) for k, x in given.items()}
            return {k: _as_array(x, hyperparam_dtype) for k, x in values.items()}

        def inner(hyperparams: dict):
            return with_extra_args_support(inner_factory(**others, **hyperparams))

        def init(params):
            hyperparams = at(no_count())
            return InjectHyperparamsState(no_count(), hyperparams, inner(hyperparams).init(params))

        def update(updates, state, params=None, **extra):
            new = at(state.count)
            hyperparams = {k: new[k] if k in schedules else x for k, x in state.hyperparams.items()}
            updates, own = inner(hyperparams).update(updates, state.inner_state, params, **extra)
            return updates, InjectHyperparamsState(safe_increment(state.count), hyperparams, own)

        return GradientTransformationExtraArgs(init, update)

    return make


def _is_hyperparameter(x) -> bool:
    number = isinstance(x, (int, float)) and not isinstance(x, bool)
    return number or callable(x) or x.__class__ is fc.Array


def _as_array(x, dtype):
    return fc.asarray(x, dtype=dtype) if dtype is not None else fc.asarray(x)


# ---- steps that are not taken --------------------------------------------------------------------


class ApplyIfFiniteState(NamedTuple):
    """How many steps in a row were not finite, whether the last was, how many were not in all; the state."""

    notfinite_count: Any
    last_finite: Any
    total_notfinite: Any
    inner_state: Any


def apply_if_finite(inner: GradientTransformation, max_consecutive_errors: int) -> GradientTransformationExtraArgs:
    """Zeros, and the state as it was, where an update is not finite; more than so many in a row are taken.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.apply_if_finite(optax.sgd(1.), 3)
    >>> tx.update(fc.asarray([fc.nan]), tx.init(fc.zeros(1)))[0]
    Array([0.], dtype=float32)
    """
    inner = with_extra_args_support(inner)

    def update(updates, state, params=None, **extra):
        leaves = fc.tree.leaves(updates)
        finite = functools.reduce(fc.logical_and, [fc.all(fc.isfinite(x)) for x in leaves], fc.asarray(True))
        in_a_row = fc.where(finite, 0, safe_increment(state.notfinite_count)).astype(fc.int32)
        found, own = fc.cond(
            finite | (in_a_row > max_consecutive_errors),
            lambda: inner.update(updates, state.inner_state, params, **extra),
            lambda: (fc.tree.map(fc.zeros_like, updates), state.inner_state),
        )
        total = fc.where(finite, state.total_notfinite, safe_increment(state.total_notfinite))
        return found, ApplyIfFiniteState(in_a_row, finite, total, own)

    return GradientTransformationExtraArgs(
        lambda params: ApplyIfFiniteState(no_count(), fc.asarray(True), no_count(), inner.init(params)), update
    )


# ---- lookahead -----------------------------------------------------------------------------------


class LookaheadParams(NamedTuple):
    """The parameters of lookahead: those that are trained, and those that follow."""

    fast: Any
    slow: Any

    @classmethod
    def init_synced(cls, params) -> LookaheadParams:
        """Both equal."""
        return cls(fast=params, slow=params)


class LookaheadState(NamedTuple):
    """The state of the fast optimizer, and the steps since the slow parameters moved."""

    fast_state: Any
    steps_since_sync: Any


def lookahead(
    fast_optimizer: GradientTransformation, sync_period: int, slow_step_size, reset_state: bool = False
) -> GradientTransformationExtraArgs:
    """Slow parameters that go a part of the way of the fast ones, which restart from there (Zhang et al. 2019).

    Parameters are LookaheadParams, gradients those of the fast ones.
    """
    if sync_period < 1:
        raise ValueError(f"lookahead: sync_period must be at least 1, it is {sync_period}")
    inner = with_extra_args_support(fast_optimizer)

    def init(params):
        return LookaheadState(inner.init(params.fast), no_count())

    def update(updates, state, params=None, **extra):
        if not isinstance(params, LookaheadParams):
            raise TypeError("lookahead: params are LookaheadParams: optax.LookaheadParams.init_synced(params)")
        updates, own = inner.update(updates, state.fast_state, params.fast, **extra)
        due = state.steps_since_sync == sync_period - 1
        ahead = fc.tree.map(lambda f, u, s: f + u - s, params.fast, updates, params.slow)
        slow = fc.tree.map(lambda d: fc.where(due, slow_step_size * d, fc.zeros_like(d)), ahead)
        fast = fc.tree.map(lambda u, d: u - fc.where(due, (1 - slow_step_size) * d, fc.zeros_like(d)), updates, ahead)
        if reset_state:
            start = inner.init(params.fast)
            own = fc.tree.map(lambda a, b: fc.where(due, a, b), start, own)
        return LookaheadParams(fast, slow), LookaheadState(own, (state.steps_since_sync + 1) % sync_period)

    return GradientTransformationExtraArgs(init, update)
