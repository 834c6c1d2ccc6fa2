"""cond against the branch taken, under every transform."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.core.graph import cse, dce
from functorch_core.core.trace import evaluate
from functorch_core.transforms.cond import cond, switch
from tests.primitives.check import check, close, compiled
from tests.transforms.flat import (
    both,
    closed_graph,
    const_like,
    count,
    grad,
    graph_of,
    jvp,
    numeric_grad,
    same,
    total,
    vmap,
)

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((2, 3))

BRANCHES = [lambda x, y: [p.mul(x, y), x], lambda x, y: [p.mul(p.mul(x, x), y), y], lambda x, y: [p.neg(x), p.sin(y)]]

# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-7, 0, 1, 2, 9])
def test_switch_rules(index):
    check(lambda i, x, y: switch(i, BRANCHES, [x, y]), np.int32(index), X, Y)


def test_switch_clamps_batched_indices():
    def mapped(i, x, y):
        return vmap(lambda i, x, y: switch(i, BRANCHES, [x, y]))(i, x, y)

    index = np.array([-3, 0, 1, 2, 7], np.int32)
    x, y = rng.standard_normal((2, 5, 3))
    outs = both(mapped, index, x, y)
    for k, i in enumerate(np.clip(index, 0, 2)):
        wanted = closed_graph(lambda x, y, i=i: BRANCHES[i](x, y), (x[k], y[k]))
        for o, w in zip(outs, evaluate(wanted, [x[k], y[k]])):
            close(o[k], w)


def test_one_branch_is_inlined():
    check(lambda i, x: switch(i, [lambda x: [p.mul(x, x)]], [x]), np.int32(4), X)


def test_no_outputs_no_operands():
    assert both(lambda i: switch(i, [list, list], []), np.int32(0)) == []
    outs = both(lambda i: switch(i, [lambda n=n: [p.full((2,), n, np.int8)] for n in range(2)], []), np.int32(1))
    close(outs[0], np.ones(2, np.int8))


@pytest.mark.parametrize("pred", [True, False])
def test_cond_captures_different_values(pred):
    big = rng.standard_normal(3000)  # a constant too large for the text: a parameter of the program

    def f(q, x, y, z):
        tail = p.constant(big)
        return cond(
            q,
            lambda: [p.mul(x, y), p.slice(tail, start=(0,), limit=(3,))],
            lambda: [p.mul(z, z), p.slice(tail, start=(9,), limit=(12,))],
            [],
        )

    check(f, np.bool_(pred), X, Y, X + Y)
    outs = both(f, np.bool_(pred), X, Y, X + Y)
    close(outs[1], big[:3] if pred else big[9:12])


def test_empty_arrays():
    check(lambda i, x: switch(i, [lambda x: [p.sin(x)], lambda x: [p.mul(x, x)]], [x]), np.int32(1), np.zeros((0, 2)))


# ---- partial evaluation --------------------------------------------------------------------------


def test_only_the_taken_branch_is_differentiated():
    # The other branch's derivative at 0 is infinite.
    def f(q, x):
        return total(cond(q, lambda x: [p.sqrt(x)], lambda x: [p.mul(x, x)], [x])[0])

    (out,) = both(grad(f, wrt=1), np.bool_(False), np.zeros(3))
    close(out, np.zeros(3))


def test_residuals_of_branches_share_places():
    def f(i, x):
        return total(switch(i, [lambda x: [p.sin(p.sin(x))], lambda x: [p.exp(p.exp(x))]], [x])[0])

    graph = closed_graph(lambda i, x: grad(f, wrt=1)(i, x), (np.int32(0), X))
    conds = [n for n in graph.nodes if n.primitive.name == "cond"]
    # the value (1), and residuals for the deeper branch; not the sum of both branches'
    assert len(conds) == 2 and len(conds[0].outputs) <= 3


def test_operands_are_not_copied_as_residuals():
    def f(i, x, w):
        return total(switch(i, [lambda x, w: [p.mul(x, w)], lambda x, w: [p.mul(w, w)]], [x, w])[0])

    graph = closed_graph(grad(f, wrt=(1, 2)), (np.int32(0), X, Y))
    forward = next(n for n in graph.nodes if n.primitive.name == "cond")
    assert count(graph, "cond") == 1 or len(forward.outputs) == 1


# ---- under vmap ----------------------------------------------------------------------------------


def per_example(q, x):
    return total(cond(q, lambda x: [p.mul(p.sin(x), x)], lambda x: [p.exp(x)], [x])[0])


def test_grad_under_vmap_with_batched_and_unbatched_predicate():
    x, q = rng.standard_normal((4, 3)), np.array([True, False, False, True])
    wanted = np.where(q[:, None], np.sin(x) + x * np.cos(x), np.exp(x))
    (out,) = both(vmap(grad(per_example, wrt=1)), q, x)
    close(out, wanted)
    (out,) = both(grad(lambda q, x: total(vmap(per_example)(q, x)), wrt=1), q, x)
    close(out, wanted)
    one = vmap(grad(per_example, wrt=1), (None, 0))
    close(both(one, np.bool_(True), x)[0], np.sin(x) + x * np.cos(x))
    assert count(closed_graph(one, (np.bool_(True), x)), "cond") >= 1


def test_gradient_of_selected_branches_has_no_nan():
    # grad of vmap: both branches are computed and differentiated, log at 0 among them.
    def f(x):
        def one(x):
            positive = p.gt(x, const_like(x, 0))
            return cond(positive, lambda x: [p.log(x)], lambda x: [p.mul(x, x)], [x])[0]

        return total(vmap(one)(x))

    (out,) = both(grad(f), np.array([0.0, 2.0, -1.0]))
    close(out, np.array([0.0, 0.5, -2.0]))


def test_second_order_and_hessian():
    def f(x):
        positive = p.gt(total(x), p.constant(np.float64(0)))
        return total(cond(positive, lambda x: [p.mul(p.mul(x, x), x)], lambda x: [p.sin(x)], [x])[0])

    for x in (X, -X):
        wanted = 6 * x if x.sum() > 0 else -np.sin(x)
        (out,) = both(grad(lambda x: total(grad(f)(x))), x)
        close(out, wanted)
        (out,) = both(lambda x: jvp(grad(f), (x,), (x,))[1], x)
        close(out, wanted * x)


def test_nested():
    def f(i, x):
        inner = [lambda x: [p.sin(x)], lambda x: [p.mul(x, x)]]
        return switch(i, [lambda x: switch(i, inner, [x]), lambda x: switch(i, inner, [p.exp(x)])], [x])

    for i in (0, 1):
        check(f, np.int32(i), X)


def test_grad_matches_finite_differences():
    def f(x):
        def go(x):
            return cond(p.gt(total(x), p.constant(np.float64(0))), lambda x: [p.mul(x, p.sin(x))], lambda x: [x], [x])[
                0
            ]

        return total(p.mul(go(x), go(p.neg(x))))

    graph = closed_graph(f, (X,))
    close(both(grad(f), X)[0], numeric_grad(lambda x: evaluate(graph, [x])[0], X), 1e-6)


def test_equal_conds_are_merged():
    def f(i, x):
        graph, _, _ = graph_of(lambda x: [p.sin(x)], [x])
        from functorch_core.core.trace import bind
        from functorch_core.transforms.cond import cond_p

        outs = [bind(cond_p, i, x, branches=(graph, graph))[0] for _ in range(2)]
        return p.add(*outs)

    graph, _, _ = graph_of(f, [np.int32(0), X])
    assert count(cse(dce(graph)), "cond") == 1
    close(compiled(cse(dce(graph)), [np.int32(0), X])[0], 2 * np.sin(X))


def test_cond_equals_select():
    def by_cond(q, x, y):
        return cond(q, lambda x, y: [x], lambda x, y: [y], [x, y])[0]

    def by_select(q, x, y):
        return p.select(p.broadcast_in_dim(q, shape=x.shape, dims=()), x, y)

    for q in (np.bool_(True), np.bool_(False)):
        same(
            grad(lambda *a: total(p.sin(by_cond(*a))), (1, 2)),
            grad(lambda *a: total(p.sin(by_select(*a))), (1, 2)),
            q,
            X,
            Y,
        )


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda x: switch(p.constant(np.int64(0)), BRANCHES, [x, x]), TypeError, "int32 scalar"),
        (lambda x: switch(p.constant(np.int32(0)), [], [x]), ValueError, "at least one branch"),
        (
            lambda x: switch(p.constant(np.int32(0)), [lambda x: [x], lambda x: [total(x)]], [x]),
            TypeError,
            "branch 1 returns something else",
        ),
        (lambda x: cond(x, lambda: [x], lambda: [x], []), TypeError, "bool scalar"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        graph_of(call, [X])
