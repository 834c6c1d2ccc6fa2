"""Values that several loops read are computed by one of them."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core import torch
from functorch_core.core.graph import validate
from functorch_core.core.trace import evaluate
from functorch_core.engine.loops import computed_once

from ..primitives.check import compiled, graph_of

nn = torch.nn
SHAPE = (64, 64)


def rows(x):
    """Means of rows, as a matrix."""
    return p.broadcast_in_dim(p.reduce_sum(x, axes=(1,)), shape=SHAPE, dims=(0,))


def residual(x, *layers, product=True):
    """x = x + f(x) again and again; each f has loops of its own."""
    for w in layers:
        y = p.sub(x, p.mul(rows(x), 1 / 64))
        y = p.mul(p.add(y, p.mul(y, y)), rows(p.mul(y, y)))
        x = p.add(x, p.sub(y, w))
    return x


def matrices(n):
    rng = np.random.default_rng(0)
    return [rng.normal(size=SHAPE).astype(np.float32) * 1e-2 for _ in range(n)]


def held(graph) -> list:
    """What stands behind barriers: by the names of what computes it."""
    makers = {slot: node.primitive.name for node in graph.nodes for slot in node.outputs}
    return [makers[node.inputs[0]] for node in graph.nodes if node.primitive.name == "optimization_barrier"]


def test_sums_that_go_through_all_layers_are_computed_once():
    args = matrices(7)
    graph = graph_of(residual, args)
    found = validate(computed_once(graph))
    assert held(found) == ["add"] * 4  # a sum of two terms is as quickly computed as read
    for run in (evaluate, compiled):
        (ours,), (plain,) = run(found, args), evaluate(graph, args)
        np.testing.assert_allclose(ours, plain, rtol=1e-4)


@pytest.mark.parametrize(
    "program",
    [
        lambda x, y: p.sin(p.add(x, p.mul(y, y))),  # one loop
        lambda x, y: [p.add(x, 1), p.mul(p.add(x, 1), y)],  # a result is in memory already
        lambda x, y: [p.dot_general(s := p.add(x, y), s, contract=((1,), (0,))), p.neg(s)],  # and so is a factor
        lambda x, y: [rows(p.neg(x)), p.mul(p.neg(x), y)],  # reading the one is reading the other
        lambda x, y: p.exp(p.erf_inv(x)),  # one loop
        lambda x, y: [p.erf_inv(x), p.slice(p.erf_inv(x), start=(0, 0), limit=(1, 1))],  # of the other one number
        lambda x, y: [rows(p.convert(m := p.lt(x, y), dtype=x.dtype)), *(p.select(m, x, i) for i in (x, y, p.neg(y)))],
    ],
)
def test_what_gains_nothing_stays(program):
    args = matrices(2)
    graph = graph_of(program, args)
    assert computed_once(graph) is graph


@pytest.mark.parametrize(
    "program",
    [
        lambda x: [z := p.erf_inv(x), p.exp(p.mul(z, z))],
        lambda x: [p.exp(z := p.erf_inv(x)), p.reduce_sum(z, axes=(1,))],
        lambda x: [z := p.erf_inv(x), p.exp(p.reshape(z, shape=(64 * 64,)))],
    ],
)
def test_what_is_written_out_is_computed_once(program):
    args = matrices(1)
    graph = graph_of(program, args)
    found = validate(computed_once(graph))
    assert held(found) == ["erf_inv"]
    for ours, plain in zip(compiled(found, args), evaluate(graph, args)):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)


def test_small_values_stay():
    args = [a[:16, :16] for a in matrices(3)]

    def program(x, y, z):
        s = p.add(p.add(x, y), z)
        return [p.mul(s, s), p.reduce_sum(s, axes=(0,)), p.add(s, x), p.sub(s, y), p.neg(s)]

    graph = graph_of(program, args)
    assert computed_once(graph) is graph


def test_a_deep_network_trains_as_the_reference_tier_does(monkeypatch):
    def losses():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        model, x = nn.TransformerEncoder(layer, 5), torch.randn(4, 16, 32)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        found = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(x).sin().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    from functorch_core.engine.modes import settings

    monkeypatch.setattr(settings, "tier", "reference")
    wanted = losses()
    monkeypatch.setattr(settings, "tier", "fused")
    assert losses() == pytest.approx(wanted, rel=1e-4)
