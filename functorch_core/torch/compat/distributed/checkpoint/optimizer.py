"""torch.distributed.checkpoint.optimizer: states of optimizers, divided as the parameters that they belong to."""

from __future__ import annotations

from typing import Any

import functorch_core.torch as torch

from ..tensor.api import is_distributed
from ._nested_dict import set_element
from .metadata import TensorStorageMetadata
from .planner import LoadPlanner
from .state_dict_loader import load
from .storage import StorageReader


def load_sharded_optimizer_state_dict(
    model_state_dict: dict[str, Any],
    optimizer_key: str,
    storage_reader: StorageReader,
    planner: LoadPlanner | None = None,
) -> dict[str, Any]:
    """What a checkpoint has below a key, {optimizer_key: {"state": {name of a parameter: {...}}, ...}}: tensors of the
    shape of their parameter lie as that does in model_state_dict, others are whole in each process.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.optimizer import load_sharded_optimizer_state_dict
    >>> state = {"state": {"weight": {"exp_avg": torch.ones(2), "step": torch.tensor(3.)}}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"optimizer": state}, checkpoint_id=folder)
    ...   reader = dcp.FileSystemReader(folder)
    ...   load_sharded_optimizer_state_dict({"weight": torch.zeros(2)}, "optimizer", reader)
    {'optimizer': {'state': {'weight': {'exp_avg': tensor([1., 1.]), 'step': tensor(3.)}}}}
    """
    metadata, found = storage_reader.read_metadata(), {}
    for key, value in metadata.state_dict_metadata.items():
        path = metadata.planner_data[key] if metadata.planner_data else (key,)
        if path[0] != optimizer_key:
            continue
        empty: Any = "<bytes>"
        if isinstance(value, TensorStorageMetadata):
            parameter = next((model_state_dict[k] for k in path[1:] if k in model_state_dict), None)
            empty = _empty_like(value, parameter)
        set_element(found, path, empty)
    if not found:
        raise KeyError(f"the checkpoint has nothing below the key {optimizer_key!r}")
    load(found, storage_reader=storage_reader, planner=planner)
    return found


def _empty_like(value: TensorStorageMetadata, parameter: Any):
    dtype = value.properties.dtype
    if parameter is not None and is_distributed(parameter) and tuple(parameter.shape) == tuple(value.size):
        return torch.zeros_like(parameter.detach(), dtype=dtype)
    return torch.zeros(tuple(value.size), dtype=dtype)
