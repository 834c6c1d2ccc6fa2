"""Resizing."""

from __future__ import annotations

from .. import functional as F
from .module import Module


class Upsample(Module):
    """(N, C, ...) resized to `size`, or by `scale_factor`.

    mode is nearest, nearest-exact, linear, bilinear, bicubic or trilinear.

    A size is multiplied by scale_factor, rounded down. ValueError for both and for neither, NotImplementedError for
    a mode of other numbers of dimensions.

    >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1., 2.]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    name: str
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state):
        super().__setstate__({"recompute_scale_factor": True, **state})

    def extra_repr(self):
        by_size = self.scale_factor is None
        shown = f"size={self.size!r}" if by_size else f"scale_factor={self.scale_factor!r}"
        return f"{shown}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """(N, C, H, W) resized with the nearest pixels.

    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 1, 2))
    tensor([[[[1., 1., 1., 1.],
              [1., 1., 1., 1.]]]])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """(N, C, H, W) resized bilinearly, corners on corners.

    >>> torch.nn.UpsamplingBilinear2d(scale_factor=2)(torch.zeros(1, 1, 2, 3)).shape
    torch.Size([1, 1, 4, 6])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
