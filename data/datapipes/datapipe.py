"""The base classes of pipes."""

from __future__ import annotations

import functools
import pickle
from typing import TypeVar

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState as SnapshotState
from ._iterators import INVALID, counted, described

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class DataChunk(list[T]):
    """A batch as pipes make them: a list.

    >>> torch.utils.data.DataChunk([1, 2]).as_str()
    '[1, 2]'
    """

    def __init__(self, items):
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The items as text."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self):
        """An iterator over the items."""
        return iter(self.items)


class _Pipe:
    """What both kinds share: methods by the names that `functional_datapipe` gives to classes."""

    functions: dict
    getstate_hook = reduce_ex_hook = str_hook = repr_hook = None
    _unsaved: tuple[str, ...] = ()  # attributes that pickles leave out; `_clear` makes them anew

    def __getattr__(self, name: str):
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        method = functools.partial(function, self)
        return functools.update_wrapper(method, function, assigned=("__doc__",), updated=())

    @classmethod
    def register_function(cls, function_name: str, function):
        """Give all pipes of this kind a method."""
        cls.functions[function_name] = function

    def _clear(self):
        """Make the attributes that pickles leave out."""

    def __getstate__(self):
        left_out = *self._unsaved, "_snapshot_state", "_fast_forward_iterator"
        state = {k: v for k, v in self.__dict__.items() if k not in left_out}
        hook = type(self).getstate_hook
        return state if hook is None else hook(state)

    def __setstate__(self, state: dict):
        self.__dict__.update(state)
        self._clear()

    def __reduce_ex__(self, protocol):
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    @classmethod
    def _set_hook(cls, name: str, hook):
        if getattr(cls, name) is not None and hook is not None:
            raise RuntimeError(f"Attempt to override existing {name}")
        setattr(cls, name, None if hook is None else staticmethod(hook))

    def __repr__(self):
        return type(self).__qualname__ if self.repr_hook is None else self.repr_hook(self)

    def __str__(self):
        return type(self).__qualname__ if self.str_hook is None else self.str_hook(self)

    def __dir__(self):
        return [*super().__dir__(), *self.functions]


def _register(base: type, name: str, cls):
    if name in base.functions:
        raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")

    def make(source, *args, **kwargs):
        return cls(source, *args, **kwargs)

    base.functions[name] = functools.update_wrapper(make, cls, assigned=("__doc__",), updated=())


class IterDataPipe(_Pipe, IterableDataset[T_co]):
    """A pipe to iterate over; further steps are methods: `map`, `filter`, `batch`, `shuffle`, ...

    Subclasses define `__iter__`. `reset()` is called when an iteration begins; a new iterator ends
    the one before.

    >>> from functorch_core.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(6)).filter(bool).batch(2))
    [[1, 2], [3, 4], [5]]
    """

    functions: dict = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0
    _snapshot_state = SnapshotState.NotStarted
    _fast_forward_iterator = None  # what the next iteration goes on with, after a snapshot was restored

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = counted(cls.__iter__)

    def __iter__(self):
        return self

    __iter__ = counted(__iter__)

    def reset(self):
        """Go back to the beginning; for subclasses to define."""

    def _begin_iterator(self) -> int:
        """Make a new iterator the valid one; returns its number."""
        last = self._valid_iterator_id
        if self._fast_forward_iterator is None:  # whose number stays valid
            self._valid_iterator_id = 0 if last is None else last + 1
        self._restart()
        return self._valid_iterator_id

    def _restart(self):
        """reset(), unless a snapshot has just been restored."""
        if self._snapshot_state is not SnapshotState.Restored:
            self._number_of_samples_yielded, self._fast_forward_iterator = 0, None
            self.reset()
        self._snapshot_state = SnapshotState.Iterating

    def _take_forwarded(self):
        """The iterator that a restored snapshot left, once."""
        found, self._fast_forward_iterator = self._fast_forward_iterator, None
        return found

    def _check_iterator(self, number: int):
        if number != self._valid_iterator_id:
            raise RuntimeError(INVALID.format(pipe=described(self)))

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Give all iterable pipes a method that puts another pipe behind them."""
        _register(IterDataPipe, function_name, cls_to_register)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Call hook_fn(state) when a pipe is pickled; None takes the hook away."""
        IterDataPipe._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """Call hook_fn(pipe) for what __reduce_ex__ returns; None takes the hook away."""
        IterDataPipe._set_hook("reduce_ex_hook", hook_fn)


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames; their tracing is not implemented.

    >>> torch.utils.data.DFIterDataPipe()._is_dfpipe()
    True
    """

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[T_co]):
    """A pipe to be indexed; further steps are methods: `map`, `batch`, `concat`, `zip`, `shuffle`.

    >>> from functorch_core.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2, 3]).map(str)[2]
    '3'
    """

    functions: dict = {}

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register):
        """Give all indexed pipes a method that puts another pipe behind them."""
        _register(MapDataPipe, function_name, cls_to_register)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Call hook_fn(state) when a pipe is pickled; None takes the hook away."""
        MapDataPipe._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """Call hook_fn(pipe) for what __reduce_ex__ returns; None takes the hook away."""
        MapDataPipe._set_hook("reduce_ex_hook", hook_fn)


# ---- wrappers that are pickled whole -------------------------------------------------------------


class _SerializationWrapper:
    """A pipe that is pickled now when its wrapper is: what another process gets is this one's copy."""

    def __init__(self, datapipe):
        self._datapipe = datapipe

    def __getstate__(self):
        return pickle.dumps(self._datapipe)

    def __setstate__(self, state):
        self._datapipe = pickle.loads(state)

    def __len__(self):
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_SerializationWrapper, IterDataPipe):
    _datapipe_iter = None

    def __iter__(self):
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self):
        if self._datapipe_iter is None:
            raise AssertionError("Iterator has not been initialized; call __iter__() before __next__()")
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_SerializationWrapper, MapDataPipe):
    def __getitem__(self, index):
        return self._datapipe[index]
