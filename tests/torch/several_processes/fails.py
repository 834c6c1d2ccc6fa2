"""The last process ends in the middle, the first time; the others wait for it in a collective."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    how, folder = sys.argv[1:]
    dist.init_process_group("gloo", timeout=timedelta(seconds=15))
    rank = dist.get_rank()
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    open(f"{folder}/pid-{attempt}-{rank}", "w").write(str(os.getpid()))
    path = f"{folder}/checkpoint"
    start = int(torch.load(path)["step"]) if os.path.exists(path) else 0
    for step in range(start, 4):
        dist.all_reduce(torch.ones(2))
        if rank == 0:
            torch.save({"step": step + 1}, path)
        dist.barrier()
        if step == 1 and rank == dist.get_world_size() - 1 and attempt == 0:
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "raises":
                raise ValueError("on purpose")
            time.sleep(100)
    print(f"rank {rank} from step {start}", flush=True)
    dist.destroy_process_group()


main()
