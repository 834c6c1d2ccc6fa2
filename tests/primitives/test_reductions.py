"""Reductions over axes: every rule, every dtype, NaN, empty axes, ties."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest
import torch

from functorch_core import xla
from functorch_core.core.aval import aval
from functorch_core.core.lowering import lower
from functorch_core.core.primitive import registry
from functorch_core.core.trace import evaluate
from functorch_core.primitives import abs as abs_of
from functorch_core.primitives import (
    argmax,
    argmin,
    broadcast_in_dim,
    div,
    dot_general,
    mul,
    neg,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from functorch_core.transforms.transpose import vjp

from .check import check, compiled, graph_of

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "uint8", "int16", "uint32", "int64")
NUMBERS = (*INTS, *FLOATS, "complex64", "complex128")
EXTREMES = (reduce_max, reduce_min)


def named(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def reference(fun, *arrays):
    """What the NumPy reference gives."""
    return evaluate(graph_of(fun, arrays), arrays)[0]


def some(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if dtype == "bool":
        return x > 0
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return (np.abs(x) if dtype.startswith("u") else x).astype(named(dtype))


# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("fun", (reduce_sum, reduce_prod))
def test_sums_and_products(fun, dtype):
    for axes in ((0,), (0, 2)):
        check(lambda x: fun(x, axes=axes), some((2, 3, 2), dtype), tol=0.05 if dtype == "float16" else None)


@pytest.mark.parametrize("dtype", ("bool", *INTS, *FLOATS, "float8_e4m3fn"))
@pytest.mark.parametrize("fun", EXTREMES)
def test_extremes(fun, dtype):
    for axes in ((1,), (0, 1, 2)):
        check(lambda x: fun(x, axes=axes), some((2, 3, 4), dtype))


@pytest.mark.parametrize("dtype", ("bool", *INTS))
@pytest.mark.parametrize("fun", (reduce_and, reduce_or, reduce_xor))
def test_logic(fun, dtype):
    for shape, axes in (((2, 3, 4), (0, 2)), ((0, 3), (0,))):
        check(lambda x: fun(x, axes=axes), some(shape, dtype))


@pytest.mark.parametrize("dtype", ("bool", *INTS, *FLOATS, "float8_e5m2"))
@pytest.mark.parametrize("fun", (argmax, argmin))
def test_places_of_extremes(fun, dtype):
    x = np.round(some((3, 5, 2), dtype).astype(np.float64)).astype(named(dtype))
    for axis, index in ((0, np.int64), (1, np.int8)):
        check(lambda x: fun(x, axis=axis, index_dtype=index), x)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(reference(lambda x: fun(x, axis=1), x), getattr(np, fun.__name__)(wide, 1))


def test_no_axes_is_the_array_itself():
    x = some((2, 3), "float32")
    assert reduce_sum(x, axes=()) is x and reduce_max(x, axes=()) is x


# ---- products with zeros -------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", ([], [1], [1, 2], [0, 3, 5]))
def test_product_derivatives_at_zeros(zeros):
    x = some((6,), "float64")
    x[zeros] = 0
    check(lambda x: reduce_prod(x, axes=(0,)), x, rules=("jvp", "transpose", "second"))
    check(lambda x: reduce_prod(x, axes=(0, 1)), x.reshape(2, 3), rules=("jvp", "second"))


# ---- ties ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fun, oracle", ((reduce_max, torch.amax), (reduce_min, torch.amin)))
def test_ties_share_the_gradient(fun, oracle):
    x = np.array([[1.0, 3, 3, 0, 0], [2, 2, 2, 2, 2]])
    for axes in ((1,), (0, 1), (0,)):
        t = torch.tensor(x, requires_grad=True)
        out = oracle(t, axes)
        (wanted,) = torch.autograd.grad(out, t, torch.ones_like(out))
        np.testing.assert_allclose(gradient(lambda x: fun(x, axes=axes), x), wanted.numpy())


def gradient(fun, x):
    v = vjp(graph_of(fun, [x]), (True,))
    out, *residuals = compiled(v.forward, [x])
    return compiled(v.backward, [*residuals, np.ones_like(out)])[0]


# ---- NaN -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape, axes",
    (
        ((4, 5), (0,)),
        ((4, 5), (1,)),
        ((1000, 10), (1,)),
        ((10, 1000), (0,)),
        ((1, 3000), (1,)),
        ((64, 64), (0, 1)),
        ((64, 64), (1,)),
    ),
)
def test_extremes_keep_nan(shape, axes, dtype):
    x = some(shape, dtype)
    x[shape[0] // 2, shape[1] // 3] = np.nan
    check(lambda x: (reduce_max(x, axes=axes), reduce_min(x, axes=axes)), x, rules=("lower",))
    check(lambda x: (argmax(x, axis=axes[0]), argmin(x, axis=axes[0])), x, rules=("lower",))


@pytest.mark.parametrize("axes", ((0,), (1,), (0, 1)))
@pytest.mark.parametrize("what", ("numbers", "nan", "infinities", "both"))
def test_extremes_of_many(axes, what):
    """What is first reduced without regard to NaN."""
    x = np.random.default_rng(0).standard_normal((200, 100)).astype(np.float32)
    if what in ("nan", "both"):
        x[3, 5] = x[199, 5] = np.nan
    if what in ("infinities", "both"):
        x[3, 4], x[3, 6], x[7] = np.inf, -np.inf, -np.inf
    check(lambda x: (reduce_max(x, axes=axes), reduce_min(x, axes=axes)), x, rules=("lower", "batch"))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axes", (((64, 64), (0, 1)), ((67, 40), (0, 1)), ((3, 134), (1,)), ((4, 300), (0,))))
def test_extremes_of_absolute_values(shape, axes, dtype):
    """Whose bits are in their order as they are; axes longer than XLA's windows, with and without factors."""
    x = some(shape, dtype)
    x[1, 2], x[2, 3] = -np.inf, np.copysign(np.nan, -1)
    extremes = (reduce_max, reduce_min)
    check(lambda x: tuple(fun(abs_of(x), axes=axes) for fun in extremes), x, rules=("lower",))
    x[2, 3] = 0
    check(lambda x: tuple(fun(abs_of(x), axes=axes) for fun in extremes), x, rules=("lower",))
    check(lambda x: tuple(fun(neg(abs_of(x)), axes=axes) for fun in extremes), x, rules=("lower",))


def test_extremes_of_absolute_values_of_complex_numbers():
    x = some((20, 40), "complex64")
    x[3, 4] = complex(np.copysign(np.nan, -1), 1)
    check(lambda x: (reduce_max(abs_of(x), axes=(1,)), reduce_min(abs_of(x), axes=(1,))), x, rules=("lower",))


def test_first_nan_is_the_extreme():
    x = np.array([[1, np.nan, 5, np.nan], [np.nan, 0, -1, 2]], np.float32)
    for fun, oracle in ((argmax, torch.argmax), (argmin, torch.argmin)):
        graph = graph_of(lambda x: fun(x, axis=1), [x])
        np.testing.assert_array_equal(compiled(graph, [x])[0], [1, 0])
        np.testing.assert_array_equal(oracle(torch.tensor(x), 1), [1, 0])


def test_infinities():
    x = np.array([[np.inf, -np.inf], [-np.inf, -np.inf], [np.inf, np.inf]], np.float32)
    check(
        lambda x: (reduce_max(x, axes=(1,)), argmax(x, axis=1), reduce_min(x, axes=(1,)), argmin(x, axis=1)),
        x,
        rules=("lower", "batch"),
    )


# ---- precision -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_narrow_floats_are_summed_in_float32(dtype):
    x = np.full((3, 4000), 1.25, named(dtype))  # a running sum in 16 bits sticks long before 5000
    graph = graph_of(lambda x: reduce_sum(x, axes=(1,)), [x])
    for run in (compiled, evaluate):
        (out,) = run(graph, [x])
        np.testing.assert_array_equal(out.astype(np.float32), np.float32(5000).astype(named(dtype)))


def test_integers_wrap():
    x = np.full((5,), 100, np.int8)
    check(lambda x: (reduce_sum(x, axes=(0,)), reduce_prod(x, axes=(0,))), x)
    assert reference(lambda x: reduce_sum(x, axes=(0,)), x) == np.int8(-12)


# ---- empty axes and errors -----------------------------------------------------------------------


def test_identities_of_empty_axes():
    x = np.zeros((2, 0), np.float32)
    for fun, identity in ((reduce_sum, 0), (reduce_prod, 1)):
        check(lambda x: fun(x, axes=(1,)), x)
        np.testing.assert_array_equal(reference(lambda x: fun(x, axes=(1,)), x), [identity] * 2)
    check(lambda x: reduce_max(x, axes=(0,)), x)  # the empty axis stays


@pytest.mark.parametrize("fun", EXTREMES)
def test_extremes_of_nothing(fun):
    with pytest.raises(ValueError, match=f"{fun.__name__} of .* no elements"):
        fun(np.zeros((2, 0), np.float32), axes=(1,))


@pytest.mark.parametrize("fun", (argmax, argmin))
def test_places_in_nothing(fun):
    with pytest.raises(ValueError, match=f"{fun.__name__} of .* no elements"):
        fun(np.zeros((2, 0), np.float32), axis=1)


def test_errors():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match="axes"):
        reduce_sum(x, axes=(2,))
    with pytest.raises(ValueError, match="axes"):
        reduce_max(x, axes=(0, 0))
    with pytest.raises(TypeError, match="reduce_and"):
        reduce_and(x, axes=(0,))
    with pytest.raises(TypeError, match="reduce_max"):
        reduce_max(x.astype(np.complex64), axes=(0,))
    with pytest.raises(TypeError, match="integer dtype"):
        argmax(x, axis=0, index_dtype=np.float32)


def test_lowers_for_cuda():
    x = some((3, 4), "bfloat16")
    graph = graph_of(lambda x: (reduce_max(x, axes=(0,)), reduce_sum(x, axes=(1,)), argmin(x, axis=0)), [x])
    xla.verify(lower(graph, "cuda").text)


@pytest.mark.parametrize("by", [mul, div])
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 1), (0, 3), (1, 2), (0, 2, 3), (1, 3)])
@pytest.mark.parametrize("axis", range(4))
def test_sums_of_weighted_arrays(axis, dims, by):
    """On CPU some are dots, some wait for their products; all are what NumPy adds up."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4, 5, 6)).astype(np.float32)
    w = rng.uniform(0.5, 2, [x.shape[d] for d in dims]).astype(np.float32)
    spread = np.expand_dims(w, [d for d in range(4) if d not in dims])

    def fun(x, w, sign=1):
        product = by(x, broadcast_in_dim(w, shape=x.shape, dims=dims))
        return reduce_sum(product if sign > 0 else neg(product), axes=(axis,))

    expected = (x * spread if by is mul else x / spread).sum(axis)
    np.testing.assert_allclose(compiled(graph_of(fun, [x, w]), [x, w])[0], expected, rtol=1e-5, atol=1e-5)
    negated = graph_of(lambda x, w: fun(x, w, -1), [x, w])
    np.testing.assert_allclose(compiled(negated, [x, w])[0], -expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("by", (None, mul, div))
@pytest.mark.parametrize("shapes", (((6, 3), (6, 5)), ((6, 5, 2), (6, 3)), ((6, 4), (6,)), ((6, 2, 3), (6, 2, 4))))
def test_sums_of_outer_products_are_dots(shapes, by):
    """Of gradients of samples, weighted: the sum contracts their dimension, also beside another of the batch."""
    x, y = (np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(shapes))
    w = np.linspace(0.5, 2, 6, dtype=np.float32)
    both = shapes == ((6, 2, 3), (6, 2, 4))
    batch = ((0, 1), (0, 1)) if both else ((0,), (0,))

    def fun(x, y, w):
        outer = dot_general(x, y, batch=batch)
        spread = broadcast_in_dim(w, shape=outer.aval.shape, dims=(0,))
        return reduce_sum(by(outer, spread) if by else outer, axes=(0,))

    graph = graph_of(fun, [x, y, w])
    weights = {None: np.ones(6), mul: w, div: 1 / w}[by]
    letters = (
        ("bki", "bkj", "kij") if both else ("bij"[: x.ndim], "bmn"[: y.ndim], "ij"[: x.ndim - 1] + "mn"[: y.ndim - 1])
    )
    wanted = np.einsum("b,{},{}->{}".format(*letters), weights, x.astype(float), y.astype(float))
    np.testing.assert_allclose(compiled(graph, [x, y, w])[0], wanted, rtol=1e-5, atol=1e-5)
    assert "stablehlo.reduce" not in lower(graph).text


def test_sums_by_weights_of_the_batch_are_dots():
    """YNN goes across the memory for them: 520 ms instead of 0.23 for 256 x 128 x 128."""
    x, w = np.ones((8, 4, 4), np.float32), np.ones(8, np.float32)
    spread = functools.partial(broadcast_in_dim, shape=x.shape, dims=(0,))
    graph = graph_of(lambda x, w: reduce_sum(mul(x, spread(w)), axes=(0,)), [x, w])
    assert "dot_general" in lower(graph, "cpu").text and "dot_general" not in lower(graph, "cuda").text


def test_long_sums_by_numpy_are_as_exact_as_compiled_ones():
    x = np.random.default_rng(0).standard_normal((5000, 8)).astype(np.float32) + 1
    by_numpy = reduce_sum.primitive.rule("reference")(x, axes=(0,))
    (by_xla,) = compiled(graph_of(lambda v: reduce_sum(v, axes=(0,)), [x]), [x])
    for sums in (by_numpy, by_xla):
        np.testing.assert_allclose(sums, x.sum(0, dtype=np.float64), rtol=2e-7)


def test_loose_maxima_of_many_rows():
    """By the bits of float32 numbers, against NumPy; a row with a NaN has any of its elements."""
    x = np.random.default_rng(0).standard_normal((300, 70), dtype=np.float32)
    x[1], x[2], x[3, 5], x[4], x[5], x[6] = -np.abs(x[1]), -np.inf, np.inf, 0.0, -0.0, np.where(x[6] > 0, -np.inf, x[6])
    x[7, 3], x[8], x[8, 3] = np.nan, -1.0, -np.float32(np.nan)
    a = aval(x.shape, x.dtype)
    found = registry["reduce_max_loose"].rule("reference").specialised(a, axes=(1,))(x)
    sure = ~np.isnan(x).any(1)
    np.testing.assert_array_equal(found[sure], x[sure].max(1))
    assert np.isnan(found[7]) and (np.isnan(found[8]) or found[8] == -1)
    assert found.shape == (300,)
