"""Calls as JAX's documentation shows them, found by running its examples under both: each once differed."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import jnn, lax
from functorch_core.custom_batching import custom_vmap


def test_copies_stay_where_memory_is_given_away():
    twice = fc.jit(lambda x: 2 * x, donate_argnums=0)
    for copy in (jnp.copy, jnp.array, lambda x: x.copy(), lambda x: fc.asarray(x, copy=True)):
        x = jnp.arange(4)
        assert twice(copy(x)).tolist() == [0, 2, 4, 6]
        assert x.tolist() == [0, 1, 2, 3]
    x = jnp.arange(4)
    twice(x)
    with pytest.raises(RuntimeError, match="donated"):
        x.tolist()


@pytest.mark.parametrize("i", [0, 1, 3, -1, 7])
def test_slices_of_a_traced_start(i):
    """Reads are moved inside of the array, writes that do not lie inside are left out."""
    x = np.arange(20.0).reshape(4, 5)
    start = i + 4 if i < 0 else i
    at, fits = min(start, 2), start + 2 <= 4

    @fc.jit
    def f(x, i):
        return x[fc.ds(i, 2)], x[fc.ds(i, 2), 1], x[..., fc.ds(0, 2)], x.at[fc.ds(i, 2), 1:].set(0.0)

    rows, column, static, written = f(jnp.asarray(x), i)
    np.testing.assert_array_equal(rows, x[at : at + 2])
    np.testing.assert_array_equal(column, x[at : at + 2, 1])
    np.testing.assert_array_equal(static, x[..., :2])
    wanted = x.copy()
    wanted[start : start + 2, 1:] *= not fits
    np.testing.assert_array_equal(written, wanted)
    with_arrays = fc.jit(lambda x, i: x[fc.ds(i, 2, 2), jnp.array([0, 1])])(jnp.asarray(x), 1)
    np.testing.assert_array_equal(with_arrays, x[1::2, :2])
    part = fc.grad(lambda x: fc.jit(lambda i: x[fc.ds(i, 2)].sum())(1))(jnp.asarray(x))
    np.testing.assert_array_equal(part.sum(axis=1), [0, 5, 5, 0])


def test_fill_values_may_be_traced():
    f = fc.jit(fc.nonzero, static_argnames="size")
    assert f(jnp.asarray([0, 1, 0, 2]), size=3, fill_value=4)[0].tolist() == [1, 3, 4]


def test_shapes_stand_for_arguments():
    scalar = fc.ShapeDtypeStruct((), jnp.float32)
    transpose = fc.linear_transpose(lambda x, y: 0.5 * x - 0.5 * y, scalar, scalar)
    assert [float(v) for v in transpose(jnp.asarray(1.0))] == [0.5, -0.5]
    shape = fc.ShapeDtypeStruct((2, 3), jnp.float32)
    assert (shape.ndim, shape.size, len(shape), shape.update(dtype=jnp.int8).dtype) == (2, 6, 2, np.int8)


def test_rules_are_given_through_other_rules():
    @fc.custom_vjp
    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    f.def_vmap(lambda size, batched, xs, ys: (jnp.cos(xs) * ys, True))
    f.defvjp(lambda x, y: (f(x, y), (jnp.cos(x), jnp.sin(x), y)), lambda res, g: (res[0] * g * res[2], res[1] * g))
    assert fc.vmap(f)(jnp.zeros(3), jnp.ones(3)).tolist() == [1, 1, 1]
    assert float(fc.grad(f)(0.0, 1.0)) == 1
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        f.other  # noqa: B018


def test_higher_derivatives_of_sinc():
    f, wanted = jnp.sinc, [0, -(np.pi**2) / 3, 0, np.pi**4 / 5, 0, -(np.pi**6) / 7]
    for value in wanted:
        f = fc.grad(f)
        np.testing.assert_allclose(f(0.0), value, rtol=1e-5)


def test_counts_and_bins_as_jax_has_them():
    assert jnp.bitwise_count(jnp.asarray([-1, 7, -8])).tolist() == [1, 3, 1]
    assert jnp.bincount(jnp.asarray([-3, 1, 9, 1]), length=3).tolist() == [1, 2, 0]
    assert jnp.percentile(jnp.arange(7), jnp.array([25, 50, 75]), method="nearest").tolist() == [1, 3, 4]
    assert jnp.histogram(jnp.array([1, 2, 3, 10, 11, 15, 19, 25]), range=(0, 25), bins=5)[0].tolist() == [3, 0, 2, 2, 1]


def test_polynomials_of_several_dimensions():
    a, b = np.array([[2, 3, 1]]), np.array([[5, 7, 3], [8, 2, 6]])
    assert jnp.polyadd(a, b).tolist() == [[5, 7, 3], [10, 5, 7]] and jnp.polysub(b, a).tolist() == [
        [5, 7, 3],
        [6, -1, 5],
    ]
    assert jnp.polyadd(b, jnp.array([2])).tolist() == [[5, 7, 3], [10, 4, 8]]


def test_broadcasting_by_dimensions_in_any_order():
    x = np.arange(6).reshape(2, 3)
    found = lax.broadcast_in_dim(jnp.asarray(x), (3, 4, 2), broadcast_dimensions=(2, 0))
    np.testing.assert_array_equal(found, np.broadcast_to(x.T[:, None, :], (3, 4, 2)))


def test_views_of_bools():
    assert jnp.array([1, 0, 1], dtype=jnp.int8).view(jnp.bool_).tolist() == [True, False, True]
    assert jnp.array([True, False]).view(jnp.uint8).tolist() == [1, 0]
    assert jnp.array([1, 256], jnp.int16).byteswap().tolist() == [256, 1]
    assert jnp.array([1.5]).byteswap().byteswap().tolist() == [1.5]
    x = jnp.zeros(3)
    assert (x.on_device_size_in_bytes(), x.platform(), x.committed, len(x.global_shards)) == (12, "cpu", False, 1)


def test_rows_and_columns_joined():
    assert jnp.r_["r", [1, 2], [3]].tolist() == [[1, 2, 3]] and jnp.r_["c", [1, 2], [3]].tolist() == [[1], [2], [3]]
    assert jnp.c_["r", [1, 2], [3, 4]].tolist() == [[1, 3], [2, 4]]
    assert float(jnp.nextafter(2, 1)) == np.nextafter(np.float32(2), np.float32(1))


def test_files_of_bfloat16():
    file = io.BytesIO()
    np.save(file, np.arange(3).astype(ml_dtypes.bfloat16))
    file.seek(0)
    found = jnp.load(file)
    assert found.dtype == jnp.bfloat16 and found.tolist() == [0, 1, 2]


def test_products_take_precision_and_a_dtype():
    a = jnp.full((2, 2), 100, jnp.int8)
    for f in (jnp.dot, jnp.matmul, jnp.vdot, jnp.inner, jnp.vecdot, jnp.linalg.matmul):
        found = f(a, a, precision=lax.Precision.HIGHEST, preferred_element_type=jnp.int32)
        assert found.dtype == jnp.int32 and int(found.reshape(-1)[0]) >= 20000
    halves = jnp.full((4096,), 0.1, jnp.bfloat16)
    assert jnp.einsum("i,i->", halves, halves, preferred_element_type=jnp.float32).dtype == jnp.float32
    assert jnp.convolve(a[0], a[0], preferred_element_type=jnp.int64).tolist() == [10000, 20000, 10000]
    assert jnp.linalg.multi_dot([a, a], precision="highest").shape == (2, 2)
    assert jnp.tensordot(a, a, 1, preferred_element_type=jnp.float32).dtype == jnp.float32


def test_orthogonal_matrices_that_are_not_square():
    """The numbers are JAX's (0.10.2) for this key."""
    found = jnn.initializers.orthogonal()(fc.random.key(42), (2, 3))
    wanted = [[-0.08792734, 0.9185913, -0.38530377], [0.8722634, 0.25780204, 0.4155657]]
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_small_floats_are_drawn():
    x = fc.random.normal(fc.random.key(1), (1000,), jnp.float8_e4m3fn)
    assert x.dtype == jnp.float8_e4m3fn and abs(float(x.astype(jnp.float32).std()) - 1) < 0.1


def test_values_that_traces_depend_on():
    scale, traces = fc.make_user_context(1.0), []

    @fc.jit
    def f(x):
        traces.append(scale.value)
        return x * scale.value

    with scale(3.0):
        assert float(f(2.0)) == 6
        with scale(4.0):
            assert float(f(2.0)) == 8 and float(fc.vmap(f)(jnp.ones(2))[0]) == 4
        assert float(f(2.0)) == 6
    assert float(f(2.0)) == 2 and float(f(3.0)) == 3 and scale.value == 1
    assert traces == [3.0, 4.0, 4.0, 1.0]
    with pytest.raises(TypeError, match="unhashable"), scale([1]):
        pass


def test_references_by_functions():
    ref = fc.new_ref(jnp.zeros(3))
    fc.ref.set(ref, 0, 5.0)
    fc.ref.addupdate(ref, None, 1.0)
    assert fc.ref.swap(ref, 1, 7.0) == 1 and fc.ref.get(ref).tolist() == [6, 7, 1]
    assert repr(ref) == "Ref([6., 7., 1.], dtype=float32)" and fc.ref.freeze(ref).tolist() == [6, 7, 1]


def test_dtypes_as_functions_name_dtypes():
    assert jnp.result_type(jnp.int8, jnp.uint8) == jnp.int16 and jnp.can_cast(jnp.int8, jnp.int16)
    assert fc.device_put(jnp.ones(2), fc.memory.Space.Host).tolist() == [1, 1]


def test_rules_with_symbolic_zeros():
    f = fc.custom_vjp(lambda x, n: x**n)

    def forward(x, n):
        assert x.perturbed and not n.perturbed
        return f(x.value, n.value), (x.value, n.value)

    f.defvjp(forward, lambda kept, g: (5 * g * kept[0], None), symbolic_zeros=True)
    assert float(fc.grad(f)(3.0, 2)) == 15
    g = fc.custom_jvp(lambda x, y: x * y)
    g.defjvp(lambda p, t: (g(*p), 7 * t[0] * p[1] + t[1] * p[0]), symbolic_zeros=True)
    assert [float(v) for v in fc.grad(g, (0, 1))(2.0, 3.0)] == [21, 2]


def perturbed_by(differentiated):
    """What the forward rule of f(x, y, {"a": a, "n": integers}) is told to be perturbed, each time it is called."""
    told = []

    @fc.custom_vjp
    def f(x, y, z):
        return jnp.sin(x) * y * z["a"] + z["n"]

    def forward(x, y, z):
        told.append((x.perturbed, y.perturbed, z["a"].perturbed, z["n"].perturbed))
        return f(x.value, y.value, {k: v.value for k, v in z.items()}), None

    f.defvjp(forward, lambda _, g: (g, 10 * g, {"a": 100 * g, "n": None}), symbolic_zeros=True)
    x, n = jnp.asarray(1.0), jnp.asarray(2)
    found = differentiated(lambda x, y, a: f(x, y, {"a": a, "n": n}), x)
    return np.hstack(fc.tree.leaves(found)).tolist(), told


ONLY_X, ONLY_Y = (True, False, False, False), (False, True, False, False)
PERTURBED = {  # as JAX tells it
    "x": (lambda f, x: fc.grad(f)(x, x, x), [1], ONLY_X),
    "y": (lambda f, x: fc.grad(f, argnums=1)(x, x, x), [10], ONLY_Y),
    "a": (lambda f, x: fc.grad(f, argnums=2)(x, x, x), [100], (False, False, True, False)),
    "both": (lambda f, x: fc.grad(f, argnums=(0, 1))(x, x, x), [1, 10], (True, True, False, False)),
    "stopped": (lambda f, x: fc.grad(lambda x: f(x, lax.stop_gradient(x), 1.0))(x), [1], ONLY_X),
    "jit": (lambda f, x: fc.jit(fc.grad(f))(x, x, x), [1], ONLY_X),
    "of jit": (lambda f, x: fc.grad(fc.jit(f), argnums=1)(x, x, x), [10], ONLY_Y),
    "of vmap": (lambda f, x: fc.grad(lambda y: fc.vmap(lambda x: f(x, y, x))(jnp.ones(3)).sum())(x), [30], ONLY_Y),
    "vmap": (lambda f, x: fc.vmap(fc.grad(f), (0, None, None))(jnp.ones(2), x, x), [1, 1], ONLY_X),
    "scan": (
        lambda f, x: fc.grad(lambda y: lax.scan(lambda c, _: (f(x, c, x), None), y, None, 2)[0])(x),
        [100],
        ONLY_Y,
    ),
    "cond": (lambda f, x: fc.grad(lambda x: fc.cond(x > 0, f, lambda *xs: xs[0], x, 1.0, 1.0))(x), [1], ONLY_X),
    "checkpoint": (lambda f, x: fc.grad(fc.checkpoint(f))(x, x, x), [1], ONLY_X),
}


@pytest.mark.parametrize("name", PERTURBED)
def test_what_is_perturbed(name):
    differentiated, gradients, perturbed = PERTURBED[name]
    found, told = perturbed_by(differentiated)
    assert found == gradients
    assert set(told) == {perturbed}


def test_rules_of_several_sets_of_perturbed_arguments():
    """Each has residuals of its own, also where one function is differentiated in several ways."""

    @fc.custom_vjp
    def f(x, y):
        return x * y

    def forward(x, y):
        return x.value * y.value, (y.value if x.perturbed else None, x.value if y.perturbed else None)

    f.defvjp(forward, lambda kept, g: tuple(None if v is None else v * g for v in kept), symbolic_zeros=True)
    x, y = jnp.asarray(2.0), jnp.asarray(3.0)
    for _ in range(3):
        assert [float(fc.grad(f, argnums=i)(x, y)) for i in range(2)] == [3, 2]
        assert [float(v) for v in fc.grad(f, argnums=(0, 1))(x, y)] == [3, 2]


def test_keys_that_are_used_twice():
    draws = [fc.random.normal, fc.random.uniform, fc.random.split]
    for first in draws:
        for second in draws:
            key = fc.random.key(0)
            first(key)
            second(key)  # without a word
            with fc.debug_key_reuse(True):
                key = fc.random.key(0)
                first(key)
                with pytest.raises(fc.errors.KeyReuseError, match="fc.random.split"):
                    second(key)
                first(fc.random.clone(key))
    with fc.debug_key_reuse(True):
        key = fc.random.key(1)
        one, two = fc.random.split(key)
        assert fc.random.normal(one) != fc.random.normal(two) and fc.random.fold_in(one, 3).shape == ()
        with pytest.raises(fc.errors.KeyReuseError, match="random.uniform"):
            fc.jit(lambda key: fc.random.normal(key) + fc.random.uniform(key))(fc.random.key(2))


def test_compiled_functions_say_where_things_lie():
    compiled = fc.jit(lambda x: {"y": x + 1}).lower(1.0).compile()
    (where,), named = compiled.input_shardings
    assert named == {} and where == compiled.output_shardings["y"] and where.device_set == set(fc.devices()[:1])


def test_specs_wait_for_the_mesh_of_the_call():
    from functorch_core.sharding import Mesh, PartitionSpec

    f = fc.jit(lambda x: x * 2, in_shardings=PartitionSpec("d"), out_shardings=PartitionSpec("d"))
    with fc.set_mesh(Mesh(np.array(fc.devices()[:1]), ("d",))):
        assert f(jnp.arange(4.0)).tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="needs a mesh"):
        f(jnp.arange(4.0))


def test_functions_of_the_library_are_exported():
    exported = fc.export.export(jnp.sin)(np.arange(4, dtype=np.float32))
    np.testing.assert_allclose(exported.call(jnp.arange(4.0)), np.sin(np.arange(4)), atol=1e-6)
    with pytest.raises(ValueError, match="fc.jit"):
        fc.export.export(lambda x: x)


def test_bits_of_negative_integers():
    """lax counts those of two's complement, jnp.bitwise_count (as NumPy's) those of the absolute value."""
    x = np.array([-1, -128, 7, 0], np.int8)
    found = lax.population_count(jnp.asarray(x))
    assert found.dtype == jnp.int8 and found.tolist() == [bin(int(v)).count("1") for v in x.view(np.uint8)]


def test_counts_in_grids_are_integers():
    x, y = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    counts, *edges = jnp.histogram2d(x, y, bins=4)
    wanted = np.histogram2d(x, y, bins=[np.asarray(e) for e in edges])[0]
    assert counts.dtype == jnp.int64 and jnp.histogram(x)[0].dtype == jnp.float32
    np.testing.assert_array_equal(counts, wanted)
    dense = jnp.histogram2d(x, y, bins=4, density=True)[0]
    np.testing.assert_allclose(dense, np.histogram2d(x, y, bins=[np.asarray(e) for e in edges], density=True)[0], 1e-5)


def test_parts_of_ufuncs_start_at_their_first_element():
    f = jnp.frompyfunc(lambda a, b: a + 2 * b, 2, 1, identity=0)
    x = np.arange(1.0, 7.0, dtype=np.float32)
    wanted = [1 + 2 * (2 + 3), 4 + 2 * (5 + 6)]
    assert f.reduceat(jnp.asarray(x), np.array([0, 3])).tolist() == wanted
    assert jnp.add.reduceat(x, np.array([0, 4, 2])).tolist() == np.add.reduceat(x, [0, 4, 2]).tolist()
    with pytest.raises(NotImplementedError, match="inplace=False"):
        jnp.add.at(x, 0, 1.0)


def test_vectorized_functions_keep_to_their_signature():
    with pytest.raises(ValueError, match=r"shape \(3,\), the signature says \(\)"):
        jnp.vectorize(lambda x: x, signature="(n)->()")(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="n=3"):
        jnp.vectorize(lambda x: x[:2], signature="(n)->(n)")(jnp.ones(3))
    with pytest.raises(ValueError, match="2 results"):
        jnp.vectorize(lambda x: x, signature="(n)->(n),()")(jnp.ones(3))
    for wrong in ("(n->()", "n->()", "(n)", "(n)->", "(n)(n)->()", "(n),->()"):
        with pytest.raises(ValueError, match="is no signature"):
            jnp.vectorize(lambda x: x, signature=wrong)
    assert jnp.vectorize(lambda: jnp.ones(2), signature="->(n)")().tolist() == [1, 1]
    assert jnp.vectorize(lambda x: x[:2], signature=" (n) -> ( k ) ")(jnp.ones((4, 3))).shape == (4, 2)


def test_traced_arrays_are_not_waited_for():
    assert float(fc.jit(lambda x: fc.block_until_ready({"a": x})["a"] + 1)(1.0)) == 2


def test_memory_that_was_given_away_is_named():
    f = fc.jit(lambda x, y: (x + 1, y * 2), donate_argnums=0)
    x = jnp.ones(4)
    f(x, x + 1)
    for call in (lambda: f(x, 1.0), lambda: fc.jit(lambda x: x * 2)(x)):
        with pytest.raises(RuntimeError, match=r"float32\[4\] was deleted: it was donated"):
            call()
    with pytest.raises(ValueError, match="static and donated"):
        fc.jit(lambda x: x, donate_argnums=0, static_argnames="x")


def test_kinds_of_errors():
    """Those of JAX's calls, where NumPy's and PyTorch's callers are served, too."""
    from functorch_core.flatten_util import ravel_pytree

    rows = jnp.ones((2, 3))
    for call in (lambda: jnp.sum(rows, axis=2), lambda: jnp.fft.fft(rows, axis=5), lambda: jnp.sort(rows, axis=-3)):
        for kind in (IndexError, ValueError):
            with pytest.raises(kind, match="out of range"):
                call()
    with pytest.raises(fc.errors.ConcretizationTypeError, match="an index needs a number"):
        fc.jit(lambda x, axis: x.sum(axis=axis))(rows, 0)
    for f in (jnp.linalg.eigh, jnp.linalg.eigvalsh, jnp.linalg.cholesky):
        with pytest.raises(ValueError, match="square"):
            f(rows)
    with pytest.raises(TypeError, match="integer exponent"):
        jnp.linalg.matrix_power(jnp.eye(2), 1.5)
    with pytest.raises(ValueError, match="one branch or more"):
        lax.switch(0, [], 1.0)
    with pytest.raises(ValueError, match="integer dtype"):
        jnp.iinfo(float)
    _, unravel = ravel_pytree({"a": rows, "b": 1})
    with pytest.raises(TypeError, match="float32"):
        unravel(jnp.ones(7, jnp.int32))
    with pytest.raises(ValueError, match="float32"):
        unravel(jnp.ones(8))


@pytest.mark.parametrize(
    "name", "add mod maximum power arctan2 hypot copysign sin exp mean abs cumsum sum floor".split()
)
def test_none_is_no_number(name):
    """NumPy's conversion of None to a float is NaN, which went through."""
    f = getattr(jnp, name)
    args = (jnp.ones(2), None) if name in "add mod maximum power arctan2 hypot copysign".split() else (None,)
    with pytest.raises(TypeError, match="None"):
        f(*args)
    with pytest.raises(TypeError, match="None"):
        fc.jit(lambda x: f(*args[:-1], None))(1.0)


def test_what_was_taken_silently():
    v = jnp.arange(3.0)
    for f in (float, int):
        with pytest.raises(TypeError, match="takes a real number"):
            f(jnp.asarray(1j))
    assert complex(jnp.asarray(2j)) == 2j and bool(jnp.asarray(1j))
    with pytest.raises(ValueError, match="vectors of one size"):
        jnp.interp(v, v, v[:2])
    with pytest.raises(ValueError, match="vectors of one size"):
        jnp.interp(v, jnp.ones((2, 2)), jnp.ones((2, 2)), left="extrapolate")
    with pytest.raises(ValueError, match="takes a vector"):
        jnp.bincount(jnp.ones((2, 2), jnp.int32))
    with pytest.raises(ValueError, match="weights of its shape"):
        jnp.bincount(jnp.arange(3), weights=jnp.ones(2), length=3)
    with pytest.raises(ValueError, match="1 of -1 elements"):
        fc.random.choice(fc.random.key(0), -1)
    with pytest.raises(TypeError, match="integer"):
        jnp.linspace(0, 1, 2.5)
    x = jnp.arange(6).reshape(2, 3)
    assert (x.item(4), x.item(1, 2), x.item((0, 1))) == (4, 5, 1)
    with pytest.raises(IndexError):
        x.item(9)


CLOSED = {
    "scan": lambda v, a: lax.scan(lambda c, x: (c + v, x), a, a)[0],
    "fori_loop": lambda v, a: lax.fori_loop(0, 2, lambda i, c: c + v, a),
    "while_loop": lambda v, a: lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + v, a),
    "cond": lambda v, a: lax.cond(True, lambda c: c + v, lambda c: c, a),
    "checkpoint": lambda v, a: fc.checkpoint(lambda c: c + v)(a),
}


@pytest.mark.parametrize("name", CLOSED)
def test_loops_of_known_operands_close_over_what_is_not_computed_yet(name):
    """In a transform, where they take part in no trace and are recorded when it is over."""
    loop, a = CLOSED[name], jnp.asarray([0.0, 1.0, 2.0])
    wanted = np.asarray(loop(jnp.sin(a), a))
    v = jnp.sin(a)
    np.testing.assert_allclose(fc.grad(lambda x: jnp.sum(x * loop(v, a)))(a), wanted, rtol=1e-6)
    v = jnp.sin(a)
    np.testing.assert_allclose(fc.vmap(lambda x: x * loop(v, a))(a), np.outer(a, wanted), rtol=1e-6)


def test_roll_by_what_is_traced():
    x = jnp.arange(6).reshape(2, 3)
    cases = [(1, None), (-2, 1), ([1, 2], (0, 1)), ([1, 2], 1), (2, (0, 1)), (7, 0), (np.uint8(2), 1)]
    for shift, axis in cases:
        wanted = np.roll(np.asarray(x), np.int64(shift), axis)
        by = jnp.asarray(shift)
        assert (jnp.roll(x, by, axis) == wanted).all()
        assert (fc.jit(lambda x, by: jnp.roll(x, by, axis))(x, by) == wanted).all()
    assert (fc.jit(lambda i: jnp.roll(x, (i, 1), (0, 1)))(1) == np.roll(np.asarray(x), (1, 1), (0, 1))).all()
    rolled = fc.vmap(lambda i: jnp.roll(jnp.arange(3), i))(jnp.arange(3))
    assert rolled.tolist() == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    assert jnp.roll(jnp.ones((0, 3)), jnp.asarray(1), 0).shape == (0, 3)
    for by in (jnp.asarray(1.5), jnp.asarray([[1]])):
        with pytest.raises(TypeError, match="shift is an integer"):
            jnp.roll(x, by, 0)
    with pytest.raises(ValueError, match="broadcast"):
        jnp.roll(x, jnp.arange(3), (0, 1))


def test_clipped_indices_do_not_count_from_the_end():
    i = jnp.asarray([-1, -9, 1, 7])
    for take in (jnp.take, fc.jit(jnp.take, static_argnames="mode")):
        assert take(jnp.asarray([1, 2, 3]), i, mode="clip").tolist() == [1, 1, 2, 3]
        assert take(jnp.asarray([1, 2, 3]), i, mode="wrap").tolist() == [3, 1, 2, 2]


def test_reductions_of_nothing():
    assert lax.reduce(jnp.ones((0, 2)), 2.0, lax.add, (0,)).tolist() == [2, 2]
    assert lax.reduce(jnp.ones((2, 0)), 1.0, lax.add, (0,)).shape == (0,)
    assert lax.reduce_window(jnp.ones((4, 1)), 0.0, lax.add, (2, 2), (1, 1), "VALID").shape == (3, 0)
    assert jnp.percentile(jnp.ones((0, 3)), 30.0, axis=-1).shape == jnp.median(jnp.ones((0, 3)), axis=1).shape == (0,)


def test_quantiles_of_equal_elements_have_a_share_of_each():
    x = jnp.asarray([1.0, 1.0, 3.0, 1.0])
    assert fc.grad(jnp.median)(x).tolist() == [0, 0.5, 0, 0.5]
    assert fc.grad(lambda x: jnp.quantile(x, 0.25))(x).tolist() == [0.25, 0.75, 0, 0]
    x = jnp.asarray([0.1, 0.1, 0.1, np.inf, np.inf])
    assert jnp.quantile(x, jnp.asarray([0.3, 0.9, 1.0])).tolist() == [x[0].item(), np.inf, np.inf]


def test_unsigned_numbers_are_counted():
    assert jnp.bincount(jnp.asarray([3, 3], jnp.uint8)).tolist() == [0, 0, 0, 2]
    assert jnp.bincount(jnp.zeros(0, jnp.uint8)).shape == (0,)


def test_axes_lie_in_containers_of_any_class():
    @fc.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, a, b, name="n"):
            self.a, self.b, self.name = a, b, name

        def tree_flatten(self):
            return (self.a, self.b), self.name

        @classmethod
        def tree_unflatten(cls, name, children):
            return cls(*children, name)

    given = Pair(jnp.arange(2.0), {"u": jnp.ones((3, 2)), "v": 5.0})
    axes = Pair(0, {"u": 1, "v": None})
    f = fc.vmap(lambda p: Pair(p.a * p.b["u"], p.b["v"]), in_axes=(axes,), out_axes=Pair(1, None))
    found = f(given)
    assert found.a.tolist() == [[0, 1]] * 3 and found.b.item() == 5 and found.name == "n"
    beside = fc.vmap(lambda p, x: x * p.b, in_axes=(Pair(None, 0), None))
    assert beside(Pair(1.0, jnp.arange(2.0)), 3).tolist() == [0, 3]
    for wrong in (Pair(0, {"u": 1}), Pair(0, 0, "m"), (0, 0), "a"):
        with pytest.raises(ValueError, match="does not fit"):
            fc.vmap(lambda p: p.a, in_axes=(wrong,))(given)


def test_numbers_are_weak_beside_arrays():
    """A Python number does not widen narrow integers, also where the function flattens or joins what it gets."""
    x = np.array([[1, -2, 3], [4, 0, -6]], dtype=np.int8)
    two = np.int8(2)
    for name in "outer inner kron append union1d setxor1d intersect1d".split():
        found, wanted = getattr(jnp, name)(x, 2), getattr(np, name)(x, two)
        assert found.dtype == wanted.dtype == np.int8
        np.testing.assert_array_equal(found, wanted)
    assert jnp.polyval(x[0], 2).dtype == np.int8 and int(jnp.polyval(x[0], 2)) == 3
    assert jnp.union1d([1, 2], [0.5]).tolist() == [0.5, 1, 2]


def test_differences_of_polynomials_are_of_the_common_dtype():
    x, y = np.array([1, -2], dtype=np.int8), np.array([3, 200, 1], dtype=np.uint8)
    np.testing.assert_array_equal(jnp.polysub(x, y), np.polysub(x.astype(np.int16), y.astype(np.int16)))


def test_symmetric_matrices_of_bools_and_narrow_integers():
    """They are made symmetric in floats: sums of bools are none, those of uint8 wrap."""
    for a in (np.eye(2) > 0, np.diag([200, 100]).astype(np.uint8)):
        np.testing.assert_allclose(jnp.linalg.cholesky(a), np.linalg.cholesky(a.astype(float)), rtol=1e-6)
        np.testing.assert_allclose(jnp.linalg.eigvalsh(a), np.linalg.eigvalsh(a.astype(float)), rtol=1e-6)
        np.testing.assert_allclose(jnp.linalg.eigh(a).eigenvalues, np.linalg.eigvalsh(a.astype(float)), rtol=1e-6)


def test_rounding_of_infinity_and_sums_of_scalars():
    np.testing.assert_array_equal(
        lax.round(jnp.asarray([np.inf, -np.inf, np.nan, -2.5])), [np.inf, -np.inf, np.nan, -3]
    )
    for axis in (None, 0, -1):
        assert jnp.cumsum(3, axis=axis).tolist() == jnp.cumprod(3, axis=axis).tolist() == [3]
