"""Dropout."""

from __future__ import annotations

from .. import functional as F
from ._described import Described


class _DropoutNd(Described):
    """What happens with probability p, in training only."""

    _shown = "p={p}, inplace={inplace}"

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        super().__init__(p=p, inplace=inplace)


class Dropout(_DropoutNd):
    """Elements become 0 with probability p; the others are divided by 1 - p.

    Shape and dtype are kept; in evaluation mode nothing happens. ValueError for p outside of [0, 1].

    >>> nn.Dropout(0.2).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L).

    >>> torch.nn.Dropout1d().eval()(torch.tensor([[1., 2.]]))
    tensor([[1., 2.]])
    """

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W) or (N, C, L).

    The shape is kept; ValueError for a p outside of [0, 1].

    >>> nn.Dropout2d(0.5).eval()(torch.ones(1, 2, 1, 1)).shape
    torch.Size([1, 2, 1, 1])
    """

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> torch.nn.Dropout3d().eval()(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2])
    """

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of what SELU makes.

    >>> torch.nn.AlphaDropout().eval()(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    >>> torch.nn.FeatureAlphaDropout().eval()(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2])
    """

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training)


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
