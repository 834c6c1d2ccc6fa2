"""Distances of vectors."""

from __future__ import annotations

from .. import functional as F
from ._described import Described


class PairwiseDistance(Described):
    """The p-norm of x1 - x2 + eps along the last dimension.

    Both are broadcast, the last dimension goes, or is 1 with keepdim. RuntimeError for shapes that do not fit.

    >>> torch.nn.PairwiseDistance()(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.]]))
    tensor([5.0000])
    """

    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__(norm=p, eps=eps, keepdim=keepdim)

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Described):
    """x1 . x2 / max(|x1| |x2|, eps) along a dimension.

    Both are broadcast, the dimension goes. RuntimeError for shapes that do not fit.

    >>> nn.CosineSimilarity(dim=0)(torch.tensor([1., 0.]), torch.tensor([1., 1.]))
    tensor(0.7071)
    """

    dim: int
    eps: float

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__(dim=dim, eps=eps)

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


__all__ = ["CosineSimilarity", "PairwiseDistance"]
