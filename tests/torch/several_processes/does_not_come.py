"""What those are told who wait for a process that hangs, calls something else, or has ended: which says the first
argument, of which rank the second."""

import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

how, other = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo", timeout=timedelta(seconds=60 if how != "port" else 3))
rank = dist.get_rank()
x = torch.ones(5)
dist.barrier()
group = dist.new_group(timeout=timedelta(seconds=6))  # of which all are there
dist.all_reduce(x, group=group)
dist.barrier()
if rank == other and how == "hangs":
    signal.alarm(20)
    time.sleep(100)
if rank == other and how == "ended":
    raise SystemExit(7)
start = time.monotonic()
try:
    if rank == other:
        dist.all_reduce(x[:3], group=group)
    else:
        dist.all_reduce(x, group=group)
except RuntimeError as error:
    print(f"rank {rank} after {time.monotonic() - start:.1f} s: {error}", flush=True)
if how == "mismatch":  # nothing was done, and the next one fits
    dist.all_reduce(x, group=group)
    print(f"rank {rank} has {x.tolist()}", flush=True)
    dist.destroy_process_group()
