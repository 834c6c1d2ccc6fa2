"""torch.distributed.checkpoint.planner: which process writes and reads what. Subclasses can change names and values."""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ....tensors.base import Tensor
from ....tensors.types import Size
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties


class WriteItemType(Enum):
    """What is written: a whole tensor, a part of one, or an object.

    >>> from torch.distributed.checkpoint.planner import WriteItemType
    >>> [kind.name for kind in WriteItemType]
    ['TENSOR', 'SHARD', 'BYTE_IO']
    """

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read: (a part of) a tensor, or an object.

    >>> from torch.distributed.checkpoint.planner import LoadItemType
    >>> [kind.name for kind in LoadItemType]
    ['TENSOR', 'BYTE_IO']
    """

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How long an object is that is written.

    >>> from torch.distributed.checkpoint.planner import BytesIOWriteData
    >>> BytesIOWriteData(nbytes=3).nbytes
    3
    """

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which part of a tensor is written, and what and how large the tensor is.

    >>> import torch.distributed.checkpoint as dcp
    >>> planner = dcp.DefaultSavePlanner()
    >>> planner.set_up_planner({"x": torch.ones(2)})
    >>> planner.create_local_plan().items[0].tensor_data.size
    torch.Size([2])
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """Something that is written.

    >>> import torch.distributed.checkpoint as dcp
    >>> planner = dcp.DefaultSavePlanner()
    >>> planner.set_up_planner({"x": torch.ones(2)})
    >>> planner.create_local_plan().items[0].index.fqn
    'x'
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the whole tensor; None for an object."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """Something that is read: from a part in the checkpoint (`storage_index`, from `storage_offsets` on, `lengths` of
    it) to a part in the state dict (`dest_index`, from `dest_offsets` on).

    >>> from torch.distributed.checkpoint import ReadItem
    >>> from torch.distributed.checkpoint.metadata import MetadataIndex
    >>> from torch.distributed.checkpoint.planner import LoadItemType
    >>> x, none = MetadataIndex("x"), torch.Size([0])
    >>> ReadItem(LoadItemType.BYTE_IO, x, none, x, none, none).dest_index.fqn
    'x'
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What a process writes.

    >>> from torch.distributed.checkpoint import SavePlan
    >>> SavePlan([]).items
    []
    """

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads.

    >>> from torch.distributed.checkpoint import LoadPlan
    >>> LoadPlan([]).items
    []
    """

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Says what is written. `save` calls, in this order: in all processes set_up_planner and create_local_plan, in the
    first one create_global_plan, in all finish_plan, and resolve_data for each item.

    >>> import io
    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> class Halved(dcp.DefaultSavePlanner):
    ...   def resolve_data(self, item):
    ...     found = super().resolve_data(item)
    ...     return found if isinstance(found, io.BytesIO) else found / 2
    >>> state = {"x": torch.ones(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save(state, checkpoint_id=folder, planner=Halved())
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state["x"]
    tensor([0.5000, 0.5000])
    """

    _cached_save_plan: dict[str, SavePlan] = {}
    _cached_final_save_plan: dict[str, SavePlan] = {}

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """What is saved, and whether this process is the first one."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process could write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process will write, and what then is in the checkpoint."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this process will write, when all have agreed."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor, or the bytes, of an item."""


class LoadPlanner:
    """Says what is read, and to where. `load` calls, in this order: in all processes set_up_planner and
    create_local_plan, in the first one create_global_plan, in all finish_plan; then load_bytes for each object,
    resolve_tensor and commit_tensor for each tensor.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> class Renamed(dcp.DefaultLoadPlanner):  # reads "old.x" where the state dict has "x"
    ...   def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
    ...     super().set_up_planner({f"old.{k}": v for k, v in state_dict.items()}, metadata, is_coordinator)
    >>> state = {"x": torch.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"old": {"x": torch.ones(2)}}, checkpoint_id=folder)
    ...   dcp.load(state, checkpoint_id=folder, planner=Renamed())
    >>> state["x"]
    tensor([1., 1.])
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """What is read into, what is in the checkpoint, and whether this process is the first one."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process wants to read."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process will read."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """What this process will read, when all have agreed."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take the bytes of an object."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where the bytes of an object go to, for storages that ask."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The tensor that an item is copied to."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """An item was copied to the tensor of resolve_tensor."""
