"""Sparse tensors of the layouts CSR, CSC, BSR and BSC, against PyTorch."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:.*beta state")
DATA = [[1.0, 0, 2, 0], [0, 0, 3, 4]]


def names(lib) -> dict:
    """What the expressions below are about; the same for both libraries."""
    d = lib.tensor(DATA)
    return {
        "torch": lib,
        "d": d,
        "e": lib.arange(8.0).reshape(4, 2) - 3,
        "coo": d.to_sparse(),
        "csr": d.to_sparse_csr(),
        "csc": d.to_sparse_csc(),
        "bsr": d.to_sparse_bsr((1, 2)),
        "bsc": d.to_sparse_bsc((2, 1)),
        "other": lib.tensor([[0.0, 5, 6, 0], [0, 0, 0, 7]]).to_sparse_csr(),
        "batch": lib.stack([lib.eye(2), lib.ones(2, 2) - lib.eye(2)]).to_sparse_csr(),
        "hybrid": lib.arange(8.0).reshape(2, 2, 2).to_sparse_csr(dense_dim=1),
        "unordered": lib.sparse_csr_tensor([0, 2, 3], [1, 0, 1], [1.0, 2.0, 3.0]),
    }


def outcome(lib, code: str):
    """The text of what an expression gives; of an error its type and message."""
    try:
        return repr(eval(code, names(lib))).replace(lib.__name__, "torch")
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


EACH = """
    x | x.layout, x.shape, x._nnz(), x.sparse_dim(), x.dense_dim(), x.is_sparse, x.is_sparse_csr
    x.to_dense() | x.to_sparse() | x.to_sparse().is_coalesced() | x.values() | x.clone() | x.detach() | x.data
    x.to_sparse_csr() | x.to_sparse_csc() | x.to_sparse_bsr((1, 2)) | x.to_sparse_bsc((2, 1)) | x.to_sparse(1)
    x.to_sparse(layout=torch.sparse_bsr) | x.to_sparse(layout=torch.sparse_csc) | x.to_sparse_bsr((2, 3))
    x.to_sparse(layout=torch.sparse_csr, blocksize=(1, 1)) | x.to_sparse(layout=torch.sparse_coo, dense_dim=1)
    x.crow_indices() | x.col_indices() | x.ccol_indices() | x.row_indices() | x.indices() | x.coalesce()
    torch.Tensor.values(x) | torch.Tensor.to_dense(x) | torch.Tensor.sparse_dim(x) | x.is_coalesced()
    x.transpose(0, 1) | x.t() | x.mT | x.select(1, 2) | x.double() | x.to(torch.int32) | x.bool() | x.type(torch.half)
    x.neg() | -x | x.abs() | x.sin() | x.relu() | x.isnan() | x.angle() | x.sqrt_() | x.mul_(3) | x.zero_()
    x * 2 | 0.5 * x | x + x | x.add_(x) | x.add(x, alpha=3) | x.sum() | x.sum(dtype=torch.float64) | x * torch.tensor(2)
    torch.zeros_like(x) | torch.ones_like(x) | torch.empty_like(x).shape | torch.empty_like(x, layout=torch.strided)
    x.numel(), x.dim(), x.size(1), x.element_size(), len(x) | x.stride() | x.is_contiguous() | x.numpy() | x.tolist()
    x.untyped_storage() | x.data_ptr() | x.type() | x.copy_(d) | d.copy_(x) | x.copy_(x * 2) | x.requires_grad_()
    d.sparse_mask(x) | x.sparse_mask(x) | x.item() | bool(x) | torch.sparse.sum(x) | x.fill_(2)"""
ONE = """
    csr[0] | csr[1, 2] | csr[:, 2] | csc[0] | bsr[1] | batch[0] | batch[1, 0] | batch.select(1, 0) | csr.select(0, 5)
    csr.unbind(0) | hybrid | hybrid.select(2, 0) | hybrid.transpose(0, 1) | hybrid.to_sparse() | hybrid * 2
    batch | batch.transpose(1, 2) | batch.transpose(0, 1) | batch.to_sparse() | batch.to_sparse_csc() | batch + batch
    batch.to_sparse_bsr((1, 1)) | batch + torch.ones(2, 2, 2) | batch.to_dense()
    csr + other | csr * other | csr * csc | csr * d | d * csr | csc * d | d + csr | csr + d | d.add_(csr)
    torch.add(other, d, alpha=2) | torch.add(d, other, alpha=2) | csr + 1 | csr + torch.ones(3, 3) | csr + csc
    csr + torch.ones(3, 3).to_sparse_csr() | csr * torch.ones(3, 3)
    csr @ e | csc @ e | e.t() @ csr.t() | d.t() @ csr | d.t() @ csc | csr @ e[:, 0] | csr.mv(e[:, 1])
    torch.ones(2) @ csr | csr @ csr.t() | csc @ csr.t() | csr.t() @ other | csr @ d | csr @ coo.t()
    torch.sparse.mm(csr, e) | torch.addmm(torch.ones(2, 2), csr, e, beta=2, alpha=3)
    torch.sparse.addmm(torch.ones(2, 2), csr, e)
    torch.addmm(csr.t() @ other, csr.t(), other) | torch.nn.functional.linear(torch.ones(3, 4), csr)
    torch.addmm((csr.t() @ other).to_sparse_csc(), csr.t(), other.to_sparse_csc()).layout
    torch.mm(csr, e, out=torch.empty(2, 2)) | torch.sparse.mm(csr, csr.t(), "mean")
    torch.sparse.mm(csr, e, "sum") | torch.sparse.mm(csr, e, "mean") | torch.sparse.mm(csr, e, "amax")
    torch.sparse.sampled_addmm(csr, torch.ones(2, 3), torch.ones(3, 4), beta=2, alpha=0.5)
    torch.sparse.sampled_addmm(csc, torch.ones(2, 3), torch.ones(3, 4))
    csr.sum(0, keepdim=True) | csr.sum(-1, keepdim=True) | csr.sum((0, 1), keepdim=True) | csr.sum(0)
    csc.sum(0, keepdim=True)
    unordered | unordered.to_dense() | unordered.to_sparse_csc() | unordered + unordered | unordered.to_sparse()
    torch.zeros(2, 3, layout=torch.sparse_csr) | torch.zeros(2, 2, 3, layout=torch.sparse_csc, dtype=torch.int64)
    torch.zeros(2, layout=torch.sparse_csr) | torch.zeros(2, 2, layout=torch.sparse_bsr) | csr.new_zeros(3, 3)
    torch.zeros_like(d, layout=torch.sparse_csr)
    torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([1]), (3, 3), layout=torch.sparse_csr)
    torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([1]), (3, 3), layout=torch.sparse_bsr)
    torch.sparse_csr_tensor([0, 2, 3], [0, 1, 1], [1, 2, 3]) | torch.sparse_csc_tensor([0, 2, 3], [0, 1, 1], [1, 2, 3])
    torch.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0]]]) | torch.sparse_bsc_tensor([0, 1], [1], [[[1.0, 2.0]]], (2, 2))
    torch.sparse_csr_tensor([0, 2], [0, 2], [1.0, 2], (1, 4), dtype=torch.float64)
    torch.sparse_csr_tensor([0, 2], [0, 2], [1.0, 2], (1, 4), requires_grad=True)
    torch.sparse_csr_tensor([0, 2], [0, 2], [1.0, 2], layout=torch.sparse_csc)
    torch.sparse_compressed_tensor([0, 2], [0, 2], [1.0, 2]) | d.to_sparse_bsr((1,)) | d.to_sparse_bsr((0, 1))
    torch.sparse_compressed_tensor([0, 2], [0, 2], [1.0, 2], layout=torch.strided) | d.to_sparse_csr(dense_dim=1)
    torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse_csr() | d.to_sparse(layout=torch.strided)
    torch.full_like(csr, 3) | torch.full_like(csr, 2.5, dtype=torch.float64) | csr @ torch.ones(3) | csr.resolve_conj()
    csr.clone().resize_(4, 5) | csr.clone().resize_(1, 4) | batch.clone().resize_(3, 2) | csr.clone().resize_(2, 3)
    csr.clone().resize_(8) | csr.t()._is_view(), csr._is_view(), csr.t().t()._base is None
    csr.transpose(0, 0)._is_view()
    batch[0]._is_view(), hybrid.select(2, 0)._is_view(), batch.transpose(1, 2)._base is batch
    torch.addmm(csc, csc, torch.ones(4, 4).to_sparse_csc(), beta=0).layout
    torch.addmm(torch.ones(2, 4), csr, torch.ones(4, 4).to_sparse_csr(), beta=0)
    torch.sparse.sampled_addmm(csr, torch.ones(2, 2, 3), torch.ones(2, 3, 4))
    torch.sparse.sampled_addmm(csr, torch.ones(2, 0), torch.ones(0, 4), alpha=2)
    torch.sparse.sampled_addmm(csr, torch.ones(0, 2, 3), torch.ones(0, 3, 4)).shape
    torch.masked.sum(csr, 0, keepdim=True) | torch.masked.prod(csr, 1, keepdim=True, mask=(d > 1).to_sparse_csr())
    torch.masked.mean(csr, 0, keepdim=True, mask=(d < 3).to_sparse_csr()) | torch.masked.amax(csr, 0, keepdim=True)
    torch.masked.amin(csr, (0, 1), keepdim=True, mask=(d < 3).to_sparse_csr()) | torch.masked.sum(csr, 0)
    torch.masked._output_mask(torch.masked.sum, d, 0, mask=d > 2)
    torch.masked._output_mask(torch.masked.norm, d, 2.0, 1, keepdim=True, mask=d > 2)
    torch.masked._output_mask(torch.masked.softmax, d, 1, mask=d[0] > 1)
    torch.zeros(0, 2, 2, layout=torch.sparse_csr).to_dense() | torch.zeros(0, 3, layout=torch.sparse_csr).to_sparse()
    torch.ones(2, 2, 2).to_sparse_bsr((1, 2)) | torch.ones(2, 2, 2).to_sparse_bsc((1, 2), dense_dim=1)"""
PROGRAMS = [code.strip() for line in ONE.strip().splitlines() for code in line.split("|")]
for _line in EACH.strip().splitlines():
    for _x in ("csr", "csc", "bsr", "bsc"):
        PROGRAMS += [code.strip().replace("x", _x).replace(f"ma{_x}", "max") for code in _line.split(" | ")]


@pytest.mark.parametrize("start", range(0, len(PROGRAMS), 25))
def test_programs(start):
    for code in PROGRAMS[start : start + 25]:
        mine, theirs = outcome(torch, code), outcome(reference, code)
        assert mine == theirs, code


GRADIENTS = """
    x.to_dense() | x.to_sparse_csc().to_dense() | x.to_sparse_bsr((1, 2)).to_dense() | (x * 3).to_dense() | x.sum()
    x.sin().to_dense() | (x + x).to_dense() | x.t().to_dense() | x @ w | torch.mm(x, w) | x @ w[:, 0]
    torch.addmm(torch.ones(2, 2), x, w, alpha=2) | (x * d).to_dense() | d + x | x.to_sparse().to_dense() | w.t() @ x.t()
    x[0].to_dense() | (x @ x.t()).to_dense() | x.double().to_dense() | torch.nn.functional.linear(w.t(), x)"""


@pytest.mark.parametrize("code", [c.strip() for c in GRADIENTS.replace("\n", "|").split("|") if c.strip('" ')])
def test_gradients(code):
    found = []
    for lib in (torch, reference):  # PyTorch's of a dense tensor: it has not all of them for CSR
        values = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        w = (lib.arange(8.0).reshape(4, 2) - 3).requires_grad_()
        known = {"torch": lib, "w": w, "d": lib.tensor(DATA)}
        if lib is torch:
            made = lib.sparse_csr_tensor([0, 2, 4], [0, 2, 2, 3], values, (2, 4))
            leaf = made.detach().requires_grad_()
            eval(code, known | {"x": leaf}).square().sum().backward()
            assert leaf.grad.layout is lib.sparse_csr
            w.grad = None
        else:
            where = lib.tensor([0, 0, 1, 1]), lib.tensor([0, 2, 2, 3])
            made = lib.zeros(2, 4).index_put(where, values)
        eval(code, known | {"x": made}).square().sum().backward()
        found.append((values.grad, w.grad))
    assert leaf.grad.values().tolist() == found[0][0].tolist()
    for mine, theirs in zip(*found):
        assert (mine is None) == (theirs is None)
        assert mine is None or reference.allclose(reference.tensor(mine.tolist()), theirs)


def test_gradients_of_products_where_there_are_values():
    found = []
    for lib in (torch, reference):
        pattern = lib.eye(2).to_sparse_csr().requires_grad_()
        a, b = (lib.arange(6.0).reshape(shape).requires_grad_() for shape in ((2, 3), (3, 2)))
        lib.sparse.sampled_addmm(pattern, a, b, beta=3, alpha=2).to_dense().square().sum().backward()
        found.append([a.grad.tolist(), b.grad.tolist(), pattern.grad.to_dense().tolist()])
    assert found[0] == found[1]


def test_gradients_of_dense_tensors_through_conversions():
    for lib in (torch, reference):
        dense = lib.tensor(DATA, requires_grad=True)
        for layout, block in ((lib.sparse_csr, None), (lib.sparse_csc, None), (lib.sparse_bsr, (1, 2))):
            dense.grad = None
            (
                dense.to_sparse(layout=layout, blocksize=block).to_dense() * lib.arange(8.0).reshape(2, 4)
            ).sum().backward()
            wanted = [[0, 1, 2, 3], [0, 0, 6, 7]] if block else [[0, 0, 2, 0], [0, 0, 6, 7]]
            # PyTorch's gradient is dense
            assert (dense.grad * (dense.detach() != 0)).tolist() == [
                [w if v else 0 for w, v in zip(*rows)] for rows in zip(wanted, DATA)
            ]


INVALID = [  # compressed indices, plain indices, values, size
    ([1, 2, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 5], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 5, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 4], [0, -1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 4], [0, 1, 0, 3], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 4], [1, 0, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 4], [0, 0, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 3, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 4], [0, 1, 0, 1, 2], [1, 2, 3, 4], (2, 3)),
    (0, [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([[0, 2, 4]], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
    ([[0, 2, 4]], [[0, 1, 0, 2]], [1, 2, 3, 4], (2, 3)),
    ([0, 2, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2,)),
    ([[0, 2, 4]], [[0, 1, 0, 2]], [[1, 2, 3, 4]], (2, 2, 3)),
]


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_violated_invariants_raise_as_in_pytorch(kind):
    for ends, plain, values, size in INVALID:
        size = size if kind == "csr" or len(size) < 2 else (*size[:-2], size[-1], size[-2])
        texts = []
        for lib in (torch, reference):
            layout = getattr(lib, f"sparse_{kind}")
            with pytest.raises(RuntimeError) as caught:
                lib.sparse_compressed_tensor(
                    lib.tensor(ends), lib.tensor(plain), values, size, layout=layout, check_invariants=True
                )
            texts.append(str(caught.value).partition("\n")[0])
        assert texts[0] == texts[1]


def test_order_is_checked_when_it_is_asked_for():
    args = [0, 2, 3], [1, 0, 1], [1.0, 2.0, 3.0]
    assert torch.sparse_csr_tensor(*args).to_dense().tolist() == [[2, 1], [0, 3]]
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="sorted and distinct"):
        torch.sparse_csr_tensor(*args)


def test_what_is_not_there_names_itself_and_the_layout():
    with pytest.raises(NotImplementedError, match="torch.cos .*sparse_csc.*to_dense"):
        torch.eye(2).to_sparse_csc().cos()


@pytest.mark.parametrize("saver, loader", [(torch, torch), (torch, reference), (reference, torch)])
def test_checkpoints_hold_compressed_tensors(saver, loader):
    for name in ("csr", "csc", "bsr", "bsc", "batch", "hybrid"):
        file = io.BytesIO()
        saver.save(names(saver)[name], file)
        file.seek(0)
        assert repr(loader.load(file)) == repr(names(loader)[name])


def test_copies():
    x = names(torch)["csr"].requires_grad_()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert y.layout is torch.sparse_csr and y.values().tolist() == x.values().tolist()
    torch.testing.assert_close(copy.deepcopy(x).detach(), x.detach())
    with pytest.raises(AssertionError, match="number of specified values in sparse CSR"):
        torch.testing.assert_close(x.detach(), names(torch)["other"])


def test_writing_to_values_writes_to_the_tensor():
    for lib in (torch, reference):
        x = names(lib)["csr"]
        x.values().mul_(2)
        assert x.to_dense().tolist() == [[2, 0, 4, 0], [0, 0, 6, 8]]


def test_gradients_beside_the_elements_are_refused():
    """PyTorch's gradient of a product is by the elements of the gradient given; here it is by those of the result."""
    x, y = (3 * torch.eye(3)).to_sparse_csr().requires_grad_(), (2 * torch.eye(3)).to_sparse_csr()
    with pytest.raises(RuntimeError, match=r"to_dense\(\)\.backward"):
        (x * y).backward(torch.ones(3, 3).to_sparse_csr())
    assert x.grad is None
    (x * y).backward(torch.eye(3).to_sparse_csr())
    assert x.grad.values().tolist() == [2, 2, 2]
