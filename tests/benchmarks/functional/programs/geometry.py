"""Jacobians as objects: charts, robots, images."""

from __future__ import annotations

import numpy as np

from ..face import jax, jnp, lax, program
from .learning import data, descend, layers, network


@program
def geodesics():
    """Geodesics of a network's pullback metric: Christoffel symbols by jacobians of jacobians."""

    def metric(params, z):
        j = jax.jacfwd(lambda z: network(params, z))(z)
        return j.T @ j + 0.1 * jnp.eye(z.size)

    def acceleration(params, z, v):
        d = jax.jacfwd(lambda z: metric(params, z))(z)
        forces = jnp.einsum("ijk,j,k->i", d, v, v) - 0.5 * jnp.einsum("jki,j,k->i", d, v, v)
        return -jnp.linalg.solve(metric(params, z), forces)

    def shoot(params, z, v):
        def step(state, _):
            z, v = state
            v = v + 0.02 * acceleration(params, z, v)
            return (z + 0.02 * v, v), z

        return lax.scan(step, (z, v), None, length=20)[1]

    return jax.vmap(shoot, (None, 0, 0)), (layers([3, 32, 8]), data(16, 3), data(16, 3, seed=2))


@program
def kinematics():
    """Inverse kinematics of a chain of eight joints: jacobians and damped least squares, many goals."""

    def hand(angles):
        total = jnp.cumsum(angles)
        return jnp.stack([jnp.cos(total).sum(), jnp.sin(total).sum()])

    def reach(angles, goal):
        def step(_, angles):
            error = goal - hand(angles)
            j = jax.jacrev(hand)(angles)
            return angles + j.T @ jnp.linalg.solve(j @ j.T + 0.1 * jnp.eye(2), error)

        return lax.fori_loop(0, 20, step, angles)

    return jax.vmap(reach), (0.1 * data(64, 8), 3 * data(64, 2, seed=2))


@program
def radiance():
    """A radiance field: rays sampled, densities accumulated, the step on the colours."""

    def encode(x):
        waves = x[..., None] * 2.0 ** jnp.arange(4)
        return jnp.concatenate([jnp.sin(waves), jnp.cos(waves)], -1).reshape(*x.shape[:-1], -1)

    def colour(params, origin, direction):
        depths = jnp.linspace(0.5, 3.0, 32)
        raw = network(params, encode(origin + depths[:, None] * direction))
        density = jnp.maximum(raw[:, 0], 0) * (2.5 / 32)
        through = jnp.exp(-jnp.concatenate([jnp.zeros(1), jnp.cumsum(density)[:-1]]))
        weights = through * (1 - jnp.exp(-density))
        return weights @ lax.logistic(raw[:, 1:])

    def step(params, origins, directions, wanted):
        def loss(params):
            return jnp.mean((jax.vmap(colour, (None, 0, 0))(params, origins, directions) - wanted) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return value, descend(params, grads, 0.1)

    wanted = np.random.default_rng(5).random((128, 3)).astype(np.float32)
    return step, (layers([24, 64, 64, 4]), data(128, 3), data(128, 3, seed=2), wanted)


@program
def contractive():
    """A contractive autoencoder: the norm of each sample's jacobian in the loss."""

    def loss(params, x):
        encoder, decoder = params

        def encode(x):
            return jnp.tanh(network(encoder, x))

        again = network(decoder, encode(x))
        return jnp.sum((again - x) ** 2) + 0.1 * jnp.sum(jax.jacrev(encode)(x) ** 2)

    def step(params, x):
        value, grads = jax.value_and_grad(lambda p: jax.vmap(loss, (None, 0))(p, x).mean())(params)
        return value, descend(params, grads, 0.01)

    return step, ((layers([32, 64, 8]), layers([8, 64, 32], 1)), data(64, 32))
