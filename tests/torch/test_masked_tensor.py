"""torch.masked.MaskedTensor against PyTorch's: what it prints, its errors and gradients."""

import warnings

import pytest

from functorch_core import torch as ours

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

CALLS = """mt; mt.get_data().tolist(); mt.get_mask(); mt.to_tensor(7.).tolist(); mt.sum(); mt.sum(0)
    mt.sum((0, 1)); mt.sum(0, keepdim=True); mt.mean(1); mt.amax(0); mt.amin(); mt.argmax(0)
    mt.argmin(); mt.prod(); mt.all(); mt.var(); mt.std(); mt[0]; mt[m]; mt[None]; mt[:, 1:]; mt.t()
    mt.transpose(0, 1); mt.view(3, 2); mt.reshape(6); mt.flatten(); mt.unsqueeze(0); mt.expand(1, 2, 3)
    mt.split(1); mt.chunk(2); torch.cat([mt, mt]); torch.stack([mt, mt]); mt.unfold(1, 2, 1); mt.clone()
    mt + 1; 1 + mt; mt + d; d + mt; mt * mt; mt / 2; mt // 2; mt % 2; -mt; abs(mt); mt ** 2; mt == mt
    mt > 1; mt.eq(mt); mt.exp(); mt.clamp(0, 1); mt.sigmoid(); mt.softmax(1); mt.round(decimals=1)
    mt.add(2, alpha=3); mt + masked_tensor(d, ~m); mt.double(); mt.long(); mt.bool()
    mt.to(torch.float64); torch.ones_like(mt); torch.where(m, mt, d); torch.where(m, mt, -mt)
    mt.detach().mul_(2); mt.detach().exp_(); mt.detach().clamp_(min=1); mt.mul_(2); mt.shape; mt.dtype
    mt.numel(); len(mt); mt.stride(); mt.is_contiguous(); mt.contiguous(); mt.sum().item(); mt.item()
    mt.tolist(); mt.numpy(); mt.requires_grad; mt.max(); mt.sort(); mt.cumsum(0); mt.squeeze()
    torch.zeros_like(mt); mt._is_any_true(); (mt > 1)._is_any_true(); mt.to_sparse()
    mt.to_sparse().to_dense(); mt.to_sparse() + 1; mt.to_sparse() * mt.to_sparse(); mt.to_sparse().sum()
    mt.to_sparse().sin(); mt.to_sparse().is_contiguous(); masked_tensor(d.long(), m).sum()
    masked_tensor(d > 2, m); masked_tensor(d, d); masked_tensor(d, m[0]); masked_tensor(d, m[:1])
    masked_tensor(1, m); masked_tensor(mt, m); masked_tensor(d, mt); masked_tensor(d.to_sparse(), m)
    masked_tensor(d[0, 0], m[0, 1]); masked_tensor(d.cfloat(), m)
    masked_tensor(d.long(), m, requires_grad=True)"""

TRACKER = " If you need support for this, please open an issue on Github."  # PyTorch's, of which ours says nothing


def outcome(torch, call):
    d = torch.arange(6.0).reshape(2, 3)
    m = torch.tensor([[True, False, False], [False, True, True]])
    make = torch.masked.masked_tensor
    space = {"torch": torch, "d": d, "m": m, "masked_tensor": make, "mt": make(d, m, requires_grad=True)}
    try:
        return repr(eval(call, space))
    except Exception as error:  # noqa: BLE001 (it is compared)
        return type(error).__name__, str(error).split("\n")[0].removesuffix(TRACKER)


def test_same_as_pytorch():
    calls = [call for line in CALLS.splitlines() for call in map(str.strip, line.split(";")) if call]
    for call in calls:
        assert outcome(ours, call) == outcome(theirs, call), call


PROGRAMS = {
    "sum": lambda t, x: x.sum(),
    "rows": lambda t, x: (x * x).mean(1).sum(),
    "prod": lambda t, x: x.prod(),
    "amax": lambda t, x: x.amax(0).sum(),
    "softmax": lambda t, x: x.softmax(1).exp().sum(),
    "moved": lambda t, x: (t.stack([x.t(), x.detach().t()])[0] * 2).sum(),
    "sparse": lambda t, x: x.to_sparse().to_dense().sum(),
    "where": lambda t, x: t.where(x.get_mask(), x.exp(), t.ones(2, 3)).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name):
    def gradient(t):
        d, m = t.arange(1.0, 7).reshape(2, 3) / 3, t.tensor([[True, False, True], [False, True, True]])
        x = t.masked.masked_tensor(d, m, requires_grad=True)
        PROGRAMS[name](t, x).backward()
        return repr(x.grad)

    assert gradient(ours) == gradient(theirs)


def test_history():
    def program(t):
        d, m = t.ones(2, requires_grad=True), t.tensor([True, False])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            x = t.masked.masked_tensor(d, m, requires_grad=True)
        x.sum().backward()
        y = t.masked.as_masked_tensor(d, m)
        (by_x,) = t.autograd.grad((x * 3).sum(), x)
        return d.grad, repr(x.grad), repr(by_x), y.is_leaf, y.requires_grad, [str(w.message)[:50] for w in said]

    assert program(ours) == program(theirs)


def test_compressed_rows():
    def program(t):
        d, m = t.arange(1.0, 7).reshape(2, 3) / 3, t.tensor([[True, False, True], [False, True, True]])
        x = t.masked.masked_tensor(d.sparse_mask(m.to_sparse_csr()), m.to_sparse_csr())
        shown = [repr(y.to_dense()) for y in (x, x * 2, x + x, x.sin(), t.masked.masked_tensor(d, m).to_sparse_csr())]
        errors = []
        elsewhere = d.sparse_mask(m.flip(1)[:, [1, 0, 2]].to_sparse_csr())
        for data, mask in ((elsewhere, m.to_sparse_csr()), (d.to_sparse_csc(), m.to_sparse_csc())):
            with pytest.raises((TypeError, ValueError)) as caught:
                t.masked.masked_tensor(data, mask)
            errors.append(str(caught.value))
        return shown, errors, repr(x.sum()), (x * 2).is_sparse_csr(), str(x.layout)

    assert program(ours) == program(theirs)
