"""A 3-layer network on vectors of 784 numbers, Adam, batch 64."""

import torch
from torch import nn

from ..supervised import classification


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(4096, 784), torch.randint(0, 10, (4096,))
    return classification(model, optimizer, x, y, batch=64)
