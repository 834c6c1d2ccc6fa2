"""What pipes that shuffle have in common: whether they do, and their seed."""

from __future__ import annotations

import random

from .datapipe import IterDataPipe


class Shuffling(IterDataPipe):
    """An iterable pipe that draws an order, unless it is told not to."""

    def __init__(self):
        self._enabled, self._seed, self._rng = True, None, random.Random()

    def set_shuffle(self, shuffle: bool = True):
        """Whether to shuffle; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int):
        """The seed of the next iteration; returns the pipe."""
        self._seed = seed
        return self
