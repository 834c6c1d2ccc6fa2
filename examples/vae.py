"""A variational autoencoder of handwritten digits.

python -m functorch_core examples/vae.py
python examples/vae.py                                        (under PyTorch)
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
SHADES = " .:-=+*#%@"


class VAE(nn.Module):
    """An encoder to a normal distribution over codes, and a decoder from codes to images."""

    def __init__(self, pixels, hidden, codes):
        super().__init__()
        self.codes = codes
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, codes)
        self.log_variance = nn.Linear(hidden, codes)
        self.decoder = nn.Sequential(
            nn.Linear(codes, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, pixels),
            nn.Sigmoid(),
        )

    def encode(self, x):
        h = self.encoder(x)
        return self.mean(h), self.log_variance(h)

    def reparameterize(self, mean, log_variance):
        """A sample of the code, differentiable with respect to the distribution."""
        std = torch.exp(0.5 * log_variance)
        return mean + torch.randn_like(std) * std

    def forward(self, x):
        mean, log_variance = self.encode(x.flatten(1))
        return self.decoder(self.reparameterize(mean, log_variance)), mean, log_variance

    @torch.no_grad()
    def sample(self, n):
        return self.decoder(torch.randn(n, self.codes)).view(n, 8, 8)


def loss_function(reconstruction, x, mean, log_variance):
    """Reconstruction error, and divergence of the code from a standard normal (a sample)."""
    error = F.binary_cross_entropy(reconstruction, x.flatten(1), reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return error / len(x), divergence / len(x)


def show(images):
    """Print images side by side."""
    shades = (images.clamp(0, 1) * (len(SHADES) - 1)).round().int().tolist()
    for rows in zip(*shades, strict=True):
        print("   ".join("".join(SHADES[v] for v in row) for row in rows))


def endless(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=50, help="steps between two printed losses")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--codes", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--show", action="store_true", help="print samples at the end")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    with np.load(os.path.join(HERE, "digits.npz")) as data:
        images = torch.from_numpy(data["images"]).float() / 16
    loader = DataLoader(TensorDataset(images), args.batch, shuffle=True, drop_last=True)
    batches = endless(loader)
    model = VAE(64, args.hidden, args.codes)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    model.train()
    start = time.perf_counter()
    for step in range(args.steps):
        (x,) = next(batches)
        reconstruction, mean, log_variance = model(x)
        error, divergence = loss_function(reconstruction, x, mean, log_variance)
        loss = error + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.every == 0 or step == args.steps - 1:
            print(
                f"step {step:4d}: loss {loss.item():.6f}, error {error.item():.4f}, "
                f"divergence {divergence.item():.4f}, {time.perf_counter() - start:.2f} s"
            )
    if args.show:
        show(model.sample(6))


if __name__ == "__main__":
    main()
