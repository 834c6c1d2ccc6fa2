"""Cumulative reductions and the linear recurrence: every rule, zeros, ties, NaN, infinities."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch

from functorch_core import xla
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import (
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    exclusive_cumprod,
    extreme_index,
    linear_recurrence,
)
from functorch_core.transforms.transpose import vjp

from .check import check, compiled, graph_of

ALL = (cumsum, cumprod, cummax, cummin, cumlogsumexp)
ORACLES = {
    cumsum: torch.cumsum,
    cumprod: torch.cumprod,
    cumlogsumexp: torch.logcumsumexp,
    cummax: lambda x, d: torch.cummax(x, d)[0],
    cummin: lambda x, d: torch.cummin(x, d)[0],
}


def named(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def some(shape, dtype="float64", seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 2
    return (np.abs(x) if dtype.startswith("u") else x).astype(named(dtype))


def gradient(fun, x):
    v = vjp(graph_of(fun, [x]), (True,))
    out, *residuals = compiled(v.forward, [x])
    return compiled(v.backward, [*residuals, np.ones_like(out)])[0]


# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fun", ALL)
def test_rules(fun):
    for shape, axis in (((4,), 0), ((2, 19), 1), ((3, 2, 2), 0)):
        for reverse in (False, True):
            check(lambda x: fun(x, axis=axis, reverse=reverse), some(shape))


@pytest.mark.parametrize("fun", ALL)
def test_degenerate_shapes(fun):
    for shape in ((1,), (0,), (2, 0)):
        check(lambda x: fun(x, axis=len(shape) - 1), some(shape))


@pytest.mark.parametrize("dtype", ("int8", "uint16", "int64", "float16", "bfloat16", "float32"))
@pytest.mark.parametrize("fun", (cumsum, cumprod, cummax, cummin))
def test_dtypes(fun, dtype):
    check(lambda x: fun(x, axis=1), some((2, 6), dtype))


def test_more_dtypes():
    z = some((2, 5)) + 1j * some((2, 5), seed=1)
    check(lambda x: (cumsum(x, axis=1), cumprod(x, axis=0)), z)
    check(lambda x: (cummax(x, axis=0), cummin(x, axis=0)), np.array([[True], [False], [True]]))
    for dtype in ("float16", "bfloat16", "float32"):
        check(lambda x: cumlogsumexp(x, axis=1), some((2, 6), dtype))


@pytest.mark.parametrize("fun", ALL)
@pytest.mark.parametrize("axis", (0, 1))
def test_as_pytorch(fun, axis):
    x = some((40, 30))
    t = torch.tensor(x, requires_grad=True)
    out = ORACLES[fun](t, axis)
    (wanted,) = torch.autograd.grad(out.sum(), t)
    graph = graph_of(lambda x: fun(x, axis=axis), [x])
    np.testing.assert_allclose(compiled(graph, [x])[0], out.detach().numpy(), rtol=1e-10)
    np.testing.assert_allclose(gradient(lambda x: fun(x, axis=axis), x), wanted.numpy(), rtol=1e-8)


ACCUMULATE = {cumsum: np.add, cumprod: np.multiply, cummax: np.maximum, cummin: np.minimum, cumlogsumexp: np.logaddexp}


@pytest.mark.parametrize("fun", ALL)
@pytest.mark.parametrize("shape, axis", [((2, 16, 3), 1), ((67, 2), 0), ((3, 77), 1), ((261,), 0), ((1 << 14 | 1,), 0)])
def test_long_axes(fun, shape, axis):
    """By groups of four on a CPU, the last or the first of them filled up."""
    x = some(shape) / (10 if fun is cumprod else 1) + (fun is cumprod)
    x.flat[5] = np.nan if len(shape) > 1 else -np.inf
    for reverse in (False, True):
        (out,) = compiled(graph_of(lambda x: fun(x, axis=axis, reverse=reverse), [x]), [x])
        ordered = np.flip(x, axis) if reverse else x
        with np.errstate(invalid="ignore"):
            wanted = ACCUMULATE[fun].accumulate(ordered, axis)
        np.testing.assert_allclose(out, np.flip(wanted, axis) if reverse else wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ("bool", "uint8", "int64", "bfloat16", "complex64"))
def test_long_axes_of_other_dtypes(dtype):
    x = np.sign(some((3, 50))).astype(named(dtype))
    for fun in (cummax, cummin) if dtype == "bool" else (cumsum,) if dtype == "complex64" else (cumsum, cummax, cummin):
        check(lambda x: fun(x, axis=1, reverse=True), x, rules=("lower",))


# ---- zeros ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", ([0], [2], [1, 2], [0, 3, 5]))
def test_products_of_zeros(zeros):
    x = some((6,))
    x[zeros] = 0
    for reverse in (False, True):
        check(lambda x: cumprod(x, axis=0, reverse=reverse), x, rules=("jvp", "transpose", "second"))
    t = torch.tensor(x, requires_grad=True)
    (wanted,) = torch.autograd.grad(torch.cumprod(t, 0).sum(), t)
    np.testing.assert_allclose(gradient(lambda x: cumprod(x, axis=0), x), wanted.numpy())


def test_exclusive_products():
    x = np.array([2.0, 3, 5])
    for reverse, wanted in ((False, [1, 2, 6]), (True, [15, 5, 1])):
        graph = graph_of(lambda x: exclusive_cumprod(x, axis=0, reverse=reverse), [x])
        np.testing.assert_array_equal(evaluate(graph, [x])[0], wanted)


# ---- ties and NaN --------------------------------------------------------------------------------


@pytest.mark.parametrize("fun, oracle", ((cummax, torch.cummax), (cummin, torch.cummin)))
def test_the_latest_of_equal_ones(fun, oracle):
    x = np.array([[1.0, 3, 3, 2, 3], [2, 2, 1, 1, 2], [5, 5, 5, np.nan, 7]])
    t = torch.tensor(x, requires_grad=True)
    values, index = oracle(t, 1)
    (wanted,) = torch.autograd.grad(values[:2].sum(), t)
    graph = graph_of(lambda x: extreme_index(x, fun(x, axis=1), axis=1), [x])
    for run in (compiled, evaluate):
        np.testing.assert_array_equal(run(graph, [x])[0], index.numpy())
    np.testing.assert_array_equal(gradient(lambda x: fun(x, axis=1), x[:2]), wanted[:2].numpy())


def test_latest_means_smallest_index_in_reverse():
    x = np.array([3.0, 1, 3, 2])
    graph = graph_of(lambda x: extreme_index(x, cummax(x, axis=0, reverse=True), axis=0, reverse=True), [x])
    np.testing.assert_array_equal(evaluate(graph, [x])[0], [0, 2, 2, 3])


@pytest.mark.parametrize("fun", ALL)
@pytest.mark.parametrize("n", (2, 16, 17, 300))
def test_nan_and_infinities(fun, n):
    for dtype in ("float32", "bfloat16"):
        x = some((4, n), dtype)
        x[0, n // 2] = np.nan
        x[1, :2] = np.inf
        x[2, : n // 2] = -np.inf
        x[3, 0], x[3, 1] = np.inf, -np.inf
        for reverse in (False, True):
            check(lambda x: fun(x, axis=1, reverse=reverse), x, rules=("lower",))


# ---- cumlogsumexp --------------------------------------------------------------------------------


def test_logarithms_far_apart():
    x = np.array([-1000.0, -1001, 0, 1000, 999, -np.inf, 1000])
    t = torch.tensor(x, requires_grad=True)
    out = torch.logcumsumexp(t, 0)
    (wanted,) = torch.autograd.grad(out.sum(), t)
    graph = graph_of(lambda x: cumlogsumexp(x, axis=0), [x])
    np.testing.assert_allclose(compiled(graph, [x])[0], out.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(gradient(lambda x: cumlogsumexp(x, axis=0), x), wanted.numpy(), atol=1e-12)


def test_no_nan_from_nothing():
    x = np.array([-np.inf, -np.inf, 0.0, 1])
    assert np.isfinite(gradient(lambda x: cumlogsumexp(x, axis=0), x)).all()


# ---- linear_recurrence ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape, axis", (((1,), 0), ((7,), 0), ((2, 8), 1), ((5, 3), 0), ((0, 2), 0)))
@pytest.mark.parametrize("reverse", (False, True))
def test_linear_recurrence(shape, axis, reverse):
    check(lambda a, b: linear_recurrence(a, b, axis=axis, reverse=reverse), some(shape), some(shape, seed=1))


@pytest.mark.parametrize("dtype", ("int32", "float16", "float32", "complex64"))
def test_linear_recurrence_dtypes(dtype):
    a, b = some((3, 37), seed=2) / 4, some((3, 37), seed=3)
    check(lambda a, b: linear_recurrence(a, b, axis=1), a.astype(dtype), b.astype(dtype), rules=("lower", "batch"))


# ---- precision and errors ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_narrow_floats_are_summed_in_float32(dtype):
    x = np.full((5000,), 0.25, named(dtype))
    graph = graph_of(lambda x: cumsum(x, axis=0), [x])
    for run in (compiled, evaluate):
        assert run(graph, [x])[0][-1] == np.float32(1250).astype(named(dtype))


def test_errors():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match="cumsum of .* along axis 2"):
        cumsum(x, axis=2)
    with pytest.raises(TypeError, match="cummax"):
        cummax(x.astype(np.complex64), axis=0)
    with pytest.raises(TypeError, match="one shape and dtype"):
        linear_recurrence(x, x[:, :2], axis=0)


@pytest.mark.parametrize("fun", ALL)
def test_lowers_for_cuda(fun):
    x = some((3, 4), "float32")
    graph = graph_of(lambda x: fun(x, axis=1), [x])
    xla.verify(lower(graph, "cuda").text)
    xla.verify(lower(vjp(graph, (True,)).backward, "cuda").text)
