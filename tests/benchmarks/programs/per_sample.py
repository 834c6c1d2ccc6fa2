"""Private training: gradients of 64 samples each of a small CNN by `vmap(grad)`, clipped, SGD."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn import functional as F

from . import compiled

BATCH, LIMIT, RATE = 64, 1.0, 0.1


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip
    params = {k: v.detach() for k, v in model.named_parameters()}
    x, y = torch.randn(8 * BATCH, 1, 28, 28), torch.randint(10, (8 * BATCH,))
    starts = iter(range(0, 10**9, BATCH))

    def loss_of_one(params, x, y):
        return F.cross_entropy(functional_call(model, params, (x[None],)), y[None])

    @compiled
    def clipped(params, x, y):
        grads, losses = vmap(grad_and_value(loss_of_one), in_dims=(None, 0, 0))(params, x, y)
        norms = sum(g.flatten(1).square().sum(1) for g in grads.values()).sqrt()
        factor = (LIMIT / (norms + 1e-6)).clamp(max=1.0)
        means = {k: torch.einsum("n,n...->...", factor, g) / BATCH for k, g in grads.items()}
        return {k: v - RATE * means[k] for k, v in params.items()}, losses.mean()

    def step():
        nonlocal params
        first = next(starts) % len(x)
        params, loss = clipped(params, x[first : first + BATCH], y[first : first + BATCH])
        return loss

    return step
