"""A network for sequences trained on batches of 40 lengths in turn."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
total = 0.0
for step in range(600):
    x = torch.randn(4, 10 + step * 7 % 40, 16)
    loss = nn.functional.mse_loss(model(x), x.flip(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"{loss.item():.4f}")
