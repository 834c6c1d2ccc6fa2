"""What DTensors' processes are told when one hangs, computes something else, or has ended: which says the argument. It
is rank 1."""

import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.tensor import Shard, distribute_tensor

how = sys.argv[1]
dist.init_process_group("gloo", timeout=timedelta(seconds=6))
rank = dist.get_rank()
mesh = dist.init_device_mesh("cpu", (2,))
x = distribute_tensor(torch.arange(8.0).reshape(4, 2), mesh, [Shard(0)])
assert (x + 1).sum().full_tensor().item() == 36
if rank == 0:
    assert (x * 2).to_local().tolist() == [[0, 2], [4, 6]]  # nothing is exchanged: rank 1 need not do the same
if rank == 1 and how == "hangs":
    time.sleep(15)
if rank == 1 and how == "ended":
    raise SystemExit(7)
try:
    x.sum(dim=1 if rank == 1 and how == "mismatch" else 0).full_tensor()
except RuntimeError as error:
    print(f"rank {rank}: {error}", flush=True)
if how == "mismatch":  # nothing was done, and the next one fits
    print(f"rank {rank} has {x.sum(0).full_tensor().tolist()}", flush=True)
    dist.destroy_process_group()
