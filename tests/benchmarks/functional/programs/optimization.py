"""Curvature and optimality: Newton, natural gradients, Lanczos, transport, projections."""

from __future__ import annotations

import numpy as np

from ..face import jax, jnp, lax, program
from .learning import data, layers, network


@program
def sinkhorn():
    """Entropic transport in the log domain, 50 rounds, and the gradient by the points."""

    def lse(x, axis):
        top = lax.stop_gradient(x.max(axis, keepdims=True))
        return jnp.log(jnp.exp(x - top).sum(axis)) + jnp.squeeze(top, axis)

    def cost(x, y):
        c = jnp.sum((x[:, None] - y[None]) ** 2, -1)

        def round(carry, _):
            f, g = carry
            f = -0.1 * lse((g[None] - c) / 0.1 - jnp.log(100.0), 1)
            g = -0.1 * lse((f[:, None] - c) / 0.1 - jnp.log(100.0), 0)
            return (f, g), None

        f, g = lax.scan(round, (jnp.zeros(100), jnp.zeros(100)), None, length=50)[0]
        return jnp.mean(f) + jnp.mean(g)

    return jax.value_and_grad(cost), (data(100, 2), data(100, 2, seed=2) + 1)


@program
def newton():
    """Newton's method on logistic regression: hessians and solves in a loop."""

    def loss(w, x, y):
        logits = x @ w
        return jnp.mean(jnp.logaddexp(0.0, logits) - y * logits) + 0.01 * jnp.sum(w**2)

    def fit(w, x, y):
        def step(_, w):
            return w - jnp.linalg.solve(jax.hessian(loss)(w, x, y), jax.grad(loss)(w, x, y))

        return lax.fori_loop(0, 8, step, w)

    x = data(500, 20)
    return fit, (np.zeros(20, np.float32), x, (x @ data(20, seed=2) > 0).astype(np.float32))


@program
def natural_gradient():
    """Gauss-Newton products by jvp and vjp inside conjugate gradients."""

    def update(params, x, y):
        flat, structure = jax.tree.flatten(params)

        def outputs(params):
            return network(params, x)

        value, pull = jax.vjp(outputs, params)
        grads = pull(value - y)[0]

        def product(v):
            return jax.tree.map(lambda a, b: a + 1e-2 * b, pull(jax.jvp(outputs, (params,), (v,))[1])[0], v)

        def dot(a, b):
            return sum(jnp.vdot(p, q) for p, q in zip(jax.tree.leaves(a), jax.tree.leaves(b)))

        def body(_, state):
            s, r, p, rr = state
            ap = product(p)
            alpha = rr / dot(p, ap)
            s = jax.tree.map(lambda a, b: a + alpha * b, s, p)
            r = jax.tree.map(lambda a, b: a - alpha * b, r, ap)
            new = dot(r, r)
            return s, r, jax.tree.map(lambda a, b: a + new / rr * b, r, p), new

        zero = jax.tree.map(jnp.zeros_like, grads)
        return lax.fori_loop(0, 10, body, (zero, grads, grads, dot(grads, grads)))[0]

    return update, (layers([16, 64, 64, 4]), data(128, 16), data(128, 4, seed=2))


@program
def lanczos():
    """The spectrum of a network's hessian: thirty products by forward over reverse."""

    def loss(params, x, y):
        return jnp.mean((network(params, x) - y) ** 2)

    def spectrum(params, v, x, y):
        def product(v):
            return jax.jvp(lambda p: jax.grad(loss)(p, x, y), (params,), (v,))[1]

        def dot(a, b):
            return sum(jnp.vdot(p, q) for p, q in zip(jax.tree.leaves(a), jax.tree.leaves(b)))

        def step(carry, _):
            v, before, beta = carry
            w = product(v)
            alpha = dot(w, v)
            w = jax.tree.map(lambda w, v, b: w - alpha * v - beta * b, w, v, before)
            norm = jnp.sqrt(dot(w, w) + 1e-12)
            return (jax.tree.map(lambda w: w / norm, w), v, norm), (alpha, norm)

        start = jax.tree.map(lambda v: v / 30, v)
        zero = jax.tree.map(jnp.zeros_like, params)
        return lax.scan(step, (start, zero, jnp.float32(0)), None, length=30)[1]

    return spectrum, (layers([16, 64, 1]), layers([16, 64, 1], 3), data(256, 16), data(256, 1, seed=2))


@program
def implicit_lasso():
    """Proximal steps to a sparse solution in a while loop; then the least squares on its support."""

    def soft(x, t):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - t, 0)

    def solve(a, y):
        step = 1.0 / jnp.linalg.norm(a) ** 2

        def body(state):
            w, z, t, i, _ = state
            new = soft(z - step * a.T @ (a @ z - y), 0.5 * step)
            grown = (1 + jnp.sqrt(1 + 4 * t**2)) / 2
            return new, new + (t - 1) / grown * (new - w), grown, i + 1, jnp.max(jnp.abs(new - w))

        start = jnp.zeros(a.shape[1]), jnp.zeros(a.shape[1]), jnp.float32(1), 0, jnp.float32(1)
        return lax.while_loop(lambda s: (s[3] < 300) & (s[4] > 1e-7), body, start)[0]

    return jax.vmap(solve, (None, 0)), (data(60, 100), data(8, 60, seed=2))


@program
def bfgs():
    """Quasi-Newton descent on Rosenbrock's function from 32 starts, backtracking within."""

    def rosenbrock(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def minimize(x):
        slope = jax.grad(rosenbrock)

        def step(carry, _):
            x, h, g = carry
            p = -h @ g

            def worse(state):
                t, i = state
                return (rosenbrock(x + t * p) > rosenbrock(x) + 1e-4 * t * (g @ p)) & (i < 20)

            t, _ = lax.while_loop(worse, lambda s: (s[0] / 2, s[1] + 1), (jnp.float32(1), 0))
            new = x + t * p
            later = slope(new)
            s, y = new - x, later - g
            rho = jnp.where(s @ y > 1e-6, 1 / jnp.maximum(s @ y, 1e-6), 0.0)  # no curvature: h stays
            eye = jnp.eye(x.size)
            left = eye - rho * jnp.outer(s, y)
            return (new, left @ h @ left.T + rho * jnp.outer(s, s), later), None

        return lax.scan(step, (x, jnp.eye(x.size), slope(x)), None, length=12)[0][0]

    return jax.vmap(minimize), (0.3 * data(32, 6),)
