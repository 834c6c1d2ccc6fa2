"""Channels dealt out to groups."""

from __future__ import annotations

from .. import functional as F
from ._described import Described


class ChannelShuffle(Described):
    """The channels of (N, C, ...), in `groups` groups, taken from each group in turn."""

    _shown = "groups={groups}"

    def __init__(self, groups: int):
        super().__init__(groups=groups)

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


__all__ = ["ChannelShuffle"]
