"""
An equation solved by a network
===============================

A network is trained to satisfy the heat equation, its start and its ends: no point of the solution is given. Its
derivatives by place and time are those of the function that it is, ``fc.grad`` of ``fc.grad``.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc
from functorch_core import optax

DIFFUSION = 0.1


def init(key, width=32):
    """Weights of a network (place, time) -> temperature."""
    sizes = [(2, width), (width, width), (width, 1)]
    return [
        {"w": fc.random.normal(k, s) / s[0] ** 0.5, "b": fc.zeros(s[1])} for k, s in zip(fc.random.split(key, 3), sizes)
    ]


def temperature(params, x, t):
    """The network, which is zero at both ends as it is multiplied by x (1 - x)."""
    h = fc.stack([2 * x - 1, t])
    for layer in params[:-1]:
        h = fc.tanh(h @ layer["w"] + layer["b"])
    return x * (1 - x) * (h @ params[-1]["w"] + params[-1]["b"])[0]


def residual(params, x, t):
    """How far the network is from the equation: the derivative by time, and twice by place."""
    by_time = fc.grad(temperature, argnums=2)(params, x, t)
    bend = fc.grad(fc.grad(temperature, argnums=1), argnums=1)(params, x, t)
    return by_time - DIFFUSION * bend


def at_start(x):
    """The temperature at time 0."""
    return fc.sin(np.pi * x) + 0.5 * fc.sin(3 * np.pi * x)


def loss(params, key):
    """Residuals at random places and times, and the error at the start."""
    x, t = fc.random.uniform(key, (2, 128))
    inside = fc.vmap(residual, in_axes=(None, 0, 0))(params, x, t)
    start = fc.vmap(temperature, in_axes=(None, 0, None))(params, x, fc.asarray(0.0)) - at_start(x)
    return (inside**2).mean() + 10 * (start**2).mean()


optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, 2000))


def step(state, key):
    """A step of Adam."""
    params, moments = state
    value, gradient = fc.value_and_grad(loss)(params, key)
    updates, moments = optimizer.update(gradient, moments, params)
    return (optax.apply_updates(params, updates), moments), value


params = init(fc.random.key(0))
keys = fc.random.split(fc.random.key(1), 2000)
(params, _), losses = fc.jit(lambda state, keys: fc.scan(step, state, keys))((params, optimizer.init(params)), keys)

# %%
# The solution is known: each sine decays on its own.

x, t = np.meshgrid(np.linspace(0, 1, 80, dtype=np.float32), np.linspace(0, 1, 80, dtype=np.float32))
found = np.asarray(fc.vmap(fc.vmap(temperature, (None, 0, 0)), (None, 0, 0))(params, fc.asarray(x), fc.asarray(t)))
decay = lambda n: np.exp(-DIFFUSION * (n * np.pi) ** 2 * t) * np.sin(n * np.pi * x)
exact = decay(1) + 0.5 * decay(3)
print(f"largest error: {np.abs(found - exact).max():.3f}")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2))
axes[0].semilogy(losses)
axes[0].set(title="loss", xlabel="step")
for panel, what, title in ((axes[1], found, "network"), (axes[2], found - exact, "its error")):
    picture = panel.pcolormesh(t, x, what, cmap="inferno" if what is found else "RdBu")
    panel.set(title=title, xlabel="time", ylabel="place")
    figure.colorbar(picture, ax=panel)
figure.tight_layout()
