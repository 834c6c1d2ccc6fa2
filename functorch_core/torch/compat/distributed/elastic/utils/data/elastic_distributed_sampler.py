"""torch.distributed.elastic.utils.data.elastic_distributed_sampler: the rest of an epoch, divided over processes."""

from __future__ import annotations

from collections.abc import Iterator, Sized

import functorch_core.torch as torch


class ElasticDistributedSampler(torch.utils.data.DistributedSampler):
    """A DistributedSampler of the elements from start_index on: what was not read before machines came or went.

    >>> from torch.distributed.elastic.utils.data import ElasticDistributedSampler
    >>> sorted(ElasticDistributedSampler(range(6), num_replicas=1, rank=0, start_index=3))
    [3, 4, 5]
    """

    def __init__(self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, start_index: int = 0):
        super().__init__(dataset, num_replicas, rank)
        if not 0 <= start_index < len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index = start_index
        self.num_samples = -(-(len(dataset) - start_index) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.epoch)
        rest = torch.randperm(len(self.dataset) - self.start_index, generator=generator) + self.start_index
        indices = rest.tolist()
        indices += indices[: self.total_size - len(indices)]
        return iter(indices[self.rank :: self.num_replicas])
