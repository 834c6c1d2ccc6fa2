"""
Why is it slow, and why was it compiled again?
==============================================

``functorch_core.engine.explain()`` says where a training loop's time went, and what was compiled for which reason. Here
the lengths of the batches change, first at random, then rounded up to multiples of 32.
"""

import matplotlib.pyplot as plt
import torch

from functorch_core import engine

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 400), torch.nn.Tanh(), torch.nn.Linear(400, 400), torch.nn.Tanh(), torch.nn.Linear(400, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(lengths):
    """A step for each length."""
    for n in lengths:
        loss = (model(torch.randn(16, n, 64)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


# %%
# Lengths as they come: each is a recording of its own.

as_they_come = torch.randint(4, 32, (12,)).tolist()
with engine.explain() as before:
    train(as_they_come)
before

# %%
# Lengths rounded up: one kind of recording, one program.

with engine.explain() as after:
    train([-(-n // 32) * 32 for n in as_they_come])
after

# %%
# What the parts took.

figure, axes = plt.subplots(figsize=(8, 2.2))
left = [0.0, 0.0]
for part in before.totals:
    seconds = [before.totals[part], after.totals[part]]
    axes.barh(["as they come", "rounded up"], seconds, left=left, label=part)
    left = [a + b for a, b in zip(left, seconds)]
axes.set_xlabel("seconds")
axes.legend()
figure.tight_layout()
