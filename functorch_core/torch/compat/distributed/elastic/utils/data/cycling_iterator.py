"""torch.distributed.elastic.utils.data.cycling_iterator: several epochs, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class CyclingIterator(Generic[T], Iterator[T]):
    """The elements of generator_fn(epoch) for each epoch from start_epoch to n.

    >>> from torch.distributed.elastic.utils.data import CyclingIterator
    >>> list(CyclingIterator(3, lambda epoch: iter([epoch, 10 * epoch]), start_epoch=1))
    [1, 10, 2, 20]
    """

    def __init__(self, n: int, generator_fn: Callable[[int], Iterator[T]], start_epoch: int = 0):
        self._n, self._epoch, self._generator_fn = n, start_epoch, generator_fn
        self._iter = generator_fn(start_epoch)

    def __iter__(self) -> CyclingIterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            try:
                return next(self._iter)
            except StopIteration:
                if self._epoch >= self._n - 1:
                    raise
                self._epoch += 1
                self._iter = self._generator_fn(self._epoch)
