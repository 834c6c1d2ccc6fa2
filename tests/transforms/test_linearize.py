"""Partial evaluation and transposition of plain graphs: what is kept, made again, left out."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.core.graph import validate
from functorch_core.core.trace import evaluate
from functorch_core.transforms.linearize import linearize, partial_eval
from functorch_core.transforms.transpose import transpose, vjp
from tests.primitives.check import close, graph_of

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((2, 3))


def kept(graph, mask):
    """The primitives that make the residuals of a derivative; 'input' for an input."""
    lin = linearize(graph, mask)
    validate(lin.forward), validate(lin.linear)
    maker = {s: n.primitive.name for n in lin.forward.nodes for s in n.outputs}
    return [maker.get(s, "input") for s in lin.forward.outputs[len(graph.outputs) :]]


@pytest.mark.parametrize(
    "fun, names",
    [
        (lambda x, y: p.mul(x, 3.0), []),
        (lambda x, y: p.mul(x, p.constant(X)), []),
        (lambda x, y: p.mul(x, p.convert(p.iota(shape=(3,), dtype=np.int32), dtype=np.float64)), ["convert"]),
        (
            lambda x, y: p.mul(
                p.broadcast_in_dim(x, shape=(2, 3), dims=(1,)), p.broadcast_in_dim(y, shape=(2, 3), dims=(1,))
            ),
            ["input"],
        ),
        (lambda x, y: p.mul(x, y), ["input"]),
        (lambda x, y: p.sin(x), ["cos"]),
        (lambda x, y: p.add(p.mul(x, p.sin(y)), p.mul(p.mul(x, 2.0), p.sin(y))), ["sin"]),
        (lambda x, y: (lambda s: p.add(p.mul(x, s), p.mul(p.neg(x), s)))(p.sin(y)), ["sin"]),
        (lambda x, y: p.add(x, p.exp(y)), []),
    ],
)
def test_residuals(fun, names):
    """Constants and broadcasts are made again, a value is kept once, an unused one not at all."""
    assert kept(graph_of(fun, [X, Y]), (True, False)) == names


def test_outputs_that_are_known_and_forced():
    graph = graph_of(lambda x, y: [p.sin(x), p.mul(x, y), x, p.constant(X)], [X, Y])
    split = partial_eval(graph, (False, True))
    assert split.out_unknown == (False, True, False, False)
    forced = partial_eval(graph, (False, True), (True,) * 4)
    assert forced.out_unknown == (True,) * 4 and forced.known_outs == 0
    assert forced.forwarded().count(0) == 1
    outs = evaluate(forced.unknown, [*evaluate(forced.known, [X]), Y])
    for found, wanted in zip(outs, [np.sin(X), X * Y, X, X]):
        close(found, wanted)


def test_transpose_with_wanted_zeros():
    graph = graph_of(lambda x, y: [x, y], [X, Y])
    assert transpose(graph, (True, True), (True, False))[1] == (True, False)
    back, mask = transpose(graph, (True, True), (True, False), (True, True))
    assert mask == (True, True)
    close(evaluate(back, [X])[1], np.zeros(3))


def test_inputs_without_influence_get_zeros():
    v = vjp(graph_of(lambda x, y: p.sin(x), [X, Y]), (True, True))
    outs = evaluate(v.forward, [X, Y])
    close(evaluate(v.backward, [*outs[1:], Y])[1], np.zeros(3))
