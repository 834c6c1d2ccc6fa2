"""Indexing against NumPy: thousands of random index expressions, read and written."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.core.errors import ConcretizationError
from functorch_core.kernels.indexing import nonzero_places

SHAPES = [(5,), (3, 4), (2, 3, 4), (1, 3), (0, 3), (3, 0, 2), (2, 1, 3, 2), ()]


@pytest.fixture(autouse=True)
def by_reference():
    """Every index is a signature of its own: compiling each would take minutes."""
    with fc.engine.forced_tier("reference"):
        yield


def data(shape, dtype=np.float32):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)


# ---- random index expressions --------------------------------------------------------------------------


def random_slice(rng, size):
    def bound():
        return None if rng.random() < 0.4 else int(rng.integers(-size - 2, size + 3))

    step = rng.choice([None, 1, 2, 3, -1, -2], p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    return slice(bound(), bound(), step)


def random_array(rng, size, common):
    shape = common if rng.random() < 0.7 else tuple(1 if rng.random() < 0.5 else n for n in common)
    if size == 0:
        shape = (0,) * max(len(shape), 1)
    kind = rng.choice([np.int64, np.int32, np.int8, np.uint8])
    low = 0 if kind is np.uint8 else -size
    return rng.integers(low, max(size, 1), shape).astype(kind)


def random_index(rng, shape):
    """A random NumPy index expression for an array of this shape."""
    common = tuple(rng.integers(1, 3, rng.integers(0, 3)))
    items, dim, dots = [], 0, False
    while dim < len(shape) and rng.random() < 0.9:
        kind = rng.choice(
            ["int", "slice", "array", "mask", "none", "dots", "bool"], p=[0.2, 0.3, 0.25, 0.08, 0.08, 0.07, 0.02]
        )
        if kind == "int" and shape[dim]:
            items.append(int(rng.integers(-shape[dim], shape[dim])))
            dim += 1
        elif kind == "slice":
            items.append(random_slice(rng, shape[dim]))
            dim += 1
        elif kind == "array":
            items.append(random_array(rng, shape[dim], common))
            dim += 1
        elif kind == "mask":
            n = int(rng.integers(1, len(shape) - dim + 1))
            if 0 in shape[dim : dim + n] and dots:
                continue  # NumPy does not check an empty mask's shape
            items.append(rng.random(shape[dim : dim + n]) < 0.5)
            dim += n
        elif kind == "none":
            items.append(None)
        elif kind == "bool":
            items.append(bool(rng.random() < 0.7))
        elif kind == "dots" and not dots:
            items.append(...)
            dots, dim = True, dim + int(rng.integers(0, len(shape) - dim + 1))
    if len(items) == 1 and rng.random() < 0.5:
        return items[0]
    return tuple(items)


def as_ours(index, rng):
    """The same index, with some of its arrays as Arrays."""
    if isinstance(index, tuple):
        return tuple(as_ours(i, rng) for i in index)
    return fc.asarray(index) if isinstance(index, np.ndarray) and rng.random() < 0.5 else index


def cases(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shape = SHAPES[rng.integers(len(SHAPES))]
        x, index = data(shape), random_index(rng, shape)
        try:
            wanted = x[index]
        except IndexError:
            wanted = None
        yield x, index, wanted, rng


@pytest.mark.parametrize("seed", range(8))
def test_random_reads_are_numpys(seed):
    for x, index, wanted, rng in cases(seed, 1000):
        if wanted is None:
            with pytest.raises(IndexError):
                fc.asarray(x)[as_ours(index, rng)]
            continue
        found = np.asarray(fc.asarray(x)[as_ours(index, rng)])
        assert found.shape == wanted.shape, (x.shape, index)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{x.shape} {index}")


@pytest.mark.parametrize("seed", range(4))
def test_random_writes_are_numpys(seed):
    for x, index, wanted, rng in cases(100 + seed, 1000):
        if wanted is None:
            continue
        values = -np.arange(1, 1 + wanted.size, dtype=np.float32).reshape(wanted.shape)
        if rng.random() < 0.3:
            values = np.float32(-1)
        x_set = x.copy()
        x_set[index] = values
        found = np.asarray(fc.asarray(x).at[as_ours(index, rng)].set(values))
        np.testing.assert_array_equal(found, x_set, err_msg=f"set {x.shape} {index}")


UFUNCS = {
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "subtract": np.subtract,
    "divide": np.divide,
}


@pytest.mark.parametrize("name", UFUNCS)
def test_random_updates_are_ufunc_at(name):
    for x, index, wanted, rng in cases(len(name) + 300, 150):
        if wanted is None:
            continue
        values = rng.integers(1, 3, wanted.shape).astype(np.float32)
        expected = x.copy()
        UFUNCS[name].at(expected, index, values)
        found = np.asarray(getattr(fc.asarray(x).at[as_ours(index, rng)], name)(values))
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=f"{x.shape} {index}")


@pytest.mark.parametrize("seed", range(2))
def test_random_reads_inside_a_trace(seed):
    """The same indices, with index arrays that are traced (masks stay concrete)."""
    for x, index, wanted, _ in cases(200 + seed, 100):
        if wanted is None:
            continue
        items = index if isinstance(index, tuple) else (index,)
        arrays = [i for i in items if isinstance(i, np.ndarray) and i.dtype != bool]

        def f(x, *arrays):
            rest = iter(arrays)
            return x[tuple(next(rest) if isinstance(i, np.ndarray) and i.dtype != bool else i for i in items)]

        if 0 in x.shape and arrays:
            continue  # NumPy's result is empty or an error; ours depends on the indices' sizes
        graph = fc.make_graph(f)(x, *arrays)
        from functorch_core.core.trace import evaluate

        (found,) = evaluate(graph, [x, *arrays])
        assert found.shape == wanted.shape, (x.shape, index)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{x.shape} {index}")


# ---- what is said about errors -----------------------------------------------------------------------------


def test_an_index_out_of_bounds_names_index_dimension_and_size():
    x = fc.zeros((3, 4))
    with pytest.raises(IndexError, match=r"x\[1, 4\]: index 4 .* dimension 1 of size 4"):
        x[1, 4]
    with pytest.raises(IndexError, match="index -4 .* dimension 0 of size 3"):
        x[-4]


def test_a_concrete_index_array_out_of_bounds_is_an_index_error():
    with pytest.raises(IndexError, match="index 7 .* dimension 0 of size 3"):
        fc.zeros(3)[fc.asarray([0, 7])]
    with pytest.raises(IndexError, match="index 7"):
        fc.zeros(3).at[fc.asarray([0, 7])].set(1.0)


def test_a_computed_index_array_out_of_bounds_is_an_index_error():
    index = fc.asarray([0, 6]) + 1
    with pytest.raises(IndexError, match="index 7"):
        np.asarray(fc.zeros(3)[index])


def test_too_many_indices():
    with pytest.raises(IndexError, match="too many indices: 2 for the 1 dimensions"):
        fc.zeros(3)[0, 0]


def test_two_ellipses():
    with pytest.raises(IndexError, match="at most one"):
        fc.zeros((3, 3))[..., ...]


def test_a_mask_of_another_shape():
    with pytest.raises(IndexError, match=r"mask of shape \(2,\) does not fit"):
        fc.zeros((3, 4))[np.array([True, False])]


def test_float_indices_are_refused():
    with pytest.raises(IndexError, match="only integer and boolean"):
        fc.zeros(3)[fc.asarray([0.0, 1.0])]
    with pytest.raises(TypeError, match="is not an index"):
        fc.zeros(3)[1.5]


def test_index_arrays_that_do_not_broadcast():
    with pytest.raises(IndexError, match="do not broadcast"):
        fc.zeros((3, 4))[np.array([0, 1]), np.array([0, 1, 2])]


def test_a_step_of_zero():
    with pytest.raises(ValueError, match="step"):
        fc.zeros(3)[::0]


def test_a_traced_mask_advises_where():
    with pytest.raises(ConcretizationError, match="fc.where"):
        fc.make_graph(lambda x: x[x > 0])(fc.zeros(3))


def test_a_traced_slice_bound_advises_dynamic_slice():
    with pytest.raises(ConcretizationError, match="fc.dynamic_slice"):
        fc.make_graph(lambda x, i: x[i : i + 1])(fc.zeros(3), 0)


def test_assignment_advises_at():
    x = fc.zeros(3)
    with pytest.raises(TypeError, match=r"x.at\[i\].set"):
        x[0] = 1.0


# ---- modes ---------------------------------------------------------------------------------------------------


def test_traced_indices_are_clipped_when_read_and_dropped_when_written():
    x, i = fc.asarray([1.0, 2.0, 3.0]), fc.asarray([0, 7, -9])
    np.testing.assert_array_equal(fc.jit(lambda x, i: x[i])(x, i), [1, 3, 1])
    np.testing.assert_array_equal(fc.jit(lambda x, i: x.at[i].set(9.0))(x, i), [9, 2, 3])


def test_get_by_mode():
    x, i = fc.asarray([1.0, 2.0, 3.0]), fc.asarray([0, 7, -9, -1])
    np.testing.assert_array_equal(x.at[i].get(mode="fill"), [1, np.nan, np.nan, 3])
    np.testing.assert_array_equal(x.at[i].get(mode="fill", fill_value=0.0), [1, 0, 0, 3])
    np.testing.assert_array_equal(x.at[i].get(mode="clip"), [1, 3, 1, 3])
    with pytest.raises(ValueError, match="mode"):
        x.at[i].get(mode="wrap")


def test_set_by_mode():
    x, i = fc.asarray([1.0, 2.0, 3.0]), fc.asarray([0, 7])
    np.testing.assert_array_equal(x.at[i].set(9.0, mode="drop"), [9, 2, 3])
    np.testing.assert_array_equal(x.at[i].set(9.0, mode="clip"), [9, 2, 9])


INT_BY_MODE = [  # values are JAX's
    (lambda x: x.at[11].get(mode="fill", fill_value=-1), -1),
    (lambda x: x.at[-11].get(mode="fill", fill_value=-1), -1),
    (lambda x: x.at[11].get(mode="clip"), 9),
    (lambda x: x.at[-12].get(mode="clip"), 0),
    (lambda x: x.at[-1].get(mode="clip"), 9),
    (lambda x: x.at[11].set(3, mode="drop"), range(10)),
    (lambda x: x.at[11].add(3, mode="clip"), [*range(9), 12]),
    (lambda x: x.reshape(2, 5).at[None, 3, 1:3].get(mode="fill", fill_value=7), [[7, 7]]),
    (lambda x: x.reshape(2, 5).at[1, 9].get(mode="clip"), 9),
    (lambda x: x.reshape(2, 5).at[:, 9].set(0, mode="drop"), np.arange(10).reshape(2, 5)),
    (lambda x: x.reshape(2, 5).at[fc.asarray([0, 1]), 9].get(mode="fill", fill_value=0), [0, 0]),
    (lambda x: fc.grad(lambda y: y.at[12].get(mode="clip") ** 2)(x * 1.0), [0] * 9 + [18]),
]


@pytest.mark.parametrize("case", range(len(INT_BY_MODE)))
def test_an_int_out_of_bounds_follows_the_mode(case):
    function, expected = INT_BY_MODE[case]
    x = fc.arange(10)
    np.testing.assert_array_equal(function(x), expected)
    np.testing.assert_array_equal(fc.jit(function)(x), expected)
    with pytest.raises(IndexError, match="out of bounds"):
        x.at[11].get()


def test_a_narrow_index_dtype_reaches_far():
    x = fc.arange(1000)
    i = fc.asarray([-1, 5], dtype=fc.int8)
    np.testing.assert_array_equal(x[i], [999, 5])
    np.testing.assert_array_equal(fc.jit(lambda x, i: x[i])(x, i), [999, 5])


# ---- at --------------------------------------------------------------------------------------------------------


def test_updates_leave_the_array_as_it_was():
    x = fc.zeros(3)
    x.at[0].set(5.0)
    np.testing.assert_array_equal(x, [0, 0, 0])


def test_repeated_indices_add_up():
    np.testing.assert_array_equal(fc.zeros(2).at[fc.asarray([0, 0, 1])].add(1.0), [2, 1])


def test_divide_and_power_of_repeated_indices():
    x = fc.asarray([64.0, 2.0])
    np.testing.assert_array_equal(x.at[np.array([0, 0])].divide(np.float32([2, 4])), [8, 2])
    np.testing.assert_array_equal(x.at[np.array([1, 1])].power(np.float32([2, 3])), [64, 64])


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_integers_are_divided_as_floats(dtype):
    x = fc.asarray(np.array([5, 6, 7], dtype))
    for by in (2, fc.asarray(2), fc.asarray(2.0)):
        found = x.at[0].divide(by)
        assert found.dtype == (x / 2).dtype
        np.testing.assert_array_equal(found, [2.5, 6, 7])
    np.testing.assert_array_equal(x.at[fc.asarray([1, 1])].divide(fc.asarray([2, 4])), [5, 0.75, 7])


def test_numbers_are_subtracted_from_unsigned_integers():
    x = fc.asarray(np.uint8([5, 6]))
    assert x.at[0].subtract(1).tolist() == x.at[fc.asarray([0])].subtract(1).tolist() == [4, 6]
    assert x.at[:].subtract(6).tolist() == [255, 0]


def test_apply():
    np.testing.assert_array_equal(fc.asarray([1.0, 4.0, 9.0]).at[1:].apply(fc.sqrt), [1, 2, 3])


def test_a_mask_with_a_number_works_under_tracing():
    f = fc.jit(lambda x: x.at[x > 1].set(0.0))
    np.testing.assert_array_equal(f(fc.asarray([1.0, 2.0, 3.0])), [1, 0, 0])


def test_an_update_of_another_shape():
    with pytest.raises(ValueError, match=r"y of shape \(2,\) does not broadcast to \(3,\)"):
        fc.zeros(3).at[:].set(np.zeros(2, np.float32))


def test_an_update_that_would_lose_information():
    with pytest.raises(TypeError, match="lose information"):
        fc.zeros(3, dtype=fc.int32).at[0].set(1.5)
    assert fc.zeros(3, dtype=fc.float32).at[0].set(np.float64(1.5)).dtype == fc.float32


@pytest.mark.parametrize("dtype", ["bool_", "int8", "uint16", "bfloat16", "float16", "complex64"])
def test_dtypes_stay(dtype):
    x = fc.ones(3, dtype=getattr(fc, dtype))
    assert x[1:].dtype == x.dtype
    assert x[np.array([0])].dtype == x.dtype
    assert x.at[0].set(dtype == "bool_").dtype == x.dtype


# ---- derivatives and programs ------------------------------------------------------------------------------------


def test_the_gradient_of_a_read_is_a_scatter():
    i = fc.asarray([0, 0, 2])
    g = fc.grad(lambda x: (x[i] * fc.asarray([1.0, 2.0, 3.0])).sum())(fc.zeros(3))
    np.testing.assert_array_equal(g, [3, 0, 3])


def test_the_gradient_of_strided_and_reversed_writes():
    def f(x, y):
        return (x.at[3::-2].set(y) * fc.asarray([1.0, 2.0, 3.0, 4.0])).sum()

    gx, gy = fc.grad(f, argnums=(0, 1))(fc.ones(4), fc.ones(2))
    np.testing.assert_array_equal(gx, [1, 0, 3, 0])
    np.testing.assert_array_equal(gy, [4, 2])


@pytest.mark.parametrize(
    "name, gradient", [("multiply", [1, 2]), ("divide", [-1, -0.5]), ("power", [0, 4 * np.log(2)])]
)
def test_factors_at_indices_that_are_unique_have_a_gradient(name, gradient):
    """What is at one place is; of several indices it has to be said."""
    x, i = fc.asarray([1.0, 2.0, 3.0]), fc.asarray([0, 1])

    def several(y):
        return getattr(x.at[i], name)(y, unique_indices=True).sum()

    def one_by_one(y):
        return fc.fori_loop(0, 2, lambda i, c: getattr(c.at[i], name)(y[i]), x).sum()

    for f in (several, one_by_one):
        for g in (fc.grad(f), fc.jit(fc.grad(f))):
            np.testing.assert_allclose(g(fc.asarray([1.0, 2.0])), gradient, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="unique=True"):
        fc.grad(lambda y: x.at[i].multiply(y).sum())(fc.ones(2))


def test_vmap_over_indices():
    x, i = fc.asarray([[1.0, 2.0], [3.0, 4.0]]), fc.asarray([1, 0])
    np.testing.assert_array_equal(fc.vmap(lambda row, i: row[i])(x, i), [2, 3])
    np.testing.assert_array_equal(fc.vmap(lambda row, i: row.at[i].set(0.0))(x, i), [[1, 0], [0, 4]])


def test_a_loop_over_rows_is_one_unit():
    from functorch_core.ops.indexing import _read_at

    x = fc.asarray(data((7, 13)))
    x[0], x[1:3]
    before = len(_read_at.units)
    rows = [x[i] for i in range(7)] + [x[i : i + 2] for i in range(5)]
    assert len(_read_at.units) == before
    np.testing.assert_array_equal(rows[6], data((7, 13))[6])
    np.testing.assert_array_equal(rows[11], data((7, 13))[4:6])


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        slice(1, 3),
        (slice(None), 1),
        (slice(None, None, -2),),
        np.array([2, 0]),
        (slice(1, None), np.array([1, 1])),
        (np.array([[0], [2]]), np.array([1, 3])),
    ],
)
def test_compiled_reads_and_writes(index):
    x = data((3, 4))
    with fc.engine.forced_tier("fused"):
        np.testing.assert_array_equal(fc.asarray(x)[index], x[index])
        written = x.copy()
        np.add.at(written, index, np.float32(1))
        np.testing.assert_array_equal(fc.asarray(x).at[index].add(1.0), written)


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 4), (2, 0, 3), (4, 3, 2, 5), (1, 1)])
@pytest.mark.parametrize("turned", [False, True])
def test_places_of_what_is_not_zero(shape, turned):
    array = np.random.default_rng(0).integers(0, 2, shape)
    array = array.T if turned else array
    found, wanted = nonzero_places(array), np.nonzero(array)
    assert len(found) == len(wanted) == array.ndim
    for a, b in zip(found, wanted):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_windows_out_of_bounds_are_clipped_without_a_mode():
    """As JAX's lax.gather; mode="fill" gives NaN."""
    numbers = fc.lax.GatherDimensionNumbers((1,), (0,), (0, 1))
    x, places = np.arange(12.0).reshape(3, 4), np.array([[0, 1], [2, 5], [-1, 0]])

    def windows(x, mode):
        return fc.lax.gather(x, places, numbers, (1, 2), mode=mode)

    for found in (windows(x, None), fc.jit(lambda x: windows(x, None))(x)):
        np.testing.assert_array_equal(found, [[1, 2], [10, 11], [0, 1]])
    np.testing.assert_array_equal(windows(x, "fill"), [[1, 2], [np.nan] * 2, [np.nan] * 2])
