"""The indexed pipes."""

from __future__ import annotations

import copy
from collections.abc import Sized

from ....core.warn import warn
from ...sampler import random_seed
from .._decorator import functional_datapipe
from .._shuffling import Shuffling
from ..datapipe import DataChunk, MapDataPipe
from ..utils.common import check_function, length_of

NOT_COPIED = (
    "The input sequence can not be deepcopied, please be aware of in-place modification would affect source data"
)


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The samples of a sequence or mapping, by default of a deep copy.

    >>> from torch.utils.data.datapipes.map import SequenceWrapper
    >>> pipe = SequenceWrapper({"a": 1})
    >>> pipe["a"], len(pipe)
    (1, 1)
    """

    def __init__(self, sequence, deepcopy: bool = True):
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warn(NOT_COPIED)

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


def _same(sample):
    return sample


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """fn of each sample.

    >>> from torch.utils.data.datapipes.map import SequenceWrapper
    >>> list(SequenceWrapper([1, 2]).map(str))
    ['1', '2']
    """

    def __init__(self, datapipe, fn=_same):
        check_function(fn)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Lists of batch_size samples; the last may be shorter unless `drop_last`.

    >>> from torch.utils.data.datapipes.map import SequenceWrapper
    >>> list(SequenceWrapper(range(5)).batch(2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, datapipe, batch_size: int, drop_last: bool = False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index):
        batch, first = [], index * self.batch_size
        try:
            for i in range(first, first + self.batch_size):
                batch.append(self.datapipe[i])
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        (n,) = length_of(self, self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class _Several(MapDataPipe):
    """A pipe of several."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        for kind in (MapDataPipe, Sized):
            if not all(isinstance(pipe, kind) for pipe in datapipes):
                raise TypeError(f"Expected all inputs to be `{kind.__name__}`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Several):
    """The samples of pipes, one pipe after the other.

    >>> from torch.utils.data.datapipes.map import SequenceWrapper
    >>> list(SequenceWrapper([1, 2]).concat(SequenceWrapper([3])))
    [1, 2, 3]
    """

    def __getitem__(self, index):
        rest = index
        for pipe in self.datapipes:
            if rest < len(pipe):
                return pipe[rest]
            rest -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(_Several):
    """Tuples of a sample of each pipe.

    >>> from torch.utils.data.datapipes.map import SequenceWrapper
    >>> list(SequenceWrapper([1, 2]).zip(SequenceWrapper("ab")))
    [(1, 'a'), (2, 'b')]
    """

    def __getitem__(self, index):
        samples = []
        for pipe in self.datapipes:
            try:
                samples.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error
        return tuple(samples)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class ShufflerIterDataPipe(Shuffling):
    """The samples in random order: an iterable pipe.

    >>> from torch.utils.data.datapipes.map import SequenceWrapper
    >>> sorted(SequenceWrapper(range(5)).shuffle())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, datapipe, *, indices: list | None = None):
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._shuffled_indices = self.indices
        super().__init__()

    def __iter__(self):
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
        while self._enabled and self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self):
        """Draw another order."""
        if self._enabled and self._seed is None:
            self._seed = random_seed(None)
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)

__all__ = [
    "BatcherMapDataPipe",
    "ConcaterMapDataPipe",
    "MapperMapDataPipe",
    "SequenceWrapperMapDataPipe",
    "ShufflerIterDataPipe",
    "ZipperMapDataPipe",
]
