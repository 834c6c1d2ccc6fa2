"""Pipes of what is not one."""

from __future__ import annotations

import copy

from ....core.warn import warn
from ..datapipe import IterDataPipe
from ..utils.common import length_of

NOT_COPIED = (
    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data."
)


class IterableWrapperIterDataPipe(IterDataPipe):
    """The samples of an iterable; of a deep copy of it by default, each time.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(3)))
    [0, 1, 2]
    """

    def __init__(self, iterable, deepcopy: bool = True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        yield from self._source()

    def _source(self):
        if self.deepcopy:
            try:
                return copy.deepcopy(self.iterable)
            except TypeError:  # a generator
                warn(NOT_COPIED)
        return self.iterable

    def __len__(self) -> int:
        return length_of(self, self.iterable)[0]


__all__ = ["IterableWrapperIterDataPipe"]
