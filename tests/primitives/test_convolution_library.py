"""Convolutions by oneDNN: each kind and gradient against real PyTorch and against XLA's lowering."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import conv
from functorch_core.transforms.transpose import vjp
from functorch_core.xla import onednn

from .check import compiled, graph_of

pytestmark = pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed")

FORWARD = (F.conv1d, F.conv2d, F.conv3d)
TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


def some(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def close(found, wanted, what):
    scale = np.abs(wanted).max(initial=1e-30)
    assert found.shape == wanted.shape, what
    np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-5 * scale, err_msg=str(what))


def random_convolution(rng):
    """Arrays, parameters, and what PyTorch calls the same. Strides beyond the kernel, even kernels, padding
    on one side, batches of one, groups that have one channel or several."""
    n = int(rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3, 8]))
    taken, made = groups * int(rng.integers(1, 5)), groups * int(rng.integers(1, 5))
    kernel, stride = rng.integers(1, 5, n), rng.integers(1, 5, n)
    dilation = rng.integers(1, 4, n)
    padding = [[int(k) for k in rng.integers(0, 4, 2)] for _ in range(n)]
    reach = (kernel - 1) * dilation + 1
    size = [int(rng.integers(max(1, r - sum(p)), r + 9)) for r, p in zip(reach, padding)]
    x = some(rng, int(rng.integers(1, 4)), taken, *size)
    w = some(rng, made, taken // groups, *kernel)
    params = dict(
        strides=tuple(map(int, stride)),
        padding=tuple(map(tuple, padding)),
        rhs_dilation=tuple(map(int, dilation)),
        feature_groups=groups,
    )

    def oracle(x, w):
        sides = [side for low_high in reversed(padding) for side in low_high]
        return FORWARD[n - 1](F.pad(x, sides), w, None, params["strides"], 0, params["rhs_dilation"], groups)

    return x, w, params, oracle


def with_gradients(run, x, w, params, ct):
    """The value and both gradients, each graph run by `run`."""
    v = vjp(graph_of(lambda x, w: conv(x, w, **params), [x, w]), (True, True))
    value, *residuals = run(v.forward, [x, w])
    return [value, *run(v.backward, [*residuals, ct])]


def by_torch(oracle, x, w, ct=None):
    tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    out = oracle(tx, tw)
    ct = torch.ones_like(out) if ct is None else torch.tensor(ct)
    return [t.detach().numpy() for t in (out, *torch.autograd.grad(out, (tx, tw), ct))]


@pytest.mark.parametrize("seed", range(40))
def test_random_convolutions(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    x, w, params, oracle = random_convolution(rng)
    ct = some(rng, *by_torch(oracle, x, w)[0].shape)
    wanted = by_torch(oracle, x, w, ct)
    for run in (evaluate, compiled):
        for name, found, right in zip(("value", "by x", "by w"), with_gradients(run, x, w, params, ct), wanted):
            close(found, right, (run.__name__, name, x.shape, w.shape, params))
    monkeypatch.setenv("FUNCTORCH_ONEDNN", "0")
    for found, right in zip(with_gradients(compiled, x, w, params, ct), wanted):
        close(found, right, ("XLA's", params))


def test_who_computes(monkeypatch):
    """A convolution and its gradients are oneDNN's; with strides, padding that cuts off is XLA's."""

    def text(params, shape=(2, 4, 9), features=()):
        x, w = np.zeros(shape, np.float32), np.zeros((6, 4, 3), np.float32)
        v = vjp(graph_of(lambda x, w: conv(x, w, **params), [x, w]), (True, True))
        return lower(v.forward, features=features).text + lower(v.backward, features=features).text

    assert text({}).count("@onednn.") == text(dict(strides=(2,), padding=((1, 0),))).count("@onednn.") == 3
    assert "stablehlo.convolution" not in text(dict(rhs_dilation=(2,), padding=((0, 5),)))
    assert "stablehlo.convolution" in text(dict(padding=((-1, 0),), strides=(2,)))
    assert "@onednn." not in text({}, features={"jit"})  # few multiplications, often
    assert text({}, (9, 4, 9999), {"jit"}).count("@onednn.") == 3
    with monkeypatch.context() as patch:
        patch.setattr(onednn, "MOST_REGISTERED", 0)  # so many shapes before that XLA may know no more
        assert "@onednn." not in text({}, shape=(2, 4, 8))
    monkeypatch.setenv("FUNCTORCH_ONEDNN", "0")
    assert "@onednn." not in text({})


def random_transposed(rng):
    """The same for transposed convolutions, by the PyTorch face."""
    n, groups = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 4]))
    taken, made = groups * int(rng.integers(1, 4)), int(rng.integers(1, 4))
    kernel, stride, dilation = (rng.integers(1, high, n) for high in (5, 4, 3))
    reach = (kernel - 1) * dilation
    padding = [int(rng.integers(0, r + 1)) for r in reach]
    extra = [int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation)]
    size = [2 * p // s + int(rng.integers(1, 7)) for p, s in zip(padding, stride)]
    x = some(rng, int(rng.integers(1, 4)), taken, *size)
    w = some(rng, taken, made, *kernel)
    return n, x, w, (list(map(int, stride)), padding, extra, groups, list(map(int, dilation)))


@pytest.mark.parametrize("seed", range(24))
def test_random_transposed_convolutions(seed):
    from functorch_core import engine
    from functorch_core import torch as ft

    n, x, w, params = random_transposed(np.random.default_rng(seed))
    wanted = by_torch(lambda x, w: TRANSPOSED[n - 1](x, w, None, *params), x, w)
    ours = (ft.nn.functional.conv_transpose1d, ft.nn.functional.conv_transpose2d, ft.nn.functional.conv_transpose3d)
    for tier in ("reference", "fused"):
        with engine.forced_tier(tier):
            tx, tw = ft.tensor(x, requires_grad=True), ft.tensor(w, requires_grad=True)
            out = ours[n - 1](tx, tw, None, *params)
            out.sum().backward()
            for found, right in zip((out.detach(), tx.grad, tw.grad), wanted):
                close(found.numpy(), right, (tier, x.shape, w.shape, params))


@pytest.mark.parametrize("dtype", ("bfloat16", "float16"))
def test_two_bytes(dtype):
    """Computed in float32 and rounded once, as PyTorch does."""
    from functorch_core import engine
    from functorch_core import torch as ft

    rng = np.random.default_rng(0)
    x, w = some(rng, 2, 6, 9, 8), some(rng, 4, 3, 3, 3)
    tx, tw = (torch.tensor(a).to(getattr(torch, dtype)).requires_grad_() for a in (x, w))
    out = F.conv2d(tx, tw, stride=2, padding=1, groups=2)
    out.float().square().sum().backward()
    wanted = [t.detach().float().numpy() for t in (out, tx.grad, tw.grad)]
    for tier in ("reference", "fused"):
        with engine.forced_tier(tier):
            ox, ow = (ft.tensor(a).to(getattr(ft, dtype)).requires_grad_() for a in (x, w))
            ours = ft.nn.functional.conv2d(ox, ow, stride=2, padding=1, groups=2)
            ours.float().square().sum().backward()
            for found, right in zip((ours, ox.grad, ow.grad), wanted):
                found = found.detach().float().numpy()
                eps = 2**-8 if dtype == "bfloat16" else 2**-11
                np.testing.assert_allclose(found, right, rtol=2 * eps, atol=eps * np.abs(right).max())


@pytest.mark.parametrize(
    "channels, size, kernel, params",
    [
        ((1, 4), (9, 7), (3, 3), dict(padding=1)),
        ((3, 5), (9, 8), (3, 2), dict(padding=1, stride=2)),
        ((4, 6), (11, 9), (3, 3), dict(dilation=2)),
        ((4, 6), (8, 8), (3, 3), dict(groups=2, padding=1)),
        ((3, 2), (5, 5), (5, 5), {}),
        ((3, 2), (13,), (4,), dict(stride=3)),
    ],
)
def test_gradients_of_samples(channels, size, kernel, params):
    """The kernel's gradient of each sample by itself; without groups oneDNN computes them as groups."""
    from functorch_core import engine
    from functorch_core import torch as ft

    def gradients(torch, *arrays):
        convolve = getattr(torch.nn.functional, f"conv{len(size)}d")

        def loss(w, x, scale):
            return (convolve(x[None], w, **params) * scale).sum()

        return torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(*map(torch.tensor, arrays)).numpy()

    rng, (taken, made) = np.random.default_rng(0), channels
    x, w = some(rng, 6, taken, *size), some(rng, made, taken // params.get("groups", 1), *kernel)
    out = FORWARD[len(size) - 1](torch.tensor(x), torch.tensor(w), **params)
    scale = some(rng, 6, 1, *out.shape[1:])
    for tier in ("reference", "fused"):
        with engine.forced_tier(tier):
            close(gradients(ft, w, x, scale), gradients(torch, w, x, scale), (tier, channels, params))
