"""Settings, stages of jit, scopes, donation, profiles: what surrounds functions, as JAX has it."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import export
from functorch_core.core.errors import LeakError
from functorch_core.experimental import serialize_executable
from functorch_core.xla.errors import ExecutionError

X = np.float32([1, 2, 3])

# ---- settings ------------------------------------------------------------------------------------


def test_debug_infs():
    with fc.debug_infs():
        fc.log(fc.asarray(-1.0)).block_until_ready()  # NaN is another matter
        with pytest.raises(FloatingPointError, match=r"infinity: `div` of .* computed 2 infinity"):
            fc.jit(lambda x: x / 0)(X[:2])
        with fc.debug_nans(), pytest.raises(FloatingPointError, match="NaN: `log`"):
            fc.jit(fc.log)(-X)
    fc.jit(lambda x: x / 0)(X)


def test_leaks_are_found_when_the_trace_ends():
    kept = []
    f = fc.jit(lambda x: (kept.append(x * 2), x + 1)[1])
    f(X)
    kept.clear()
    f.clear_cache()
    with fc.checking_leaks(), pytest.raises(LeakError, match="test_environment.py"):
        f(X)
    kept.clear()
    with fc.check_tracer_leaks():
        np.testing.assert_array_equal(fc.jit(fc.grad(lambda x: (x**2).sum()))(X), 2 * X)


def test_config():
    for name in ("jax_debug_infs", "jax_check_tracer_leaks", "jax_disable_jit"):
        assert fc.config.read(name) is False
        fc.config.update(name, True)
        assert getattr(fc.config, name) is True
        fc.config.update(name, False)
        assert fc.config.read(name) is False
    fc.config.update("jax_default_prng_impl", "rbg")
    assert fc.random.key(0).dtype == fc.random.key_dtype("rbg") and fc.random.PRNGKey(0).shape == (4,)
    fc.config.update("jax_default_prng_impl", "threefry2x32")
    assert fc.random.PRNGKey(0).shape == (2,)
    fc.config.update("jax_default_matmul_precision", "highest")
    assert fc.config.jax_default_matmul_precision == "highest"
    fc.config.update("jax_default_matmul_precision", None)
    assert fc.config.jax_threefry_partitionable is True
    with pytest.raises(NotImplementedError, match="'standard', always"):
        fc.config.update("jax_numpy_dtype_promotion", "strict")
    with pytest.raises(ValueError, match="is one of"), fc.default_matmul_precision("float8"):
        pass
    with pytest.raises(AttributeError, match="it has jax_disable_jit"):
        fc.config.update("jax_platform", "cpu")


def test_clear_caches_and_live_arrays():
    traces = []
    f = fc.jit(lambda x: (traces.append(1), x + 1)[1])
    f(X), f(X)
    assert len(traces) == 1
    fc.clear_caches()
    f(X)
    assert len(traces) == 2
    x = fc.full((7, 11), 2.5).block_until_ready()
    assert any(y.shape == (7, 11) for y in fc.live_arrays()) and x.shape == (7, 11)


@pytest.mark.parametrize("jitted", [True, False])
def test_fwd_and_bwd(jitted):
    traces = []

    def f(x, w, n):
        traces.append(1)
        return {"y": (w["a"] @ x) ** n}, x.sum()

    fwd, bwd = fc.fwd_and_bwd(f, argnums=(0, 1), has_aux=True, jitted=jitted)
    w = {"a": fc.asarray(np.eye(3, dtype=np.float32) * 2)}
    for scale in (1.0, 2.0):
        x = fc.asarray(X * scale)
        value, residuals, aux = fwd(x, w, 2.0)
        dx, dw = bwd(residuals, {"y": fc.ones(3)})
        np.testing.assert_allclose(value["y"], (2 * X * scale) ** 2, rtol=1e-6)
        np.testing.assert_allclose(dx, 8 * X * scale, rtol=1e-6)
        np.testing.assert_allclose(dw["a"], np.outer(4 * X * scale, X * scale), rtol=1e-6)
        assert float(aux) == X.sum() * scale
    assert len(traces) == (1 if jitted else 2)
    fwd, bwd = fc.fwd_and_bwd(lambda x: x**2, argnums=0)
    assert float(bwd(fwd(3.0)[1], fc.asarray(1.0))) == 6


# ---- stages --------------------------------------------------------------------------------------


def test_stages_tell_their_signature():
    f = fc.jit(lambda p, *, k: {"y": p["w"] * k})
    spec = {"w": fc.ShapeDtypeStruct((3,), np.float32)}
    traced = f.trace(spec, k=2.0)
    assert [n.primitive.name for n in traced.jaxpr.nodes][-1] == "mul" and traced.fun_name == "<lambda>"
    for stage in (traced, traced.lower(), f.lower(spec, k=2.0).compile()):
        assert stage.out_info == {"y": fc.ShapeDtype((3,), np.float32)} and stage.donate_argnums == ()
        assert stage.in_tree == fc.tree.structure((({"w": 0},), {"k": 0}))
        assert stage.in_avals[0][0]["w"] == fc.ShapeDtype((3,), np.float32)
    assert f.eval_shape(spec, k=2.0) == traced.out_info
    lowered = traced.lower()
    assert "loc(" in lowered.as_text() and "loc(" not in lowered.as_text(debug_info=False)
    assert "HloModule" in lowered.as_text("hlo") and "flops" in lowered.cost_analysis()
    with pytest.raises(ValueError, match="dialect"):
        lowered.as_text("mhlo")


def test_scopes_are_in_the_program():
    def f(x):
        with fc.named_scope("outer"):
            with fc.named_scope("inner"):
                y = fc.sin(x)
            return fc.named_call(fc.cos, name="mine")(y)

    lowered = fc.jit(f).lower(X)
    for text in (lowered.as_text(), lowered.compile().as_text()):
        assert "outer/inner/sin" in text and "outer/mine/cos" in text
    assert "outer/inner/mul" in fc.jit(fc.grad(lambda x: f(x).sum())).lower(X).as_text()
    assert "outer" not in fc.jit(fc.sin).lower(X).as_text()


SAVE = """
import pickle, sys
import functorch_core as fc, numpy as np
from functorch_core.experimental import serialize_executable as s
c = fc.asarray(np.arange(5000, dtype=np.float32))
f = fc.jit(lambda x, k: {"a": x * k + c[:3], "b": x, "c": fc.linalg.cholesky(fc.eye(3) * 4), "d": c})
open(sys.argv[1], "wb").write(pickle.dumps(s.serialize(f.lower(fc.ones(3), 2.0).compile())))
"""


def test_compiled_functions_are_saved(tmp_path):
    file = tmp_path / "f.bin"
    for _ in range(2):  # compiled, then from the cache on disk
        subprocess.run([sys.executable, "-c", SAVE, file], check=True)
        saved = pickle.loads(file.read_bytes())
        compiled = serialize_executable.deserialize_and_load(*saved)
        for again in (compiled, serialize_executable.deserialize_and_load(*saved)):
            out = again(fc.asarray(X), 2.0)
            np.testing.assert_allclose(out["a"], X * 2 + [0, 1, 2])
            np.testing.assert_allclose(out["b"], X)
            np.testing.assert_allclose(out["c"], np.eye(3) * 2)
            assert out["d"].shape == (5000,) and float(out["d"][-1]) == 4999
    assert compiled.out_info["a"] == fc.ShapeDtype((3,), np.float32)
    with pytest.raises(TypeError, match="was called with"):
        compiled(fc.ones(4), 2.0)
    with pytest.raises(ValueError, match="something else"):
        serialize_executable.deserialize_and_load(b"x" * 40, *saved[1:])


# ---- export --------------------------------------------------------------------------------------


def exported():
    c = fc.asarray(np.arange(5000, dtype=np.float32))

    def f(p, x, *, k):
        return {"y": p["w"] * x * c[1:4] + k, "z": (x.sum(), None)}

    return f, export.export(fc.jit(f))({"w": fc.ones(3)}, fc.ShapeDtypeStruct((3,), np.float32), k=2.0)


def test_exported_functions_are_called_and_differentiated():
    f, there = exported()
    back = export.deserialize(there.serialize(vjp_order=1))
    assert back.platforms == ("cpu",) and back.out_avals == there.out_avals and back.in_tree == there.in_tree
    p, x = {"w": fc.asarray(X)}, fc.asarray(X[::-1].copy())
    for call in (there.call, back.call, fc.jit(back.call)):
        for a, b in zip(fc.tree.leaves(call(p, x, k=3.0)), fc.tree.leaves(f(p, x, k=3.0))):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        slope = fc.grad(lambda x: call(p, x, k=3.0)["y"].sum())(x)
        np.testing.assert_allclose(slope, X * [1, 2, 3], rtol=1e-6)
    many = fc.vmap(lambda x: back.call(p, x, k=3.0)["y"])(fc.stack([x, 2 * x]))
    np.testing.assert_allclose(many[1], f(p, 2 * x, k=3.0)["y"], rtol=1e-6)
    with pytest.raises(TypeError, match=r"takes float32\[3\], float32\[3\], float"):
        back.call(p, fc.ones(4), k=3.0)
    plain = export.deserialize(there.serialize())
    assert not plain.has_vjp() and back.has_vjp()
    with pytest.raises(ValueError, match="vjp_order=1"):
        plain.vjp()


def test_another_runtime_loads_the_module():
    """The artifact, by jaxlib's own StableHLO and XLA, without anything of this library."""
    _, there = exported()
    program = """
import sys, numpy as np
from jaxlib import xla_client
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
context = ir.Context()
stablehlo.register_dialect(context)
module = stablehlo.deserialize_portable_artifact(context, sys.stdin.buffer.read())
main = next(op for op in module.body.operations if op.name.value == "main")
print(main.type, "functorch_core" in sys.modules)
"""
    out = subprocess.run(
        [sys.executable, "-c", program], input=there.mlir_module_serialized, capture_output=True, check=True
    )
    assert "(tensor<3xf32>, tensor<3xf32>, tensor<f64>) -> (tensor<3xf32>, tensor<f32>) False" in out.stdout.decode()
    assert "func.func public @main" in there.mlir_module()


@fc.tree.register_pytree_node_class
class Pair:
    """A container with something beside its children."""

    def __init__(self, a, b, label):
        self.a, self.b, self.label = a, b, label

    def tree_flatten(self):
        return (self.a, self.b), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)


def test_containers_of_exported_functions():
    f = fc.jit(lambda pair: Pair(pair.b, [pair.a], pair.label + "!"))
    with pytest.raises(TypeError, match="register_pytree_node_serialization"):
        export.export(f)(Pair(1.0, 2.0, "x")).serialize()
    export.register_pytree_node_serialization(
        Pair, serialized_name="test.Pair", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
    )
    back = export.deserialize(export.export(f)(Pair(1.0, 2.0, "x")).serialize())
    out = back.call(Pair(3.0, 4.0, "x"))
    assert out.label == "x!" and float(out.a) == 4 and float(out.b[0]) == 3


def test_what_cannot_be_exported():
    with pytest.raises(ValueError, match="takes what fc.jit made"):
        export.export(lambda x: x)
    with pytest.raises(TypeError, match="calls Python"):
        export.export(fc.jit(lambda x: fc.pure_callback(np.sin, x, x)))(fc.asarray(X))
    with pytest.raises(ValueError, match="something else"):
        export.deserialize(b"no export at all, but bytes")


# ---- donation ------------------------------------------------------------------------------------

give = fc.jit(lambda x: x + 1, donate_argnums=0)


def test_what_was_donated_is_an_error_at_every_use():
    x = fc.jit(lambda x: x * 1)(X)
    before = x * 2  # recorded, and reads what is given away next
    y = give(x)
    after = y * 3
    assert x.is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(before, X * 2)
    uses = [
        lambda: x * 2,
        lambda: -x,
        lambda: fc.sin(x),
        lambda: x[0],
        lambda: np.asarray(x),
        lambda: fc.jit(fc.sin)(x),
        lambda: fc.stack([x, x]),
        lambda: fc.grad(lambda x: (x * 2).sum())(x),
        lambda: give(x),
    ]
    for use in uses:
        with pytest.raises(ExecutionError, match="donated"):
            use()
    np.testing.assert_array_equal(after, (X + 1) * 3)  # which none of these has spoiled


def test_delete():
    x = fc.jit(lambda x: x * 1)(X)
    y = x + 1
    x.delete()
    assert x.is_deleted() and not fc.asarray(X).is_deleted()
    np.testing.assert_array_equal(y, X + 1)
    with pytest.raises(ExecutionError, match="deleted"):
        x + 1


# ---- profiles ------------------------------------------------------------------------------------


def test_profiles(tmp_path):
    def work():
        with fc.profiler.TraceAnnotation("my_annotation", step=3):
            fc.jit(lambda x: fc.sin(x) @ x)(fc.ones((64, 64))).block_until_ready()
        with fc.profiler.StepTraceAnnotation("train", step_num=1):
            fc.profiler.annotate_function(lambda: None, name="my_function")()

    with fc.profiler.trace(tmp_path):
        work()
        with pytest.raises(RuntimeError, match="already"):
            fc.profiler.start_trace(tmp_path)
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    found = file.read_bytes()
    assert b"my_annotation" in found and b"my_function" in found and b"train" in found
    with pytest.raises(RuntimeError, match="no profile"):
        fc.profiler.stop_trace()
    fc.profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert (tmp_path / "memory.prof").stat().st_size


def test_arrays_stand_for_pythons_numbers_in_what_was_traced_with_them():
    converted, _ = fc.closure_convert(lambda x, y: x * 2 + y, 1.0, 2)
    assert converted(3.0, 1) == converted(fc.asarray(3.0), fc.asarray(1, dtype=fc.int32)) == 7.0
    exported = fc.export.export(fc.jit(fc.sin))(1.0)
    loaded = fc.export.deserialize(exported.serialize(vjp_order=1))
    for call in (exported.call, loaded.call):
        assert abs(float(fc.grad(call)(1.0)) - np.cos(1.0)) < 1e-6
        assert abs(float(call(fc.asarray(2.0))) - np.sin(2.0)) < 1e-6
    with pytest.raises(TypeError, match=r"float32\[1\]"):
        loaded.call(fc.asarray([1.0]))
    newton = lambda f, x: fc.fori_loop(0, 20, lambda _, x: x - f(x) / fc.grad(f)(x), x)  # noqa: E731
    root = fc.lax.custom_root(lambda x: x**2 - 2.0, 1.0, newton, lambda g, y: y / g(1.0))
    assert abs(float(root) - 2**0.5) < 1e-6
