"""Ways to train: private, meta, many networks at once, by evolution, by reinforcement."""

from __future__ import annotations

import numpy as np

from ..face import drawn, jax, jnp, lax, program, random


def layers(sizes, seed=0):
    """Weights and biases of a network."""
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(m, n)).astype(np.float32) / np.float32(m) ** 0.5, np.zeros(n, np.float32))
        for m, n in zip(sizes, sizes[1:])
    ]


def network(params, x):
    """A tanh network."""
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def data(*shape, seed=1):
    """Standard normal float32."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def descend(params, grads, rate):
    """A step of gradient descent."""
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


@program
def private_training():
    """Differentially private descent: gradients of each sample, clipped, averaged."""

    def loss(params, x, y):
        return jnp.sum((network(params, x) - y) ** 2)

    def clipped(params, x, y):
        grads = jax.grad(loss)(params, x, y)
        norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
        return jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), grads)

    def train(params, x, y):
        def step(params, batch):
            grads = jax.vmap(clipped, (None, 0, 0))(params, *batch)
            return descend(params, jax.tree.map(lambda g: g.mean(0), grads), 0.05), None

        return lax.scan(step, params, (x, y))[0]

    return train, (layers([32, 64, 8]), data(20, 64, 32), data(20, 64, 8, seed=2))


@program
def ensemble():
    """Sixteen networks trained at once: vmap of a training loop."""

    def loss(params, x, y):
        return jnp.mean((network(params, x) - y) ** 2)

    def train(params, x, y):
        def step(params, batch):
            return descend(params, jax.grad(loss)(params, *batch), 0.1), None

        return lax.scan(step, params, (x, y))[0]

    many = [
        tuple(np.stack([a * np.float32(s) for s in np.linspace(0.5, 1.5, 16)]) for a in p) for p in layers([8, 32, 1])
    ]
    return jax.vmap(train, (0, None, None)), (many, data(50, 32, 8), data(50, 32, 1, seed=2))


@program
def maml():
    """Model-agnostic meta-learning: the gradient through five inner steps for each of 16 tasks."""

    def loss(params, x, y):
        return jnp.mean((network(params, x) - y) ** 2)

    def adapted(params, x, y):
        for _ in range(5):
            params = descend(params, jax.grad(loss)(params, x, y), 0.1)
        return params

    def task(params, x, y, more, wanted):
        return loss(adapted(params, x, y), more, wanted)

    def step(params, *tasks):
        value, grads = jax.value_and_grad(lambda p: jax.vmap(lambda *t: task(p, *t))(*tasks).mean())(params)
        return value, descend(params, grads, 0.01)

    x, more = data(16, 10, 1), data(16, 10, 1, seed=2)
    return step, (layers([1, 40, 40, 1]), x, np.sin(x), more, np.sin(more))


@program
def hyperparameters():
    """The gradient of a validation loss by rates and decay, through forty remembered steps."""

    def loss(params, x, y, decay):
        penalty = sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
        return jnp.mean((network(params, x) - y) ** 2) + decay * penalty

    def validation(rates, decay, params, x, y):
        @jax.checkpoint
        def step(params, rate):
            return descend(params, jax.grad(loss)(params, x, y, decay), rate), None

        return loss(lax.scan(step, params, rates)[0], x[::2], y[::2], 0.0)

    args = np.full(40, 0.05, np.float32), np.float32(1e-3), layers([16, 32, 1]), data(64, 16), data(64, 1, seed=2)
    return jax.value_and_grad(validation, (0, 1)), args


@drawn
def evolution():
    """Evolution strategies: 64 perturbed policies, ranked, for twenty generations."""

    def score(params, x, y):
        return -jnp.mean((jnp.tanh(x @ params[:512].reshape(16, 32)) @ params[512:].reshape(32, 2) - y) ** 2)

    def train(params, key, x, y):
        def generation(params, key):
            noise = random.normal(key, (64, params.size))
            scores = jax.vmap(lambda n: score(params + 0.1 * n, x, y))(noise)
            ranks = jnp.argsort(jnp.argsort(scores)).astype(jnp.float32) / 64 - 0.5
            return params + 0.05 * ranks @ noise, scores.max()

        return lax.scan(generation, params, random.split(key, 20))

    return train, (0.1 * data(576), random.PRNGKey(0), data(32, 16), data(32, 2, seed=2))


@program
def policy_gradient():
    """Generalized advantages by a reverse scan, then a clipped policy step."""

    def advantages(rewards, values):
        def back(carry, now):
            reward, value, following = now
            carry = reward + 0.99 * following - value + 0.95 * 0.99 * carry
            return carry, carry

        return lax.scan(back, jnp.zeros(rewards.shape[1]), (rewards, values[:-1], values[1:]), reverse=True)[1]

    def objective(params, seen, actions, before, rewards):
        policy, critic = params
        values = network(critic, seen)[..., 0]
        gain = lax.stop_gradient(advantages(rewards, values))
        logs = log_softmax(network(policy, seen[:-1]))
        chosen = jnp.take_along_axis(logs, actions[..., None], -1)[..., 0]
        ratio = jnp.exp(chosen - before)
        clipped = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()
        return jnp.mean((values[:-1] - lax.stop_gradient(values[:-1] + gain)) ** 2) - clipped

    def step(params, *batch):
        value, grads = jax.value_and_grad(objective)(params, *batch)
        return value, descend(params, grads, 3e-3)

    rng = np.random.default_rng(3)
    actions = rng.integers(0, 4, (64, 16)).astype(np.int32)
    params = layers([8, 64, 64, 4]), layers([8, 64, 64, 1], 4)
    return step, (params, data(65, 16, 8), actions, data(64, 16, seed=5) * 0.1 - 1.4, data(64, 16, seed=6))


def log_softmax(x):
    """Logarithms of a softmax over the last axis."""
    x = x - lax.stop_gradient(x.max(-1, keepdims=True))
    return x - jnp.log(jnp.exp(x).sum(-1, keepdims=True))


@program
def tangent_kernel():
    """The neural tangent kernel of two sets: jacobians for each sample, contracted."""

    def kernel(params, a, b):
        def jacobian(x):
            return jax.jacrev(lambda p: network(p, x))(params)

        left, right = jax.vmap(jacobian)(a), jax.vmap(jacobian)(b)
        return sum(
            jnp.einsum("nij,mkj->nmik", p.reshape(*p.shape[:2], -1), q.reshape(*q.shape[:2], -1))
            for p, q in zip(jax.tree.leaves(left), jax.tree.leaves(right))
        )

    return kernel, (layers([16, 64, 64, 3]), data(40, 16), data(24, 16, seed=2))
