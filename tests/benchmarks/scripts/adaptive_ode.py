"""An adaptive Runge-Kutta solver whose steps depend on the error, and a field fitted through it."""

import torch
from torch import nn

torch.manual_seed(0)
field = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)).double()


def solve(f, y, end, tolerance=1e-3):
    t, h = 0.0, 0.1
    while t < end:
        h = min(h, end - t)
        k1 = f(y)
        k2 = f(y + h * k1 / 2)
        k3 = f(y + 0.75 * h * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = f(new)
        error = (h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).abs().max().item()
        if error < tolerance:
            t, y = t + h, new
        h *= min(2.0, max(0.3, 0.9 * (tolerance / (error + 1e-12)) ** (1 / 3)))
    return y


spiral = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=torch.float64)
start = torch.randn(16, 2, dtype=torch.float64)
with torch.no_grad():
    wanted = solve(lambda y: y @ spiral.T, start, 1.0)
optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
for _ in range(60):
    loss = (solve(field, start, 1.0) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
