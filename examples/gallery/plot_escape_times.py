"""
A loop that ends when it ends
=============================

How long a point of the plane stays near zero under z -> z^2 + c. ``fc.while_loop`` goes on until a point has escaped;
``fc.vmap`` makes one point a picture, and ``fc.grad`` of the smooth count shades it.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc

MOST = 60


def escape_time(a, b):
    """The smooth number of turns that c = a + bi takes to leave a disc of radius 8."""

    def goes_on(state):
        n, x, y = state
        return (n < MOST) & (x * x + y * y < 64.0)

    def turn(state):
        n, x, y = state
        return n + 1, x * x - y * y + a, 2 * x * y + b

    n, x, y = fc.while_loop(goes_on, turn, (0, fc.zeros_like(a), fc.zeros_like(b)), max_steps=MOST)
    size = fc.maximum(fc.log(x * x + y * y), 1e-3)
    return fc.where(n < MOST, n - fc.log2(size / np.log(64.0)), float(MOST))


def shaded(a, b):
    """The time, and the slope of the time from the lower left to the upper right."""
    time, slopes = fc.value_and_grad(escape_time, argnums=(0, 1))(a, b)
    return time, (slopes[0] + slopes[1]) / (1e-6 + fc.hypot(*slopes))


side = np.linspace(-2.1, 0.7, 280, dtype=np.float32), np.linspace(-1.15, 1.15, 230, dtype=np.float32)
a, b = map(fc.asarray, np.meshgrid(*side))
times, slopes = fc.jit(fc.vmap(fc.vmap(shaded)))(a, b)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4))
for panel, what, colours in zip(axes, (fc.log1p(fc.maximum(times, 0.0)), slopes), ("twilight_shifted", "gray")):
    panel.imshow(what, cmap=colours, origin="lower", extent=(side[0][0], side[0][-1], side[1][0], side[1][-1]))
    panel.axis("off")
axes[0].set_title("time until escape")
axes[1].set_title("shaded by its gradient")
figure.tight_layout()
