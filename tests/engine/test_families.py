"""Lengths that come for a while and then no more are not compiled one after the other."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from functorch_core import torch
from functorch_core.engine import cost, programs
from functorch_core.engine.families import Family, family_of
from functorch_core.xla import onednn

PROGRAM = """
from functorch_core import engine, torch

first, second = torch.randn(32, 64) * 0.1, torch.randn(64, 32) * 0.1

def loss(n):
    x = torch.ones(n, 32)
    for _ in range(3):
        x = torch.tanh(torch.layer_norm(x @ first, (64,))) @ second
    return x.sum().item()

for n in range(400, 420):
    for _ in range({times}):
        loss(n)
print(engine.stats()["compiles"])
"""


MODEL = """
from functorch_core import engine, torch
from functorch_core.torch import nn

torch.manual_seed(0)
layers = [nn.Sequential(nn.Conv2d(48, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU()) for _ in range(6)]
model = nn.Sequential(nn.Conv2d(3, 48, 3), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10)).eval()
with torch.no_grad():
    for image in torch.randn(8, 1, 3, 96, 96):
        model(image).argmax().item()
print(engine.stats()["compiles"])
"""


def compiled(times: int, program: str = PROGRAM) -> int:
    command = [sys.executable, "-c", program.format(times=times)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "FUNCTORCH_CACHE": "0"}
    )
    return int(done.stdout)


def test_lengths_that_soon_come_no_more_are_not_compiled():
    """A program of 0.06 ms for 0.25 op by op, 0.2 s to compile: it takes hundreds of sightings to be worth that."""
    assert compiled(12) <= 5
    assert compiled(40) <= 5


def test_a_length_that_comes_often_is_compiled():
    assert compiled(400) == 20


@pytest.mark.skipif(not onednn.is_available(), reason="convolutions have no quick way op by op")
def test_what_makes_the_model_is_not_compiled():
    """The first image is classified in the recording that makes the parameters, which never comes again."""
    assert compiled(1, MODEL) == 1


class Stub(SimpleNamespace):
    __eq__, __hash__ = object.__eq__, object.__hash__


def plan(times_since: int, price: float, compiled=True):
    """A plan whose program was there after 6 sightings, and spares 100 us each time."""
    return Stub(
        program="there" if compiled else None,
        sightings=6 + times_since,
        compiled_at=(6, 0),
        reference=150 + cost.EXECUTE,
        work=50,
        price=price,
    )


@pytest.mark.parametrize(
    "plans, expected",
    [
        ([plan(10, 500)] * 1, 1.0),  # of one program nothing follows
        ([plan(10, 500) for _ in range(4)], 0.5),
        ([plan(10, 100) for _ in range(4)], 1 / 3),
        ([plan(10, 8000) for _ in range(4)], 8.0),
        ([*[plan(10, 500) for _ in range(2)], *[plan(0, 500, False) for _ in range(9)]], 1.0),
    ],
)
def test_what_programs_have_brought_says_what_the_next_is_worth(plans, expected):
    family = Family()
    for plan in plans:
        family.add(plan)
    family.sightings = 1000
    assert family.patience() == pytest.approx(expected)
    family.sightings = 1  # none of the others can have come again
    assert family.patience() == 1.0


def test_sizes_make_no_family_of_their_own():
    before = set(programs._plans)
    for n in (205, 206, 207):  # which no other test has
        (torch.ones(n, 3) * 2.5 + torch.ones(n, 1)).tanh().sum().item()
    torch.ones(205, 3).tanh().sum().item()
    keys = [key for key in programs._plans if key not in before]
    families = [family_of(key[0], key[1]) for key in keys]
    assert len(keys) == 4 and len({id(f) for f in families}) == 2
