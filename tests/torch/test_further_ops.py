"""lobpcg, fake quantisation, cond, files, memory order, points between tensors."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same, assert_same_error, pair

reference = pytest.importorskip("torch")


def both(fun, *arrays, scale: float = 10.0):
    """fun(module, *tensors) in both libraries, compared."""
    pairs = [pair(a, reference) for a in arrays]
    assert_same(fun(torch, *[o for o, _ in pairs]), fun(reference, *[t for _, t in pairs]), scale)


# ---- lobpcg --------------------------------------------------------------------------------------


def _positive(n: int = 30, seed: int = 0):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a @ a.T + np.eye(n)


@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg(largest):
    a = _positive()
    torch.manual_seed(0)
    values, vectors = torch.lobpcg(torch.from_numpy(a), k=3, largest=largest, niter=500, tol=1e-9)
    wanted = np.linalg.eigvalsh(a)
    np.testing.assert_allclose(values.numpy(), wanted[::-1][:3] if largest else wanted[:3], rtol=1e-7)
    x = vectors.numpy()
    np.testing.assert_allclose(a @ x, x * values.numpy(), atol=1e-5 * wanted[-1])


def test_lobpcg_generalised_and_batched():
    a, b = _positive(), _positive(seed=1)
    torch.manual_seed(0)
    values, x = torch.lobpcg(torch.from_numpy(a), k=2, B=torch.from_numpy(b), niter=500)
    np.testing.assert_allclose(a @ x.numpy(), b @ x.numpy() * values.numpy(), atol=1e-3)
    values, x = torch.lobpcg(torch.from_numpy(np.stack([a, 2 * a])), k=2, niter=500)
    assert values.shape == (2, 2) and x.shape == (2, 30, 2)
    np.testing.assert_allclose(values[1].numpy(), 2 * values[0].numpy(), rtol=1e-5)


def test_lobpcg_errors():
    assert_same_error(lambda t: t.lobpcg(t.eye(4), k=3), reference)
    with pytest.raises(NotImplementedError, match="lobpcg has no derivative"):
        torch.lobpcg(torch.eye(6, requires_grad=True))


# ---- fake quantisation ---------------------------------------------------------------------------


def test_fake_quantize():
    x = np.array([-0.5, 0.12, 0.26, 1.49, 1.6, 3.0], np.float32)
    both(lambda t, v: t.fake_quantize_per_tensor_affine(v, 0.1, 2, 0, 15), x)
    both(lambda t, v: t.fake_quantize_per_tensor_affine(v, t.tensor(0.1), t.tensor(2, dtype=t.int32), 0, 15), x)
    rows = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
    both(
        lambda t, v: t.fake_quantize_per_channel_affine(
            v, t.tensor([0.1, 0.2, 0.05]), t.tensor([0, 1, 2], dtype=t.int32), 1, 0, 7
        ),
        rows,
    )


def test_fake_quantize_passes_gradients_within_range():
    x = torch.tensor([-0.5, 0.12, 1.0, 9.0], requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]


# ---- others --------------------------------------------------------------------------------------


def test_cond():
    for pred in (True, False):
        both(lambda t, x, p=pred: t.cond(t.tensor(p), t.sin, t.cos, (x,)), np.float32(0.5))
    with pytest.raises(RuntimeError, match="single-element"):
        torch.cond(torch.tensor([True, False]), torch.sin, torch.cos, (torch.ones(1),))


def test_assert():
    torch._assert(torch.tensor(True), "never")
    with pytest.raises(AssertionError, match="said"):
        torch._assert(torch.tensor(False), "said")


def test_from_file(tmp_path):
    path = tmp_path / "numbers"
    np.arange(5, dtype=np.float32).tofile(path)
    both(lambda t: t.from_file(str(path), size=4))
    with pytest.raises(RuntimeError, match="holds 5"):
        torch.from_file(str(path), size=9)
    both(lambda t: t.from_file(str(path), shared=True, size=4))


def test_dim_order():
    for make in (
        lambda t: t.zeros(2, 3, 4),
        lambda t: t.zeros(2, 3, 4).permute(2, 0, 1),
        lambda t: t.zeros(2, 3, 4, 5).to(memory_format=t.channels_last),
    ):
        assert make(torch).dim_order() == make(reference).dim_order()
    assert_same_error(lambda t: t.zeros(1, 2, 3).dim_order(ambiguity_check=True), reference)
    assert_same_error(lambda t: t.zeros(1, 2).dim_order(ambiguity_check="x"), reference)


def test_module_load():
    x = torch.zeros(2)
    assert x.module_load(torch.ones(2)).tolist() == [1.0, 1.0] == x.tolist()


def test_nonzero_static():
    for size in (0, 1, 5):
        both(lambda t, x, n=size: t.nonzero_static(x, size=n), np.array([[0.0, 1.0], [2.0, 0.0]]))
    both(lambda t, x: x.nonzero_static(size=3, fill_value=7), np.array([False, True]))


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_points_batched(name):
    ends = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0])
    found = torch.vmap(lambda a, b: getattr(torch, name)(a, b, 5))(*ends)
    for row, a, b in zip(found, *(e.tolist() for e in ends)):
        assert_same(row, getattr(reference, name)(a, b, 5), 4)


def test_chunk_cat():
    both(lambda t, x, y: t._chunk_cat([x, y], 0, 2), np.arange(6.0).reshape(3, 2), np.arange(4.0))
