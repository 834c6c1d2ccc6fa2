"""Up to fifty steps through a pipeline, of each schedule: the losses are those of one process with all layers."""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    SplitPoint,
    pipeline,
)

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
loss_of = torch.nn.functional.mse_loss
generator = torch.Generator().manual_seed(3)
x, y = torch.randn(16, 6, generator=generator), torch.randn(16, 2, generator=generator)
WIDTHS = [6, 12, 12, 12, 2]


def network():
    torch.manual_seed(1)
    layers = []
    for i, o in zip(WIDTHS, WIDTHS[1:]):
        layers.append(torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.Tanh()))
    return torch.nn.Sequential(*layers)


def alone(steps):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def train(schedule, stages, steps, first=rank == 0, last=rank == n - 1):
    """The losses, in the process of the last stage."""
    optimizer = torch.optim.AdamW([p for s in stages for p in s.submod.parameters()], lr=0.02)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses = []
        out = schedule.step(*([x] if first else []), target=y if last else None, losses=losses)
        assert (out is not None) == last
        optimizer.step()
        if losses:
            assert out.shape == y.shape
            found.append(torch.stack(losses).mean().item())
    return found


def same(found, wanted, what):
    assert len(found) == (len(wanted) if rank == n - 1 else 0), what
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), (what, found, wanted)


wanted = alone(50)
model = network()
pipe = pipeline(model, (x[:4],), split_spec={"2": SplitPoint.BEGINNING})
assert pipe.num_stages == 2 and list(pipe.get_stage_module(1).state_dict())[0] == "2.0.weight"
stage = pipe.build_stage(rank, "cpu")
same(train(ScheduleGPipe(stage, 4, loss_of), [stage], 10), wanted[:10], "GPipe")

cut = network()
example = x[:4] if rank == 0 else torch.ones(4, 12)
stage = PipelineStage(cut[2 * rank : 2 * rank + 2], rank, n, "cpu", input_args=example)
schedule = Schedule1F1B(stage, 4, loss_of)
same(train(schedule, [stage], 50), wanted, "1F1B")
outputs = schedule.eval(*([x] if rank == 0 else []))
assert (outputs is None) == (rank < n - 1)

for kind, steps in ((ScheduleInterleaved1F1B, 50), (ScheduleLoopedBFS, 10)):
    cut = network()
    stages = [PipelineStage(cut[i], i, 2 * n, "cpu") for i in (rank, rank + n)]
    same(train(kind(stages, 4, loss_of), stages, steps), wanted[:steps], kind.__name__)
stages = [PipelineStage(cut[i], i, 2 * n, "cpu") for i, cut in ((i, network()) for i in (rank, rank + n))]
same(train(ScheduleInterleavedZeroBubble(stages, 4, loss_of), stages, 10), wanted[:10], "InterleavedZeroBubble")
ends = rank == 0  # the first and the last stage are in one process
for kind in (ScheduleZBVZeroBubble, ScheduleDualPipeV):
    cut = network()
    stages = [PipelineStage(cut[i], i, 2 * n, "cpu") for i in (rank, 2 * n - 1 - rank)]
    found = train(kind(stages, 4, loss_of), stages, 10, ends, ends)
    assert len(found) == 10 * ends and all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), (kind, found)
print(f"rank {rank} of {n}: all as wanted")
dist.destroy_process_group()
