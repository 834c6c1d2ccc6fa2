"""Pipes that leave samples out."""

from __future__ import annotations

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_function, picked, validate_input_col


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which a function, of them or of columns of them, says True.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 0, 2]).filter(bool))
    [1, 2]
    """

    def __init__(self, datapipe, filter_fn, input_col=None):
        check_function(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col
        validate_input_col(filter_fn, input_col)

    def __iter__(self):
        for sample in self.datapipe:
            says = picked(self.filter_fn, sample, self.input_col)
            if not isinstance(says, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(says))
            if says:
                yield sample
            else:
                StreamWrapper.close_streams(sample)


__all__ = ["FilterIterDataPipe"]
