"""The part of a pipe that one of several processes reads."""

from __future__ import annotations

from enum import IntEnum

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import length_of

MIXED = "ShardingFilter cannot mix DEFAULT and non DEFAULT groups"


class SHARDING_PRIORITIES(IntEnum):
    """Which kind of processes samples are distributed among first.

    >>> from torch.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
    >>> list(SHARDING_PRIORITIES.__members__)
    ['DEFAULT', 'DISTRIBUTED', 'MULTIPROCESSING']
    """

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


class _ShardingIterDataPipe(IterDataPipe):
    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group):
        """Become the part of one of several processes; for subclasses to define."""
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Every n-th sample, where n is the number of processes; a DataLoader says how many.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> pipe = IterableWrapper(range(5)).sharding_filter()
    >>> pipe.apply_sharding(2, 1)
    >>> list(pipe)
    [1, 3]
    """

    def __init__(self, source_datapipe, sharding_group_filter=None):
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self._update_num_of_instances()

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
        """Read the part of process `instance_id` of so many; several groups are nested."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (sharding_group == default) != (default in self.groups):
            raise RuntimeError(MIXED)
        self.groups[sharding_group] = num_of_instances, instance_id
        self._update_num_of_instances()

    def _update_num_of_instances(self):
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter in (None, group):
                n, i = self.groups[group]
                self.instance_id += self.num_of_instances * i
                self.num_of_instances *= n

    def __iter__(self):
        for i, sample in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        whole, rest = divmod(length_of(self, self.source_datapipe)[0], self.num_of_instances)
        return whole + (self.instance_id < rest)


__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]
