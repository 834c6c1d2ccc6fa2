"""Pipes of several pipes, and several pipes of one."""

from __future__ import annotations

import copy as copying
from collections import deque

from ....core.warn import warn
from .._decorator import functional_datapipe
from .._iterators import INVALID_CHILD, described
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_function, length_of

UNLIMITED = "Unlimited buffer size is set for `{}`, please be aware of OOM at random places"
NOT_EXHAUSTED = (
    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting "
    "the buffer and each child DataPipe will read from the start again."
)
COPIES = {None: lambda sample: sample, "shallow": copying.copy, "deep": copying.deepcopy}
_END = object()

# ---- several into one ----------------------------------------------------------------------------


class _Several(IterDataPipe):
    """A pipe of several."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def _lengths(self) -> list[int]:
        return length_of(self, *self.datapipes)


@functional_datapipe("concat")
class ConcaterIterDataPipe(_Several):
    """The samples of pipes, one pipe after the other.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).concat(IterableWrapper([3])))
    [1, 2, 3]
    """

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        super().__init__(*datapipes)

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(self._lengths())


@functional_datapipe("mux")
class MultiplexerIterDataPipe(_Several):
    """A sample of each pipe in turn, until the first pipe ends.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).mux(IterableWrapper([10, 20])))
    [1, 10, 2, 20]
    """

    def __iter__(self):
        for row in zip(*self.datapipes):
            yield from row

    def __len__(self) -> int:
        return min(self._lengths()) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(_Several):
    """Tuples of a sample of each pipe, until the first pipe ends.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).zip(IterableWrapper("ab")))
    [(1, 'a'), (2, 'b')]
    """

    def __init__(self, *datapipes):
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__(*datapipes)

    def __iter__(self):
        yield from zip(*self.datapipes)

    def __len__(self) -> int:
        return min(self._lengths())


# ---- one into several ----------------------------------------------------------------------------


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """Several pipes of the same samples; the fastest is at most buffer_size ahead of the slowest.

    `copy`: whether each gets copies, "shallow" or "deep".

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> a, b = IterableWrapper(range(3)).fork(2)
    >>> list(a), list(b)
    ([0, 1, 2], [0, 1, 2])
    """

    def __new__(cls, datapipe, num_instances: int, buffer_size: int = 1000, copy=None):
        _check_instances(num_instances)
        if num_instances == 1:
            return datapipe
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes, to which a function distributes the samples: it says which, or None for none
    if `drop_none`. At most buffer_size samples wait for pipes that are behind.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> def is_odd(n):
    ...   return n % 2
    >>> even, odd = IterableWrapper(range(5)).demux(2, is_odd)
    >>> list(even), list(odd)
    ([0, 2, 4], [1, 3])
    """

    def __new__(cls, datapipe, num_instances: int, classifier_fn, drop_none: bool = False, buffer_size: int = 1000):
        _check_instances(num_instances)
        check_function(classifier_fn)
        return _children(_DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size))


def _check_instances(n: int):
    if n < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {n} is found")


def _children(source: _Source) -> list[_ChildDataPipe]:
    return [_ChildDataPipe(source, i) for i in range(source.num_instances)]


class _Source(IterDataPipe):
    """What several pipes read from: an iterator of a pipe, and the samples that were read of it but
    not by all."""

    name: str
    _unsaved = ("_iterator", "_running", "_exhausted")

    def __init__(self, datapipe, num_instances: int, buffer_size: int):
        self.main_datapipe, self.num_instances = datapipe, num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warn(UNLIMITED.format(self.name))
        self._clear()

    def _clear(self):
        self._iterator, self._exhausted = None, False
        self._running = [False] * self.num_instances

    def reset(self):
        """Read from the beginning again."""
        self._clear()

    def read(self, child: int):
        """The samples of one of the pipes."""
        if self._iterator is None and not self._running[child]:
            self._iterator, self._exhausted = iter(self.main_datapipe), False
            self._running = [True] * self.num_instances
        try:
            while True:
                sample = self._next(child) if self._running[child] else _END
                if sample is _END:
                    break
                yield sample
        finally:
            self._running[child] = False
            if not any(self._running):
                self._iterator = None
            self._leave(child)

    def _next(self, child: int):
        """The child's next sample, or _END."""
        raise NotImplementedError

    def _leave(self, child: int):
        """A child reads no more."""

    def _read_source(self):
        """The next sample of all, or _END."""
        if self._exhausted or self._iterator is None:
            return _END
        sample = next(self._iterator, _END)
        if sample is _END:
            self._iterator, self._exhausted = None, True
        return sample

    def is_every_instance_exhausted(self) -> bool:
        """Whether all have read all there is."""
        return self._exhausted and not any(self._running)


class _ForkerIterDataPipe(_Source):
    """The samples from the slowest pipe's place on, and how many each pipe has read."""

    name = "fork"
    _unsaved = (*_Source._unsaved, "_buffer", "_places", "_first")

    def __init__(self, datapipe, num_instances: int, buffer_size: int = 1000, copy=None):
        if copy not in COPIES:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self._copy = copy
        super().__init__(datapipe, num_instances, buffer_size)

    def _clear(self):
        super()._clear()
        self._buffer, self._first = deque(), 0
        self._places = [0] * self.num_instances

    def _next(self, child: int):
        i = self._places[child] - self._first
        if i < len(self._buffer):
            sample = self._buffer[i]
        else:
            sample = self._read_source()
            if sample is _END:
                return _END
            self._buffer.append(sample)
        self._places[child] += 1
        while self._first < min(self._places):
            self._buffer.popleft()
            self._first += 1
        if 0 <= self.buffer_size < max(self._places) - self._first:
            raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
        return COPIES[self._copy](sample)

    def _leave(self, child: int):
        if not any(self._running):
            while self._buffer:
                StreamWrapper.close_streams(self._buffer.popleft())

    def length_of_child(self) -> int:
        """How many samples each pipe has."""
        return len(self.main_datapipe)


class _DemultiplexerIterDataPipe(_Source):
    """The samples that wait for each pipe."""

    name = "demux"
    _unsaved = (*_Source._unsaved, "_waiting")

    def __init__(self, datapipe, num_instances: int, classifier_fn, drop_none: bool, buffer_size: int):
        self.classifier_fn, self.drop_none = classifier_fn, drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def _clear(self):
        super()._clear()
        self._waiting = [deque() for _ in range(self.num_instances)]

    def _next(self, child: int):
        if self._waiting[child]:
            return self._waiting[child].popleft()
        while (sample := self._read_source()) is not _END:
            place = self._place_of(sample)
            if place == child:
                return sample
            if place is None:
                StreamWrapper.close_streams(sample)
                continue
            self._waiting[place].append(sample)
            if 0 <= self.buffer_size < sum(map(len, self._waiting)):
                raise BufferError(
                    f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient."
                )
        return _END

    def _place_of(self, sample) -> int | None:
        place = self.classifier_fn(sample)
        if place is None and self.drop_none:
            return None
        if place is None or not 0 <= place < self.num_instances:
            raise ValueError(
                "Output of the classification fn should be between 0 and "
                f"{self.num_instances - 1}. {place} is returned."
            )
        return place

    def _leave(self, child: int):
        while self._waiting[child]:
            StreamWrapper.close_streams(self._waiting[child].popleft())

    def length_of_child(self) -> int:
        """Nobody knows."""
        raise TypeError


class _ChildDataPipe(IterDataPipe):
    """One of several pipes that read from one. Its iterators are of a generation: the second
    iterator of one pipe begins a new one, for all of them."""

    def __init__(self, main_datapipe: _Source, instance_id: int):
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self):
        return self.main_datapipe.read(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.length_of_child()

    def _begin_iterator(self) -> int:
        source = self.main_datapipe
        if source._valid_iterator_id is None:
            source._valid_iterator_id = 0
        elif source._valid_iterator_id == self._valid_iterator_id:
            source._valid_iterator_id += 1
            if not source.is_every_instance_exhausted():
                warn(NOT_EXHAUSTED)
            source.reset()
        self._valid_iterator_id = source._valid_iterator_id
        return self._valid_iterator_id

    def _check_iterator(self, number: int):
        if not number == self._valid_iterator_id == self.main_datapipe._valid_iterator_id:
            raise RuntimeError(INVALID_CHILD.format(pipe=described(self.main_datapipe)))


__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]
