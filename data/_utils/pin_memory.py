"""pin_memory=True: accepted, and done by whatever brings its own `pin_memory` method."""

from __future__ import annotations

import collections.abc as abc

from ...torch.tensors.base import Tensor
from .collate import _like_mapping, _like_sequence


def pin_memory(data, device=None):
    """The batch with every tensor pinned; objects of other types by their own method."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, abc.Mapping):
        return _like_mapping(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, tuple):
        items = [pin_memory(v, device) for v in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    if isinstance(data, abc.Sequence):
        return _like_sequence(data, [pin_memory(v, device) for v in data])
    return data
