"""Transformations of single updates: scales, decay, noise, averages, and rules that torch.optim does not have."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import functorch_core as fc

from .base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    evaluated,
    global_norm,
    like,
    no_count,
    required,
    safe_increment,
    squared,
    stateless,
    stateless_with_tree_map,
)
from .combining import masked
from .rules import ScaleByAdamState


class ScaleByScheduleState(NamedTuple):
    """The count of steps."""

    count: Any


def scale(step_size) -> GradientTransformation:
    """step_size * updates."""
    return stateless(lambda updates, params: fc.tree.map(lambda g: like(step_size, g) * g, updates))


def scale_by_schedule(step_size_fn) -> GradientTransformation:
    """step_size_fn(count) * updates."""

    def update(updates, state, params=None):
        size = step_size_fn(state.count)
        updates = fc.tree.map(lambda g: like(size, g) * g, updates)
        return updates, ScaleByScheduleState(safe_increment(state.count))

    return GradientTransformation(lambda params: ScaleByScheduleState(no_count()), update)


def scale_by_learning_rate(learning_rate=None, *, flip_sign: bool = True) -> GradientTransformation:
    """-learning_rate * updates; the rate is a number, an array, or a schedule."""
    if learning_rate is None:
        return scale(-1.0 if flip_sign else 1.0)
    sign = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: sign * learning_rate(count))
    return scale(sign * learning_rate)


def scale_by_sign() -> GradientTransformation:
    """The signs of updates."""
    return stateless_with_tree_map(lambda g, p: fc.sign(g))


class AddDecayedWeightsState(NamedTuple):
    """The count of steps, of a decay by schedule."""

    count: Any


def add_decayed_weights(weight_decay=0.0, mask=None) -> GradientTransformation:
    """updates + weight_decay * params; where the mask is True, if there is one.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.add_decayed_weights(0.1)
    >>> tx.update(fc.asarray([1.]), tx.init(None), fc.asarray([10.]))[0]
    Array([2.], dtype=float32)
    """
    scheduled = callable(weight_decay)

    def update(updates, state, params=None):
        decay = evaluated(weight_decay, state.count if scheduled else None)
        params = required(params, "add_decayed_weights")
        updates = fc.tree.map(lambda g, p: g + like(decay, p) * p, updates, params)
        return updates, AddDecayedWeightsState(safe_increment(state.count)) if scheduled else state

    tx = GradientTransformation(
        lambda params: AddDecayedWeightsState(no_count()) if scheduled else EmptyState(), update
    )
    return tx if mask is None else masked(tx, mask)


class AddNoiseState(NamedTuple):
    """The count of steps, and the key of the next noise."""

    count: Any
    rng_key: Any


def add_noise(eta, gamma, key=None, *, seed=None) -> GradientTransformation:
    """updates + normal noise of variance eta / (1 + count)**gamma; `key` is of fc.random, or an int."""
    key = seed if key is None else key
    key = fc.random.key(key) if isinstance(key, int) else key

    def update(updates, state, params=None):
        count = safe_increment(state.count)
        leaves, structure = fc.tree.flatten(updates)
        following, *keys = fc.random.split(state.rng_key, len(leaves) + 1)
        deviation = fc.sqrt(eta / count.astype(fc.float32) ** gamma)
        noisy = [g + like(deviation, g) * fc.random.normal(k, g.shape, g.dtype) for g, k in zip(leaves, keys)]
        return structure.unflatten(noisy), AddNoiseState(count, following)

    return GradientTransformation(lambda params: AddNoiseState(no_count(), key), update)


class EmaState(NamedTuple):
    """The count of steps, and the average."""

    count: Any
    ema: Any


def ema(decay, debias: bool = True, accumulator_dtype=None) -> GradientTransformation:
    """The running average of updates; with `debias` corrected for its start at zero."""

    def start(g):
        return fc.zeros_like(g, dtype=accumulator_dtype)

    def update(updates, state, params=None):
        average = fc.tree.map(lambda g, m: ((1 - decay) * g + decay * m).astype(m.dtype), updates, state.ema)
        count = safe_increment(state.count)
        shown = bias_correction(average, decay, count) if debias else average
        return shown, EmaState(count, average)

    return GradientTransformation(lambda params: EmaState(no_count(), fc.tree.map(start, params)), update)


def update_moment(updates, moments, decay, order: int = 1):
    """decay * moments + (1 - decay) * updates ** order.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.update_moment(fc.asarray([2.]), fc.asarray([1.]), 0.5, 2)
    Array([2.5], dtype=float32)
    """
    return fc.tree.map(lambda g, m: (1 - decay) * (g if order == 1 else g**order) + decay * m, updates, moments)


def update_moment_per_elem_norm(updates, moments, decay, order: int):
    """update_moment, with the absolute values of complex updates."""

    def power(g):
        return squared(g) if order == 2 else (fc.abs(g) if fc.isdtype(g.dtype, "complex floating") else g) ** order

    return update_moment(fc.tree.map(power, updates), moments, decay)


def update_infinity_moment(updates, moments, decay, eps):
    """The larger of decay * moments and |updates| + eps."""
    return fc.tree.map(lambda g, m: fc.maximum(fc.abs(g) + eps, decay * m), updates, moments)


def bias_correction(moment, decay, count):
    """Averages that started at zero, as if they had not."""
    correction = 1 - fc.asarray(decay, dtype=fc.float32) ** fc.asarray(count).astype(fc.float32)
    return fc.tree.map(lambda m: m / like(correction, m), moment)


def _ratio(mu, nu, eps, eps_root=0.0):
    return fc.tree.map(lambda m, v: m / (fc.sqrt(v + eps_root) + eps), mu, nu)


def _zeros(params):
    return fc.tree.map(fc.zeros_like, params)


class ScaleByAmsgradState(NamedTuple):
    """As Adam's, and the largest average of squares so far."""

    count: Any
    mu: Any
    nu: Any
    nu_max: Any


def scale_by_amsgrad(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None) -> GradientTransformation:
    """Updates by AMSGrad: Adam by the largest corrected average of squares so far."""

    def update(updates, state, params=None):
        mu, nu = update_moment(updates, state.mu, b1), update_moment_per_elem_norm(updates, state.nu, b2, 2)
        count = safe_increment(state.count)
        largest = fc.tree.map(fc.maximum, state.nu_max, bias_correction(nu, b2, count))
        return _ratio(bias_correction(mu, b1, count), largest, eps, eps_root), ScaleByAmsgradState(
            count, mu, nu, largest
        )

    return GradientTransformation(
        lambda params: ScaleByAmsgradState(no_count(), _zeros(params), _zeros(params), _zeros(params)), update
    )


def scale_by_belief(b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov: bool = False) -> GradientTransformation:
    """Updates by AdaBelief: by the deviation of gradients from their average (Zhuang et al. 2020)."""
    if nesterov:
        raise NotImplementedError("scale_by_belief: nesterov=True is not there")

    def update(updates, state, params=None):
        mu = update_moment(updates, state.mu, b1)
        deviation = fc.tree.map(lambda g, m: g - m, updates, mu)
        nu = fc.tree.map(lambda v: v + eps_root, update_moment_per_elem_norm(deviation, state.nu, b2, 2))
        count = safe_increment(state.count)
        found = _ratio(bias_correction(mu, b1, count), bias_correction(nu, b2, count), eps)
        return found, ScaleByAdamState(count, mu, nu)

    return GradientTransformation(lambda params: ScaleByAdamState(no_count(), _zeros(params), _zeros(params)), update)


def scale_by_yogi(b1=0.9, b2=0.999, eps=1e-3, eps_root=0.0, initial_accumulator_value=1e-6) -> GradientTransformation:
    """Updates by Yogi: the average of squares moves by the sign of what it misses (Zaheer et al. 2018)."""

    def start(params):
        return fc.tree.map(lambda p: fc.full_like(p, initial_accumulator_value), params)

    def update(updates, state, params=None):
        mu = update_moment(updates, state.mu, b1)
        nu = fc.tree.map(lambda g, v: v - (1 - b2) * fc.sign(v - squared(g)) * squared(g), updates, state.nu)
        count = safe_increment(state.count)
        found = _ratio(bias_correction(mu, b1, count), bias_correction(nu, b2, count), eps, eps_root)
        return found, ScaleByAdamState(count, mu, nu)

    return GradientTransformation(lambda params: ScaleByAdamState(no_count(), start(params), start(params)), update)


class ScaleByLionState(NamedTuple):
    """The count of steps, and the momentum."""

    count: Any
    mu: Any


def scale_by_lion(b1=0.9, b2=0.99, mu_dtype=None) -> GradientTransformation:
    """Updates by Lion: the sign of an average (Chen et al. 2023)."""

    def update(updates, state, params=None):
        found = fc.tree.map(lambda g, m: fc.sign((1 - b1) * g + b1 * m), updates, state.mu)
        return found, ScaleByLionState(safe_increment(state.count), update_moment(updates, state.mu, b2))

    return GradientTransformation(lambda params: ScaleByLionState(no_count(), _zeros(params)), update)


class ScaleByAdanState(NamedTuple):
    """Averages of gradients, of their differences and of squares; the last gradient, the count of steps."""

    m: Any
    v: Any
    n: Any
    g: Any
    t: Any


def scale_by_adan(b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=0.0) -> GradientTransformation:
    """Updates by Adan: Adam with an average of the differences of gradients (Xie et al. 2022)."""

    def update(updates, state, params=None):
        moved = fc.tree.map(lambda g, old: fc.where(state.t == 0, fc.zeros_like(g), g - old), updates, state.g)
        ahead = fc.tree.map(lambda g, d: g + (1 - b2) * d, updates, moved)
        m, v = update_moment(updates, state.m, b1), update_moment(moved, state.v, b2)
        n = update_moment_per_elem_norm(ahead, state.n, b3, 2)
        t = safe_increment(state.t)
        direction = fc.tree.map(lambda m, v: m + (1 - b2) * v, bias_correction(m, b1, t), bias_correction(v, b2, t))
        return _ratio(direction, bias_correction(n, b3, t), eps, eps_root), ScaleByAdanState(m, v, n, updates, t)

    return GradientTransformation(
        lambda params: ScaleByAdanState(_zeros(params), _zeros(params), _zeros(params), _zeros(params), no_count()),
        update,
    )


class ScaleByNovogradState(NamedTuple):
    """The count of steps, the momentum, and the average of the squared norm of each leaf."""

    count: Any
    mu: Any
    nu: Any


def scale_by_novograd(
    b1=0.9, b2=0.25, eps=1e-8, eps_root=0.0, weight_decay=0.0, mu_dtype=None
) -> GradientTransformation:
    """Updates by NovoGrad: momentum of gradients by the norm of their layer (Ginsburg et al. 2019)."""

    def update(updates, state, params=None):
        first = state.count == 0
        sizes = fc.tree.map(lambda g: fc.sum(squared(g)), updates)
        nu = fc.tree.map(lambda s, v: fc.where(first, s, (1 - b2) * s + b2 * v), sizes, state.nu)
        scaled = fc.tree.map(lambda g, v: g / (fc.sqrt(v + eps_root) + eps), updates, nu)
        if params is not None or not isinstance(weight_decay, (int, float)) or weight_decay:
            params = required(params, "scale_by_novograd")
            scaled = fc.tree.map(lambda g, p: g + weight_decay * p, scaled, params)
        mu = fc.tree.map(lambda g, m: (b1 * m + g).astype(m.dtype), scaled, state.mu)
        return mu, ScaleByNovogradState(safe_increment(state.count), mu, nu)

    def init(params):
        mu = fc.tree.map(lambda p: fc.zeros_like(p, dtype=mu_dtype), params)
        return ScaleByNovogradState(no_count(), mu, fc.tree.map(lambda p: fc.zeros((), dtype=p.dtype), params))

    return GradientTransformation(init, update)


class ScaleByOptimisticGradientState(NamedTuple):
    """Whether no step was made yet, and the last gradient."""

    is_initial_step: Any
    previous_gradient: Any


def scale_by_optimistic_gradient(alpha=1.0, beta=1.0) -> GradientTransformation:
    """(alpha + beta) * updates - beta * those of the step before; alpha * updates at the first."""

    def update(updates, state, params=None):
        def ahead(g, old):
            return (alpha + beta) * g - beta * fc.where(state.is_initial_step, g, old)

        found = fc.tree.map(ahead, updates, state.previous_gradient)
        return found, ScaleByOptimisticGradientState(fc.zeros((), dtype=fc.bool), updates)

    return GradientTransformation(
        lambda params: ScaleByOptimisticGradientState(fc.ones((), dtype=fc.bool), _zeros(params)), update
    )


def scale_by_polyak(f_min=0.0, max_learning_rate=1.0, eps=0.0, variant="sps") -> GradientTransformationExtraArgs:
    """Updates by Polyak's step size, (value - f_min) / |gradient|**2; `update(..., value=)` takes the loss.

    `variant` "sps+" takes no steps where the value is below f_min.
    """
    if variant not in ("sps", "sps+"):
        raise ValueError(f"scale_by_polyak: variant is 'sps' or 'sps+', got {variant!r}")

    def update(updates, state, params=None, *, value, **extra):
        gap = value - f_min if variant == "sps" else fc.maximum(fc.asarray(value - f_min), 0.0)
        size = global_norm(updates) ** 2 + eps
        flat = size == 0
        step = fc.where(flat, 0.0, fc.minimum(gap / fc.where(flat, 1.0, size), max_learning_rate))
        return fc.tree.map(lambda g: g * like(step, g), updates), state

    return GradientTransformationExtraArgs(lambda params: EmptyState(), update)


# ---- by the sizes of parameters and updates ------------------------------------------------------


def _norm(x):
    return fc.sqrt(fc.sum(squared(x)))


def scale_by_trust_ratio(min_norm=0.0, trust_coefficient=1.0, eps=0.0) -> GradientTransformation:
    """Each leaf by the ratio of the norm of its parameter to that of its update (You et al. 2017)."""

    def scaled(g, p):
        size, step = fc.maximum(_norm(p), min_norm), fc.maximum(_norm(g), min_norm)
        none = (size == 0) | (step == 0)
        return g * fc.where(none, fc.ones_like(size), trust_coefficient * size / fc.where(none, 1.0, step + eps))

    return _by_params("scale_by_trust_ratio", scaled)


def _by_params(name: str, function) -> GradientTransformation:
    return stateless(lambda updates, params: fc.tree.map(function, updates, required(params, name)))


def scale_by_param_block_norm(min_scale=1e-3) -> GradientTransformation:
    """Each leaf by the norm of its parameter."""
    return _by_params("scale_by_param_block_norm", lambda g, p: g * fc.maximum(_norm(p), min_scale))


def scale_by_param_block_rms(min_scale=1e-3) -> GradientTransformation:
    """Each leaf by the root of the mean square of its parameter."""
    return _by_params("scale_by_param_block_rms", lambda g, p: g * fc.maximum(fc.sqrt(fc.mean(squared(p))), min_scale))


def normalize_by_update_norm(scale_factor=1.0, eps=1e-6) -> GradientTransformation:
    """scale_factor * updates / (their norm, all together, + eps)."""

    def normalized(updates, params):
        factor = scale_factor / (global_norm(updates) + eps)
        return fc.tree.map(lambda g: g * like(factor, g), updates)

    return stateless(normalized)


def centralize() -> GradientTransformation:
    """Updates minus their mean over all axes but the first, of leaves of two dimensions or more."""

    def centered(g, p):
        return g - fc.mean(g, axis=tuple(range(1, g.ndim)), keepdims=True) if g.ndim > 1 else g

    return stateless_with_tree_map(centered)


# ---- where updates are not to be taken -----------------------------------------------------------


class ZeroNansState(NamedTuple):
    """Which leaves had a NaN in the last step."""

    found_nan: Any


def zero_nans() -> GradientTransformation:
    """Zeros for NaN."""

    def update(updates, state, params=None):
        found = fc.tree.map(lambda g: fc.any(fc.isnan(g)), updates)
        return fc.tree.map(lambda g: fc.where(fc.isnan(g), fc.zeros_like(g), g), updates), ZeroNansState(found)

    none = lambda p: fc.zeros((), dtype=fc.bool)  # noqa: E731 (a leaf of the state)
    return GradientTransformation(lambda params: ZeroNansState(fc.tree.map(none, params)), update)


def keep_params_nonnegative() -> GradientTransformation:
    """Updates that do not take parameters below zero."""
    return _by_params("keep_params_nonnegative", lambda g, p: fc.where(p + g < 0, -p, g))


class ApplyEvery(NamedTuple):
    """The count within the period, and the sum so far."""

    count: Any
    grad_acc: Any


def apply_every(k: int = 1) -> GradientTransformation:
    """The sum of k updates at every k-th step, zeros at the others."""

    def update(updates, state, params=None):
        place = state.count % k
        total = fc.tree.map(lambda g, a: g + fc.where(place != 0, a, fc.zeros_like(a)), updates, state.grad_acc)
        due = place == k - 1
        found = fc.tree.map(lambda a: fc.where(due, a, fc.zeros_like(a)), total)
        return found, ApplyEvery((state.count + 1) % k, total)

    return GradientTransformation(lambda params: ApplyEvery(no_count(), _zeros(params)), update)


class ScaleBySM3State(NamedTuple):
    """The momentum, and for each leaf the largest accumulator of each index of each dimension."""

    mu: Any
    nu: Any


def scale_by_sm3(b1=0.9, b2=1.0, eps=1e-8) -> GradientTransformation:
    """Updates by SM3: Adagrad that keeps numbers for rows and columns, not for elements (Anil et al. 2019)."""

    def kept(d, x):
        """A leaf's dimension d, the others summarized by their largest."""
        return fc.max(x, axis=tuple(k for k in range(x.ndim) if k != d), keepdims=True)

    def accumulated(g, nu):
        least = functools.reduce(fc.minimum, nu, fc.full_like(nu[0], math.inf)) if nu else 0.0
        return b2 * least + (1 if b2 == 1.0 else 1 - b2) * squared(g)

    def update(updates, state, params=None):
        leaves, structure = fc.tree.flatten(updates)
        sums = [accumulated(g, nu) for g, nu in zip(leaves, structure.flatten_up_to(state.nu))]
        scaled = [g * fc.where(s > 0, fc.rsqrt(s + eps), 0.0) for g, s in zip(leaves, sums)]
        mu = update_moment(structure.unflatten(scaled), state.mu, b1)
        nu = structure.unflatten([[kept(d, s) for d in range(s.ndim)] for s in sums])
        return mu, ScaleBySM3State(mu, nu)

    def init(params):
        return ScaleBySM3State(
            _zeros(params), fc.tree.map(lambda p: [kept(d, fc.zeros_like(p)) for d in range(p.ndim)], params)
        )

    return GradientTransformation(init, update)
