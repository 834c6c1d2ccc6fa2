"""fc.jit: signatures, weak Python numbers, static and donated arguments, lowering ahead of time."""
from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc

HALF = fc.ones(3, dtype=fc.bfloat16)
DTYPES = [fc.float16, fc.bfloat16, fc.float32, fc.float64, fc.complex64]


# ---- Python numbers as arguments -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_number_takes_the_dtype_of_what_it_meets(dtype):
    scaled = fc.jit(lambda x, a: x * a)(fc.ones(2, dtype=dtype), 0.1)
    np.testing.assert_array_equal(np.asarray(scaled), np.full(2, 0.1).astype(dtype))


def test_arithmetic_of_numbers_stays_weak_and_as_wide_as_pythons():
    """An optimizer's corrected step size, which is a Python float without jit."""
    def corrected(x, rate, beta, t):
        return x * (rate * 2 / fc.sqrt(1 - beta ** t))
    found = fc.jit(corrected)(fc.ones(2, dtype=fc.float64), 0.1, 0.999, 3)
    np.testing.assert_allclose(np.asarray(found), 0.2 / np.sqrt(1 - 0.999 ** 3), rtol=1e-12)
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
        for a, n in [(0.5, 7), (0., 0), (-0., 1), (float("inf"), 2)]:
            np.testing.assert_array_equal(np.asarray(f(HALF, a, n)), np.asarray(HALF * a + n))
    assert np.signbit(np.asarray(fc.jit(lambda x, a: x * a)(fc.ones(1), -0.))).all()


def test_numbers_and_arrays_are_different_signatures():
    f = fc.jit(lambda x, a: x * a)
    assert f(HALF, 2.).dtype == fc.bfloat16
    assert f(HALF, fc.asarray(2.)).dtype == fc.float32
    assert f(HALF, np.float32(2)).dtype == fc.float32
    assert f(HALF, True).dtype == fc.bfloat16


USES = {
    "index": lambda x, n: x[n], "update": lambda x, n: x.at[n].set(9.),
    "slice": lambda x, n: fc.dynamic_slice(x, (n,), (2,)), "reduce": lambda x, n: x + fc.sum(n),
    "method": lambda x, n: x * n.astype(fc.float32), "where": lambda x, n: fc.where(n > 0, x, n),
    "full": lambda x, n: x + fc.full((3,), n), "asarray": lambda x, n: x + fc.asarray(n),
    "einsum": lambda x, n: fc.einsum("i,->i", x, n), "loop": lambda x, n: fc.fori_loop(
        0, n, lambda i, c: c + i, x), "carry": lambda x, n: fc.scan(lambda c, a: (c + a, c), n * 1., x)[0],
    "jit": lambda x, n: fc.jit(lambda a, b: a * b)(x, n), "clip": lambda x, n: fc.clip(x, -n, n),
    "grad": lambda x, n: fc.grad(lambda a: (a * n).sum())(x),
    "vmap": lambda x, n: fc.vmap(lambda a, b: a * b, in_axes=(0, None))(x, n),
    "checkpoint": lambda x, n: fc.checkpoint(lambda a, b: a * b)(x, n),
    "cond": lambda x, n: fc.cond(n > 0, fc.sin, fc.cos, x), "tree": lambda x, n: {"a": [n, x]},
}


@pytest.mark.parametrize("name", USES)
def test_a_traced_number_is_an_array(name):
    x = fc.asarray([1., 2., 3.])
    found, wanted = fc.jit(USES[name])(x, 1), USES[name](x, fc.asarray(1))
    for a, b in zip(fc.tree.leaves(found), fc.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def test_vmap_and_loops_keep_numbers_weak():
    assert fc.vmap(lambda a, b: a * b, in_axes=(0, None))(HALF, 2.).dtype == fc.bfloat16
    assert fc.checkpoint(lambda a, b: a * b)(HALF, 2.).dtype == fc.bfloat16
    assert fc.scan(lambda c, a: (c + a, None), 0., HALF)[0].dtype == fc.bfloat16
    assert fc.scan(lambda c, a: (c + a, None), 0, HALF)[0].dtype == fc.bfloat16
    assert fc.fori_loop(0, 2, lambda i, c: c + HALF[i], 0.).dtype == fc.bfloat16
    total = fc.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * HALF[0]), (0, 1.))
    assert [t.dtype for t in total] == [fc.int64, fc.bfloat16]


# ---- ahead of time -------------------------------------------------------------------------------


def test_lowering_and_compiling():
    f = fc.jit(lambda x, a: {"y": fc.sin(x) @ x * a})
    lowered = f.lower(fc.ShapeDtypeStruct((3,), fc.float32), 2.)
    assert "stablehlo" in lowered.as_text() and len(lowered.graph.nodes) > 3
    compiled = lowered.compile()
    x = fc.asarray([1., 2., 3.])
    np.testing.assert_allclose(compiled(x, 3.)["y"].item(), np.sin([1, 2, 3]) @ [1, 2, 3] * 3,
                               rtol=1e-6)
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis()["argument"] == 3 * 4 + 8
    assert compiled.as_text().startswith("HloModule")
    with fc.engine.fail_on_recompile():
        f(x, 5.)


def test_eval_shape_and_make_graph():
    out = fc.eval_shape(lambda x: {"a": x @ x}, fc.ShapeDtype((2, 2), fc.bfloat16))
    assert out == {"a": fc.ShapeDtype((2, 2), fc.bfloat16)}
    graph = fc.make_graph(lambda x, a: fc.sin(x) * a)(HALF, 2.)
    assert [n.primitive.name for n in graph.nodes] == ["sin", "convert", "broadcast_in_dim", "mul"]
    assert "sin a" in repr(graph) and graph._repr_svg_().startswith("<svg")


# ---- static and donated arguments ----------------------------------------------------------------


def test_static_arguments():
    f = fc.jit(lambda x, n, *, mode="a": x * n if mode == "a" else x, static_argnames="mode",
               static_argnums=1)
    x = fc.asarray([1., 2.])
    assert f(x, 3).tolist() == [3., 6.] and f(x, n=2).tolist() == [2., 4.]
    assert f(x, 3, mode="b").tolist() == [1., 2.]


def test_donation():
    x = fc.asarray(np.ones(1000, np.float32))
    y = fc.jit(lambda a: a * 2, donate_argnums=0)(x)
    assert y.sum().item() == 2000
    with pytest.raises(RuntimeError, match="donated"):
        (x + 1).block_until_ready()


def test_closures_over_traced_values():
    def f(x):
        inner = fc.jit(lambda y: x * y)
        return inner(x) + inner(2.)
    assert fc.grad(f)(3.).item() == 8.
    assert fc.vmap(f)(fc.asarray([1., 2.])).tolist() == [3., 8.]
