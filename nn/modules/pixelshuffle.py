"""Channels as pixels, and back."""

from __future__ import annotations

from .. import functional as F
from ._described import Described


class PixelShuffle(Described):
    """(..., C * r^2, H, W) as (..., C, H * r, W * r).

    RuntimeError for channels that r^2 does not divide, and for fewer than 3 dimensions.

    >>> nn.PixelShuffle(2)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 1, 6, 6])
    """

    upscale_factor: int

    _shown = "upscale_factor={upscale_factor}"

    def __init__(self, upscale_factor: int):
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Described):
    """(..., C, H * r, W * r) as (..., C * r^2, H, W).

    RuntimeError for sizes that r does not divide, and for fewer than 3 dimensions.

    >>> torch.nn.PixelUnshuffle(2)(torch.zeros(1, 1, 4, 4)).shape
    torch.Size([1, 4, 2, 2])
    """

    downscale_factor: int

    _shown = "downscale_factor={downscale_factor}"

    def __init__(self, downscale_factor: int):
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


__all__ = ["PixelShuffle", "PixelUnshuffle"]
