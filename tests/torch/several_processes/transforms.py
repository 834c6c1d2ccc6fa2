"""Derivatives of collectives, and collectives of batches, against one process that has everything."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fcol
from torch.distributed.nn import functional as F
from torch.func import grad, jacfwd, jacrev, jvp, vjp, vmap

import functorch_core as fc

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
generator = torch.Generator().manual_seed(0)
everything = torch.randn(n, 2 * n, dtype=torch.float64, generator=generator)
weights = torch.randn(n, 2 * n, dtype=torch.float64, generator=generator)
mine, w = everything[rank], weights[rank]


def local(kind, x):
    """A collective of what this process has."""
    parts = list(x.chunk(n))
    if kind == "all_reduce":
        return F.all_reduce(x.sin())
    if kind == "average":
        return F.all_reduce(x.sin(), dist.ReduceOp.AVG)
    if kind == "functional":
        return fcol.wait_tensor(fcol.all_reduce(x.sin(), "sum", dist.group.WORLD))
    if kind == "broadcast":
        return F.broadcast(x.sin(), n - 1)
    if kind == "all_gather":
        return sum((k + 1) * row for k, row in enumerate(F.all_gather(x.sin())))
    if kind == "gather_tensor":
        return fcol.all_gather_tensor(x.sin(), 0, dist.group.WORLD).reshape(n, -1).cos().sum(0)
    if kind == "reduce_scatter":
        out = F.reduce_scatter(torch.zeros(2, dtype=x.dtype), [p.sin() for p in parts])
        return torch.cat([out] * n)
    if kind == "all_to_all":
        return torch.cat(F.all_to_all([torch.zeros_like(p) for p in parts], [p.sin() for p in parts]))
    if kind == "all_to_all_single":
        return F.all_to_all_single(torch.zeros_like(x), x.sin())
    return fcol.reduce_scatter_tensor(x.sin(), "sum", 0, dist.group.WORLD).repeat(n)


def whole(kind, x):
    """The results of all processes: a function of what all have, [processes, numbers]."""
    y = x.sin()
    cut = y.reshape(n, n, 2)
    if kind in ("all_reduce", "functional"):
        return y.sum(0).expand(n, -1)
    if kind == "average":
        return y.mean(0).expand(n, -1)
    if kind == "broadcast":
        return y[n - 1].expand(n, -1)
    if kind == "all_gather":
        return sum((k + 1) * row for k, row in enumerate(y)).expand(n, -1)
    if kind == "gather_tensor":
        return y.cos().sum(0).expand(n, -1)
    if kind.startswith("all_to_all"):
        return cut.transpose(0, 1).reshape(n, -1)
    return cut.sum(0).repeat(1, n)


def same(found, wanted, what):
    assert torch.allclose(found, wanted, atol=1e-12), f"rank {rank}: {what}: {found} for {wanted}"


KINDS = (
    "all_reduce average functional broadcast all_gather gather_tensor reduce_scatter all_to_all all_to_all_single parts"
)
for kind in KINDS.split():

    def loss(x):
        return (local(kind, x) * w).sum()

    def loss_of_all(x):
        return (whole(kind, x) * weights).sum()

    of_all = torch.func.grad(loss_of_all)(everything)
    same(local(kind, mine), whole(kind, everything)[rank], kind)
    same(grad(loss)(mine), of_all[rank], f"grad {kind}")
    same(vjp(lambda x: local(kind, x), mine)[1](w)[0], of_all[rank], f"vjp {kind}")
    value, tangent = jvp(lambda x: local(kind, x), (mine,), (w,))
    same(tangent, jvp(lambda x: whole(kind, x), (everything,), (weights,))[1][rank], f"jvp {kind}")
    batch = torch.stack([mine, 2 * mine, 3 * mine])
    same(
        vmap(lambda x: local(kind, x))(batch),
        torch.stack([whole(kind, k * everything)[rank] for k in (1, 2, 3)]),
        f"vmap {kind}",
    )
    found = vmap(grad(loss))(batch)
    wanted = torch.stack([torch.func.grad(loss_of_all)(k * everything)[rank] for k in (1, 2, 3)])
    same(found, wanted, f"vmap grad {kind}")
    jacobian = jacfwd(lambda x: whole(kind, x))(everything)  # [processes, numbers, processes, numbers]
    same(jacfwd(lambda x: local(kind, x))(mine), jacobian[rank].sum(1), f"jacfwd {kind}")  # all move at once
    same(jacrev(lambda x: local(kind, x))(mine), jacobian.sum(0)[:, rank], f"jacrev {kind}")
    second = jvp(lambda x: torch.func.grad(loss_of_all)(x), (everything,), (weights,))[1]
    same(jvp(grad(loss), (mine,), (w,))[1], second[rank], f"jvp of grad {kind}")
    x = mine.clone().requires_grad_()
    (g,) = torch.autograd.grad((local(kind, x) * w).sum(), x, create_graph=True)
    (g2,) = torch.autograd.grad((g * w).sum(), x)
    same(g2, second[rank], f"second derivative {kind}")

for attempt in (
    lambda: grad(lambda x: F.all_reduce(x, dist.ReduceOp.MAX).sum())(mine),
    lambda: jvp(lambda x: F.all_reduce(x, dist.ReduceOp.MAX), (mine,), (w,)),
):
    try:
        attempt()
    except NotImplementedError as error:
        assert "only SUM and AVG are linear" in str(error)
    else:
        raise AssertionError("the derivative of a maximum was not refused")
for attempt, error, said in (
    (lambda: vmap(lambda x: dist.all_reduce(x * 1))(batch), RuntimeError, "which give new tensors"),
    (lambda: fc.jit(lambda x: F.all_reduce(x * 1))(mine), NotImplementedError, "all_reduce in a traced function"),
):
    try:
        attempt()
    except error as found:
        assert said in str(found), found
    else:
        raise AssertionError(said)
same(vmap(lambda x: F.all_reduce(x, dist.ReduceOp.MAX))(mine[None])[0], everything.amax(0), "vmap of a maximum")
print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
