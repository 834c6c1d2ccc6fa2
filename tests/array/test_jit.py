"""fc.jit: signatures, weak Python numbers, static and donated arguments, lowering ahead of time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import OrderedDict, defaultdict, namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import functorch_core as fc

HALF = fc.ones(3, dtype=fc.bfloat16)
DTYPES = [fc.float16, fc.bfloat16, fc.float32, fc.float64, fc.complex64]


# ---- what is computed otherwise than eagerly --------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(3, 5), (5,), (1, 5), ()], ids=str)
def test_many_divided_by_what_is_used_elsewhere(dtype, shape):
    """By the reciprocal of what is spread, where that is a real number; integers and complex numbers as they are."""
    x = (np.arange(1, 31).reshape(2, 3, 5) * 7).astype(dtype)
    y = (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 0.5 + 3).astype(dtype)
    quotient, twice = fc.jit(lambda x, y: (x / (y + 1), (y + 1) * 2))(x, y)
    np.testing.assert_allclose(np.asarray(quotient), x / (y + 1), rtol=1e-15 if dtype == "float64" else 4e-7)
    np.testing.assert_array_equal(np.asarray(twice), (y + 1) * 2)
    zero = fc.jit(lambda x, y: (x / y, y))(x[:1] - x[:1, :1], np.zeros_like(y))[0]
    with np.errstate(all="ignore"):
        wanted = (x[:1] - x[:1, :1]) / np.zeros_like(y)
    if dtype != "complex64":
        np.testing.assert_array_equal(np.asarray(zero), wanted.astype(zero.dtype))


# ---- Python numbers as arguments -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_number_takes_the_dtype_of_what_it_meets(dtype):
    scaled = fc.jit(lambda x, a: x * a)(fc.ones(2, dtype=dtype), 0.1)
    np.testing.assert_array_equal(np.asarray(scaled), np.full(2, 0.1).astype(dtype))


def test_arithmetic_of_numbers_stays_weak_and_as_wide_as_pythons():
    """An optimizer's corrected step size, which is a Python float without jit."""

    def corrected(x, rate, beta, t):
        return x * (rate * 2 / fc.sqrt(1 - beta**t))

    found = fc.jit(corrected)(fc.ones(2, dtype=fc.float64), 0.1, 0.999, 3)
    np.testing.assert_allclose(np.asarray(found), 0.2 / np.sqrt(1 - 0.999**3), rtol=1e-12)
    assert fc.jit(corrected)(HALF, 0.1, 0.999, 3).dtype == fc.bfloat16
    assert fc.jit(lambda x, n, m: x * (n / m))(HALF, 1, 4).tolist() == [0.25] * 3


@pytest.mark.parametrize("kind, wanted", [(2, fc.int8), (0.5, fc.float32)], ids=["int", "float"])
def test_integers_and_floats_promote_as_literals(kind, wanted):
    assert fc.jit(lambda x, a: x * a)(fc.ones(2, dtype=fc.int8), kind).dtype == wanted


def test_a_number_alone_has_the_default_dtype():
    a, b, c = fc.jit(lambda x, n: (x, n + 1, fc.stack([x, x])))(0.1, 2)
    assert (a.dtype, b.dtype, c.dtype) == (fc.float32, fc.int64, fc.float32)
    assert (a.item(), b.item(), c.shape) == (np.float32(0.1).item(), 3, (2,))


def test_a_new_number_compiles_nothing():
    f = fc.jit(lambda x, a, n: x * a + n)
    f(HALF, 0.1, 1)
    with fc.engine.fail_on_recompile():
        for a, n in [(0.5, 7), (0.0, 0), (-0.0, 1), (float("inf"), 2)]:
            np.testing.assert_array_equal(np.asarray(f(HALF, a, n)), np.asarray(HALF * a + n))
    assert np.signbit(np.asarray(fc.jit(lambda x, a: x * a)(fc.ones(1), -0.0))).all()


def test_numbers_and_arrays_are_different_signatures():
    f = fc.jit(lambda x, a: x * a)
    assert f(HALF, 2.0).dtype == fc.bfloat16
    assert f(HALF, fc.asarray(2.0)).dtype == fc.float32
    assert f(HALF, np.float32(2)).dtype == fc.float32
    assert f(HALF, True).dtype == fc.bfloat16


USES = {
    "index": lambda x, n: x[n],
    "update": lambda x, n: x.at[n].set(9.0),
    "slice": lambda x, n: fc.dynamic_slice(x, (n,), (2,)),
    "reduce": lambda x, n: x + fc.sum(n),
    "method": lambda x, n: x * n.astype(fc.float32),
    "where": lambda x, n: fc.where(n > 0, x, n),
    "full": lambda x, n: x + fc.full((3,), n),
    "asarray": lambda x, n: x + fc.asarray(n),
    "einsum": lambda x, n: fc.einsum("i,->i", x, n),
    "loop": lambda x, n: fc.fori_loop(0, n, lambda i, c: c + i, x),
    "carry": lambda x, n: fc.scan(lambda c, a: (c + a, c), n * 1.0, x)[0],
    "jit": lambda x, n: fc.jit(lambda a, b: a * b)(x, n),
    "clip": lambda x, n: fc.clip(x, -n, n),
    "grad": lambda x, n: fc.grad(lambda a: (a * n).sum())(x),
    "vmap": lambda x, n: fc.vmap(lambda a, b: a * b, in_axes=(0, None))(x, n),
    "checkpoint": lambda x, n: fc.checkpoint(lambda a, b: a * b)(x, n),
    "cond": lambda x, n: fc.cond(n > 0, fc.sin, fc.cos, x),
    "tree": lambda x, n: {"a": [n, x]},
}


@pytest.mark.parametrize("name", USES)
def test_a_traced_number_is_an_array(name):
    x = fc.asarray([1.0, 2.0, 3.0])
    found, wanted = fc.jit(USES[name])(x, 1), USES[name](x, fc.asarray(1))
    for a, b in zip(fc.tree.leaves(found), fc.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def test_vmap_and_loops_keep_numbers_weak():
    assert fc.vmap(lambda a, b: a * b, in_axes=(0, None))(HALF, 2.0).dtype == fc.bfloat16
    assert fc.checkpoint(lambda a, b: a * b)(HALF, 2.0).dtype == fc.bfloat16
    assert fc.scan(lambda c, a: (c + a, None), 0.0, HALF)[0].dtype == fc.bfloat16
    assert fc.scan(lambda c, a: (c + a, None), 0, HALF)[0].dtype == fc.bfloat16
    assert fc.fori_loop(0, 2, lambda i, c: c + HALF[i], 0.0).dtype == fc.bfloat16
    total = fc.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * HALF[0]), (0, 1.0))
    assert [t.dtype for t in total] == [fc.int64, fc.bfloat16]


def scaled_jvp():
    """x * a with a rule of its own."""

    @fc.custom_jvp
    def f(x, a):
        return x * a

    f.defjvp(lambda p, t: (f(*p), t[0] * p[1] + p[0] * t[1]))
    return f


def scaled_vjp():
    """x * a with a rule of its own, that keeps both."""

    @fc.custom_vjp
    def f(x, a):
        return x * a

    f.defvjp(lambda x, a: (x * a, (x, a)), lambda kept, g: (g * kept[1], (g * kept[0]).sum()))
    return f


def scaled_cond(x, a):
    """x * a, or x."""
    return fc.cond(fc.asarray(True), lambda x, a: x * a, lambda x, a: x, x, a)


def scaled_switch(x, a):
    """x * a among others."""
    return fc.switch(1, [lambda x, a: x, lambda x, a: x * a, lambda x, a: x + a], x, a)


SCALED = {"custom_jvp": scaled_jvp(), "custom_vjp": scaled_vjp(), "cond": scaled_cond, "switch": scaled_switch}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_operands_of_custom_functions_and_branches_stay_weak(name, dtype):
    f, x = SCALED[name], fc.ones(2, dtype=dtype)
    wanted = np.full(2, 0.1).astype(dtype)
    results = [f(x, 0.1), fc.jit(f)(x, 0.1), fc.vmap(f, in_axes=(0, None))(x, 0.1)]
    if name != "custom_vjp":
        results.append(fc.jvp(lambda x: f(x, 0.1), (x,), (x,))[1])
    for found in results:
        assert found.dtype == dtype
        np.testing.assert_array_equal(np.asarray(found), wanted)
    if dtype != fc.complex64:
        for grad in (fc.grad(lambda x: f(x, 0.1).sum())(x), fc.jit(lambda a: fc.grad(lambda x: f(x, a).sum())(x))(0.1)):
            np.testing.assert_array_equal(np.asarray(grad), wanted)
    assert f(fc.ones(2, dtype=fc.int8), 2).dtype == fc.int8
    assert fc.grad(lambda a: f(a, 2.0))(3.0).item() == 2.0


def test_numbers_that_branches_return_take_the_dtype_of_the_others():
    x = fc.ones((), dtype=fc.float64)
    assert fc.cond(False, lambda x: x, lambda x: 0.1, x).item() == 0.1
    assert fc.cond(True, lambda a: a, lambda a: a * 2, 1.0).dtype == fc.float32
    with pytest.raises(TypeError, match="cond"):
        fc.cond(True, lambda x: 0.5, lambda x: x, fc.asarray(1))


def test_traced_endpoints():
    start, stop = np.float32([0, -1]), np.float32(3)
    for kwargs in ({}, {"endpoint": False}, {"axis": -1}, {"num": 1}, {"num": 0}, {"dtype": np.int8}):
        kwargs = {"num": 5, **kwargs}
        wanted = np.linspace(start, stop, **kwargs)
        for f in (fc.linspace, fc.jit(lambda a, b: fc.linspace(a, b, **kwargs))):
            args = (fc.asarray(start), fc.asarray(stop))
            found = f(*args, **kwargs) if f is fc.linspace else f(*args)
            assert found.dtype == np.result_type(np.float32, wanted.dtype) or found.dtype == np.int8
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-6)
    assert fc.grad(lambda a: fc.linspace(a, 1.0, 5).sum())(0.0).item() == 2.5
    assert fc.linspace(HALF[0], 2.0, 3).dtype == fc.bfloat16
    np.testing.assert_allclose(np.asarray(fc.jit(lambda a: fc.logspace(a, 2.0, 3))(0.0)), [1, 10, 100], rtol=1e-5)
    np.testing.assert_allclose(
        np.asarray(fc.geomspace(fc.asarray([1.0, 2.0]), 8.0, 4)), np.geomspace([1.0, 2.0], 8.0, 4), rtol=1e-5
    )


# ---- ahead of time -------------------------------------------------------------------------------


def test_lowering_and_compiling():
    f = fc.jit(lambda x, a: {"y": fc.sin(x) @ x * a})
    lowered = f.lower(fc.ShapeDtypeStruct((3,), fc.float32), 2.0)
    assert "stablehlo" in lowered.as_text() and len(lowered.graph.nodes) > 3
    compiled = lowered.compile()
    x = fc.asarray([1.0, 2.0, 3.0])
    np.testing.assert_allclose(compiled(x, 3.0)["y"].item(), np.sin([1, 2, 3]) @ [1, 2, 3] * 3, rtol=1e-6)
    assert compiled.cost_analysis()["flops"] > 0
    sizes = compiled.memory_analysis()
    assert sizes["argument"] == sizes.argument_size_in_bytes == 3 * 4 + 8
    assert sizes.peak_memory_in_bytes == sizes["peak"] and not hasattr(sizes, "other_size_in_bytes")
    assert compiled.as_text().startswith("HloModule")
    with fc.engine.fail_on_recompile():
        f(x, 5.0)


def test_eval_shape_and_make_graph():
    out = fc.eval_shape(lambda x: {"a": x @ x}, fc.ShapeDtype((2, 2), fc.bfloat16))
    assert out == {"a": fc.ShapeDtype((2, 2), fc.bfloat16)}
    graph = fc.make_graph(lambda x, a: fc.sin(x) * a)(HALF, 2.0)
    assert [n.primitive.name for n in graph.nodes] == ["sin", "convert", "broadcast_in_dim", "mul"]
    assert "sin a" in repr(graph) and graph._repr_svg_().startswith("<svg")


# ---- static and donated arguments ----------------------------------------------------------------


def test_static_arguments():
    f = fc.jit(lambda x, n, *, mode="a": x * n if mode == "a" else x, static_argnames="mode", static_argnums=1)
    x = fc.asarray([1.0, 2.0])
    assert f(x, 3).tolist() == [3.0, 6.0] and f(x, n=2).tolist() == [2.0, 4.0]
    assert f(x, 3, mode="b").tolist() == [1.0, 2.0]


def test_donation():
    x = fc.asarray(np.ones(1000, np.float32))
    y = fc.jit(lambda a: a * 2, donate_argnums=0)(x)
    assert y.sum().item() == 2000
    with pytest.raises(RuntimeError, match="donated"):
        (x + 1).block_until_ready()


def test_closures_over_traced_values():
    def f(x):
        inner = fc.jit(lambda y: x * y)
        return inner(x) + inner(2.0)

    assert fc.grad(f)(3.0).item() == 8.0
    assert fc.vmap(f)(fc.asarray([1.0, 2.0])).tolist() == [3.0, 8.0]


# ---- known calls -----------------------------------------------------------------------------------
# From the third call on a signature has code of its own (array/calls.py); each result is compared
# with that of the function without jit.

Pair = namedtuple("Pair", "first second")
A, B = fc.asarray([1.0, 2.0]), fc.asarray([3.0, 4.0])
MANY = {f"p{i}": fc.asarray(float(i)) for i in range(50)}
TREES = {
    "array": (A,),
    "three": (A, B, A),
    "tuple": ((A, B),),
    "list": ([A], B),
    "dict": ({"b": A, "a": B},),
    "many": (MANY,),
    "other keys": ({1: A, 0: B},),
    "none": ((A, None), None),
    "empty": ({}, (), A),
    "named tuple": (Pair(A, [B]),),
    "ordered": (OrderedDict(b=A, a=B),),
    "with a default": (defaultdict(list, b=A, a=B),),
    "nested": ([{"x": (A, [B])}],),
    "number": (A, 2),
    "floats": (A, 0.5, -0.0),
    "bool": (A, True),
    "complex": (A, 1j),
    "numpy": (A, np.ones(2, np.float32)),
    "scalar": (np.float32(2), A),
    "number in dict": ({"x": A, "n": 2.0},),
    "many and a number": (MANY, 0.5, A),
    "numbers alone": (1, 2.5),
}


def total(*args, **kwargs):
    """A tree like the arguments, and a sum that depends on which is which."""
    leaves = fc.tree.leaves((args, kwargs))
    return (args, kwargs), sum(fc.sum(x * (i + 1)) for i, x in enumerate(leaves))


def equal(found, wanted):
    leaves, structure = fc.tree.flatten(found)
    others, expected = fc.tree.flatten(wanted)
    assert structure == expected
    for a, b in zip(leaves, others):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


@pytest.mark.parametrize("name", TREES)
def test_a_known_call_is_like_the_first(name):
    f, args = fc.jit(total), TREES[name]
    for _ in range(4):
        equal(f(*args), total(*args))
    for _ in range(4):
        equal(f(*args, scale=A, b={"x": B}), total(*args, scale=A, b={"x": B}))
    equal(f(*args), total(*args))


def test_a_known_call_takes_no_other_for_itself():
    f = fc.jit(lambda t, n=1.0: fc.tree.map(lambda x: x * n, t))
    calls = [
        (MANY,),
        ({**MANY, "p0": A},),
        ({**MANY, "q": A},),
        ((A, B), 2),
        ((A, B), 2.0),
        ([A, B], 2),
        (Pair(A, B), 2),
        ((A, None), 2),
        ((A, (B,)), 2),
        ((A, B), True),
        ((A, B), np.float32(2)),
        ((A, B), np.ones(2)),
        ((A, B), np.ones(1)),
        ((A, B), np.ones(2, np.float32)),
        (A, -0.0),
        (A, 0.0),
        (A, float("nan")),
        (A, 2),
        (A, 3),
        (A.astype(fc.float64), 2),
        (fc.ones(2), 2),
    ]
    for _ in range(4):
        for args in calls:
            n = args[1] if len(args) == 2 else 1.0
            equal(f(*args), fc.tree.map(lambda x: x * n, args[0]))
    assert np.signbit(np.asarray(f(fc.ones(1), -0.0))).all()


@pytest.mark.parametrize("values", [(2, 3, True), ("a", "b", "a"), (None, (1, 2), (1, 3)), (1, 1.0, 1)], ids=str)
def test_static_arguments_of_known_calls(values):
    by_number = fc.jit(lambda x, how, y: ((x, y), repr(how))[0], static_argnums=1)
    seen = fc.jit(lambda x, *, how: fc.full((len(repr(how)),), x.sum()), static_argnames="how")
    for _ in range(4):
        for value in values:
            equal(by_number(A, value, B), (A, B))
            assert seen(A, how=value).shape == (len(repr(value)),)


def test_arguments_that_are_not_on_the_device_yet():
    f, g = fc.jit(lambda x, y: x + y), fc.jit(lambda x, y: {"sum": x + y, "x": x})
    for _ in range(4):
        x, y = fc.asarray([1.0, 2.0]), fc.ones(2) * 2
        assert f(x, y).tolist() == f(x, f(x, y) * 1 - x).tolist() == [3.0, 4.0]
        assert g(x, y)["sum"].tolist() == [3.0, 4.0] and g(f(x, y), y)["x"].tolist() == [3.0, 4.0]


def test_a_known_call_is_inlined_where_a_trace_is_active():
    f = fc.jit(lambda t: {"y": t["x"] * 2})
    for _ in range(4):
        f({"x": A})
    assert len(fc.make_graph(lambda x: f({"x": A})["y"] + x)(B).nodes) > 1
    assert fc.vmap(lambda x: f({"x": x})["y"])(A).tolist() == [2.0, 4.0]


def test_known_calls_name_what_fails():
    def fail(x):
        raise TypeError("by hand")

    f = fc.jit(lambda t: [fc.pure_callback(fail, fc.ShapeDtype((2,), fc.float32), t["x"])])
    for _ in range(4):
        with pytest.raises(TypeError, match="by hand"):
            fc.tree.leaves(f({"x": A}))[0].block_until_ready()
    g = fc.jit(lambda t, y: (t[0] + y, t[1]), donate_argnums=0)
    for _ in range(4):
        kept = (A * 1, B * 1)
        equal(g(kept, A), (A + A, B))
    with pytest.raises(RuntimeError, match="donated"):
        g(kept, A)


def test_what_is_written_to_an_argument_after_the_call_changes_nothing():
    f = fc.jit(lambda x, n: {"sum": x + n, "x": x * 1})
    x = np.zeros(3, np.float32)
    results = []
    for i in range(12):
        x[:] = i
        results.append(f(x, n=float(i)))
    x[:] = -1
    for i, r in enumerate(results):
        assert r["sum"].tolist() == [2.0 * i] * 3 and r["x"].tolist() == [i] * 3


def test_arguments_of_the_host_that_are_results():
    f = fc.jit(lambda x, n: (x, n, x + n))
    x = np.zeros(2, np.float32)
    results = []
    for i in range(6):
        x[:] = i
        results.append(f(x, i + 0.5))
    for i, (same, number, total) in enumerate(results):
        assert same.tolist() == [i, i] and float(number) == i + 0.5 and total.tolist() == [2 * i + 0.5] * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda i: np.arange(12, dtype=np.int32).reshape(3, 4).T[::-1] * i,
        lambda i: np.full((2, 2), i, fc.bfloat16),
        lambda i: np.float64(i),
        lambda i: i % 2 == 0,
        lambda i: i + 1j,
        lambda i: i - (i == 4) * 2**62 * 2,
        lambda i: np.full((300, 300), i),
        lambda i: np.zeros((0, 3)),
    ],
)
def test_arguments_of_the_host_of_many_kinds(make):
    f = fc.jit(lambda x: x + x)
    for i in range(7):
        np.testing.assert_array_equal(np.asarray(f(make(i))), np.asarray(fc.asarray(make(i)) + fc.asarray(make(i))))


def test_a_number_that_does_not_fit_raises_in_a_known_call():
    f = fc.jit(lambda x: x * 2)
    for i in range(4):
        f(i)
    with pytest.raises(OverflowError):
        f(2**64)
    assert int(f(7)) == 14


def test_threads_share_a_function_of_numpy_arrays():
    f = fc.jit(lambda x, n: fc.sin(x) * 0 + x + n)

    def work(k):
        x = np.empty(50, np.float32)
        for i in range(200):
            x[:] = k
            assert set(f(x, i).tolist()) == {k + i}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_a_program_that_still_runs_when_its_call_ends_keeps_its_arguments():
    """In a process of its own, whose client is asynchronous."""
    program = """
import numpy as np, functorch_core as fc
f = fc.jit(lambda x, n: (fc.fori_loop(0, 300, lambda i, a: fc.sin(a) + n, fc.zeros((64, 64)) + x[0]) * 0 + x[0]).sum())
x, found = np.zeros(4, np.float32), []
for i in range(40):
    x[:] = i
    found.append(f(x, float(i)))
assert [float(r) for r in found] == [4096.0 * i for i in range(40)], found
"""
    env = {**os.environ, "FUNCTORCH_CPU_ASYNC": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, env=env, timeout=100)
