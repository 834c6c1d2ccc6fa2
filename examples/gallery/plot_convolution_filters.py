"""
What a convolutional network sees
=================================

A small network for digits, written for PyTorch: its filters, the feature maps of one digit, and the pixels on which
its answer depends, by a gradient with respect to the image.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
data = np.load("../digits.npz")
images = torch.from_numpy(data["images"]).float()[:, None] / 16
labels = torch.from_numpy(data["labels"]).long()

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(16 * 4 * 4, 10),
)

# %%
# Training on 1,500 images; the rest is for testing.

optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(150):
    chosen = torch.randint(1500, (128,))
    loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    right = model(images[1500:]).argmax(1) == labels[1500:]
print(f"test accuracy: {right.float().mean():.3f}")

# %%
# A hook keeps what the first layer gives; the gradient of the answer says which pixels it depends on.

kept = []
handle = model[1].register_forward_hook(lambda module, inputs, output: kept.append(output.detach()))
digit = images[1503:1504].clone().requires_grad_()
answer = model(digit)
answer.max().backward()
handle.remove()

figure, rows = plt.subplots(2, 9, figsize=(11, 3))
rows[0, 0].imshow(digit[0, 0].detach(), cmap="gray")
rows[0, 0].set_title(f"a {answer.argmax()}")
rows[1, 0].imshow(digit.grad[0, 0].abs(), cmap="inferno")
rows[1, 0].set_title("gradient", fontsize=9)
for i in range(8):
    rows[0, i + 1].imshow(model[0].weight[i, 0].detach(), cmap="RdBu", vmin=-1, vmax=1)
    rows[1, i + 1].imshow(kept[0][0, i], cmap="gray")
for panel in rows.flat:
    panel.axis("off")
figure.suptitle("filters of the first layer (above) and what they give")
figure.tight_layout()
