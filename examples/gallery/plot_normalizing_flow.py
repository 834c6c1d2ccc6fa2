"""
A flow from noise to two moons
==============================

Layers that can be inverted turn a normal distribution into the distribution of points on two half circles. As the
determinant of each layer is known, so is the density. Written with PyTorch's modules.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

torch.manual_seed(0)


class Coupling(nn.Module):
    """Scales and moves one coordinate by what a network says of the other."""

    def __init__(self, kept):
        super().__init__()
        self.kept = kept
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x, backwards=False):
        kept, moved = x[:, [self.kept]], x[:, [1 - self.kept]]
        log_scale, shift = self.net(kept).chunk(2, dim=1)
        log_scale = 2 * torch.tanh(log_scale / 2)
        moved = (moved - shift) * torch.exp(-log_scale) if backwards else moved * torch.exp(log_scale) + shift
        return torch.cat([kept, moved] if self.kept == 0 else [moved, kept], dim=1), log_scale.squeeze(1)


class Flow(nn.Module):
    """Layers from points to noise; backwards from noise to points."""

    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2) for i in range(layers))

    def log_density(self, x):
        """The logarithm of the density at each point."""
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, log_scale = layer(x)
            total = total + log_scale
        return total + torch.distributions.Normal(0.0, 1.0).log_prob(x).sum(1)

    def sample(self, n):
        """Points made of noise."""
        x = torch.randn(n, 2)
        for layer in reversed(self.layers):
            x, _ = layer(x, backwards=True)
        return x


def moons(n):
    """Points of two half circles."""
    angle = torch.rand(n) * torch.pi
    upper = torch.stack([angle.cos(), angle.sin()], 1)
    lower = torch.tensor([1.0, 0.5]) - upper
    return torch.where((torch.arange(n) % 2 == 0)[:, None], upper, lower) + 0.08 * torch.randn(n, 2)


# %%
# The likelihood of points that are drawn anew for each step is made as large as it gets.

flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
losses = []
for _ in range(300):
    loss = -flow.log_density(moons(256)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
print(f"mean logarithm of the density: {-losses[0]:.2f} at first, {-losses[-1]:.2f} at the end")

side = torch.linspace(-1.6, 2.6, 100), torch.linspace(-1.2, 1.7, 100)
plane = torch.stack(torch.meshgrid(*side, indexing="xy"), -1).reshape(-1, 2)
with torch.no_grad():
    density = flow.log_density(plane).exp().reshape(100, 100)
    drawn = flow.sample(1500)

figure, axes = plt.subplots(1, 3, figsize=(11, 3))
axes[0].plot(torch.stack(losses))
axes[0].set(title="loss", xlabel="step")
axes[1].contourf(*side, density, levels=20)
axes[1].set_title("density")
axes[2].scatter(*drawn.T, s=3)
axes[2].set(title="points made of noise", xlim=(-1.6, 2.6), ylim=(-1.2, 1.7))
figure.tight_layout()
