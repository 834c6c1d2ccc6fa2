"""The namespaces of JAX's names: what is in them, what they say of a missing name. Examples: tests/test_docs.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import jnn, lax
from functorch_core.array import environment
from tests.array import jax_names

# ---- the names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("module", sorted(jax_names.listed()))
def test_a_name_is_here_or_its_error_says_why_not(module):
    for name in jax_names.missing(module, jax_names.listed()[module]):
        reason = jax_names.reason(module, name)
        assert len(reason) > 30 and not reason.startswith("It has "), f"{module}.{name}: {reason!r}"


def test_no_reason_stands_for_a_module_of_names():
    said = [
        jax_names.reason(module, name)
        for module, _, _, gone, aside in jax_names.table()[:-1]
        for name in [*gone, *aside]
    ]
    assert max(map(said.count, said)) <= 2


@pytest.mark.parametrize(
    "get, words",
    [
        (lambda: jnp.int1, "jnp.bool_"),
        (lambda: jnp.concatinate, "concatenate"),
        (lambda: jnp.linalg.eigg, "eig"),
        (lambda: lax.sin_p, "functorch_core.primitives"),
        (lambda: jnn.Linear, "functorch_core.nn"),
        (lambda: fc.pmap, "fc.shard_map"),
        (lambda: fc.scipy.special.sph_harm, "sph_harm_y"),
        (lambda: fc.scipy.nothing, "special"),
    ],
)
def test_a_missing_name_says_what_to_use(get, words):
    with pytest.raises(AttributeError, match=words):
        get()


def test_the_namespaces_are_loaded_when_they_are_asked_for():
    code = (
        "import sys, functorch_core as fc; "
        "names = 'numpy lax scipy jnn array.environment'.split(); "
        "print([n for n in names if f'functorch_core.{n}' in sys.modules]); "
        "fc.numpy.zeros; fc.lax.scan; fc.scipy.stats.norm.pdf; print('numpy' in dir(fc))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]


# ---- what is no function of arrays alone ---------------------------------------------------------


def test_scalar_types():
    assert jnp.float32 == np.float32 and jnp.zeros(2, jnp.int8).dtype == jnp.int8
    assert jnp.int16(3).dtype == np.int16 and np.dtype(jnp.bfloat16).name == "bfloat16"
    assert {jnp.float32: 1}[np.dtype("float32")] == 1
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating) and not jnp.issubdtype(jnp.int8, jnp.floating)
    assert jnp.issubdtype(jnp.uint8, jnp.unsignedinteger) and jnp.issubdtype(np.float64, np.inexact)


def test_disable_jit():
    seen = []

    @fc.jit
    def f(x):
        seen.append(type(x).__name__ if isinstance(x, fc.Array) else x)
        return int(x) + 1 if environment.Jitted.disabled else x + 1

    x = fc.asarray(1.0)
    assert f(x).item() == 2.0 and f(x).item() == 2.0 and len(seen) == 1
    with fc.disable_jit():
        assert f(x) == 2 and f(x) == 2
    assert f(x).item() == 2.0 and len(seen) == 3


def test_jit_of_methods_and_partials():
    import functools

    class Scale:
        def __init__(self, by):
            self.by = by

        def call(self, x, *, power=1):
            return x**power * self.by

    assert fc.jit(Scale(3.0).call)(fc.asarray(2.0)).item() == 6.0
    assert fc.jit(functools.partial(Scale(3.0).call, power=2))(fc.asarray(2.0)).item() == 12.0


def test_config():
    assert fc.config.jax_enable_x64 and not fc.config.jax_debug_nans
    fc.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            (fc.asarray(-1.0) ** 0.5).item()
    finally:
        fc.config.update("jax_debug_nans", False)
    assert not fc.config.jax_debug_nans
    with pytest.raises(NotImplementedError, match="64 bits"):
        fc.config.update("jax_enable_x64", False)
    with pytest.raises(AttributeError, match="jax_log_compiles"):
        fc.config.nothing


def test_make_jaxpr():
    graph, shape = fc.make_jaxpr(lambda x, n: fc.sin(x) * n, static_argnums=1, return_shape=True)(fc.ones(2), 3)
    assert "sin" in str(graph) and shape.shape == (2,)


def test_debug_log_and_breakpoint(monkeypatch, caplog):
    stops = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(sys._getframe(1).f_locals["arrays"]))

    @fc.jit
    def f(x):
        y = x * 2
        fc.debug.breakpoint()
        fc.debug.log("y is {}", y)
        return y + 1

    with caplog.at_level("INFO", "functorch_core"):
        f(fc.asarray(1.0)).block_until_ready()
        fc.effects_barrier()
    assert [m.getMessage() for m in caplog.records] == ["y is 2.0"]
    assert {k: float(v) for k, v in stops[0].items()} == {"x": 1.0, "y": 2.0}


def test_initializers():
    key = fc.random.key(3)
    for name, scale, fan in [("he_normal", 2.0, 300), ("lecun_uniform", 1.0, 300), ("glorot_normal", 1.0, 350)]:
        drawn = np.asarray(getattr(jnn.initializers, name)()(key, (300, 400)))
        np.testing.assert_allclose(drawn.std(), np.sqrt(scale / fan), rtol=0.02)
        assert abs(drawn.mean()) < 1e-3
    drawn = np.asarray(
        jnn.initializers.variance_scaling(3.0, "fan_out", "truncated_normal")(key, (300, 400), "complex64")
    )
    np.testing.assert_allclose((np.abs(drawn) ** 2).mean(), 3 / 400, rtol=0.03)
    q = np.asarray(jnn.initializers.orthogonal(2.0)(key, (3, 2, 4), "float64")).reshape(6, 4)
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(4), atol=1e-12)
    delta = np.asarray(jnn.initializers.delta_orthogonal()(key, (3, 3, 4, 4), "float64"))
    np.testing.assert_allclose(delta[1, 1].T @ delta[1, 1], np.eye(4), atol=1e-12)
    assert not delta[0].any()
    with pytest.raises(ValueError, match="two dimensions"):
        jnn.initializers.he_normal()(key, (3,))


def test_ravel_pytree():
    tree = {"a": fc.asarray([1.0, 2.0]), "b": (fc.asarray(3), fc.ones((1, 2)))}
    vector, unravel = fc.flatten_util.ravel_pytree(tree)
    assert vector.tolist() == [1.0, 2.0, 3.0, 1.0, 1.0]
    back = unravel(vector * 2)
    assert back["b"][0].dtype == fc.int64 and back["b"][0].item() == 6 and back["b"][1].shape == (1, 2)
    slope = fc.grad(lambda v: unravel(v)["a"].sum())(vector)
    assert slope.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="float32\\[5\\]"):  # as JAX
        unravel(vector[:2])


def test_errors():
    from functorch_core import errors

    with pytest.raises(errors.TracerBoolConversionError):
        fc.jit(lambda x: 1 if x > 0 else 2)(fc.asarray(1.0))


def test_positional_and_keyword_arguments_of_composed_functions():
    x = fc.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert jnp.sum(x, 0).tolist() == [4.0, 6.0] == jnp.sum(a=x, axis=0).tolist()
    assert jnp.mean(x, axis=(0, 1)).item() == 2.5
    with pytest.raises(TypeError, match="fc.numpy.sum"):
        jnp.sum(x, axes=0)
    with pytest.raises(TypeError, match="multiple values"):
        jnp.sum(x, a=x)
    assert fc.vmap(jnp.var)(x).tolist() == [0.25, 0.25]


def test_the_table_of_the_documentation_is_of_today():
    page = Path(__file__).parents[2] / "docs" / "coming_from_jax.md"
    assert jax_names.markdown() in page.read_text(encoding="utf-8")
