"""How much memory what is recorded, and what runs behind Python, keep: PyTorch keeps none of it."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from functorch_core import engine, torch, xla
from functorch_core.engine.recorder import HELD

SIDE = 1024
EACH = 4 * SIDE * SIDE  # bytes of one image
MOST = 3 * HELD // (2 * EACH)  # images at once: they are counted a few times


@pytest.fixture(autouse=True)
def nothing_recorded():
    engine.flush()


def image(number):
    return torch.from_numpy(np.full((SIDE, SIDE), number, np.float32)).clone()


def alive(made):
    return sum([value() is not None for value in made])


@pytest.mark.parametrize("look", [lambda x: x[:, 3:-3], lambda x: x[0, ...].flatten()[0].item(), lambda x: x + 1])
def test_what_nobody_reads_does_not_keep_its_operands(look):
    made, most = [], 0
    for number in range(3 * MOST):
        x = torch.full((SIDE, SIDE), float(number))
        made.append(weakref.ref(x._value))
        look(x)
        most = max(most, alive(made))
    assert most <= MOST


def test_what_is_wanted_is_computed_of_operands_that_are_given_up():
    total, made, most = torch.zeros(SIDE), [], 0
    for number in range(3 * MOST):
        x = torch.full((SIDE, SIDE), float(number))
        made.append(weakref.ref(x._value))
        total = total + x.sum(0)
        most = max(most, alive(made))
    assert most <= MOST
    np.testing.assert_allclose(total, SIDE * sum(range(3 * MOST)))


def test_operands_that_others_hold_do_not_cut_a_recording():
    images = [image(number) for number in range(2 * MOST)]
    total = torch.zeros(SIDE)
    engine.flush()
    cuts = engine.stats()["cut_recordings"]
    for x in images:
        total = total + x[0]
    assert engine.stats()["cut_recordings"] == cuts
    np.testing.assert_array_equal(total, np.full(SIDE, sum(range(2 * MOST))))


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam])
def test_what_takes_the_place_of_parameters_does_not_cut_a_recording(make):
    weights = [torch.full((SIDE, SIDE), 1.0, requires_grad=True) for _ in range(MOST)]
    optimizer = make(weights, lr=0.5)
    for _ in range(3):
        for w in weights:
            w.grad = torch.full((SIDE, SIDE), 1.0)
        engine.flush()
        cuts = engine.stats()["cut_recordings"]
        optimizer.step()
        assert engine.stats()["cut_recordings"] == cuts
        engine.flush()
    np.testing.assert_allclose(weights[-1].detach()[0, 0], -0.5, atol=1e-5)


def test_a_program_of_much_memory_waits_for_the_one_before_the_last(monkeypatch):
    waits = []
    monkeypatch.setattr(xla, "wait_for_the_one_before", lambda: waits.append(1))
    small, large = torch.ones(SIDE), [torch.ones(SIDE, SIDE) for _ in range(HELD // EACH)]
    with engine.forced_tier("fused"):
        for _ in range(3):
            small = small * 0.5
            engine.flush()
        assert not waits
        total = sum(large)
        engine.flush()
    assert waits
    np.testing.assert_array_equal(total, np.full((SIDE, SIDE), len(large), np.float32))
