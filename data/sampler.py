"""torch.utils.data.sampler: in which order a dataset is read. Draws are PyTorch's."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Generic, TypeVar

from ..torch import Generator, as_tensor, empty, multinomial, randint, randperm
from ..torch.tensors.active import active
from ..torch.tensors.types import float64, int64

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """An iterable of indices (or, for batches, of lists of them).

    >>> class Backwards(torch.utils.data.Sampler):
    ...   def __init__(self, data):
    ...     self.data = data
    ...   def __iter__(self):
    ...     return iter(range(len(self.data) - 1, -1, -1))
    ...   def __len__(self):
    ...     return len(self.data)
    >>> list(torch.utils.data.DataLoader([1, 2, 3], sampler=Backwards([1, 2, 3]), batch_size=2))
    [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


def random_seed(generator=None) -> int:
    """A seed, drawn as PyTorch draws those of samplers and workers."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    >>> list(torch.utils.data.SequentialSampler([5, 6, 7]))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order, or `num_samples` of them, drawn with or without replacement.

    >>> generator = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.RandomSampler(range(4), generator=generator))
    [0, 1, 3, 2]
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator=None):
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices there are; by default as many as samples in the dataset."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(random_seed())
        if self.replacement:
            yield from self._with_replacement(n, generator)
            return
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=generator).tolist()
        seen = self.generator is not None or active.observer is not None
        if self.num_samples % n or seen:  # else nobody sees what it draws
            yield from randperm(n, generator=generator).tolist()[: self.num_samples % n]

    def _with_replacement(self, n: int, generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, 32)
        for size in itertools.chain(itertools.repeat(32, whole), [rest]):
            yield from randint(high=n, size=(size,), dtype=int64, generator=generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5]))
    [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices drawn with these probabilities (which need not add up to 1).

    >>> list(torch.utils.data.WeightedRandomSampler([0., 1.], 3))
    [1, 1, 1]
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator=None):
        check_positive("num_samples", num_samples)
        check_bool("replacement", replacement)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler.

    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool):
        check_positive("batch_size", batch_size)
        check_bool("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


def check_positive(name: str, value):
    """ValueError unless it is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def check_bool(name: str, value):
    """ValueError unless it is a bool."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
