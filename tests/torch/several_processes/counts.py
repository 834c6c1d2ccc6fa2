"""CommDebugMode counts what PyTorch 2.13 counts for the same program.

But for reduce-scatters, of which XLA for CPUs makes an all-reduce and a slice.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

funcol = torch.ops.c10d_functional
REDUCED, GATHERED, EXCHANGED = funcol.all_reduce, funcol.all_gather_into_tensor, funcol.all_to_all_single
SCATTERED = REDUCED  # PyTorch: reduce_scatter_tensor
WHOLE = {"0": ColwiseParallel(), "2": RowwiseParallel()}
SEQUENCE = {"0": ColwiseParallel(input_layouts=Shard(0)), "2": RowwiseParallel(output_layouts=Shard(0))}


def counted(function):
    """(the counts, the result)."""
    with CommDebugMode() as counts:
        out = function()
    assert counts.get_total_counts() == sum(counts.get_comm_counts().values())
    return dict(counts.get_comm_counts()), out


def main():
    dist.init_process_group("gloo")
    rank, n = dist.get_rank(), dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (n,))
    cases = [
        (WHOLE, False, {REDUCED: 1}, {}),
        (WHOLE, True, {REDUCED: 1}, {REDUCED: 1}),
        (SEQUENCE, False, {GATHERED: 1, SCATTERED: 1}, {GATHERED: 1}),
        (SEQUENCE, True, {GATHERED: 1, SCATTERED: 1}, {GATHERED: 1, SCATTERED: 1}),
    ]
    for plan, differentiated, forward, backward in cases:
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        model = parallelize_module(model, mesh, plan)
        x = torch.rand(4, 8, requires_grad=differentiated)
        found, out = counted(lambda: model(x))  # noqa: B023
        assert found == forward, found
        found, _ = counted(lambda: out.sum().backward())  # noqa: B023
        assert found == backward, found
    x = distribute_tensor(torch.rand(4, 8), mesh, [Shard(0)])
    assert counted(lambda: x.redistribute(mesh, [Replicate()]))[0] == {GATHERED: 1}
    assert counted(lambda: x.redistribute(mesh, [Replicate()]).redistribute(mesh, [Shard(0)]))[0] == {GATHERED: 1}
    assert counted(x.full_tensor)[0] == {GATHERED: 1}
    assert counted(lambda: x.redistribute(mesh, [Shard(1)]))[0] == {EXCHANGED: 1}  # PyTorch, too, where Gloo can
    assert counted(lambda: (x + 1) * 2)[0] == {}
    own = torch.full((4,), float(rank))
    assert REDUCED(own, "sum", "", list(range(n)), n).tolist() == [n * (n - 1) / 2] * 4
    assert GATHERED(own, "", list(range(n)), n).tolist() == [float(r) for r in range(n) for _ in range(4)]
    print(f"rank {rank} of {n}: all as wanted", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
