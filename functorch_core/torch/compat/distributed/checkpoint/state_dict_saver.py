"""torch.distributed.checkpoint.state_dict_saver: saving by all processes together, each its part."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any

from .....annotations import lenient_signature
from .... import _missing
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import SavePlan, SavePlanner
from .staging import AsyncStager, BlockingAsyncStager
from .stateful import _is_stateful
from .storage import StorageWriter, WriteResult
from .together import Beside, Together

NOWHERE = "checkpoint_id, or a storage_writer, is needed: dcp.{name}(state_dict, checkpoint_id='folder')"


class AsyncCheckpointerType(Enum):
    """Where async_save writes: in a thread in either case.

    >>> from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
    >>> AsyncCheckpointerType.THREAD.value
    'thread'
    """

    THREAD = "thread"
    PROCESS = "process"


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group=None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write nested dicts of tensors and other objects to a folder; all processes call it.

    Of a DTensor each process writes its part, all else is the first process's that has it. The folder is the new
    checkpoint when all have written; a save that fails or is cut off leaves the one before. `storage_writer` writes
    elsewhere than to a folder, `planner` says what is written.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = torch.distributed.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
    >>> state = {"x": torch.zeros(2)}
    >>> torch.distributed.checkpoint.load(state, checkpoint_id=folder)
    >>> state["x"]
    tensor([1., 1.])

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"weight": torch.ones(2)}, checkpoint_id=folder)
    ...   state = {"weight": torch.zeros(2)}
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    writer = _writer(storage_writer, checkpoint_id, "save")
    return _save(_states(state_dict), writer, planner or DefaultSavePlanner(), Together(process_group, no_dist))


def _writer(given: StorageWriter | None, checkpoint_id, name: str) -> StorageWriter:
    if given is None:
        if checkpoint_id is None:
            raise RuntimeError(NOWHERE.format(name=name))
        return FileSystemWriter(checkpoint_id)
    given.reset(checkpoint_id)
    return given


def _states(state_dict: Mapping) -> dict:
    """The state with what has a state_dict replaced by it."""
    return {k: v.state_dict() if _is_stateful(v) else v for k, v in state_dict.items()}


def _save(state: dict, writer: StorageWriter, planner: SavePlanner, together: Together) -> Metadata:
    def local() -> SavePlan:
        _set_up(planner, state, writer, together.is_coordinator)
        extra = {"rank": together.rank, "use_collectives": True}
        known = lenient_signature(writer.set_up_storage_writer).parameters
        writer.set_up_storage_writer(together.is_coordinator, **(extra if "kwargs" in known else {}))
        return writer.prepare_local_plan(planner.create_local_plan())

    def whole() -> tuple[list[SavePlan], Metadata]:
        plans, found = planner.create_global_plan(every)
        return writer.prepare_global_plan(plans), found

    def write() -> list[WriteResult]:
        return writer.write_data(planner.finish_plan(plans[together.rank]), planner).wait()

    def finish() -> Metadata:
        writer.finish(found, results)
        return found

    every = together.all("plan", local)
    plans, found = together.first("plan", whole)
    results = together.all("write", write)
    return together.first("finish", finish)


def _set_up(planner: SavePlanner, state: dict, writer: StorageWriter, is_coordinator: bool) -> None:
    if "storage_meta" in lenient_signature(planner.set_up_planner).parameters:
        planner.set_up_planner(state_dict=state, storage_meta=writer.storage_meta(), is_coordinator=is_coordinator)
    else:  # as planners were before
        planner.set_up_planner(state, is_coordinator)


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group=None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future:
    """save, of which a thread writes the files: a future. What is saved is as it is now.

    The threads of several processes tell each other by the key-value store of the process group, so that they do not
    meet the program's collectives; wait for the future before destroy_process_group. `async_stager` makes the copy.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.async_save({"weight": torch.ones(2)}, checkpoint_id=folder).result()
    ...   state = {"weight": torch.zeros(2)}
    ...   dcp.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.])}
    """
    writer = _writer(storage_writer, checkpoint_id, "async_save")
    together = Beside(process_group, no_dist)
    stager = async_stager or (writer if isinstance(writer, AsyncStager) else BlockingAsyncStager())
    staged = stager.stage(_states(state_dict))
    staged = staged.result() if isinstance(staged, Future) else staged
    pool = ThreadPoolExecutor(1)
    future = pool.submit(_save, staged, writer, planner or DefaultSavePlanner(), together)
    pool.shutdown(wait=False)
    if stager.should_synchronize_after_execute:
        stager.synchronize_staging()
    return future


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """save, as it was called before.

    >>> import tempfile
    >>> from torch.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   metadata = checkpoint.save_state_dict({"x": torch.ones(2)}, checkpoint.FileSystemWriter(folder))
    """
    return save(
        state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner
    )


def _save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    together = Together(process_group, no_dist)
    return _save(state_dict, storage_writer, planner or DefaultSavePlanner(), together)


__getattr__ = _missing.getter(__name__)
