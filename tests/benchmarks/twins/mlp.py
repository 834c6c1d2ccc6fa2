"""A 3-layer network on vectors of 784 numbers, Adam, batch 64."""

import jax

from . import common


def start():
    """A function that makes one training step and returns its loss."""
    params = [common.linear(784, 256), common.linear(256, 256), common.linear(256, 10)]

    def loss_of(params, x, y):
        for p in params[:-1]:
            x = jax.nn.relu(common.dense(p, x))
        return common.cross_entropy(common.dense(params[-1], x), y)

    batches = common.cut(64, common.normal((4096, 784)), common.classes(4096, 10))
    return common.training(loss_of, params, common.adam(1e-3), batches)
