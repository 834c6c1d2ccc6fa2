"""Operators of one's own on DTensors, and what visualize_sharding prints: the same under both libraries."""

import contextlib
import io

import torch
import torch.distributed as dist
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import visualize_sharding
from torch.distributed.tensor.experimental import register_sharding

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
mesh = dist.init_device_mesh("cpu", (n,))


def say(*what):
    every = [None] * n
    dist.all_gather_object(every, " ".join(map(str, what)))
    if rank == 0:
        print("\n".join(f"{r}: {line}" for r, line in enumerate(every)), flush=True)


@torch.library.custom_op("own::mix", mutates_args=())
def mix(x: torch.Tensor, w: torch.Tensor, k: float) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() @ w.detach().numpy() * k)


@mix.register_fake
def _(x, w, k):
    return x.new_empty(x.shape[0], w.shape[1])


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])


def backward(ctx, grad):
    x, w = ctx.saved_tensors
    return grad @ w.T * 2, x.T @ grad * 2, None


mix.register_autograd(backward, setup_context=keep)


@register_sharding(torch.ops.own.mix.default)
def rule(x, w, k):
    whole = ([Replicate()], [Replicate(), Replicate(), None])
    rows = ([Shard(0)], [Shard(0), Replicate(), None])
    return [whole, rows, ([Shard(1)], [Replicate(), Shard(1), None])]


X, W = torch.arange(8.0).reshape(4, 2), torch.arange(8.0).reshape(2, 4)
for lies_x in (Replicate(), Shard(0), Shard(1)):
    for lies_w in (Replicate(), Shard(0), Shard(1)):
        x, w = distribute_tensor(X, mesh, [lies_x]), distribute_tensor(W, mesh, [lies_w])
        x.requires_grad_(), w.requires_grad_()
        y = mix(x, w, 2.0)
        y.square().sum().backward()
        say(y.full_tensor().tolist(), x.grad.full_tensor().tolist(), w.grad.full_tensor().tolist())
say(mix(distribute_tensor(X, mesh, [Shard(0)]), distribute_tensor(W, mesh, [Replicate()]), 1.0).placements)
# What PyTorch prints with the package tabulate, which this library does without.
TABLES = [
    ((4, 6), Shard(0), ["         Col 0-5", "-------  ---------", "Row 0-1  cpu:0", "Row 2-3  cpu:1"]),
    ((4, 6), Shard(1), ["         Col 0-2    Col 3-5", "-------  ---------  ---------", "Row 0-3  cpu:0      cpu:1"]),
    ((4,), Shard(0), ["         Col 0-0", "-------  ---------", "Row 0-1  cpu:0", "Row 2-3  cpu:1"]),
    ((4, 6), Replicate(), ["         Col 0-5", "-------  ---------", "Row 0-3  cpu:0,1"]),
    ((5, 3), Shard(0), ["         Col 0-2", "-------  ---------", "Row 0-2  cpu:0", "Row 3-4  cpu:1"]),
]
for shape, lies, table in TABLES if "functorch_core" in torch.__file__ else []:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        visualize_sharding(distribute_tensor(torch.ones(shape), mesh, [lies]), header="h")
    assert said.getvalue().splitlines() == (table if rank == 0 else []), said.getvalue()
try:
    visualize_sharding(distribute_tensor(torch.ones(2, 2, 2), mesh, [Shard(0)]))
except RuntimeError as error:
    say(error)
dist.destroy_process_group()
