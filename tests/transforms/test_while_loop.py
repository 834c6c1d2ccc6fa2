"""while_loop, bounded_while and fori_loop against the same loops in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.core.aval import aval_of
from functorch_core.core.trace import run
from functorch_core.transforms.linearize import linearize
from functorch_core.transforms.while_loop import bounded_while, fori_loop, while_loop
from tests.primitives.check import check, close
from tests.primitives.check import graph_of as closed
from tests.transforms.flat import both, const_like, grad, graph_of, jvp, numeric_grad, same, total, vmap

rng = np.random.default_rng(0)
X = rng.standard_normal(3)
RULES = ("lower", "jvp", "batch")  # it has no transpose


def doubling(x, limit, loop=while_loop, **params):
    """x doubled, times a weight of the step, until the sum of squares reaches the limit."""

    def going(x, steps):
        return p.lt(total(p.mul(x, x)), limit)

    def body(x, steps):
        return [p.mul(p.add(x, x), p.add(p.sin(x), const_like(x, 2))), p.add(steps, 1)]

    return loop(going, body, [x, p.constant(np.int32(0))], **params)


def doubling_numpy(x, limit):
    steps = 0
    while np.sum(x * x) < limit:
        x, steps = 2 * x * (np.sin(x) + 2), steps + 1
    return x, steps


@pytest.mark.parametrize("limit", [0.0, 40.0, 1e4])
def test_rules(limit):
    check(doubling, X, np.float64(limit), rules=RULES, diff=(0,))
    x, steps = both(doubling, X, np.float64(limit))
    wanted, count = doubling_numpy(X, limit)
    close(x, wanted)
    assert steps == count


def test_vmap_with_batched_predicate():
    xs, limits = rng.standard_normal((4, 3)), np.array([0.0, 10.0, 1e3, 50.0])
    for dims, args in (((0, 0), (xs, limits)), ((None, 0), (X, limits)), ((0, None), (xs, limits[1]))):
        outs, counts = both(vmap(doubling, dims), *args)
        for k in range(4):
            x, limit = (a[k] if d is not None else a for a, d in zip(args, dims))
            wanted, count = doubling_numpy(x, limit)
            close(outs[k], wanted)
            assert counts[k] == count


def test_vmap_with_unbatched_predicate():
    def f(x, n):
        return while_loop(lambda i, x: p.lt(i, n), lambda i, x: [p.add(i, 1), p.sin(x)], [p.constant(np.int32(0)), x])[
            1
        ]

    (out,) = both(vmap(f, (0, None)), rng.permutation(X), np.int32(3))
    assert out.shape == (3,)
    close(both(f, X, np.int32(3))[0], np.sin(np.sin(np.sin(X))))


def test_forward_mode_under_vmap():
    xs, limits = np.abs(rng.standard_normal((4, 3))), np.array([0.0, 10.0, 1e3, 50.0])

    def derivative(x, limit):
        return jvp(lambda x: doubling(x, limit)[0], (x,), (const_like(x, 1),))[1]

    (found,) = both(vmap(derivative), xs, limits)
    for k in range(4):
        eps = 1e-6
        high, low = (doubling_numpy(xs[k] + s, limits[k])[0] for s in (eps, -eps))
        close(found[k], (high - low) / (2 * eps), 1e-6)


def test_tangents_reach_further_carries_by_and_by():
    def f(x):
        def body(i, a, b, c):
            return [p.add(i, 1), p.mul(a, x), p.add(b, a), p.mul(b, c)]

        one = const_like(x, 1)
        return while_loop(
            lambda i, *_: p.lt(i, p.constant(np.int32(4))), body, [p.constant(np.int32(0)), one, one, one]
        )[1:]

    check(f, X, rules=RULES)


def test_linearize_gives_the_primal_at_once():
    graph = closed(lambda x: doubling(x, p.constant(np.float64(50)))[0], [X])
    lin = linearize(graph, (True,))

    def derivative(x, t):
        outs = run(lin.forward, [x])
        return [outs[0], *run(lin.linear, [*outs[1:], t])]

    def direct(x, t):
        return jvp(lambda x: doubling(x, p.constant(np.float64(50)))[0], (x,), (t,))

    wanted, found = both(direct, X, X), both(derivative, X, X)
    for f, w in zip(found, wanted):
        close(f, w)


def test_reverse_mode_says_what_to_do():
    with pytest.raises(NotImplementedError, match="max_steps=n"):
        graph_of(grad(lambda x: total(doubling(x, p.constant(np.float64(9)))[0])), [X])


# ---- bounded_while -------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.0, 9.0, 200.0])
def test_bounded_while_has_reverse_mode(limit):
    def f(x):
        limited = doubling(x, p.constant(np.float64(limit)), bounded_while, max_steps=9)
        return total(p.sin(limited[0]))

    close(both(f, X)[0], np.sum(np.sin(doubling_numpy(X, limit)[0])))
    wanted = numeric_grad(lambda x: np.sum(np.sin(doubling_numpy(x, limit)[0])), X)
    close(both(grad(f), X)[0], wanted, 1e-4)


def test_bounded_while_in_every_composition():
    def f(x, limit):
        return total(p.sin(doubling(x, limit, bounded_while, max_steps=6)[0]))

    xs, limits = np.abs(rng.standard_normal((3, 3))), np.array([1.0, 20.0, 300.0])
    wanted = [numeric_grad(lambda x, k=k: np.sum(np.sin(doubling_numpy(x, limits[k])[0])), xs[k]) for k in range(3)]
    close(both(vmap(grad(f)), xs, limits)[0], np.stack(wanted), 1e-4)
    close(both(grad(lambda x, m: total(vmap(f)(x, m))), xs, limits)[0], np.stack(wanted), 1e-4)
    same(
        lambda x, m: jvp(lambda x: grad(f)(x, m), (x,), (x,))[1],
        lambda x, m: grad(lambda x, t: total(p.mul(grad(f)(x, m), t)))(x, x),
        xs[0],
        limits[1],
        tol=1e-8,
    )


def test_bounded_while_stops_at_max_steps():
    x, steps = both(lambda x: doubling(x, p.constant(np.float64(1e30)), bounded_while, max_steps=2), X)
    assert steps == 2


# ---- fori_loop -----------------------------------------------------------------------------------


def test_fori_loop_with_static_and_traced_bounds():
    def body(i, x):
        return [p.mul(x, p.broadcast_in_dim(p.convert(i, dtype=x.dtype), shape=x.shape, dims=()))]

    close(both(lambda x: fori_loop(2, 5, body, [x])[0], X)[0], 24 * X)
    close(both(lambda x: fori_loop(5, 2, body, [x])[0], X)[0], X)
    close(both(lambda x, n: fori_loop(2, n, body, [x])[0], X, np.int32(5))[0], 24 * X)
    (gradient,) = both(grad(lambda x: total(p.sin(fori_loop(2, 5, body, [x])[0]))), X)
    close(gradient, 24 * np.cos(24 * X))
    (many,) = both(vmap(lambda x, n: fori_loop(1, n, body, [x])[0], (None, 0)), X, np.arange(1, 5))
    close(many, np.outer([1, 1, 2, 6], X))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cond, body, match",
    [
        (lambda x: x, lambda x: [x], "one bool scalar"),
        (lambda x: p.lt(total(x), p.constant(np.float64(0))), lambda x: [total(x)], "another carry"),
    ],
)
def test_errors(cond, body, match):
    with pytest.raises(TypeError, match=match):
        graph_of(lambda x: while_loop(cond, body, [x]), [X])
    assert aval_of(X).ndim == 1
