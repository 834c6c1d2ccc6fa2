"""Reading a batch (or a sample, without automatic batching) from a dataset."""

from __future__ import annotations

from .collate import default_collate

MAP, ITERABLE = range(2)  # the kinds of datasets


def create_fetcher(kind: int, dataset, auto_collation: bool, collate_fn, drop_last: bool) -> _BaseDatasetFetcher:
    """A new reader of a dataset of this kind."""
    cls = _MapDatasetFetcher if kind == MAP else _IterableDatasetFetcher
    return cls(dataset, auto_collation, collate_fn, drop_last)


def _nothing(indices):
    """Of datasets that know no quicker way to a batch than by its samples."""


class _BaseDatasetFetcher:
    """What both kinds have in common."""

    def __init__(self, dataset, auto_collation: bool, collate_fn, drop_last: bool):
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last

    def fetch(self, possibly_batched_index):
        """A batch or a sample; for subclasses to define."""
        raise NotImplementedError


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Reads `dataset[index]`."""

    def fetch(self, index):
        """The batch of these indices, or the sample of this one."""
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        if self.collate_fn is default_collate:
            batch = getattr(dataset, "_collated", _nothing)(index)
            if batch is not None:
                return batch
        read_all = getattr(dataset, "__getitems__", None)
        return self.collate_fn(read_all(index) if read_all else [dataset[i] for i in index])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Reads the next samples of an iterator."""

    def __init__(self, dataset, auto_collation: bool, collate_fn, drop_last: bool):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter, self.ended = iter(dataset), False

    def fetch(self, places):
        """The next batch of as many samples as there are places, or the next sample."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        batch = []
        for _ in places:
            try:
                batch.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(places)):
            raise StopIteration
        return self.collate_fn(batch)
