"""Functions exported for all sizes: against the functions at sizes that the export has not seen."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import export, jnn, lax, optax
from functorch_core.array.templates import holds, template


def spec(text: str, dtype=jnp.float32, **options):
    return fc.ShapeDtypeStruct(export.symbolic_shape(text, **options), dtype)


def draw(*shape, seed=0):
    return fc.random.normal(fc.random.key(seed), shape)


def network(params, x):
    h = jnn.relu(x @ params["w"] + params["b"])
    return jnn.softmax(h).mean(0), jnp.concatenate([h, h], 0)


PARAMS = {"w": draw(3, 4, seed=1), "b": draw(4, seed=2)}
LIKE = fc.tree.map(lambda x: fc.ShapeDtypeStruct(x.shape, x.dtype), PARAMS)
CASES = {
    "network": (network, (LIKE, spec("b, 3")), [(PARAMS, draw(n, 3)) for n in (1, 2, 5, 300)]),
    "standard error": (lambda x: jnp.std(x, ddof=1) / jnp.sqrt(x.shape[0]), (spec("n"),), [(draw(50),), (draw(7),)]),
    "running sums": (lambda x: jnp.cumsum(x, 0), (spec("n, 2"),), [(draw(50, 2),), (draw(3, 2),)]),
    "sorted": (jnp.sort, (spec("n"),), [(draw(1500),), (draw(2),)]),
    "positions": (lambda x: x * jnp.arange(x.shape[0])[:, None], (spec("n, 2"),), [(draw(9, 2),)]),
    "attention": (
        lambda q, k: fc.dot_product_attention(q, k, k),
        (spec("b, t, 2, 8"), spec("b, s, 2, 8")),
        [(draw(2, 5, 2, 8), draw(2, 9, 2, 8, seed=3))],
    ),
    "convolution": (
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        (spec("b, 3, h, w"), fc.ShapeDtypeStruct((4, 3, 3, 3), jnp.float32)),
        [(draw(2, 3, 9, 8), draw(4, 3, 3, 3, seed=4))],
    ),
    "strides": (lambda x: x[:, ::2].sum(1), (spec("b, 2*h"),), [(draw(3, 8),)]),
    "reshaped": (lambda x: x.reshape(-1, 4), (spec("2*n, 6"),), [(draw(4, 6),)]),
    "outer": (lambda x, y: x[:, None] * y, (spec("a"), spec("c")), [(draw(4), draw(9))]),
    "pairs": (lambda x: x @ jnp.eye(x.shape[0]), (spec("n, n"),), [(draw(7, 7),)]),
    "loop": (lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x), (spec("n"),), [(draw(40),)]),
    "angles and remainders": (
        lambda x: (jnp.sin(x), jnp.tan(x), jnp.arcsin(x / 9), jnp.arctan2(x, jnp.cos(x)), jnp.fmod(x, 0.7)),
        (spec("n"),),
        [(draw(n),) for n in (1, 70, 5000)],
    ),
    "numbers": (lambda x, s: x * s, (spec("n"), 2.0), [(draw(6), 3.5)]),
}


@pytest.mark.parametrize("name", CASES)
def test_at_other_sizes(name):
    function, specs, calls = CASES[name]
    exported = export.export(fc.jit(function))(*specs)
    loaded = export.deserialize(exported.serialize())
    for args in calls:
        wanted = fc.tree.leaves(function(*args))
        for found in (exported.call(*args), loaded.call(*args)):
            for a, b in zip(fc.tree.leaves(found), wanted, strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_shapes_are_told():
    exported = export.export(fc.jit(network))(LIKE, spec("b, 3"))
    assert (
        repr(exported)
        == "Exported(fun_name=network, float32[4], float32[3,4], float32[b,3] -> float32[4], float32[2*b,4])"
    )
    assert export.is_symbolic_dim(exported.out_avals[1].shape[0]) and not export.is_symbolic_dim(4)
    assert exported.at(b=8).out_avals[1].shape == (16, 4) and "tensor<8x3xf32>" in exported.at(b=8).mlir_module()
    with pytest.raises(ValueError, match="at\\(b=8\\)"):
        exported.mlir_module()


def test_derivatives():
    exported = export.export(fc.jit(network))(LIKE, spec("b, 3"))
    loaded = export.deserialize(exported.serialize(vjp_order=1))
    x = draw(9, 3)
    loss = lambda f: lambda p: (f(p, x)[0] ** 2).sum()  # noqa: E731
    wanted = fc.grad(loss(network))(PARAMS)
    for f in (loaded.call, fc.jit(loaded.call)):
        optax.tree.allclose(fc.grad(loss(f))(PARAMS), wanted)
    (one, *_) = exported.vjp().call(*fc.tree.leaves(PARAMS), x, *network(PARAMS, x))
    assert one.shape == (4,)


@pytest.mark.parametrize(
    "function, specs",
    [
        (lambda x: x if x.shape[0] < 40 else 2 * x, ["n"]),
        (lambda x: x if x.shape[0] < 5000 else 2 * x, ["n"]),
        (lambda x: x * float(np.log(x.shape[0])), ["n"]),
        (lambda x: x * (x.shape[0] // 3), ["n"]),
        (lambda x: lax.associative_scan(jnp.add, x), ["n"]),
    ],
)
def test_programs_that_depend_on_sizes_otherwise_are_refused(function, specs):
    with pytest.raises(ValueError, match="another one for other sizes"):
        export.export(fc.jit(function))(*map(spec, specs))


def test_calls_that_do_not_fit():
    exported = export.export(fc.jit(lambda x, y: x.sum() + y))(
        spec("2*n", constraints=["n >= 8", "mod(n, 8) == 0"]), spec("2")
    )
    assert float(exported.call(draw(32), draw(2)).sum()) and exported.fun_name == "<lambda>"
    for x, message in [
        (draw(31), "2\\*n is 31"),
        (draw(18), "mod\\(n, 8\\) == 0 does not hold"),
        (draw(32, 2), "same ranks"),
    ]:
        with pytest.raises(ValueError, match=message):
            exported.call(x, draw(2))
    with pytest.raises(TypeError, match=r"takes float32\[32\], float32\[2\]"):
        exported.call(jnp.ones(32, jnp.int32), draw(2))
    both = export.export(fc.jit(lambda x, y: x + y))(spec("n"), spec("n"))
    with pytest.raises(ValueError, match="n is 4 where"):
        both.call(draw(4), draw(5))


def test_shapes_by_name():
    n, m = export.symbolic_shape("n, 2*n + m - 1")
    assert (str(n), str(m)) == ("n", "m + 2*n - 1") and m - n * 2 == export.symbolic_shape("m - 1")[0]
    assert (
        export.symbolic_shape("b, ...", like=(4, 5, 6))[1:] == (5, 6)
        and export.symbolic_shape("(_, b)", like=(7, 2))[0] == 7
    )
    assert n * n + 1 != n and n + 0 == n and hash(n * 1) == hash(n) and 3 * n - n == 2 * n and str(1 - n) == "-1*n + 1"
    scope = export.SymbolicScope(["a >= 100"])
    exported = export.export(fc.jit(jnp.sum))(spec("a", scope=scope))
    assert float(exported.call(jnp.ones(100))) == 100
    for wrong in ("n / 2", "n +", "f(n)", "..."):
        with pytest.raises(ValueError, match="is no size"):
            export.symbolic_shape(wrong)
    with pytest.raises(fc.errors.InconclusiveDimensionOperation, match="constraints"):
        n > 3  # noqa: B015
    with pytest.raises(ValueError, match="no sizes were found"):
        export.export(fc.jit(jnp.sum))(spec("a", constraints=["a >= 10", "a <= 3"]))
    args = {"x": np.ones((4, 3), np.float32), "y": 2}
    found = export.symbolic_args_specs(args, {"x": "b, ...", "y": None})
    assert str(found["x"].shape) == "(b, 3)" and found["y"].shape == ()


@pytest.mark.parametrize("function", [jnp.sort, jnp.argsort, jnp.median, lambda x: lax.top_k(x, 3)[0]])
def test_exports_call_neither_python_nor_libraries(function):
    """A sort of 1,000 numbers and more called Python: loaded from its bytes it ended the process."""
    x = draw(3000)
    exported = export.export(fc.jit(function))(x)
    assert "custom_call" not in exported.mlir_module()
    np.testing.assert_array_equal(export.deserialize(exported.serialize()).call(x), function(x))


def test_exported_convolutions_are_stablehlo():
    x, w = draw(8, 16, 32, 32), draw(64, 16, 3, 3, seed=1)
    exported = export.export(fc.jit(lambda x, w: lax.conv(x, w, (1, 1), "SAME")))(x, w)
    assert "custom_call" not in exported.mlir_module() and "stablehlo.convolution" in exported.mlir_module()
    found = export.deserialize(exported.serialize()).call(x, w)
    np.testing.assert_allclose(found, lax.conv(x, w, (1, 1), "SAME"), rtol=1e-3, atol=1e-3)


def test_lines_of_python_are_no_part_of_a_program():
    text = '%c = stablehlo.abs %a : tensor<{b}x3xf32> loc(#loc1)\n#loc1 = loc("abs"("{file}":{line}:0))\n'
    texts = [text.format(b=b, file=f"{b % 2}.py", line=b % 3) for b in range(5, 10)]
    found = template("f", texts, [{"b": b} for b in range(5, 10)], ["b"])
    assert found.at({"b": 11}) == "%c = stablehlo.abs %a : tensor<11x3xf32>\n"
    holds("f", found, text.format(b=11, file="c.py", line=5), {"b": 11}, {"b": 5})
