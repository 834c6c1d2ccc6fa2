"""
Sampling by Hamiltonian Monte Carlo
===================================

Samples of a bent distribution: a point is given a push and followed along the gradient of the density's logarithm.
A chain is one loop in a compiled function; ``fc.vmap`` runs 200 chains side by side.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc


def log_density(point):
    """The logarithm of a density along a parabola, up to a constant."""
    x, y = point
    return -0.5 * x**2 / 2 - 0.5 * (y - 0.6 * x**2 + 1) ** 2 / 0.15


force = fc.grad(log_density)


def leapfrog(state, _):
    """A step of the motion, which keeps the energy nearly."""
    point, push = state
    push = push + 0.06 * force(point)
    point = point + 0.12 * push
    return (point, push + 0.06 * force(point)), point


def transition(point, key):
    """A push, 20 steps, and the point they lead to if the energy allows it."""
    for_push, for_choice = fc.random.split(key)
    push = fc.random.normal(for_push, (2,))
    (found, end), way = fc.scan(leapfrog, (point, push), length=20)
    gain = log_density(found) - log_density(point) + 0.5 * (push**2).sum() - 0.5 * (end**2).sum()
    accepted = fc.log(fc.random.uniform(for_choice)) < gain
    return fc.where(accepted, found, point), (fc.where(accepted, found, point), accepted, way)


@fc.jit
def chain(key, start):
    """100 transitions."""
    return fc.scan(transition, start, fc.random.split(key, 100))[1]


starts = fc.random.normal(fc.random.key(0), (200, 2))
points, accepted, ways = fc.vmap(chain)(fc.random.split(fc.random.key(1), 200), starts)
samples = np.asarray(points[:, 20:]).reshape(-1, 2)
print(f"{float(accepted.astype(fc.float32).mean()):.0%} of the proposals were accepted")
print(f"x: mean {samples[:, 0].mean():+.2f} (should be 0), variance {samples[:, 0].var():.2f} (should be 2)")

side = np.linspace(-5, 5, 120), np.linspace(-3, 8, 120)
grid = fc.asarray(np.stack(np.meshgrid(*side), -1).astype(np.float32))
density = np.exp(fc.vmap(fc.vmap(log_density))(grid))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True)
left.contourf(*side, density, levels=12, cmap="Blues")
for way in np.asarray(ways[0, :12]):
    left.plot(*way.T, ".-", markersize=2, linewidth=0.8)
left.set_title("density, and the first 12 motions of a chain")
right.hist2d(*samples.T, bins=(side[0][::2], side[1][::2]), cmap="Blues")
right.set_title("16,000 samples")
figure.tight_layout()
