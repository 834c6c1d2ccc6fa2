"""Shapes that come in turn: what is kept of them does not grow from round to round."""

import json
import subprocess
import sys

PROGRAM = """
import gc, json
from functorch_core import engine, torch
from functorch_core.engine import programs
from functorch_core.torch.operators.index import indexing
from functorch_core.torch.views import seen

layer = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

def epoch():
    for n in range(1, 301):
        loss = layer(torch.ones(n, 8))[n // 2 :].view(-1).relu().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return resident()

for _ in range(5):
    before = epoch()
for _ in range(3):
    after = epoch()
sizes = len(programs._plans) - programs.MAX_PLANS, len(indexing._seen) - seen.MOST, len(indexing._lenses) - seen.MOST
print(json.dumps([before, after, max(sizes), engine.stats()["compiles"]]))
"""


def test_300_shapes():
    """Memory is flat after five rounds, caches have bounds, nothing is compiled for what is quick op by op."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    before, after, excess, compiles = json.loads(done.stdout)
    assert after - before < 3 and compiles == 0 and excess <= 0
