"""Files written by PyTorch before 1.6, or with `_use_new_zipfile_serialization=False`.

Five pickles in a row (magic number, version, system, object, storage keys), then the storages, each
a 64-bit count and little-endian bytes.
"""

import pickle
import struct
import sys
from collections.abc import Callable
from pickle import UnpicklingError
from typing import BinaryIO

import numpy as np

from .archive import bytes_until_end, read_exactly
from .pickling import StorageTable
from .rebuilding import parse_identity
from .specs import numpy_dtype
from .unpickling import InertGlobals, Machine, SafeGlobals

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def write_legacy(file: BinaryIO, data: bytes, storages: StorageTable, *, protocol: int) -> None:
    """Write the pickle of an object and the storages it refers to."""
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, SYSTEM):
        pickle.dump(part, file, protocol=protocol)
    file.write(data)
    keys = sorted(storages.arrays)
    pickle.dump(keys, file, protocol=protocol)
    for key in keys:
        file.write(struct.pack("<q", storages.count(key)))
        file.write(memoryview(storages.arrays[key]))


def _no_storage(identity: object) -> None:
    raise UnpicklingError("a storage where there must be none")


def _plain(file: BinaryIO) -> object:
    """A pickle of numbers, strings and containers."""
    return Machine(file, names=SafeGlobals({}), persistent_load=_no_storage).load()


def _check_header(file: BinaryIO) -> None:
    if bytes_until_end(file) == 0:
        raise EOFError("Ran out of input")
    if _plain(file) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = _plain(file)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    _plain(file)


def _mentioned_storages(file: BinaryIO) -> dict[str, str]:
    """Read past the object's pickle, making nothing; dtypes of the storages it mentions, by key."""
    dtypes: dict[str, str] = {}

    def note(identity: object) -> None:
        if type(identity) is tuple and identity[:1] != ("module",):
            dtype, key, _, _ = parse_identity(identity)
            dtypes.setdefault(key, dtype or "torch.uint8")

    Machine(file, names=InertGlobals(), persistent_load=note).load()
    return dtypes


def _read_storage(file: BinaryIO, dtype: str) -> np.ndarray:
    header = file.read(8)
    count = struct.unpack("<q", header)[0] if len(header) == 8 else -1
    size = count * numpy_dtype(dtype).itemsize
    if not 0 <= size <= bytes_until_end(file):
        raise RuntimeError("the legacy checkpoint is truncated or its storage sizes are damaged")
    return read_exactly(file, size)


def _read_storages(file: BinaryIO, dtypes: dict[str, str]) -> dict[str, np.ndarray]:
    keys = _plain(file)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise UnpicklingError("the storage keys of the legacy checkpoint are damaged")
    unknown = [key for key in keys if key not in dtypes]
    if unknown:
        raise UnpicklingError(f"storage {unknown[0]} belongs to no tensor")
    return {key: _read_storage(file, dtypes[key]) for key in keys}


def read_legacy(file: BinaryIO, run: Callable[[BinaryIO, Callable[[str], np.ndarray]], object]) -> object:
    """Read one legacy checkpoint at the file's position and leave the file after it.

    `run(file, read)` is given the file at the object's pickle, and a function that gives a
    storage's bytes by key. The storages lie behind the pickle that needs them, so the pickle is
    read twice: the first time making nothing.
    """
    _check_header(file)
    start = file.tell()
    dtypes = _mentioned_storages(file)
    storages = _read_storages(file, dtypes)
    end = file.tell()

    def read(key: str) -> np.ndarray:
        if key not in storages:
            raise RuntimeError(f"storage {key} is missing from the legacy checkpoint")
        return storages[key]

    file.seek(start)
    result = run(file, read)
    file.seek(end)
    return result
