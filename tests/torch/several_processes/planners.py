"""Planners and storages of one's own, as the documentation of torch.distributed.checkpoint has them: what is printed is
the same under both libraries. Argument 1: a folder; 2: one with a checkpoint of the other library, or none."""

import dataclasses
import io
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from torch.distributed.checkpoint.format_utils import (
    BroadcastingTorchSaveReader,
    DynamicMetaLoadPlanner,
    dcp_to_torch_save,
    torch_save_to_dcp,
)
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import LoadItemType, WriteItemType
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.checkpoint.storage import WriteResult
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.futures import Future

folder = sys.argv[1]
dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (n,))


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


def shown(state):
    if isinstance(state, torch.Tensor):
        whole = state.full_tensor() if hasattr(state, "full_tensor") else state
        return whole.tolist()
    if isinstance(state, dict):
        return {k: shown(v) for k, v in state.items()}
    return [shown(v) for v in state] if isinstance(state, list) else state


def example(fill=None):
    wide = torch.arange(10.0).reshape(5, 2) if fill is None else torch.full((5, 2), fill)
    return {
        "divided": distribute_tensor(wide, mesh, [Shard(0)]),
        "copies": distribute_tensor(wide[0].clone(), mesh, [Replicate()]),
        "nested": {"plain": wide[1].clone(), "steps": [3 if fill is None else 0, wide[2].clone()]},
        "text": "kept" if fill is None else "",
    }


# ---- planners


class RenameSave(dcp.DefaultSavePlanner):
    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        super().set_up_planner({f"foo_{k}": v for k, v in state_dict.items()}, storage_meta, is_coordinator)


class RenameLoad(dcp.DefaultLoadPlanner):
    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        super().set_up_planner({f"foo_{k}": v for k, v in state_dict.items()}, metadata, is_coordinator)
        self.own = state_dict

    def load_bytes(self, read_item, value):
        name = read_item.dest_index.fqn.removeprefix("foo_")
        if "." in name:
            return super().load_bytes(read_item, value)
        self.own[name] = torch.load(value, weights_only=False)


class Halves(dcp.DefaultSavePlanner):
    def create_local_plan(self):
        plan = super().create_local_plan()
        for item in plan.items:
            if item.tensor_data is not None:
                item.tensor_data.properties.dtype = torch.float16
        return plan

    def resolve_data(self, item):
        found = super().resolve_data(item)
        return found if isinstance(found, io.BytesIO) else found.to(torch.float16)


class Shared(dcp.DefaultSavePlanner):
    """Each process writes a share of what all have."""

    def create_global_plan(self, all_plans):
        turns = [iter(plan.items) for plan in all_plans]
        taken = [[] for _ in all_plans]
        for k, (items, turn) in enumerate(zip(taken, turns)):
            items.extend(item for j, item in enumerate(turn) if j % len(all_plans) == k)
        return super().create_global_plan([dataclasses.replace(p, items=i) for p, i in zip(all_plans, taken)])


saved = dcp.save(example(), checkpoint_id=f"{folder}/renamed", planner=RenameSave())
say(sorted(saved.state_dict_metadata))
state = example(0.0)
dcp.load(state, checkpoint_id=f"{folder}/renamed", planner=RenameLoad())
say("renamed", shown(state))
dcp.save(example(), checkpoint_id=f"{folder}/halves", planner=Halves())
state = example(0.0)
dcp.load(state, checkpoint_id=f"{folder}/halves")
found = dcp.FileSystemReader(f"{folder}/halves").read_metadata().state_dict_metadata
say("halves", shown(state), found["divided"].properties.dtype, found["nested.plain"].properties.dtype)
plain = {f"w{k}": torch.full((k + 1,), float(k)) for k in range(5)}
dcp.save(plain, checkpoint_id=f"{folder}/shared", planner=Shared())
sizes = sorted(
    os.path.getsize(f"{folder}/shared/{name}") > 0 for name in os.listdir(f"{folder}/shared") if name[0] != "."
)
state = {name: torch.zeros_like(x) for name, x in plain.items()}
dcp.load(state, checkpoint_id=f"{folder}/shared")
say("shared", sizes, shown(state))
state = {**example(0.0), "new": 5}
dcp.load(state, checkpoint_id=f"{folder}/halves", planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
say("partial", shown(state))
for wrong in ({"nothing": torch.ones(1)}, {"text": "", "divided": torch.ones(3)}):
    try:
        dcp.load(wrong, checkpoint_id=f"{folder}/halves")
    except dcp.CheckpointException as error:
        say(type(error).__name__, [(type(e).__name__, type(where).__name__) for e, where in error.failures.values()])

# ---- storages


class InMemory(dcp.StorageWriter, dcp.StorageReader):
    """What the first process keeps; others give it what they have."""

    kept, metadata, calls = {}, None, []

    def reset(self, checkpoint_id=None):
        self.calls.append("reset")
        self.name = checkpoint_id

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        self.calls.append(f"set_up_storage_writer {is_coordinator}")

    def prepare_local_plan(self, plan):
        self.calls.append(f"prepare_local_plan {type(plan).__name__}")
        return plan

    def prepare_global_plan(self, plans):
        self.calls.append(f"prepare_global_plan {len(plans)}")
        return [dataclasses.replace(plan, storage_data=k) for k, plan in enumerate(plans)]

    def write_data(self, plan, planner):
        results, future = [], Future()
        for item in plan.items:
            data = planner.resolve_data(item)
            kind = "bytes" if item.type == WriteItemType.BYTE_IO else "tensor"
            self.kept[item.index] = data.getvalue() if kind == "bytes" else data.detach().clone()
            results.append(WriteResult(item.index, 1, (plan.storage_data, kind)))
        future.set_result(results)
        return future

    def finish(self, metadata, results):
        metadata.storage_data = {r.index: r.storage_data for found in results for r in found}
        self.calls.append(f"finish {sorted(map(str, set(metadata.storage_data.values())))}")
        InMemory.metadata = metadata

    def read_metadata(self, *args, **kwargs) -> Metadata:
        found = [InMemory.metadata, InMemory.kept]
        every = [None] * n
        dist.all_gather_object(every, found)
        self.everything = {k: v for _, kept in every for k, v in kept.items()}
        return every[0][0]

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        self.calls.append(f"set_up_storage_reader {len(metadata.state_dict_metadata)} {is_coordinator}")

    def read_data(self, plan, planner):
        for item in plan.items:
            data = self.everything[item.storage_index]
            if item.type == LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO(data))
                continue
            for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
                data = data.narrow(dim, start, length)
            target = planner.resolve_tensor(item)
            target.copy_(data)
            planner.commit_tensor(item, target)
        future = Future()
        future.set_result(None)
        return future

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return True


storage = InMemory()
dcp.save(example(), checkpoint_id="memory", storage_writer=storage)
state = example(0.0)
dcp.load(state, checkpoint_id="memory", storage_reader=storage)
say("in memory", shown(state), storage.name, storage.calls)


class Counter(Stateful):
    n = 0

    def state_dict(self):
        return {"n": self.n, "x": torch.full((2,), float(self.n))}

    def load_state_dict(self, state_dict):
        self.n = state_dict["n"] + state_dict["x"].sum().item()


counter = Counter()
counter.n = 4
dcp.save({"counter": counter}, checkpoint_id=f"{folder}/counter")
counter.n = 0
dcp.load({"counter": counter}, checkpoint_id=f"{folder}/counter")
say("stateful", counter.n, isinstance(counter, Stateful))

# ---- other forms
dcp.save(example(), checkpoint_id=f"{folder}/whole")
if rank == 0:
    dcp_to_torch_save(f"{folder}/whole", f"{folder}/whole.pt")
    torch_save_to_dcp(f"{folder}/whole.pt", f"{folder}/again")
dist.barrier()
state = {}
_load_state_dict(state, dcp.FileSystemReader(f"{folder}/again"), planner=_EmptyStateDictLoadPlanner(), no_dist=True)
say("again", shown(state), shown(torch.load(f"{folder}/whole.pt", weights_only=False)))
if rank == 0:
    torch.save({"copies": torch.arange(2.0), "nested": {"plain": torch.ones(2)}}, f"{folder}/plain.pt")
dist.barrier()
state = {}
planner = _EmptyStateDictLoadPlanner(keys={"nested.steps", "text"})
_load_state_dict(state, dcp.FileSystemReader(f"{folder}/again"), planner=planner, no_dist=True)
say("some", shown(state))
tensors = {"copies": torch.zeros(2), "nested": {"plain": torch.zeros(2)}}
reader = BroadcastingTorchSaveReader(f"{folder}/plain.pt")
dcp.load(tensors, storage_reader=reader, planner=DynamicMetaLoadPlanner())
say("broadcast", shown(tensors))
own = {f"only{rank}": torch.full((2,), float(rank)), "all": torch.ones(1)}
saved = dcp.save(own, checkpoint_id=f"{folder}/own")
say("each its own", sorted(saved.state_dict_metadata))
if len(sys.argv) > 2:
    state = example(0.0)
    dcp.load(state, checkpoint_id=f"{sys.argv[2]}/whole")
    say("of the other", shown(state))
    state = {}
    _load_state_dict(
        state, dcp.FileSystemReader(f"{sys.argv[2]}/own"), planner=_EmptyStateDictLoadPlanner(), no_dist=True
    )
    say("of the other", shown(state))
dist.destroy_process_group()
