"""A GRU that classifies sequences: 2 layers, 128 wide, 50 x 32 words, Adam."""

import jax
import jax.numpy as jnp

from . import common

WORDS, WIDTH = 2000, 128


def layer(p, x):
    """The states of a GRU over x: (batch, time, width)."""

    def cell(h, x):
        r, z, n = jnp.split(h @ p["recurrent"] + p["bias"], 3, axis=-1)
        i, j, k = jnp.split(x, 3, axis=-1)
        r, z = jax.nn.sigmoid(i + r), jax.nn.sigmoid(j + z)
        h = (1 - z) * jnp.tanh(k + r * n) + z * h
        return h, h

    inputs = common.dense(p["input"], x).swapaxes(0, 1)
    return jax.lax.scan(cell, jnp.zeros((len(x), WIDTH)), inputs)[1].swapaxes(0, 1)


def loss_of(params, x, y):
    """The loss of classes y of the words x."""
    x = params["embedding"][x]
    for p in params["layers"]:
        x = layer(p, x)
    return common.cross_entropy(common.dense(params["head"], x[:, -1]), y)


def start():
    """A function that makes one training step and returns its loss."""
    params = {
        "embedding": common.normal((WORDS, WIDTH)),
        "layers": [
            {
                "input": {"w": common.uniform((WIDTH, 3 * WIDTH), WIDTH), "b": common.uniform((3 * WIDTH,), WIDTH)},
                "recurrent": common.uniform((WIDTH, 3 * WIDTH), WIDTH),
                "bias": common.uniform((3 * WIDTH,), WIDTH),
            }
            for _ in range(2)
        ],
        "head": common.linear(WIDTH, 5),
    }
    words = common.classes(256 * 50, WORDS).reshape(256, 50)
    return common.training(loss_of, params, common.adam(1e-3), common.cut(32, words, common.classes(256, 5)))
