"""scan against the same loop unrolled, under every transform."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.lowering import lower
from functorch_core.transforms.associative import associative_scan
from functorch_core.transforms.cond import cond
from functorch_core.transforms.scan import map_values, scan
from tests.primitives.check import check, close, compiled
from tests.primitives.check import graph_of as closed
from tests.transforms.flat import both, closed_graph, count, grad, graph_of, jvp, nodes_of, same, total, vmap

rng = np.random.default_rng(0)
W, U, H, XS = (rng.standard_normal(s) * 0.5 for s in ((4, 3), (3, 3), (3,), (5, 4)))


def dot(x, y):
    return p.dot_general(x, y, contract=((x.ndim - 1,), (0,)))


def step(w, u, h, x):
    return p.sin(p.add(dot(x, w), dot(h, u)))


def rnn(w, u, h, xs, reverse=False):
    def body(carry, x):
        h = step(w, u, *carry, *x)
        return [h], [p.mul(h, h)]

    carry, ys = scan(body, [h], [xs], reverse=reverse)
    return [*carry, *ys]


def row(xs, t):
    return p.reshape(p.slice_in_dim(xs, start=t, limit=t + 1, dimension=0), shape=xs.shape[1:])


def unrolled(w, u, h, xs, reverse=False):
    n, ys = xs.shape[0], {}
    for t in reversed(range(n)) if reverse else range(n):
        h = step(w, u, h, row(xs, t))
        ys[t] = p.reshape(p.mul(h, h), shape=(1, *h.shape))
    if not n:
        return [h, p.zeros(aval((0, *h.shape), h.dtype))]
    return [h, p.concatenate(*(ys[t] for t in range(n)), dimension=0)]


def loss(f, **params):
    def scalar(*args):
        h, ys = f(*args, **params)
        return p.add(total(p.mul(h, h)), total(p.sin(ys)))

    return scalar


ALL = (0, 1, 2, 3)

# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_rules(length, reverse):
    check(lambda *a: rnn(*a, reverse=reverse), W, U, H, XS[:length], order=2 if length == 2 else 1)


def test_carry_only_and_counter():
    def power(x):
        def body(carry, _):
            return [p.mul(carry[0], carry[1]), carry[1], p.add(carry[2], 1)], []

        start = p.full(x.shape, 1, x.dtype)
        (out, _, steps), ys = scan(body, [start, x, p.constant(np.int32(0))], [], length=3)
        assert ys == []
        return [out, steps]

    check(power, H)
    out, steps = both(power, H)
    close(out, H**3)
    assert steps == 3


def test_dtypes_of_carry_and_ys():
    def f(x, q):
        def body(carry, x):
            c, q = carry
            return [p.add(c, *x), p.not_(q)], [q, p.convert(c, dtype=np.float16)]

        (c, q), ys = scan(body, [p.constant(np.uint8(250)), q], [x])
        return [c, q, *ys]

    x = np.arange(5, dtype=np.uint8)
    c, q, qs, cs = both(f, x, np.bool_(True))
    assert (c, q) == (4, False) and qs.tolist() == [True, False] * 2 + [True]
    close(cs, np.array([250, 250, 251, 253, 0], np.float16))
    check(f, x, np.bool_(True))


def test_map_has_no_carry():
    def f(x, w):
        return map_values(lambda x: [p.mul(p.sin(x), w), x], [x])

    check(f, XS, rng.standard_normal(4))
    close(both(f, XS, np.ones(4))[0], np.sin(XS))


def test_large_constants_are_captured():
    table = rng.standard_normal((50, 50))

    def f(x):
        return scan(lambda c, _: ([dot(c[0], p.constant(table))], []), [x], [], length=3)[0][0]

    x = rng.standard_normal(50)
    close(both(f, x)[0], x @ table @ table @ table, 1e-8)
    assert len(lower(closed_graph(f, (x,))).hoisted) == 1


# ---- derivatives against the unrolled loop -------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients(reverse):
    args = W, U, H, XS
    same(grad(loss(rnn, reverse=reverse), ALL), grad(loss(unrolled, reverse=reverse), ALL), *args)


@pytest.mark.parametrize("length", [0, 1])
def test_gradients_of_short_loops(length):
    same(grad(loss(rnn), ALL), grad(loss(unrolled), ALL), W, U, H, XS[:length])


def test_forward_and_second_order():
    args = W, U, H, XS

    def forward(f):
        def flat(*args):
            return jvp(loss(f), args, args)

        return flat

    def reverse_over_reverse(f):
        return grad(lambda *args: total(p.sin(grad(loss(f), 1)(*args))), (0, 2))

    def forward_over_reverse(f):
        return lambda *args: jvp(grad(loss(f), ALL), args, args)[1]

    for transform in (forward, forward_over_reverse, reverse_over_reverse):
        same(transform(rnn), transform(unrolled), *args)


def test_vmap_of_grad_and_grad_of_vmap():
    args = W, U, rng.standard_normal((2, 3)), rng.standard_normal((5, 2, 4))
    dims = (None, None, 0, 1)

    def outer(f):
        return grad(lambda *a: total(vmap(loss(f), dims)(*a)), ALL)

    def inner(f):
        return vmap(grad(loss(f), ALL), dims)

    for transform in (outer, inner):
        same(transform(rnn), transform(unrolled), *args)


def test_scan_in_scan_and_cond_in_scan():
    def inner(w, h):
        def body(carry, x):
            big = p.gt(total(*carry), p.constant(np.float64(0.2)))
            (new,) = cond(big, lambda h: [p.mul(h, w)], lambda h: [p.sin(h)], carry)
            return [new], []

        return scan(body, [h], [], length=3)[0][0]

    def inner_unrolled(w, h):
        for _ in range(3):
            big = p.gt(total(h), p.constant(np.float64(0.2)))
            big = p.broadcast_in_dim(big, shape=h.shape, dims=())
            h = p.select(big, p.mul(h, w), p.sin(h))
        return h

    def looped(w, h, xs):
        return total(scan(lambda c, x: ([p.add(inner(w, *c), *x)], []), [h], [xs])[0][0])

    def flat(w, h, xs):
        for t in range(xs.shape[0]):
            h = p.add(inner_unrolled(w, h), row(xs, t))
        return total(h)

    args = rng.standard_normal(3), H, rng.standard_normal((4, 3))
    same(grad(looped, (0, 1, 2)), grad(flat, (0, 1, 2)), *args)
    same(
        grad(lambda *a: total(p.sin(grad(looped)(*a))), (0, 1, 2)),
        grad(lambda *a: total(p.sin(grad(flat)(*a))), (0, 1, 2)),
        *args,
    )


def test_mixed_known_and_unknown_carries():
    """Derivatives by h: one carry is known, one is always unknown, one becomes so on the way."""

    def f(h, k):
        def body(carry, x):
            known, moved, later = carry
            new = [p.sin(known), p.mul(moved, known), p.add(later, p.mul(moved, *x))]
            return new, [p.cos(later)]

        carry, ys = scan(body, [k, h, p.zeros(h.aval)], [p.constant(XS[:, :3])])
        return p.add(total(carry[2]), total(ys[0]))

    def flat(h, k):
        later, out = p.zeros(h.aval), p.constant(np.float64(0))
        for t in range(5):
            out = p.add(out, total(p.cos(later)))
            later = p.add(later, p.mul(h, p.constant(XS[t, :3])))
            k, h = p.sin(k), p.mul(h, k)
        return p.add(total(later), out)

    k = rng.standard_normal(3)
    for wrt in (0, 1, (0, 1)):
        same(grad(f, wrt), grad(flat, wrt), H, k)
    graph = closed_graph(grad(f), (H, k))
    backward = [n for n in graph.nodes if n.primitive.name == "scan"][-1]
    assert backward.params["n_carry"] == 2 and len(backward.params["body"].nodes) <= 8


def test_integer_carry_in_a_linear_scan():
    """Transposing a scan that also counts: the count is split off first."""
    from functorch_core.core.trace import run
    from functorch_core.transforms.transpose import transpose

    def f(x):
        def body(carry, _):
            x, i = carry
            scale = p.broadcast_in_dim(p.convert(i, dtype=x.dtype), shape=x.shape, dims=())
            return [p.mul(x, scale), p.add(i, 1)], []

        return scan(body, [x, p.constant(np.int32(1))], [], length=4)[0][0]

    graph = closed(f, [H])
    back, mask = transpose(graph, (True,), (True,))
    assert mask == (True,)
    close(both(lambda ct: run(back, [ct]), H)[0], 24 * H)


# ---- what the halves keep ------------------------------------------------------------------------


def scans(graph):
    return [n for n in graph.nodes if n.primitive.name == "scan"]


def test_loop_invariant_residuals_are_not_stacked():
    def f(w, h):
        def body(carry, _):
            return [p.mul(p.sin(w), *carry)], []

        return total(scan(body, [h], [], length=6)[0][0])

    forward, backward = scans(closed_graph(grad(f, (0, 1)), (H, H)))
    outs = forward.primitive.shape(*map_avals(forward), **forward.params)
    assert list(outs[1:]) == [aval((6, 3), np.dtype(np.float64))]  # the carry; sin(w) is outside
    assert not [n for n in nodes_of(backward.params["body"]) if n.primitive.name in ("sin", "cos")]
    assert backward.params["n_consts"] == 1


def map_avals(node):
    body, n = node.params["body"], node.params["n_consts"] + node.params["n_carry"]
    return [a if i < n else aval((node.params["length"], *a.shape), a.dtype) for i, a in enumerate(body.in_avals)]


def test_xs_are_residuals_without_a_copy():
    def f(xs, h):
        return total(scan(lambda c, x: ([p.mul(*c, *x)], []), [h], [xs])[0][0])

    xs = rng.standard_normal((5, 3))
    forward, backward = scans(closed_graph(grad(f, (0, 1)), (xs, H)))
    assert len(forward.outputs) == 2 and len(forward.inputs) == 2  # the carry and its stack
    graph = closed_graph(grad(f, (0, 1)), (xs, H))
    assert graph.inputs[0] in backward.inputs or graph.inputs[0] in scans(graph)[1].inputs


def test_effects_stay_in_the_loop():
    from functorch_core.transforms.callback import debug_callback

    seen = []

    def f(w, h):
        def body(carry, _):
            debug_callback(lambda x: seen.append(x.copy()), [w])
            return [p.mul(p.sin(w), *carry)], []

        return total(scan(body, [h], [], length=3)[0][0])

    both(grad(f, (0, 1)), H, H)
    assert len(seen) == 6  # three by the reference, three compiled


# ---- dots after the loop -------------------------------------------------------------------------


def test_weight_gradients_are_dotted_after_the_loop():
    graph = closed_graph(grad(loss(rnn), ALL), (W, U, H, XS))
    _, backward = scans(graph)
    carried = backward.primitive.shape(*map_avals(backward), **backward.params)
    carried = carried[: backward.params["n_carry"]]
    assert [a.shape for a in carried] == [(3,)]  # the state's cotangent, no weight's
    assert count(backward.params["body"], "dot_general") == 2
    late = [n for n in graph.nodes if n.primitive.name == "dot_general"]
    assert len(late) == 2 and {graph.avals[n.outputs[0]].shape for n in late} == {(4, 3), (3, 3)}


@pytest.mark.parametrize(
    "name, use",
    {
        "transposed": lambda w, h: dot(h, p.transpose(w, permutation=(1, 0))),
        "reshaped": lambda w, h: dot(h, p.reshape(p.reshape(w, shape=(9,)), shape=(3, 3))),
        "converted": lambda w, h: dot(h, p.convert(p.convert(w, dtype=np.float32), dtype=np.float64)),
        "sliced": lambda w, h: p.pad(
            dot(p.slice(h, start=(0,), limit=(2,)), p.slice(w, start=(1, 0), limit=(3, 3))),
            p.constant(np.float64(0)),
            low=(0,),
            high=(0,),
        ),
        "twice": lambda w, h: p.add(dot(h, w), dot(p.sin(h), w)),
        "beside an elementwise use": lambda w, h: p.add(dot(h, w), p.reduce_sum(w, axes=(0,))),
        "outer product": lambda w, h: p.reduce_sum(p.mul(w, p.dot_general(h, h, contract=((), ()))), axes=(0,)),
        "negated": lambda w, h: dot(h, p.neg(w)),
        "invariant other side": lambda w, h: p.add(h, p.mul(h, p.reduce_sum(dot(w, w), axes=(0,)))),
    }.items(),
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_ways_to_use_a_weight(name, use):
    def looped(w, h):
        return total(scan(lambda c, _: ([p.sin(use(w, *c))], []), [h], [], length=4)[0][0])

    def flat(w, h):
        for _ in range(4):
            h = p.sin(use(w, h))
        return total(h)

    tol = 1e-5 if name == "converted" else 1e-9
    same(grad(looped, (0, 1)), grad(flat, (0, 1)), U, H, tol=tol)
    _, backward = scans(closed_graph(grad(looped, (0, 1)), (U, H)))
    late = name not in ("outer product", "invariant other side", "beside an elementwise use")
    assert (backward.params["n_carry"] == 1) == late


def test_batched_rnn_dots_over_batch_and_time():
    def f(w, u, h, xs):
        return loss(rnn)(w, u, h, xs)

    h, xs = rng.standard_normal((2, 3)), rng.standard_normal((5, 2, 4))
    same(grad(f, ALL), grad(loss(unrolled), ALL), W, U, h, xs)
    graph = closed_graph(grad(f, ALL), (W, U, h, xs))
    late = [n for n in graph.nodes if n.primitive.name == "dot_general"]
    assert {n.params["contract"] for n in late} == {((0, 1), (0, 1))}


# ---- associative_scan ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 16, 17])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_lengths(n, reverse):
    x = rng.standard_normal((2, n))

    def f(x):
        return associative_scan(lambda a, b: [p.add(a[0], b[0])], [x], axis=1, reverse=reverse)[0]

    wanted = np.cumsum(x[:, ::-1], 1)[:, ::-1] if reverse else np.cumsum(x, 1)
    close(both(f, x)[0], wanted)
    if n in (0, 3, 8):
        check(f, x)


def test_associative_scan_of_pairs_is_a_linear_recurrence():
    a, b = rng.standard_normal((2, 6, 3))

    def combine(left, right):
        (a1, b1), (a2, b2) = left, right
        return [p.mul(a1, a2), p.add(p.mul(a2, b1), b2)]

    found = both(lambda a, b: associative_scan(combine, [a, b]), a, b)[1]
    h = np.zeros(3)
    for t in range(6):
        h = a[t] * h + b[t]
        close(found[t], h)
    with pytest.raises(ValueError, match="one length"):
        graph_of(lambda a, b: associative_scan(combine, [a, b]), [a, b[:2]])
    with pytest.raises(TypeError, match="keep shapes"):
        graph_of(lambda a: associative_scan(lambda x, y: [total(x[0])], [a]), [a])


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda x: scan(lambda c, x: (c, x), [], [x, total(x)]), ValueError, "got a scalar"),
        (lambda x: scan(lambda c, x: (c, x), [x], []), ValueError, "needs xs or length"),
        (lambda x: scan(lambda c, x: (c, x), [], [x], length=4), ValueError, "disagree"),
        (
            lambda x: scan(lambda c, x: ([total(*c)], []), [x], [], length=2),
            TypeError,
            r"another carry than it takes.*expected float64\[3\].*got float64\[\]",
        ),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        graph_of(lambda x: (call(x), [x])[1], [H])


def test_lowers_for_cuda():
    text = lower(closed(loss(rnn), [W, U, H, XS]), "cuda").text
    assert "stablehlo.while" in text
    assert compiled(closed(loss(rnn), [W, U, H, XS]), [W, U, H, XS])[0].shape == ()


# ---- many rounds ---------------------------------------------------------------------------------


def test_more_rounds_than_int32_counts():
    n = 3 * 10**9  # XLA finds what so simple a loop comes to
    assert fc.fori_loop(0, n, lambda i, x: x + 1, 0).item() == n
    assert fc.fori_loop(-n, 5 - n, lambda i, x: x + i, 0).item() == sum(range(-n, 5 - n))
    assert fc.scan(lambda c, _: (c + 1, None), fc.asarray(0), None, length=n)[0].item() == n


@pytest.mark.parametrize("reverse", [False, True])
def test_a_counter_of_int64(monkeypatch, reverse):
    monkeypatch.setattr(importlib.import_module("functorch_core.transforms.scan"), "MAX_INT32_ROUNDS", 2)
    xs = np.arange(21.0, dtype=np.float32).reshape(7, 3)

    @fc.jit
    def run(xs):
        return fc.scan(lambda c, x: (c + x, c * x), fc.zeros(3), xs, reverse=reverse)

    order = xs[::-1] if reverse else xs
    before = np.concatenate([np.zeros((1, 3)), np.cumsum(order, 0)[:-1]])
    carry, ys = run(fc.asarray(xs))
    np.testing.assert_allclose(carry, xs.sum(0))
    np.testing.assert_allclose(ys, (before * order)[::-1] if reverse else before * order)


def test_bounds_that_no_counter_holds():
    with pytest.raises(OverflowError, match="fori_loop counts in int64"):
        fc.fori_loop(0, 2**64, lambda i, x: x + 1, 0)
    with pytest.raises(OverflowError, match="fori_loop counts in int64"):
        fc.fori_loop(-(2**63), 2**63 - 1, lambda i, x: x + 1, 0)
    with pytest.raises(OverflowError):
        fc.fori_loop(fc.asarray(0, dtype=fc.int32), 2**31, lambda i, x: x + 1, 0)
