"""Large host arrays by oneDNN, against NumPy in float64."""

from __future__ import annotations

import functools
import math
import threading

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import torch
from functorch_core.core import many
from functorch_core.core.aval import aval
from functorch_core.core.reference import contiguous, reference_of
from functorch_core.core.trace import trace_closed
from functorch_core.primitives import (
    add,
    broadcast_in_dim,
    concatenate,
    div,
    mul,
    reduce_prod,
    reduce_sum,
    reshape,
    sub,
)
from functorch_core.primitives import host_library as library
from functorch_core.xla import blas, onednn, onednn_matmul

pytestmark = pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed")


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def computed(function, *arrays):
    """What the reference tier gives for function(*arrays)."""
    graph = trace_closed(lambda *xs: [function(*xs)], [aval(a.shape, a.dtype) for a in arrays])
    return reference_of(graph)(arrays)[0]


@pytest.fixture(autouse=True)
def loaded():
    """The library, which is not loaded for a few calls."""
    assert onednn._library() is not None


@pytest.fixture
def used(monkeypatch):
    """The arrays that the library was called with."""
    calls = []
    real = library._ByLibrary.__call__
    monkeypatch.setattr(library._ByLibrary, "__call__", lambda self, *xs: calls.append(xs) or real(self, *xs))
    return calls


@pytest.mark.parametrize(
    "shape, axes",
    [((1 << 20,), (0,)), ((1024, 1024), (1,)), ((1024, 1024), (0, 1)), ((16, 64, 32, 32), (2, 3)), ((300, 5000), (1,))],
)
def test_sums_of_rows(used, shape, axes):
    x = numbers(*shape)
    found = computed(lambda x: reduce_sum(x, axes=axes), x)
    assert used and found.dtype == np.float32
    wanted = x.sum(axes, dtype=np.float64)
    np.testing.assert_allclose(found, wanted, atol=2e-6 * np.abs(x).sum(axes).max())


def test_special_numbers_of_sums(used):
    x = numbers(1024, 1024)
    x[0, 5], x[1, 7], x[2, 1023], x[3, :2], x[4] = np.nan, np.inf, -np.inf, (np.inf, -np.inf), 0.0
    found = computed(lambda x: reduce_sum(x, axes=(1,)), x)
    assert used
    np.testing.assert_array_equal(found[:5], [np.nan, np.inf, -np.inf, np.nan, 0.0])


@pytest.mark.parametrize(
    "shape, axes",
    [((512, 512), (1,)), ((300, 500), (0, 1)), ((1 << 18,), (0,)), ((7, 150, 131), (2,)), ((7, 150, 131), (1, 2))],
)
def test_products_of_rows(used, shape, axes):
    length = math.prod([shape[d] for d in axes])
    x = 1 + numbers(*shape) / np.float32(length**0.5)
    found = computed(lambda x: reduce_prod(x, axes=axes), x)
    assert used and found.dtype == np.float32
    np.testing.assert_allclose(found, np.prod(x, axes, np.float64), rtol=1e-7 * length**0.5 + 1e-6)
    turned = x[..., ::-1]
    np.testing.assert_allclose(computed(lambda x: reduce_prod(x, axes=axes), turned), found, rtol=1e-3)


def test_special_numbers_of_products(used):
    x = np.ones((512, 512), np.float32)
    x[0, 5], x[1, 7], x[2, 511], x[3, :2], x[4, 9], x[5, ::2], x[6, :3] = (
        np.nan,
        np.inf,
        -np.inf,
        (0, np.inf),
        -0.0,
        -1,
        1e-20,
    )
    x[7, 100], x[8, 100:300] = 1e-45, 1e30
    found = computed(lambda x: reduce_prod(x, axes=(1,)), x)
    assert used
    with np.errstate(all="ignore"):
        wanted = np.prod(x, 1, np.float64).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found[1:3]), [False, True])
    assert np.signbit(found[4])


@pytest.mark.parametrize(
    "shapes, axis", [([(512, 512)] * 2, 1), ([(8, 300, 64), (8, 1000, 64)], 1), ([(64, 64, 70)] * 3, 2)]
)
def test_joined(used, shapes, axis):
    parts = [numbers(*shape) + i for i, shape in enumerate(shapes)]
    found = computed(lambda *xs: concatenate(*xs, dimension=axis), *parts)
    assert used
    np.testing.assert_array_equal(found, np.concatenate(parts, axis))


EDGES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 3.0, -3.0, 6.0, 3e38, -3e38, 1e-40, -1e-40, -2.9999998)
STEPPED = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, x * np.float32(0.01)),
    "hardswish": lambda x: x.astype(np.float64) * np.clip(x.astype(np.float64) + 3, 0, 6) / 6,
}


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("shape", [(1 << 18,), (3, 5, 20011)])
def test_elementwise(used, name, shape):
    x = numbers(*shape) * 3
    x.reshape(-1)[: len(EDGES)] = EDGES
    with np.errstate(invalid="ignore"):
        wanted = STEPPED[name](x)
    with fc.engine.forced_tier("reference"):
        found = getattr(torch.nn.functional, name)(torch.tensor(x)).numpy()
    assert used
    np.testing.assert_allclose(found, wanted.astype(np.float32), rtol=4e-7, atol=3e-45)


@pytest.mark.parametrize("name", STEPPED)
def test_elementwise_without_the_library(monkeypatch, name):
    monkeypatch.setenv("FUNCTORCH_ONEDNN", "0")
    x = numbers(600, 1000)  # in no other test: how a call is computed is remembered
    with fc.engine.forced_tier("reference"):
        found = getattr(torch.nn.functional, name)(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, STEPPED[name](x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64, np.int16])
@pytest.mark.parametrize(
    "shape, view",
    [
        ((512, 512), lambda x: x.T),
        ((8, 32, 40, 50), lambda x: x.transpose(0, 2, 3, 1)),
        ((40, 50, 100), lambda x: x.transpose(2, 0, 1)[::2]),
        ((700, 500), lambda x: x[:, ::2]),
        ((512, 512), lambda x: x.T[::-1]),
        ((512, 512), lambda x: np.broadcast_to(x.T[:, :1], (512, 512))),
        ((3, 5, 7, 11, 13, 17), lambda x: x.transpose(5, 3, 1, 0, 4, 2)),
    ],
)
def test_copies_in_order(shape, view, dtype):
    bits = np.random.default_rng(0).integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    x = view(bits.view(dtype)[..., 0])
    found = contiguous(x)
    assert found.flags.c_contiguous and found.dtype == dtype
    assert found.tobytes() == np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("columns", [(1, 1), (2, 3, 1), (4, 4), (5, 2), (0, 3)])
@pytest.mark.parametrize("across", [False, True])
def test_few_columns_joined(columns, across):
    parts = [numbers(512, 300, n) + i for i, n in enumerate(columns)]
    parts = [p.swapaxes(0, 1) if across else p for p in parts]
    for dtype in (np.float32, np.int8):
        typed = [p.astype(dtype) for p in parts]
        found = computed(lambda *xs: concatenate(*xs, dimension=2), *typed)
        np.testing.assert_array_equal(found, np.concatenate(typed, 2))
        assert found.dtype == dtype


def test_what_lies_otherwise_is_left_to_numpy():
    x = numbers(1024, 1024)
    np.testing.assert_allclose(computed(lambda x: reduce_sum(x, axes=(1,)), x.T), x.sum(0, dtype=np.float64), atol=1e-3)
    a, b = numbers(1024, 512), numbers(512, 1024).T
    np.testing.assert_array_equal(computed(lambda *xs: concatenate(*xs, dimension=1), a, b), np.concatenate([a, b], 1))


def test_small_arrays_and_other_dtypes_are_left_to_numpy(used):
    computed(lambda x: reduce_sum(x, axes=(0,)), numbers(1000))
    computed(lambda *xs: concatenate(*xs, dimension=1), numbers(8, 8), numbers(8, 8))
    wide = numbers(1024, 1024).astype(np.float64)
    computed(lambda *xs: concatenate(*xs, dimension=1), wide, wide)
    assert not used


def test_the_library_is_loaded_when_it_was_asked_for_often(monkeypatch):
    monkeypatch.setattr(onednn, "_library", functools.lru_cache(maxsize=1)(onednn._library.__wrapped__))
    monkeypatch.setattr(onednn, "_lost", 0.0)
    x, given = numbers(1024, 1024), []
    run = library.sums_of_rows(1024, 1024, (1024,), lambda array: given.append(1) or array.sum(1))
    for _ in range(405):
        run(x)
    assert len(given) == onednn.LOADING / 50 - 1


def test_the_more_a_call_saves_the_sooner_the_library_is_loaded(monkeypatch):
    monkeypatch.setattr(onednn, "_library", functools.lru_cache(maxsize=1)(onednn._library.__wrapped__))
    monkeypatch.setattr(onednn, "_lost", 0.0)
    x, before = numbers(1 << 20), 0
    while onednn._library.cache_info().currsize == 0:
        np.testing.assert_array_equal(computed(add, x, x), x + x)
        before += 1
    assert before == math.ceil(onednn.LOADING / (many.SAVED * x.size))


def test_in_both_faces():
    x = numbers(1024, 1024)
    for _ in range(3):
        np.testing.assert_allclose(float(fc.sum(fc.asarray(x))), x.sum(dtype=np.float64), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(
    "m, k, n", [(600, 64, 192), (64, 600, 192), (2000, 64, 40), (1024, 1024, 64), (64, 1024, 1024)]
)
@pytest.mark.parametrize("across", ["", "x", "y", "xy"])
def test_products(m, k, n, across):
    x, y = numbers(m, k), numbers(k, n)
    x[0, 0], y[1, 1], x[2, 3] = np.inf, np.nan, 1e-40
    x, y = (np.asfortranarray(x) if "x" in across else x), (np.asfortranarray(y) if "y" in across else y)
    found = blas.matmul_for(m, n, k)(x, y)
    assert onednn_matmul.multiplied(x, y) is not None
    with np.errstate(invalid="ignore"):
        wanted = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(found, wanted, atol=2e-5 * np.sqrt(k), rtol=1e-5)
    assert found.dtype == np.float32 and found.flags.c_contiguous


def test_products_that_are_left_to_numpy():
    x, y = numbers(600, 128)[:, ::2], numbers(64, 192)
    assert onednn_matmul.multiplied(x, y) is None  # neither rows nor columns lie one after the other
    assert onednn_matmul.multiplied(x.astype(np.float64), y) is None
    assert onednn_matmul.multiplied(np.broadcast_to(x[:1], x.shape), y) is None
    np.testing.assert_allclose(blas.matmul_for(600, 192, 64)(x, y), x @ y, atol=1e-4)
    found = []
    thread = threading.Thread(target=lambda: found.append(onednn_matmul.multiplied(numbers(600, 64), y)))
    thread.start()
    thread.join()
    assert found == [None]  # it has no team of threads


def test_one_thread_stays_one():
    x, y = numbers(600, 64), numbers(64, 192)
    before = blas._blas().threads
    blas.set_threads(1)
    try:
        assert blas.matmul_for(600, 192, 64)(x, y).shape == (600, 192) and not blas.has_several_threads()
    finally:
        blas.set_threads(before)


# ---- two arrays, or an array and a number --------------------------------------------------------


@pytest.fixture
def combined_by_library(monkeypatch):
    """What the library combined."""
    calls, real = [], many.onednn_forward.job_of
    monkeypatch.setattr(
        many.onednn_forward, "job_of", lambda what: calls.append(what) or real(what)
    )  # of this module only
    return calls


COMBINED = pytest.mark.parametrize(
    "function, ufunc", [(add, np.add), (sub, np.subtract), (mul, np.multiply), (div, np.divide)]
)


def special(n):
    x = numbers(n)
    x[:16] = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1e-45,
        -1e-45,
        3e38,
        -3e38,
        1.0,
        np.nan,
        np.inf,
        0.0,
        -0.0,
        1e-38,
        2.0,
    ]
    return x


@COMBINED
@pytest.mark.parametrize("size", [many.COMBINED, many.COMBINED + 13, many.DIVIDED + 1])
def test_two_arrays(combined_by_library, function, ufunc, size):
    """Bit by bit what NumPy gives, special values included."""
    x = special(size)
    for y in (x[::-1].copy(), np.roll(x, 5)):
        found = computed(function, x, y)
        with np.errstate(all="ignore"):
            wanted = ufunc(x, y)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted) | np.isnan(wanted) & np.signbit(found))
    assert combined_by_library


@COMBINED
@pytest.mark.parametrize("number", [2.5, -0.0, np.inf, np.nan, 1e-45, 3.0])
def test_an_array_and_a_number(combined_by_library, function, ufunc, number):
    x, number = special(many.COMBINED + 5), np.float32(number)
    one = lambda a: broadcast_in_dim(a, shape=x.shape, dims=())  # noqa: E731
    with np.errstate(all="ignore"):
        for found, wanted in (
            (computed(lambda x, y: function(x, one(y)), x, number), ufunc(x, number)),
            (computed(lambda x, y: function(one(y), x), x, number), ufunc(number, x)),
        ):
            np.testing.assert_array_equal(found, wanted)
    assert [what for what in combined_by_library if what.other == (1,)]


@COMBINED
def test_a_result_in_the_memory_of_an_operand(combined_by_library, function, ufunc):
    """A step of several writes over what nothing needs after it, be it the first operand or the second."""
    x, y = special(many.COMBINED), numbers(many.COMBINED)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(computed(lambda x, y: function(add(x, y), y), x, y), ufunc(x + y, y))
        np.testing.assert_array_equal(computed(lambda x, y: function(x, mul(x, y)), x, y), ufunc(x, x * y))
        np.testing.assert_array_equal(computed(lambda x, y: function(add(x, y), add(x, y)), x, y), ufunc(x + y, x + y))
    assert len(combined_by_library) > 3


@COMBINED
@pytest.mark.parametrize(
    "shape, other",
    [
        ((512, 1024), (1024,)),
        ((512, 1024), (512, 1)),
        ((4, 128, 1024), (4, 128, 1)),
        ((4, 128, 1024), (1, 1024)),
        ((4, 128, 1024), (128, 1024)),
        ((16, 64, 32, 32), (64, 1, 1)),
        ((1, 600, 1, 600), (600, 1, 1)),
        ((800, 801), (1, 1)),
        ((524288, 1), (1,)),
    ],
)
def test_rows_columns_and_channels(combined_by_library, function, ufunc, shape, other):
    x = special(math.prod(shape)).reshape(shape)
    y = special(max(math.prod(other), 16))[: math.prod(other)].reshape(other)
    dims = tuple(range(len(shape) - len(other), len(shape)))
    full = lambda a: broadcast_in_dim(reshape(a, shape=shown), shape=shape, dims=shown_dims)  # noqa: E731
    shown_dims = tuple([d for d, n in zip(dims, other) if n == shape[d]])
    shown = tuple([shape[d] for d in shown_dims])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(computed(lambda x, y: function(x, full(y)), x, y), ufunc(x, y))
        np.testing.assert_array_equal(computed(lambda x, y: function(full(y), x), x, y), ufunc(y, x))
        np.testing.assert_array_equal(computed(lambda x, y: function(mul(x, x), full(y)), x, y), ufunc(x * x, y))
    assert combined_by_library


def test_arrays_that_are_not_the_librarys(combined_by_library):
    """Of another dtype, with gaps, turned, every second dimension for all, or few."""
    rows = 1024
    x, cube, part = numbers(rows, rows), numbers(64, 64, 64, 3), numbers(64, 1, 64, 1)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(computed(add, wide, wide), wide + wide)
    np.testing.assert_array_equal(computed(add, x.T, x), x.T + x)
    gaps = numbers(rows, 2 * rows)[:, ::2]
    np.testing.assert_array_equal(computed(mul, gaps, x), gaps * x)
    spread = computed(lambda x, c: mul(x, broadcast_in_dim(c, shape=x.shape, dims=(0, 1, 2, 3))), cube, part)
    np.testing.assert_array_equal(spread, cube * part)
    np.testing.assert_array_equal(computed(add, x[:256], x[256:512]), x[:256] + x[256:512])
    assert not combined_by_library
