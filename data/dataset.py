"""torch.utils.data.dataset: datasets, and datasets made of datasets."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np

from ..core.warn import warn
from ..torch import default_generator, randperm
from ..torch.dispatch.parameter import Parameter
from ..torch.tensors.base import Tensor, from_array

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

OVERRIDES_GETITEM = """{} overrides __getitem__ but not __getitems__. When subclassing Subset and \
overriding __getitem__, you must also override __getitems__ to ensure DataLoader works correctly \
with your custom logic. A simple implementation:

def __getitems__(self, indices):
    return [self.__getitem__(idx) for idx in indices]"""

# ---- the two kinds -------------------------------------------------------------------------------


class Dataset(Generic[T_co]):
    """Something with `dataset[index]`, and `len(dataset)` if samplers are to know its size.

    A method `__getitems__(indices)` that gives a list is used for whole batches.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4])]
    """

    def __getitem__(self, index) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Something to iterate over. In a worker, `get_worker_info` says which part is its own.

    >>> class Lines(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         yield from ['a', 'b', 'c']
    >>> list(torch.utils.data.DataLoader(Lines(), batch_size=2))
    [['a', 'b'], ['c']]
    """

    def __add__(self, other: Dataset) -> ChainDataset:
        return ChainDataset([self, other])


# ---- of tensors ----------------------------------------------------------------------------------


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The slices of tensors along their first dimension.

    >>> torch.utils.data.TensorDataset(torch.tensor([1, 2]), torch.tensor([3, 4]))[0]
    (tensor(1), tensor(3))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    @property
    def __getitems__(self):
        """Rows of the data as tensors of their own, 1 us each where a view takes 10; None, so that
        the loader uses __getitem__, where that is overridden or a tensor has a history."""
        plain = type(self).__getitem__ is TensorDataset.__getitem__ and all(
            type(t) in (Tensor, Parameter) and t._level is None and t.is_cpu and not t.requires_grad
            for t in self.tensors
        )
        return self._rows if plain else None

    def _collated(self, indices: list) -> list[Tensor] | None:
        """What default_collate makes of these samples, by one gather a tensor."""
        if self.__getitems__ is None or any([i.__class__ is not int for i in indices]):
            return None
        return [from_array(t._array_now().take(indices, 0)) for t in self.tensors]

    def _rows(self, indices) -> list[tuple]:
        columns = [t._array_now() for t in self.tensors]
        own = any([t._view is not None and t._view.cell.shared for t in self.tensors])
        return [tuple([from_array(np.array(c[i]) if own else c[i]) for c in columns]) for i in indices]

    def __len__(self) -> int:
        return self.tensors[0].size(0)


# ---- of datasets ---------------------------------------------------------------------------------


class StackDataset(Dataset):
    """Several datasets side by side: a sample is a tuple (or dict) of a sample of each.

    >>> torch.utils.data.StackDataset(x=[1, 2], y=[3, 4])[1]
    {'x': 2, 'y': 4}
    """

    datasets: tuple | dict

    def __init__(self, *args: Dataset, **kwargs: Dataset):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via "
                "``kwargs``) like input/output, but both types are given."
            )
        if not (args or kwargs):
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        self._length = len(self._parts()[0])
        if any(len(part) != self._length for part in self._parts()):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list[Dataset]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, parts):
        parts = tuple(parts)
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else parts

    def __getitem__(self, index):
        return self._sample(part[index] for part in self._parts())

    def __getitems__(self, indices: list) -> list:
        """The samples of a batch."""
        return [self._sample(row) for row in zip(*(_items(p, indices) for p in self._parts()))]

    def __len__(self) -> int:
        return self._length


def _items(dataset: Dataset, indices: list) -> list:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset[T_co]):
    """One dataset after the other.

    >>> torch.utils.data.ConcatDataset([[1, 2], [3]])[2]
    3
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence) -> list[int]:
        """Where each of the datasets ends."""
        return list(itertools.accumulate(map(len, sequence)))

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old, misspelt name."""
        warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """One iterable dataset after the other.

    >>> class Ones(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         yield 1
    >>> list(Ones() + Ones())
    [1, 1]
    """

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        return itertools.chain.from_iterable(self._checked())

    def __len__(self) -> int:
        return sum(map(len, self._checked()))


class Subset(Dataset[T_co]):
    """The samples of a dataset at given indices.

    >>> torch.utils.data.Subset([5, 6, 7], [2, 0])[0]
    7
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(OVERRIDES_GETITEM.format(cls.__name__))

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples of a batch."""
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[i] for i in chosen]

    def _collated(self, indices: list) -> list | None:
        """What default_collate makes of these samples, if the dataset knows a quick way."""
        read_all, cls = getattr(self.dataset, "_collated", None), type(self)
        if read_all is None or cls.__getitems__ is not Subset.__getitems__:
            return None
        return read_all([self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[T], lengths: Sequence[int | float], generator=default_generator) -> list[Subset[T]]:
    """Random disjoint subsets of these lengths, or of these fractions of the dataset.

    >>> first, second = torch.utils.data.random_split(range(10), [0.8, 0.2])
    >>> len(first), len(second)
    (8, 2)
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = iter(randperm(sum(lengths), generator=generator).tolist())
    return [Subset(dataset, list(itertools.islice(indices, n))) for n in lengths]


def _lengths_of_fractions(n: int, fractions: Sequence[float]) -> list[int]:
    """Whole numbers for fractions; what is left over goes to the first ones."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(n * fraction) for fraction in fractions]
    for i in range(n - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return lengths
