"""Pipes that make batches, or take them apart."""

from __future__ import annotations

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import check_function, length_of


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Lists of batch_size samples; the last may be shorter unless `drop_last`.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).batch(2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, datapipe, batch_size: int, drop_last: bool = False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self):
        batch = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        (n,) = length_of(self, self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches: of lists in lists, so many levels deep, all for -1.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([[1, 2], [3]]).unbatch())
    [1, 2, 3]
    """

    def __init__(self, datapipe, unbatch_level: int = 1):
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self):
        for batch in self.datapipe:
            yield from self._dive(batch, self.unbatch_level)

    def _dive(self, element, unbatch_level: int):
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        is_batch = isinstance(element, list)
        if unbatch_level == 0 or unbatch_level == -1 and not is_batch:
            yield element
        elif is_batch:
            for item in element:
                yield from self._dive(item, max(unbatch_level - 1, -1))
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Batches of the samples that have the same key: when there are group_size of them, when the
    buffer is full (the largest group) or at the end; (key, batch) if `keep_key`.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(["a", "bc", "d"]).groupby(len))
    [['a', 'd'], ['bc']]
    """

    _unsaved = ("_groups", "_waiting")

    def __init__(
        self,
        datapipe,
        group_key_fn,
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ):
        check_function(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.max_buffer_size, self.group_size = buffer_size, group_size
        self.drop_remaining, self.wrapper_class = drop_remaining, DataChunk
        if group_size is not None and buffer_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        self.guaranteed_group_size = None if buffer_size is None else group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self._clear()

    def _clear(self):
        self._groups: dict[object, list] = {}
        self._waiting = 0

    def reset(self):
        """Forget the groups so far."""
        self._clear()

    def __iter__(self):
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            group = self._groups.setdefault(key, [])
            group.append(sample)
            self._waiting += 1
            if len(group) == self.group_size:
                yield self._taken(key, key)
            if self._waiting == self.max_buffer_size:
                largest = max(self._groups, key=lambda k: len(self._groups[k]))
                if self._may_be_taken(largest):
                    # PyTorch gives the last sample's key, too.
                    yield self._taken(largest, key)
                else:
                    self._taken(largest, key)
        for key in list(self._groups):
            yield self._taken(key, key)

    def _may_be_taken(self, key) -> bool:
        """Whether a group is large enough; RuntimeError if it is not and may not be dropped."""
        least, group = self.guaranteed_group_size, self._groups[key]
        enough = least is None or len(group) >= least
        if not enough and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(group))
        return enough

    def _taken(self, key, shown):
        group = self._groups.pop(key)
        self._waiting -= len(group)
        return (shown, self.wrapper_class(group)) if self.keep_key else self.wrapper_class(group)


__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]
