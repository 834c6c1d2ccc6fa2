"""What NumPy computes of many numbers in another way than one after the other, against its own functions."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.reference import Reference, contiguous, function_of
from functorch_core.core.trace import trace_closed
from functorch_core.primitives import host_scans, indexing, scattering


def by_host(fun, *arrays):
    """The reference tier's result of a function that is one primitive."""
    graph = trace_closed(lambda *args: [fun(*args)], [aval(x.shape, x.dtype) for x in arrays])
    *_, node = graph.nodes
    with np.errstate(all="ignore"):
        return np.asarray(function_of(node, [graph.avals[s] for s in node.inputs])(*arrays))


def agree(found, expected):
    """Equal, NaN for NaN and with the signs of zeros."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def random(shape, dtype=np.float32, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    return (x * (1 if np.dtype(dtype).kind == "f" else 50)).astype(dtype)


# ---- remainders ----------------------------------------------------------------------------------

ODD = [0, -0.0, 1, -1, 0.1, 3, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 2.0**28, 2.0**-28]


def check_remainders(x, y):
    with np.errstate(all="ignore"):
        agree(by_host(p.rem, x, y), np.fmod(x, y))


def test_remainders_of_odd_numbers():
    x, y = np.meshgrid(np.array(ODD * 5, np.float32), np.array(ODD, np.float32))
    check_remainders(np.ascontiguousarray(np.tile(x, (4, 1))), np.ascontiguousarray(np.tile(y, (4, 1))))


@pytest.mark.parametrize("seed", range(6))
def test_remainders_next_to_multiples(seed):
    rng = np.random.default_rng(seed)
    y = (rng.random((90, 500)) * 10).astype(np.float32)
    multiples = (rng.integers(0, 2 ** rng.integers(1, 32, y.shape)) * y.astype(np.float64)).astype(np.float32)
    for x in (multiples, np.nextafter(multiples, np.float32(np.inf)), -np.nextafter(multiples, np.float32(0))):
        check_remainders(x, y)
    check_remainders(multiples.T, y.T)
    check_remainders(multiples[::-1, ::-1], y)


@pytest.mark.parametrize("seed", range(4))
def test_remainders_of_any_bits(seed):
    x, y = np.random.default_rng(seed).integers(0, 2**32, (2, 100, 100), np.uint32).view(np.float32)
    check_remainders(x, y)
    check_remainders((x.view(np.uint32) % 2**23).view(np.float32), (y.view(np.uint32) % 2**23).view(np.float32))


@pytest.mark.parametrize("y", [0.7, -2, 0, np.inf, np.nan, 1e-45])
def test_remainders_by_one_number(y):
    check_remainders(random((80, 70)) * 1000, np.broadcast_to(np.float32(y), (80, 70)))


def test_remainders_of_nothing():
    check_remainders(np.zeros((0, 5000), np.float32), np.zeros((0, 5000), np.float32))


# ---- cumulative ----------------------------------------------------------------------------------

ACCUMULATED = {p.cumsum: np.add, p.cumprod: np.multiply, p.cummax: np.maximum, p.cummin: np.minimum}
SHAPES = [
    (300, 70),
    (70, 300),
    (2, 3000),
    (3000,),
    (7, 130, 40),
    (4, 5, 100, 3),
    (900, 16),
    (900, 2),
    (900, 1),
    (0, 90),
]


@pytest.fixture(params=["large", "pieces"])
def pieces(request, monkeypatch):
    """Both what is done with many numbers, of few, and pieces of these."""
    monkeypatch.setattr(host_scans, "LARGE", 1)
    monkeypatch.setattr(host_scans, "WIDE", 1)
    if request.param == "pieces":
        monkeypatch.setattr(host_scans, "PIECE", 48)
        monkeypatch.setattr(host_scans, "ROWS", 500)


def one_by_one(ufunc, x, axis, reverse):
    x = np.flip(x, axis) if reverse else x
    wide = np.float64 if ufunc is np.add and x.dtype == np.float32 else x.dtype
    out = ufunc.accumulate(x, axis, wide).astype(x.dtype)
    return np.flip(out, axis) if reverse else out


@pytest.mark.parametrize("fun", ACCUMULATED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32], ids=lambda d: d.__name__)
def test_accumulated(fun, shape, dtype, pieces):
    x = random(shape, dtype)
    for given in (x, x.T.copy().T, x[::-1]):
        for axis in range(x.ndim):
            for reverse in (False, True):
                found = by_host(lambda v: fun(v, axis=axis, reverse=reverse), given)
                expected = one_by_one(ACCUMULATED[fun], given, axis, reverse)
                if fun is p.cumsum and dtype != np.int32:
                    assert found.dtype == dtype
                    np.testing.assert_allclose(found, expected, rtol=0, atol=8e-6 if dtype == np.float32 else 1e-12)
                else:
                    agree(found, expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_what_comes_before_nan_and_infinities_is_kept(axis, reverse):
    x = random((200, 200))
    x[3, 5], x[7, 100], x[100, 7], x[150, 150], x[150, 160] = np.nan, np.inf, -np.inf, np.inf, -np.inf
    found = by_host(lambda v: p.cumsum(v, axis=axis, reverse=reverse), x)
    with np.errstate(all="ignore"):
        expected = one_by_one(np.add, x, axis, reverse)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_sums_are_as_exact_as_in_float64():
    x = np.random.default_rng(0).random((3, 20_000)).astype(np.float32)
    exact = np.cumsum(x, 1, np.longdouble)
    error = np.abs(by_host(lambda v: p.cumsum(v, axis=1), x) - exact) / np.spacing(exact.astype(np.float32))
    assert error.max() < 0.5001


# ---- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, axes", [
    ((100, 100), (1,)), ((100, 100), (0,)), ((100, 100), (0, 1)), ((4097,), (0,)), ((3, 7919), (1,)),
    ((30, 20, 40), (1, 2)), ((30, 20, 40), (0, 2)), ((30, 20, 40), (1,)), ((2000, 3), (1,)), ((64, 1, 65), (2,)),
    ((0, 90), (1,)), ((90, 0), (1,)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64], ids=lambda d: d.__name__)
def test_products(shape, axes, dtype):
    x = (1 + random(shape, np.float64) / 30).astype(dtype)
    for given in (x, x.T.copy().T, x[::-1], x[..., ::-1]):
        found, expected = by_host(lambda v: p.reduce_prod(v, axes=axes), given), np.prod(given, axes, np.float64)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_products_with_nan_infinities_and_zeros():
    x = np.ones((70, 100), np.float32)
    x[0, 99], x[1, 0], x[1, 99], x[2, 50], x[3, 7], x[4, 20] = np.nan, np.inf, 0, -np.inf, -0.0, 0
    with np.errstate(all="ignore"):
        expected = np.prod(x, 1)
    agree(by_host(lambda v: p.reduce_prod(v, axes=(1,)), x), expected)


# ---- places of extremes ---------------------------------------------------------------------------


@pytest.mark.parametrize("fun, numpys", [(p.argmax, np.argmax), (p.argmin, np.argmin)], ids=["argmax", "argmin"])
@pytest.mark.parametrize("shape", [(500, 300), (3, 300, 200), (7, 40, 9, 60)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.float16, np.bool_], ids=str)
def test_places_of_extremes(fun, numpys, shape, dtype):
    x = np.round(random(shape, np.float64) * 2).astype(dtype)  # many are equal: the first counts
    if x.dtype.kind == "f":
        x[0].reshape(-1)[:9], x[-1].reshape(-1)[4:8] = [np.nan, np.inf, -np.inf] * 3, np.nan
    for given in (x, x.T.copy().T, x[::-1], x[..., ::-1]):
        for axis in range(x.ndim):
            found = by_host(lambda v: fun(v, axis=axis), given)
            agree(found, np.asarray(numpys(given, axis)))


# ---- sums of halves ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("shape, axes", [
    ((), ()), ((1,), (0,)), ((0,), (0,)), ((3, 0), (1,)), ((0, 3), (1,)), ((7, 9), (1,)), ((7, 9), (0,)),
    ((300, 200), (1,)), ((300, 200), (0,)), ((300, 200), (0, 1)), ((5, 40, 60), (0, 2)), ((20_000,), (0,)),
], ids=str)  # fmt: skip
def test_sums_of_halves_are_rounded_once(shape, axes, dtype):
    x = np.asarray(random(shape)).astype(dtype)
    for given in (x, x.T.copy().T, x[::-1] if x.ndim else x, x[..., ::-1] if x.ndim else x):
        found = by_host(lambda v: p.reduce_sum(v, axes=axes), given) if axes else given
        exact = given.astype(np.float64).sum(axes)
        assert found.dtype == dtype and found.shape == exact.shape
        step = np.spacing(np.abs(exact).astype(np.float16)).astype(np.float64) * (1 if dtype == np.float16 else 8)
        assert (np.abs(found.astype(np.float64) - exact) <= 0.51 * step + 1e-5).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("fun", [p.reduce_sum, p.reduce_prod], ids=lambda f: f.__name__)
def test_special_numbers_of_halves(fun, dtype):
    x = np.ones((40, 60), dtype)
    x[0, 5], x[1, 7], x[2, 59], x[3, :2], x[4], x[5, :3] = np.nan, np.inf, -np.inf, (np.inf, -np.inf), 0, 60000
    found = by_host(lambda v: fun(v, axes=(1,)), x)
    with np.errstate(all="ignore"):
        wanted = (np.sum if fun is p.reduce_sum else np.prod)(x.astype(np.float32), 1).astype(dtype)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


# ---- reading and writing at places ---------------------------------------------------------------


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("at", [(), (5,), (2000,), (3, 4), (0,)], ids=str)
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_taken_along_an_axis(axis, at, mode):
    low, high = (0, 6) if mode == "promise_in_bounds" else (-3, 9)
    x, i = random((5, 6, 7)), np.random.default_rng(0).integers(low, high, at)
    for given in (x, x.T.copy().T, x[::-1, :, ::-1]):
        found = by_host(lambda v, k: indexing.gather(
            v, k, offset_dims=tuple(d + (len(at) - 1) * (d > axis) for d in range(3) if d != axis),
            collapsed_slice_dims=(axis,), start_index_map=(axis,), mode=mode,
            slice_sizes=tuple(1 if d == axis else n for d, n in enumerate(x.shape)),
        ), given, i[..., None])  # fmt: skip
        expected = given.take(i, axis, mode="clip")
        if mode == "fill":
            expected[(slice(None),) * axis + ((i < 0) | (i >= x.shape[axis]),)] = np.nan
        agree(found, expected)


COMBINED = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("combine", COMBINED)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_, np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize(
    "rows, count, row", [(512, 300, 300), (5, 300, 300), (1, 600, 8), (500, 900, 16), (100, 3000, 2), (40, 50, 1)]
)
def test_rows_that_meet(combine, dtype, rows, count, row):
    rng, ufunc = np.random.default_rng(0), COMBINED[combine]
    table, updates = (random((n, row), seed=n).astype(dtype) for n in (rows, count))
    if ufunc is not np.multiply and table.dtype.kind == "f":
        updates[3, 0], updates[5, row - 1] = np.nan, -0.0
    for places in (
        rng.integers(0, rows, count),
        np.minimum(rng.integers(0, rows, count), rng.integers(0, rows, count)),
    ):
        found, expected = table.copy(), table.copy()
        with np.errstate(all="ignore"):
            scattering._at(ufunc)(found, places, updates)
            ufunc.at(expected, places, updates)
        np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("axis", [0, 1])
def test_added_along_an_axis_some_of_it_outside(axis):
    x, i = random((90, 100)), np.random.default_rng(0).integers(-5, 105, 80)
    updates = random((80, 100) if axis == 0 else (90, 80), seed=1)
    expected = np.moveaxis(x, axis, 0).copy()
    inside = (i >= 0) & (i < len(expected))
    np.add.at(expected, i[inside], np.moveaxis(updates, axis, 0)[inside])
    for given in (x, x.T.copy().T, np.broadcast_to(np.float32(0), x.shape)):
        found = by_host(lambda v, k, u: scattering.scatter(
            v, k, u, update_window_dims=(1 - axis,), inserted_window_dims=(axis,),
            scatter_dims_to_operand_dims=(axis,), combine="add",
        ), given, i[:, None], updates)  # fmt: skip
        wanted = np.moveaxis(expected, 0, axis) if given.any() else np.moveaxis(expected, 0, axis) - x
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


# ---- conversions ---------------------------------------------------------------------------------

CONVERTED = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.complex64, ml_dtypes.float8_e4m3fn, np.bool_]
SPREAD = [((), (3, 4)), ((3, 1), (3, 4)), ((1, 4), (3, 4)), ((1,), (0,)), ((0, 1), (0, 5)), ((), (1, 1))]


@pytest.mark.parametrize("source, target", list(itertools.permutations(CONVERTED, 2)), ids=str)
def test_conversions_of_what_is_repeated(source, target):
    for of, shape in (*SPREAD, ((2, 1, 3), (2, 5, 3))):
        x = np.broadcast_to(np.asarray(random(of)).astype(source), shape)
        found, wanted = (by_host(lambda v: p.convert(v, dtype=np.dtype(target)), y) for y in (x, x.copy()))
        assert found.dtype == target and found.shape == shape and found.tobytes() == wanted.tobytes()


# ---- shifts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_shifts_by_any_amount(dtype):
    info = np.iinfo(dtype)
    amounts = {*range(70), *range(-70, 0), 255, 256, 257, 2**16, 2**32, 2**32 + 1, info.min, info.max}
    amounts = np.array(sorted([a for a in amounts if info.min <= a <= info.max]), dtype)
    numbers = np.array([0, 1, 2, 5, 77, info.min, info.min + 1, info.max, info.max - 1], dtype)
    x, y = (np.ascontiguousarray(np.tile(v, 9)) for v in np.broadcast_arrays(numbers[:, None], amounts))

    def expected(a, b, kind):
        many = not 0 <= b < info.bits
        unsigned = a % 2**info.bits
        signed = unsigned - 2**info.bits * (unsigned >> (info.bits - 1))
        out = 0 if many else unsigned << b if kind == "left" else unsigned >> b
        if kind == "arithmetic":
            out = signed >> (info.bits if many else b)
        return out % 2**info.bits

    for kind, fun in (
        ("left", p.shift_left), ("logical", p.shift_right_logical), ("arithmetic", p.shift_right_arithmetic)
    ):  # fmt: skip
        wanted = [expected(int(a), int(b), kind) for a, b in zip(x.flat, y.flat)]
        wanted = np.array(wanted, f"uint{info.bits}").view(dtype).reshape(x.shape)
        agree(by_host(fun, x, y), wanted)
        agree(by_host(fun, x[:, ::-1], y[:, ::-1]), wanted[:, ::-1])
        for k in range(0, len(amounts), 7):
            many = np.tile(numbers, 1000)
            found = by_host(fun, many, np.broadcast_to(amounts[k], many.shape))
            agree(found, np.tile(wanted[: len(numbers), k], 1000))


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 8, 15, 16, 20])
@pytest.mark.parametrize(
    "dtype", [np.bool_, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128], ids=str
)
def test_elements_in_a_row(times, dtype):
    x = random((190, 180)).astype(dtype)
    x.reshape(-1)[:3] = [np.nan, -0.0, np.inf]
    for given in (x, x.T, x[::-1, ::-1], x[:, ::2]):
        spread = np.broadcast_to(given[..., None], (*given.shape, times))
        shape = (given.shape[0], given.shape[1] * times)
        found = by_host(lambda v: p.reshape(v, shape=shape), spread)
        assert found.tobytes() == spread.reshape(shape).tobytes()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.complex64], ids=str)
@pytest.mark.parametrize("shape", [(0,), (7,), (3, 5), (300, 400)], ids=str)
def test_repeated_along_the_last_dimension(shape, dtype):
    x = random((*shape, 1)).astype(dtype)
    x.reshape(-1)[:3] = [np.nan, -0.0, np.inf][: x.size]
    for given in (x, x[::-1], x[1:], x.T.copy().T):
        spread = np.broadcast_to(given, (*given.shape[:-1], 9))
        found = contiguous(spread)
        assert found.flags.c_contiguous and found.dtype == dtype and found.tobytes() == spread.tobytes()


@pytest.mark.parametrize("dims", [(1,), (0, 1), (0,)])
@pytest.mark.parametrize("columns", [512, 515])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.float32], ids=str)
def test_bytes_the_other_way_round(dims, columns, dtype):
    x = random((300, columns)).astype(dtype)
    for given in (x, x[:, ::-1], x[::2]):
        agree(by_host(lambda v: p.reverse(v, dims=dims), given), np.flip(given, dims))


@pytest.mark.parametrize("shape, axis", [((2, 700), 0), ((40, 2, 9), 1), ((300, 2), 1)])
def test_sums_of_pairs(shape, axis):
    x = random(shape)
    x.reshape(-1)[:4] = [np.nan, -0.0, np.inf, -0.0]
    for given in (x, x.T.copy().T, x[::-1]):
        agree(by_host(lambda v: p.reduce_sum(v, axes=(axis,)), given), given.sum(axis))


@pytest.mark.parametrize("value", (0.0, -0.0, 1.5, np.nan))
def test_padding_keeps_the_sign_of_zero(value):
    found = by_host(
        lambda x, v: p.pad(x, v, low=(1, 0), high=(0, 2), interior=(0, 1)), random((2, 3)), np.float32(value)
    )
    wanted = np.full((3, 7), value, np.float32)
    wanted[1:, :5:2] = random((2, 3))
    agree(found, wanted)


# ---- columns and rows ------------------------------------------------------------------------------


def test_a_column_and_a_row_are_broadcast_by_numpy():
    """Arithmetic, comparison and choice of operands that have all elements together; others are made in full."""
    column, row, cube = random((5,)), random((7,), seed=1), random((5, 7), seed=2)

    def spread(v, dims):
        return p.broadcast_in_dim(v, shape=(5, 7), dims=dims)

    def all_of_them(x, y, z):
        a, b = spread(x, (0,)), spread(y, (1,))
        twice = p.add(a, a)  # a column alone
        return [p.mul(a, b), p.sub(b, a), p.select(p.lt(a, b), a, b), p.max(p.mul(b, b), a), p.add(twice, z), p.exp(b)]

    graph = trace_closed(all_of_them, [aval(v.shape, v.dtype) for v in (column, row, cube)])
    a, b = column[:, None] + np.zeros_like(cube), row + np.zeros_like(cube)
    wanted = [a * b, b - a, np.where(a < b, a, b), np.maximum(b * b, a), a + a + cube, np.exp(b)]
    run = Reference(graph)
    for _ in range(2):
        for x, y in zip(run([column, row, cube]), wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)
            assert x.shape == cube.shape


def test_one_number_is_broadcast_to_one_dimension():
    """Two numbers of no dimension, which are left as they are elsewhere, have no dimension together."""
    graph = trace_closed(
        lambda x, y: [p.add(*[p.broadcast_in_dim(v, shape=(1, 1), dims=()) for v in (x, y)])],
        [aval((), np.dtype(np.float32))] * 2,
    )
    agree(Reference(graph)([np.float32(1), np.float32(2)])[0], np.full((1, 1), 3, np.float32))
