"""torch.distributed.checkpoint.format_utils: from checkpoints to files of torch.save, and back."""

from __future__ import annotations

import os
from typing import Any

from ....tensors.base import Tensor
from ....tensors.types import Size
from ... import serialization
from ...futures import Future
from ..collectives import broadcast_object_list
from ..group import get_rank, get_world_size, is_initialized
from ._nested_dict import flatten_state_dict
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter, _copy_part
from .metadata import ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, LoadPlan, LoadPlanner
from .state_dict_loader import _load_state_dict
from .state_dict_saver import _save_state_dict
from .storage import StorageReader

ONLY_TENSORS = "{name} is no tensor: BroadcastingTorchSaveReader reads tensors only"


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike) -> None:
    """Write the state of a checkpoint's folder to a file of torch.save; by one process.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"model": {"x": torch.ones(2)}}, checkpoint_id=folder)
    ...   dcp_to_torch_save(folder, f"{folder}/model.pt")
    ...   torch.load(f"{folder}/model.pt")
    {'model': {'x': tensor([1., 1.])}}
    """
    state: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner()
    _load_state_dict(state, FileSystemReader(dcp_checkpoint_dir), planner=planner, no_dist=True)
    serialization.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike) -> None:
    """Write the state of a file of torch.save to a checkpoint's folder; by one process. The file may run code.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.format_utils import torch_save_to_dcp
    >>> state = {"x": torch.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   torch.save({"x": torch.ones(2)}, f"{folder}/model.pt")
    ...   torch_save_to_dcp(f"{folder}/model.pt", f"{folder}/checkpoint")
    ...   dcp.load(state, checkpoint_id=f"{folder}/checkpoint")
    >>> state["x"]
    tensor([1., 1.])
    """
    state = serialization.load(torch_save_path, map_location="cpu", weights_only=False)
    _save_state_dict(state, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of torch.save, in the process `coordinator_rank` alone, which gives its tensors to the others.
    To be used with DynamicMetaLoadPlanner, as such a file has no metadata.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.format_utils import BroadcastingTorchSaveReader, DynamicMetaLoadPlanner
    >>> state = {"x": torch.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   torch.save({"x": torch.ones(2)}, f"{folder}/model.pt")
    ...   reader = BroadcastingTorchSaveReader(f"{folder}/model.pt")
    ...   dcp.load(state, storage_reader=reader, planner=DynamicMetaLoadPlanner())
    >>> state["x"]
    tensor([1., 1.])
    """

    def __init__(self, checkpoint_id: str | os.PathLike | None = None, coordinator_rank: int = 0) -> None:
        self.checkpoint_id, self.coordinator_rank = checkpoint_id, coordinator_rank
        self.is_coordinator = True

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Another load, of this file, if one is given."""
        self.checkpoint_id = checkpoint_id or self.checkpoint_id

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Nothing: see DynamicMetaLoadPlanner."""
        return Metadata(state_dict_metadata={})

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Whether this process reads the file."""
        self.is_coordinator = is_coordinator if not is_initialized() else get_rank() == self.coordinator_rank
        assert self.checkpoint_id is not None, "BroadcastingTorchSaveReader needs a checkpoint_id"

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Give each process what its plan says, tensor by tensor."""
        flat: dict[str, Any] = {}
        if self.is_coordinator:
            assert self.checkpoint_id is not None
            flat, _ = flatten_state_dict(serialization.load(self.checkpoint_id, map_location="cpu", weights_only=False))
        sent: dict[str, Tensor] = {}
        for item in plan.items:
            name = item.storage_index.fqn
            if item.type is LoadItemType.BYTE_IO:
                raise RuntimeError(ONLY_TENSORS.format(name=name))
            if name not in sent:
                sent = {name: self._from_coordinator(flat.get(name))}
            _copy_part(planner, item, sent[name])
        done = Future()
        done.set_result(None)
        return done

    def _from_coordinator(self, tensor: Tensor | None) -> Tensor:
        given = [tensor]
        if is_initialized() and get_world_size() > 1:
            broadcast_object_list(given, self.coordinator_rank)
        assert given[0] is not None
        return given[0]

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether it is a file."""
        return os.path.isfile(checkpoint_id)


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """A DefaultLoadPlanner for storages that do not say what they have: everything in the state dict is taken to be
    there.

    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.format_utils import DynamicMetaLoadPlanner
    >>> issubclass(DynamicMetaLoadPlanner, dcp.DefaultLoadPlanner)
    True
    """

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False) -> None:
        """What is read into, which says what is in the checkpoint."""
        super().set_up_planner(state_dict, metadata, is_coordinator)
        found = {}
        for name, tensor in self.state_dict.items():
            if not isinstance(tensor, Tensor):
                raise RuntimeError(ONLY_TENSORS.format(name=name))
            size = Size(tensor.shape)
            chunk = ChunkStorageMetadata(Size([0] * len(size)), size)
            found[name] = TensorStorageMetadata(TensorProperties(tensor.dtype), size, [chunk])
        self.metadata = Metadata(state_dict_metadata=found)
