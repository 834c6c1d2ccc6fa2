"""The ResNet-18 of the examples on 32 x 32 images, SGD, batch 32."""

import torch

from examples.resnet import ResNet

from ..supervised import classification


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = ResNet([2, 2, 2, 2], 64, classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    x, y = torch.randn(256, 3, 32, 32), torch.randint(0, 10, (256,))
    return classification(model, optimizer, x, y, batch=32)
