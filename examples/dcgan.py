"""A deep convolutional generative adversarial network that draws digits of 16 x 16 pixels.

(SiLU instead of the paper's leaky ReLU: the game amplifies rounding errors less without kinks.)

    python -m functorch_core examples/dcgan.py
    python examples/dcgan.py                                      (under PyTorch)
"""

import argparse
import os
import time

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader

HERE = os.path.dirname(os.path.abspath(__file__))
SHADES = " .:-=+*#%@"


class Generator(nn.Module):
    """Noise (n x codes x 1 x 1) to images with values in [-1, 1]."""

    def __init__(self, codes, width):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(codes, width * 2, 4, 1, 0, bias=False),  # 4 x 4
            nn.BatchNorm2d(width * 2),
            nn.SiLU(),
            nn.ConvTranspose2d(width * 2, width, 4, 2, 1, bias=False),  # 8 x 8
            nn.BatchNorm2d(width),
            nn.SiLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False),  # 16 x 16
            nn.Tanh(),
        )

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    """Images to the probability that they are real."""

    def __init__(self, width):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1, bias=False),  # 8 x 8
            nn.SiLU(),
            nn.Conv2d(width, width * 2, 4, 2, 1, bias=False),  # 4 x 4
            nn.BatchNorm2d(width * 2),
            nn.SiLU(),
            nn.Conv2d(width * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, images):
        return self.main(images).view(-1)


def initialize(module):
    """The initial values of the paper, for `Module.apply`."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.constant_(module.bias, 0)


def digits():
    """All digits, n x 1 x 16 x 16, values in [-1, 1]."""
    with np.load(os.path.join(HERE, "digits.npz")) as data:
        images = torch.from_numpy(data["images"]).float().unsqueeze(1) / 16
    return F.interpolate(images, scale_factor=2, mode="bilinear", align_corners=False) * 2 - 1


def endless(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=25, help="steps between two printed losses")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--codes", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--show", action="store_true", help="print samples at the end")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    batches = endless(DataLoader(digits(), args.batch, shuffle=True, drop_last=True))
    generator = Generator(args.codes, args.width).apply(initialize)
    discriminator = Discriminator(args.width).apply(initialize)
    criterion = nn.BCELoss()
    optimizer_d = optim.Adam(discriminator.parameters(), lr=args.lr, betas=(0.5, 0.999))
    optimizer_g = optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.999))

    start = time.perf_counter()
    for step in range(args.steps):
        real = next(batches)
        label = torch.full((len(real),), 1.0)
        discriminator.zero_grad()  # the discriminator, on real images
        loss_real = criterion(discriminator(real), label)
        loss_real.backward()
        fake = generator(torch.randn(len(real), args.codes, 1, 1))
        label.fill_(0.0)  # and on generated ones
        loss_fake = criterion(discriminator(fake.detach()), label)
        loss_fake.backward()
        loss_d = loss_real + loss_fake
        optimizer_d.step()

        generator.zero_grad()  # the generator wants to pass as real
        label.fill_(1.0)
        loss_g = criterion(discriminator(fake), label)
        loss_g.backward()
        optimizer_g.step()
        if step % args.every == 0 or step == args.steps - 1:
            print(
                f"step {step:4d}: discriminator loss {loss_d.item():.6f}, generator "
                f"loss {loss_g.item():.6f}, {time.perf_counter() - start:.2f} s"
            )
    if args.show:
        with torch.no_grad():
            image = generator.eval()(torch.randn(1, args.codes, 1, 1))[0, 0]
        for row in ((image + 1) / 2 * (len(SHADES) - 1)).round().int().tolist():
            print("".join(SHADES[v] for v in row))


if __name__ == "__main__":
    main()
