"""A mobile network: inverted residuals with depthwise convolutions, 64 x 64 images, SGD, batch 16."""

import torch
from torch import nn

from ..supervised import classification


class Inverted(nn.Module):
    """Wider by a 1 x 1 convolution, a depthwise 3 x 3 one, narrow again; the input is added."""

    def __init__(self, n_in, n_out, stride, expansion=4):
        super().__init__()
        wide = n_in * expansion
        self.block = nn.Sequential(
            nn.Conv2d(n_in, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, n_out, 1, bias=False), nn.BatchNorm2d(n_out),
        )  # fmt: skip
        self.residual = stride == 1 and n_in == n_out

    def forward(self, x):
        return x + self.block(x) if self.residual else self.block(x)


def network(classes=10):
    """Eight blocks of 16 to 96 channels."""
    widths = [(16, 24, 2), (24, 24, 1), (24, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 96, 1), (96, 96, 1)]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
        *[Inverted(*each) for each in widths],
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, classes),
    )  # fmt: skip


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    x, y = torch.randn(128, 3, 64, 64), torch.randint(0, 10, (128,))
    return classification(model, optimizer, x, y, batch=16)
