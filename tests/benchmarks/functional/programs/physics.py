"""Simulations and their derivatives: equations, bodies, molecules, wave functions."""

from __future__ import annotations

import numpy as np

from ..face import jax, jnp, lax, program
from .learning import data, descend, layers, network


@program
def pinn():
    """A physics-informed network: the residual of Burgers' equation, and the step on it."""

    def u(params, t, x):
        return network(params, jnp.stack([t, x]))[0]

    def residual(params, t, x):
        u_t, u_x = jax.grad(u, 1)(params, t, x), jax.grad(u, 2)(params, t, x)
        u_xx = jax.grad(jax.grad(u, 2), 2)(params, t, x)
        return u_t + u(params, t, x) * u_x - 0.01 * u_xx

    def loss(params, t, x):
        inside = jax.vmap(residual, (None, 0, 0))(params, t, x)
        start = jax.vmap(u, (None, 0, 0))(params, jnp.zeros_like(x), x) + jnp.sin(jnp.pi * x)
        return jnp.mean(inside**2) + jnp.mean(start**2)

    def step(params, t, x):
        value, grads = jax.value_and_grad(loss)(params, t, x)
        return value, descend(params, grads, 1e-3)

    return step, (layers([2, 32, 32, 32, 1]), np.abs(data(256)), data(256, seed=2))


@program
def neural_ode():
    """A neural differential equation by Runge-Kutta, its gradient by the adjoint equation."""

    def field(params, z):
        return network(params, z)

    def rk4(f, z, h, steps):
        def step(z, _):
            add = jax.tree.map
            a = f(z)
            b = f(add(lambda x, d: x + h / 2 * d, z, a))
            c = f(add(lambda x, d: x + h / 2 * d, z, b))
            d = f(add(lambda x, d: x + h * d, z, c))
            return add(lambda x, *ds: x + h / 6 * (ds[0] + 2 * ds[1] + 2 * ds[2] + ds[3]), z, a, b, c, d), None

        return lax.scan(step, z, None, length=steps)[0]

    @jax.custom_vjp
    def flow(params, z):
        return rk4(lambda z: field(params, z), z, 0.05, 20)

    def forward(params, z):
        end = flow(params, z)
        return end, (params, end)

    def backward(saved, ct):
        params, end = saved

        def augmented(state):
            z, a, _ = state
            value, pull = jax.vjp(field, params, z)
            by_params, by_z = pull(a)
            return value, jax.tree.map(jnp.negative, by_z), jax.tree.map(jnp.negative, by_params)

        start = end, ct, jax.tree.map(jnp.zeros_like, params)
        _, by_z, by_params = rk4(augmented, start, -0.05, 20)
        return by_params, by_z

    flow.defvjp(forward, backward)

    def step(params, z, y):
        value, grads = jax.value_and_grad(lambda p: jnp.mean((flow(p, z) - y) ** 2))(params)
        return value, descend(params, grads, 0.1)

    return step, (layers([4, 64, 4]), data(64, 4), data(64, 4, seed=2))


@program
def planets():
    """Sixteen bodies by leapfrog for 100 steps; the gradient of where they end by where they start."""

    def force(x):
        apart = x[:, None] - x[None, :]
        cubed = (jnp.sum(apart**2, -1) + 0.1) ** 1.5
        return -jnp.sum(apart / cubed[..., None], 1)

    def end(x, v):
        def step(state, _):
            x, v = state
            v = v + 0.005 * force(x)
            x = x + 0.01 * v
            return (x, v + 0.005 * force(x)), None

        x, v = lax.scan(step, (x, v), None, length=100)[0]
        return jnp.sum(x**2) + jnp.sum(v**2)

    return jax.value_and_grad(end, (0, 1)), (data(16, 3), data(16, 3, seed=2))


@program
def molecules():
    """Lennard-Jones dynamics of 64 atoms in a box, forces by grad, 50 steps of a fori_loop."""

    def energy(x):
        apart = x[:, None] - x[None, :]
        apart = apart - 5.0 * jnp.round(apart / 5.0)
        squared = jnp.sum(apart**2, -1) + jnp.eye(64)
        sixth = 1.0 / squared**3
        return 2.0 * jnp.sum(jnp.where(jnp.eye(64, dtype=bool), 0.0, sixth**2 - sixth))

    def simulate(x, v):
        def step(_, state):
            x, v, f = state
            v = v + 0.0005 * f
            x = x + 0.001 * v
            f = -jax.grad(energy)(x)
            return x, v + 0.0005 * f, f

        return lax.fori_loop(0, 50, step, (x, v, -jax.grad(energy)(x)))

    grid = np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(64, 3).astype(np.float32) * 1.25
    return simulate, (grid + 0.02 * data(64, 3), 0.1 * data(64, 3, seed=2))


@program
def laplacian():
    """The local energy of a wave function: forward over reverse derivatives, and its gradient."""

    def wave(params, x):
        return network(params, x)[0] - 0.5 * jnp.sum(x**2)

    def local(params, x):
        slope = jax.grad(wave, 1)

        def second(direction):
            value, tangent = jax.jvp(lambda x: slope(params, x), (x,), (direction,))
            return tangent @ direction

        trace = jax.vmap(second)(jnp.eye(x.size)).sum()
        return -0.5 * (trace + jnp.sum(slope(params, x) ** 2)) + 0.5 * jnp.sum(x**2)

    def energy(params, x):
        return jax.vmap(local, (None, 0))(params, x).mean()

    return jax.value_and_grad(energy), (layers([6, 32, 32, 1]), data(128, 6))


@program
def heat():
    """A diffusion's conductivity from its end: finite differences, 100 steps, the gradient by scan."""

    def simulate(conductivity, u):
        def step(u, _):
            flow = conductivity[:-1] * (u[1:] - u[:-1])
            return u + 0.1 * jnp.pad(flow[1:] - flow[:-1], ((1, 1), (0, 0))), None

        return lax.scan(step, u, None, length=100)[0]

    def loss(log, u, wanted):
        return jnp.mean((simulate(jnp.exp(log), u) - wanted) ** 2)

    return jax.value_and_grad(loss), (0.1 * data(64, 1), data(64, 64, seed=2), 0.1 * data(64, 64, seed=3))


@program
def pendulum_control():
    """Controls of a pendulum by descent through 200 steps of its simulation."""

    def cost(controls, start):
        def step(state, control):
            angle, speed = state
            speed = speed + 0.05 * (jnp.sin(angle) * 9.81 + control)
            angle = angle + 0.05 * speed
            return (angle, speed), angle**2 + 0.1 * speed**2 + 0.01 * control**2

        return jnp.sum(lax.scan(step, (start[0], start[1]), controls)[1])

    def plan(controls, start):
        def descent(_, controls):
            return controls - 1e-4 * jax.grad(cost)(controls, start)

        return lax.fori_loop(0, 10, descent, controls)

    return jax.vmap(plan), (np.zeros((16, 200), np.float32), 0.1 * data(16, 2))
