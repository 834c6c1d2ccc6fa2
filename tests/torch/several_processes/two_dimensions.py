"""Meshes of two dimensions: copies and parts; parts of layers that are divided already. Losses beside one process's."""

from functools import partial

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
rank = dist.get_rank()
assert grid["tp"].get_local_rank() == rank % 2 and grid["dp"].mesh.tolist() == [rank % 2, rank % 2 + 2]
assert grid.get_group("dp").ranks == [rank % 2, rank % 2 + 2] and grid.get_coordinate() == divmod(rank, 2)
rng = np.random.default_rng(0)
x, y = (torch.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in [(8, 6), (8, 2)])


def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))


def losses(net, x, y):
    optimizer, found = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        found.append(mean.item())
    return found


alone, wanted = model(), []
wanted = losses(alone, x, y)
hybrid = fully_shard(model(), mesh=grid)
assert hybrid[0].weight.placements == (Replicate(), Shard(0))
np.testing.assert_allclose(losses(hybrid, x[2 * rank : 2 * rank + 2], y[2 * rank : 2 * rank + 2]), wanted, 1e-5)
share, by_size = slice(2 * rank, 2 * rank + 2), partial(size_based_auto_wrap_policy, min_num_params=50)
for strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2):
    pair = grid.get_group("tp"), grid.get_group("dp")  # parts, copies
    for given in ({"device_mesh": grid}, {"process_group": pair}):
        older = FSDP(model(), sharding_strategy=strategy, auto_wrap_policy=by_size, **given)
        assert older.module[0].weight.placements == (Replicate(), Shard(0))
        np.testing.assert_allclose(losses(older, x[share], y[share]), wanted, 1e-5)
plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
both = fully_shard(parallelize_module(model(), grid["tp"], plan), mesh=grid["dp"])
assert isinstance(both[0].weight, DTensor) and both[0].weight.to_local().shape == (2, 6)
half = slice(4 * (rank // 2), 4 * (rank // 2) + 4)
np.testing.assert_allclose(losses(both, x[half], y[half]), wanted, 1e-5)
print(f"rank {rank} of 4: all as wanted", flush=True)
dist.destroy_process_group()
