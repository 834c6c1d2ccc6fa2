"""Fifty steps of a network with batch norm's buffers and an unused parameter, divided over the processes: the losses
of the whole batches are printed."""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
unused = "unused" in sys.argv


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 16), torch.nn.Linear(16, 1)
        if unused:
            self.third = torch.nn.Linear(2, 2)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.steps += 1
        return self.second(torch.tanh(self.first(x)))


torch.manual_seed(100 + rank if n > 1 else 100)  # the first process's parameters count
model = DistributedDataParallel(Net(), find_unused_parameters=unused)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
generator = torch.Generator().manual_seed(7)
x, y = torch.randn(48, 6, generator=generator), torch.randn(48, 1, generator=generator)
dataset = TensorDataset(x, y)
sampler = DistributedSampler(dataset, shuffle=True, seed=3)
loader = DataLoader(dataset, batch_size=12 // n, sampler=sampler)
step = 0
for epoch in range(13):
    sampler.set_epoch(epoch)
    for xs, ys in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(xs), ys)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        if rank == 0 and step < 50:
            print(f"loss {mean.item():.7f}", flush=True)
        step += 1
dist.destroy_process_group()
