"""Modules of another process: what is printed is the same under both libraries."""

import os

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from torch import nn
from torch.distributed.nn.api.remote_module import RemoteModule
from torch.distributed.optim import DistributedOptimizer

rank = int(os.environ["RANK"])


class Scaled(nn.Module):
    def __init__(self, size, by=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), by))
        self.inner = nn.Linear(size, 1, bias=False)
        nn.init.ones_(self.inner.weight)

    def forward(self, x, add=0.0):
        return self.inner(x * self.weight) + add


def shape_of(module):
    return tuple(module.forward(torch.ones(1, 2)).shape)


rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
if rank == 0:
    remote = RemoteModule("worker1/cpu", Scaled, args=(2,), kwargs={"by": 3.0})
    x = torch.tensor([[1.0, 2.0]])
    print("0:", remote(x).tolist(), remote(x, add=1.0).tolist(), remote.forward_async(x).wait().tolist())
    print("0:", remote.on, len(remote.remote_parameters()), len(remote.remote_parameters(recurse=False)))
    print("0:", isinstance(remote, nn.Module), remote.get_module_rref().owner_name())
    by_rank = RemoteModule("rank:1/cpu", nn.Linear, args=(2, 3))
    print("0:", tuple(by_rank(x).shape), RemoteModule("worker1", nn.ReLU)(torch.tensor([-1.0, 1.0])).tolist())
    print("0:", rpc.rpc_sync("worker1", shape_of, (remote,)))
    optimizer = DistributedOptimizer(torch.optim.SGD, remote.remote_parameters(), lr=0.01)
    for _ in range(3):
        with dist_autograd.context() as context:
            loss = remote(x).square().sum()
            dist_autograd.backward(context, [loss])
            optimizer.step(context)
        print("0:", round(loss.item(), 4))
    for attempt in (lambda: list(remote.parameters()), lambda: remote.to("cpu"), lambda: remote.state_dict()):
        try:
            attempt()
        except ValueError as error:
            print("0:", error)
    for place in ("rank:x/cpu", ""):
        try:
            RemoteModule(place, nn.Linear, args=(2, 3))
        except (ValueError, RuntimeError):
            print("0: a wrong place")
rpc.shutdown()
