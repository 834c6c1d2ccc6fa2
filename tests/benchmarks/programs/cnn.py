"""A small convolutional network with batch normalisation on 28 x 28 images, SGD, batch 64."""

import torch
from torch import nn

from ..supervised import classification


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(1024, 1, 28, 28), torch.randint(0, 10, (1024,))
    return classification(model, optimizer, x, y, batch=64)
