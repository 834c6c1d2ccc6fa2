"""The Hessian of an MLP's loss by 353 parameters, and a Newton step with it."""

import jax
import jax.numpy as jnp

from . import common

N_IN, WIDTH = 20, 16


def start():
    """A function that computes a Hessian, makes a damped Newton step and returns the loss."""
    x, y = common.normal((128, N_IN)), common.normal((128,))
    weights = common.normal((N_IN * WIDTH + WIDTH + WIDTH + 1,), 0.3)

    def loss_of(weights):
        first, bias, second, last = jnp.split(weights, [N_IN * WIDTH, N_IN * WIDTH + WIDTH, N_IN * WIDTH + 2 * WIDTH])
        hidden = jnp.tanh(x @ first.reshape(N_IN, WIDTH) + bias)
        return ((hidden @ second + last - y) ** 2).mean()

    @jax.jit
    def newton(weights):
        loss, slope = jax.value_and_grad(loss_of)(weights)
        damped = jax.hessian(loss_of)(weights) + 10.0 * jnp.eye(len(weights))
        return weights - 0.1 * jnp.linalg.solve(damped, slope), loss

    def step():
        nonlocal weights
        weights, loss = newton(weights)
        return loss

    return step
