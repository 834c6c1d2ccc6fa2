"""Blocks of images as columns, and back."""

from __future__ import annotations

from .. import functional as F
from ._described import Described


class Fold(Described):
    """Sums of the columns (N, C * product of kernel_size, L) put back as blocks (N, C, H, W).

    L is the product of (H + 2 padding - dilation (K - 1) - 1) // stride + 1 over both dimensions, RuntimeError
    otherwise.

    >>> nn.Fold((4, 4), 2)(torch.ones(1, 12, 9)).shape
    torch.Size([1, 3, 4, 4])
    """

    _shown = (
        "output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"
    )

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Described):
    """The sliding blocks of (N, C, H, W) as columns (N, C * product of kernel_size, L).

    L is the product of (H + 2 padding - dilation (K - 1) - 1) // stride + 1 over both dimensions; RuntimeError for
    blocks that do not fit.

    >>> nn.Unfold(2)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    _shown = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


__all__ = ["Fold", "Unfold"]
