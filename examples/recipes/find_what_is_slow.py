"""Marked parts of a module and a loop of backward passes, as the chapters on torch.autograd.profiler show it.

    python examples/recipes/find_what_is_slow.py                       with PyTorch
    python -m functorch_core examples/recipes/find_what_is_slow.py     with functorch-core

The operators, how often they are called and where are the same; the times are not.
"""

import numpy as np
import torch
import torch.autograd.profiler as profiler
from torch import nn

torch.manual_seed(0)


class Masked(nn.Module):
    """A linear layer, and the places of a mask that are above the mean of its results."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, input, mask):
        with profiler.record_function("LINEAR PASS"):
            out = self.linear(input)
        with profiler.record_function("MASK INDICES"):
            threshold = out.sum(axis=1).mean().item()
            places = np.argwhere(mask.cpu().numpy() > threshold)
            places = torch.from_numpy(places)
        return out, places


# ---- which part takes the time -------------------------------------------------------------------

model = Masked(50, 10)
input, mask = torch.rand(12, 50), torch.rand((10, 10, 10), dtype=torch.double)
model(input, mask)
with profiler.profile(profile_memory=True) as prof:
    out, places = model(input, mask)
print("# marked parts")
print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1))
marked = {e.key: [c.name for c in e.cpu_children] for e in prof.function_events if e.key.isupper()}
print({name: parts[:2] for name, parts in marked.items()})

# ---- a loop of backward passes -------------------------------------------------------------------

x = torch.randn((1, 1), requires_grad=True)
with torch.autograd.profiler.profile() as prof:
    for _ in range(5):
        y = x**2
        y.backward()
print("# backward passes")
print(prof.key_averages().table(sort_by="self_cpu_time_total"))

# ---- one event -----------------------------------------------------------------------------------

with profiler.profile(record_shapes=True) as prof, profiler.record_function("label-z"):
    z = torch.ones(2, 3) @ torch.ones(3, 4)
print("# events")
for event in prof.function_events:
    print(event.name, event.count, event.input_shapes, event.cpu_parent and event.cpu_parent.name)
