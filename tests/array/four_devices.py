"""What arrays over several devices are and do, against NumPy: test_sharding.py runs this file in a process that
has four."""

import re

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import lax
from functorch_core import numpy as jnp
from functorch_core.sharding import Mesh, NamedSharding, SingleDeviceSharding
from functorch_core.sharding import PartitionSpec as P

X = np.arange(32, dtype=np.float32).reshape(8, 4)
SPECS = [P(), P("x"), P("y"), P(None, "x"), P("x", "y"), P("y", "x"), P(("x", "y")), P(("y", "x")), P(None, ("x", "y"))]


@pytest.fixture
def mesh():
    return fc.make_mesh((2, 2), ("x", "y"))


@pytest.fixture
def line():
    return fc.make_mesh((4,), ("x",))


def collectives(fun, *args) -> list[str]:
    """The collectives in the program of a jitted function's call."""
    fun(*args)
    (program,) = fun._jitted.on_mesh.programs.values()
    names = "all-reduce|all-gather|collective-permute|all-to-all|reduce-scatter"
    return re.findall(rf"({names})\(", program.executable.hlo_text())


# ---- meshes and shardings ------------------------------------------------------------------------


def test_matrices_in_rows_are_factored(line):
    """First of all: once a program for one device has called LAPACK, XLA knows its functions."""
    matrix = np.eye(4, dtype=np.float32) * 4 + 1
    shared = fc.device_put(fc.asarray(matrix), NamedSharding(line, P(line.axis_names[0])))
    np.testing.assert_allclose(np.asarray(jnp.linalg.inv(shared)), np.linalg.inv(matrix), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(jnp.linalg.cholesky(shared)), np.linalg.cholesky(matrix), rtol=1e-5)


def test_meshes(mesh):
    assert dict(mesh.shape) == {"x": 2, "y": 2} and mesh.size == 4 and mesh.axis_names == ("x", "y")
    assert mesh == fc.make_mesh((2, 2), ("x", "y")) and mesh != fc.make_mesh((4, 1), ("x", "y"))
    assert repr(mesh) == "Mesh('x': 2, 'y': 2)"
    with pytest.raises(ValueError, match="need 8 devices, there are 4"):
        fc.make_mesh((8,), ("x",))
    with pytest.raises(ValueError, match="have 1 names"):
        Mesh(np.array(fc.devices()).reshape(2, 2), ("x",))
    with pytest.raises(ValueError, match="one name"):
        fc.make_mesh((2, 2), ("x", "x"))


def test_shardings(mesh):
    sharding = NamedSharding(mesh, P("x", None))
    assert sharding == NamedSharding(mesh, P("x")) and hash(sharding) == hash(NamedSharding(mesh, P("x")))
    assert sharding.shard_shape((8, 4)) == (4, 4) and not sharding.is_fully_replicated
    assert NamedSharding(mesh, P()).is_fully_replicated
    assert repr(P("x", None)) == "PartitionSpec('x', None)"
    with pytest.raises(ValueError, match="the mesh has"):
        NamedSharding(mesh, P("z"))
    with pytest.raises(ValueError, match="twice"):
        NamedSharding(mesh, P("x", "x"))
    with pytest.raises(ValueError, match="multiple of that"):
        fc.device_put(np.ones((3, 2)), sharding)
    with pytest.raises(ValueError, match="is for 2 dimensions"):
        fc.device_put(np.ones(4), sharding)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_arrays_are_divided(mesh, spec):
    x = fc.device_put(X, NamedSharding(mesh, spec))
    assert x.sharding == NamedSharding(mesh, spec) and x.devices() == set(fc.devices())
    np.testing.assert_array_equal(np.asarray(x), X)
    shards = x.addressable_shards
    assert [s.device for s in shards] == list(mesh.devices.flat)
    for shard in shards:
        np.testing.assert_array_equal(np.asarray(shard.data), X[shard.index])
        assert shard.data.shape == x.sharding.shard_shape(X.shape) and shard.data.device is shard.device
    assert sum(s.replica_id == 0 for s in shards) == 4 // (4 * shards[0].data.size // X.size)
    np.testing.assert_array_equal(np.asarray(x.addressable_data(1)), np.asarray(shards[1].data))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int8", "bool", "complex64", "uint64"])
def test_dtypes_are_kept(mesh, dtype):
    x = fc.asarray(X).astype(dtype)
    y = fc.device_put(x, NamedSharding(mesh, P("y", "x")))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("before", [P("x", "y"), P(None, "y")], ids=str)
def test_arrays_are_moved(mesh, before, spec):
    x = fc.device_put(fc.device_put(X, NamedSharding(mesh, before)), NamedSharding(mesh, spec))
    assert x.sharding == NamedSharding(mesh, spec)
    np.testing.assert_array_equal(np.asarray(x), X)


def test_one_device_and_back(mesh):
    x = fc.device_put(X, NamedSharding(mesh, P("x")))
    one = fc.device_put(x, fc.devices()[2])
    assert one.device is fc.devices()[2] and one.sharding == SingleDeviceSharding(fc.devices()[2])
    again = fc.device_put(one, NamedSharding(mesh, P("y")))
    np.testing.assert_array_equal(np.asarray(again), X)
    np.testing.assert_array_equal(np.asarray(fc.device_put(x, SingleDeviceSharding(fc.devices()[0]))), X)


def test_pytrees(mesh):
    one, two = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    both = fc.device_put({"a": X, "b": [X, X]}, {"a": one, "b": two})
    assert both["a"].sharding == one and {b.sharding for b in both["b"]} == {two}


def test_made_of_parts(mesh):
    sharding = NamedSharding(mesh, P("x", "y"))
    x = fc.make_array_from_callback(X.shape, sharding, lambda index: X[index])
    np.testing.assert_array_equal(np.asarray(x), X)
    y = fc.make_array_from_single_device_arrays(X.shape, sharding, [s.data for s in x.addressable_shards])
    np.testing.assert_array_equal(np.asarray(y + 1), X + 1)
    with pytest.raises(ValueError, match="has shape"):
        fc.make_array_from_single_device_arrays(X.shape, sharding, [fc.ones(3)] * 4)
    with pytest.raises(ValueError, match="one is needed for each"):
        fc.make_array_from_single_device_arrays(X.shape, sharding, [fc.ones((4, 2))])


def test_live_arrays_are_whole(mesh):
    x = fc.device_put(X, NamedSharding(mesh, P("x", "y")))
    found = [y for y in fc.live_arrays() if y.shape == X.shape and y.sharding == x.sharding]
    assert found and all((np.asarray(y) == X).all() for y in found)


# ---- computing -----------------------------------------------------------------------------------


def test_operations_stay_on_the_mesh(mesh):
    x = fc.device_put(X, NamedSharding(mesh, P("x", "y")))
    for found, wanted in [
        (x + 1, X + 1),
        (2.5 * x, 2.5 * X),
        (x @ x.T, X @ X.T),
        (fc.sum(x, axis=0), X.sum(0)),
        (x[1:3, ::2], X[1:3, ::2]),
        (fc.sort(-x, axis=0), np.sort(-X, axis=0)),
        (fc.concat([x, fc.asarray(X)]), np.concatenate([X, X])),
        (fc.where(x > 3, x, 0.0), np.where(X > 3, X, 0)),
    ]:
        assert found.devices() == set(fc.devices())
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)
    assert (x + 1).sharding == x.sharding
    odd = np.where(X == 5, np.nan, np.where(X == 9, np.inf, np.where(X == 13, -np.inf, X)))
    for reduce in (fc.max, fc.min):
        wanted = np.asarray(reduce(fc.asarray(odd), axis=0))
        found = reduce(fc.device_put(odd, x.sharding), axis=0)
        np.testing.assert_array_equal(np.asarray(found), wanted)
    assert float(x.sum()) == X.sum() and bool((x == X).all()) and x.tolist() == X.tolist()
    assert repr(x) == repr(fc.asarray(X))


def test_tensors_hold_them(mesh):
    """Seen calls too, which the recorder takes by ways of their own: one operand, two, several."""
    from functorch_core import torch

    for _ in range(3):
        t = torch.as_tensor(fc.device_put(X, NamedSharding(mesh, P("x", "y"))))
        for found, wanted in [
            (t.view(32), X.ravel()),
            (t.tanh(), np.tanh(X)),
            (t + t, 2 * X),
            (t[1:3], X[1:3]),
            (torch.cat([t, t]), np.concatenate([X, X])),
        ]:
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_arrays_on_other_devices_say_so(mesh):
    x = fc.device_put(X, NamedSharding(mesh, P("x")))
    half = fc.make_mesh((2,), ("x",), devices=fc.devices()[2:])
    with pytest.raises(ValueError, match="different devices"):
        x + fc.device_put(X, NamedSharding(half, P("x")))


def test_jit_follows_its_arguments(mesh):
    f = fc.jit(lambda a, b: {"product": a @ b, "sum": a.sum()})
    a = fc.device_put(X, NamedSharding(mesh, P("x", "y")))
    for second in (X.T, fc.asarray(X.T), fc.device_put(X.T, NamedSharding(mesh, P("y")))):
        out = f(a, second)
        np.testing.assert_allclose(np.asarray(out["product"]), X @ X.T, rtol=1e-6)
        assert float(out["sum"]) == X.sum()
    np.testing.assert_allclose(np.asarray(f(X, X.T)["product"]), X @ X.T, rtol=1e-6)  # and on one device


def test_jit_runs_on_the_device_of_its_arguments():
    """As in JAX: a program for each device, whichever was called first; what is on the default device follows."""
    first, second, third = fc.devices()[:3]
    calls = {
        "one": (fc.jit(lambda a: a * 2 + 1), lambda d: (fc.device_put(X, d),), 2 * X + 1),
        "two": (fc.jit(lambda a, b: a * 2 + b), lambda d: (fc.device_put(X, d), fc.device_put(X, first)), 3 * X),
        "tree": (fc.jit(lambda t, k: t["a"] * k + t["b"]), lambda d: ({"a": fc.device_put(X, d), "b": X}, 3.0), 4 * X),
        "given": (fc.jit(lambda a: a + 1, donate_argnums=0), lambda d: (fc.device_put(X, d),), X + 1),
    }
    for name, (f, arguments, expected) in calls.items():
        for device in (first, second, second, second, third, first, first, second, third, third):
            out = f(*arguments(device))
            assert out.device is device, name
            np.testing.assert_array_equal(np.asarray(out), expected)
        (signature,) = f._jitted._signatures.values()
        assert set(signature.elsewhere) == {second, third}
    late = fc.jit(lambda a: fc.grad(lambda x: (x**2).sum())(a))
    assert late(fc.device_put(X, third)).device is third and late(X).device is first
    compiled = fc.jit(lambda a: a * 2).lower(fc.device_put(X, second)).compile()
    np.testing.assert_array_equal(np.asarray(compiled(fc.device_put(X, second))), 2 * X)


def test_shardings_of_jit(mesh):
    rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    f = fc.jit(lambda a, b: (a + b, a.sum()), in_shardings=(rows, whole), out_shardings=(rows, None))
    total, number = f(X, X)
    assert total.sharding == rows and float(number) == X.sum()
    np.testing.assert_array_equal(np.asarray(total), X + X)
    g = fc.jit(lambda d: d["a"] * 2, in_shardings=({"a": rows},), out_shardings=whole)
    assert g({"a": X}).sharding == whole
    with mesh:
        h = fc.jit(lambda a: a + 1, in_shardings=P("y"), out_shardings=P("x"))
    with pytest.raises(ValueError, match="multiple of that"):
        f(*2 * [np.ones((3, 4), np.float32)])
    del h
    with pytest.raises(ValueError, match="needs a mesh"):
        fc.jit(lambda a: a, in_shardings=P("x"))(X)  # which takes that of the call
    inside = fc.jit(lambda a: f(a, a)[0] * 2)(X)
    np.testing.assert_array_equal(np.asarray(inside), 4 * X)


def test_constraints(mesh):
    rows = NamedSharding(mesh, P("x"))
    f = fc.jit(lambda a: lax.with_sharding_constraint(jnp.sin(a), rows) * 2)
    assert f(X).sharding == rows
    np.testing.assert_allclose(np.asarray(f(X)), 2 * np.sin(X), rtol=1e-6)
    with mesh:
        assert fc.jit(lambda a: lax.with_sharding_constraint(a, P(None, "y")) + 1)(X).sharding.spec == P(None, "y")
    assert lax.with_sharding_constraint(X, rows).sharding == rows
    grads = fc.jit(fc.grad(lambda a: (lax.with_sharding_constraint(a, rows) ** 2).sum()))(X)
    np.testing.assert_allclose(np.asarray(grads), 2 * X)
    each = fc.jit(fc.vmap(lambda a: lax.with_sharding_constraint(a, NamedSharding(mesh, P("y"))) + 1))(X)
    np.testing.assert_array_equal(np.asarray(each), X + 1)


def test_transforms_of_sharded_arrays(mesh):
    x = fc.device_put(X, NamedSharding(mesh, P("x", "y")))
    np.testing.assert_allclose(np.asarray(fc.grad(lambda a: (a**3).sum())(x)), 3 * X**2, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(fc.vmap(jnp.sum)(x)), X.sum(1))
    out, tangent = fc.jvp(lambda a: a * a, (x,), (fc.ones_like(x),))
    np.testing.assert_allclose(np.asarray(tangent), 2 * X)
    total, _ = fc.jit(lambda a: lax.scan(lambda c, row: (c + row, c), jnp.zeros(4), a))(x)
    np.testing.assert_allclose(np.asarray(total), X.sum(0))
    np.testing.assert_allclose(
        np.asarray(fc.jit(fc.grad(fc.checkpoint(lambda a: jnp.sin(a).sum())))(x)), np.cos(X), rtol=1e-5, atol=1e-6
    )


def test_training_data_parallel(line):
    """Ten steps on four devices are ten steps on one; the gradients are summed by one all-reduce."""
    rng = np.random.default_rng(0)
    w = {"a": rng.normal(size=(4, 8)).astype("f"), "b": np.zeros(8, "f"), "c": rng.normal(size=(8,)).astype("f")}
    x, y = rng.normal(size=(16, 4)).astype("f"), rng.normal(size=16).astype("f")

    def loss(w, x, y):
        return ((jnp.tanh(x @ w["a"] + w["b"]) @ w["c"] - y) ** 2).mean()

    def step(w, x, y):
        return {k: w[k] - 0.1 * g for k, g in fc.grad(loss)(w, x, y).items()}

    rows, whole = NamedSharding(line, P("x")), NamedSharding(line, P())
    on_one, on_four = fc.jit(step), fc.jit(step, in_shardings=(whole, rows, rows), out_shardings=whole)
    one = four = w
    for _ in range(10):
        one, four = on_one(one, x, y), on_four(four, x, y)
    for k in w:
        np.testing.assert_allclose(np.asarray(four[k]), np.asarray(one[k]), rtol=1e-5, atol=1e-6)
    assert set(collectives(fc.jit(step, in_shardings=(whole, rows, rows), out_shardings=whole), w, x, y)) == {
        "all-reduce"
    }


# ---- shard_map -----------------------------------------------------------------------------------


def shift(n, k=1):
    return [(i, (i + k) % n) for i in range(n)]


PROGRAMS = {
    "psum": (lambda a: lax.psum(a, "x"), P("x"), P(), lambda: X.reshape(4, 2, 4).sum(0), ["all-reduce"]),
    "pmean": (lambda a: lax.pmean(a, "x"), P("x"), P(), lambda: X.reshape(4, 2, 4).mean(0), ["all-reduce"]),
    "pmax": (lambda a: lax.pmax(a, "x"), P("x"), P(), lambda: X.reshape(4, 2, 4).max(0), None),
    "all_gather": (lambda a: lax.all_gather(a, "x", tiled=True), P("x"), P(), lambda: X, ["all-gather"]),
    "ppermute": (
        lambda a: lax.ppermute(a, "x", shift(4)),
        P("x"),
        P("x"),
        lambda: np.roll(X, 2, 0),
        ["collective-permute"],
    ),
    "axis_index": (
        lambda a: a * lax.axis_index("x"),
        P("x"),
        P("x"),
        lambda: X * np.repeat(np.arange(4), 2)[:, None],
        [],
    ),
    "all_to_all": (lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), P("x"), P(None, "x"), lambda: X, ["all-to-all"]),
    "psum_scatter": (
        lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True),
        P("x"),
        P(None, "x"),
        lambda: X.reshape(4, 2, 4).sum(0),
        None,
    ),
    "product": (lambda a: lax.psum(a.T @ a, "x"), P("x"), P(), lambda: X.T @ X, ["all-reduce"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_collectives(line, name):
    fun, ins, outs, wanted, names = PROGRAMS[name]
    mapped = fc.shard_map(fun, mesh=line, in_specs=ins, out_specs=outs)
    np.testing.assert_allclose(np.asarray(mapped(X)), wanted(), rtol=1e-6)
    if names is not None:
        assert collectives(fc.shard_map(fun, mesh=line, in_specs=ins, out_specs=outs), X) == names


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "pmax"])  # whose derivative jumps
def test_derivatives_of_collectives(line, name):
    fun, ins, outs, _, _ = PROGRAMS[name]
    mapped = fc.shard_map(fun, mesh=line, in_specs=ins, out_specs=outs)
    weights = np.random.default_rng(1).normal(size=np.shape(mapped(X))).astype("f")

    def scalar(a):
        return (mapped(a) * weights).sum()

    grad = np.asarray(fc.grad(scalar)(X))
    direction = np.random.default_rng(2).normal(size=X.shape).astype("f")
    small = 1e-2
    slope = (float(scalar(X + small * direction)) - float(scalar(X - small * direction))) / (2 * small)
    np.testing.assert_allclose((grad * direction).sum(), slope, rtol=2e-2, atol=0.5)
    _, tangent = fc.jvp(scalar, (fc.asarray(X),), (fc.asarray(direction),))
    np.testing.assert_allclose(float(tangent), (grad * direction).sum(), rtol=1e-4, atol=1e-2)


def test_shard_map_over_two_axes(mesh):
    def body(a, w):
        return lax.psum(a @ w, "y"), a.sum() + 0 * lax.axis_index("x")

    f = fc.shard_map(
        body, mesh=mesh, in_specs=(P("x", "y"), P("y")), out_specs=(P("x"), P(("x", "y"))), check_vma=False
    )
    w = np.arange(12, dtype="f").reshape(4, 3)
    with pytest.raises(ValueError, match="parts are of shape"):
        f(X, w)
    g = fc.shard_map(
        lambda a, w: (lax.psum(a @ w, "y"), a.sum(keepdims=True)[0]),
        mesh=mesh,
        in_specs=(P("x", "y"), P("y")),
        out_specs=(P("x"), P(("x", "y"))),
    )
    product, sums = g(X, w)
    np.testing.assert_allclose(np.asarray(product), X @ w)
    np.testing.assert_allclose(np.asarray(sums), X.reshape(2, 4, 2, 2).sum((1, 3)).ravel())


def test_results_that_differ_are_named(line):
    with pytest.raises(ValueError, match="differs along the mesh axis 'x'"):
        fc.shard_map(lambda a: a, mesh=line, in_specs=P("x"), out_specs=P())(X)
    first = fc.shard_map(lambda a: a, mesh=line, in_specs=P("x"), out_specs=P(), check_vma=False)(X)
    np.testing.assert_array_equal(np.asarray(first), X[:2])
    with pytest.raises(ValueError, match="does not fit the arguments"):
        fc.shard_map(lambda a: a, mesh=line, in_specs=(P(), P()), out_specs=P())(X)
    with pytest.raises(ValueError, match="needs a mesh"):
        fc.shard_map(lambda a: a, in_specs=P(), out_specs=P())(X)


def test_shard_map_within_and_around(line):
    """Loops, checkpoints and vmap inside; grad, vmap and scan around."""

    def body(a):
        out, _ = lax.scan(lambda c, row: (c + lax.psum(row, "x"), None), jnp.zeros(4), a)
        return fc.checkpoint(jnp.sin)(out) + fc.vmap(lambda r: r * 0)(a).sum(0)

    f = fc.shard_map(lambda a: lax.pmean(body(a), "x"), mesh=line, in_specs=P("x"), out_specs=P())
    np.testing.assert_allclose(np.asarray(f(X)), np.sin(X.sum(0)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        np.asarray(fc.grad(lambda a: f(a).sum())(X)), np.tile(np.cos(X.sum(0)), (8, 1)), atol=1e-5
    )
    batch = np.stack([X, X + 1])
    np.testing.assert_allclose(np.asarray(fc.vmap(f)(batch)), np.sin(batch.sum(1)), rtol=1e-5, atol=1e-6)
    carried, _ = fc.jit(lambda xs: lax.scan(lambda c, a: (c + f(a), None), jnp.zeros(4), xs))(batch)
    np.testing.assert_allclose(np.asarray(carried), np.sin(batch.sum(1)).sum(0), rtol=1e-5, atol=1e-5)


def test_tensor_parallel(line):
    """A layer whose hidden units are divided: one all-reduce, and the gradients of the undivided layer."""
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=s).astype("f") for s in ((4, 8), (8, 4)))

    def whole(a, b):
        return (jnp.tanh(X @ a) @ b).sum()

    mapped = fc.shard_map(
        lambda a, b, x: lax.psum(jnp.tanh(x @ a) @ b, "x"),
        mesh=line,
        in_specs=(P(None, "x"), P("x"), P()),
        out_specs=P(),
    )
    assert collectives(mapped, a, b, X) == ["all-reduce"]
    found = fc.grad(lambda a, b: mapped(a, b, X).sum(), argnums=(0, 1))(a, b)
    for ours, wanted in zip(found, fc.grad(whole, argnums=(0, 1))(a, b)):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(wanted), rtol=1e-4, atol=1e-5)


# ---- pictures ------------------------------------------------------------------------------------

PICTURES = {
    P("x", "y"): """
┌─────────┬─────────┐
│  CPU 0  │  CPU 1  │
├─────────┼─────────┤
│  CPU 2  │  CPU 3  │
└─────────┴─────────┘
""",
    P("y"): """
┌─────────┐
│ CPU 0,2 │
├─────────┤
│ CPU 1,3 │
└─────────┘
""",
    P(None, ("y", "x")): """
┌─────────┬─────────┬─────────┬─────────┐
│  CPU 0  │  CPU 2  │  CPU 1  │  CPU 3  │
└─────────┴─────────┴─────────┴─────────┘
""",
    P(): """
┌─────────────┐
│ CPU 0,1,2,3 │
└─────────────┘
""",
}


@pytest.mark.parametrize("spec", PICTURES, ids=str)
def test_pictures(mesh, spec, capsys):
    sharding = NamedSharding(mesh, spec)
    x = fc.device_put(X, sharding)
    fc.debug.visualize_array_sharding(x)
    assert capsys.readouterr().out.strip() == PICTURES[spec].strip()
    fc.debug.visualize_sharding(X.shape, sharding, scale=2, max_width=10)
    assert re.findall(r"CPU [\d,]+", capsys.readouterr().out) == re.findall(r"CPU [\d,]+", PICTURES[spec])
    cells = [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", sharding._repr_html_())]
    assert cells == re.findall(r"CPU [\d,]+", PICTURES[spec])
    assert sharding._repr_html_() in x._repr_html_()


def test_pictures_of_vectors_and_what_has_none(mesh, line, capsys):
    fc.debug.visualize_sharding([8], NamedSharding(line, P("x")), min_width=5)
    assert capsys.readouterr().out.splitlines()[1] == "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │"
    fc.debug.visualize_array_sharding(fc.ones(3))
    assert capsys.readouterr().out.split() == ["┌─────────┐", "│", "CPU", "0", "│", "└─────────┘"]
    with pytest.raises(ValueError, match="1 and 2 dimensions"):
        fc.debug.visualize_sharding((2, 2, 2), NamedSharding(mesh, P("x")))
    with pytest.raises(NotImplementedError, match="inside of a traced function"):
        fc.jit(lambda x: (fc.debug.visualize_array_sharding(x * 2), x)[1])(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        fc.debug.visualize_sharding([8], NamedSharding(line, P("x")), min_width=5)
    assert capsys.readouterr().out.splitlines()[1].count("\033[30;4") == 4
    with pytest.raises(NotImplementedError, match="color_map"):
        fc.debug.visualize_sharding((2, 2), NamedSharding(mesh, P("x")), color_map=print)
    found = []
    fc.debug.inspect_array_sharding(fc.device_put(X, NamedSharding(mesh, P("x"))), callback=found.append)
    assert found == [NamedSharding(mesh, P("x"))]
    assert re.findall("CPU .", mesh._repr_html_()) == ["CPU 0", "CPU 1", "CPU 2", "CPU 3"]
