"""Sparse tensors in coordinate format, against PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:.*beta state")


def names(lib) -> dict:
    """What the expressions below are about; the same for both libraries."""
    indices = lib.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    values = lib.tensor([3.0, 4.0, 5.0, -1.0])
    s = lib.sparse_coo_tensor(indices, values, (2, 3))
    return {
        "torch": lib,
        "s": s,
        "c": s.coalesce(),
        "indices": indices,
        "values": values,
        "h": lib.sparse_coo_tensor(lib.tensor([[1, 1]]), lib.arange(6.0).reshape(2, 3) + 1, (4, 3)),
        "b": lib.sparse_coo_tensor(lib.tensor([[0, 1], [1, 0], [2, 0]]), lib.tensor([1.0, 2.0]), (2, 2, 3)),
        "d": lib.arange(6.0).reshape(2, 3),
        "e": lib.arange(6.0).reshape(3, 2) - 2,
        "n": lib.sparse_coo_tensor(size=(2, 3)),
    }


def outcome(lib, code: str):
    """What an expression gives, as comparable data; of an error its type."""
    try:
        x = eval(code, names(lib))
    except Exception as error:
        return type(error)
    return described(x)


def described(x):
    """A result as data that both libraries have."""
    if isinstance(x, (tuple, list)):
        return [described(y) for y in x]
    if not hasattr(x, "layout"):
        return str(x)
    if str(x.layout) == "torch.strided":
        return "dense", tuple(x.shape), str(x.dtype), x.tolist()
    dense = x.detach().coalesce().to_dense()
    nnz = x.coalesce()._nnz()
    return "sparse", tuple(x.shape), str(x.dtype), x.sparse_dim(), nnz, dense.tolist()


EXPRESSIONS = """
torch.masked.sum(c)
torch.masked.sum(c, 0)
torch.masked.sum(c.to(torch.int32), 1, keepdim=True)
torch.masked.sum(c, 0, mask=(d > 1).to_sparse())
torch.masked.prod(c, 1, mask=(d > 1))
torch.masked.amax(c, 0, keepdim=True, mask=(d > 1).to_sparse())
torch.masked.amax(c, (), mask=(d > 1))
torch.masked.amax(n, (), mask=(d > 9))
torch.masked.amin(c, (0, 1), keepdim=True, mask=(d < 4))
torch.masked.amin(c, 1)
torch.masked.mean(c)
torch.masked.sum(h, 0)
torch.zeros((3, 2), out=s.new())
torch.zeros(3, 2, out=s.new(), requires_grad=True).requires_grad
s.new(indices, values, (2, 3))
s.arcsin()
torch.arctanh(s * 0.1)
s.arcsinh_()
n + torch.sparse_coo_tensor(size=(2, 3)).double()
h + torch.sparse_coo_tensor(size=(4, 3))
torch.sparse_coo_tensor(size=(4, 3)).double() + h
h - torch.sparse_coo_tensor(size=(4, 3))
torch.sparse_coo_tensor(size=(4, 3)) - h
torch.cat([h, h * 2], 1)
torch.cat([h, h.clone(), h], -1)
s.__setitem__(0, 1)
torch.empty_like(s, memory_format=torch.preserve_format)
torch.sparse_coo_tensor(torch.tensor([[9], [9], [9], [9]]), torch.tensor([1.0]), (100000,) * 4)
    s
    c
    h
    n
    torch.sparse_coo_tensor(indices, values)
    torch.sparse_coo_tensor([[0, 1]], [1, 2])
    torch.sparse_coo_tensor([[0, 1]], [1, 2], dtype=torch.float64)
    torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3,)).to_dense()
    torch.sparse_coo_tensor([[0, 1]], [1., 2., 3.], (2,))
    torch.sparse_coo_tensor([[0, 1]], [1., 2.], (2, 3))
    torch.sparse_coo_tensor([0, 1], [1., 2.], (2,))
    s.indices()
    s.values()
    c.indices()
    c.values()
    s._indices()
    s._values()
    (s._nnz(), c._nnz(), s.is_coalesced(), c.is_coalesced(), s.sparse_dim(), h.dense_dim())
    (s.layout, s.is_sparse, d.layout, d.is_sparse, s.device, s.dtype, s.ndim, s.numel(), len(s))
    (s.type(), s.size(), s.size(1), s.dim(), s.is_leaf, s.requires_grad, s.is_floating_point())
    (s.stride(), s.is_contiguous(), s.element_size(), torch.is_tensor(s))
    d.to_sparse()
    d.to_sparse(1)
    d.to_sparse(layout=torch.sparse_coo)
    d.bool().to_sparse()
    torch.tensor(3.).to_sparse()
    s.to_sparse()
    c.to_dense()
    h.to_dense()
    d.to_dense()
    d.sparse_mask(s)
    d.sparse_mask(c)
    c.sparse_mask(n)
    d.coalesce()
    d.indices()
    d.values()
    d.is_coalesced()
    (d.sparse_dim(), d.dense_dim())
    s + s
    c + c
    s + n
    n + n
    d + s
    s + d
    d - s
    s - c
    torch.add(d, s, alpha=2)
    torch.add(s, c, alpha=2)
    s + s.double()
    d.add_(s)
    d.add_(s, alpha=-0.5)
    s.add_(c)
    s.add_(d)
    s.mul_(2)
    s.div_(2)
    s.sub_(c)
    s.neg_()
    s.zero_()
    s.sqrt_()
    s * 2
    2 * s
    s * torch.tensor(2.)
    s * d
    d * s
    s * s
    c * c
    c * n
    s / 2
    s / torch.tensor(2.)
    s / d
    s ** 2
    -s
    abs(s)
    s.abs()
    s.sqrt()
    s.sin()
    s.sign()
    s.relu()
    s.isnan()
    s.floor()
    s.exp()
    s.cos()
    s @ e
    torch.mm(s, e)
    torch.sparse.mm(s, e)
    torch.sparse.mm(s, s.t())
    s @ s.t()
    s @ s
    s @ d
    d.t() @ s
    s @ torch.ones(3)
    s.mv(torch.ones(3))
    torch.matmul(s, torch.ones(3))
    torch.bmm(b, torch.ones(2, 3, 4))
    torch.addmm(torch.ones(2, 2), s, e)
    torch.addmm(torch.ones(2, 2), s, e, beta=2, alpha=3)
    torch.sparse.addmm(torch.ones(2, 2), s, e)
    torch.nn.functional.linear(torch.ones(4, 3), s)
    s.sum()
    s.sum(0)
    torch.sparse.sum(s)
    torch.sparse.sum(s, 0)
    torch.sparse.sum(s, 1)
    torch.sparse.sum(s, (0, 1))
    torch.sparse.sum(h, 0)
    torch.sparse.sum(h, 1)
    torch.sparse.sum(s, dtype=torch.float64)
    torch.sparse.sum(d)
    torch.sparse.softmax(s, 1)
    torch.sparse.log_softmax(s, 0)
    s.norm()
    s.t()
    s.T
    s.transpose(0, 1)
    s.permute(1, 0)
    h.transpose(0, 1)
    s.unsqueeze(0)
    s.unsqueeze(-1)
    torch.cat([s, c])
    torch.cat([s, c], 1)
    torch.stack([s, c])
    s.index_select(1, torch.tensor([2, 0, 2]))
    s.select(0, 1)
    s[0]
    s[0, 2]
    s[5]
    s.unbind()
    list(h)
    s.clone()
    s.detach()
    s.double()
    s.to(torch.float16)
    s.to(torch.float64).dtype
    s.cpu() is not None
    torch.zeros_like(s)
    s.new_zeros(2, 2)
    s.bool()
    s.any()
    s.numpy()
    s.tolist()
    s.item()
    s.view(6)
    s.reshape(6)
    bool(s)
    s.untyped_storage()
    s.data_ptr()
    s.copy_(c)
    s.copy_(d)
    d.copy_(s)
    torch.sparse.spdiags(torch.arange(6.).reshape(2, 3) + 1, torch.tensor([0, -1]), (3, 3))
    torch.sparse.spdiags(torch.arange(3.) + 1, torch.tensor([1]), (2, 4))
    torch.sparse.check_sparse_tensor_invariants.is_enabled()
    """


@pytest.mark.parametrize("code", [line.strip() for line in EXPRESSIONS.strip().splitlines()])
def test_expression(code):
    mine, theirs = outcome(torch, code), outcome(reference, code)
    if mine is NotImplementedError or theirs is NotImplementedError:
        assert mine is NotImplementedError and isinstance(theirs, type), (mine, theirs)
    elif isinstance(mine, tuple) and isinstance(theirs, tuple):
        assert mine[:-1] == theirs[:-1]
        assert (
            mine[-1] == pytest.approx(theirs[-1], nan_ok=True)
            if mine[1] == ()
            else (torch.allclose(torch.tensor(mine[-1]), torch.tensor(theirs[-1]), equal_nan=True))
        )
    else:
        assert mine == theirs


PRINTED = [
    "s",
    "c",
    "n",
    "h",
    "s.double()",
    "s.to(torch.int32)",
    "s.detach().requires_grad_()",
    "torch.sparse_coo_tensor(torch.zeros(2, 0), torch.zeros(0, 3), (2, 2, 3))",
    "torch.arange(400.).reshape(20, 20).to_sparse()",
    "d.bool().to_sparse()",
]


@pytest.mark.parametrize("code", PRINTED)
def test_printed(code):
    assert repr(eval(code, names(torch))) == repr(eval(code, names(reference)))


def test_indices_outside_of_the_size_raise():
    with pytest.raises(RuntimeError, match="for dim 1, size is 2 but found index 3"):
        torch.sparse_coo_tensor([[0], [3]], [1.0], (2, 2))
    with pytest.raises(RuntimeError, match="negative index -1 for dim 0"):
        torch.sparse_coo_tensor([[-1]], [1.0], (2,))


def test_what_is_not_there_names_the_op():
    s = names(torch)["s"]
    with pytest.raises(NotImplementedError, match="cos.*to_dense"):
        s.cos()
    with pytest.raises(NotImplementedError, match="sparse"):
        torch.func.vmap(torch.sin)(s)
    with pytest.raises(NotImplementedError, match="sparse"):
        torch.where(torch.ones(2, 3) > 0, s, s)


# ---- gradients -----------------------------------------------------------------------------------


def gradients(lib, fun):
    """Gradients of a function of a sparse leaf and a dense one: (sparse, dense)."""
    indices = lib.tensor([[0, 1, 1], [2, 0, 2]])
    s = lib.sparse_coo_tensor(indices, lib.tensor([3.0, 4.0, 5.0]), (2, 3), is_coalesced=True, requires_grad=True)
    d = (lib.arange(6.0) - 1).reshape(3, 2).requires_grad_()
    fun(lib, s, d).backward()
    # PyTorch's gradient of a sparse tensor is a dense one after some ops, ours is always sparse.
    places = s.detach().coalesce()
    mine = None if s.grad is None else s.grad.to_dense().sparse_mask(places).to_dense().tolist()
    return mine, None if d.grad is None else d.grad.tolist()


@pytest.mark.parametrize(
    "fun",
    [
        lambda lib, s, d: (lib.sparse.mm(s, d) ** 2).sum(),
        lambda lib, s, d: ((s * 2) @ d).sum(),
        lambda lib, s, d: (s.to_dense() @ d).square().sum(),
        lambda lib, s, d: (s + s).to_dense().square().sum(),
        lambda lib, s, d: lib.sparse.sum(s * s),
        lambda lib, s, d: (d.t() + s).sum(),
        lambda lib, s, d: lib.sparse.addmm(lib.ones(2, 2), s, d).square().sum(),
        lambda lib, s, d: d.to_sparse().to_dense().square().sum(),
        lambda lib, s, d: lib.sparse.softmax(s, 1).to_dense()[1, 0] + d.sum(),
    ],
    ids=range(9),
)
def test_gradients(fun):
    mine, theirs = gradients(torch, fun), gradients(reference, fun)
    for x, y in zip(mine, theirs):
        assert (x is None) == (y is None)
        if x is not None:
            assert torch.allclose(torch.tensor(x), torch.tensor(y))


def test_values_of_a_graph():
    values = torch.tensor([1.0, 2.0], requires_grad=True)
    s = torch.sparse_coo_tensor([[0, 0]], values * 3, (2,))
    assert s.requires_grad and not s.is_leaf
    s.coalesce().to_dense()[0].square().backward()
    assert values.grad.tolist() == [54.0, 54.0]


# ---- embeddings ----------------------------------------------------------------------------------


def table_gradient(lib, make, index, backwards: int = 1):
    """The gradient of a table after some passes, and the outputs."""
    lib.manual_seed(0)
    module = make(lib)
    with lib.no_grad():
        module.weight.copy_(lib.arange(21.0).reshape(7, 3) / 10)
    for _ in range(backwards):
        out = module(lib.tensor(index))
        (out * out).sum().backward()
    return module.weight.grad, out.detach()


@pytest.mark.parametrize("backwards", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.nn.Embedding(7, 3, sparse=True),
        lambda lib: lib.nn.Embedding(7, 3, sparse=True, padding_idx=2),
        lambda lib: lib.nn.EmbeddingBag(7, 3, sparse=True, mode="sum"),
        lambda lib: lib.nn.EmbeddingBag(7, 3, sparse=True, mode="mean", padding_idx=4),
        lambda lib: lib.nn.Embedding(7, 3, sparse=True, max_norm=1.0),
    ],
    ids=["plain", "padding", "bag", "mean bag with padding", "max_norm"],
)
def test_embedding_gradients_are_sparse(make, backwards):
    index = [[1, 4, 1], [2, 6, 4]]
    (mine, out), (theirs, wanted) = (table_gradient(lib, make, index, backwards) for lib in (torch, reference))
    assert mine.is_sparse and not mine.is_coalesced() and mine._nnz() == theirs._nnz()
    assert mine._indices().tolist() == theirs._indices().tolist()
    assert torch.allclose(mine._values(), torch.tensor(theirs._values().tolist()))
    assert torch.allclose(out, torch.tensor(wanted.tolist()))


def test_per_sample_weights_of_a_sparse_bag():
    found = []
    for lib in (torch, reference):
        table = lib.arange(12.0).reshape(4, 3).requires_grad_()
        weights = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        lib.nn.functional.embedding_bag(
            lib.tensor([1, 1, 3]), table, lib.tensor([0, 2]), mode="sum", sparse=True, per_sample_weights=weights
        ).square().sum().backward()
        found.append((weights.grad.tolist(), table.grad.coalesce().to_dense().tolist()))
    assert found[0] == found[1]


def test_a_shared_table_has_a_dense_gradient():
    found = []
    for lib in (torch, reference):
        table = lib.nn.Embedding(4, 3, sparse=True)
        with lib.no_grad():
            table.weight.copy_(lib.arange(12.0).reshape(4, 3) / 10)
        (table(lib.tensor([1, 2])) @ table.weight.t()).sum().backward()
        found.append(table.weight.grad)
        assert not found[-1].is_sparse
        table(lib.tensor([3])).sum().backward()
    assert torch.allclose(found[0], torch.tensor(found[1].tolist()))


def test_dense_after_sparse_accumulates():
    table = torch.nn.Embedding(3, 2, sparse=True)
    table(torch.tensor([0])).sum().backward()
    table.weight.sum().backward()
    assert table.weight.grad.tolist() == [[2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]


def test_scale_grad_by_freq_is_refused_as_in_pytorch():
    for lib in (torch, reference):
        table = lib.nn.Embedding(3, 2, sparse=True, scale_grad_by_freq=True)
        with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
            table(lib.tensor([0])).sum().backward()


def test_autograd_grad_gives_a_sparse_gradient_of_a_table():
    table = torch.nn.Embedding(3, 2, sparse=True)
    (grad,) = torch.autograd.grad(table(torch.tensor([0, 0])).sum(), table.weight)
    assert grad.coalesce().values().tolist() == [[2.0, 2.0]]


INDICES = [[0, 1, 2], [1, 0, 2]]


def _leaf(lib):
    return lib.sparse_coo_tensor(INDICES, lib.tensor([1.0, 2, 3]), (3, 3)).coalesce().requires_grad_()


SPARSE_GRADIENTS = {
    "by a sparse leaf": lambda lib, s: lib.autograd.grad(lib.sparse.mm(s, lib.ones(3, 2)).sum(), s)[0].to_dense(),
    "by its values": lambda lib, s: [(w := s.values()).is_leaf, lib.autograd.grad((w * w).sum(), w)[0]],
    "values are behind it": lambda lib, s: lib.autograd.grad(
        lib.sparse.mm(s, lib.ones(3, 2)).sum(), s.values(), allow_unused=True
    )[0],
    "detached": lambda lib, s: [s.detach_() is s, s.requires_grad],
}


@pytest.mark.parametrize("name", SPARSE_GRADIENTS)
def test_gradients_by_sparse_tensors(name):
    found, expected = (SPARSE_GRADIENTS[name](lib, _leaf(lib)) for lib in (torch, reference))
    found, expected = (x if isinstance(x, list) else [x] for x in (found, expected))
    assert [getattr(x, "tolist", lambda x=x: x)() for x in found] == [
        getattr(x, "tolist", lambda x=x: x)() for x in expected
    ]


def test_hooks_of_sparse_tensors():
    for lib in (torch, reference):
        values, seen = lib.tensor([1.0, 2, 3], requires_grad=True), []
        s = lib.sparse_coo_tensor(INDICES, values, (3, 3))
        s.register_hook(lambda g: seen.append(g.is_sparse) or g * 2)
        (s * 3).to_dense().sum().backward()
        assert seen == [True] and values.grad.tolist() == [6.0, 6.0, 6.0]


def test_a_sparse_gradient_is_cut_off():
    for lib in (torch, reference):
        table = lib.nn.Embedding(5, 2, sparse=True)
        table(lib.tensor([1, 1, 3])).sum().backward()
        grad = table.weight.grad
        assert grad.detach_() is grad and grad.is_sparse and not grad.requires_grad


# ---- copies --------------------------------------------------------------------------------------


def test_copies():
    s = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,))
    for other in (copy.deepcopy(s), copy.copy(s), pickle.loads(pickle.dumps(s))):
        assert other.is_sparse and other.to_dense().tolist() == [1.0, 0.0, 2.0]
        assert other.is_coalesced() == s.is_coalesced()


@pytest.mark.parametrize("writer, reader", [(torch, torch), (torch, reference), (reference, torch)])
def test_checkpoints_hold_sparse_tensors(writer, reader):
    file = io.BytesIO()
    writer.save({"s": writer.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,)).coalesce()}, file)
    file.seek(0)
    found = reader.load(file)["s"]
    assert found.is_coalesced() and found.to_dense().tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("first", ["torch._utils", "functorch_core.torch._utils", "torch"])
def test_checkpoints_name_pytorchs_functions(first, tmp_path):
    """Whichever name of a module was imported first."""
    program = f"from functorch_core import shim; shim.install(); import {first}; import torch;"
    program += f" torch.save(torch.eye(3).to_sparse(), {str(tmp_path / 'x')!r})"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert reference.load(tmp_path / "x").to_dense().tolist() == reference.eye(3).tolist()
