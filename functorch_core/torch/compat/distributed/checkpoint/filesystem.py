"""torch.distributed.checkpoint.filesystem: checkpoints in folders.

A folder has a file of each process and `.metadata`, which says what is where. That file is written last, in one step:
a save that is cut off leaves the one that was there, and the files that it names.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..... import names
from ....tensors.types import Size
from ... import serialization
from ...serialization.atomic import open_atomic
from ...serialization.pickling import TensorPickler
from . import metadata as _metadata
from .metadata import Metadata

NO_METADATA = "{path}: there is no checkpoint here (no file .metadata): it was never saved, or the save was cut off"
REFUSED = "{path}: the metadata name {module}.{name}, which is no part of a checkpoint; the file was not read"


@dataclass
class _StorageInfo:
    """Where something is stored."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if v is not None}


class _Unpickler(pickle.Unpickler):
    """Reads metadata, and makes nothing but what metadata are made of."""

    def __init__(self, file: BinaryIO, path: str):
        super().__init__(file)
        self.path = path

    def find_class(self, module: str, name: str):
        """The class of a name."""
        if module == "torch.distributed.checkpoint.metadata" and hasattr(_metadata, name):
            return getattr(_metadata, name)
        if (module, name) == ("torch.distributed.checkpoint.filesystem", "_StorageInfo"):
            return _StorageInfo
        known = serialization._constants()
        if f"{module}.{name}" in known:
            return known[f"{module}.{name}"]
        if module in ("pathlib", "pathlib._local") and name in ("PosixPath", "WindowsPath"):
            return Path
        if (module, name) == ("collections", "OrderedDict"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(REFUSED.format(path=self.path, module=module, name=name))


class FileSystemWriter:
    """Writes checkpoints to a folder, which is made.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, storage_writer=dcp.FileSystemWriter(folder))
    ...   list(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata)
    ['weight']
    """

    def __init__(self, path: str | os.PathLike, *args, overwrite: bool = True, **options):
        self.path, self.overwrite = Path(path), overwrite
        self.save_id = uuid.uuid4().hex

    def prepare(self):
        """Make the folder; RuntimeError if there is a checkpoint that is to stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / ".metadata").exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")

    def write(self, rank: int, save_id: str, items: list[tuple[Any, Any]]) -> dict:
        """Write what one process has, (index, object) pairs, to a file; where each is."""
        name, found = f"__{rank}_{save_id[:8]}.distcp", {}
        with open_atomic(self.path / name) as file:
            for index, item in items:
                buffer = io.BytesIO()
                serialization.save(item, buffer)
                found[index] = _StorageInfo(name, file.tell(), buffer.tell())
                file.write(buffer.getbuffer())
        return found

    def finish(self, found: Metadata):
        """Write the metadata, from when on the checkpoint is the new one; delete the files of the old one."""
        with open_atomic(self.path / ".metadata") as file, names.saving():
            buffer = io.BytesIO()
            TensorPickler(buffer, protocol=4, describe=serialization.describe).dump(found)
            file.write(buffer.getbuffer())
        used = {info.relative_path for info in found.storage_data.values()}
        for path in self.path.glob("__*.distcp"):
            if path.name not in used:
                path.unlink(missing_ok=True)


class FileSystemReader:
    """Reads checkpoints from a folder.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, storage_writer=dcp.FileSystemWriter(folder))
    ...   list(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata)
    ['weight']
    """

    def __init__(self, path: str | os.PathLike, *args, **options):
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """What is in the checkpoint; CheckpointException where there is none."""
        try:
            with open(self.path / ".metadata", "rb") as file:
                return _Unpickler(file, str(self.path / ".metadata")).load()
        except FileNotFoundError:
            raise FileNotFoundError(NO_METADATA.format(path=self.path)) from None

    @contextlib.contextmanager
    def opened(self) -> Iterator[_Files]:
        """The files, each opened once."""
        with contextlib.ExitStack() as stack:
            yield _Files(self.path, stack)


class _Files:
    def __init__(self, folder: Path, stack: contextlib.ExitStack):
        self.folder, self.stack = folder, stack
        self.opened: dict[str, BinaryIO] = {}

    def read(self, info: _StorageInfo, weights_only: bool) -> Any:
        """What is stored somewhere."""
        name = info.relative_path
        if name not in self.opened:
            self.opened[name] = self.stack.enter_context(open(self.folder / name, "rb"))
        file = self.opened[name]
        file.seek(info.offset)
        return serialization.load(io.BytesIO(file.read(info.length)), weights_only=weights_only)


def _size(shape) -> Size:
    """A shape as checkpoints have it."""
    return Size(tuple(shape))
