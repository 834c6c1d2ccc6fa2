"""
Schedules of learning rates
===========================

The schedulers of ``torch.optim.lr_scheduler``, as they are used in a training loop. A learning rate is an input of the
program that a step runs as, so that changing it compiles nothing.
"""

import matplotlib.pyplot as plt
import torch
from torch.optim import lr_scheduler

STEPS = 120
schedules = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 30, gamma=0.5),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.97),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 20, T_mult=2),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, max_lr=1.0, total_steps=STEPS + 1),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, base_lr=0.1, max_lr=1.0, step_size_up=15, mode="triangular2"),
    "linear warm-up, then cosine": lambda o: lr_scheduler.SequentialLR(
        o,
        [lr_scheduler.LinearLR(o, 0.05, total_iters=20), lr_scheduler.CosineAnnealingLR(o, STEPS - 20)],
        milestones=[20],
    ),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, STEPS, power=2.0),
}


def rates(make):
    """The learning rate of each step."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0, momentum=0.5)
    schedule, found = make(optimizer), []
    for _ in range(STEPS):
        found.append(schedule.get_last_lr()[0])
        weight.grad = torch.zeros(1)
        optimizer.step()
        schedule.step()
    return found


figure, rows = plt.subplots(2, 4, figsize=(12, 4.5), sharex=True, sharey=True)
for panel, (name, make) in zip(rows.flat, schedules.items()):
    panel.plot(rates(make))
    panel.set_title(name, fontsize=10)
figure.supxlabel("step")
figure.supylabel("learning rate")
figure.tight_layout()
