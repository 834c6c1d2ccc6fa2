"""A neural ODE: 20 steps of Runge-Kutta of order 4 through an MLP 64 wide, batch 64, Adam."""

import jax
import jax.numpy as jnp

from . import common

STEPS, BATCH = 20, 64


def solution(params, x):
    """Where x is after the time 1."""

    def field(x):
        for p in params[:-1]:
            x = jnp.tanh(common.dense(p, x))
        return common.dense(params[-1], x)

    def advance(x, _):
        h = 1.0 / STEPS
        a = field(x)
        b = field(x + h / 2 * a)
        c = field(x + h / 2 * b)
        return x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c)), None

    return jax.lax.scan(advance, x, length=STEPS)[0]


def start():
    """A function that makes one training step and returns its loss."""
    params = [common.linear(2, 64), common.linear(64, 64), common.linear(64, 2)]
    begin = common.normal((8 * BATCH, 2))
    end = begin @ jnp.array([[0.5, -0.8], [0.8, 0.5]])

    def loss_of(params, x, y):
        return ((solution(params, x) - y) ** 2).mean()

    return common.training(loss_of, params, common.adam(1e-3), common.cut(BATCH, begin, end))
