"""Callbacks and custom calls: values, vmap methods, effects, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.core.aval import aval, aval_of
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.transforms.callback import custom_call, debug_callback, pure_callback
from functorch_core.transforms.cond import cond
from functorch_core.transforms.custom import JvpRule, custom_jvp
from functorch_core.transforms.scan import scan
from tests.primitives.check import close, compiled
from tests.transforms.flat import both, closed_graph, grad, graph_of, total, vmap

rng = np.random.default_rng(0)
X = rng.standard_normal((4, 3))


def host_sin(x, *more):
    return (np.sin(x),)


def by_callback(x, *more, method=None, fun=host_sin):
    return pure_callback(fun, [aval_of(x)], [x, *more], vmap_method=method)[0]


def test_values_and_dtypes():
    close(both(by_callback, X)[0], np.sin(X))

    def swap(x, q):
        return q, x

    import ml_dtypes

    x, q = np.array([1, 2], ml_dtypes.bfloat16), np.bool_(True)
    outs = both(lambda x, q: pure_callback(swap, [aval_of(q), aval_of(x)], [x, q]), x, q)
    assert outs[0] and outs[1].dtype == x.dtype
    close(both(lambda: pure_callback(lambda: (np.int64(7),), [aval((), np.dtype("int64"))], []))[0], np.int64(7))


def test_inside_a_loop():
    def f(x):
        return scan(lambda c, _: ([by_callback(c[0])], []), [x], [], length=3)[0][0]

    close(both(f, X)[0], np.sin(np.sin(np.sin(X))))


@pytest.mark.parametrize(
    "method, shapes",
    [("sequential", {((3,), (2,))}), ("expand_dims", {((4, 3), (1, 2))}), ("broadcast_all", {((4, 3), (4, 2))})],
)
def test_vmap_methods(method, shapes):
    seen = set()

    def host(x, y):
        seen.add((x.shape, y.shape))
        return (np.sin(x),)

    f = vmap(lambda x, y: by_callback(x, y, method=method, fun=host), (0, None))
    close(both(f, X, np.ones(2))[0], np.sin(X))
    assert seen == shapes
    close(both(vmap(f, (1, None)), X[:, None], np.ones(2))[0], np.sin(X)[None])


def test_vmap_must_be_told_how():
    with pytest.raises(NotImplementedError, match="vmap_method= one of"):
        graph_of(vmap(by_callback), [X])
    with pytest.raises(ValueError, match="'loop' is not one of"):
        graph_of(lambda x: by_callback(x, method="loop"), [X])


def test_derivatives():
    with pytest.raises(NotImplementedError, match="custom_jvp"):
        graph_of(grad(lambda x: total(by_callback(x))), [X])
    rule = JvpRule(lambda ps, ts: ([by_callback(ps[0], method="sequential")], [p.mul(p.cos(ps[0]), ts[0])]), "host_sin")

    def f(x):
        return custom_jvp(lambda x: [by_callback(x, method="sequential")], rule, [x])[0]

    close(both(grad(lambda x: total(f(x))), X)[0], np.cos(X))
    close(both(vmap(grad(lambda x: total(f(x)))), X)[0], np.cos(X))


@pytest.mark.parametrize(
    "host, error, match",
    [
        (lambda x: (x[:1],), (TypeError, ValueError), "shape|expected"),
        (lambda x: (x.astype(np.float32),), TypeError, "expected"),
        (lambda x: (x, x), ValueError, "returned 2 arrays"),
        (lambda x: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_results_are_checked(host, error, match):
    graph = closed_graph(lambda x: by_callback(x, fun=host), (X,))
    for execute in (evaluate, compiled):
        with pytest.raises(error, match=match):
            execute(graph, [X])


# ---- debug_callback ------------------------------------------------------------------------------


def test_effects_survive_every_transform():
    seen = []

    def noisy(x):
        debug_callback(lambda v: seen.append(float(v)), [total(x)])
        return total(p.sin(x))

    def calls(f, *args):
        seen.clear()
        outs = both(f, *args)
        return outs, len(seen) // 2  # by the reference and compiled

    assert calls(noisy, X)[1] == 1
    (g,), n = calls(grad(noisy), X)
    close(g, np.cos(X))
    assert n == 1
    assert calls(vmap(noisy), X)[1] == 4 and sorted(seen[:4]) == sorted(seen[4:])
    assert calls(vmap(grad(noisy)), X)[1] == 4

    def looped(x):
        return scan(lambda c, x: ([noisy(*x)], []), [p.constant(np.float64(0))], [x])[0]

    assert calls(looped, X)[1] == 4

    def branch(q, x):
        return cond(q, lambda x: [noisy(x)], lambda x: [total(x)], [x])[0]

    assert calls(branch, np.bool_(True), X)[1] == 1 and calls(branch, np.bool_(False), X)[1] == 0


def test_effect_only_branches():
    seen = []

    def f(q, x):
        cond(q, lambda x: (debug_callback(lambda v: seen.append(v), [x]), [])[1], lambda x: [], [x])
        return x

    both(f, np.bool_(True), np.float64(3))
    assert seen == [3, 3]


# ---- platforms, custom calls ---------------------------------------------------------------------


def test_platforms():
    graph = closed_graph(by_callback, (X,))
    assert "@xla_ffi_python_cpu_callback" in lower(graph, "cpu").text
    assert "@xla_ffi_python_gpu_callback" in lower(graph, "cuda").text
    with pytest.raises(NotImplementedError, match="'tpu'"):
        lower(graph, "tpu")


def test_custom_call():
    graph = closed_graph(
        lambda x: custom_call("made_up", [aval_of(x)], [x], reference=np.sin, backend_config="{lower = true}")[0], (X,)
    )
    close(evaluate(graph, [X])[0], np.sin(X))
    assert "custom_call @made_up" in lower(graph).text and "lower = true" in lower(graph).text
    bare = closed_graph(lambda x: custom_call("made_up", [aval_of(x)], [x])[0], (X,))
    with pytest.raises(NotImplementedError, match="no NumPy reference"):
        evaluate(bare, [X])
    for transform in (vmap, lambda f: grad(lambda x: total(f(x)))):
        with pytest.raises(NotImplementedError, match="custom_call"):
            graph_of(transform(lambda x: custom_call("made_up", [aval_of(x)], [x])[0]), [X])


# ---- fc.debug ------------------------------------------------------------------------------------


def test_ordered_calls_come_in_order():
    import functorch_core as fc

    def f(x):
        def see(*what):
            fc.debug.callback(lambda *a: seen.append(tuple(map(float, a))), *what, ordered=True)

        for i in range(3):
            see(i)

        def body(c, y):
            see(10, c)
            return c + 1, y

        total, _ = fc.scan(body, 0.0, fc.arange(3.0))
        see(20)
        y = fc.cond(total > 0, lambda: (see(30), 1.0)[1], lambda: 2.0)
        fc.cond(total > 0, lambda: see(31), lambda: see(32))
        fc.jit(lambda: see(33))()
        see(40)
        return (x * y).sum()

    wanted = [(0,), (1,), (2,), (10, 0), (10, 1), (10, 2), (20,), (30,), (31,), (33,), (40,)]
    for run in (fc.jit(f), f, fc.jit(fc.grad(f)), fc.jit(fc.checkpoint(f))):
        seen = []
        np.asarray(run(fc.ones(3)))
        assert seen == wanted

    def g(x):
        for i in range(2):
            fc.debug.callback(lambda *a: seen.append(tuple(map(float, a))), i, x, ordered=True)
        return x

    seen = []
    np.asarray(fc.jit(fc.vmap(g))(fc.arange(3.0)))
    assert seen == [(i, x) for i in range(2) for x in range(3)]


def test_debug_calls_of_two_steps(capsys):
    import functorch_core as fc

    fc.debug.print(ordered=True)("{x:.1f} {}", fc.ones(2), x=fc.asarray(2.0))
    assert capsys.readouterr().out == "2.0 [1. 1.]\n"
    seen = []
    fc.debug.callback(ordered=True)(lambda **k: seen.append(k["z"].tolist()), z=fc.ones(2))
    assert seen == [[1.0, 1.0]]
    for wrong, words in [
        (lambda: fc.debug.print("x {}", 1, 2), "1 is not in it"),
        (lambda: fc.debug.print("x {y}", 1), "KeyError"),
        (lambda: fc.debug.print("x {} {}", 1), "IndexError"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(TypeError, match="ordered=True"):
        fc.debug.callback(x=1)
