"""ResNet-18 on 32 x 32 images: handwritten digits, enlarged and painted in random colours.

python -m functorch_core examples/resnet.py
python examples/resnet.py                                     (under PyTorch)
"""

import argparse
import os
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

HERE = os.path.dirname(os.path.abspath(__file__))
N_TRAIN = 1437  # four fifths; the rest is for testing


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions and a shortcut; the first may halve the resolution."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.bn2.weight)  # a block starts as its shortcut (Goyal et al. 2017)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return self.relu(y)


class ResNet(nn.Module):
    """Four stages of blocks, each twice as wide and half as large as the one before."""

    def __init__(self, blocks, width, classes):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        channels = width
        for stage, n in enumerate(blocks):
            for i in range(n):
                stride = 2 if stage > 0 and i == 0 else 1
                layers.append(BasicBlock(channels, width * 2**stage, stride))
                channels = width * 2**stage
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(channels, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return self.classify(torch.flatten(self.pool(self.features(x)), 1))


def coloured_digits():
    """Training and test sets of (image 3 x 32 x 32 with values in [-1, 1], digit)."""
    with np.load(os.path.join(HERE, "digits.npz")) as data:
        ink = torch.from_numpy(data["images"]).float().unsqueeze(1) / 16
        labels = torch.from_numpy(data["labels"].astype(np.int64))
    ink = F.interpolate(ink, size=(32, 32), mode="bilinear", align_corners=False)
    paper = 0.4 * torch.rand(len(ink), 3, 1, 1)
    pen = 0.5 + 0.5 * torch.rand(len(ink), 3, 1, 1)
    images = 2 * (ink * pen + (1 - ink) * paper) - 1
    order = torch.randperm(len(labels))
    return [TensorDataset(images[i], labels[i]) for i in (order[:N_TRAIN], order[N_TRAIN:])]


@torch.no_grad()
def accuracy(model, dataset):
    model.eval()
    correct = 0
    for images, labels in DataLoader(dataset, batch_size=90):
        correct += (model(images).argmax(1) == labels).sum().item()
    return correct / len(dataset)


def endless(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=5, help="steps between two printed losses")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage")
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--warmup", type=int, default=220, help="steps of growing learning rate")
    parser.add_argument("--test", action="store_true", help="print the accuracy at the end")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = coloured_digits()
    batches = endless(DataLoader(train_set, batch_size=args.batch, shuffle=True, drop_last=True))
    model = ResNet([2, 2, 2, 2], args.width, classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=args.warmup)

    start = time.perf_counter()
    for step in range(args.steps):
        images, labels = next(batches)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % args.every == 0 or step == args.steps - 1:
            print(f"step {step:4d}: loss {loss.item():.6f}, {time.perf_counter() - start:.2f} s")
    if args.test:
        print(f"test accuracy: {accuracy(model, test_set):.3f}")


if __name__ == "__main__":
    main()
