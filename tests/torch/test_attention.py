"""Attention of host arrays against NumPy in float64: values, gradients, masks, what is not finite."""

from __future__ import annotations

import numpy as np
import pytest
from functorch_core.torch.nn import functional as F

import functorch_core as fc
from functorch_core import torch
from functorch_core.kernels.attention_on_host import Attention
from tests.nn import both

SHAPES = {  # query's leading dimensions, queries, keys, width of keys, of values
    "few heads": ((1, 2), 70, 70, 8, 8),
    "many heads": ((4, 4), 51, 51, 16, 16),
    "more keys": ((2, 3), 40, 90, 5, 7),
    "more queries": ((6,), 90, 40, 16, 3),
    "one head": ((), 130, 130, 4, 4),
    "large heads": ((3,), 400, 400, 4, 4),
}


def softmax(scores):
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - np.where(np.isneginf(top := scores.max(-1, keepdims=True)), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def weights_of(q, k, mask, is_causal, scale):
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores)


def expected(q, k, v, g, mask, is_causal, scale):
    """The result and the three gradients, by the formulas."""
    p = weights_of(q, k, mask, is_causal, scale)
    by_weights = g @ np.swapaxes(v, -1, -2)
    by_scores = p * (by_weights - (p * by_weights).sum(-1, keepdims=True)) * scale
    return p @ v, by_scores @ k, np.swapaxes(by_scores, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g


def operands(name, dtype="float32", spread=1.0):
    lead, n, m, d, e = SHAPES[name]
    rng = np.random.default_rng(0)
    shapes = (*lead, n, d), (*lead, m, d), (*lead, m, e), (*lead, n, e)
    return [(rng.standard_normal(s) * spread).astype(dtype) for s in shapes]


def found(q, k, v, g, mask=None, tier="reference", **params):
    with fc.engine.forced_tier(tier):
        inputs = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
        out = F.scaled_dot_product_attention(*inputs, None if mask is None else torch.tensor(mask), **params)
        out.backward(torch.tensor(g))
        return [out.detach().numpy(), *[x.grad.numpy() for x in inputs]]


def agrees(arrays, mask=None, is_causal=False, scale=0.3, tolerance=2e-5, **params):
    wide = [x.astype(np.float64) for x in arrays]
    wanted = expected(*wide, mask, is_causal, scale)
    for a, b in zip(found(*arrays, mask, is_causal=is_causal, scale=scale, **params), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, np.abs(b).max()))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_results_and_gradients(name, is_causal):
    agrees(operands(name), is_causal=is_causal)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-4), ("float64", 1e-12)])
@pytest.mark.parametrize("spread", [1.0, 12.0])
def test_large_scores(dtype, tolerance, spread):
    """Where e^score could overflow the largest of each row is looked for."""
    agrees(operands("many heads", dtype, spread), is_causal=True, tolerance=tolerance)


def masks(lead, n, m):
    rng = np.random.default_rng(1)
    yield rng.random((n, m)) > 0.3
    yield rng.random((*lead[:1], *(1,) * (len(lead) - 1), 1, m)) > 0.3
    yield rng.random((*lead, n, m)) > 0.3
    yield rng.standard_normal((n, m)).astype(np.float32)
    yield np.where(rng.random((*lead, 1, m)) > 0.5, 0, -np.inf).astype(np.float32)
    none = rng.random((n, m)) > 0.3
    none[3] = False  # a query without any key
    yield none
    yield np.zeros((n, m), bool)


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("name", ["many heads", "more keys", "one head"])
def test_masks(name, number):
    lead, n, m, *_ = SHAPES[name]
    agrees(operands(name), mask=list(masks(lead, n, m))[number])


def test_what_is_not_finite_stays_where_it_is():
    q, k, v, g = operands("many heads")
    q[0, 1, 7] = np.nan
    k[1, 2, 50] = np.nan  # the last key: under a causal mask one query alone sees it
    k[2, 2, 49, 3] = np.inf
    by_numpy, compiled = (found(q, k, v, g, tier=tier, is_causal=True)[0] for tier in ("reference", "fused"))
    np.testing.assert_array_equal(np.isfinite(by_numpy), np.isfinite(compiled))
    assert np.isfinite(by_numpy[1, 2, :50]).all() and np.isnan(by_numpy[1, 2, 50]).all()


@pytest.mark.parametrize("wanted", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)])
def test_some_gradients(wanted):
    q, k, v, g = operands("many heads")
    alone = expected(*[x.astype(np.float64) for x in (q, k, v, g)], None, True, 0.25)[1:]
    with fc.engine.forced_tier("reference"):
        inputs = [torch.tensor(x, requires_grad=bool(w)) for x, w in zip((q, k, v), wanted, strict=True)]
        F.scaled_dot_product_attention(*inputs, is_causal=True).backward(torch.tensor(g))
        for x, gradient, w in zip(inputs, alone, wanted, strict=True):
            assert (x.grad is not None) == w
            if w:
                np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-4, atol=1e-5)


def test_gradient_of_a_mask_that_is_added():
    q, k, v, g = operands("many heads")
    results = []
    for tier in ("reference", "fused"):
        with fc.engine.forced_tier(tier):
            mask = torch.zeros(51, 51, requires_grad=True)
            F.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), mask).backward(torch.tensor(g))
            results.append(mask.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-4)


def test_arrays_that_lie_otherwise():
    """Heads cut out of one product, as layers of attention do."""
    packed = np.random.default_rng(2).standard_normal((4, 51, 3, 4, 16)).astype(np.float32)
    g = np.random.default_rng(3).standard_normal((4, 4, 51, 16)).astype(np.float32)
    q, k, v = (packed[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    with fc.engine.forced_tier("reference"):
        whole = torch.tensor(packed, requires_grad=True)
        parts = whole.permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(*parts, is_causal=True)
        out.backward(torch.tensor(g).transpose(-1, -2).contiguous().transpose(-1, -2))
        gradient = whole.grad.numpy()
    wanted, *gradients = expected(*[x.astype(np.float64) for x in (q, k, v, g)], None, True, 0.25)
    np.testing.assert_allclose(out.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)
    for i, by in enumerate(gradients):
        np.testing.assert_allclose(gradient[:, :, i].transpose(0, 2, 1, 3), by, rtol=1e-4, atol=1e-5)


def test_second_derivatives():
    """Those of the formula, which nothing else computes."""

    def penalty(tier):
        with fc.engine.forced_tier(tier):
            q, k, v = (torch.tensor(x, requires_grad=True) for x in operands("many heads")[:3])
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            (first,) = torch.autograd.grad((out**2).sum(), q, create_graph=True)
            (first**2).sum().backward()
            return k.grad.numpy()

    np.testing.assert_allclose(penalty("reference"), penalty("fused"), rtol=1e-3, atol=1e-2)


def test_transforms():
    """vmap and forward mode of large attention agree with a loop and with differences."""
    q, k, v, _ = map(torch.tensor, operands("many heads", "float64"))

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    with fc.engine.forced_tier("reference"):
        mapped = torch.vmap(attend)(q, k, v).numpy()
        np.testing.assert_allclose(mapped, attend(q, k, v).numpy(), rtol=1e-12, atol=1e-13)
        tangent = torch.ones_like(q)
        dot = torch.func.jvp(lambda q: attend(q, k, v), (q,), (tangent,))[1].numpy()
        h = 1e-6
        ends = [attend(q + s * h * tangent, k, v).numpy() for s in (1, -1)]
    np.testing.assert_allclose(dot, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)


def test_what_it_is_not_for():
    """Few scores, other dtypes, heads that are broadcast."""
    what = Attention(1.0, False, False)
    from functorch_core.core.aval import aval

    def way(*shapes, dtype="float32"):
        return what.way([aval(s, np.dtype(dtype)) for s in shapes], [aval(shapes[0], np.dtype(dtype))])

    heads = (2, 100, 8)
    assert way(heads, heads, heads) is not None
    assert way((2, 4, 8), heads, heads) is None
    assert way(heads, (1, 100, 8), heads) is None
    assert way(heads, heads, heads, dtype="float16") is None
    assert way((2, 100, 0), (2, 100, 0), heads) is None


def test_small_gradients_of_small_weights():
    """Weights that are not divided by their sums must not vanish where cotangents are small."""
    q, k, v, g = operands("many heads")
    q[...], k[...] = 3.2, 0.05 * k - 3.2  # all scores are low: about -25
    g *= 1e-20
    wanted = expected(*[x.astype(np.float64) for x in (q, k, v, g)], None, False, 0.15)
    for a, b in zip(found(q, k, v, g, scale=0.15), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * np.abs(b).max())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_of_masks(dtype):
    def program(t):
        attend, x, found = t.nn.functional.scaled_dot_product_attention, t.ones(1, 1, 2, 4), []
        for name in ("float16", "bfloat16", "float32", "float64", "bool", "int64", "complex64"):
            q, mask = x.to(getattr(t, dtype)), t.ones(2, 2).to(getattr(t, name))
            found.append(both.failing(attend, q, q, q, attn_mask=mask))
            with t.autocast("cpu"):
                found.append(both.failing(attend, q, q, q, attn_mask=mask))
        return found

    both.agree(program)
