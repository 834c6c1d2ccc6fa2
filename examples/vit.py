"""A Vision Transformer on handwritten digits: 16 patches of 2 x 2 pixels and a class token.

python -m functorch_core examples/vit.py
python examples/vit.py                                        (under PyTorch)
"""

import argparse
import math
import os
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

HERE = os.path.dirname(os.path.abspath(__file__))


class VisionTransformer(nn.Module):
    """Patch embedding, encoder, and a linear layer on the class token."""

    def __init__(self, size, patch, width, layers, heads, classes, dropout):
        super().__init__()
        self.embedding = nn.Conv2d(1, width, kernel_size=patch, stride=patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.empty(1, 1 + (size // patch) ** 2, width))
        nn.init.trunc_normal_(self.position, std=0.02)
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            dim_feedforward=4 * width,
            dropout=dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        x = self.embedding(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.encoder(x)[:, 0]))


def digits():
    """The images, normalised, and the digits they show."""
    with np.load(os.path.join(HERE, "digits.npz")) as data:
        images = torch.from_numpy(data["images"]).float().unsqueeze(1)
        labels = torch.from_numpy(data["labels"]).long()
    return TensorDataset((images - images.mean()) / images.std(), labels)


@torch.no_grad()
def accuracy(model, dataset):
    model.eval()
    correct = 0
    for images, labels in DataLoader(dataset, batch_size=120):
        correct += (model(images).argmax(-1) == labels).sum().item()
    return correct / len(dataset)


def parameter_groups(model, decay):
    """Weight decay for matrices only."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def endless(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=20, help="steps between two printed losses")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=50, help="steps of growing learning rate")
    parser.add_argument("--test", action="store_true", help="print the accuracy at the end")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = random_split(digits(), [1437, 360])
    batches = endless(DataLoader(train_set, args.batch, shuffle=True, drop_last=True))
    model = VisionTransformer(8, 2, args.width, args.layers, 4, 10, args.dropout)
    optimizer = torch.optim.AdamW(parameter_groups(model, 0.05), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / args.warmup, 0.5 + 0.5 * math.cos(math.pi * step / args.steps))
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    start = time.perf_counter()
    for step in range(args.steps):
        images, labels = next(batches)
        loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % args.every == 0 or step == args.steps - 1:
            print(f"step {step:4d}: loss {loss.item():.6f}, {time.perf_counter() - start:.2f} s")
    if args.test:
        print(f"test accuracy: {accuracy(model, test_set):.3f}")


if __name__ == "__main__":
    main()
