"""remat: the same derivatives, and what is kept for them and what is computed again."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.primitives as p
from functorch_core import xla
from functorch_core.core.graph import cse
from functorch_core.core.lowering import lower
from functorch_core.transforms.remat import (
    dots_saveable,
    everything_saveable,
    nothing_saveable,
    remat,
    save_only_these_names,
)
from functorch_core.transforms.scan import scan
from functorch_core.transforms.transpose import vjp
from tests.primitives.check import check
from tests.primitives.check import graph_of as closed
from tests.transforms.flat import closed_graph, count, grad, graph_of, hessian, jvp, nodes_of, same, total, vmap
from tests.transforms.flat import vjp as flat_vjp

rng = np.random.default_rng(0)
W, X = rng.standard_normal((3, 3)), rng.standard_normal(3)

POLICIES = [everything_saveable, nothing_saveable, dots_saveable, save_only_these_names("inner")]
EACH = pytest.mark.parametrize("policy", POLICIES, ids=lambda f: getattr(f, "__name__", "names"))


def block(w, x):
    inner = p.name(p.sin(p.dot_general(x, w, contract=((0,), (0,)))), name="inner")
    return [p.mul(p.sin(inner), p.cos(inner))]


def loss(policy=None):
    def scalar(w, x):
        around = block if policy is None else lambda w, x: remat(block, [w, x], policy=policy)
        return total(around(w, *around(w, x))[0])

    return scalar


@EACH
def test_rules(policy):
    check(lambda w, x: remat(block, [w, x], policy=policy), W, X)


@EACH
def test_derivatives_are_those_without(policy):
    f, g = loss(policy), loss()
    same(grad(f, (0, 1)), grad(g, (0, 1)), W, X)
    for transform in (
        lambda f: grad(lambda w, x: total(p.sin(grad(f, 1)(w, x))), (0, 1)),
        lambda f: lambda w, x: hessian(lambda x: f(w, x))(x),
        lambda f: lambda w, x: jvp(grad(f, (0, 1)), (w, x), (w, x))[1],
    ):
        same(transform(f), transform(g), W, X)
    xs = rng.standard_normal((2, 3))
    same(vmap(grad(f, (0, 1)), (None, 0)), vmap(grad(g, (0, 1)), (None, 0)), W, xs)
    same(
        grad(lambda w, x: total(vmap(f, (None, 0))(w, x)), (0, 1)),
        grad(lambda w, x: total(vmap(g, (None, 0))(w, x)), (0, 1)),
        W,
        xs,
    )


def value_and_grad(f):
    def both(w, x):
        out, pull = flat_vjp(f, w, x)
        return [out, *pull(p.constant(np.ones((), out.dtype)))]

    return both


def residual_shapes(policy, block=block, w=W, x=X):
    graph = closed(lambda w, x: remat(block, [w, x], policy=policy), [w, x])
    forward = vjp(graph, (True, True)).forward
    kept = [s for s in forward.outputs[len(graph.outputs) :] if s not in forward.inputs]
    producer = {s: n.primitive.name for n in forward.nodes for s in n.outputs}
    return sorted(producer[s] for s in kept)


def test_policies_keep_what_they_say():
    assert residual_shapes(nothing_saveable) == []
    assert residual_shapes(dots_saveable) == ["dot_general"]


def test_dots_saveable_keeps_convolutions():
    x, w = rng.standard_normal((1, 1, 4, 4)), rng.standard_normal((1, 1, 3, 3))

    def block(w, x):
        return [p.sin(p.conv(x, w, strides=(1, 1), padding=((0, 0), (0, 0))))]

    assert residual_shapes(dots_saveable, block, w, x) == ["conv"]
    assert residual_shapes(nothing_saveable, block, w, x) == []


def test_recomputation_is_visible():
    """Each layer's dot is in the forward pass and, behind a barrier, in the backward pass again."""
    plain, again = (closed_graph(value_and_grad(f), (W, X)) for f in (loss(), loss(nothing_saveable)))
    assert (count(plain, "dot_general"), count(again, "dot_general")) == (6, 8)
    assert count(again, "remat") == 2
    assert all(n.params["differentiated"] for n in nodes_of(again) if n.primitive.name == "remat")
    assert count(cse(again), "sin") == count(again, "sin") > count(plain, "sin")
    assert lower(again).text.count("stablehlo.optimization_barrier") == 2
    assert "optimization_barrier" not in lower(plain).text


@pytest.mark.parametrize("loops", [False, True])
def test_xla_does_not_undo_it(loops):
    """Eight layers of which XLA keeps the inputs only: measured in bytes of temporaries."""
    n, layers = 64, 8

    def layer(w, x):
        for _ in range(4):
            x = p.sin(p.dot_general(x, w, contract=((1,), (0,))))
        return [x]

    def net(policy):
        def one(w, x):
            return layer(w, x) if policy is None else remat(layer, [w, x], policy=policy)

        def f(w, x):
            if loops:
                return total(scan(lambda c, _: (one(w, *c), []), [x], [], length=layers)[0][0])
            for _ in range(layers):
                (x,) = one(w, x)
            return total(x)

        return f

    def temporaries(policy):
        low = lower(closed_graph(value_and_grad(net(policy)), np.ones((2, n, n), np.float32)))
        exe = xla.compile(
            low.text, inputs=low.inputs, outputs=low.outputs, cache=False, options=xla.choose_options(low.features)
        )
        assert ("barrier" in low.features) == (policy is not None)
        return exe.memory_analysis()["temp"] / (4 * n * n)

    assert temporaries(nothing_saveable) < 0.6 * temporaries(None)


def test_remat_in_scan_and_scan_in_remat():
    def inside(policy):
        def f(w, x):
            def body(carry, _):
                return block(w, *carry) if policy is None else remat(lambda x: block(w, x), carry, policy=policy), []

            return total(scan(body, [x], [], length=4)[0][0])

        return f

    def outside(policy):
        return lambda w, x: remat(lambda w, x: [inside(None)(w, x)], [w, x], policy=policy)[0]

    for policy in POLICIES:
        for f in (inside(policy), outside(policy)):
            same(grad(f, (0, 1)), grad(inside(None), (0, 1)), W, X)
    same(
        grad(lambda w, x: total(p.sin(grad(outside(nothing_saveable))(w, x))), (0, 1)),
        grad(lambda w, x: total(p.sin(grad(inside(None))(w, x))), (0, 1)),
        W,
        X,
    )
    graph = closed_graph(grad(inside(nothing_saveable), (0, 1)), (W, X))
    forward = next(n for n in graph.nodes if n.primitive.name == "scan")
    assert len(forward.outputs) == 2  # the carry and its stack: nothing else is kept per step


def test_captured_values_are_differentiated():
    def f(w, x):
        return total(remat(lambda x: block(w, x), [x])[0])

    same(grad(f, (0, 1)), grad(lambda w, x: total(block(w, x)[0]), (0, 1)), W, X)


def test_policies_compare_by_what_they_do():
    assert save_only_these_names("a", "b") == save_only_these_names("b", "a")
    with pytest.raises(TypeError, match="checkpoint_policies: everything"):
        graph_of(lambda w, x: remat(block, [w, x], policy="dots"), [W, X])


def test_in_a_small_compiled_loop():
    """XLA:CPU compiles loops over few bytes as one function, in which a barrier ended the process."""

    def looped(x):
        step = fc.checkpoint(lambda c: fc.sin(c) * 2)
        return fc.scan(lambda c, _: (step(c), None), x, None, length=5)[0]

    slope, h = float(fc.jit(fc.grad(looped))(fc.asarray(1.0, dtype=fc.float64))), 1e-5
    high, low = (float(looped(fc.asarray(1.0 + d, dtype=fc.float64))) for d in (h, -h))
    assert abs(slope - (high - low) / (2 * h)) < 1e-7
