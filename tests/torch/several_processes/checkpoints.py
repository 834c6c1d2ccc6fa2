"""Some steps of a model divided by fully_shard, from the checkpoint in a folder, if there is one, and to it."""

import os
import sys
import threading

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

folder, steps = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))  # 3 is no multiple
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
generator = torch.Generator().manual_seed(3)
batches = [(torch.randn(8, 6, generator=generator), torch.randn(8, 3, generator=generator)) for _ in range(6)]
start = 0
if os.path.exists(f"{folder}/.metadata"):
    state, optimizer_state = get_state_dict(model, optimizer)
    loaded = {"model": state, "optimizer": optimizer_state, "step": 0, "notes": {"lr": [0.0]}}
    dcp.load(loaded, checkpoint_id=folder)
    alone = dcp.load_sharded_optimizer_state_dict(state, "optimizer", dcp.FileSystemReader(folder))["optimizer"]
    for name, of_parameter in loaded["optimizer"]["state"].items():  # the same, without knowing the optimizer
        for key, value in of_parameter.items():
            found = alone["state"][name][key]
            assert isinstance(found, DTensor) == (value.dim() > 0), (name, key)
            assert torch.equal(
                getattr(found, "full_tensor", lambda x=found: x)(), getattr(value, "full_tensor", lambda x=value: x)()
            )
    set_state_dict(model, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"])
    start = loaded["step"]
    assert loaded["notes"] == {"lr": [0.05, "kept"]}
for x, y in batches[start : start + steps]:
    optimizer.zero_grad()
    share = slice(8 * rank // n, 8 * (rank + 1) // n)
    loss = nn.functional.mse_loss(model(x[share]), y[share])
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.detach(), dist.ReduceOp.AVG)
    if rank == 0:
        print(f"loss {loss.item():.7f}", flush=True)
state, optimizer_state = get_state_dict(model, optimizer)
kept = {"model": state, "optimizer": optimizer_state, "step": start + steps, "notes": {"lr": [0.05, "kept"]}}


class Waiting(dcp.FileSystemWriter):
    def write_data(self, *args):
        assert returned.wait(60), "async_save has not returned before it wrote"
        return super().write_data(*args)


returned = threading.Event()
saving = dcp.async_save(kept, storage_writer=Waiting(folder))
assert not saving.done()
for p in model.parameters():  # not what is saved: collectives and new numbers meanwhile
    dist.all_reduce(torch.ones(3))
    p.detach().mul_(1.0)
returned.set()
saving.result()
full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
assert bool(full) == (rank == 0) and all(type(v) is torch.Tensor for v in full.values())
if n == 1:  # all steps without a checkpoint, of a model that is not divided
    torch.manual_seed(0)
    alone = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    whole = torch.optim.AdamW(alone.parameters(), lr=0.05)
    for x, y in batches:
        whole.zero_grad()
        loss = nn.functional.mse_loss(alone(x), y)
        loss.backward()
        whole.step()
        print(f"wanted {loss.item():.7f}", flush=True)
    assert all(torch.allclose(v, full[k], atol=1e-4) for k, v in alone.state_dict().items())
try:
    dcp.load({"nothing": torch.zeros(2)}, checkpoint_id=folder)
except dcp.CheckpointException as error:
    assert "Missing key in checkpoint state_dict: nothing" in str(error)
else:
    raise AssertionError("a missing key was loaded")
dist.destroy_process_group()
