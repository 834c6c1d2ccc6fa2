"""
Paths of optimizers
===================

Where SGD, SGD with momentum, RMSprop and Adam go on Rosenbrock's function, whose minimum lies at the end of a flat and
bent valley. The optimizers are PyTorch's classes; their steps have PyTorch's numbers.
"""

import matplotlib.pyplot as plt
import torch


def rosenbrock(x, y):
    """(1 - x)^2 + 100 (y - x^2)^2, whose minimum is at (1, 1)."""
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


# %%
# A path is the list of points that an optimizer visits.


def path(make, steps=200):
    """The points that `make([point])` visits from (-1.5, 1.5)."""
    point = torch.tensor([-1.5, 1.5], requires_grad=True)
    optimizer = make([point])
    visited = [point.detach().clone()]
    for _ in range(steps):
        optimizer.zero_grad()
        rosenbrock(*point).backward()
        optimizer.step()
        visited.append(point.detach().clone())
    return torch.stack(visited)


paths = {
    "SGD": path(lambda p: torch.optim.SGD(p, lr=5e-4)),
    "momentum": path(lambda p: torch.optim.SGD(p, lr=5e-4, momentum=0.9)),
    "RMSprop": path(lambda p: torch.optim.RMSprop(p, lr=2e-2)),
    "Adam": path(lambda p: torch.optim.Adam(p, lr=1e-1)),
}

# %%
# The paths on the function's level lines, and the function along them.

side = torch.linspace(-2, 2, 200), torch.linspace(-1, 3, 200)
height = rosenbrock(*torch.meshgrid(*side, indexing="xy"))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.contour(*side, height.log(), levels=20, cmap="Greys")
for name, points in paths.items():
    left.plot(*points.T, ".-", markersize=3, linewidth=1, label=name)
    right.semilogy(rosenbrock(*points.T), label=name)
left.plot(1, 1, "k*", markersize=12)
left.set(xlim=(-2, 2), ylim=(-1, 3), title="paths")
right.set(title="Rosenbrock's function", xlabel="step")
right.legend()
figure.tight_layout()
