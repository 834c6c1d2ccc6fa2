"""A U-Net with group normalisation and SiLU that takes noise out of 32 x 32 images, Adam, batch 8."""

import torch
from torch import nn
from torch.nn import functional as F

from . import compiled


class Block(nn.Module):
    """Two convolutions behind group normalisations; the input is added."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(8, n_in), nn.GroupNorm(8, n_out)])
        self.convolutions = nn.ModuleList([nn.Conv2d(n_in, n_out, 3, padding=1), nn.Conv2d(n_out, n_out, 3, padding=1)])
        self.short = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x):
        h = x
        for norm, convolution in zip(self.norms, self.convolutions):
            h = convolution(F.silu(norm(h)))
        return self.short(x) + h


class UNet(nn.Module):
    """Two levels down, two up, with the maps of the way down beside those of the way up."""

    def __init__(self, width=32):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.down = nn.ModuleList([Block(width, width), Block(width, 2 * width)])
        self.narrow = nn.ModuleList([nn.Conv2d(n, n, 3, 2, 1) for n in (width, 2 * width)])
        self.middle = Block(2 * width, 2 * width)
        self.widen = nn.ModuleList([nn.ConvTranspose2d(n, n, 4, 2, 1) for n in (2 * width, width)])
        self.up = nn.ModuleList([Block(4 * width, width), Block(2 * width, width)])

    def forward(self, x):
        h, kept = self.first(x), []
        for block, narrow in zip(self.down, self.narrow):
            kept.append(block(h))
            h = narrow(kept[-1])
        h = self.middle(h)
        for block, widen in zip(self.up, self.widen):
            h = block(torch.cat([widen(h), kept.pop()], 1))
        return self.last(F.silu(h))


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = UNet()
    denoise = compiled(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, noise = torch.randn(64, 3, 32, 32), torch.randn(64, 3, 32, 32)
    starts = iter(range(0, 10**9, 8))

    def step():
        first = next(starts) % 64
        clean, added = images[first : first + 8], noise[first : first + 8]
        loss = F.mse_loss(denoise(clean + added), added)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step
