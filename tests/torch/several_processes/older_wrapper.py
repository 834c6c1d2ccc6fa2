"""FullyShardedDataParallel: losses, states, gradients beside those of one process with the whole batch."""

import copy
import functools

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms._comm_hooks import default_hooks as hooks
from torch.distributed.fsdp import (
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy
from torch.distributed.tensor import DTensor, Replicate, Shard

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def close(found, wanted, what, tolerance=1e-5):
    found, wanted = (t.detach().numpy() if isinstance(t, torch.Tensor) else t for t in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=f"rank {rank}: {what}")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc1, self.fc2 = nn.Conv2d(1, 4, 3), nn.Linear(64, 16), nn.Linear(16, 10)
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))) * self.scale, dim=1)


rng = np.random.default_rng(0)
images = torch.from_numpy(rng.standard_normal((4, 4 * n, 1, 10, 10)).astype(np.float32))
labels = torch.from_numpy(rng.integers(0, 10, (4, 4 * n)))


def train(model, optimizer, share=slice(None), steps=3, whole=lambda loss: loss, clip=None):
    losses, scheduler = [], torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for x, y in zip(images[:steps, share], labels[:steps, share]):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), y)
        loss.backward()
        if clip is not None:
            clip(1.0)
        optimizer.step()
        scheduler.step()
        losses.append(whole(loss.detach()).item())
    return losses


def mean(loss):
    dist.all_reduce(loss, dist.ReduceOp.AVG)
    return loss


def seeded(seed=1):
    torch.manual_seed(seed)
    return Net()


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=0.02)


mine = slice(4 * rank, 4 * rank + 4)
alone = seeded()
of_alone = adam(alone)
wanted = train(alone, of_alone, clip=lambda norm: nn.utils.clip_grad_norm_(alone.parameters(), norm))

# ---- training: the parameters of the first process count
by_size = functools.partial(size_based_auto_wrap_policy, min_num_params=1000)
for strategy, policy in [
    (ShardingStrategy.FULL_SHARD, by_size),
    (ShardingStrategy.SHARD_GRAD_OP, ModuleWrapPolicy({nn.Linear})),
    (ShardingStrategy.NO_SHARD, None),
]:
    model = FSDP(seeded(1 + rank), None, strategy, CPUOffload(offload_params=True), policy, use_orig_params=True)
    assert len(FSDP.fsdp_modules(model)) == {by_size: 2, None: 1}.get(policy, 3)
    assert isinstance(model.fc1.weight, DTensor) and model.fc1.weight.shape == (16, 64)
    assert model.fc1.weight.placements == ((Replicate() if policy is None else Shard(0)),)
    optimizer = adam(model)
    close(train(model, optimizer, mine, 3, mean, model.clip_grad_norm_), wanted, strategy)
    if policy is by_size:
        sharded, of_sharded = model, optimizer

# ---- states: whole, in parts, of the first process alone, and back
state = sharded.state_dict()
assert list(state) == list(alone.state_dict())
for name, x in alone.state_dict().items():
    assert not isinstance(state[name], DTensor)
    close(state[name], x, name, 1e-4)
with FSDP.state_dict_type(
    sharded, StateDictType.FULL_STATE_DICT, FullStateDictConfig(True, True), FullOptimStateDictConfig(rank0_only=True)
):
    first, first_optimizer = sharded.state_dict(), FSDP.optim_state_dict(sharded, of_sharded)
    assert len(first) == (0 if rank else len(state)) and bool(first_optimizer) == (rank == 0)
    if rank == 0:
        for name, p in alone.named_parameters():
            kept = of_alone.state[p]["exp_avg"]
            close(first_optimizer["state"][name]["exp_avg"], kept, f"state of {name}", 1e-4)
        assert first_optimizer["param_groups"][0]["params"] == [name for name, _ in alone.named_parameters()]
    again = FSDP(seeded(5), auto_wrap_policy=by_size)
    of_again = adam(again)
    FSDP.set_state_dict_type(
        again, StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig(rank0_only=True)
    )
    again.load_state_dict(state)
    of_again.load_state_dict(FSDP.optim_state_dict_to_load(again, of_again, first_optimizer))
for kind in (StateDictType.SHARDED_STATE_DICT, StateDictType.LOCAL_STATE_DICT):
    with FSDP.state_dict_type(sharded, kind):
        parts = sharded.state_dict()
        assert isinstance(parts["fc1.weight"], DTensor) == (kind is StateDictType.SHARDED_STATE_DICT)
        sharded.load_state_dict(parts)
close(train(again, of_again, mine, 2, mean), train(sharded, of_sharded, mine, 2, mean), "gone on", 1e-6)

# ---- whole parameters for a while
with torch.no_grad(), FSDP.summon_full_params(sharded):
    assert [name for name, _ in sharded.named_parameters()] == [name for name, _ in alone.named_parameters()]
    assert not isinstance(sharded.fc1.weight, DTensor)
    sharded.fc2.bias.fill_(7.0)
close(sharded.fc2.bias.full_tensor(), np.full(10, 7, np.float32), "written back")
with torch.no_grad(), FSDP.summon_full_params(sharded, writeback=False):
    sharded.fc2.bias.zero_()
close(sharded.fc2.bias.full_tensor(), np.full(10, 7, np.float32), "not written back")
sharded.apply(lambda m: m.bias.data.zero_() if isinstance(m, nn.Linear) else None)
close(sharded.fc2.bias.full_tensor(), np.zeros(10, np.float32), "apply")

# ---- gradients added up; half precision
net = FSDP(copy.deepcopy(alone))
with net.no_sync():
    F.nll_loss(net(images[0, mine]), labels[0, mine]).backward()
F.nll_loss(net(images[1, mine]), labels[1, mine]).backward()
alone.zero_grad()
(F.nll_loss(alone(images[0]), labels[0]) + F.nll_loss(alone(images[1]), labels[1])).backward()
close(net.fc1.weight.grad.full_tensor(), alone.fc1.weight.grad, "no_sync")
half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16)
net = FSDP(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4)), auto_wrap_policy=by_size, mixed_precision=half)
out = net(torch.ones(3, 6))
out.float().sum().backward()
assert out.dtype == torch.bfloat16 and net[1].running_mean.dtype == torch.float32  # norms are left out
assert net[0].weight.dtype == net[0].weight.grad.dtype == torch.float32


# ---- communication hooks
def halves(state, grad, output):
    state.append(grad.numel())
    dist.reduce_scatter_tensor(output, grad)
    output.div_(2 * n)


wanted_grads = {name: p.grad.clone() for name, p in alone.named_parameters()}
for hook, factor, tolerance, state in [
    (hooks.reduce_scatter_hook, 1, 1e-5, hooks.DefaultState(dist.group.WORLD)),
    (hooks.bf16_compress_hook, 1, 5e-2, hooks.LowPrecisionState(dist.group.WORLD)),
    (halves, 0.5, 1e-5, seen := []),
]:
    net = FSDP(copy.deepcopy(alone), auto_wrap_policy=by_size)
    net.register_comm_hook(state, hook)
    net.zero_grad()
    for k in (0, 1):
        F.nll_loss(net(images[k, mine]), labels[k, mine]).backward()
    for name, p in net.named_parameters():
        found = wanted_grads[name.replace("_fsdp_wrapped_module.", "")] * factor
        close(p.grad.full_tensor(), found, f"{name} by {hook.__name__}", tolerance)
assert seen and all(size % n == 0 for size in seen)
net = FSDP(copy.deepcopy(alone), sharding_strategy=ShardingStrategy.NO_SHARD)
net.register_comm_hook(hooks.DefaultState(dist.group.WORLD), hooks.allreduce_hook)
net.zero_grad()
for k in (0, 1):
    F.nll_loss(net(images[k, mine]), labels[k, mine]).backward()
close(net.fc1.weight.grad.full_tensor(), wanted_grads["fc1.weight"], "allreduce_hook")
try:
    net.register_comm_hook(None, halves)
except AssertionError as error:
    assert "already registered" in str(error)
else:
    raise AssertionError("a second hook was taken")

# ---- scaled losses: what overflows in one process makes all of them skip the step
net, scaler = FSDP(nn.Linear(3, 2)), ShardedGradScaler("cpu", init_scale=16.0)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
before = net.weight.full_tensor().detach().clone()
for bad in (True, False):
    optimizer.zero_grad()
    scaler.scale(net(torch.full((1, 3), float(rank + 1))).sum()).backward()
    if bad:  # in one process alone
        grad = net.weight.grad.to_local().clone()
        grad = torch.full_like(grad, float("inf")) if rank == n - 1 else grad
        net.weight.grad = DTensor.from_local(
            grad, net.weight.device_mesh, net.weight.placements, shape=net.weight.shape
        )
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0
    if bad:
        close(net.weight.full_tensor(), before, "a skipped step")
mean_input = sum(range(1, n + 1)) / n
close(net.weight.full_tensor(), before - mean_input, "a step", 1e-4)
print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
