"""Post-local SGD: what is printed is the same under both libraries."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
own, _ = dist.new_subgroups(group_size=1)


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


for post_local in (True, False):
    module = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, -1.0]]))
    model = torch.nn.parallel.DistributedDataParallel(module)
    state = PostLocalSGDState(None, own, start_localSGD_iter=2, post_local_gradient_allreduce=post_local)
    model.register_comm_hook(state, post_localSGD_hook)
    averager = PeriodicModelAverager(period=2, warmup_steps=2)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.125), averager)
    for step in range(6):
        optimizer.zero_grad()
        model(torch.tensor([[1.0 + rank, 0.5 * step]])).square().sum().backward()
        optimizer.step()
        say(step, [round(w, 4) for w in module.weight.flatten().tolist()], averager.step, state.iter)
    saved = optimizer.state_dict()
    averager.step = 0
    optimizer.load_state_dict(saved)
    say(sorted(saved), averager.step)
averager = HierarchicalModelAverager(period_group_size_dict={2: 1, 4: n}, warmup_steps=1)
w = torch.nn.Parameter(torch.tensor([1.0 + rank]))
for step in range(9):
    w.grad = torch.ones(1)
    with torch.no_grad():
        w.mul_(1.0 + rank)
    averager.average_parameters([w])
    say("hierarchical", step, w.tolist(), averager.step)
for arguments in ({}, {4: n + 1}, {0: n}):
    try:
        HierarchicalModelAverager(period_group_size_dict=arguments)
    except ValueError as error:
        say(error)
for arguments in ({"period": 0}, {"period": 2, "warmup_steps": -1}):
    try:
        PeriodicModelAverager(**arguments)
    except ValueError:
        say("a wrong period")
dist.destroy_process_group()
