"""Reductions over windows: every rule, PyTorch's pooling, ties, padding that is never extreme."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch

from functorch_core import xla
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import (
    reduce_window,
    reduce_window_argmax,
    reduce_window_argmin,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
)
from functorch_core.transforms.transpose import vjp

from .check import check, compiled, graph_of

CASES = {
    "plain": ((7,), dict(window=(3,))),
    "strided": ((8, 9), dict(window=(3, 2), strides=(2, 3), padding=((1, 1), (0, 1)))),
    "pooling": (
        (2, 2, 6, 7),
        dict(window=(1, 1, 3, 3), strides=(1, 1, 2, 2), padding=((0, 0), (0, 0), (1, 1), (1, 1))),
    ),
    "side_by_side": ((5, 7, 3), dict(window=(2, 3, 1), strides=(2, 3, 1))),
    "window_dilation": ((5, 6), dict(window=(2, 2), window_dilation=(2, 3), padding=((1, 0), (2, 2)))),
    "base_dilation": ((4, 5), dict(window=(3, 3), base_dilation=(2, 3), strides=(1, 2), padding=((2, 0), (0, 1)))),
    "holes": ((4, 5), dict(window=(2, 2), base_dilation=(3, 3), padding=((1, 0), (0, 2)))),
    "cut": ((4, 5), dict(window=(3, 2), padding=((-1, 1), (0, -2)))),
    "gaps": ((9,), dict(window=(2,), strides=(4,))),
    "both": ((6,), dict(window=(3,), window_dilation=(2,), strides=(3,), base_dilation=(2,))),
    "nowhere": ((3,), dict(window=(5,))),
    "empty": ((0, 4), dict(window=(1, 2))),
    "only_padding": ((0,), dict(window=(2,), padding=((1, 2),))),
}
SUM_AND_EXTREMES = (reduce_window_sum, reduce_window_max, reduce_window_min)
DERIVATIVES = ("jvp", "transpose", "second")


def some(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture(params=(reduce_window.UNROLLED, 0), ids=("by_shifts", "by_index"))
def both_forms(request, monkeypatch):
    """Small windows are written out, large ones go by indices: each case goes both ways."""
    monkeypatch.setattr(reduce_window, "UNROLLED", request.param)


# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fun", SUM_AND_EXTREMES)
def test_rules(fun, case, both_forms):
    shape, window = CASES[case]
    x = some(shape)
    finite = np.isfinite(evaluate(graph_of(lambda x: fun(x, **window), [x]), [x])[0]).all()
    smooth = DERIVATIVES if finite else ("transpose",)  # no differences of infinities
    check(lambda x: fun(x, **window), x, rules=("lower", "batch", *smooth))


@pytest.mark.parametrize("dtype", ("int32", "uint8", "bool", "float16", "bfloat16", "float32"))
def test_dtypes(dtype, both_forms):
    shape, window = CASES["strided"]
    x = np.abs(np.round(some(shape) * 2)).astype(getattr(ml_dtypes, dtype, dtype))
    sums = () if dtype == "bool" else (reduce_window_sum,)
    funs = (*sums, reduce_window_max, reduce_window_min, reduce_window_argmax, reduce_window_argmin)
    check(lambda x: [fun(x, **window) for fun in funs], x, rules=("lower", "batch"))


@pytest.mark.parametrize("case", CASES)
def test_places(case, both_forms):
    shape, window = CASES[case]
    x = np.round(some(shape)).astype(np.float32)
    if x.size > 4:
        x.flat[:3] = np.nan, -np.inf, np.inf
    check(lambda x: (reduce_window_argmax(x, **window), reduce_window_argmin(x, **window)), x, rules=("lower", "batch"))


# ---- PyTorch's pooling ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size, stride, padding, dilation", ((2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (5, 3, 2, 1), (9, 2, 4, 1))
)
@pytest.mark.parametrize("ties", (False, True))
def test_max_pooling(size, stride, padding, dilation, ties):
    x = some((2, 3, 13, 12))
    x = np.round(x) if ties else x
    t = torch.tensor(x, requires_grad=True)
    out = torch.nn.functional.max_pool2d(t, size, stride, padding, dilation)
    ct = some(out.shape, seed=1)
    (wanted,) = torch.autograd.grad(out, t, torch.tensor(ct))
    window = over_two(size, stride, padding, window_dilation=(1, 1, dilation, dilation))
    found, value = gradient(lambda x: reduce_window_max(x, **window), x, ct)
    np.testing.assert_array_equal(value, out.detach().numpy())
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-12)


@pytest.mark.parametrize("size", ((2, 2), (3, 2), (1, 4)))
@pytest.mark.parametrize("dtype", (np.float32, np.float64, ml_dtypes.bfloat16))
def test_max_pooling_channels_last(size, dtype):
    """Windows side by side: the first of equal elements, NaN before any, what no window reaches is zero."""
    x = np.round(some((2, 7, 9, 5))).astype(dtype)
    x[:, ::4, ::4, 1] = np.nan  # one a window: of several PyTorch takes the last
    x[1, :2, :2] = -np.inf
    kind = {np.float32: torch.float32, np.float64: torch.float64}.get(dtype, torch.bfloat16)
    t = torch.tensor(x.astype(np.float64)).to(kind).permute(0, 3, 1, 2).requires_grad_()
    out = torch.nn.functional.max_pool2d(t, size)
    ct = some(out.shape, seed=1)
    (wanted,) = torch.autograd.grad(out, t, torch.tensor(ct).to(t.dtype))
    window = dict(window=(1, *size, 1), strides=(1, *size, 1))
    found, value = gradient(lambda x: reduce_window_max(x, **window), x, ct.transpose(0, 2, 3, 1).astype(dtype))
    for a, b in ((value, out.detach()), (found, wanted)):
        np.testing.assert_array_equal(a.astype(np.float64).transpose(0, 3, 1, 2), b.double().numpy())


def over_two(size, stride, padding, **more):
    return dict(
        window=(1, 1, size, size),
        strides=(1, 1, stride, stride),
        padding=((0, 0), (0, 0), (padding, padding), (padding, padding)),
        **more,
    )


@pytest.mark.parametrize("size, stride, padding", ((2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 3, 1)))
def test_average_pooling(size, stride, padding):
    x = some((2, 3, 13, 12))
    t = torch.tensor(x, requires_grad=True)
    out = torch.nn.functional.avg_pool2d(t, size, stride, padding, divisor_override=1)
    ct = some(out.shape, seed=1)
    (wanted,) = torch.autograd.grad(out, t, torch.tensor(ct))
    window = over_two(size, stride, padding)
    found, value = gradient(lambda x: reduce_window_sum(x, **window), x, ct)
    np.testing.assert_allclose(value, out.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-12)


def gradient(fun, x, ct):
    """The compiled gradient, and the value."""
    v = vjp(graph_of(fun, [x]), (True,))
    value, *residuals = compiled(v.forward, [x])
    return compiled(v.backward, [*residuals, ct])[0], value


# ---- padding and NaN -----------------------------------------------------------------------------


def test_padding_is_never_extreme(both_forms):
    x = np.full((4,), -np.inf)
    graph = graph_of(lambda x: reduce_window_argmax(x, window=(3,), padding=((1, 1),)), [x])
    for run in (compiled, evaluate):
        np.testing.assert_array_equal(run(graph, [x])[0], [1, 0, 0, 0])


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("window", ((1, 64), (64, 1), (64, 64), (3, 3)))
def test_extremes_keep_nan(window, dtype):
    x = some((64, 64)).astype(getattr(ml_dtypes, dtype, dtype))
    x[30, 20] = np.nan
    check(lambda x: (reduce_window_max(x, window=window), reduce_window_min(x, window=window)), x, rules=("lower",))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_narrow_floats_are_summed_in_float32(dtype):
    x = np.full((5000,), 0.25, getattr(ml_dtypes, dtype, dtype))
    graph = graph_of(lambda x: reduce_window_sum(x, window=(5000,)), [x])
    for run in (compiled, evaluate):
        assert run(graph, [x])[0][0] == np.float32(1250).astype(x.dtype)


# ---- errors and platforms ------------------------------------------------------------------------


def test_errors():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match="all 2 dimensions"):
        reduce_window_sum(x, window=(2,))
    with pytest.raises(ValueError, match="at least 1"):
        reduce_window_max(x, window=(1, 2), strides=(1, 0))
    with pytest.raises(ValueError, match="takes away"):
        reduce_window_sum(x, window=(1, 1), padding=((-2, -1), (0, 0)))
    with pytest.raises(TypeError, match="reduce_window_max"):
        reduce_window_max(x.astype(np.complex64), window=(1, 1))


@pytest.mark.parametrize("fun", SUM_AND_EXTREMES)
def test_lowers_for_cuda(fun, both_forms):
    shape, window = CASES["pooling"]
    graph = graph_of(lambda x: fun(x, **window), [some(shape)])
    v = vjp(graph, (True,))
    xla.verify(lower(v.forward, "cuda").text)
    xla.verify(lower(v.backward, "cuda").text)
