"""Scaling by an optimizer's rule. The rules are those of `functorch_core.optim.functional`, of which the classes
of torch.optim are made, too: one update rule, two faces."""

from __future__ import annotations

from typing import Any, NamedTuple

import functorch_core as fc

from ..array.array import as_value, wrap
from ..optim import functional
from .base import GradientTransformation, evaluated, no_count, required, safe_increment


class ScaleByAdamState(NamedTuple):
    """The state of scale_by_adam and its kin: count, averages of gradients and of their squares."""

    count: Any
    mu: Any
    nu: Any


class TraceState(NamedTuple):
    """The momentum."""

    trace: Any


class ScaleByRmsState(NamedTuple):
    """The average of squared gradients."""

    nu: Any


class ScaleByRStdDevState(NamedTuple):
    """The averages of gradients and of their squares."""

    mu: Any
    nu: Any


class ScaleByRssState(NamedTuple):
    """The sum of squared gradients."""

    sum_of_squares: Any


class ScaleByAdaDeltaState(NamedTuple):
    """The averages of squared gradients and of squared updates."""

    e_g: Any
    e_x: Any


class ScaleByRpropState(NamedTuple):
    """The step sizes, and the gradients of the step before."""

    step_sizes: Any
    prev_updates: Any


def by_rule(algorithm, state_class: Any, names: dict[str, str], fill=None, **hyper) -> GradientTransformation:
    """The direction in which a rule moves parameters, for a step size of 1, as a transformation.

    `names` are the fields of the state for what the rule keeps; `fill` what that starts from, if not from
    what the rule says.
    """
    counts = "count" in state_class._fields

    def init(params):
        leaves, structure = fc.tree.flatten(params)
        options = {k: hyper[k] for k in algorithm.init_options if k in hyper}
        slots = [algorithm.state_of(wrap(as_value(x)), options) for x in leaves]
        kept = {
            field: structure.unflatten([slot[k] if fill is None else fc.full_like(slot[k], fill) for slot in slots])
            for k, field in names.items()
        }
        return state_class(**kept, **({"count": no_count()} if counts else {}))

    def update(updates, state, params=None):
        leaves, structure = fc.tree.flatten(updates)
        grads = [as_value(x) for x in leaves]
        columns = [[as_value(x) for x in fc.tree.leaves(getattr(state, field))] for field in names.values()]
        slots = [dict(zip(names, row)) for row in zip(*columns)] or [{}] * len(leaves)
        step = safe_increment(state.count) if counts else fc.ones((), dtype=fc.int32)
        zeros = [as_value(fc.zeros_like(wrap(g))) for g in grads]
        moved, kept = algorithm(zeros, grads, slots, [0] * len(grads), [as_value(step)], {**hyper, "lr": -1.0})
        fields = {
            field: structure.unflatten([wrap(slot[k]) for slot in kept]) if leaves else getattr(state, field)
            for k, field in names.items()
        }
        state = state_class(**fields, **({"count": step} if counts else {}))
        return structure.unflatten([wrap(x) for x in moved]), state

    return GradientTransformation(init, update)


MOMENTS = {"exp_avg": "mu", "exp_avg_sq": "nu"}


def scale_by_adam(
    b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov: bool = False
) -> GradientTransformation:
    """Updates by Adam's rule; `mu_dtype` is what the gradients' dtype is, here.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.scale_by_adam()
    >>> tx.update(fc.asarray([3., -0.1]), tx.init(fc.ones(2)))[0]
    Array([ 1.       , -0.9999999], dtype=float32)
    """
    options = {"betas": (b1, b2), "eps": eps, "eps_root": eps_root, "nesterov": nesterov}
    return by_rule(functional.adam, ScaleByAdamState, MOMENTS, **options)


def scale_by_adamax(b1=0.9, b2=0.999, eps=1e-8) -> GradientTransformation:
    """Updates by Adamax's rule."""
    return by_rule(functional.adamax, ScaleByAdamState, {"exp_avg": "mu", "exp_inf": "nu"}, betas=(b1, b2), eps=eps)


def scale_by_radam(
    b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov: bool = False
) -> GradientTransformation:
    """Updates by RAdam's rule. `eps_root`, another `threshold` and `nesterov` are not there."""
    if eps_root != 0.0 or threshold != 5.0 or nesterov:
        raise NotImplementedError("scale_by_radam: eps_root=0., threshold=5. and nesterov=False alone are there")
    return by_rule(functional.radam, ScaleByAdamState, MOMENTS, betas=(b1, b2), eps=eps, eps_corrected=True)


def scale_by_rms(
    decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt: bool = True, bias_correction: bool = False
) -> GradientTransformation:
    """Updates by RMSprop's rule."""
    _uncorrected("scale_by_rms", bias_correction)
    options = {"alpha": decay, "eps": eps, "eps_in_root": eps_in_sqrt}
    return by_rule(functional.rmsprop, ScaleByRmsState, {"square_avg": "nu"}, fill=initial_scale, **options)


def scale_by_stddev(
    decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt: bool = True, bias_correction: bool = False
) -> GradientTransformation:
    """Updates by the rule of centered RMSprop."""
    _uncorrected("scale_by_stddev", bias_correction)
    options = {"alpha": decay, "eps": eps, "eps_in_root": eps_in_sqrt, "centered": True}
    tx = by_rule(functional.rmsprop, ScaleByRStdDevState, {"grad_avg": "mu", "square_avg": "nu"}, **options)

    def init(params):
        state = tx.init(params)
        return state._replace(nu=fc.tree.map(lambda x: fc.full_like(x, initial_scale), state.nu))

    return GradientTransformation(init, tx.update)


def _uncorrected(name: str, bias_correction: bool):
    if bias_correction:
        raise NotImplementedError(f"{name}: bias_correction=True is not there; scale_by_adam(b1=0.) corrects")


def scale_by_rss(initial_accumulator_value=0.1, eps=1e-7) -> GradientTransformation:
    """Updates by Adagrad's rule."""
    options = {"initial_accumulator_value": initial_accumulator_value, "eps": eps, "eps_in_root": True}
    return by_rule(functional.adagrad, ScaleByRssState, {"sum": "sum_of_squares"}, **options)


def scale_by_adadelta(rho=0.9, eps=1e-6) -> GradientTransformation:
    """Updates by Adadelta's rule."""
    names = {"square_avg": "e_g", "acc_delta": "e_x"}
    return by_rule(functional.adadelta, ScaleByAdaDeltaState, names, rho=rho, eps=eps)


def trace(decay, nesterov: bool = False, accumulator_dtype=None) -> GradientTransformation:
    """Momentum, by the rule of SGD: trace = update + decay * trace."""
    return by_rule(functional.sgd, TraceState, {"momentum_buffer": "trace"}, momentum=decay, nesterov=nesterov)


def scale_by_rprop(
    learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0
) -> GradientTransformation:
    """Updates by Rprop's rule, which has its own step sizes: they start from learning_rate.

    As optax's, it moves by the step sizes before the step, and only what has a gradient of the sign of the
    step before; `optax.pytorch.rprop` moves by the new ones, and at the first step, too.
    """
    names = {"step_size": "step_sizes", "prev": "prev_updates"}
    options = {"etas": (eta_minus, eta_plus), "step_sizes": (min_step_size, max_step_size)}
    tx = by_rule(functional.rprop, ScaleByRpropState, names, lr=learning_rate, **options)

    def moved(g, before, size):
        return fc.where(g * before > 0, fc.sign(g) * size, fc.zeros_like(g))

    def update(updates, state, params=None):
        found = fc.tree.map(moved, updates, state.prev_updates, state.step_sizes)
        return found, tx.update(updates, state)[1]

    return GradientTransformation(tx.init, update)


# ---- rules as they are in PyTorch ----------------------------------------------------------------


class RuleState(NamedTuple):
    """The count of steps, and what the rule keeps of each parameter."""

    count: Any
    slots: Any


def of_pytorch(algorithm, lr, hyper: dict) -> GradientTransformation:
    """A rule with PyTorch's parameters as a transformation; `lr` may be a schedule."""

    def init(params):
        options = {k: hyper[k] for k in algorithm.init_options if k in hyper}
        if "lr" in algorithm.init_options and not callable(lr):
            options["lr"] = lr
        return RuleState(no_count(), algorithm.init(params, **options)["slots"])

    def update(updates, state, params=None):
        given = required(params, algorithm.name)
        old = {"step": state.count.astype(fc.float32), "slots": state.slots}
        new, kept = algorithm.update(updates, old, given, lr=evaluated(lr, state.count), **hyper)
        moved = fc.tree.map(lambda a, b: fc.asarray(a) - b, new, given)
        return moved, RuleState(safe_increment(state.count), kept["slots"])

    return GradientTransformation(init, update)
