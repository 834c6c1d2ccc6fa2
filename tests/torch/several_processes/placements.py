"""DTensors, tensor parallelism and fully_shard: every number beside that of one process."""

import io
import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor, ones
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

n = int(os.environ["WORLD_SIZE"])
mesh = init_device_mesh("cpu", (n,), mesh_dim_names=("tp",))  # joins the process group
rank = dist.get_rank()


def close(found, wanted, what, tolerance=1e-5):
    found, wanted = (t.detach().numpy() if isinstance(t, torch.Tensor) else t for t in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=f"rank {rank}: {what}")


def drawn(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def _saved(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    return file.getvalue()


def refused(kind, text, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{function} took {args}")


# ---- DTensors: made, moved, computed with, written to
x = drawn(4 * n, 6)
rows = distribute_tensor(x if rank == 0 else torch.zeros_like(x), mesh, [Shard(0)])  # the first process's counts
assert isinstance(rows, DTensor) and not isinstance(x, DTensor) and not hasattr(x, "to_local")
assert rows.placements == (Shard(0),) and rows.device_mesh is mesh and rows.shape == x.shape
assert repr(rows).startswith("DTensor(local_tensor=tensor([[")
close(rows.to_local(), x[4 * rank : 4 * rank + 4], "to_local")
close(rows.full_tensor(), x, "full_tensor")
columns = rows.redistribute(mesh, [Shard(-1)]) if 6 % n == 0 else rows
close(columns.full_tensor(), x, "redistribute")
part = drawn(3, 2, seed=rank).requires_grad_()
every = [drawn(3, 2, seed=r) for r in range(n)]
close(DTensor.from_local(part, mesh, [Shard(1)]).full_tensor(), torch.cat(every, 1), "from_local")
for op, wanted in [("sum", sum(every)), ("avg", sum(every) / n), ("max", torch.stack(every).amax(0))]:
    close(DTensor.from_local(part, mesh, [Partial(op)]).full_tensor(), wanted, f"Partial({op!r})")
weight = drawn(3, 2 * n, seed=77)
joined = DTensor.from_local(part, mesh, [Shard(1)])
((joined * weight).to_local() ** 2).sum().backward()
wanted = torch.cat(every, 1).requires_grad_()
((wanted * weight) ** 2).sum().backward()
close(part.grad, wanted.grad[:, 2 * rank : 2 * rank + 2], "gradient through from_local and to_local")
part.grad = None
full = DTensor.from_local(part, mesh, [Shard(1)]).full_tensor(grad_placements=[Partial()])
(full * (rank + 1)).sum().backward()  # each process another function of the whole
close(part.grad, np.full((3, 2), sum(range(1, n + 1)), np.float32), "summed gradients of the whole")
factor = distribute_tensor(torch.ones(6, requires_grad=True), mesh, [Replicate()])
(factor * x).sum().backward()  # the gradient is of no DTensor
assert isinstance(factor.grad, DTensor)
close(factor.grad.full_tensor(), x.sum(0), "a gradient of plain tensors")
nn.init.constant_(rows, 2.0)
rows[0] = 5.0
assert rows.placements == (Shard(0),)
close(rows.full_tensor()[:2, 0], np.asarray([5.0, 2.0], np.float32), "written to")
close(ones(2 * n, 3, device_mesh=mesh, placements=[Shard(0)]).sum().item(), 6.0 * n, "ones")

# ---- sizes that are no multiple of the number of processes: parts as those of torch.chunk, the last ones less
for size in (2 * n + 1, n + 1, 1):
    whole = drawn(size, 3, seed=size)
    chunks = [*whole.chunk(n), *[torch.zeros(0, 3)] * n][:n]
    uneven = distribute_tensor(whole, mesh, [Shard(0)]).requires_grad_()
    close(uneven.to_local(), chunks[rank], "an uneven part")
    close(DTensor.from_local(chunks[rank], mesh, [Shard(0)], shape=whole.shape).full_tensor(), whole, "from_local")
    scaled, beside = uneven * whole, drawn(3, size)
    assert scaled.placements == (Shard(0),)
    close(scaled.to_local(), chunks[rank] * chunks[rank], "an op of uneven parts")
    close((beside @ uneven).full_tensor(), beside @ whole, "a product", 1e-4)
    close(uneven.cumsum(0).full_tensor(), whole.cumsum(0), "along the uneven dimension", 1e-4)
    close(uneven.redistribute(mesh, [Shard(1)]).full_tensor(), whole, "redistribute")
    (scaled.to_local() * (rank + 1)).sum().backward()
    wanted = whole * torch.cat([torch.full((len(c), 1), r + 1.0) for r, c in enumerate(chunks)])
    assert uneven.grad.placements == (Shard(0),)
    close(uneven.grad.full_tensor(), wanted, "a gradient")
    again = torch.load(io.BytesIO(_saved(uneven.detach())))
    close(again.full_tensor(), whole, "loaded")
refused(ValueError, "shape=", DTensor.from_local, torch.ones(2 * n + 1), mesh, [Shard(0)], shape=(2 * n + 1,))
refused(IndexError, "Dimension out of range", distribute_tensor, torch.ones(n), mesh, [Shard(1)])
refused(ValueError, "same length", distribute_tensor, torch.ones(n), mesh, [Shard(0), Shard(0)])
refused(RuntimeError, "Can not redistribute", rows.redistribute, mesh, [Partial()])
refused(RuntimeError, "Mesh should not be bigger", init_device_mesh, "cpu", (n + 1,))
refused(KeyError, "Valid mesh_dim_names", lambda: mesh["pp"])
refused(RuntimeError, "full_tensor", rows.numpy)


# ---- tensor parallelism: a block with an embedding, a norm and a feed-forward layer
class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.embed, self.norm = nn.Embedding(12, width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, 12, bias=False)

    def forward(self, tokens):
        h = self.embed(tokens)
        h = h + self.down(torch.nn.functional.gelu(self.up(self.norm(h))))
        return self.head(h)


def block():
    torch.manual_seed(11)
    return Block()


def losses(model, batches, optimizer, whole=lambda loss: loss):
    found = []
    for tokens in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(1, 1).flatten())
        loss.backward()
        optimizer.step()
        found.append(whole(loss.detach()).item())
    return found


generator = torch.Generator().manual_seed(5)
batches = [torch.randint(0, 12, (4 * n, 2 * n), generator=generator) for _ in range(3)]
one = block()
wanted = losses(one, batches, torch.optim.AdamW(one.parameters(), lr=0.03))
plan = {
    "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
    "norm": SequenceParallel(),
    "up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
    "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
}
model = parallelize_module(block(), mesh, plan)
assert model.up.weight.placements == (Shard(0),) and model.down.weight.placements == (Shard(1),)
assert model.up.weight.to_local().shape == (32 // n, 8)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
close(losses(model, batches, optimizer), wanted, "tensor and sequence parallel")
assert model.up.weight.placements == optimizer.state[model.up.weight]["exp_avg"].placements == (Shard(0),)
close(model.up.weight.full_tensor(), one.up.weight, "weights", 1e-4)
file = io.BytesIO()  # each process saves and loads its own part
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
loaded = torch.load(io.BytesIO(file.getvalue()), map_location="cpu")
for name, p in model.state_dict().items():
    again = loaded["model"][name]
    assert again.placements == p.placements and again.device_mesh is mesh
    close(again.to_local(), p.to_local(), f"loaded {name}")
state = loaded["optimizer"]["state"][3]["exp_avg"]
close(state.to_local(), optimizer.state[model.up.weight]["exp_avg"].to_local(), "a loaded state of the optimizer")
box = [file.getvalue()]
dist.broadcast_object_list(box)
if rank:
    refused(RuntimeError, "rank 0 saved", torch.load, io.BytesIO(box[0]))
refused(NotImplementedError, "nn.Linear", parallelize_module, block(), mesh, {"norm": ColwiseParallel()})
model = distribute_module(block(), mesh)
assert all(isinstance(p, DTensor) for p in model.parameters())
inputs = PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_output=True)
probe = parallelize_module(nn.Identity(), mesh, inputs)
close(probe(drawn(2, 3, seed=rank)), torch.cat([drawn(2, 3, seed=r) for r in range(n)]), "PrepareModuleInput")


# ---- fully_shard: each process its part of the batch
def mean(loss):
    dist.all_reduce(loss, dist.ReduceOp.AVG)
    return loss


for again in (True, False):
    model = block()
    for part in (model.up, model.down):
        fully_shard(part, reshard_after_forward=again)
    fully_shard(model, mesh=mesh, reshard_after_forward=again)
    assert isinstance(model, FSDPModule) and model.up.weight.placements == (Shard(0),)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
    share = [b[4 * rank : 4 * rank + 4] for b in batches]
    close(losses(model, share, optimizer, mean), wanted, f"fully_shard, {again=}")
    assert all(isinstance(p, DTensor) for p in model.parameters())
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1e9)
    gradient = torch.cat([p.grad.reshape(-1) for p in one.parameters()])
    close(norm.full_tensor() if isinstance(norm, DTensor) else norm, gradient.norm(), "norm of the gradients", 1e-4)
narrow = fully_shard(nn.Linear(3, 2 * n + 1))
assert narrow.weight.placements == (Shard(0),)
assert len(narrow.weight.to_local()) == len(torch.ones(2 * n + 1).chunk(n)[rank])
started = narrow.weight.full_tensor().detach()
optimizer = torch.optim.Adam(narrow.parameters(), lr=0.1)
narrow(drawn(4, 3, seed=rank)).square().sum().backward()
wanted = nn.Linear(3, 2 * n + 1)
with torch.no_grad():
    wanted.weight.copy_(started), wanted.bias.copy_(narrow.bias.full_tensor())
(wanted(torch.cat([drawn(4, 3, seed=r) for r in range(n)])).square().sum() / n).backward()
close(narrow.weight.grad.full_tensor(), wanted.weight.grad, "an uneven parameter", 1e-4)
optimizer.step()
assert optimizer.state[narrow.weight]["exp_avg"].placements == narrow.weight.placements == (Shard(0),)
torch.optim.Adam([whole := wanted.weight], lr=0.1).step()
close(narrow.weight.full_tensor(), whole, "a step of an uneven parameter", 1e-4)
policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
model = fully_shard(nn.Linear(6, 2), mp_policy=policy)
given = drawn(4, 6, seed=rank)
out = model(given)
assert out.dtype == model.weight.dtype == torch.float32
out.sum().backward()
wanted = sum(drawn(4, 6, seed=r) for r in range(n)).sum(0) / n
close(model.weight.grad.full_tensor(), torch.stack([wanted, wanted]), "gradients in bfloat16", 2e-2)
try:  # PyTorch's processes are aborted in the next collective
    DTensor.from_local(torch.ones(2 + rank, 3), init_device_mesh("cpu", (n,)), [Shard(0)])
except ValueError as error:
    assert "rank 0: [2, 3], rank 1: [3, 3]" in str(error), error
else:
    raise AssertionError("parts of different shapes were taken")

print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
