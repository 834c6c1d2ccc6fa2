"""Modules that are replicated, whose activations are computed again: printed is the same under both libraries."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._composable import replicate
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.utils import _sync_module_states

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


def made():
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), inner, nn.Linear(8, 2))


def norms(model):
    return [None if p.grad is None else round(p.grad.norm().item(), 3) for p in model.parameters()]


x = torch.randn(6, 4, generator=torch.Generator().manual_seed(rank))
for wrapper, options in (
    (checkpoint_wrapper, {}),
    (checkpoint_wrapper, {"checkpoint_impl": CheckpointImpl.REENTRANT}),
    (offload_wrapper, {}),
):
    model = made()
    apply_activation_checkpointing(
        model, lambda m, w=wrapper, o=options: w(m, **o), lambda m: isinstance(m, (nn.Linear, nn.Sequential))
    )
    say([type(m).__name__ for m in model.modules()], list(model.state_dict()), [k for k, _ in model.named_parameters()])
    torch.manual_seed(1)
    model(x.clone().requires_grad_()).square().sum().backward()
    say(norms(model))
    plain = made()
    say(plain.load_state_dict(model.state_dict()), model.load_state_dict(made().state_dict()))
    torch.manual_seed(1)
    plain(x).square().sum().backward()
    say(norms(plain) == norms(model))
model = made()
apply_activation_checkpointing(model, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
model = replicate(model, ignored_modules=[model[3]])
say(type(model).__name__, isinstance(model, nn.Sequential), len(list(model.parameters())))
for synced in (False, True):
    model.set_requires_gradient_sync(synced)
    model(x).square().sum().backward()
    say(norms(model), round(model[1].running_mean.sum().item(), 3))
torch.manual_seed(rank)
model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
model[1].running_mean += rank
_sync_module_states(model, dist.group.WORLD, 1 << 20, 1, ["0.bias"])
say(model[0].weight.tolist(), model[0].bias.tolist(), model[1].running_mean.tolist())
dist.destroy_process_group()
