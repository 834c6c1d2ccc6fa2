"""Private training: gradients of 64 samples each of a small CNN by `vmap(grad)`, clipped, SGD."""

import itertools

import jax
import jax.numpy as jnp

from . import common

BATCH, LIMIT, RATE = 64, 1.0, 0.1


def loss_of_one(params, x, y):
    """The loss of one image."""
    x = x[None]
    for p in params["convs"]:
        x = common.max_pool(jax.nn.relu(common.convolve(p, x)))
    return common.cross_entropy(common.dense(params["head"], x.reshape(1, -1)), y[None])


@jax.jit
def advance(params, x, y):
    """Parameters after a step, and the loss."""
    losses, grads = jax.vmap(jax.value_and_grad(loss_of_one), (None, 0, 0))(params, x, y)
    norms = jnp.sqrt(sum((g.reshape(len(g), -1) ** 2).sum(1) for g in jax.tree_util.tree_leaves(grads)))
    factor = jnp.minimum(1.0, LIMIT / (norms + 1e-6))
    means = common.tree_map(lambda g: jnp.einsum("n,n...->...", factor, g) / BATCH, grads)
    return common.tree_map(lambda p, g: p - RATE * g, params, means), losses.mean()


def start():
    """A function that makes one training step and returns its loss."""
    params = {"convs": [common.conv(1, 16), common.conv(16, 32)], "head": common.linear(32 * 7 * 7, 10)}
    images, y = common.normal((8 * BATCH, 28, 28, 1)), common.classes(8 * BATCH, 10)
    batches = itertools.cycle(common.cut(BATCH, images, y))

    def step():
        nonlocal params
        params, loss = advance(params, *next(batches))
        return loss

    return step
