"""Collectives of arrays that go in several pieces, which no process divides evenly, and what does not fit together."""

from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rank, n = dist.get_rank(), dist.get_world_size()
SIZES = (1, 7, 8191, 131_073, 700_001)


def data(r, size):
    return torch.from_numpy(np.random.default_rng(r).standard_normal(size).astype(np.float32))


for size in SIZES:
    members = [data(r, size) for r in range(n)]
    x = data(rank, size)
    dist.all_reduce(x)
    total = np.sum([m.double().numpy() for m in members], 0)
    np.testing.assert_allclose(x.numpy(), total, rtol=1e-5, atol=1e-5)
    everywhere = [torch.empty(size) for _ in range(n)]
    dist.all_gather(everywhere, x)
    assert all(torch.equal(x, other) for other in everywhere), "the sums differ in their last bits"
    dist.all_gather(everywhere, data(rank, size))
    assert all(map(torch.equal, everywhere, members))
    x = data(rank, size)
    dist.broadcast(x, n - 1)
    assert torch.equal(x, members[-1])
    parts = torch.stack([data(100 * rank + k, size) for k in range(n)])
    out = torch.empty(size)
    dist.reduce_scatter_tensor(out, parts.reshape(-1))
    wanted = np.sum([data(100 * r + rank, size).double().numpy() for r in range(n)], 0)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-5, atol=1e-5)
    single = torch.empty(n * size)
    dist.all_to_all_single(single, parts.reshape(-1))
    assert torch.equal(single, torch.cat([data(100 * r + rank, size) for r in range(n)]))

half = torch.full((100_001,), 0.5 + rank, dtype=torch.float16)  # combined by XLA
dist.all_reduce(half)
assert (half == sum(0.5 + r for r in range(n))).all()
many = [torch.full((k + 1,), float(rank)) for k in range(50)]
works = [dist.all_reduce(x, async_op=True) for x in many]
for work, x in zip(works, many):
    work.wait()
    assert (x == n * (n - 1) / 2).all()
print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
