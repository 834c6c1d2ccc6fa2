"""torch.utils.data.DataLoader."""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ..core.warn import warn
from ._iterating import BaseIterator as _BaseDataLoaderIter  # noqa: F401 (the name that other packages ask for)
from ._iterating import _SingleProcessDataLoaderIter
from ._multiprocessing import _MultiProcessingDataLoaderIter
from ._utils import fetch
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import Dataset, IterableDataset
from .graph_settings import apply_sharding, apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_worker_init_fn_t, _collate_fn_t = Callable[[int], None], Callable[[list], object]  # packages annotate with them

PREFETCH_ALONE = (
    "prefetch_factor option could only be specified in multiprocessing."
    "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to "
    "None."
)
UNSPECIFIED = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"
BATCH_SAMPLER = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
NO_BATCHING = "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
TOO_MANY_WORKERS = (
    "This DataLoader will create {} worker processes in total. Our suggested max "
    "number of worker in current system is {}{}, which is smaller than what this "
    "DataLoader is going to create. Please be aware that excessive worker creation "
    "might get DataLoader running slow or even freeze, lower the worker number to "
    "avoid potential slowness/freeze if necessary."
)
FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


def _sharding_worker_init_fn(worker_init_fn: Callable | None, world_size: int, rank_id: int, worker_id: int):
    """Tell the pipe of a worker its part among the workers of all processes, and call the user's function."""
    info = get_worker_info()
    if info is None or not isinstance(info.dataset, (IterDataPipe, MapDataPipe)):
        raise AssertionError("_sharding_worker_init_fn is for workers whose dataset is a pipe")
    apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


class _DatasetKind:
    Map, Iterable = fetch.MAP, fetch.ITERABLE
    create_fetcher = staticmethod(fetch.create_fetcher)


class _InfiniteConstantSampler(Sampler):
    """The places of the samples of an iterable dataset, nobody knows how many."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Batches of a dataset: in order, shuffled or as a sampler says; with `num_workers` processes
    that read ahead `prefetch_factor` batches each.

    >>> list(torch.utils.data.DataLoader([1, 2, 3], batch_size=2))
    [tensor([1, 2]), tensor([3])]
    """

    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler | Iterable | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable | None = None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        if isinstance(dataset, IterDataPipe):
            apply_shuffle_settings(dataset, shuffle)  # PyTorch drops a pipe that this adds, too
            shuffle = None
        self.dataset, self.num_workers, self.prefetch_factor = dataset, num_workers, prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn, self.in_order = timeout, worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_iterable(shuffle, sampler, batch_sampler)
        else:
            self._dataset_kind, shuffle = _DatasetKind.Map, bool(shuffle)
        batch_size = _checked_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn, self.persistent_workers = collate_fn, persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool | None, generator) -> Sampler:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name: str, value):
        if self.__initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How workers are started; None is fork on Linux."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        self.__multiprocessing_context = _checked_context(context, self.num_workers)

    # ---- iterating

    def __iter__(self):
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        batches = length / self.batch_size
        return math.floor(batches) if self.drop_last else math.ceil(batches)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def check_worker_number_rationality(self):
        """UserWarning for more workers than processors."""
        if not self.num_workers:
            return
        by_affinity = hasattr(os, "sched_getaffinity")
        most = len(os.sched_getaffinity(0)) if by_affinity else os.cpu_count()
        if self.num_workers > most:
            how = "" if by_affinity else " (`cpuset` is not taken into account)"
            warn(TOO_MANY_WORKERS.format(self.num_workers, most, how))


# ---- checks of arguments -------------------------------------------------------------------------


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(PREFETCH_ALONE)
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle, sampler, batch_sampler):
    if shuffle not in (False, None):
        raise ValueError(UNSPECIFIED.format("shuffle", shuffle))
    if sampler is not None:
        raise ValueError(UNSPECIFIED.format("sampler", sampler))
    if batch_sampler is not None:
        raise ValueError(UNSPECIFIED.format("batch_sampler", batch_sampler))


def _checked_batching(batch_size, shuffle, sampler, batch_sampler, drop_last) -> int | None:
    """The batch size; None if a batch sampler decides, or nothing is batched."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(BATCH_SAMPLER)
        return None
    if batch_size is None and drop_last:
        raise ValueError(NO_BATCHING)
    return batch_size


def _checked_context(context, num_workers: int):
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        valid = multiprocessing.get_all_start_methods()
        if context not in valid:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method "
                f"in {valid!r}, but got multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a "
            "string specifying the start method, but got "
            f"multiprocessing_context={context}"
        )
    return context
