"""Conjugates and negatives as views, as PyTorch has them: what is written on either side is seen on the other."""

import copy
import io
import pickle

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import torch
from functorch_core import torch as ft

oracle = pytest.importorskip("torch")

NUMBERS = np.array([[1 + 2j, -3 + 0.5j, 4j], [2 - 1j, 0.25 + 0j, -1 - 1j]], np.complex64)


def _conj_copy(t, x):
    x.conj().copy_(t.tensor([1 + 1j, 2 - 3j, 4j]))


def _conj_mul(t, x):
    x.conj()[0].mul_(2 + 1j)


def _adjoint(t, x):
    x.mH[1, 0] = 5 + 7j
    x.adjoint()[0].add_(1j)
    x.H[2].zero_()


def _imaginary(t, x):
    x.conj().imag.fill_(3)
    x.conj().imag[0] += 1
    x.conj().real[1] *= 2


def _negative(t, x):
    t._neg_view(x).conj().imag[:, 1:].add_(2)
    t._neg_view(x)[0, 0] = 9 + 1j


def _twice(t, x):
    x.conj().T.conj()[0, 1] = 6 - 2j


def _strided(t, x):
    x.conj()[0].as_strided((2, 2), (3, 1), 1).mul_(1j)


def _parts_of_strided(t, x):
    seen = x.as_strided((2, 2), (2, 1), 1)
    seen.real[0] = 5
    seen.imag[1] = 3
    t.view_as_real(seen)[0, 1] = 7
    seen.conj()[1, 0] = 2 + 1j


def _base_later(t, x):
    seen = x.conj()
    x[0] = 8 + 8j
    x[1] = seen[0]


WRITES = [_conj_copy, _conj_mul, _adjoint, _imaginary, _negative, _twice, _strided, _parts_of_strided, _base_later]


@pytest.mark.parametrize("tier", ["auto", "fused", "immediate"])
@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__[1:])
def test_writes_reach_the_base_as_in_pytorch(write, tier):
    x, y = ft.tensor(NUMBERS), oracle.tensor(NUMBERS)
    with fc.engine.forced_tier(tier):
        write(ft, x)
        ours = x.numpy().copy()
    write(oracle, y)
    np.testing.assert_allclose(ours, y.numpy(), rtol=1e-6)


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__[1:])
def test_in_memory_that_numpy_shares(write):
    ours, theirs = NUMBERS.copy(), NUMBERS.copy()
    x, y = ft.from_numpy(ours), oracle.from_numpy(theirs)
    write(ft, x)
    write(oracle, y)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    seen = x.conj().imag
    ours[0, 0] = 11j  # from the other side
    assert seen[0, 0].item() == -11


@pytest.mark.parametrize("write", [w for w in WRITES if w is not _base_later], ids=lambda f: f.__name__[1:])
def test_gradients_through_writes(write):
    grads = []
    for t in (ft, oracle):
        leaf = t.tensor(NUMBERS, requires_grad=True)
        x = leaf * 2
        write(t, x)
        (x * t.tensor(NUMBERS)).abs().sum().backward()
        grads.append(leaf.grad.resolve_conj().numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-5, atol=1e-6)


BITS = (
    "c c.t() c[0] c.imag c.real c.conj() c.conj().imag c.mH x.mH x.H c.clone() c.contiguous() c.resolve_conj() "
    "c.imag.resolve_neg() c.detach() c.view(-1) c.expand(2,2,3) t._neg_view(x) t._neg_view(x).imag t._neg_view(c).imag"
    " t.view_as_real(t._neg_view(x)) -c c*1 t.zeros_like(c) copy.deepcopy(c) pickle.loads(pickle.dumps(c))"
    " x.real.conj() pickle.loads(pickle.dumps(c.imag)) c.as_strided((2,),(1,))"
    " c.data t._conj(x) t._conj_physical(x) c.to(t.complex128)"
).split()


@pytest.mark.parametrize("expression", BITS)
def test_bits_are_pytorchs(expression):
    found = []
    for t in (ft, oracle):
        x = t.tensor(NUMBERS)
        out = eval(expression, {"t": t, "x": x, "c": x.conj(), "copy": copy, "pickle": pickle})
        found.append((out.is_conj(), out.is_neg(), t.is_conj(out), t.is_neg(out), out.tolist()))
    assert found[0] == found[1]


ERRORS = (
    "c.numpy() c.imag.numpy() np.asarray(c) t.view_as_real(c) c.view(t.float32) c.imag.view(t.int32) c.__dlpack__() "
    "x.conj().imag.view(t.float32)"
).split()


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_pytorchs(expression):
    found = []
    for t in (ft, oracle):
        x = t.tensor(NUMBERS)
        with pytest.raises((RuntimeError, BufferError)) as info:
            eval(expression, {"t": t, "x": x, "c": x.conj(), "np": np})
        found.append((type(info.value), str(info.value).splitlines()[0]))
    assert found[0] == found[1]


def test_files_keep_the_bits_and_the_storage():
    x = ft.tensor(NUMBERS)
    file = io.BytesIO()
    torch.save({"x": x, "c": x.conj()}, file)
    theirs = oracle.load(io.BytesIO(file.getvalue()))
    assert theirs["c"].is_conj() and theirs["c"].tolist() == NUMBERS.conj().tolist()
    ours = ft.load(io.BytesIO(file.getvalue()))
    ours["c"][0, 0] = 5 + 5j
    assert ours["x"][0, 0].item() == 5 - 5j and ours["c"].is_conj()


def test_views_inside_vmap_are_written_through():
    def write(t, x):
        x = x.clone()
        x.conj()[0] = 1 + 2j
        x.conj().imag[1] += 1
        return x

    out = ft.func.vmap(lambda x: write(ft, x))(ft.tensor(NUMBERS))
    expected = oracle.stack([write(oracle, row) for row in oracle.tensor(NUMBERS)])
    np.testing.assert_allclose(out.numpy(), expected.numpy())


def test_what_vmap_returns_of_a_conjugate_has_its_numbers():
    x = ft.tensor(NUMBERS)
    for f in (ft.conj, lambda row: row.conj().imag, lambda row: row.imag):
        expected = np.stack([f(row).resolve_neg().resolve_conj().numpy() for row in x])
        out = ft.func.vmap(f)(x)
        x2 = out.clone()
        np.testing.assert_array_equal(x2.numpy(), expected)


def test_force_gives_the_numbers():
    x = ft.tensor(NUMBERS)
    np.testing.assert_array_equal(x.conj().numpy(force=True), NUMBERS.conj())
    np.testing.assert_array_equal(x.conj().imag.numpy(force=True), NUMBERS.conj().imag)


def test_complex32_in_shared_memory():
    x = ft.tensor(NUMBERS).to(ft.complex32)
    x.share_memory_()
    x.conj()[0, 0] = 2 + 3j
    assert x[0, 0].to(ft.complex64).item() == 2 - 3j
    assert x.conj()[0, 0].to(ft.complex64).item() == 2 + 3j
