"""A small convolutional network with batch normalisation on 28 x 28 images, SGD, batch 64."""

import itertools

import jax
import jax.numpy as jnp

from . import common


def start():
    """A function that makes one training step and returns its loss."""
    params = {
        "convs": [common.conv(1, 16), common.conv(16, 32)],
        "norms": [(jnp.ones(c), jnp.zeros(c)) for c in (16, 32)],
        "head": common.linear(32 * 7 * 7, 10),
    }
    running = [(jnp.zeros(c), jnp.ones(c)) for c in (16, 32)]
    init, update = common.sgd(0.01, momentum=0.9)

    def loss_of(params, running, x, y):
        seen = []
        for p, (scale, shift), (mean, var) in zip(params["convs"], params["norms"], running):
            x = common.convolve(p, x)
            m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
            seen.append((0.9 * mean + 0.1 * m, 0.9 * var + 0.1 * v))
            x = common.max_pool(jax.nn.relu((x - m) * jax.lax.rsqrt(v + 1e-5) * scale + shift))
        return common.cross_entropy(common.dense(params["head"], x.reshape(len(x), -1)), y), seen

    @jax.jit
    def advance(params, state, running, x, y):
        (loss, running), grads = jax.value_and_grad(loss_of, has_aux=True)(params, running, x, y)
        params, state = update(params, state, grads)
        return params, state, running, loss

    batches = itertools.cycle(common.cut(64, common.normal((1024, 28, 28, 1)), common.classes(1024, 10)))
    state = init(params)

    def step():
        nonlocal params, state, running
        params, state, running, loss = advance(params, state, running, *next(batches))
        return loss

    return step
