"""Fourier transforms: every rule, NumPy and PyTorch, odd and even lengths, precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from functorch_core import xla
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import fft
from functorch_core.transforms.transpose import vjp

from .check import check, compiled, graph_of

SHAPES = (((1,), 1), ((5,), 1), ((2, 6), 1), ((2, 3, 4), 2), ((3, 4, 5), 3), ((2, 1, 2, 2), 3), ((0, 3), 1))
KINDS = ("fft", "ifft", "rfft", "irfft")


def operand(kind, shape, precision="double"):
    """An array whose transform, of this kind, is over dimensions of `shape`."""
    rng = np.random.default_rng(0)
    if kind == "irfft":
        shape = (*shape[:-1], shape[-1] // 2 + 1)
    x = rng.standard_normal(shape)
    if kind != "rfft":
        x = x + 1j * rng.standard_normal(shape)
    narrow = np.complex64 if kind != "rfft" else np.float32
    return x if precision == "double" else x.astype(narrow)


# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, n", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_rules(kind, shape, n):
    check(lambda x: fft(x, kind=kind, lengths=shape[-n:]), operand(kind, shape))


@pytest.mark.parametrize("shape, n", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind, shape, n):
    check(lambda x: fft(x, kind=kind, lengths=shape[-n:]), operand(kind, shape, "single"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", (97, 128, 1000))
def test_longer_ones(kind, length):
    x = operand(kind, (3, length), "single")
    check(lambda x: fft(x, kind=kind, lengths=(length,)), x, rules=("lower",), tol=1e-3)


# ---- PyTorch -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, n", SHAPES[:-1])
@pytest.mark.parametrize("kind", KINDS)
def test_as_pytorch(kind, shape, n):
    x = operand(kind, shape)
    lengths = shape[-n:]
    oracle = getattr(torch.fft, f"{kind}n")
    t = torch.tensor(x, requires_grad=True)
    out = oracle(t, lengths, tuple(range(-n, 0)))
    graph = graph_of(lambda x: fft(x, kind=kind, lengths=lengths), [x])
    for run in (compiled, evaluate):
        np.testing.assert_allclose(run(graph, [x])[0], out.detach().numpy(), atol=1e-12)
    ct = np.random.default_rng(1).standard_normal(out.shape).astype(out.detach().numpy().dtype)
    (wanted,) = torch.autograd.grad(out, t, torch.tensor(ct))
    v = vjp(graph, (True,))
    (found,) = compiled(v.backward, [np.conj(ct)])
    # PyTorch's gradients are the conjugates of ours
    np.testing.assert_allclose(np.conj(found), wanted.numpy(), atol=1e-12)


# ---- errors and platforms ------------------------------------------------------------------------


def test_errors():
    z = np.zeros((2, 4), np.complex64)
    with pytest.raises(ValueError, match="kind is one of"):
        fft(z, kind="dct", lengths=(4,))
    with pytest.raises(TypeError, match="float32 or float64"):
        fft(z, kind="rfft", lengths=(4,))
    with pytest.raises(TypeError, match="complex"):
        fft(z.real, kind="fft", lengths=(4,))
    with pytest.raises(ValueError, match="pad or slice it"):
        fft(z, kind="fft", lengths=(5,))
    with pytest.raises(ValueError, match="1 to 3 lengths"):
        fft(z, kind="fft", lengths=())


@pytest.mark.parametrize("kind", KINDS)
def test_lowers_for_cuda(kind):
    x = operand(kind, (2, 6), "single")
    v = vjp(graph_of(lambda x: fft(x, kind=kind, lengths=(6,)), [x]), (True,))
    xla.verify(lower(v.forward, "cuda").text)
    xla.verify(lower(v.backward, "cuda").text)
