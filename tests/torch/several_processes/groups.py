"""Methods of process groups, groups of groups, meetings: what is printed is the same under both libraries. Argument: a
folder."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

folder = sys.argv[1]


def meet(url, timeout=None, **given):
    yield dist.FileStore(f"{folder}/store", 2), int(os.environ["RANK"]), 2


dist.register_rendezvous_handler("mine", meet)
for again in ("mine", "file"):
    try:
        dist.register_rendezvous_handler(again, meet)
    except RuntimeError as error:
        print("0:" if os.environ["RANK"] == "0" else "", error, flush=True)
dist.init_process_group("gloo", init_method="mine://")
rank, n = dist.get_rank(), dist.get_world_size()
pg = dist.group.WORLD


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


def own(*shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape) + 10 * rank


x = own(3)
pg.allreduce([x]).wait()
options = dist.AllreduceOptions()
options.reduceOp = dist.ReduceOp.MAX
y = own(3)
pg.allreduce([y], options).wait()
z = own(2)
pg.allreduce(z, dist.ReduceOp.MIN).wait()
say("allreduce", x.tolist(), y.tolist(), z.tolist())
x, y = own(2), own(2)
options = dist.BroadcastOptions()
options.rootRank = 1
pg.broadcast([x], options).wait()
pg.broadcast(y, 0).wait()
say("broadcast", x.tolist(), y.tolist())
options = dist.ReduceOptions()
options.rootRank = 1
x = own(2)
pg.reduce([x], options).wait()
say("reduce", x.tolist() if rank == 1 else "")
outs = [[torch.zeros(2) for _ in range(n)]]
pg.allgather(outs, [own(2)]).wait()
more = [torch.zeros(2) for _ in range(n)]
pg.allgather(more, own(2)).wait()
say("allgather", [t.tolist() for t in outs[0]], [t.tolist() for t in more])
options = dist.GatherOptions()
options.rootRank = 1
outs = [[torch.zeros(2) for _ in range(n)]] if rank == 1 else []
pg.gather(outs, [own(2)], options).wait()
say("gather", [t.tolist() for t in outs[0]] if outs else "")
options = dist.ScatterOptions()
options.rootRank = 1
x = torch.zeros(2)
pg.scatter([x], [[own(2) + k for k in range(n)]] if rank == 1 else [], options).wait()
say("scatter", x.tolist())
x = torch.zeros(2)
pg.reduce_scatter([x], [[own(2) + k for k in range(n)]]).wait()
say("reduce_scatter", x.tolist())
x = torch.zeros(4)
pg.alltoall_base(x, own(4), [], []).wait()
outs = [torch.zeros(2) for _ in range(n)]
say("alltoall", x.tolist())
x = torch.zeros(2)
work = pg.send([own(2)], 1, 5) if rank == 0 else pg.recv([x], 0, 5)
work.wait()
say("send", x.tolist())
pg.barrier().wait()
x = torch.zeros(2 * n)
dist.all_gather_single(x, own(2))
y = torch.zeros(2)
dist.reduce_scatter_single(y, own(4))
say("single", x.tolist(), y.tolist())

# ---- groups
mine, all_of_them = dist.new_subgroups_by_enumeration([[1], [0]])
say(dist.get_world_size(mine), dist.get_process_group_ranks(mine), len(all_of_them))
try:
    dist.new_subgroups_by_enumeration([[0], [0, 1]])
except ValueError:
    say("a rank is in two")
try:
    dist.new_subgroups_by_enumeration([])
except ValueError as error:
    say(error)
say(
    [
        dist.supports_complex(op)
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT)
    ]
)
say(dist.BackendConfig(dist.Backend("cpu:gloo,cuda:nccl")).get_device_backend_map(), dist.get_backend_config())
say([hook.name for hook in (dist.BuiltinCommHookType.ALLREDUCE, dist.BuiltinCommHookType.FP16_COMPRESS)])
say(c10d._get_default_group() is pg, dist.AllToAllOptions().timeout == timedelta(milliseconds=-1))
dist.breakpoint(skip=1)
dist.destroy_process_group()
