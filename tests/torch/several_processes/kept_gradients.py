"""fully_shard: gradients that are not added up at once, and a hook for those that are; printed is the same under both
libraries."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
for layer in (model[0], model[2]):
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []


def doubled(gradients):
    seen.append(tuple(gradients.shape))
    gradients.mul_(2)


model[0].set_all_reduce_hook(doubled)
generator = torch.Generator().manual_seed(rank)
for step in range(3):
    for k in range(3):
        model.set_requires_gradient_sync(k == 2)
        if k != 1 or step != 1:  # a backward pass less, and one that misses a layer
            model(torch.randn(4, 3, generator=generator)).square().mean().backward()
        else:
            model[0](torch.randn(4, 3, generator=generator)).square().mean().backward()
        say(step, k, [p.grad is None for p in model.parameters()])
    say([round(p.grad.full_tensor().norm().item(), 3) for p in model.parameters()])
    optimizer.step()
    optimizer.zero_grad()
say(seen, [round(p.full_tensor().norm().item(), 3) for p in model.parameters()])
dist.destroy_process_group()
