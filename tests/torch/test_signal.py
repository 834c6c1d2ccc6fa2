"""Windows, short-time Fourier transforms, masked reductions, finite differences, segments, LDL."""

from __future__ import annotations

import math

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same, assert_same_error, pair

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def both(fun, *arrays, scale: float = 10.0, grad: bool = False):
    """fun(module, *tensors) in both libraries, compared; with the gradients of the inputs too."""
    pairs = [pair(a, reference, grad=grad) for a in arrays]
    ours, theirs = fun(torch, *[o for o, _ in pairs]), fun(reference, *[t for _, t in pairs])
    assert_same(ours, theirs, scale)
    if grad:
        for module, out in ((torch, ours), (reference, theirs)):
            (module.view_as_real(out) if out.is_complex() else out).square().sum().backward()
        for o, t in pairs:
            assert_same(o.grad, t.grad, 10 * scale)


# ---- windows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_window(name, periodic, length):
    both(lambda t: getattr(t, f"{name}_window")(length, periodic))
    both(lambda t: getattr(t, f"{name}_window")(length, periodic, dtype=t.float64), scale=1e6)


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize(
    "name, options",
    [
        ("hann", {}),
        ("hamming", {}),
        ("blackman", {}),
        ("nuttall", {}),
        ("bartlett", {}),
        ("cosine", {}),
        ("exponential", {"tau": 2.0}),
        ("gaussian", {"std": 1.5}),
        ("kaiser", {}),
        ("general_hamming", {"alpha": 0.6}),
        ("general_cosine", {"a": [0.5, 0.3, 0.2]}),
    ],
)
def test_signal_window(name, options, sym):
    for length in (0, 1, 6, 7):
        both(lambda t, n=length: getattr(t.signal.windows, name)(n, sym=sym, **options))


def test_window_errors():
    assert_same_error(lambda t: t.hann_window(-1), reference, message=False)
    assert_same_error(lambda t: t.hann_window(4, dtype=t.int64), reference, message=False)
    assert_same_error(lambda t: t.signal.windows.bartlett(-1), reference)
    assert_same_error(lambda t: t.signal.windows.bartlett(3, dtype=t.float16), reference)
    assert_same_error(lambda t: t.signal.windows.gaussian(3, std=0), reference)
    assert_same_error(lambda t: t.signal.windows.exponential(3, center=1.0), reference)


def test_window_trains():
    assert torch.signal.windows.hann(4, requires_grad=True).requires_grad


# ---- stft ----------------------------------------------------------------------------------------

WAVE = np.sin(np.arange(64, dtype=np.float32) ** 1.3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hop_length": 3},
        {"center": False},
        {"normalized": True},
        {"onesided": False},
        {"win_length": 9},
        {"pad_mode": "constant"},
    ],
)
def test_stft(options):
    both(lambda t, x: t.stft(x, 16, return_complex=True, **options), WAVE, grad=True, scale=100)
    both(lambda t, x: t.stft(x, 16, return_complex=False, **options), np.stack([WAVE, WAVE[::-1]]), scale=100)


def test_stft_windowed_and_complex():
    both(lambda t, x: x.stft(16, window=t.hann_window(16), return_complex=True), WAVE, scale=100)
    both(lambda t, x: x.stft(16), (WAVE + 1j * WAVE[::-1]).astype(np.complex64), scale=100)


@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"onesided": False}])
def test_istft_inverts(options):
    x = torch.from_numpy(WAVE)
    window = torch.hann_window(16)
    spectrum = torch.stft(x, 16, window=window, return_complex=True, **options)
    back = torch.istft(spectrum, 16, window=window, length=64, **options)
    np.testing.assert_allclose(back.numpy(), WAVE, atol=1e-5)


def test_istft():
    spectrum = np.random.default_rng(0).standard_normal((2, 9, 7, 2)).astype(np.float32)
    for options in ({}, {"length": 20}, {"center": False}, {"hop_length": 5}):
        both(lambda t, x, o=options: t.istft(t.view_as_complex(x), 16, **o), spectrum, scale=100, grad=True)


def test_stft_errors():
    assert_same_error(lambda t: t.stft(t.zeros(64), 16), reference)
    assert_same_error(lambda t: t.stft(t.zeros(4), 16, center=False, return_complex=True), reference, message=False)
    assert_same_error(lambda t: t.istft(t.zeros(9, 7), 16), reference)
    assert_same_error(lambda t: t.istft(t.zeros(8, 7, dtype=t.complex64), 16), reference, message=False)
    assert_same_error(
        lambda t: t.istft(t.ones(9, 7, dtype=t.complex64), 16, 16, window=t.hann_window(16), center=False),
        reference,
        message=False,
    )


# ---- masked --------------------------------------------------------------------------------------

VALUES = np.array([[3.0, -1.0, 2.0], [0.0, 4.0, -5.0]], np.float32)
MASK = np.array([[True, False, True], [False, True, True]])


@pytest.mark.parametrize("dim", [None, 0, (0, 1), -1])
@pytest.mark.parametrize("name", "sum prod mean amax amin norm var std logsumexp".split())
def test_masked_reduction(name, dim):
    both(
        lambda t, x: getattr(t.masked, name)(x, dim=dim, keepdim=True, mask=t.from_numpy(MASK)).nan_to_num(0.0),
        VALUES,
        grad=name not in ("std", "var", "prod"),
    )


@pytest.mark.parametrize("name", "cumsum cumprod softmax log_softmax softmin".split())
def test_masked_of_the_same_shape(name):
    both(lambda t, x: t.where(t.from_numpy(MASK), getattr(t.masked, name)(x, 1, mask=t.from_numpy(MASK)), 0.0), VALUES)


def test_masked_others():
    both(lambda t, x: t.masked.argmax(x, 1, mask=t.from_numpy(MASK)), VALUES)
    both(lambda t, x: t.masked.median(x, 1, mask=t.from_numpy(MASK)), VALUES)
    both(lambda t, x: t.masked.normalize(x, 2.0, 1, mask=t.from_numpy(MASK)), VALUES)
    both(lambda t, x: t.masked.sum(x, mask=t.from_numpy(MASK)), VALUES.astype(np.int32))
    assert_same_error(lambda t: t.masked.sum(t.zeros(3), mask=t.zeros(2, 3, dtype=t.bool)), reference)


# ---- finite differences, indices, diagonals ------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"spacing": 2.0}, {"spacing": [2.0, 0.5]}, {"dim": 1}, {"dim": (0, 1), "edge_order": 2}]
)
def test_gradient(options):
    both(lambda t, x: t.gradient(x, **options), np.arange(12, dtype=np.float32).reshape(3, 4) ** 2)


def test_gradient_at_coordinates():
    for order in (1, 2):
        both(
            lambda t, x, p, n=order: t.gradient(x, spacing=(p,), edge_order=n),
            np.array([1.0, 4.0, 9.0, 16.0], np.float32),
            np.array([0.0, 1.0, 3.0, 4.0], np.float32),
        )
    assert_same_error(lambda t: t.gradient(t.zeros(1)), reference, message=False)
    assert_same_error(lambda t: t.gradient(t.zeros(4), edge_order=3), reference)


def test_unravel_index():
    both(lambda t, x: t.unravel_index(x, (3, 4)), np.array([[0, 5], [11, 3]]))
    both(lambda t, x: t.unravel_index(x, 7), np.array(6))
    assert_same_error(lambda t: t.unravel_index(t.zeros(2), (3, 4)), reference)


def test_fill_diagonal():
    for shape in ((3, 3), (7, 3), (3, 7), (2, 2, 2)):
        both(lambda t, x: x.clone().fill_diagonal_(5.0), np.zeros(shape, np.float32))
    both(lambda t, x: x.clone().fill_diagonal_(5.0, wrap=True), np.zeros((7, 3), np.float32))
    assert_same_error(lambda t: t.zeros(3, 4, 5).fill_diagonal_(1), reference)


def test_sum_to_size():
    both(lambda t, x: x.sum_to_size(1, 3), VALUES, grad=True)
    both(lambda t, x: x.sum_to_size((3,)), VALUES)
    assert_same_error(lambda t: t.ones(2, 3).sum_to_size(4), reference)


def test_hash_tensor():
    for array in (VALUES, np.array([1, -2, 3]), np.array([True, False])):
        both(lambda t, x: t.hash_tensor(x), array)


@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min", "prod"])
def test_segment_reduce(reduction):
    data = np.arange(1.0, 9.0, dtype=np.float32).reshape(4, 2)
    both(lambda t, x: t.segment_reduce(x, reduction, lengths=t.tensor([2, 0, 2])), data)
    both(lambda t, x: t.segment_reduce(x, reduction, offsets=t.tensor([0, 1, 4]), initial=1.0), data, grad=True)


# ---- LDL -----------------------------------------------------------------------------------------


def _symmetric(dtype, n: int = 6):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((2, n, n))
    if np.issubdtype(dtype, np.complexfloating):
        a = a + 1j * rng.standard_normal(a.shape)
    a = a + a.swapaxes(-1, -2).conj()
    return (a * np.where(np.eye(n), 0.01, 1.0)).astype(dtype)  # small diagonal: blocks of two


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_ldl(dtype):
    a = _symmetric(dtype)
    hermitian = dtype is np.complex128
    both(lambda t, x: t.linalg.ldl_factor_ex(x, hermitian=hermitian), a, scale=1e3)
    b = np.ones((6, 2), dtype)
    x = torch.from_numpy(a)
    LD, pivots = torch.linalg.ldl_factor(x, hermitian=hermitian)
    assert (pivots < 0).any()  # blocks of two take part
    found = torch.linalg.ldl_solve(LD, pivots, torch.from_numpy(b), hermitian=hermitian)
    np.testing.assert_allclose(a @ found.numpy(), np.broadcast_to(b, (2, 6, 2)), atol=1e-8)


def test_ldl_batched_by_vmap():
    a = torch.from_numpy(_symmetric(np.float64))
    found = torch.vmap(lambda x: torch.linalg.ldl_factor_ex(x).LD)(a)
    assert_same(found, torch.linalg.ldl_factor_ex(a).LD)


def test_ldl_errors():
    assert_same_error(lambda t: t.linalg.ldl_factor(t.zeros(3, 2)), reference)
    assert_same_error(lambda t: t.linalg.ldl_factor(t.zeros(3, 3)), reference, message=False)
    assert_same_error(lambda t: t.linalg.ldl_solve(t.eye(3), t.zeros(2, dtype=t.int32), t.zeros(3, 1)), reference)
    assert math.isclose(torch.linalg.ldl_factor(torch.tensor([[4.0]])).LD.item(), 4.0)


# ---- what PyTorch says -----------------------------------------------------------------------------


def test_complex_input_of_real_transforms():
    for name in "rfft rfft2 rfftn ihfft ihfft2 ihfftn".split():
        assert_same_error(lambda t: getattr(t.fft, name)(t.ones(4, 4, dtype=t.complex64)), reference)  # noqa: B023


@pytest.mark.filterwarnings("default")
def test_resized_frequencies_and_missing_windows_warn():
    with pytest.warns(UserWarning, match="out tensor will be resized to a tensor of shape .5"):
        assert torch.fft.fftfreq(5, out=torch.empty(())).shape == (5,)
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="Please provide the same window used by stft"):
            torch.istft(torch.ones(6, 20, dtype=torch.complex64), n_fft=10)
    finally:
        torch.set_warn_always(False)


def test_references_are_the_functions():
    import importlib

    refs = importlib.import_module("functorch_core.torch._refs")
    assert refs.fft.fft is torch.fft.fft and refs.linalg.norm is torch.linalg.norm
