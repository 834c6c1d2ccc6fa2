"""What iterators over a DataLoader have in common, and the one without worker processes."""

from __future__ import annotations

from .. import engine, xla
from ..core.warn import warn
from ..torch import int64, tensor
from ..torch.compat import distributed
from ..torch.tensors.active import active
from ._utils.fetch import ITERABLE
from ._utils.pin_memory import pin_memory
from ._utils.worker import Job
from .datapipes.datapipe import IterDataPipe
from .graph import PIPES
from .graph_settings import apply_sharding, seeded
from .sampler import random_seed

NOT_PINNED = (
    "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
)
TOO_MANY = (
    "Length of IterableDataset {} was reported to be {}(when accessing len(dataloader)), "
    "but {} samples have been fetched. "
)
REPLICAS = (
    "For multiprocessing data-loading, this could be caused by not properly configuring "
    "the IterableDataset replica at each worker. Please see "
    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
    "examples."
)


class BaseIterator:
    """One pass over a loader's dataset. The seed of the workers is drawn first, then the sampler
    draws, as PyTorch does: shuffles are the same."""

    def __init__(self, loader):
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._world_size, self._rank = _distributed_settings()
        self._group = None  # of the processes whose pipes are seeded alike
        if isinstance(self._dataset, IterDataPipe) and distributed.is_initialized():
            self._group = distributed.new_group(backend="gloo")
        self._seed_pipes(loader)
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._index_sampler, self._num_workers = loader._index_sampler, loader.num_workers
        self._pin_memory = loader.pin_memory and _has_accelerator()
        self._pin_memory_device = None
        if loader.pin_memory and not self._pin_memory:
            warn(NOT_PINNED)
        self._timeout, self._collate_fn = loader.timeout, loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = random_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def _reset(self, loader, first_iter: bool = False):
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader)

    def _seed_pipes(self, loader):
        """Draw the seed that the pipes of all workers share, of a process group that of its first process."""
        self._shared_seed = None
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = random_seed(loader.generator)
            if self._group is not None:
                seed = tensor(self._shared_seed, dtype=int64)
                distributed.broadcast(seed, 0, self._group)
                self._shared_seed = seed.item()
            self._dataset = seeded(self._dataset, self._shared_seed)

    def _job(self, worker_init_fn) -> Job:
        """What it takes to read batches, here or in a worker."""
        return Job(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            worker_init_fn,
            self._base_seed,
            self._num_workers,
            self._shared_seed,
            world_size=self._world_size,
            rank=self._rank,
        )

    def __iter__(self):
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __next__(self):
        if active.observer is None:
            return self._next()
        with active.observer.range(f"enumerate(DataLoader)#{type(self).__name__}.__next__", is_user_annotation=True):
            return self._next()

    def _next(self):
        data = self._next_data()
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if self._dataset_kind == ITERABLE and promised is not None and self._num_yielded > promised:
            message = TOO_MANY.format(self._dataset, promised, self._num_yielded)
            warn(message + (REPLICAS if self._num_workers else ""))
        return pin_memory(data) if self._pin_memory else data


def _distributed_settings() -> tuple[int, int]:
    """How many processes read, and which of them this one is."""
    if distributed.is_initialized():
        return distributed.get_world_size(), distributed.get_rank()
    return 1, 0


def _has_accelerator() -> bool:
    return xla.default_device().platform != "cpu"


class _SingleProcessDataLoaderIter(BaseIterator):
    """Batches read in this process."""

    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if isinstance(self._dataset, PIPES):
            apply_sharding(self._dataset, self._world_size, self._rank)
        self._dataset_fetcher = self._job(None).fetcher()

    def _next_data(self):
        with engine.at_once("a batch is read"):
            return self._dataset_fetcher.fetch(self._next_index())
