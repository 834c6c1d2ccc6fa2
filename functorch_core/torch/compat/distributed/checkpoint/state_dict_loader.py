"""torch.distributed.checkpoint.state_dict_loader: loading by all processes together, each its part.

A checkpoint is loaded by any number of processes: each reads the chunks that overlap with what it has.
"""

from __future__ import annotations

import os
from typing import Any

from .....annotations import lenient_signature
from .... import _missing
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .planner import LoadPlan, LoadPlanner
from .stateful import _is_stateful
from .storage import StorageReader
from .together import Together

NOWHERE = "checkpoint_id, or a storage_reader, is needed: dcp.load(state_dict, checkpoint_id='folder')"


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group=None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into the tensors of nested dicts, whichever way they lie; other leaves are replaced.

    `storage_reader` reads from elsewhere than a folder, `planner` says what is read to where. CheckpointException for a
    key that the checkpoint has not, and a tensor of another size.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder)
    ...   state = {"weight": torch.zeros(2)}
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError(NOWHERE)
        storage_reader = FileSystemReader(checkpoint_id)
    else:
        storage_reader.reset(checkpoint_id)
    states = {k: v.state_dict() if _is_stateful(v) else v for k, v in state_dict.items()}
    _load(states, storage_reader, planner or DefaultLoadPlanner(), Together(process_group, no_dist))
    for key, value in state_dict.items():
        if _is_stateful(value):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _load(states: dict, reader: StorageReader, planner: LoadPlanner, together: Together) -> None:
    def local() -> LoadPlan:
        found = reader.read_metadata()
        planner.set_up_planner(states, found, together.is_coordinator)
        known = lenient_signature(reader.set_up_storage_reader).parameters
        reader.set_up_storage_reader(
            found, together.is_coordinator, **({"rank": together.rank} if "kwargs" in known else {})
        )
        return reader.prepare_local_plan(planner.create_local_plan())

    def read() -> None:
        reader.read_data(planner.finish_plan(plans[together.rank]), planner).wait()

    every = together.all("plan", local)
    plans = together.first("plan", lambda: reader.prepare_global_plan(planner.create_global_plan(every)))
    together.all("read", read)
    if isinstance(planner, DefaultLoadPlanner):
        planner.put_distributed()


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """load, as it was called before.

    >>> import tempfile
    >>> from torch.distributed import checkpoint
    >>> state = {"x": torch.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = checkpoint.save({"x": torch.ones(2)}, storage_writer=checkpoint.FileSystemWriter(folder))
    ...   checkpoint.load_state_dict(state, checkpoint.FileSystemReader(folder))
    >>> state["x"]
    tensor([1., 1.])
    """
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    _load(state_dict, storage_reader, planner or DefaultLoadPlanner(), Together(process_group, no_dist))


__getattr__ = _missing.getter(__name__)
