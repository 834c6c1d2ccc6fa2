"""Files written by PyTorch before 0.1.10: a tar archive of `storages`, `tensors` and `pickle`.

`storages` is a row of pickles (how many; then for each its key, place and class, followed by a
64-bit count and the bytes; then views of them), `tensors` another (how many; then for each its key,
its storage's and its class, followed by sizes, strides and the offset). The object's pickle mentions
tensors and storages by their keys. Names in it are free, so nothing of it is read with weights_only.
"""

import io
import struct
import tarfile
from pickle import UnpicklingError
from typing import BinaryIO

import numpy as np

from .archive import bytes_until_end, read_exactly
from .specs import STORAGE_DTYPES, numpy_dtype

NOT_SAFE = (
    "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. If you trust the "
    "source of the file, `torch.load(..., weights_only=False)` loads it, but can then run any code "
    "that the file contains."
)


def is_tar(file: BinaryIO) -> bool:
    """Whether a tar archive begins at the file's position."""
    start = file.tell()
    header = file.read(512)
    file.seek(start)
    return header[257:262] == b"ustar" or header[:9] == b"storages\0"


def _part(archive: tarfile.TarFile, name: str) -> BinaryIO:
    try:
        found = archive.extractfile(name)
    except KeyError:
        found = None
    if found is None:
        raise RuntimeError(f"the tar checkpoint has no file {name!r}")
    return io.BytesIO(found.read())


def _dtype_of(storage_class: object) -> str:
    name = getattr(storage_class, "name", None) or getattr(storage_class, "__name__", "")
    if name not in STORAGE_DTYPES:
        raise UnpicklingError(f"not a class of storages: {storage_class!r}")
    return STORAGE_DTYPES[name]


class _Tar:
    """The storages and tensors of one archive, by key."""

    def __init__(self, loader) -> None:
        self.bytes: dict[str, np.ndarray] = {}
        self.storages: dict[int, object] = {}
        self.tensors: dict[int, object] = {}
        self.table = loader.storages(self.bytes.__getitem__, "little")
        self.rebuilder = loader.rebuilder(self.table)
        self.names = loader.names(self.rebuilder)
        self._loader = loader

    def plain(self, stream: BinaryIO) -> object:
        """One pickle of numbers and names."""
        return self._loader.unpickler(stream, self.names, self.mentioned).load()

    def read_storages(self, stream: BinaryIO) -> None:
        """The `storages` file."""
        for _ in range(self.plain(stream)):
            key, location, kind = self.plain(stream)
            dtype = _dtype_of(kind)
            (count,) = struct.unpack("<q", bytes(read_exactly(stream, 8)))
            size = count * numpy_dtype(dtype).itemsize
            if not 0 <= size <= bytes_until_end(stream):
                raise RuntimeError("the tar checkpoint is truncated or its storage sizes are damaged")
            self.bytes[str(key)] = read_exactly(stream, size)
            identity = ("storage", kind, str(key), location, count)
            self.storages[key] = self.table.persistent_load(identity)
        if self.plain(stream):
            raise NotImplementedError("legacy checkpoints with views of storages (PyTorch before 1.0)")

    def read_tensors(self, stream: BinaryIO) -> None:
        """The `tensors` file."""
        make = self.rebuilder.functions["torch._utils._rebuild_tensor"]
        for _ in range(self.plain(stream)):
            key, storage, _ = self.plain(stream)
            ndim, _ = struct.unpack("<ii", bytes(read_exactly(stream, 8)))
            numbers = struct.unpack(f"<{2 * ndim + 1}q", bytes(read_exactly(stream, 16 * ndim + 8)))
            size, stride, offset = numbers[:ndim], numbers[ndim:-1], numbers[-1]
            self.tensors[key] = make(self.storages[storage], offset, size, stride)

    def mentioned(self, identity: object) -> object:
        """What the object's pickle mentions: a class, a tensor or a storage."""
        if isinstance(identity, tuple):
            return identity[0]
        key = int(identity)
        return self.tensors[key] if key in self.tensors else self.storages[key]


def read_tar(file: BinaryIO, loader) -> object:
    """The object of a tar archive; RuntimeError with weights_only."""
    if loader.weights_only:
        raise RuntimeError(NOT_SAFE)
    with tarfile.open(fileobj=file, mode="r:") as archive:
        tar = _Tar(loader)
        tar.read_storages(_part(archive, "storages"))
        tar.read_tensors(_part(archive, "tensors"))
        return tar.plain(_part(archive, "pickle"))
