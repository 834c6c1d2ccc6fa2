"""Training that waits for its data: 2 workers, images augmented by NumPy, a small model."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from . import compiled

IMAGES, BATCH = 2048, 64


class Images(Dataset):
    """Random images: a crop, a flip, a normalisation."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 255, (IMAGES, 3, 40, 40), np.uint8)
        self.labels = rng.integers(0, 10, IMAGES)

    def __len__(self):
        return IMAGES

    def __getitem__(self, i):
        y, x = i % 8, i // 8 % 8
        image = self.images[i, :, y : y + 32, x : x + 32]
        if i % 2:
            image = image[:, :, ::-1]
        return (image.astype(np.float32) - 127) / 64, self.labels[i]


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    network = compiled(model)
    loader = DataLoader(Images(), BATCH, shuffle=True, num_workers=2, persistent_workers=True)

    def endless():
        while True:
            yield from loader

    batches = endless()

    def step():
        x, y = next(batches)
        loss = nn.functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step
