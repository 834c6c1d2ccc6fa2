"""Values that several loops read are computed by one of them."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core import torch, xla
from functorch_core.core.graph import validate
from functorch_core.core.trace import evaluate
from functorch_core.engine.compiling import compile_graph, computes_little
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


# ---- recurrences ---------------------------------------------------------------------------------


def recurrence(step, n, kept):
    """The last values of x = step(x), n times."""

    def program(x):
        values = [x]
        for _ in range(n):
            values.append(step(values[-1]))
        return values[-kept:]

    return program


@pytest.mark.parametrize("size", [(50,), SHAPE], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize("kept, most", [(1, 0), (2, 0), (50, 5), (300, 40)])
def test_steps_are_not_written_again_for_each_result(size, dtype, kept, most):
    """XLA writes all steps before a result in its loop: 24,000 multiplications for 50 results of 512 steps."""
    args = [np.ones(size, dtype)]
    graph = graph_of(recurrence(lambda x: p.sub(p.mul(x, 3), 2), 512, kept), args)
    found = validate(computed_once(graph))
    assert bool(most) == bool(held(found)) and len(held(found)) <= most
    for ours, start in zip(evaluate(found, args), args * kept, strict=True):
        np.testing.assert_array_equal(ours, start)


def test_steps_are_not_written_again_for_what_is_made_of_each():
    """The values themselves are no results."""

    def program(z):
        found = []
        for _ in range(300):
            z = p.add(p.mul(z, z), 0.1)
            found.append(p.abs(z))
        return found[-50:]

    args = [np.full(50, 0.1, np.complex64)]
    graph = graph_of(program, args)
    assert 0 < len(held(validate(computed_once(graph)))) < 10
    for ours, plain in zip(compiled(computed_once(graph), args), evaluate(graph, args)):
        np.testing.assert_allclose(ours, plain, rtol=1e-5)


def test_what_is_written_over_an_input_is_not_computed_of_it_again():
    """Scaled gradients, of which the weights' update would be computed once more: XLA copied the gradients before."""

    def step(w, g):
        norm = p.sqrt(p.reduce_sum(p.mul(g, g), axes=(0, 1)))
        g = p.div(g, p.broadcast_in_dim(norm, shape=SHAPE, dims=()))
        return [p.sub(w, g), g]

    args = matrices(2)
    graph = graph_of(step, args)
    found = validate(computed_once(graph, {0: 0, 1: 1}))
    assert held(found) == ["div"] and computed_once(graph) is graph
    program = compile_graph(graph, xla.default_device(), donate=(0, 1))
    assert program.executable.memory_analysis()["temp"] < args[0].nbytes
    for ours, plain in zip(compiled(found, args), evaluate(graph, args)):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_steps_of_a_stencil_are_computed_once(dtype):
    """Each reads the one before at its neighbours: 30 steps of the game of life took 26 to 100 s to compile."""

    def moved(x, dim, by):
        first, last = [p.slice(x, start=start, limit=limit) for start, limit in parts(x.aval.shape, dim, -by % 8)]
        return p.concatenate(last, first, dimension=dim)

    def parts(shape, dim, at):
        limit, start = list(shape), [0, 0]
        limit[dim] = start[dim] = at
        return ((0, 0), limit), (start, shape)

    def steps(x):
        for _ in range(30):
            near = [moved(x, dim, by) for dim in (0, 1) for by in (1, -1)]
            near += [moved(y, 1, by) for y in near[:2] for by in (1, -1)]
            total = functools.reduce(p.add, near)
            x = p.convert(p.or_(p.eq(total, 3), p.and_(p.eq(x, 1), p.eq(total, 2))), dtype=x.dtype)
        return [x]

    args = [(np.random.default_rng(0).random((8, 8)) < 0.3).astype(dtype)]
    graph = graph_of(steps, args)
    found = validate(computed_once(graph))
    assert len(held(found)) == 29
    np.testing.assert_array_equal(compiled(found, args)[0], evaluate(graph, args)[0])


def test_long_programs_of_few_numbers_are_compiled_quickly():
    """Values that several others are made of have loops of their own, each of which LLVM takes 6 ms to optimise."""

    def program(n, size, product=False):
        x, v = np.linspace(-1, 1, size, dtype=np.float32), np.zeros(size, np.float32)

        def steps(x, v):
            if product:
                x = p.dot_general(p.mul(v, 2), x, contract=((0,), (0,)))
                x = p.broadcast_in_dim(x, shape=(size,), dims=())
            for _ in range(n):
                v = p.sub(v, p.mul(x, 0.01))
                x = p.add(x, p.mul(v, 0.01))
            return [x, v]

        return graph_of(steps, [x, v])

    assert computes_little(program(256, 100))
    assert not computes_little(program(32, 100))  # little to compile, either
    assert not computes_little(program(256, 10_000))
    assert not computes_little(program(256, 100, product=True))  # of a network
