"""What is remembered of signatures is bounded: counted, after shapes that never come again."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch
from functorch_core.engine import Unit, programs, signatures


def units() -> int:
    """How many units there are."""
    gc.collect()
    return sum(type(x) is Unit for x in gc.get_objects())  # x.__class__ may be code of others


@pytest.fixture
def few(monkeypatch):
    """Bounds that a test reaches. (Caches of views are not emptied by them: the last 1,024 are kept.)"""
    monkeypatch.setattr(programs, "MAX_PLANS", 16)
    monkeypatch.setattr(signatures, "MOST", 100)


def torch_step(n: int) -> float:
    x, w = torch.ones(n), torch.ones(n, requires_grad=True)
    torch.cat([(x * w).tanh(), x]).sum().backward()
    return w.grad.sum().item()


def array_step(n: int) -> float:
    x = fc.ones(n)
    return float(fc.sum(fc.tanh(x * 2.5) + x))


@pytest.mark.parametrize(("step", "times"), [(torch_step, 300), (array_step, 1000)])
def test_shapes_without_end(few, step, times):
    for n in range(2, 60):
        step(n)
    signatures.forget()
    before = units()
    for n in range(60, 60 + times):
        step(n)
    signatures.forget()
    made = units() - before
    # Of 16 plans with up to 20 units each; without bounds some thousand.
    assert made < 16 * 20


def test_what_is_in_use_stays(few):
    """Other shapes make nothing of what a loop uses be traced anew."""
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        (x * x).tanh().sum().backward()
        engine.flush()
    op = next(iter(torch.tanh.paths.values())).seen
    kept = [found for aval, found in op.items() if aval.shape == (3,)]
    for n in range(100, 140):
        (x * x).tanh().sum().backward()
        engine.flush()
        torch.ones(n).tanh().sum().item()
    signatures.forget()
    assert kept and all(found in op.values() for found in kept)


def test_what_is_given_up_is_traced_again(few):
    for _ in range(3):
        x = torch.arange(6.0).view(2, 3)
        x[1] = 2.0
        assert torch.cat([x.T.softmax(0), x.T], 1)[0].tolist() == pytest.approx(
            [1 / (1 + np.exp(1) + np.exp(2)), 1 / 3, 0, 2]
        )
        programs._plans.clear()
        signatures.forget()


def test_a_recording_keeps_its_units(few):
    x = torch.ones(5)
    y = (x * 3).cos()
    programs._plans.clear()
    signatures.forget()
    gc.collect()
    np.testing.assert_allclose(y.numpy(), np.cos(np.full(5, 3.0, np.float32)), rtol=1e-6)


def test_plans_are_bounded_by_their_ops(monkeypatch):
    monkeypatch.setattr(programs, "MAX_PLAN_OPS", 40)
    for n in range(200, 240):
        torch.ones(n).tanh().sin().sum().item()
    held = list(programs._plans.values())
    assert sum(plan.ops for plan in held[:-16]) <= 40
