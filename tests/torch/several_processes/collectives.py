"""Every collective, of several dtypes and groups, against NumPy; each process checks what it has."""

from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
halves = [list(range(n // 2)), list(range(n // 2, n))]
mine = [dist.new_group(ranks) for ranks in halves]
half = next(g for g in mine if g != dist.GroupMember.NON_GROUP_MEMBER)
DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool complex64".split()
REDUCTIONS = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum}


def data(r, dtype, shape=(3, 4)):
    return torch.from_numpy(np.random.default_rng(r).integers(0, 4, shape)).to(getattr(torch, dtype))


def same(found, wanted, what):
    found, wanted = (t.to(torch.complex128 if t.is_complex() else torch.float64).numpy() for t in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-2 if "16" in what else 1e-6, err_msg=f"rank {rank}: {what}")


def stacked(tensors):
    return torch.stack([t.to(torch.complex128 if t.is_complex() else torch.float64) for t in tensors])


for dtype in DTYPES:
    for group, ranks in [(None, list(range(n))), (half, half.ranks)]:
        members = [data(r, dtype) for r in ranks]
        what, place, size = f"{dtype} {ranks}", ranks.index(rank), len(ranks)
        for name, ufunc in REDUCTIONS.items():
            if dtype == "complex64" and name in ("MIN", "MAX"):
                continue
            x = data(rank, dtype)
            dist.all_reduce(x, getattr(dist.ReduceOp, name), group)
            wanted = torch.from_numpy(ufunc.reduce(stacked(members).numpy()))
            same(x, wanted.to(torch.bool) if dtype == "bool" else wanted, f"all_reduce {name} {what}")
        x = data(rank, dtype)
        dist.broadcast(x, ranks[-1], group)
        same(x, members[-1], f"broadcast {what}")
        places = [torch.empty_like(x) for _ in ranks]
        dist.all_gather(places, data(rank, dtype), group)
        for found, wanted in zip(places, members):
            same(found, wanted, f"all_gather {what}")
        whole = x.new_empty((size * 3, 4))
        dist.all_gather_into_tensor(whole, data(rank, dtype), group)
        same(whole, torch.cat(members), f"all_gather_into_tensor {what}")
        x = data(rank, dtype)
        dist.reduce(x, ranks[0], group=group)
        total = stacked(members).sum(0)
        total = total.to(torch.bool) if dtype == "bool" else total
        same(x, total if rank == ranks[0] else data(rank, dtype), f"reduce {what}")
        dist.gather(data(rank, dtype), places if place == 0 else None, ranks[0], group)
        dist.scatter(x, [data(10 + k, dtype) for k in range(size)] if place == 0 else None, ranks[0], group)
        same(x, data(10 + place, dtype), f"scatter {what}")
        parts = [data(100 * rank + k, dtype) for k in range(size)]
        out = torch.empty_like(x)
        dist.reduce_scatter(out, parts, group=group)
        total = stacked([data(100 * r + place, dtype) for r in ranks]).sum(0)
        same(out, total.to(torch.bool) if dtype == "bool" else total, f"reduce_scatter {what}")
        dist.reduce_scatter_tensor(out, torch.cat(parts), group=group)
        same(out, total.to(torch.bool) if dtype == "bool" else total, f"reduce_scatter_tensor {what}")
        places = [torch.empty_like(x) for _ in ranks]
        dist.all_to_all(places, parts, group)
        for r, found in zip(ranks, places):
            same(found, data(100 * r + place, dtype), f"all_to_all {what}")
        single = torch.empty_like(torch.cat(parts))
        dist.all_to_all_single(single, torch.cat(parts), group=group)
        same(single, torch.cat([data(100 * r + place, dtype) for r in ranks]), f"all_to_all_single {what}")

# ---- numbers that sums would change, sizes that differ, integers' bits
x = torch.tensor([-0.0, float("nan"), float("inf"), 1e-45]) if rank == 0 else torch.zeros(4)
dist.broadcast(x, 0)
assert (
    x.view(torch.int32).tolist() == torch.tensor([-0.0, float("nan"), float("inf"), 1e-45]).view(torch.int32).tolist()
)
for group, ranks in [(None, list(range(n))), (half, half.ranks)]:  # longer than the pieces that it is sent in
    long = np.arange(1_300_001.0)
    for size in (7, 7, 7, 7, 7, 7, long.size, long.size):  # two processes exchange what was reduced some times
        x = torch.from_numpy(long[:size] * (rank + 1))
        dist.all_reduce(x, group=group)
        same(x, torch.from_numpy(long[:size] * sum(r + 1 for r in ranks)), f"all_reduce of {size} {ranks}")
    dist.broadcast(x, ranks[0], group)
sizes = [torch.empty(r + 1) for r in range(n)]
dist.all_gather(sizes, torch.full((rank + 1,), float(rank)))
assert [t.tolist() for t in sizes] == [[float(r)] * (r + 1) for r in range(n)]
x = torch.tensor([1 << rank])
dist.all_reduce(x, dist.ReduceOp.BOR)
assert x.item() == (1 << n) - 1
x = torch.tensor([float(rank)])
dist.all_reduce(x, dist.ReduceOp.AVG)
assert x.item() == (n - 1) / 2
out = torch.empty(n * (rank + 1))
dist.all_to_all_single(out, torch.arange(float(n * (n + 1) // 2)), [rank + 1] * n, list(range(1, n + 1)))
view = torch.zeros(4, 4)
dist.broadcast(view[:, 1], 0)  # not contiguous
work = dist.all_reduce(view, async_op=True)
work.wait()
assert work.is_completed()
try:
    dist.all_gather([torch.zeros(2)], torch.zeros(2))
    assert n == 1
except ValueError as error:
    assert "processes" in str(error)

# ---- messages and objects
right, left = (rank + 1) % n, (rank - 1) % n
received = torch.empty(5)
works = dist.batch_isend_irecv(
    [dist.P2POp(dist.isend, torch.full((5,), float(rank)), right), dist.P2POp(dist.irecv, received, left)]
)
for work in works:
    work.wait()
assert received.tolist() == [float(left)] * 5
if rank == 0:
    for r in range(1, n):
        dist.send(torch.tensor([r, 7]), r, tag=r)
else:
    x = torch.zeros(2, dtype=torch.int64)
    assert dist.recv(x, tag=rank) == 0 and x.tolist() == [rank, 7]
objects = [None] * n
dist.all_gather_object(objects, {"rank": rank, "text": "x" * 10**rank})
assert [o["rank"] for o in objects] == list(range(n))
listed = ["from", rank, "the last"] if rank == n - 1 else [None] * 3
dist.broadcast_object_list(listed, n - 1)
assert listed == ["from", n - 1, "the last"]
given = [None]
dist.scatter_object_list(given, [f"for {r}" for r in range(n)] if rank == 0 else None, 0)
assert given == [f"for {rank}"]
gathered = [None] * n if rank == 0 else None
dist.gather_object(rank, gathered, 0)
assert rank or gathered == list(range(n))

# ---- in debug mode: what does not fit is named in all processes, in place of a hang
dist.set_debug_level(dist.DebugLevel.DETAIL)
last, small, wide = rank == n - 1, torch.zeros(3), torch.zeros(4)
MISTAKES = {
    "all_reduce(tensor=float32[3], op=SUM)": lambda: dist.all_reduce(wide if last else small),
    "all_reduce(tensor=float32[4], op=SUM)": lambda: dist.all_reduce(wide.int() if last else wide),
    "all_reduce(tensor=float32[3], op=MAX)": lambda: dist.all_reduce(
        small, dist.ReduceOp.MIN if last else dist.ReduceOp.MAX
    ),
    "broadcast(tensor=float32[3], src=0)": lambda: dist.all_reduce(small) if last else dist.broadcast(small, 0),
    "reduce(tensor=float32[3], dst=0, op=SUM)": lambda: dist.reduce(small, 1 if last else 0),
    "barrier()": lambda: dist.all_gather_object([None] * n, 1) if last else dist.barrier(),
}
for wanted, mistake in MISTAKES.items():
    try:
        mistake()
    except RuntimeError as error:
        assert "Detected mismatch between collectives on ranks" in str(error), error
        assert f"ank {0 if last else n - 1} is running collective" in str(error) and wanted in str(error), error
    else:
        raise AssertionError(wanted)
impatient = dist.new_group(timeout=timedelta(seconds=0.5))
for group in (None, half):  # what does fit goes on
    x = torch.ones(2)
    dist.broadcast(x, 0 if group is None else half.ranks[0], group)
    dist.all_reduce(x, group=group)
    assert x.tolist() == [dist.get_world_size(group)] * 2
if not last:
    try:
        dist.all_reduce(small, group=impatient)
    except RuntimeError as error:
        assert f"Rank {rank} is running" in str(error) and "did not call a collective" in str(error), error
        assert n > 2 or "rank 1 did not" in str(error), error
    else:
        raise AssertionError("the last process did not take part")
dist.set_debug_level(dist.DebugLevel.OFF)

dist.monitored_barrier()
dist.barrier()
# ---- sparse tensors, and modules with sparse gradients
s = torch.sparse_coo_tensor([[rank, n]], [1.0, 2.0], (n + 2,))
dist.all_reduce(s)
assert s.to_dense().tolist() == [1.0] * n + [2.0 * n, 0.0]
s = torch.sparse_coo_tensor([[0, rank]], torch.ones(2, 3), (n, 3))
dist.all_reduce(s, dist.ReduceOp.AVG, half)
assert s.to_dense()[0].tolist() == [1.0 + (0 in half.ranks) / len(half.ranks)] * 3
table = torch.nn.parallel.DistributedDataParallel(torch.nn.Embedding(n + 1, 2, sparse=True))
table(torch.tensor([rank, n])).sum().backward()
grad = table.module.weight.grad
assert grad.is_sparse and grad.to_dense()[:, 0].tolist() == [1 / n] * n + [1.0]

print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
