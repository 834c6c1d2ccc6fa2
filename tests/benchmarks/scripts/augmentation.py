"""Image augmentation sample by sample: flips, crops, rotation, colour, erasing, normalising."""

import math
import random

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
random.seed(0)


class Images(Dataset):
    def __init__(self):
        self.images = torch.rand(400, 3, 32, 32)
        self.mean = torch.tensor([0.5, 0.4, 0.3])[:, None, None]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        if random.random() < 0.5:
            image = image.flip(-1)
        padded = F.pad(image, (4, 4, 4, 4))
        top, left = random.randrange(8), random.randrange(8)
        image = padded[:, top : top + 32, left : left + 32]
        angle = random.uniform(-0.3, 0.3)
        turn = torch.tensor([[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0]])
        grid = F.affine_grid(turn[None], (1, 3, 32, 32), align_corners=False)
        image = F.grid_sample(image[None], grid, align_corners=False)[0]
        image = (image * random.uniform(0.8, 1.2)).clamp(0, 1)
        image = image.clone()
        image[:, top : top + 4, left : left + 4] = 0.0
        return (image - self.mean) / 0.25, i % 10


total, n = 0.0, 0
for epoch in range(2):
    for images, labels in DataLoader(Images(), batch_size=50):
        total += images.abs().mean().item()
        n += len(labels)
print(n, f"{total:.2f}")
