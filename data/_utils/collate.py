"""From a list of samples to a batch."""

from __future__ import annotations

import collections.abc as abc
import copy
import re
from collections.abc import Callable

import numpy as np

from ...engine import flush
from ...torch import as_tensor, stack, tensor
from ...torch.dispatch.parameter import Parameter
from ...torch.tensors.active import active
from ...torch.tensors.base import Tensor, from_array
from ...torch.tensors.types import float64

NOT_COLLATABLE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
default_collate_err_msg_format = NOT_COLLATABLE
np_str_obj_array_pattern = re.compile(r"[SaUO]")  # dtypes of arrays that are no tensors; packages use it
PLAIN = frozenset({Tensor, Parameter})
HOST_SCALARS = frozenset(
    (
        np.bool_,
        np.uint8,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.float16,
        np.float32,
        np.float64,
        np.complex64,
        np.complex128,
    )
)
HOST_DTYPES = frozenset(map(np.dtype, HOST_SCALARS))


def _is_text(array: np.ndarray) -> bool:
    """Whether an array holds strings or objects."""
    return array.dtype.kind in "SUO"


# ---- containers ----------------------------------------------------------------------------------


def _like_mapping(original, items: dict):
    """A mapping of the original's type; a dict, if that cannot be made from one."""
    try:
        if isinstance(original, abc.MutableMapping):
            made = copy.copy(original)
            made.update(items)
            return made
        return type(original)(items)
    except TypeError:
        return items


def _like_sequence(original, items: list):
    """A sequence of the original's type; a list, if that cannot be made from one."""
    try:
        if isinstance(original, abc.MutableSequence):
            made = copy.copy(original)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(original)(items)
    except TypeError:
        return items


# ---- single samples ------------------------------------------------------------------------------


def default_convert(data):
    """Arrays and NumPy scalars as tensors, also inside containers; anything else as it is.

    >>> import numpy as np
    >>> torch.utils.data.default_convert({"a": np.array([0, 1]), "b": "text"})
    {'a': tensor([0, 1]), 'b': 'text'}
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        is_text = isinstance(data, (np.ndarray, np.bytes_, np.void)) and _is_text(data)
        return data if is_text else as_tensor(data)
    if isinstance(data, abc.Mapping):
        return _like_mapping(data, {k: default_convert(data[k]) for k in data})
    if isinstance(data, tuple):
        items = [default_convert(d) for d in data]
        return type(data)(*items) if hasattr(data, "_fields") else items
    if isinstance(data, abc.Sequence):
        return _like_sequence(data, [default_convert(d) for d in data])
    return data


# ---- batches -------------------------------------------------------------------------------------


def collate(batch, *, collate_fn_map: dict | None = None):
    """A batch of samples, by functions for types (exact ones first); containers by element."""
    first = batch[0]
    how = _function_for(first, collate_fn_map or {})
    if how is not None:
        return how(batch, collate_fn_map=collate_fn_map)

    def inner(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, abc.Mapping):
        return _like_mapping(first, {k: inner([sample[k] for sample in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(inner, zip(*batch)))
    if isinstance(first, abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(samples) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else _like_sequence(first, columns)
    raise TypeError(NOT_COLLATABLE.format(type(first)))


def _function_for(sample, functions: dict) -> Callable | None:
    exact = functions.get(type(sample))
    if exact is not None:
        return exact
    return next((f for kind, f in functions.items() if isinstance(sample, kind)), None)


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors, stacked. Those whose data are there are stacked on the host: as an op on so many
    inputs it would cost several times as much. Of recorded samples (ops on dataset[i]) the batch is
    a result of their recording, which is computed here: batches have the same ops with other
    indices, so that it soon is one program; as a part of the training step it would be another
    every time."""
    arrays = _on_host(batch) if active.observer is None else None  # a profile lists that they are stacked
    if arrays is not None:
        return from_array(_stacked(arrays))
    batch = stack(list(batch), 0)
    flush("samples were collated")
    return batch


def _on_host(batch) -> list[np.ndarray] | None:
    """The data of plain tensors of one shape and dtype that have been computed on the host and have
    no history; None if one of them is another thing."""
    arrays, like = [], batch[0]._value.aval
    for x in batch:
        if x.__class__ not in PLAIN or x._level is not None or x._ge is not None:
            return None
        value = x._value if x._view is None else x._read()
        if value.aval is not like or value.recording is not None:
            return None
        if value.data.__class__ is not np.ndarray:
            return None
        arrays.append(value.data)
    return arrays


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    """Arrays of one shape along a new first axis: np.stack, without a view of each (0.5 us)."""
    shape = arrays[0].shape
    whole = np.concatenate(arrays) if shape else np.array(arrays)
    return whole.reshape(len(arrays), *shape)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Arrays, as tensors."""
    if _is_text(batch[0]):
        raise TypeError(NOT_COLLATABLE.format(batch[0].dtype))
    if _are_alike(batch):
        return from_array(_stacked(batch))
    return collate([as_tensor(x) for x in batch], collate_fn_map=collate_fn_map)


def _are_alike(batch) -> bool:
    """Whether a batch of arrays can be stacked as it is: one shape, one dtype that tensors have."""
    first = batch[0]
    if first.dtype.kind not in "biufc" or not first.dtype.isnative:
        return False
    shape, dtype = first.shape, first.dtype
    return dtype in HOST_DTYPES and all(
        [
            a.__class__ is np.ndarray and a.shape == shape and a.dtype == dtype and min(a.strides, default=0) >= 0
            for a in batch
        ]
    )


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """NumPy scalars."""
    kind = type(batch[0])
    if kind in HOST_SCALARS and all([x.__class__ is kind for x in batch]):
        return from_array(np.array(batch))
    return as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Python floats: float64, as they are."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Python ints and bools."""
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Strings stay."""
    return batch


default_collate_fn_map: dict = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch):
    """A batch of samples: tensors, arrays and numbers stacked, containers element by element.

    >>> torch.utils.data.default_collate([{"x": 0, "y": "a"}, {"x": 1, "y": "b"}])
    {'x': tensor([0, 1]), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
