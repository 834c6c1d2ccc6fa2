"""The course of PyTorch's tutorial on tensor parallelism: `tensor_parallel.py mlp | sequence | llama | 2d`."""

import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from llama import ModelArgs, Transformer
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

LLAMA = {
    "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "output": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
}
BLOCK = {
    "attention_norm": SequenceParallel(),
    "attention": PrepareModuleInput(
        input_layouts=(Shard(1), Replicate()), desired_input_layouts=(Replicate(), Replicate())
    ),
    "attention.wq": ColwiseParallel(use_local_output=False),
    "attention.wk": ColwiseParallel(use_local_output=False),
    "attention.wv": ColwiseParallel(use_local_output=False),
    "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
    "ffn_norm": SequenceParallel(),
    "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
    "feed_forward.w1": ColwiseParallel(),
    "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
    "feed_forward.w3": ColwiseParallel(),
}


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(32, 5)

    def forward(self, x):
        return self.out_proj(self.relu(self.in_proj(x)))


def toy(mesh, sequence: bool):
    """The first two examples: a perceptron, with whole inputs or a sequence that is divided."""
    rank, n = mesh.get_rank(), mesh.size()
    torch.manual_seed(0)
    plan = {"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()}
    if sequence:
        plan = {
            "in_proj": ColwiseParallel(input_layouts=Shard(0)),
            "out_proj": RowwiseParallel(output_layouts=Shard(0)),
        }
    tp_model = parallelize_module(module=ToyModel(), device_mesh=mesh, parallelize_plan=plan)
    optimizer = torch.optim.AdamW(tp_model.parameters(), lr=0.25, foreach=True)
    for i in range(4):
        torch.manual_seed(i)
        inp = torch.rand(20, 10)
        output = tp_model(inp.chunk(n)[rank] if sequence else inp)
        loss = output.square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        shown = loss.detach().clone()
        if sequence:
            dist.all_reduce(shown)
        if rank == 0:
            print(f"loss {shown.item():.7f}")


def llama(tp_mesh, dp_mesh=None):
    """The transformer: tensor and sequence parallel with loss parallel, and divided over the other dimension, too."""
    torch.manual_seed(0)
    model = Transformer.from_model_args(ModelArgs(n_layers=2, vocab_size=32))
    model.init_weights()
    model = parallelize_module(model, tp_mesh, LLAMA)
    for transformer_block in model.layers.values():
        parallelize_module(module=transformer_block, device_mesh=tp_mesh, parallelize_plan=BLOCK)
    if dp_mesh is not None:
        for transformer_block in model.layers.values():
            fully_shard(transformer_block, mesh=dp_mesh)
        fully_shard(model, mesh=dp_mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, foreach=True)
    dp_rank, dp = (0, 1) if dp_mesh is None else (dp_mesh.get_local_rank(), dp_mesh.size())
    for i in range(4):
        torch.manual_seed(i)
        inp = torch.randint(32, (4, 16)).chunk(dp)[dp_rank]
        labels = torch.randint(32, (4, 16)).chunk(dp)[dp_rank]
        with loss_parallel():
            pred = model(inp)
            loss = F.cross_entropy(pred.flatten(0, 1), labels.flatten(0, 1))
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        shown = (loss.full_tensor() if hasattr(loss, "full_tensor") else loss).detach().clone()
        if dp_mesh is not None:
            dist.all_reduce(shown, op=dist.ReduceOp.AVG, group=dp_mesh.get_group())
        if dist.get_rank() == 0:
            print(f"loss {shown.item():.7f}")


def main(what: str):
    dist.init_process_group("gloo")
    world_size = dist.get_world_size()
    if what == "2d":
        tp_size = min(2, world_size)
        mesh = init_device_mesh("cpu", (world_size // tp_size, tp_size), mesh_dim_names=("dp", "tp"))
        llama(mesh["tp"], mesh["dp"])
    else:
        tp_mesh = init_device_mesh("cpu", (world_size,))
        toy(tp_mesh, what == "sequence") if what in ("mlp", "sequence") else llama(tp_mesh)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
