"""
Digits drawn by a variational autoencoder
=========================================

An autoencoder whose codes have two numbers learns to draw handwritten digits of 8 x 8 pixels. The first picture is its
map of the digits, the second what it draws for codes on a grid.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
data = np.load("../digits.npz")
images = torch.from_numpy(data["images"]).float().flatten(1) / 16
labels = data["labels"]


class VAE(nn.Module):
    """An encoder to a normal distribution over codes, and a decoder from codes to pixels."""

    def __init__(self, hidden=128, codes=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 2 * codes))
        self.decoder = nn.Sequential(nn.Linear(codes, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * torch.exp(log_variance / 2)
        return self.decoder(code), mean, log_variance


# %%
# The loss is the error of the drawn pixels and the divergence of the codes from a standard normal distribution.

model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(600):
    x = images[torch.randint(len(images), (128,))]
    logits, mean, log_variance = model(x)
    error = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
    optimizer.zero_grad()
    ((error + 0.3 * divergence) / len(x)).backward()
    optimizer.step()
    if step % 200 == 199:
        print(f"step {step + 1}: error {error / len(x):.2f}, divergence {divergence / len(x):.2f}")

# %%
# Where the digits lie.

with torch.no_grad():
    codes = model.encoder(images)[:, :2]
figure, axes = plt.subplots(figsize=(6, 5))
points = axes.scatter(*codes.T, c=labels, cmap="tab10", s=8)
figure.colorbar(points, label="digit", ticks=range(10))
axes.set_title("means of the codes")

# %%
# What is drawn for codes between -2 and 2.

n = 14
grid = torch.cartesian_prod(torch.linspace(2, -2, n), torch.linspace(-2, 2, n)).flip(1)
with torch.no_grad():
    drawn = model.decoder(grid).sigmoid().view(n, n, 8, 8)
# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(figsize=(6, 6))
axes.imshow(drawn.permute(0, 2, 1, 3).reshape(8 * n, 8 * n), cmap="gray")
axes.set(title="drawn digits", xticks=[], yticks=[])
