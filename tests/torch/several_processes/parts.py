"""local_map: what is printed is the same under both libraries."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import local_map

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (n,))


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


def shown(x):
    return x.full_tensor().tolist(), tuple(x.shape), [type(p).__name__ for p in x.placements]


w = distribute_tensor(torch.arange(8.0).reshape(4, 2).requires_grad_(), mesh, [Shard(1)])
x = distribute_tensor(torch.ones(3, 4), mesh, [Replicate()])


@local_map(out_placements=[Shard(1)], in_placements=([Replicate()], [Shard(1)]))
def product(x, w):
    return x @ w


y = product(x, w)
say(shown(y))
y = local_map(lambda x, k: (x * k, k, x.shape[0]), out_placements=([Replicate()], None, None))(x, 3)
say(shown(y[0]), y[1:])
rows = distribute_tensor(torch.arange(8.0).reshape(4, 2), mesh, [Shard(0)])
say(local_map(lambda x: tuple(x.shape), out_placements=(None, None))(rows))
add_one = local_map(lambda x: x + 1, [Shard(0)], ([Shard(0)],), redistribute_inputs=True)
moved = add_one(distribute_tensor(torch.ones(4, 2), mesh, [Replicate()]))
say(shown(moved))
try:
    product(rows, w)
except ValueError:
    say("placed otherwise")
say(local_map(lambda x: x * 2, [Shard(0)])(torch.ones(2)).tolist())
dist.destroy_process_group()
