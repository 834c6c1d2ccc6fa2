"""A neural ODE: 20 steps of Runge-Kutta of order 4 through an MLP 64 wide, batch 64, Adam."""

import torch
from torch import nn
from torch.nn import functional as F

from . import compiled

STEPS, BATCH = 20, 64


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    begin = torch.randn(8 * BATCH, 2)
    end = begin @ torch.tensor([[0.5, -0.8], [0.8, 0.5]])
    starts = iter(range(0, 10**9, BATCH))

    @compiled
    def solution(x):
        h = 1.0 / STEPS
        for _ in range(STEPS):
            a = model(x)
            b = model(x + h / 2 * a)
            c = model(x + h / 2 * b)
            d = model(x + h * c)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return x

    def step():
        first = next(starts) % len(begin)
        loss = F.mse_loss(solution(begin[first : first + BATCH]), end[first : first + BATCH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step
