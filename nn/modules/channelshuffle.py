"""Channels dealt out to groups."""

from __future__ import annotations

from .. import functional as F
from ._described import Described


class ChannelShuffle(Described):
    """The channels of (N, C, ...), in `groups` groups, taken from each group in turn.

    The shape is kept; RuntimeError for channels that `groups` does not divide.

    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    groups: int

    _shown = "groups={groups}"

    def __init__(self, groups: int):
        super().__init__(groups=groups)

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


__all__ = ["ChannelShuffle"]
