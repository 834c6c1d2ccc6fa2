"""
Phase portrait of a pendulum
============================

A damped pendulum, integrated by the method of Runge and Kutta inside ``fc.scan``; ``fc.vmap`` makes one trajectory
many. Where trajectories rest, the eigenvalues of the Jacobian (``fc.jacfwd``) say whether they stay.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc


def velocity(state):
    """How angle and angular velocity change."""
    angle, speed = state
    return fc.stack([speed, -fc.sin(angle) - 0.15 * speed])


def step(state, _):
    """A step of 0.05 by the classical method of fourth order."""
    h = 0.05
    k1 = velocity(state)
    k2 = velocity(state + h / 2 * k1)
    k3 = velocity(state + h / 2 * k2)
    k4 = velocity(state + h * k3)
    state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state, state


@fc.jit
@fc.vmap
def trajectory(start):
    """The states that follow a start."""
    return fc.scan(step, start, length=500)[1]


# %%
# 40 trajectories from both sides.

speeds = np.linspace(-3, 3, 20)
starts = np.concatenate([np.stack([np.full(20, side), speeds], 1) for side in (-7.0, 7.0)]).astype(np.float32)
paths = np.asarray(trajectory(fc.asarray(starts)))

# %%
# Rest points and whether they are stable: all eigenvalues of the Jacobian have negative real parts.

rest = [fc.asarray([n * np.pi, 0.0], dtype=fc.float32) for n in range(-2, 3)]
stable = [bool((fc.linalg.eigvals(fc.jacfwd(velocity)(point)).real < 0).all()) for point in rest]

figure, axes = plt.subplots(figsize=(8, 4.5))
for path in paths:
    axes.plot(*path.T, linewidth=0.7, color="steelblue")
grid = np.stack(np.meshgrid(np.linspace(-7, 7, 25), np.linspace(-3, 3, 15)), -1).astype(np.float32)
arrows = np.asarray(fc.vmap(fc.vmap(velocity))(fc.asarray(grid)))
axes.quiver(grid[..., 0], grid[..., 1], arrows[..., 0], arrows[..., 1], color="gray", width=0.0015)
for point, is_stable in zip(rest, stable):
    axes.plot(*point, "o", color="green" if is_stable else "red")
axes.set(xlabel="angle", ylabel="angular velocity", xlim=(-7, 7), ylim=(-3, 3), title="stable (green) and not (red)")
figure.tight_layout()
