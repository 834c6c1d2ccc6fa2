"""torch.distributed.checkpoint.storage: where checkpoints are kept. Subclasses say how."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from ...futures import Future
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner


@dataclass(frozen=True)
class WriteResult:
    """What was written: its index, its size, and where it is, as the reader of this storage wants to know it.

    >>> from torch.distributed.checkpoint.metadata import MetadataIndex
    >>> from torch.distributed.checkpoint.storage import WriteResult
    >>> WriteResult(MetadataIndex("x"), 8, "file 1").size_in_bytes
    8
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """How a checkpoint is written. `save` calls, in this order: reset (if it was given a checkpoint_id), then in all
    processes set_up_storage_writer and prepare_local_plan, in the first one prepare_global_plan, in all write_data, in
    the first one finish.

    >>> import torch.distributed.checkpoint as dcp
    >>> issubclass(dcp.FileSystemWriter, dcp.StorageWriter)
    True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """A save begins; to this place, if it says one."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Whether this process is the first one."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """The plan of this process, with what the storage adds to it (`storage_data`)."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The plans of all processes, with what the storage adds to them."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write the items of a plan, which planner.resolve_data gives: a future of what was written."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, with what all processes have written: the checkpoint is there."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether a place is one for this storage."""

    def storage_meta(self) -> StorageMeta | None:
        """What planners and the metadata are told of the storage."""
        return None


class StorageReader(abc.ABC):
    """How a checkpoint is read. `load` calls, in this order: reset (if it was given a checkpoint_id), then in all
    processes read_metadata, set_up_storage_reader and prepare_local_plan, in the first one prepare_global_plan, in all
    read_data.

    >>> import torch.distributed.checkpoint as dcp
    >>> issubclass(dcp.FileSystemReader, dcp.StorageReader)
    True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """A load begins; from this place, if it says one."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What is in the checkpoint."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """What is in the checkpoint, and whether this process is the first one."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan of this process, with what the storage adds to it."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans of all processes, with what the storage adds to them."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read the items of a plan: objects go to planner.load_bytes, tensors are copied to what planner.resolve_tensor
        gives, and then planner.commit_tensor is called."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether a place is one for this storage."""
