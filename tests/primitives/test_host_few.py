"""NumPy's ways for few numbers give what the rules of any arrays give."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.kernels import on_host
from functorch_core.primitives import host_few
from functorch_core.primitives.convert import convert_p
from functorch_core.primitives.cumulative import cumsum
from functorch_core.primitives.indexing import gather_p
from functorch_core.primitives.reduce_window import make_window
from functorch_core.primitives.sorting import sort_p, top_k_p

ODD = [3.0, -0.0, 0.0, np.nan, -2.5, np.inf, 3.0, -np.inf, np.nan, 0.0]
DTYPES = ("float16", "float32", "float64", "int8", "uint8", "int64", "bool")


def both_ways(primitive, arrays, **params):
    """What a rule says of few numbers, and what it says of any."""
    rule = primitive.rule("reference")
    few = rule.specialised(*[aval(x.shape, x.dtype) for x in arrays], **params)
    assert few is not None
    with np.errstate(all="ignore"):
        return few(*arrays), rule(*arrays, **params)


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a.view(np.uint8) if a.shape else a, b.view(np.uint8) if b.shape else b)


def numbers(dtype, shape):
    x = np.resize(ODD, shape)
    return x.astype(dtype) if dtype.startswith("float") else np.nan_to_num(x, posinf=9, neginf=0).astype(dtype)


@pytest.mark.parametrize("dtype, descending", list(itertools.product(DTYPES, (False, True))))
@pytest.mark.parametrize("shape, dimension", [((10,), 0), ((3, 5), 1), ((4, 3), 0), ((2, 5, 2), 1), ((1,), 0)])
def test_order(dtype, descending, shape, dimension):
    x = numbers(dtype, shape)
    index = np.arange(x.size).reshape(shape)
    how = dict(dimension=dimension, num_keys=1, descending=descending, stable=True)
    for arrays in ([x], [x, index], [np.asfortranarray(x), index]):
        same(*[list(map(np.ascontiguousarray, found)) for found in both_ways(sort_p, arrays, **how)])


@pytest.mark.parametrize("dtype, largest", list(itertools.product(DTYPES, (False, True))))
@pytest.mark.parametrize("shape, k", [((10,), 3), ((10,), 0), ((3, 5), 5), ((2, 2, 4), 1)])
def test_top_k(dtype, largest, shape, k):
    same(*both_ways(top_k_p, [numbers(dtype, shape)], k=k, largest=largest))


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32", "bool"))
@pytest.mark.parametrize("shape", [(10,), (2, 3), (1,)])
def test_extremes_and_truths(dtype, shape):
    x, axes = numbers(dtype, shape), tuple(range(len(shape)))
    wholes = [p.reduce_max, p.reduce_min] + [p.reduce_and, p.reduce_or] * (dtype == "bool")
    for reduce in wholes:
        found, expected = both_ways(reduce.primitive, [x], axes=axes)
        np.testing.assert_array_equal(found, expected)
        assert found.shape == () and found.dtype == x.dtype and found.base is None


@pytest.mark.parametrize("source", ("float32", "float64"))
@pytest.mark.parametrize("target", ("int8", "uint8", "int32", "int64", "uint64"))
def test_floats_to_integers(source, target):
    info = np.iinfo(target)
    ends = [float(info.min), float(info.max), float(info.max) * 2, info.min - 1.0, -0.5, info.max + 0.5]
    for x in (np.array([1.7, -1.7, 3.0]), np.array(ODD), np.array(ends), *np.array(ends)[:, None], np.array([])):
        x = x.astype(source)
        same(*[[found] for found in both_ways(convert_p, [x], dtype=np.dtype(target))])


@pytest.mark.parametrize("mode, fill", [("clip", None), ("promise_in_bounds", None), ("fill", None), ("fill", 7)])
@pytest.mark.parametrize("at", [(), (4,), (2, 3)])
def test_index_vectors(mode, fill, at):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3, 5))
    for low, high in ((0, 3), (-2, 6)):
        if mode == "promise_in_bounds" and low:
            continue
        index = rng.integers(low, high, (*at, 2))
        how = dict(offset_dims=(len(at),), collapsed_slice_dims=(0, 2), start_index_map=(2, 0), slice_sizes=(1, 3, 1))
        how |= dict(operand_batching_dims=(), start_indices_batching_dims=(), mode=mode, fill_value=fill)
        same(*[[found] for found in both_ways(gather_p, [x, index], **how)])


@pytest.mark.parametrize("dtype", ("float32", "float64", "int8", "int32", "int64"))
def test_accumulated(dtype):
    x = numbers(dtype, (4, 3))
    for axis in (0, 1):
        same(*[[found] for found in both_ways(cumsum.primitive, [x], axis=axis, reverse=False)])


@pytest.mark.parametrize("dtype", ("float32", "float64", "int64", "bool"))
@pytest.mark.parametrize("padding", (None, ((0, 0), (1, 2)), ((2, 0), (-1, 1))))
@pytest.mark.parametrize("strides, dilation", [(None, None), ((2, 1), None), ((1, 2), (1, 2))])
def test_windows(dtype, padding, strides, dilation):
    x = numbers(dtype, (4, 5))
    window = make_window(2, (2, 2), strides, padding, (1, 1), dilation)
    for reduce in [p.reduce_window_max, p.reduce_window_min] + [p.reduce_window_sum] * (dtype != "bool"):
        found, expected = both_ways(reduce.primitive, [x], window=window)
        assert found.shape == expected.shape and found.dtype == x.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("right", (False, True))
def test_places_in_what_is_sorted(right):
    way = on_host.insertion_places(right)(aval((5,), dt.float32), aval((3,), dt.float32))
    values = np.array([2, np.nan, -1], np.float32)
    found = way.run(np.array([0, 2, 2, 3, 9], np.float32), values)
    assert found[0].tolist() == ([3, 5, 0] if right else [1, 5, 0])
    assert way.run(np.array([0, 2, 1, 3, 9], np.float32), values) is None
    assert way.run(np.array([0, 2, 2, 3, np.nan], np.float32), values) is None


def test_looking_at_few_numbers():
    x = np.array([1.0, 2.0, np.nan])
    assert not host_few.are_within(x, 0, 5) and host_few.are_within(x[:2], 1, 2)
    assert host_few.has_any(x > 1) and not host_few.has_any(x > 5) and not host_few.has_any(x[:0] > 5)
    assert host_few.has_all(x[:2] > 0) and not host_few.has_all(x > 0) and host_few.has_all(x[:0] > 5)
