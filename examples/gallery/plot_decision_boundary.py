"""
A decision boundary
===================

A classifier of two interleaved half circles, written for PyTorch. The picture shows the probability that the network
gives to every point of the plane, and the loss on the way there.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

torch.manual_seed(0)

# %%
# Two half circles, with noise: 400 points and the half circle that each belongs to.

angle = torch.rand(400) * torch.pi
upper = torch.arange(400) % 2 == 0
x = torch.stack([angle.cos(), angle.sin()], 1)
x = torch.where(upper[:, None], x, torch.tensor([1.0, 0.5]) - x) + 0.12 * torch.randn(400, 2)
y = upper.float()

# %%
# A small network and a usual loop. What a step calls is recorded and runs as one program.

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _ in range(150):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())

accuracy = ((model(x).squeeze(1) > 0) == upper).float().mean()
print(f"{accuracy:.1%} of the points are on the right side")

# %%
# The network's probability on a grid of the plane.

side = torch.linspace(-1.6, 2.6, 120), torch.linspace(-1.2, 1.7, 120)
plane = torch.stack(torch.meshgrid(*side, indexing="xy"), -1)
with torch.no_grad():
    probability = model(plane).squeeze(-1).sigmoid()

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1.6, 1])
left.contourf(*side, probability, levels=20, cmap="RdBu", alpha=0.8)
left.contour(*side, probability, levels=[0.5], colors="black")
left.scatter(*x[upper].T, c="navy", s=10)
left.scatter(*x[~upper].T, c="darkred", s=10)
left.set_title("probability of the upper half circle")
right.semilogy(torch.stack(losses))
right.set(title="loss", xlabel="step")
figure.tight_layout()
