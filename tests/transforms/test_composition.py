"""Everything with everything: nested transforms against the same function in plain operations.

A model is written once with control flow and once without ("flat"); a transform is a function of
functions. Each transform of each model must give what it gives for the flat one, by the reference
and compiled.
"""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core import xla
from functorch_core.core.graph import cse, dce, validate
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.transforms.collectives import pmean
from functorch_core.transforms.cond import cond
from functorch_core.transforms.custom import JvpRule, VjpRule, custom_jvp, custom_vjp
from functorch_core.transforms.linearize import linearize, partial_eval
from functorch_core.transforms.remat import nothing_saveable, remat
from functorch_core.transforms.scan import scan
from functorch_core.transforms.while_loop import bounded_while, fori_loop, while_loop
from tests.primitives.check import close, compiled
from tests.primitives.check import graph_of as closed
from tests.transforms.flat import both, closed_graph, grad, hessian, jvp, numeric_grad, same, total, vmap

rng = np.random.default_rng(0)
A, X = rng.standard_normal((2, 3))
AS, XS = rng.standard_normal((2, 2, 3))


def scalar(number):
    return p.constant(np.float64(number))


def layer(a, x):
    return p.sin(p.add(p.mul(a, x), x))


# ---- models: f(a, x) -> vector, written twice ----------------------------------------------------


def repeated(a, x):
    for _ in range(3):
        x = layer(a, x)
    return x


def positive_part(a, x):
    def wide(q):
        return p.broadcast_in_dim(q, shape=x.shape, dims=())

    return p.select(wide(p.gt(total(x), scalar(0))), layer(a, x), p.mul(x, a))


def by_scan(a, x):
    return scan(lambda c, _: ([layer(a, *c)], []), [x], [], length=3)[0][0]


def by_fori(a, x):
    return fori_loop(0, 3, lambda i, x: [layer(a, x)], [x])[0]


def by_bounded_while(a, x):
    out = bounded_while(
        lambda i, x: p.lt(i, p.constant(np.int32(3))),
        lambda i, x: [p.add(i, 1), layer(a, x)],
        [p.constant(np.int32(0)), x],
        max_steps=5,
    )
    return out[1]


def by_while(a, x):
    return while_loop(
        lambda i, x: p.lt(i, p.constant(np.int32(3))),
        lambda i, x: [p.add(i, 1), layer(a, x)],
        [p.constant(np.int32(0)), x],
    )[1]


def by_cond(a, x):
    return cond(p.gt(total(x), scalar(0)), lambda a, x: [layer(a, x)], lambda a, x: [p.mul(x, a)], [a, x])[0]


def by_remat_scan(a, x):
    return scan(lambda c, _: (remat(lambda x: [layer(a, x)], c), []), [x], [], length=3)[0][0]


def by_scan_in_remat(a, x):
    return remat(lambda a, x: [by_scan(a, x)], [a, x], policy=nothing_saveable)[0]


def by_scan_in_scan(a, x):
    def outer(carry, _):
        return scan(lambda c, _: ([layer(a, *c)], []), carry, [], length=1)[0], []

    return scan(outer, [x], [], length=3)[0][0]


def by_custom(custom, rule):
    def f(a, x):
        for _ in range(3):
            (x,) = custom(lambda a, x: [layer(a, x)], rule, [a, x])
        return x

    return f


def layer_rule(primals, tangents):
    return (lambda out, dot: ([out], [dot]))(*jvp(layer, primals, tangents))


def layer_bwd(residuals, cotangents):
    return grad(lambda a, x: total(p.mul(layer(a, x), cotangents[0])), (0, 1))(*residuals)


by_custom_jvp = by_custom(custom_jvp, JvpRule(layer_rule, "layer"))
by_custom_vjp = by_custom(custom_vjp, VjpRule(lambda a, x: ([layer(a, x)], [a, x]), layer_bwd, "layer"))

REVERSIBLE = [
    (by_scan, repeated),
    (by_fori, repeated),
    (by_bounded_while, repeated),
    (by_cond, positive_part),
    (by_remat_scan, repeated),
    (by_scan_in_remat, repeated),
    (by_scan_in_scan, repeated),
    (by_custom_jvp, repeated),
    (by_custom_vjp, repeated),
]
FORWARD = [m for m in REVERSIBLE if m[0] is not by_custom_vjp] + [(by_while, repeated)]

# ---- transforms: of f(a, x) -> vector to a function of the same kind -----------------------------


def loss(f):
    return lambda a, x: total(p.sin(f(a, x)))


def rows(f, dims=(0, 0)):
    """f over two examples; one is twice the other, where it is batched."""

    def twice(v, dim):
        return (
            v
            if dim is None
            else p.concatenate(p.reshape(v, shape=(1, 3)), p.reshape(p.mul(v, 2.0), shape=(1, 3)), dimension=0)
        )

    return lambda a, x: vmap(f, dims)(*map(twice, (a, x), dims))


REVERSE = {
    "grad": lambda f: grad(loss(f), (0, 1)),
    "grad grad": lambda f: grad(lambda a, x: total(p.sin(grad(loss(f))(a, x))), (0, 1)),
    "jvp grad": lambda f: lambda a, x: jvp(grad(loss(f), (0, 1)), (a, x), (x, a))[1],
    "vmap grad": lambda f: rows(grad(loss(f), (0, 1))),
    "vmap grad, one batched": lambda f: rows(grad(loss(f), (0, 1)), (None, 0)),
    "grad vmap": lambda f: grad(loss(rows(f)), (0, 1)),
    "grad vmap, one batched": lambda f: grad(loss(rows(f, (0, None))), (0, 1)),
    "jvp grad vmap": lambda f: lambda a, x: jvp(grad(loss(rows(f)), (0, 1)), (a, x), (x, a))[1],
    "hessian": lambda f: lambda a, x: hessian(lambda x: loss(f)(a, x))(x),
    "vmap hessian": lambda f: rows(lambda a, x: hessian(lambda x: loss(f)(a, x))(x), (None, 0)),
    "grad in scan": lambda f: (
        lambda a, x: scan(lambda c, _: ([p.mul(grad(loss(f), 1)(a, *c), 0.5)], []), [x], [], length=2)[0][0]
    ),
    "grad of grad in scan": lambda f: grad(
        lambda a, x: total(scan(lambda c, _: ([p.mul(grad(loss(f), 1)(a, *c), 0.5)], []), [x], [], length=2)[0][0]),
        (0, 1),
    ),
    "grad remat": lambda f: grad(lambda a, x: total(remat(lambda a, x: [f(a, f(a, x))], [a, x])[0]), (0, 1)),
    "vmap in cond": lambda f: grad(
        lambda a, x: total(
            cond(p.gt(total(a), scalar(-99)), lambda a, x: [rows(f)(a, x)], lambda a, x: [rows(f)(x, a)], [a, x])[0]
        ),
        (0, 1),
    ),
}

FORWARDS = {
    "value": lambda f: f,
    "vmap": rows,
    "jvp": lambda f: lambda a, x: jvp(f, (a, x), (x, a)),
    "jvp jvp": lambda f: lambda a, x: jvp(lambda a, x: jvp(f, (a, x), (x, a))[1], (a, x), (a, a))[1],
    "jvp vmap": lambda f: lambda a, x: jvp(rows(f, (None, 0)), (a, x), (x, a))[1],
    "vmap jvp": lambda f: rows(lambda a, x: jvp(f, (a, x), (x, a))[1]),
}


@pytest.mark.parametrize("f, flat", REVERSIBLE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", REVERSE)
def test_reverse(transform, f, flat):
    same(REVERSE[transform](f), REVERSE[transform](flat), A, X)


@pytest.mark.parametrize("f, flat", FORWARD, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", FORWARDS)
def test_forward(transform, f, flat):
    same(FORWARDS[transform](f), FORWARDS[transform](flat), A, X)


# ---- against finite differences ------------------------------------------------------------------


@pytest.mark.parametrize("f", [by_scan, by_cond, by_bounded_while, by_scan_in_remat, by_custom_vjp])
def test_gradients_by_finite_differences(f):
    graph = closed_graph(loss(f), (A, X))
    wanted = numeric_grad(lambda x: evaluate(graph, [A, x])[0], X)
    close(both(grad(loss(f), 1), A, X)[0], wanted, 1e-6)


# ---- what does not fit the table -----------------------------------------------------------------


def test_batched_examples_take_their_own_way():
    """vmap of while, cond and bounded_while, each example with its own number of steps."""

    def collatz(n):
        def body(n, steps):
            even = p.eq(p.rem(n, p.constant(np.int64(2))), p.constant(np.int64(0)))
            halved = cond(even, lambda n: [p.div(n, p.constant(np.int64(2)))], lambda n: [p.add(p.mul(n, 3), 1)], [n])
            return [*halved, p.add(steps, 1)]

        start = [n, p.constant(np.int64(0))]
        return while_loop(lambda n, _: p.ne(n, p.constant(np.int64(1))), body, start)[1]

    (out,) = both(vmap(collatz), np.array([1, 2, 3, 6, 7, 27]))
    assert out.tolist() == [0, 1, 7, 8, 16, 111]


def test_named_axis_through_grad_and_scan():
    def one(a, x):
        def body(carry, _):
            return [layer(a, p.sub(carry[0], pmean(carry[0], axis_name="i")))], []

        return total(p.sin(scan(body, [x], [], length=2)[0][0]))

    def flat(a, x):
        for _ in range(2):
            mean = p.mul(p.reduce_sum(x, axes=(0,)), 0.5)
            x = layer(a, p.sub(x, p.broadcast_in_dim(mean, shape=x.shape, dims=(1,))))
        return total(p.sin(x))

    same(grad(lambda a, x: total(vmap(one, name="i")(a, x)), (0, 1)), grad(flat, (0, 1)), AS, XS)
    same(vmap(grad(one, (0, 1)), name="i"), grad(flat, (0, 1)), AS, XS)


@pytest.mark.parametrize("f", [by_scan, by_cond, by_while, by_scan_in_remat], ids=lambda f: f.__name__)
@pytest.mark.parametrize("unknown", [(True, False), (False, True), (True, True), (False, False)])
def test_partial_evaluation_of_any_inputs(f, unknown):
    """Not only of tangents: the two halves together are the whole, whatever is unknown."""
    graph = closed(f, [A, X])
    split = partial_eval(graph, unknown)
    validate(split.known), validate(split.unknown)
    args = [A, X]
    known = compiled(split.known, [v for v, u in zip(args, unknown) if not u])
    outs, residuals = known[: split.known_outs], known[split.known_outs :]
    later = compiled(split.unknown, [*residuals, *(v for v, u in zip(args, unknown) if u)])
    found = iter(later), iter(outs)
    merged = [next(found[0] if u else found[1]) for u in split.out_unknown]
    close(merged[0], evaluate(graph, args)[0], 1e-12)


@pytest.mark.parametrize("f", [by_scan, by_cond, by_while, by_scan_in_scan, by_custom_jvp], ids=lambda f: f.__name__)
def test_linearize(f):
    graph = closed(f, [A, X])
    lin = linearize(graph, (True, True))
    outs = evaluate(lin.forward, [A, X])
    dots = evaluate(lin.linear, [*outs[1:], X, A])
    wanted = evaluate(closed_graph(lambda a, x: jvp(f, (a, x), (x, a)), (A, X)), [A, X])
    close(outs[0], wanted[0]), close(dots[0], wanted[1])


@pytest.mark.parametrize("f, _", REVERSIBLE, ids=lambda f: f.__name__)
def test_derived_graphs_are_remembered(f, _):
    """Transforming one graph twice gives the same objects: what caches by identity will hit."""
    from functorch_core.transforms.batch import Axis, batch
    from functorch_core.transforms.transpose import vjp

    graph = cse(dce(closed(f, [A, X])))
    assert vjp(graph, (True, True)) is vjp(graph, (True, True))
    assert batch(graph, Axis(2), (0, None)) is batch(graph, Axis(2), (0, None))


@pytest.mark.parametrize("f, _", REVERSIBLE, ids=lambda f: f.__name__)
def test_lowers_for_cuda(f, _):
    graph = closed_graph(REVERSE["vmap grad"](f), (A, X))
    xla.verify(lower(graph, "cuda").text)


def test_float32_and_complex_carries():
    def f(x):
        return total(p.real(scan(lambda c, _: ([p.mul(c[0], c[0])], []), [x], [], length=2)[0][0]))

    z = rng.standard_normal(3) + 1j * rng.standard_normal(3)
    close(both(grad(f), z)[0], 4 * z**3)
    x = X.astype(np.float32)
    flat = X.astype(np.float32)
    same(REVERSE["grad"](by_scan), REVERSE["grad"](repeated), x, flat, tol=1e-5)
