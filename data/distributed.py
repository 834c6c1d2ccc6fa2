"""torch.utils.data.distributed: each process reads its own part of a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..torch import Generator, randperm
from ..torch.compat import distributed
from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index from `rank` on, in a random order that all processes share.

    All parts are equally long: the beginning is repeated, or with `drop_last` the end left out.
    set_epoch(epoch) gives each epoch an order of its own.

    >>> list(torch.utils.data.DistributedSampler(range(6), num_replicas=2, rank=1,
    ...     shuffle=False))
    [1, 3, 5]
    """

    def __init__(
        self,
        dataset: Dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            if not distributed.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.shuffle, self.seed, self.drop_last = 0, shuffle, seed, drop_last
        whole, rest = divmod(len(dataset), num_replicas)
        self.num_samples = whole + (rest > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(n, generator=generator).tolist()
        else:
            indices = range(n)
        repeated = itertools.islice(itertools.cycle(indices), self.total_size)
        mine = list(itertools.islice(repeated, self.rank, None, self.num_replicas))
        if len(mine) != self.num_samples:
            raise AssertionError(
                f"Number of subsampled indices ({len(mine)}) does not match num_samples ({self.num_samples})"
            )
        return iter(mine)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int):
        """Choose the order of an epoch; call it before iterating."""
        self.epoch = epoch
