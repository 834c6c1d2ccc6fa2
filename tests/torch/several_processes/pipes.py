"""Pipes read by the processes of a group: what is printed is the same under both libraries."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.datapipes.iter import IterableWrapper
from torch.utils.data.datapipes.map import SequenceWrapper

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


torch.manual_seed(rank)  # all processes shuffle by the seed of the first
for workers in (0, 2):
    pipe = IterableWrapper(range(12)).shuffle().sharding_filter()
    loader = DataLoader(pipe, batch_size=None, num_workers=workers, persistent_workers=workers > 0)
    for _ in range(2):
        say(workers, list(loader))
    iterator = iter(DataLoader(SequenceWrapper(range(6)), num_workers=workers))
    say([x.item() for x in iterator], iterator._world_size, iterator._rank)
    del loader, iterator
dist.destroy_process_group()
