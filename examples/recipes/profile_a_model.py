"""What the profiler tells, as the profiler chapters of PyTorch's documentation show it.

    python examples/recipes/profile_a_model.py                       with PyTorch
    python -m functorch_core examples/recipes/profile_a_model.py     with functorch-core

Operators, calls, shapes and memory are the same; the times are not.
"""

import json
import os
import shutil
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 8 * 8, 10)
).eval()
images = torch.randn(5, 3, 16, 16)


# ---- time ----------------------------------------------------------------------------------------

print("# operators by their time")
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof, record_function("model_inference"):
    with torch.no_grad():
        model(images)
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=-1))
print("# by the shapes of their inputs")
print(prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=-1))

# ---- memory --------------------------------------------------------------------------------------

print("# operators by their memory")
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as prof, torch.no_grad():
    model(images)
print(prof.key_averages().table(sort_by="cpu_memory_usage", row_limit=-1))

# ---- files ---------------------------------------------------------------------------------------

folder = tempfile.mkdtemp()
path = os.path.join(folder, "trace.json")
prof.export_chrome_trace(path)
with open(path) as file:
    trace = json.load(file)
convolution = next(event for event in trace["traceEvents"] if event.get("name") == "aten::conv2d")
print("# the trace:", convolution["ph"], convolution["cat"], convolution["args"]["Input Dims"][:2])

with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof, torch.no_grad():
    model(images)
path = os.path.join(folder, "stacks.txt")
prof.export_stacks(path, "self_cpu_time_total")
print("# stacks are written:", os.path.exists(path))

# ---- long programs: some of the steps ------------------------------------------------------------


def trace_handler(p):
    """What is done with the steps that were recorded."""
    names = [event.key for event in p.key_averages() if event.key.startswith("ProfilerStep")]
    calls = {event.key: event.count for event in p.key_averages()}
    print("# steps until", p.step_num, len(names), "named; convolutions:", calls["aten::conv2d"])


plan = schedule(skip_first=2, wait=1, warmup=1, active=2, repeat=2)
print([plan(step).name for step in range(11)])
with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=trace_handler) as p, torch.no_grad():
    for _ in range(11):
        model(images)
        p.step()

# ---- training, for TensorBoard -------------------------------------------------------------------

model.train()
optimizer, loss_of = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9), nn.CrossEntropyLoss()
labels = torch.arange(5)
traces = os.path.join(folder, "log")
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
    on_trace_ready=tensorboard_trace_handler(traces),
    record_shapes=True,
    profile_memory=True,
) as prof:
    for _ in range(6):
        loss = loss_of(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        prof.step()
print("# traces:", [name.endswith(".pt.trace.json") for name in os.listdir(traces)])
steps = {event.key: event.count for event in prof.key_averages() if event.key.startswith("Optimizer.")}
print(steps)
shutil.rmtree(folder)

# ---- parts of a module ---------------------------------------------------------------------------


class Masked(nn.Module):
    """A layer, and the places where its sum is above a threshold."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, mask):
        """The output, and the indices of the mask."""
        with record_function("LINEAR PASS"):
            out = self.linear(x)
        with record_function("MASK INDICES"):
            threshold = out.sum(1).mean()
            indices = (mask > threshold).nonzero(as_tuple=True)
        return out, indices


masked, x, mask = Masked(50, 10), torch.rand(12, 50), torch.rand(20, 20, 20, dtype=torch.float64)
with torch.autograd.profiler.profile(with_stack=True, profile_memory=True) as prof:
    out, indices = masked(x, mask)
print("# ranges")
for event in prof.key_averages():
    if event.key.isupper():
        print(event.key, event.count)
