"""Pipes that apply a function."""

from __future__ import annotations

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import check_function, length_of, picked, validate_input_col


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """fn of each sample, or of columns of it, whose place the result takes (`output_col`: another
    place, -1 behind the last).

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(3)).map(str))
    ['0', '1', '2']
    """

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        check_function(fn)
        self.datapipe, self.fn, self.input_col = datapipe, fn, input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def __iter__(self):
        for sample in self.datapipe:
            yield self._apply_fn(sample)

    def _apply_fn(self, data):
        result = picked(self.fn, data, self.input_col)
        if self.input_col is None:
            return result
        columns = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            columns.append(result)
        elif self.output_col is not None:
            columns[self.output_col] = result
        else:
            several = isinstance(self.input_col, (list, tuple))
            first, *others = self.input_col if several else [self.input_col]
            columns[first] = result
            for column in sorted(others, reverse=True):
                del columns[column]
        return tuple(columns) if isinstance(data, tuple) else columns

    def __len__(self) -> int:
        return length_of(self, self.datapipe)[0]


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Each batch made one of tensors.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(4)).batch(2).collate())
    [tensor([0, 1]), tensor([2, 3])]
    """

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        fn = conversion if collate_fn is None else collate_fn
        if not callable(fn):
            raise NotImplementedError(
                "torch.utils.data.datapipes: collate() of the columns of a "
                "data frame is not implemented; give a function"
            )
        super().__init__(datapipe, fn=fn)


__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]
