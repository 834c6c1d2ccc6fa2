"""
A Gaussian process and its posterior
====================================

Regression with error bars: the posterior of a Gaussian process before and after its three hyperparameters are fitted
by the gradient of the marginal likelihood, which goes through a Cholesky factorization.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc
from functorch_core import optax

rng = np.random.default_rng(1)
x = fc.asarray(np.sort(rng.uniform(-4, 4, 18)))
y = fc.sin(1.5 * x) + 0.3 * x + fc.asarray(0.15 * rng.standard_normal(18))
everywhere = fc.linspace(-6.0, 6.0, 200, dtype=fc.float64)


def kernel(params, a, b):
    """The covariance of values at a and b: large where they are closer than the length."""
    distance = (a[:, None] - b[None, :]) / fc.exp(params["length"])
    return fc.exp(2 * params["scale"] - 0.5 * distance**2)


def factor(params):
    """The Cholesky factor of the covariance of what was measured."""
    return fc.linalg.cholesky(kernel(params, x, x) + fc.exp(2 * params["noise"]) * fc.eye(len(x), dtype=x.dtype))


def surprise(params):
    """The negative logarithm of the marginal likelihood."""
    lower = factor(params)
    white = fc.linalg.solve_triangular(lower, y[:, None], lower=True)[:, 0]
    return 0.5 * (white**2).sum() + fc.log(fc.linalg.diagonal(lower)).sum() + 0.5 * len(x) * np.log(2 * np.pi)


@fc.jit
def posterior(params):
    """Mean and standard deviation of the function everywhere."""
    lower, across = factor(params), kernel(params, x, everywhere)
    white = fc.linalg.solve_triangular(lower, fc.concat([y[:, None], across], axis=1), lower=True)
    mean = white[:, 1:].T @ white[:, 0]
    return mean, fc.sqrt(fc.exp(2 * params["scale"]) - (white[:, 1:] ** 2).sum(axis=0) + 1e-9)


# %%
# Fitting: 200 steps of Adam in one compiled loop.

optimizer = optax.adam(0.05)


def step(state, _):
    """A step of Adam on the surprise."""
    params, moments = state
    value, gradient = fc.value_and_grad(surprise)(params)
    updates, moments = optimizer.update(gradient, moments, params)
    return (optax.apply_updates(params, updates), moments), value


first = {
    name: fc.asarray(value, dtype=fc.float64) for name, value in (("length", 1.0), ("scale", 0.0), ("noise", -0.5))
}
(fitted, _), surprises = fc.jit(lambda params: fc.scan(step, (params, optimizer.init(params)), length=200))(first)
print({name: f"{float(fc.exp(value)):.2f}" for name, value in fitted.items()})

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
for panel, params, title in zip(axes, (first, fitted), ("as guessed", "fitted")):
    mean, deviation = map(np.asarray, posterior(params))
    panel.plot(everywhere, mean)
    panel.fill_between(everywhere, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25)
    panel.plot(x, y, "k.")
    panel.set_title(f"{title}: surprise {float(surprise(params)):.1f}")
figure.tight_layout()
