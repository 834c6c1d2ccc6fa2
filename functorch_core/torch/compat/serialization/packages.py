"""Where storages are that are saved, and where they go when they are loaded: devices of this library and others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....engine import Value, from_numpy
from ...dispatch.devices import move
from ...operators.shape.storage import Storage, UntypedStorage
from ...tensors import types as _types
from ...views.cells import Cell
from ..devices import cuda

NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
    "False. If you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)
UNKNOWN = "don't know how to restore data location of torch.storage.UntypedStorage (tagged with {})"


def _tag(storage: Storage) -> str:
    """Where a storage of this library is."""
    return str(storage.device)


def _restored(storage: Storage, location: str) -> Storage | None:
    """The storage at a place that this library knows; None for others."""
    device = _device_of(location)
    return None if device is None else storage.to(device=device)


def _device_of(location: str) -> _types.device | None:
    try:
        device = _types.device(location)
    except RuntimeError:
        return None
    if device.type == "cuda" and not cuda.is_available():
        raise RuntimeError(NO_CUDA)
    return device


_package_registry: list[tuple[int, Callable, Callable]] = [(10, _tag, _restored)]


def register_package(priority: int, tagger: Callable, deserializer: Callable):
    """Let tagger(storage) say where storages are when they are saved, and deserializer(storage, location) bring them
    there when they are loaded; the next one is asked (by priority, 10 is this library's) where one returns None.

    >>> torch.serialization.register_package(0, lambda storage: None, lambda storage, location: None)
    >>> del torch.serialization._package_registry[0]  # no longer
    """
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda package: package[0])


def location_tag(storage: Storage) -> str:
    """Where a storage is, as a checkpoint says it."""
    for _, tagger, _ in _package_registry:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: Storage, location: str) -> Storage:
    """The storage where the file says it was; for use in functions given as map_location."""
    for _, _, deserializer in _package_registry:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(UNKNOWN.format(location))


def are_foreign() -> bool:
    """Whether packages have been registered."""
    return len(_package_registry) > 1


def place(array: np.ndarray, location: str) -> Value:
    """The array's value at the place that a checkpoint names."""
    value = from_numpy(array)
    if are_foreign():
        found = default_restore_location(UntypedStorage(cell=Cell(value, 0, None)), location)
        return found._tensor(array.dtype).reshape(array.shape)._read()
    if location == "cpu":
        return value
    device = _device_of(location)
    if device is None:
        raise RuntimeError(UNKNOWN.format(location))
    return move(value, device)
