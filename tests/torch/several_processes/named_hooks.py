"""Hooks that average DDP's gradients, by their names: what is printed is the same under both libraries."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


def gradients(name):
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 3)))
    register_ddp_comm_hook(DDPCommHookType[name], model, dist.group.WORLD)
    for step in range(3):
        x = torch.randn(5, 40, generator=torch.Generator().manual_seed(rank + 10 * step))
        model.zero_grad()
        model(x).square().sum().backward()
    return [p.grad for p in model.parameters()]


for name in ("ALLREDUCE", "FP16_COMPRESS", "POWER_SGD", "POWER_SGD_RANK2", "BATCHED_POWER_SGD", "NOOP"):
    found = gradients(name)
    say(name, [round(g.norm().item(), 2) for g in found], [round(g.sum().item(), 2) for g in found])
if "functorch_core" in torch.__file__:  # PyTorch's quantizing hooks want CUDA devices
    exact = gradients("ALLREDUCE")
    for name in ("QUANTIZE_PER_TENSOR", "QUANTIZE_PER_CHANNEL", "BF16_COMPRESS"):
        for g, wanted in zip(gradients(name), exact):
            torch.testing.assert_close(g, wanted, rtol=0.02, atol=0.02 * wanted.abs().max().item())
            assert not torch.equal(g, wanted)
dist.destroy_process_group()
