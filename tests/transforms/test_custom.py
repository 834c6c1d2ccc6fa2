"""custom_jvp, custom_vjp and stop_gradient under every transform, against derivatives by hand."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.core.errors import LeakError
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.transforms.collectives import pmean
from functorch_core.transforms.custom import JvpRule, VjpRule, custom_jvp, custom_vjp, stop_gradient
from functorch_core.transforms.remat import remat
from functorch_core.transforms.scan import scan
from functorch_core.transforms.transpose import transpose
from tests.primitives.check import check, close
from tests.transforms.flat import both, closed_graph, grad, graph_of, hessian, jvp, same, total, vmap

rng = np.random.default_rng(0)
X, Y, T = rng.standard_normal((3, 3))

# Two functions with a derivative that shows: three times the true one (of x), none (of y).


def product_jvp(primals, tangents):
    (x, y), (tx, _) = primals, tangents
    return [p.mul(p.sin(x), y)], [p.mul(p.mul(p.cos(x), y), p.mul(tx, 3.0))]


def product_fwd(x, y):
    return [p.mul(p.sin(x), y)], [x, y]


def product_bwd(residuals, cotangents):
    x, y = residuals
    return [p.mul(p.mul(p.cos(x), y), p.mul(cotangents[0], 3.0)), None]


JVP, VJP = JvpRule(product_jvp, "product"), VjpRule(product_fwd, product_bwd, "product")


def by_jvp(x, y):
    return custom_jvp(lambda x, y: [p.mul(p.sin(x), y)], JVP, [x, y])[0]


def by_vjp(x, y):
    return custom_vjp(lambda x, y: [p.mul(p.sin(x), y)], VJP, [x, y])[0]


def plain(x, y):
    """The same derivatives without a rule: 3 sin(x) y - 2 stop(sin(x) y), y stopped."""
    y = stop_gradient(y)
    z = p.mul(p.sin(x), y)
    return p.sub(p.mul(z, 3.0), p.mul(stop_gradient(z), 2.0))


BOTH = pytest.mark.parametrize("f", [by_jvp, by_vjp])


def loss(f):
    return lambda x, y: total(p.mul(f(x, y), f(x, y)))


# ---- every composition ---------------------------------------------------------------------------


@BOTH
def test_value_and_gradient(f):
    same(f, lambda x, y: p.mul(p.sin(x), y), X, Y)
    same(grad(loss(f), (0, 1)), grad(loss(plain), (0, 1)), X, Y)


@BOTH
def test_vmap_at_every_dimension(f):
    xs, ys = rng.standard_normal((2, 3, 4))
    for dims in ((0, 0), (1, 1), (0, 1), (1, None), (None, 0)):
        x, y = (a if d != 1 else a.T for a, d in zip((xs, ys), dims))
        x, y = (X[:1].repeat(4) if d is None else a for a, d in zip((x, y), dims))
        same(vmap(f, dims), vmap(plain, dims), x, y)
        same(vmap(grad(loss(f), (0, 1)), dims), vmap(grad(loss(plain), (0, 1)), dims), x, y)
        same(
            grad(lambda x, y: total(vmap(loss(f), dims)(x, y)), (0, 1)),
            grad(lambda x, y: total(vmap(loss(plain), dims)(x, y)), (0, 1)),
            x,
            y,
        )


@BOTH
def test_vmap_of_vmap(f):
    xs = rng.standard_normal((2, 3, 4))

    def twice(f):
        return vmap(vmap(f, (0, None)), (0, 1))

    args = xs, rng.standard_normal((4, 2))
    same(twice(f), twice(plain), *args)
    for transform in (
        lambda f: grad(lambda x, y: total(twice(loss(f))(x, y)), (0, 1)),
        lambda f: twice(grad(loss(f), (0, 1))),
        lambda f: vmap(grad(lambda x, y: total(vmap(loss(f), (0, None))(x, y)), (0, 1)), (0, 1)),
    ):
        same(transform(f), transform(plain), *args)


@BOTH
def test_second_order(f):
    """The rule's own functions are differentiated as they are: their cos(x) y, their sin(x) y."""

    def gradient(x, y):
        return grad(loss(f))(x, y)

    s, c = np.sin(X), np.cos(X)
    wanted = 6 * Y * Y * (c * c - s * s)  # of 3 cos(x) y * 2 sin(x) y
    close(both(grad(lambda x, y: total(gradient(x, y))), X, Y)[0], wanted)
    (found,) = both(lambda x, y, t: jvp(lambda x: gradient(x, y), (x,), (t,))[1], X, Y, T)
    close(found, wanted * T)
    close(both(lambda x, y: hessian(lambda x: loss(f)(x, y))(x), X, Y)[0], np.diag(wanted))


@BOTH
def test_inside_scan_and_remat(f):
    def looped(f):
        return lambda x, y: total(scan(lambda c, _: ([f(c[0], y)], []), [x], [], length=3)[0][0])

    def again(f):
        return lambda x, y: total(remat(lambda x, y: [f(f(x, y), y)], [x, y])[0])

    for around in (looped, again):
        same(grad(around(f), (0, 1)), grad(around(plain), (0, 1)), X, Y)
        xs = rng.standard_normal((2, 3))
        same(vmap(grad(around(f), (0, 1)), (0, None)), vmap(grad(around(plain), (0, 1)), (0, None)), xs, Y)
        same(
            grad(lambda x, y: total(vmap(around(f), (0, None))(x, y)), (0, 1)),
            grad(lambda x, y: total(vmap(around(plain), (0, None))(x, y)), (0, 1)),
            xs,
            Y,
        )


def test_forward_mode():
    found = both(lambda x, y, t: jvp(lambda x: by_jvp(x, y), (x,), (t,)), X, Y, T)
    close(found[1], 3 * np.cos(X) * Y * T)
    graph = closed_graph(lambda x, y, t: jvp(lambda x: by_vjp(x, y), (x,), (t,)), (X, Y, T))
    for execute in (lambda: evaluate(graph, [X, Y, T]), lambda: lower(graph)):
        with pytest.raises(NotImplementedError, match="only knows reverse mode"):
            execute()


def test_rules_are_traced_once_and_only_when_needed():
    calls = []

    def rule(primals, tangents):
        calls.append(1)
        return primals, tangents

    shared = JvpRule(rule, "identity")

    def f(x):
        return total(p.sin(custom_jvp(lambda x: [x], shared, [x])[0]))

    closed_graph(f, (X,))
    assert not calls
    for _ in range(3):
        closed_graph(grad(f), (X,))
    assert len(calls) == 1
    closed_graph(vmap(grad(f)), (rng.standard_normal((2, 3)),))
    assert len(calls) == 1


def test_collectives_in_a_rule():
    """A rule that is traced after the vmap of its axis has ended still knows the axis."""

    def mean(x):
        return pmean(x, axis_name="i")

    def backward(residuals, cotangents):
        return [p.mul(pmean(cotangents[0], axis_name="i"), 2.0)]

    rules = (
        (custom_jvp, JvpRule(lambda ps, ts: ([mean(*ps)], [p.mul(mean(*ts), 2.0)]), "mean")),
        (custom_vjp, VjpRule(lambda x: ([mean(x)], []), backward, "mean")),
    )
    for custom, rule in rules:

        def f(x, custom=custom, rule=rule):
            (out,) = custom(lambda x: [mean(x)], rule, [x])
            return total(p.mul(out, out))

        for n in (4, 2):
            xs = rng.standard_normal((n, 3))
            wanted = np.broadcast_to(4 * xs.mean(0), xs.shape)
            close(both(grad(lambda x: total(vmap(f, name="i")(x))), xs)[0], wanted)
            close(both(vmap(grad(f), name="i"), xs)[0], wanted)


def test_linear_functions_with_a_rule_are_transposed_as_computed():
    rule = JvpRule(lambda ps, ts: ([p.mul(ps[0], 2.0)], [p.mul(ts[0], 7.0)]), "double")
    graph, _, _ = graph_of(lambda x: custom_jvp(lambda x: [p.mul(x, 2.0)], rule, [x])[0], [X])
    back, mask = transpose(graph, (True,), (True,))
    assert mask == (True,)
    close(evaluate(back, [T])[0], 2 * T)


# ---- integers, zeros, several outputs ------------------------------------------------------------


def test_integer_arguments_and_outputs():
    seen = []

    def forward(x, n):
        return [p.mul(x, 2.0), n], [n]

    def backward(residuals, cotangents):
        seen.append([c is None for c in cotangents])
        return [p.mul(cotangents[0], 5.0), None]

    def rule(primals, tangents):
        assert tangents[1] is None
        return primals, [p.mul(tangents[0], 5.0), None]

    for custom, r in ((custom_vjp, VjpRule(forward, backward, "f")), (custom_jvp, JvpRule(rule, "f"))):

        def f(x, n, custom=custom, r=r):
            return total(custom(lambda x, n: [x, n] if custom is custom_jvp else [p.mul(x, 2.0), n], r, [x, n])[0])

        close(both(grad(f), X, np.int32(3))[0], np.full(3, 5.0))
        close(both(vmap(grad(f)), X[:, None], np.arange(3))[0], np.full((3, 1), 5.0))
    assert seen == [[False, True]] * 2  # once for each shape


def test_zero_cotangents_and_tangents_are_values():
    def backward(residuals, cotangents):
        return [p.add(cotangents[0], cotangents[1])]

    rule = VjpRule(lambda x: ([x, x], []), backward, "fork")
    (out,) = both(grad(lambda x: total(custom_vjp(lambda x: [x, x], rule, [x])[1])), X)
    close(out, np.ones(3))

    def linear(primals, tangents):
        return [p.add(*primals)], [p.add(*tangents)]

    both_ways = JvpRule(linear, "sum")

    def plus(x, y):
        return custom_jvp(lambda x, y: [p.add(x, y)], both_ways, [x, y])[0]

    (out,) = both(grad(lambda x, y: total(plus(x, y))), X, Y)
    close(out, np.ones(3))


def test_stop_gradient():
    check(lambda x, y: p.mul(stop_gradient(x), y), X, Y, diff=(1,))
    close(both(grad(lambda x: total(p.mul(x, stop_gradient(x)))), X)[0], X)


# ---- what a rule may return ----------------------------------------------------------------------

WRONG = [
    (JvpRule(lambda ps, ts: ps[0], "f"), "expected a pair"),
    (JvpRule(lambda ps, ts: ([ps[0], ps[0]], ts), "f"), "returned 2 outputs, expected 1"),
    (JvpRule(lambda ps, ts: ([total(ps[0])], ts), "f"), r"output 0 is float64\[\], expected"),
    (JvpRule(lambda ps, ts: (ps, []), "f"), "returned 0 tangents, expected 1"),
    (JvpRule(lambda ps, ts: (ps, [total(ts[0])]), "f"), r"tangent 0 is float64\[\], expected"),
    (VjpRule(lambda x: x, lambda r, c: c, "f"), "expected a pair"),
    (VjpRule(lambda x: ([], [x]), lambda r, c: c, "f"), "returned 0 outputs, expected 1"),
    (
        VjpRule(lambda x: ([p.convert(x, dtype=np.float32)], []), lambda r, c: c, "f"),
        r"output 0 is float32\[3\], expected float64\[3\]",
    ),
    (VjpRule(lambda x: ([x], []), lambda r, c: c[0], "f"), "expected a sequence"),
    (VjpRule(lambda x: ([x], []), lambda r, c: [*c, *c], "f"), "returned 2 cotangents, expected 1"),
    (
        VjpRule(lambda x: ([x], []), lambda r, c: [total(c[0])], "f"),
        r"cotangent 0 is float64\[\], expected float64\[3\]",
    ),
]


@pytest.mark.parametrize("rule, match", WRONG, ids=[m for _, m in WRONG])
def test_wrong_rules_are_named(rule, match):
    custom = custom_jvp if isinstance(rule, JvpRule) else custom_vjp
    with pytest.raises(TypeError, match=match) as caught:
        graph_of(grad(lambda x: total(custom(lambda x: [x], rule, [x])[0])), [X])
    assert "`f`" in str(caught.value) and "right:" in str(caught.value)


def test_closing_over_a_traced_value():
    with pytest.raises(TypeError, match="Pass it as an argument"):
        graph_of(lambda x: custom_jvp(lambda y: [p.mul(x, y)], JVP, [x])[0], [X])

    def outer(x):
        rule = JvpRule(lambda ps, ts: (ps, [p.mul(ts[0], x)]), "inner")
        return grad(lambda y: total(custom_jvp(lambda y: [y], rule, [y])[0]))(x)

    with pytest.raises(LeakError, match="closes over"):
        graph_of(outer, [X])
