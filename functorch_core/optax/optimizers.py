"""Optimizers: chains of the transformations of the other files, with optax's names, parameters and defaults."""

from __future__ import annotations

from .base import GradientTransformation
from .combining import chain, masked
from .rules import (
    scale_by_adadelta,
    scale_by_adam,
    scale_by_adamax,
    scale_by_radam,
    scale_by_rms,
    scale_by_rprop,
    scale_by_rss,
    scale_by_stddev,
    trace,
)
from .transforms import (
    add_decayed_weights,
    add_noise,
    ema,
    scale,
    scale_by_adan,
    scale_by_amsgrad,
    scale_by_belief,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_novograd,
    scale_by_optimistic_gradient,
    scale_by_polyak,
    scale_by_sign,
    scale_by_sm3,
    scale_by_trust_ratio,
    scale_by_yogi,
)


def sgd(learning_rate, momentum=None, nesterov: bool = False, accumulator_dtype=None) -> GradientTransformation:
    """Stochastic gradient descent, with momentum if it is given.

     >>> import functorch_core as fc
    >>> from functorch_core import optax
     >>> tx = optax.sgd(0.1)
     >>> tx.update(fc.asarray([1., -2.]), tx.init(fc.ones(2)))[0]
     Array([-0.1,  0.2], dtype=float32)
    """
    rate = scale_by_learning_rate(learning_rate)
    return chain(rate) if momentum is None else chain(trace(momentum, nesterov, accumulator_dtype), rate)


def adam(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov: bool = False
) -> GradientTransformation:
    """Adam (Kingma and Ba 2015).

     >>> import functorch_core as fc
    >>> from functorch_core import optax
     >>> params = {"w": fc.asarray([1., 2.])}
     >>> tx = optax.adam(0.1)
     >>> state = tx.init(params)
     >>> updates, state = tx.update({"w": fc.asarray([0.3, -5.])}, state, params)
     >>> optax.apply_updates(params, updates)
     {'w': Array([0.9, 2.1], dtype=float32)}
    """
    moments = scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return chain(moments, scale_by_learning_rate(learning_rate))


def nadam(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov: bool = True
) -> GradientTransformation:
    """Adam that looks a step ahead (Dozat 2016)."""
    return adam(learning_rate, b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)


def adamw(
    learning_rate,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    weight_decay=1e-4,
    mask=None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Adam with decay of the weights themselves (Loshchilov and Hutter 2019); where the mask is True."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def nadamw(
    learning_rate,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    weight_decay=1e-4,
    mask=None,
    *,
    nesterov: bool = True,
) -> GradientTransformation:
    """nadam with decay of the weights themselves."""
    return adamw(learning_rate, b1, b2, eps, eps_root, mu_dtype, weight_decay, mask, nesterov=nesterov)


def adamax(learning_rate, b1=0.9, b2=0.999, eps=1e-8) -> GradientTransformation:
    """Adam by the greatest gradient in place of the average of squares."""
    return chain(scale_by_adamax(b1, b2, eps), scale_by_learning_rate(learning_rate))


def adamaxw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=1e-4, mask=None) -> GradientTransformation:
    """adamax with decay of the weights themselves."""
    rate = scale_by_learning_rate(learning_rate)
    return chain(scale_by_adamax(b1, b2, eps), add_decayed_weights(weight_decay, mask), rate)


def amsgrad(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None) -> GradientTransformation:
    """Adam by the largest average of squares so far (Reddi et al. 2018)."""
    return chain(scale_by_amsgrad(b1, b2, eps, eps_root, mu_dtype), scale_by_learning_rate(learning_rate))


def radam(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov: bool = False
) -> GradientTransformation:
    """Adam with a rectified variance (Liu et al. 2020)."""
    moments = scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov)
    return chain(moments, scale_by_learning_rate(learning_rate))


def adabelief(
    learning_rate, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov: bool = False
) -> GradientTransformation:
    """Adam by the deviation of gradients from their average (Zhuang et al. 2020)."""
    return chain(scale_by_belief(b1, b2, eps, eps_root, nesterov=nesterov), scale_by_learning_rate(learning_rate))


def yogi(learning_rate, b1=0.9, b2=0.999, eps=1e-3) -> GradientTransformation:
    """Adam whose average of squares moves slowly (Zaheer et al. 2018)."""
    return chain(scale_by_yogi(b1, b2, eps), scale_by_learning_rate(learning_rate))


def lion(learning_rate, b1=0.9, b2=0.99, mu_dtype=None, weight_decay=1e-3, mask=None) -> GradientTransformation:
    """Signs of an average (Chen et al. 2023)."""
    rate = scale_by_learning_rate(learning_rate)
    return chain(scale_by_lion(b1, b2, mu_dtype), add_decayed_weights(weight_decay, mask), rate)


def lamb(
    learning_rate, b1=0.9, b2=0.999, eps=1e-6, eps_root=0.0, weight_decay=0.0, mask=None
) -> GradientTransformation:
    """Adam, each layer by the size of its weights (You et al. 2020)."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_trust_ratio(),
        scale_by_learning_rate(learning_rate),
    )


def lars(
    learning_rate,
    weight_decay=0.0,
    weight_decay_mask=True,
    trust_coefficient=0.001,
    eps=0.0,
    trust_ratio_mask=True,
    momentum=0.9,
    nesterov: bool = False,
) -> GradientTransformation:
    """Momentum, each layer by the size of its weights (You et al. 2017)."""
    return chain(
        add_decayed_weights(weight_decay, weight_decay_mask),
        masked(scale_by_trust_ratio(trust_coefficient=trust_coefficient, eps=eps), trust_ratio_mask),
        scale_by_learning_rate(learning_rate),
        trace(momentum, nesterov),
    )


def rmsprop(
    learning_rate,
    decay=0.9,
    eps=1e-8,
    initial_scale=0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum=None,
    nesterov: bool = False,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Step sizes by the root of the average of squared gradients (Hinton 2012)."""
    scaling = scale_by_stddev if centered else scale_by_rms
    parts = [scaling(decay, eps, initial_scale, eps_in_sqrt, bias_correction), scale_by_learning_rate(learning_rate)]
    return chain(*parts) if momentum is None else chain(*parts, trace(momentum, nesterov))


def adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7) -> GradientTransformation:
    """Step sizes by the root of the sum of squared gradients (Duchi et al. 2011)."""
    return chain(scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate))


def adadelta(learning_rate=None, rho=0.9, eps=1e-6, weight_decay=0.0, weight_decay_mask=None) -> GradientTransformation:
    """Step sizes by the ratio of averages of updates and gradients (Zeiler 2012)."""
    return chain(
        add_decayed_weights(weight_decay, weight_decay_mask),
        scale_by_adadelta(rho, eps),
        scale_by_learning_rate(learning_rate),
    )


def rprop(learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0) -> GradientTransformation:
    """Resilient backpropagation: step sizes by the signs of gradients (Riedmiller 1993)."""
    return chain(scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size), scale(-1.0))


def sm3(learning_rate, momentum=0.9) -> GradientTransformation:
    """Adagrad in little memory: a number for each row and column (Anil et al. 2019)."""
    return chain(scale_by_sm3(momentum), scale(-learning_rate))


def sign_sgd(learning_rate) -> GradientTransformation:
    """The signs of gradients (Bernstein et al. 2018)."""
    return chain(scale_by_sign(), scale_by_learning_rate(learning_rate))


def noisy_sgd(learning_rate, eta=0.01, gamma=0.55, key=None, *, seed=0) -> GradientTransformation:
    """Gradient descent with noise that fades (Neelakantan et al. 2014)."""
    return chain(add_noise(eta, gamma, key, seed=seed), scale_by_learning_rate(learning_rate))


def signum(learning_rate, beta=0.9, accumulator_dtype=None) -> GradientTransformation:
    """The signs of an average of gradients (Bernstein et al. 2018)."""
    average = ema(beta, accumulator_dtype=accumulator_dtype)
    return chain(average, scale_by_sign(), scale_by_learning_rate(learning_rate))


def adan(
    learning_rate, b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=1e-8, weight_decay=0.0, mask=None
) -> GradientTransformation:
    """Adam with an average of the differences of gradients (Xie et al. 2022)."""
    return chain(
        scale_by_adan(b1, b2, b3, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def novograd(learning_rate, b1=0.9, b2=0.25, eps=1e-6, eps_root=0.0, weight_decay=0.0) -> GradientTransformation:
    """Momentum of gradients by the norm of their layer (Ginsburg et al. 2019)."""
    return chain(scale_by_novograd(b1, b2, eps, eps_root, weight_decay), scale_by_learning_rate(learning_rate))


def fromage(learning_rate, min_norm=1e-6) -> GradientTransformation:
    """Steps by the size of each layer's weights, which do not grow (Bernstein et al. 2020)."""
    shrunk = 1.0 / (1.0 + learning_rate**2) ** 0.5
    return chain(
        scale_by_trust_ratio(min_norm),
        scale_by_learning_rate(learning_rate * shrunk),
        add_decayed_weights(shrunk - 1.0),
    )


def optimistic_gradient_descent(learning_rate, alpha=1.0, beta=1.0) -> GradientTransformation:
    """Gradient descent that extrapolates, for games (Mokhtari et al. 2019)."""
    return chain(scale_by_optimistic_gradient(alpha, beta), scale_by_learning_rate(learning_rate))


def optimistic_adam_v2(
    learning_rate,
    *,
    alpha=1.0,
    beta=1.0,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    nesterov: bool = True,
) -> GradientTransformation:
    """Adam that extrapolates (Daskalakis et al. 2018)."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
        scale_by_optimistic_gradient(alpha, beta),
        scale_by_learning_rate(learning_rate),
    )


def polyak_sgd(max_learning_rate=1.0, scaling=1.0, f_min=0.0, eps=0.0, variant="sps") -> GradientTransformation:
    """Gradient descent by Polyak's step size; `update(..., value=)` takes the loss (Loizou et al. 2021)."""
    return chain(scale_by_learning_rate(scaling), scale_by_polyak(f_min, max_learning_rate, eps, variant))


__all__ = [
    "adabelief",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamaxw",
    "adamw",
    "adan",
    "amsgrad",
    "fromage",
    "lamb",
    "lars",
    "lion",
    "nadam",
    "nadamw",
    "noisy_sgd",
    "novograd",
    "optimistic_adam_v2",
    "optimistic_gradient_descent",
    "polyak_sgd",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
    "sign_sgd",
    "signum",
    "sm3",
    "yogi",
]
