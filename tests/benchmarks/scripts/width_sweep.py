"""A sweep over widths and learning rates: every model is new, and trained for a few steps."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x.prod(1, keepdim=True).tanh()
results = {}
for width in range(8, 88, 8):
    for lr in (1e-3, 1e-2):
        model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        for _ in range(30):
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        results[width, lr] = loss.item()
best = min(results, key=results.get)
print(best[1], f"{results[best]:.3f}")
