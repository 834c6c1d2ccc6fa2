"""Large programs are compiled in two parts, and nobody can tell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from functorch_core import engine, torch
from functorch_core import primitives as p
from functorch_core.core.graph import validate
from functorch_core.core.trace import evaluate
from functorch_core.engine import parts
from functorch_core.engine.compiling import ProgramInParts
from functorch_core.xla.executable import Executable

from ..primitives.check import graph_of

nn = torch.nn
widths = itertools.count(5)  # of networks that no other test has programs for


@pytest.fixture
def made(monkeypatch) -> list:
    """The programs in parts that are made, where parts are worth it from 20 nodes on."""
    found, init = [], ProgramInParts.__init__

    def remember(self, *args):
        init(self, *args)
        found.append(self)

    monkeypatch.setattr(ProgramInParts, "__init__", remember)
    monkeypatch.setattr(parts, "WORTH", 20)
    return found


class Training:
    """A network with its optimizer, and what its steps gave."""

    def __init__(self, width: int):
        torch.manual_seed(0)
        self.net = nn.Sequential(
            nn.Linear(width, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, width)
        )
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        self.x, self.losses, self.gradients = torch.randn(16, width), [], []

    def step(self, keep: bool = False):
        self.optimizer.zero_grad()
        loss = (self.net(self.x) - self.x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        if keep:
            self.gradients.append(self.net[2].weight.grad)
        self.optimizer.step()
        self.losses.append(loss.detach())

    def numbers(self) -> list[np.ndarray]:
        """What was learnt, and on the way."""
        return [t.detach().numpy() for t in (*self.losses, *self.gradients, *self.net.parameters())]


def trained(tier: str, width: int, keep: bool = False) -> list[np.ndarray]:
    with engine.forced_tier(tier):
        training = Training(width)
        for _ in range(6):
            training.step(keep)
        return training.numbers()


@pytest.mark.parametrize("keep", [False, True])
def test_a_training_step_in_parts_is_the_same(made, keep):
    width = next(widths)
    found = trained("fused", width, keep)
    assert made, "no program had two parts"
    for ours, expected in zip(found, trained("reference", width, keep), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-3, atol=2e-5)


def test_parameters_are_overwritten_in_the_second_part(made):
    width = next(widths)
    with engine.forced_tier("fused"):
        training = Training(width)
        training.step()
        before = engine.stats()["donated"]
        weight = training.net[2].weight.data_ptr()
        training.step()
        assert engine.stats()["donated"] > before
        assert training.net[2].weight.data_ptr() == weight
    assert made


def test_a_step_that_is_interrupted_between_its_parts_can_be_repeated(made, monkeypatch):
    width = next(widths)
    with engine.forced_tier("fused"):
        training = Training(width)
        for _ in range(3):
            training.step()
        training.numbers()
        run_into, parts_made = Executable.run_into, {program.second.executable for program in made}

        def interrupted(executable, *args):
            monkeypatch.setattr(Executable, "run_into", run_into)
            assert executable in parts_made
            raise KeyboardInterrupt

        monkeypatch.setattr(Executable, "run_into", interrupted)
        with pytest.raises(KeyboardInterrupt):
            training.step()
        training.losses = training.losses[:3]
        found = training.numbers()[3:]  # reading computes what the optimizer had recorded
    with engine.forced_tier("reference"):
        expected = Training(width)
        for _ in range(4):
            expected.step()
        for ours, theirs in zip(found, expected.numbers()[4:], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-5)


def test_memory_of_both_parts_is_told(made):
    with engine.forced_tier("fused"):
        training = Training(next(widths))
        training.step()
        training.step()
    assert made and len(made[0].executables) == 2
    largest = max(e.memory_analysis()["temp"] for e in made[0].executables)
    assert engine.explain().memory["temporary"] >= largest


# ---- where a graph is cut ---------------------------------------------------------------------------


def chain(x, w, before: int, after: int):
    for _ in range(before):
        x = p.sin(x)
    y = p.dot_general(x, w, contract=((1,), (0,)), batch=((), ()))
    z = y
    for _ in range(after):
        z = p.cos(p.add(z, x))
    return y, z, x


MATRICES = [np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32) for _ in range(2)]


def test_two_parts_compute_what_one_graph_does(monkeypatch):
    monkeypatch.setattr(parts, "WORTH", 4)
    graph = graph_of(lambda x, w: chain(x, w, 6, 5), MATRICES)
    found = parts.parts_of(graph)
    for part in found[:2]:
        validate(part)
    assert not any(parts._has_product(node) for node in found.second.nodes)
    begun = evaluate(found.first, MATRICES)
    there = [*MATRICES, *begun]
    ended = evaluate(found.second, [there[i] for i in found.taken])
    there += ended
    for ours, expected in zip([there[i] for i in found.given], evaluate(graph, MATRICES), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(expected))


@pytest.mark.parametrize("before, after", [(20, 1), (1, 20), (2, 1)])
def test_small_parts_are_not_worth_it(monkeypatch, before, after):
    monkeypatch.setattr(parts, "WORTH", 6)
    assert parts.parts_of(graph_of(lambda x, w: chain(x, w, before, after), MATRICES)) is None


def test_a_graph_without_products_stays_whole(monkeypatch):
    monkeypatch.setattr(parts, "WORTH", 4)

    def sines(x, w):
        for _ in range(20):
            x = p.sin(p.add(x, w))
        return x

    assert parts.parts_of(graph_of(sines, MATRICES)) is None
