"""Collectives over vmap's named axis, against sums over the array."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.transforms.collectives import all_gather, axis_index, axis_size, bound_axis, pmax, pmean, psum
from functorch_core.transforms.cond import cond
from functorch_core.transforms.scan import scan
from functorch_core.transforms.while_loop import while_loop
from tests.primitives.check import close
from tests.transforms.flat import both, grad, graph_of, jvp, numeric_grad, total, vmap

rng = np.random.default_rng(0)
X = rng.standard_normal((4, 3))


def over_i(f, dims=0, **params):
    return vmap(f, dims, name="i", **params)


@pytest.mark.parametrize(
    "f, wanted",
    [
        (lambda x: psum(x, axis_name="i"), lambda x: np.broadcast_to(x.sum(0), x.shape)),
        (lambda x: pmean(x, axis_name="i"), lambda x: np.broadcast_to(x.mean(0), x.shape)),
        (lambda x: pmax(x, axis_name="i"), lambda x: np.broadcast_to(x.max(0), x.shape)),
        (lambda x: all_gather(x, axis_name="i"), lambda x: np.broadcast_to(x, (4, 4, 3))),
        (lambda x: all_gather(x, axis_name="i", at=1), lambda x: np.broadcast_to(x.T, (4, 3, 4))),
        (
            lambda x: p.mul(x, p.broadcast_in_dim(p.convert(axis_index("i"), dtype=x.dtype), shape=x.shape, dims=())),
            lambda x: x * np.arange(4.0)[:, None],
        ),
    ],
)
def test_values_and_gradients(f, wanted):
    close(both(over_i(f), X)[0], wanted(X))
    close(both(over_i(f, 1), X.T)[0], wanted(X))

    def loss(f):
        return lambda x: total(p.sin(over_i(f)(x)))

    numeric = numeric_grad(lambda x: np.sin(wanted(x)).sum(), X)
    close(both(grad(loss(f)), X)[0], numeric, 1e-6)

    def inner(x):  # differentiated before the axis is mapped: each example by all others' results
        return grad(lambda x: total(p.sin(f(x))))(x)

    close(both(over_i(inner), X)[0], numeric, 1e-6)
    (forward,) = both(over_i(lambda x: jvp(f, (x,), (x,))[1]), X)
    eps = 1e-6
    close(forward, (wanted(X * (1 + eps)) - wanted(X * (1 - eps))) / (2 * eps), 1e-6)


def test_unbatched_operands():
    def f(x, y):
        return [psum(y, axis_name="i"), pmax(y, axis_name="i"), all_gather(y, axis_name="i")]

    sums, maxima, gathered = both(over_i(f, (0, None)), X, X[0])
    close(sums, np.broadcast_to(4 * X[0], (4, 3)))
    close(maxima, np.broadcast_to(X[0], (4, 3)))
    close(gathered, np.broadcast_to(X[0], (4, 4, 3)))


def test_two_axes():
    def f(x):
        both_axes = psum(x, axis_name=("i", "j"))
        return [
            both_axes,
            psum(x, axis_name="j"),
            all_gather(x, axis_name="i", at=1),
            p.add(p.mul(axis_index("i"), 10), axis_index("j")),
        ]

    x = rng.standard_normal((2, 5, 3))
    sums, rows, gathered, places = both(over_i(vmap(f, name="j")), x)
    close(sums, np.broadcast_to(x.sum((0, 1)), x.shape))
    close(rows, np.broadcast_to(x.sum(1)[:, None], x.shape))
    close(gathered, np.broadcast_to(x.transpose(1, 2, 0), (2, 5, 3, 2)))
    assert places.tolist() == [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]]


def test_inside_control_flow():
    def f(x):
        def body(carry, _):
            return [p.sub(carry[0], pmean(carry[0], axis_name="i"))], [axis_index("i")]

        (x,), places = scan(body, [x], [], length=2)
        (x,) = cond(
            p.gt(psum(total(x), axis_name="i"), p.constant(np.float64(1e9))),
            lambda x: [p.neg(x)],
            lambda x: [psum(x, axis_name="i")],
            [x],
        )
        (n,) = while_loop(
            lambda n: p.lt(n, psum(axis_index("i"), axis_name="i")), lambda n: [p.add(n, 1)], [p.constant(np.int32(0))]
        )
        return [x, *places, n]

    x, places, n = both(over_i(f), X)
    close(x, np.zeros((4, 3)), 1e-9)
    assert places.tolist() == [[i] * 2 for i in range(4)] and n.tolist() == [6] * 4


def test_unbound_names():
    for call in (
        lambda x: psum(x, axis_name="rows"),
        lambda x: pmax(x, axis_name="rows"),
        lambda x: all_gather(x, axis_name="rows"),
        lambda x: axis_index("rows"),
    ):
        with pytest.raises(NameError, match="axis 'rows', which no enclosing vmap has.*'i'"):
            graph_of(over_i(call), [X])
    with pytest.raises(NameError, match="none at all"):
        axis_size("rows")
    with bound_axis("rows", 7):
        assert axis_size("rows") == 7
