"""A small detector with a pyramid of features, on images of ever other heights and widths."""

import random

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
random.seed(0)


class Detector(nn.Module):
    """Four strided convolutions; classes and boxes from three of their results, each with what lies above added."""

    def __init__(self):
        super().__init__()
        widths = [3, 16, 32, 64, 64]
        self.body = nn.ModuleList(
            [nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(8, b), nn.ReLU()) for a, b in zip(widths, widths[1:])]
        )
        self.lateral = nn.ModuleList([nn.Conv2d(width, 32, 1) for width in widths[2:]])
        self.classes, self.boxes = nn.Conv2d(32, 4, 3, padding=1), nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, x):
        features, found, above = [], [], None
        for layer in self.body:
            x = layer(x)
            features.append(x)
        for layer, y in zip(reversed(self.lateral), reversed(features[1:])):
            y = layer(y)
            above = y if above is None else y + F.interpolate(above, size=y.shape[-2:], mode="nearest")
            found.append((self.classes(above), self.boxes(above)))
        return found


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(60):
    image = torch.rand(1, 3, random.randrange(96, 192), random.randrange(96, 192))
    loss = 0.0
    for classes, boxes in model(image):
        classes, boxes = (y.permute(0, 2, 3, 1).reshape(-1, 4) for y in (classes, boxes))
        labels = torch.randint(0, 4, (len(classes),))
        found = boxes[labels > 0]
        loss = loss + F.cross_entropy(classes, labels) + F.smooth_l1_loss(found, torch.zeros_like(found))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        print(step, f"{loss.item():.3f}")
