"""Pipes that change the order."""

from __future__ import annotations

from collections.abc import Sized

from ...sampler import SequentialSampler, random_seed
from .._decorator import functional_datapipe
from .._shuffling import Shuffling
from ..datapipe import IterDataPipe
from ..utils.common import length_of


class SamplerIterDataPipe(IterDataPipe):
    """What a sampler makes of the pipe.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper, Sampler
    >>> list(Sampler(IterableWrapper([5, 6])))
    [0, 1]
    """

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self) -> int:
        return length_of(self, self.sampler)[0]


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffling):
    """The samples in an order drawn in a buffer: once it is full, each new sample takes the place
    of one that is drawn and handed out.

    The seed is torch's generator's, or what `set_seed` said; a DataLoader sets both (`shuffle`).

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> sorted(IterableWrapper(range(5)).shuffle())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, datapipe, *, buffer_size: int = 10000, unbatch_level: int = 0):
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size, self._buffer = buffer_size, []
        super().__init__()

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        buffer = self._buffer
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            i = self._rng.randint(0, len(buffer) - 1)
            drawn, buffer[i] = buffer[i], sample
            yield drawn
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def reset(self):
        """Empty the buffer, and seed the draws."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(random_seed(None) if self._seed is None else self._seed)
            self._seed = None

    def __len__(self) -> int:
        return length_of(self, self.datapipe)[0]


__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]
