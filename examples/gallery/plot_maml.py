"""
Learning to learn: MAML
=======================

One start from which a single step of gradient descent fits any sine wave to ten points. The step is part of what is
differentiated: ``fc.grad`` of a function that calls ``fc.grad``, mapped over tasks by ``fc.vmap``.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc
from functorch_core import optax

WIDTH, TASKS, POINTS, RATE = 40, 24, 10, 0.1


def init(key):
    """Weights of a network 1 -> 40 -> 40 -> 1."""
    sizes = [(1, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)]
    return [
        {"w": fc.random.normal(k, s) / s[0] ** 0.5, "b": fc.zeros(s[1])} for k, s in zip(fc.random.split(key, 3), sizes)
    ]


def predict(params, x):
    """The network at the points x."""
    for layer in params[:-1]:
        x = fc.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params, x, y):
    """The mean squared error."""
    return ((predict(params, x) - y) ** 2).mean()


def adapted(params, x, y):
    """The parameters after one step on a task."""
    return fc.tree.map(lambda p, g: p - RATE * g, params, fc.grad(loss)(params, x, y))


def task(key):
    """A sine wave of random phase and height: ten points to learn from and ten to be tried on."""
    for_phase, for_height, for_points = fc.random.split(key, 3)
    phase = fc.random.uniform(for_phase, (), minval=0.0, maxval=np.pi)
    height = fc.random.uniform(for_height, (), minval=0.5, maxval=3.0)
    x = fc.random.uniform(for_points, (2, POINTS, 1), minval=-5.0, maxval=5.0)
    y = height * fc.sin(x + phase)
    return x[0], y[0], x[1], y[1]


def after_one_step(params, key):
    """The loss of one task after adapting to it."""
    x, y, other_x, other_y = task(key)
    return loss(adapted(params, x, y), other_x, other_y)


# %%
# Training of the start, 1,200 steps of Adam on the loss after adapting.

optimizer = optax.adam(5e-3)


def step(state, key):
    """A step of Adam on a batch of tasks."""
    params, moments = state
    of_all = lambda p: fc.vmap(after_one_step, in_axes=(None, 0))(p, fc.random.split(key, TASKS)).mean()
    value, gradient = fc.value_and_grad(of_all)(params)
    updates, moments = optimizer.update(gradient, moments, params)
    return (optax.apply_updates(params, updates), moments), value


params = init(fc.random.key(0))
keys = fc.random.split(fc.random.key(1), 1200)
(params, _), losses = fc.jit(lambda state, keys: fc.scan(step, state, keys))((params, optimizer.init(params)), keys)
print(f"loss after one step: {losses[:50].mean():.2f} at first, {losses[-50:].mean():.2f} at the end")

# %%
# A new wave: the start, and the network after one and five steps on ten points of it.

everywhere = fc.linspace(-5.0, 5.0, 100)[:, None]
x, y = task(fc.random.key(7))[:2]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4))
left.semilogy(np.convolve(losses, np.ones(40) / 40, "valid"))
left.set(title="loss after one step on a task", xlabel="tasks / 24")
current = params
for n in range(6):
    if n in (0, 1, 5):
        right.plot(everywhere, predict(current, everywhere), label=f"{n} steps")
    current = fc.jit(adapted)(current, x, y)
right.plot(x, y, "k.")
right.legend()
right.set_title("a new wave")
figure.tight_layout()
