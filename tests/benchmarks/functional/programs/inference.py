"""Bayesian computation: chains, filters, processes."""

from __future__ import annotations

import numpy as np

from ..face import drawn, jax, jnp, lax, program, random
from .learning import data, layers, network


@drawn
def hmc():
    """Hamiltonian Monte Carlo on a logistic regression: 8 chains, keys split in each step."""

    def log_density(w, x, y):
        logits = x @ w
        return jnp.sum(y * logits - jnp.logaddexp(0.0, logits)) - 0.5 * jnp.sum(w**2)

    def chain(key, w, x, y):
        slope = jax.grad(log_density)

        def step(w, key):
            first, second = random.split(key)
            p = random.normal(first, w.shape)

            def leap(_, state):
                q, p = state
                p = p + 0.025 * slope(q, x, y)
                q = q + 0.05 * p
                return q, p + 0.025 * slope(q, x, y)

            q, p_new = lax.fori_loop(0, 10, leap, (w, p))
            gain = log_density(q, x, y) - log_density(w, x, y) + 0.5 * (jnp.sum(p**2) - jnp.sum(p_new**2))
            w = jnp.where(jnp.log(random.uniform(second)) < gain, q, w)
            return w, w

        return lax.scan(step, w, random.split(key, 50))[1].mean(0)

    def chains(key, w, x, y):
        return jax.vmap(chain, (0, 0, None, None))(random.split(key, 8), w, x, y)

    x = data(100, 5)
    return chains, (random.PRNGKey(0), data(8, 5, seed=2), x, (x[:, 0] > 0).astype(np.float32))


@drawn
def langevin():
    """Stochastic gradient Langevin dynamics: a key split and noise for each of 200 steps."""

    def potential(params, x, y):
        return jnp.sum((network(params, x) - y) ** 2) + 0.5 * sum(jnp.sum(p**2) for p in jax.tree.leaves(params))

    def sample(key, params, x, y):
        leaves, structure = jax.tree.flatten(params)

        def step(carry, _):
            key, leaves = carry
            key, *keys = random.split(key, len(leaves) + 1)
            grads = jax.tree.leaves(jax.grad(potential)(jax.tree.unflatten(structure, leaves), x, y))
            leaves = [p - 1e-4 * g + 0.01 * random.normal(k, p.shape) for p, g, k in zip(leaves, grads, keys)]
            return (key, leaves), leaves[0].mean()

        return lax.scan(step, (key, leaves), None, length=200)[1]

    return sample, (random.PRNGKey(0), layers([4, 16, 1]), data(32, 4), data(32, 1, seed=2))


@drawn
def particle_filter():
    """A bootstrap filter of 1,000 particles over 100 observations: drawn, weighted, resampled."""

    def run(key, observed):
        def step(particles, now):
            key, y = now
            first, second = random.split(key)
            particles = 0.9 * particles + 0.5 * random.normal(first, particles.shape)
            logs = -0.5 * (y - particles) ** 2
            weights = jnp.exp(logs - logs.max())
            edges = jnp.cumsum(weights) / weights.sum()
            places = (jnp.arange(1000) + random.uniform(second)) / 1000
            return particles[jnp.clip(jnp.searchsorted(edges, places), 0, 999)], jnp.log(weights.mean()) + logs.max()

        return lax.scan(step, jnp.zeros(1000), (random.split(key, 100), observed))[1].sum()

    return run, (random.PRNGKey(0), data(100))


@program
def kalman():
    """The likelihood of a linear Gaussian model by Kalman's filter, and its gradient."""

    def likelihood(params, y):
        a, c = params["a"], params["c"]
        noise, seen = jnp.exp(params["q"]) * jnp.eye(4), jnp.exp(params["r"]) * jnp.eye(2)

        def step(carry, y):
            mean, cov = carry
            mean, cov = a @ mean, a @ cov @ a.T + noise
            error, spread = y - c @ mean, c @ cov @ c.T + seen
            gain = jnp.linalg.solve(spread, c @ cov).T
            log = -0.5 * (error @ jnp.linalg.solve(spread, error) + jnp.linalg.slogdet(spread)[1])
            return (mean + gain @ error, cov - gain @ c @ cov), log

        return jnp.sum(lax.scan(step, (jnp.zeros(4), jnp.eye(4)), y)[1])

    params = {"a": 0.5 * np.eye(4, dtype=np.float32) + 0.05 * data(4, 4), "c": data(2, 4, seed=2)}
    return jax.value_and_grad(likelihood), ({**params, "q": np.float32(-1), "r": np.float32(-1)}, data(100, 2, seed=3))


@program
def gaussian_process():
    """The marginal likelihood of a Gaussian process and its gradient by the kernel's parameters."""

    def likelihood(params, x, y):
        scaled = x / jnp.exp(params["length"])
        squared = jnp.sum((scaled[:, None] - scaled[None]) ** 2, -1)
        kernel = jnp.exp(params["scale"] - 0.5 * squared) + jnp.exp(params["noise"]) * jnp.eye(len(x))
        root = jnp.linalg.cholesky(kernel)
        half = jax.scipy.linalg.solve_triangular(root, y, lower=True)
        return 0.5 * half @ half + jnp.sum(jnp.log(jnp.diagonal(root)))

    params = {"length": np.zeros(3, np.float32), "scale": np.float32(0), "noise": np.float32(-2)}
    return jax.value_and_grad(likelihood), (params, data(128, 3), data(128, seed=2))


@program
def mixture():
    """Thirty rounds of expectation maximization for a mixture of eight Gaussians."""

    def fit(means, logs, x):
        def round(carry, _):
            means, variances, weights = carry
            apart = (x[:, None] - means) ** 2 / variances
            score = jnp.log(weights) - 0.5 * jnp.sum(apart + jnp.log(variances), -1)
            top = score.max(1, keepdims=True)
            each = jnp.exp(score - top)
            share = each / each.sum(1, keepdims=True)
            total = share.sum(0)
            means = share.T @ x / total[:, None]
            variances = share.T @ (x**2) / total[:, None] - means**2 + 1e-3
            return (means, variances, total / len(x)), jnp.mean(top[:, 0] + jnp.log(each.sum(1)))

        start = means, jnp.ones_like(means), jnp.full(8, 0.125)
        return lax.scan(round, start, None, length=30)[1] + logs

    return fit, (data(8, 4), np.float32(0), data(1000, 4, seed=2) + 2 * data(8, 4, seed=3)[np.arange(1000) % 8])


@program
def ising():
    """Mean field of a 32 x 32 lattice, the couplings' gradient through sixty sweeps."""

    def free(coupling, field):
        def sweep(m, _):
            around = jnp.roll(m, 1, 0) + jnp.roll(m, -1, 0) + jnp.roll(m, 1, 1) + jnp.roll(m, -1, 1)
            return 0.5 * m + 0.5 * jnp.tanh(coupling * around + field), None

        m = lax.scan(sweep, jnp.zeros_like(field), None, length=60)[0]
        return jnp.sum(m**2)

    return jax.value_and_grad(free, (0, 1)), (np.full((32, 32), 0.2, np.float32), 0.1 * data(32, 32))


@program
def stein():
    """Stein variational descent: a kernel between 128 particles, its gradient by vmap, 20 steps."""

    def log_density(x):
        return jnp.log(jnp.exp(-jnp.sum((x - 1) ** 2)) + jnp.exp(-jnp.sum((x + 1) ** 2)))

    def kernel(a, b):
        return jnp.exp(-jnp.sum((a - b) ** 2))

    def move(x):
        slopes = jax.vmap(jax.grad(log_density))(x)

        def towards(b):
            near = jax.vmap(lambda a: kernel(a, b))(x)
            apart = jax.vmap(lambda a: jax.grad(kernel)(a, b))(x)
            return (near @ slopes + apart.sum(0)) / x.shape[0]

        return jax.vmap(towards)(x)

    return lambda x: lax.fori_loop(0, 20, lambda _, x: x + 0.1 * move(x), x), (data(128, 4),)
