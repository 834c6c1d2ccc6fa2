"""torch.distributed.checkpoint.filesystem: checkpoints in folders.

A folder has a file of each process and `.metadata`, which says what is where. That file is written last, in one step:
a save that is cut off leaves the one that was there, and the files that it names.
"""

from __future__ import annotations

import dataclasses
import io
import os
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..... import names
from ....tape.modes import no_grad
from ....tensors.base import Tensor
from ... import serialization
from ...futures import Future
from ...serialization.atomic import open_atomic
from ...serialization.pickling import TensorPickler
from . import metadata as _metadata
from .metadata import Metadata, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner
from .staging import BlockingAsyncStager
from .storage import StorageReader, StorageWriter, WriteResult

NO_METADATA = "{path}: there is no checkpoint here (no file .metadata): it was never saved, or the save was cut off"
VERSION = "1.0.0"  # of the form, as PyTorch counts
OTHER_SHAPE = "req {item} mismatch sizes {found} vs {saved}"
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


class _StoragePrefix(NamedTuple):
    """What the names of a process's files begin with."""

    prefix: str


class FileSystemWriter(StorageWriter, BlockingAsyncStager):
    """Writes checkpoints to a folder, which is made. Each process writes one file.

    overwrite: whether a checkpoint that is there may be replaced (RuntimeError otherwise). The options about threads,
    files and copies have no effect.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, storage_writer=dcp.FileSystemWriter(folder))
    ...   list(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata)
    ['weight']
    """

    def __init__(
        self,
        path: str | os.PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        **options,
    ):
        self.path, self.overwrite = Path(path), overwrite
        self.save_id = uuid.uuid4().hex

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Another save, to this folder, if one is given."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = uuid.uuid4().hex

    def set_up_storage_writer(self, is_coordinator: bool, *args, **kwargs) -> None:
        """Nothing."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder; RuntimeError if there is a checkpoint that is to stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / ".metadata").exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Name the files of this save otherwise than those of the one before."""
        prefixes = [_StoragePrefix(f"__{k}_{self.save_id[:8]}") for k in range(len(plans))]
        return [dataclasses.replace(plan, storage_data=prefix) for plan, prefix in zip(plans, prefixes)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write what one process has to a file."""
        name, written = f"{plan.storage_data.prefix}.distcp", []
        with open_atomic(self.path / name) as file:
            for item in plan.items:
                data = planner.resolve_data(item)
                if not isinstance(data, io.BytesIO):
                    data, tensor = io.BytesIO(), data
                    serialization.save(tensor.detach().clone().cpu(), data)
                info = _StorageInfo(name, file.tell(), data.getbuffer().nbytes)
                file.write(data.getbuffer())
                written.append(WriteResult(item.index, info.length, info))
        done = Future()
        done.set_result(written)
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, from when on the checkpoint is the new one; delete the files of the old one."""
        metadata.storage_data = {found.index: found.storage_data for of_one in results for found in of_one}
        metadata.storage_meta, metadata.version = self.storage_meta(), VERSION
        with open_atomic(self.path / ".metadata") as file, names.saving():
            buffer = io.BytesIO()
            TensorPickler(buffer, protocol=4, describe=serialization.describe).dump(metadata)
            file.write(buffer.getbuffer())
        used = {info.relative_path for info in metadata.storage_data.values()}
        for path in self.path.glob("__*.distcp"):
            if path.name not in used:
                path.unlink(missing_ok=True)

    def storage_meta(self) -> StorageMeta:
        """The folder, and a name of this save."""
        return StorageMeta(str(self.path), self.save_id)

    @property
    def checkpoint_id(self) -> str | os.PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether it is a path that could be made here, no address."""
        return _is_path(checkpoint_id)


def _is_path(checkpoint_id: str | os.PathLike) -> bool:
    if isinstance(checkpoint_id, Path):
        return True
    if "://" in str(checkpoint_id):
        return False
    return any(os.access(parent, os.W_OK) for parent in Path(checkpoint_id).parents)


class FileSystemReader(StorageReader):
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
        self.storage_data: dict[Any, _StorageInfo] = {}
        self.load_id = uuid.uuid4().hex

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Another load, from this folder, if one is given."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.load_id = uuid.uuid4().hex

    def read_metadata(self, *args, **kwargs) -> Metadata:
        """What is in the checkpoint; FileNotFoundError where there is none."""
        try:
            with open(self.path / ".metadata", "rb") as file:
                found = _Unpickler(file, str(self.path / ".metadata")).load()
        except FileNotFoundError:
            raise FileNotFoundError(NO_METADATA.format(path=self.path)) from None
        if getattr(found, "storage_meta", None) is None:
            found.storage_meta = StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args, **kwargs) -> None:
        """Where everything is."""
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read what a plan says, file by file."""
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        with no_grad():
            for name, items in by_file.items():
                with open(self.path / name, "rb") as file:
                    self._read_items(file, items, planner)
        done = Future()
        done.set_result(None)
        return done

    def _read_items(self, file: BinaryIO, items: list[ReadItem], planner: LoadPlanner) -> None:
        chunk: tuple[Any, Any] = (None, None)  # the last one, which several items may be parts of
        for item in sorted(items, key=lambda item: self.storage_data[item.storage_index].offset):
            if item.storage_index != chunk[0] or item.type is LoadItemType.BYTE_IO:
                info = self.storage_data[item.storage_index]
                file.seek(info.offset)
                stream = io.BytesIO(file.read(info.length))
                if item.type is LoadItemType.BYTE_IO:
                    planner.load_bytes(item, stream)
                    continue
                chunk = item.storage_index, serialization.load(stream, map_location="cpu", weights_only=True)
            _copy_part(planner, item, chunk[1])

    @property
    def checkpoint_id(self) -> str | os.PathLike:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether it is a path, no address."""
        return _is_path(checkpoint_id)


def _copy_part(planner: LoadPlanner, item: ReadItem, saved: Tensor) -> None:
    """Copy what an item says of a tensor that was read to where the planner wants it."""
    for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
        saved = saved.narrow(dim, start, length)
    target = planner.resolve_tensor(item).detach()
    if target.shape != saved.shape:
        raise ValueError(OTHER_SHAPE.format(item=item.storage_index, found=target.shape, saved=saved.shape))
    target.copy_(saved)
    planner.commit_tensor(item, target)
