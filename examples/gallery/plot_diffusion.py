"""
A diffusion model draws digits
==============================

A network learns to tell the image behind a noisy digit, whose name it is given. Starting from noise alone, and going
a little towards what it tells in each of 60 steps, it draws the digit it is asked for. The functional face:
parameters are a dict, training and drawing are two loops inside compiled functions.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc
from functorch_core import optax

STEPS = 60
data = np.load("../digits.npz")
images = fc.asarray(data["images"].reshape(-1, 64).astype(np.float32)) / 8 - 1
labels = fc.asarray(data["labels"].astype(np.int64))

# %%
# How much of the image is left after each step of adding noise.

betas = fc.linspace(1e-3, 0.12, STEPS)
left = fc.cumulative_prod(1 - betas)


def init(key, width=256):
    """Weights of a network (image, digit, time) -> image."""
    sizes = [(64 + 10 + 16, width), (width, width), (width, 64)]
    keys = fc.random.split(key, len(sizes))
    return [{"w": fc.random.normal(k, s) * (2 / s[0]) ** 0.5, "b": fc.zeros(s[1])} for k, s in zip(keys, sizes)]


def told_image(params, x, digit, t):
    """The image behind the noisy image x of a digit at step t."""
    angles = (t + 1) / STEPS * fc.exp(fc.arange(8.0) * 0.6)
    x = fc.concat([x, fc.one_hot(digit, 10), fc.sin(angles), fc.cos(angles)])
    for layer in params[:-1]:
        x = fc.silu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params, key, x, digit):
    """The error of the told image, for one image at a random step."""
    for_step, for_noise = fc.random.split(key)
    t = fc.random.randint(for_step, (), 0, STEPS)
    noise = fc.random.normal(for_noise, (64,))
    noisy = fc.sqrt(left[t]) * x + fc.sqrt(1 - left[t]) * noise
    return ((told_image(params, noisy, digit, t) - x) ** 2).mean()


# %%
# Training: 2,500 steps in one compiled loop.

optimizer = optax.adam(optax.cosine_decay_schedule(3e-3, 2500))


def step(state, key):
    """One step of Adam on a batch of 128 digits."""
    params, moments = state
    for_batch, for_loss = fc.random.split(key)
    chosen = fc.random.randint(for_batch, (128,), 0, len(images))
    keys = fc.random.split(for_loss, 128)
    mean_loss = lambda p: fc.vmap(loss, in_axes=(None, 0, 0, 0))(p, keys, images[chosen], labels[chosen]).mean()
    value, gradient = fc.value_and_grad(mean_loss)(params)
    updates, moments = optimizer.update(gradient, moments, params)
    return (optax.apply_updates(params, updates), moments), value


params = init(fc.random.key(0))
keys = fc.random.split(fc.random.key(1), 2500)
(params, _), losses = fc.jit(lambda state, keys: fc.scan(step, state, keys))((params, optimizer.init(params)), keys)

# %%
# Drawing: from noise alone, each step tells what the image would be and goes there as far as the step before allows.
# One image is drawn by ``draw``; ``vmap`` draws 50.


@fc.jit
def draw(params, key, digit):
    """One image of a digit, at every step of drawing it."""

    def back(x, t):
        image = fc.clip(told_image(params, x, digit, t), -1.0, 1.0)
        noise = (x - fc.sqrt(left[t]) * image) / fc.sqrt(1 - left[t])
        before = fc.where(t > 0, left[t - 1], 1.0)
        x = fc.sqrt(before) * image + fc.sqrt(1 - before) * noise
        return x, x

    return fc.scan(back, fc.random.normal(key, (64,)), fc.arange(STEPS - 1, -1, -1))[1]


digits = fc.arange(50) % 10
drawn = fc.vmap(draw, in_axes=(None, 0, 0))(params, fc.random.split(fc.random.key(2), 50), digits)
drawn = np.asarray(drawn).reshape(50, STEPS, 8, 8)

figure, axes = plt.subplots(figsize=(7, 1.8))
axes.plot(np.convolve(losses, np.ones(30) / 30, "valid"))
axes.set(title="loss, mean of 30 steps", xlabel="step")

# %%
# Five digits of each kind, and at the bottom one on its way from noise.

# sphinx_gallery_thumbnail_number = 2
figure, rows = plt.subplots(6, 10, figsize=(7, 4.4))
on_its_way = drawn[3, np.linspace(5, STEPS - 1, 10).astype(int)]
for axes, image in zip(rows.flat, [*drawn[:, -1], *on_its_way]):
    axes.imshow(image, cmap="gray", vmin=-1, vmax=1)
    axes.axis("off")
