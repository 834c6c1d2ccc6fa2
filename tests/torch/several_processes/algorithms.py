"""What trains with collectives, each compared with the same computation in one process, in NumPy or by one."""

import copy
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as differentiable
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook import hook_with_zero_step
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def close(found, wanted, what, tolerance=1e-5):
    found, wanted = (t.detach().numpy() if isinstance(t, torch.Tensor) else t for t in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=f"rank {rank}: {what}")


def drawn(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


# ---- functional collectives and their gradients: the transposed maps of the stacked tensors
every = [drawn(2 * n, 3, seed=r) for r in range(n)]
weights = [drawn(2 * n * n, 3, seed=50 + r) for r in range(n)]
x = every[rank].clone().requires_grad_()
world = list(range(n))
out = functional.all_gather_tensor(x, 0, world)
close(out, torch.cat(every), "all_gather_tensor")
(out * weights[rank]).sum().backward()
close(x.grad, sum(w[rank * 2 * n : (rank + 1) * 2 * n] for w in weights), "gradient of all_gather_tensor")
x.grad = None
out = functional.reduce_scatter_tensor(x, "avg", 0, dist.group.WORLD)
close(out, sum(every)[2 * rank : 2 * rank + 2] / n, "reduce_scatter_tensor")
(out * weights[rank][:2]).sum().backward()
close(x.grad, torch.cat([w[:2] for w in weights]) / n, "gradient of reduce_scatter_tensor")
x.grad = None
out = functional.all_to_all_single(x, None, None, world)
close(out, torch.cat([e[2 * rank : 2 * rank + 2] for e in every]), "all_to_all_single")
(out * weights[rank][: 2 * n]).sum().backward()
close(x.grad, torch.cat([w[2 * rank : 2 * rank + 2] for w in weights]), "gradient of all_to_all_single")
x.grad = None
out = functional.all_reduce(x, "sum", world) + functional.broadcast(x, 0, world)
close(out, sum(every) + every[0], "all_reduce and broadcast")
(out * weights[rank][: 2 * n]).sum().backward()
close(x.grad, sum(w[: 2 * n] for w in weights) * (2 if rank == 0 else 1), "gradient of all_reduce and broadcast")
close(functional.all_reduce(every[rank], "max", world), np.max([e.numpy() for e in every], 0), "max")
close(functional.permute_tensor(every[rank], [(r + 1) % n for r in world], world), every[(rank - 1) % n], "permute")
x.grad = None
(differentiable.gather(x, 0)[n - 1] * weights[rank][: 2 * n]).sum().backward()
close(x.grad, weights[0][: 2 * n] * (rank == n - 1), "gradient of gather")
try:
    functional.all_reduce(x, "median", world)
    raise SystemExit("a wrong reduction was taken")
except ValueError as error:
    assert "none of sum" in str(error)

# ---- SyncBatchNorm: batches of other sizes, statistics of all
sizes = [3 + r for r in range(n)]
batches = [drawn(s, 4, 2, seed=r) * (r + 1) + 100 for r, s in enumerate(sizes)]
whole, mine = torch.nn.BatchNorm1d(4), torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(4))
together, own = torch.cat(batches).requires_grad_(), batches[rank].clone().requires_grad_()
start = sum(sizes[:rank])
wanted, found = whole(together), mine(own)
close(found, wanted[start : start + sizes[rank]], "SyncBatchNorm", 2e-4)
(wanted**3).sum().backward()
(found**3).sum().backward()
close(own.grad, together.grad[start : start + sizes[rank]], "gradient of SyncBatchNorm", 2e-3)
close(mine.running_mean, whole.running_mean, "running mean")
close(mine.running_var, whole.running_var, "running variance", 1e-4)


# ---- communication hooks: gradients of one batch divided over the processes
def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def gradients(net, batch):
    net.zero_grad()
    net(batch).square().mean().backward()
    return [p.grad.clone() for p in net.parameters()]


batch = drawn(4 * n, 6, seed=9)
share = batch[4 * rank : 4 * rank + 4]
plain = gradients(model(), batch)
states = [powerSGD_hook.PowerSGDState(None, r, 2, rate) for r, rate in [(8, 0.0), (8, 0.0)]]
hooks = {
    "allreduce": (None, default_hooks.allreduce_hook, 1e-6),
    "fp16": (None, default_hooks.fp16_compress_hook, 2e-3),
    "bf16": (None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 2e-2),
    "powerSGD": (states[0], powerSGD_hook.powerSGD_hook, 1e-5),  # all ranks of the matrices: exact
}
for name, (state, hook, tolerance) in hooks.items():
    net = DDP(model())
    net.register_comm_hook(state, hook)
    for _ in range(4):
        found = gradients(net, share)
        for a, b in zip(found, plain):
            close(a, b, name, tolerance)
assert states[0].iter == 4 and states[0].compression_stats()[1] > 0
rough = powerSGD_hook.PowerSGDState(None, 1, 2, 0.5)  # one column: what is left out is kept, and sent later
net = DDP(model())
net.register_comm_hook(rough, powerSGD_hook.batched_powerSGD_hook)
total = sum(torch.cat([g.reshape(-1) for g in gradients(net, share)]) for _ in range(8))
left = rough.error_dict[0]
dist.all_reduce(left, dist.ReduceOp.AVG)
assert left.abs().max() > 1e-3
close((total + left) / 8, torch.cat([g.reshape(-1) for g in plain]), "compressed gradients and what is left")

# ---- ZeRO: the same parameters as one optimizer of all, each process with part of the state
wanted, net = model(), DDP(model())
whole = torch.optim.AdamW(wanted.parameters(), lr=0.05)
zero = ZeroRedundancyOptimizer(net.parameters(), optimizer_class=torch.optim.AdamW, lr=0.05)
schedulers = [torch.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in (whole, zero)]
for _ in range(4):
    gradients(wanted, batch), gradients(net, share)
    whole.step(), zero.step()
    [s.step() for s in schedulers]
for a, b in zip(net.module.parameters(), wanted.parameters()):
    close(a, b, "ZeRO")
assert n == 1 or len(zero.optim.state) < len(whole.state)
zero.consolidate_state_dict(to=0)
states = [zero.state_dict() if rank == 0 else None]
dist.broadcast_object_list(states, 0)
for i, s in whole.state_dict()["state"].items():
    close(states[0]["state"][i]["exp_avg_sq"], s["exp_avg_sq"], "consolidated state")
zero.load_state_dict(states[0])
gradients(wanted, batch), gradients(net, share)
whole.step(), zero.step()
for a, b in zip(net.module.parameters(), wanted.parameters()):
    close(a, b, "ZeRO after loading")
try:
    zero.state_dict()
    raise SystemExit("a state that is not there was given")
except RuntimeError as error:
    assert f"consolidate_state_dict(to={rank})" in str(error)

# ---- ZeRO whose step is a part of the backward pass
wanted, net = model(), DDP(model())
whole = torch.optim.AdamW(wanted.parameters(), lr=0.05)
try:
    hook_with_zero_step(allreduce_hook, net, zero)
    raise SystemExit("an optimizer that would make its step twice was taken")
except ValueError as error:
    assert "overlap_with_ddp=True" in str(error)
zero = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, overlap_with_ddp=True, lr=0.05)
net.register_comm_hook(None, hook_with_zero_step(allreduce_hook, net, zero))
for _ in range(3):
    gradients(wanted, batch), gradients(net, share)
    whole.step()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert zero.step() is None
assert "should not be included in the training loop" in str(told[0].message)
for a, b in zip(net.module.parameters(), wanted.parameters()):
    close(a, b, "ZeRO in the backward pass")

# ---- Join: rank r has 2 + r batches; what is averaged is divided by all processes
counts = [2 + r for r in range(n)]
given = [[drawn(4, 6, seed=100 * r + k) for k in range(c)] for r, c in enumerate(counts)]
for by_all in (True, False):
    wanted = model()
    whole = torch.optim.SGD(wanted.parameters(), lr=0.1)
    for k in range(max(counts)):
        grads = [gradients(copy.deepcopy(wanted), g[k]) for g in given if k < len(g)]
        for p, *parts in zip(wanted.parameters(), *grads):
            p.grad = sum(parts) / (n if by_all else len(parts))
        whole.step()
    net = DDP(model())
    zero = ZeroRedundancyOptimizer(net.parameters(), optimizer_class=torch.optim.SGD, lr=0.1)
    with Join([net, zero], divide_by_initial_world_size=by_all):
        for b in given[rank]:
            gradients(net, b)
            zero.step()
    for a, b in zip(net.module.parameters(), wanted.parameters()):
        close(a, b, f"Join, {by_all=}")
net = DDP(model())
try:
    with net.join(throw_on_early_termination=True):
        for b in given[rank]:
            gradients(net, b)
    assert n == 1
except RuntimeError as error:
    assert "exhausted inputs" in str(error)
print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
